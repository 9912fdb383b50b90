// SPDX-License-Identifier: MIT
#include "limen/solve/segments.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <string>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/count/levels.h"
#include "limen/count/samples.h"

namespace limen {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("segments", what); }

void check_value(const std::string& value) {
  if (value.empty()) refuse("a value is empty");
  if (value.size() > kMostValueBytes) {
    refuse("the value " + quoted(value) + " has " + std::to_string(value.size()) + " bytes, must be at most " +
           std::to_string(kMostValueBytes));
  }
}

void check_rising(const std::string& before, const std::string& value) {
  if (before == value) refuse("the value " + quoted(value) + " is there twice");
  if (before > value) refuse("the value " + quoted(value) + " stands behind " + quoted(before) + ", must rise");
}

void check_rule(const Segment& segment, const std::string& name) {
  try {
    validate(segment.rule);
  } catch (const InvalidInput& error) {
    refuse(name + ": " + error.problem());
  }
  const bool nothing = segment.status == SegmentStatus::kInfeasible || segment.status == SegmentStatus::kNotCertified;
  const auto& thresholds = segment.rule.score_thresholds;
  if (nothing && std::ranges::any_of(thresholds, [](const auto& threshold) { return threshold.has_value(); })) {
    refuse(name + " is " + std::string(to_string(*segment.status)) + ", but has a score threshold");
  }
}

}  // namespace

void validate(const Segments& segments) {
  if (segments.column.empty()) refuse("the column has no name");
  if (segments.own.empty() && !segments.pooled) refuse("there is no segment");
  std::size_t cells = 0;
  for (std::size_t at = 0; at < segments.own.size(); ++at) {
    const Segment& segment = segments.own[at];
    check_value(segment.value);
    if (at > 0) check_rising(segments.own[at - 1].value, segment.value);
    check_rule(segment, "segment " + quoted(segment.value));
    cells += segment.rule.score_thresholds.size();
  }
  if (segments.pooled.has_value() == segments.pooled_values.empty()) {
    refuse(segments.pooled ? "the pool has no values" : "there are pooled values, but no pool");
  }
  for (std::size_t at = 0; at < segments.pooled_values.size(); ++at) {
    const std::string& value = segments.pooled_values[at];
    check_value(value);
    if (at > 0) check_rising(segments.pooled_values[at - 1], value);
    const auto place = std::ranges::lower_bound(segments.own, value, {}, &Segment::value);
    if (place != segments.own.end() && place->value == value) refuse("the value " + quoted(value) + " is there twice");
  }
  if (segments.pooled) {
    if (!segments.pooled->value.empty()) refuse("the pool has a value of its own, " + quoted(segments.pooled->value));
    check_rule(*segments.pooled, "the pool");
    cells += segments.pooled->rule.score_thresholds.size();
  }
  if (segments.unseen_as_pooled && !segments.pooled)
    refuse("unseen values are to be decided as pooled ones, but there is no pool");
  const std::size_t values = segments.own.size() + segments.pooled_values.size();
  if (values > kMostSegmentValues) {
    refuse(count_text(static_cast<double>(values)) + " values are more than " +
           count_text(static_cast<double>(kMostSegmentValues)));
  }
  if (cells > kMostCells) {
    refuse("the segments have " + count_text(static_cast<double>(cells)) + " levels together, must be at most " +
           count_text(static_cast<double>(kMostCells)));
  }
}

bool uses_uncertainty(const Segments& segments) {
  const auto has_levels = [](const Segment& segment) { return !segment.rule.uncertainty_edges.empty(); };
  return std::ranges::any_of(segments.own, has_levels) || (segments.pooled && has_levels(*segments.pooled));
}

SegmentCells::SegmentCells(const Segments& segments) : num_own_(segments.own.size()) {
  validate(segments);
  const auto add = [this](const std::vector<double>& edges) {
    first_cell_.push_back(segment_of_.size());
    segment_of_.insert(segment_of_.end(), edges.size() + 1, edges_.size());
    edges_.push_back(edges);
  };
  for (const Segment& segment : segments.own) {
    add(segment.rule.uncertainty_edges);
    values_.add(segment.value);
  }
  if (segments.pooled) add(segments.pooled->rule.uncertainty_edges);
  unseen_ = segments.unseen_as_pooled ? num_own_ : edges_.size();
  if (!segments.unseen_as_pooled) add({});
  for (const std::string& value : segments.pooled_values) values_.add(value);
}

std::vector<double> SegmentCells::edges() const {
  std::vector<double> edges;
  for (std::size_t cell = 0; cell + 1 < num_cells(); ++cell) edges.push_back(static_cast<double>(cell) + 0.5);
  return edges;
}

