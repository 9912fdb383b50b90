// SPDX-License-Identifier: MIT
#include "limen/solve/boundary.h"

#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/solve/smooth.h"

namespace limen {

void validate(const Rule& rule) {
  if (rule.score_thresholds.size() != rule.uncertainty_edges.size() + 1) {
    throw InvalidInput("rule", std::to_string(rule.uncertainty_edges.size()) + " uncertainty edges need " +
                                   std::to_string(rule.uncertainty_edges.size() + 1) + " score thresholds, there are " +
                                   std::to_string(rule.score_thresholds.size()));
  }
  for (std::size_t edge = 0; edge < rule.uncertainty_edges.size(); ++edge) {
    const double value = rule.uncertainty_edges[edge];
    if (!std::isfinite(value))
      throw InvalidInput("rule", "uncertainty_edges[" + std::to_string(edge) + "] is not finite");
    if (edge > 0 && value <= rule.uncertainty_edges[edge - 1]) {
      throw InvalidInput("rule", "uncertainty_edges[" + std::to_string(edge) + "] is not above the edge before it");
    }
  }
  for (std::size_t level = 0; level < rule.score_thresholds.size(); ++level) {
    const auto& threshold = rule.score_thresholds[level];
    if (threshold && !std::isfinite(*threshold)) {
      throw InvalidInput("rule", "score_thresholds[" + std::to_string(level) + "] is not finite");
    }
  }
}

Rule make_rule(const Grid& grid, std::span<const std::int32_t> taken) {
  Rule rule;
  rule.uncertainty_edges = grid.edges;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const auto bins = static_cast<std::size_t>(taken[level]);
    rule.score_thresholds.push_back(bins == 0 ? std::nullopt : std::optional(score_cut(grid.levels[level], bins)));
  }
  return rule;
}

Rule rule_of(Method method, const Grid& grid, const Objective& objective, std::span<const std::int32_t> taken) {
  Rule rule = make_rule(grid, taken);
  if (method == Method::kSmooth) rule.score_thresholds = SmoothFit(grid, objective).thresholds(taken);
  return rule;
}

void validate(const Review& review, const Rule& rule) {
  if (review.score_thresholds.size() != rule.score_thresholds.size()) {
    throw InvalidInput("review", std::to_string(review.score_thresholds.size()) +
                                     " score thresholds do not fit the rule, which has " +
                                     std::to_string(rule.score_thresholds.size()));
  }
  for (std::size_t level = 0; level < rule.score_thresholds.size(); ++level) {
    const auto& threshold = review.score_thresholds[level];
    if (!threshold) continue;
    const std::string name = "score_thresholds[" + std::to_string(level) + "]";
    if (!std::isfinite(*threshold)) throw InvalidInput("review", name + " is not finite");
    if (rule.score_thresholds[level] && *threshold > *rule.score_thresholds[level]) {
      throw InvalidInput("review", name + " is " + number_text(*threshold) + ", above " +
                                       number_text(*rule.score_thresholds[level]) +
                                       ", from which the level is flagged");
    }
  }
}

Rule flag_or_review_rule(const Boundary& boundary) {
  Rule rule = boundary.rule;
  if (!boundary.review) return rule;
  validate(*boundary.review, rule);
  for (std::size_t level = 0; level < rule.score_thresholds.size(); ++level) {
    if (const auto& threshold = boundary.review->score_thresholds[level]) rule.score_thresholds[level] = threshold;
  }
  return rule;
}

void decide_review(const Boundary& boundary, RealSpan score, RealSpan uncertainty, std::span<std::uint8_t> review) {
  refuse_segments(boundary, "review");
  if (!boundary.review) throw InvalidInput("review", "the boundary was fitted without one");
  const std::vector<std::uint8_t> flagged = decide(boundary.rule, score, uncertainty);
  decide(flag_or_review_rule(boundary), score, uncertainty, review);
  for (std::size_t row = 0; row < flagged.size(); ++row) review[row] ^= flagged[row];
}

void refuse_segments(const Boundary& boundary, const char* function) {
  if (!boundary.segments) return;
  throw InvalidInput(function, "the boundary has segments (column " + quoted(boundary.segments->column) +
                                   "), which are not known here; take one without");
}

std::string_view to_string(SegmentStatus status) {
  switch (status) {
    case SegmentStatus::kOptimal:
      return "optimal";
    case SegmentStatus::kFeasible:
      return "feasible";
    case SegmentStatus::kInfeasible:
      return "infeasible";
    case SegmentStatus::kCertified:
      return "certified";
    case SegmentStatus::kNotCertified:
      return "not certified";
  }
  return "";
}

std::string_view to_string(LevelsFrom from) { return from == LevelsFrom::kAll ? "all" : "top"; }

LevelsFrom parse_levels_from(std::string_view name) {
  if (name == "all") return LevelsFrom::kAll;
  if (name == "top") return LevelsFrom::kTop;
  throw InvalidInput("levels from \"" + std::string(name) + "\" is not one of all, top");
}

}  // namespace limen
