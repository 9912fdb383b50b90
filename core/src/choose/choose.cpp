// SPDX-License-Identifier: MIT
#include "limen/choose/choose.h"

#include <algorithm>

#include "choose/cross_validation.h"
#include "choose/joint.h"
#include "choose/score_table.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

using Table = detail::ScoreTable;
using detail::first_of;
using detail::p_text;
using detail::two_digits;

constexpr int kJointLevels = 4;

/// Where each of the levels that a candidate puts together ends.
std::vector<std::size_t> partition_of(const Candidate& candidate, const Table& table, const Objective& objective) {
  if (candidate.method == Method::kJoint) return detail::joint_partition(table, objective, candidate.levels);
  const auto levels = static_cast<std::size_t>(candidate.levels);
  std::vector<std::size_t> ends;
  for (std::size_t merged = 0; merged < levels; ++merged)
    ends.push_back(first_of(merged + 1, levels, table.num_levels));
  return ends;
}

/// The rate of positives that a candidate learns for every cell of a table.
std::vector<double> learn(const Candidate& candidate, const Table& table, std::int64_t near_rows,
                          const Objective& objective) {
  const Grid grid = table.grid();
  std::vector<double> rates(table.cells.size());
  if (candidate.method == Method::kSmooth) {
    const auto log_odds = SmoothFit(grid, near_rows).log_odds();
    for (std::size_t cell = 0; cell < rates.size(); ++cell) {
      rates[cell] = log_odds[cell % table.num_levels][cell / table.num_levels];
    }
    return rates;
  }
  // Levels put together, each with its isotonic regression.
  std::vector<std::vector<std::size_t>> groups;
  std::size_t level = 0;
  for (const std::size_t end : partition_of(candidate, table, objective)) {
    groups.emplace_back();
    while (level < end) groups.back().push_back(level++);
  }
  return detail::isotonic_rates(table, groups);
}

}  // namespace

std::vector<double> coarser_edges(std::span<const double> edges, int levels) {
  const std::size_t size = edges.size() + 1;
  const std::size_t wanted = std::min(static_cast<std::size_t>(levels), size);
  std::vector<double> coarser;
  for (std::size_t merged = 1; merged < wanted; ++merged) coarser.push_back(edges[first_of(merged, wanted, size) - 1]);
  return coarser;
}

ChosenBy chosen_by(const Choice& choice) {
  ChosenBy by;
  by.information_p = choice.information.p();
  by.why = choice.why;
  for (const Candidate& candidate : choice.candidates) {
    by.candidates.push_back({candidate.method, candidate.levels, candidate.gain, candidate.gain_se, candidate.lift,
                             candidate.lift_se, candidate.segments});
  }
  if (choice.segment_information) by.segment_p = choice.segment_information->p();
  return by;
}

Choice choose(const Grid& grid, const Objective& objective, const ChooseOptions& options) {
  validate(grid);
  validate(objective);
  const std::int64_t near_rows = rows_near_decision(grid, score_chain(grid), objective);
  Choice choice;
  choice.information = options.information ? *options.information : test_information(grid, near_rows, options.seed);
  const double p = choice.information.p();
  const bool informs = choice.information.testable && p < options.significance;
  choice.candidates.push_back({.method = Method::kSt, .levels = 1});
  const auto num_levels = static_cast<int>(grid.num_levels());
  if (choice.information.testable) {
    choice.candidates.push_back({.method = Method::kSmooth, .levels = num_levels});
    for (const int levels : {2, 4, 8, 16}) {
      if (levels < num_levels && options.levels_merge) {
        choice.candidates.push_back({.method = Method::kExact, .levels = levels});
      }
    }
    if (options.levels_merge && num_levels > kJointLevels) {
      choice.candidates.push_back({.method = Method::kJoint, .levels = kJointLevels});
    }
    if (!options.levels_merge) choice.candidates.push_back({.method = Method::kExact, .levels = num_levels});
  }

  const Table table = detail::score_table(grid, near_rows);
  const auto table_near = static_cast<std::int64_t>(rows_per_unit(grid) * static_cast<double>(near_rows));
  const std::size_t size = choice.candidates.size();
  std::vector<detail::LearnRates> ways;
  for (const Candidate& candidate : choice.candidates) {
    ways.emplace_back([candidate, &objective](const Table& learnt, std::int64_t near) {
      return learn(candidate, learnt, near, objective);
    });
  }
  const std::vector<detail::Judgement> judgements =
      detail::cross_validate(ways, table, table_near, objective, options.repetitions, options.seed);
  for (std::size_t at = 0; at < size; ++at) detail::put(judgements[at], table.total(), choice.candidates[at]);
  constexpr std::size_t kSmoothAt = 1;
  if (!choice.information.testable) {
    choice.why = "too few rows near the decision to tell whether uncertainty informs: one threshold";
  } else if (!informs) {
    choice.why = "uncertainty tells nothing about the label beyond the score near the decision (" + p_text(p) +
                 "): one threshold";
  } else {
    const auto is_sure = [&](std::size_t at) {
      return detail::is_sure(judgements[at], choice.information.p_value, options);
    };
    if (is_sure(kSmoothAt)) choice.chosen = kSmoothAt;
    for (std::size_t at = kSmoothAt + 1; at < size; ++at) {
      const bool ahead = detail::is_ahead(judgements[at], judgements[kSmoothAt], options.errors_over_smooth) &&
                         (choice.chosen <= kSmoothAt || choice.candidates[at].lift > choice.best().lift);
      if (is_sure(at) && ahead) choice.chosen = at;
    }
    const Candidate& chosen = choice.best();
    const std::string evidence = "uncertainty informs (" + p_text(p) + ")";
    if (choice.chosen == 0) {
      choice.why = evidence + ", but no use of it was surely better than one threshold on rows left out";
    } else {
      choice.why = evidence + "; " + std::string(to_string(chosen.method)) + " on " + std::to_string(chosen.levels) +
                   " levels was " + two_digits(100 * chosen.gain) + "% better than one threshold on rows left out";
    }
  }
  detail::expect(choice);
  return choice;
}

}  // namespace limen