SegmentCells::Rows SegmentCells::find(const TextValues& segment, RealSpan uncertainty) const {
  const std::size_t rows = segment.code.size();
  const bool looks = std::ranges::any_of(edges_, [](const auto& edges) { return !edges.empty(); });
  if (uncertainty.size() != rows && (looks || uncertainty.size() != 0)) {
    throw InvalidInput("segments", "segment has " + std::to_string(rows) + " rows, uncertainty " +
                                       std::to_string(uncertainty.size()) + "; both must be equal");
  }
  if (looks) (void)finite_range(uncertainty, "segments", "uncertainty");
  // Of each text: its segment, and whether it was seen.
  std::vector<std::size_t> segment_of_text;
  std::vector<bool> is_unseen;
  for (const std::string& text : segment.distinct) {
    const std::int32_t number = values_.find(text);
    const bool own = number != TextIndex::kNone && static_cast<std::size_t>(number) < num_own_;
    segment_of_text.push_back(own ? static_cast<std::size_t>(number) : number == TextIndex::kNone ? unseen_ : num_own_);
    is_unseen.push_back(number == TextIndex::kNone);
  }
  Rows found{std::vector<double>(rows), 0};
  std::vector<std::size_t> rows_of_text(segment.distinct.size(), 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t code = segment.code[row];
    if (code == TextValues::kMissing) {
      throw InvalidInput("segments", "segment[" + std::to_string(row) + "] is missing; every row needs a segment",
                         Cause::kMissingValue);
    }
    if (code < 0 || static_cast<std::size_t>(code) >= segment.distinct.size()) {
      throw InvalidInput("segments", "segment[" + std::to_string(row) + "] has the code " + std::to_string(code) +
                                         ", must be below " + std::to_string(segment.distinct.size()));
    }
    ++rows_of_text[static_cast<std::size_t>(code)];
  }
  for (std::size_t text = 0; text < rows_of_text.size(); ++text)
    found.unseen += is_unseen[text] ? rows_of_text[text] : 0;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, 1 << 14), [&](const auto& range) {
    for (std::size_t row = range.begin(); row < range.end(); ++row) {
      const std::size_t at = segment_of_text[static_cast<std::size_t>(segment.code[row])];
      const std::size_t level = edges_[at].empty() ? 0 : level_of(edges_[at], uncertainty[row]);
      found.cell[row] = static_cast<double>(first_cell_[at] + level);
    }
  });
  return found;
}

Rule cell_rule(const Segments& segments) {
  Rule rule{SegmentCells(segments).edges(), {}};
  auto& thresholds = rule.score_thresholds;
  const auto add = [&](const Segment& segment) {
    thresholds.insert(thresholds.end(), segment.rule.score_thresholds.begin(), segment.rule.score_thresholds.end());
  };
  for (const Segment& segment : segments.own) add(segment);
  if (segments.pooled) add(*segments.pooled);
  if (!segments.unseen_as_pooled) thresholds.emplace_back();
  return rule;
}

Segments with_thresholds(Segments segments, const Rule& on_cells) {
  auto next = on_cells.score_thresholds.begin();
  const auto take = [&](Segment& segment) {
    const auto end = next + static_cast<std::ptrdiff_t>(segment.rule.uncertainty_edges.size() + 1);
    segment.rule.score_thresholds.assign(next, end);
    next = end;
  };
  for (Segment& segment : segments.own) take(segment);
  if (segments.pooled) take(*segments.pooled);
  return segments;
}

std::size_t decide(const Segments& segments, RealSpan score, RealSpan uncertainty, const TextValues& segment,
                   std::span<std::uint8_t> decision, std::span<std::int32_t> level) {
  if (segment.code.size() != score.size()) {
    throw InvalidInput("decide", "score has " + std::to_string(score.size()) + " rows, segment " +
                                     std::to_string(segment.code.size()) + "; both must be equal");
  }
  const SegmentCells cells(segments);
  const SegmentCells::Rows rows = cells.find(segment, uncertainty);
  decide(cell_rule(segments), score, std::span<const double>(rows.cell), decision, level);
  for (std::int32_t& cell : level) {
    const std::size_t at = cells.segment_of(static_cast<std::size_t>(cell));
    const bool nowhere = at == segments.own.size() + (segments.pooled ? 1 : 0);
    cell = nowhere ? -1 : cell - static_cast<std::int32_t>(cells.first_cell(at));
  }
  return rows.unseen;
}

}  // namespace limen
