// SPDX-License-Identifier: MIT
#include "limen/judge/positivity_map.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>
#include <string>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/base/wide.h"
#include "limen/count/levels.h"

namespace limen {
namespace {

/// Says bin by bin, from the lowest score up, which bin of the map a distinct score of a level is in.
class BinOfScore {
 public:
  BinOfScore(std::span<const Bin> level, Range<double> range, const PositivityMapOptions& options)
      : bins_(options.bins),
        range_(range),
        total_(total_counts(level)),
        is_span_(options.binning == Binning::kEquiSpan),
        edges_(options.score_edges ? &*options.score_edges : nullptr) {
    is_balanced_ = options.balanced && total_.positives > 0 && total_.positives < total_.rows;
  }

  std::int32_t operator()(const Bin& score) {
    if (edges_ != nullptr) return static_cast<std::int32_t>(level_of(*edges_, score.threshold));
    const Counts below = below_;
    below_ += score.counts;
    if (is_span_) {
      if (!(range_.high > range_.low)) return 0;
      const auto low = static_cast<long double>(range_.low);
      const long double part = (static_cast<long double>(score.threshold) - low) / (range_.high - low);
      return std::min(bins_ - 1, static_cast<std::int32_t>(part * bins_));
    }
    if (is_balanced_) {
      const double positives = middle(below.positives, score.counts.positives, total_.positives);
      const double negatives = middle(below.rows - below.positives, score.counts.rows - score.counts.positives,
                                      total_.rows - total_.positives);
      return std::min(bins_ - 1, static_cast<std::int32_t>((positives + negatives) / 2 * bins_));
    }
    const detail::Wide twice = 2 * static_cast<detail::Wide>(below.rows) + score.counts.rows;
    return static_cast<std::int32_t>(twice * bins_ / (2 * static_cast<detail::Wide>(total_.rows)));
  }

 private:
  static double middle(std::int64_t below, std::int64_t rows, std::int64_t all) {
    return (static_cast<double>(below) + static_cast<double>(rows) / 2) / static_cast<double>(all);
  }

  std::int32_t bins_;
  Range<double> range_;
  Counts total_;
  Counts below_;
  bool is_span_;
  const std::vector<double>* edges_;
  bool is_balanced_ = false;
};

Range<double> score_range(const Grid& grid) {
  Range<double> range;
  for (const auto& level : grid.levels) {
    if (!level.empty()) range.add({level.back().threshold, level.front().highest});
  }
  return range;
}

}  // namespace

void validate(const PositivityMapOptions& options) {
  const auto refuse = [](const char* field, const std::string& value, const char* needed) {
    throw InvalidInput(Where{.function = "positivity_map", .field = field}, "is " + value + ", must be " + needed);
  };
  if (options.levels < 1 || options.levels > 1000) refuse("levels", std::to_string(options.levels), "1 to 1000");
  if (options.bins < 1 || options.bins > 10'000) refuse("bins", std::to_string(options.bins), "1 to 10000");
  if (!(options.confidence > 0 && options.confidence < 1)) {
    refuse("confidence", number_text(options.confidence), "between 0 and 1");
  }
  if (options.balanced && options.binning == Binning::kEquiSpan) {
    refuse("balanced", "set", "off with equi-span, whose bins do not count rows");
  }
  const auto check_edges = [&](const std::string& field, const std::vector<double>& edges, std::size_t most) {
    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
      if (std::isfinite(edges[edge]) && (edge == 0 || edges[edge] > edges[edge - 1])) continue;
      refuse((field + "[" + std::to_string(edge) + "]").c_str(), number_text(edges[edge]),
             "finite and above the one before");
    }
    if (edges.size() > most) {
      refuse(field.c_str(), std::to_string(edges.size()) + " numbers", ("at most " + std::to_string(most)).c_str());
    }
  };
  if (options.edges) check_edges("edges", *options.edges, 999);
  if (options.score_edges) check_edges("score_edges", *options.score_edges, 9999);
}

PositivityMap positivity_map(const Grid& distinct, const PositivityMapOptions& options) {
  validate(options);
  PositivityMap map = {.uncertainty_edges = distinct.edges,
                       .bins = options.score_edges ? static_cast<int>(options.score_edges->size()) + 1 : options.bins,
                       .confidence = options.confidence,
                       .weighted = distinct.totals.has_value(),
                       .cells = {}};
  const Range<double> range = score_range(distinct);
  const double effective = rows_per_unit(distinct);
  for (std::size_t level = 0; level < distinct.num_levels(); ++level) {
    const auto& bins = distinct.levels[level];
    BinOfScore bin_of(bins, range, options);
    std::int32_t last = -1;
    Counts counts;
    long double score_sum = 0;  // of scores up to 1e308
    const auto finish = [&] {
      if (last < 0) return;
      PositivityCell& cell = map.cells.back();
      const auto rows = static_cast<double>(counts.rows);
      const auto positives = static_cast<double>(counts.positives);
      // The mean of equal scores must not leave them by rounding.
      cell.mean_score =
          std::clamp(static_cast<double>(score_sum / static_cast<long double>(counts.rows)), cell.low, cell.high);
      cell.rows = rows * distinct.unit;
      cell.positives = positives * distinct.unit;
      cell.rate = wilson_interval(positives * effective, rows * effective, options.confidence);
    };
    for (const Bin& score : std::views::reverse(bins)) {
      if (score.counts.rows == 0) continue;  // of weight 0
      const std::int32_t bin = bin_of(score);
      if (bin != last) {
        finish();
        map.cells.push_back({.level = static_cast<std::int32_t>(level), .bin = bin, .low = score.threshold});
        last = bin;
        counts = {};
        score_sum = 0;
      }
      map.cells.back().high = score.highest;
      counts += score.counts;
      score_sum += static_cast<long double>(score.threshold) * static_cast<long double>(score.counts.rows);
    }
    finish();
  }
  return map;
}

PositivityMap positivity_map(const Samples& samples, const PositivityMapOptions& options) {
  validate(options);
  const SampleRanges ranges = validate(samples);
  const std::vector<double> edges =
      options.edges ? *options.edges
                    : uncertainty_edges(samples.uncertainty, ranges.uncertainty, options.levels, options.binning);
  return positivity_map(count_distinct(samples, edges, weight_units(samples)), options);
}

}  // namespace limen
