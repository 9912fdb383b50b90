// SPDX-License-Identifier: MIT
#include "limen/count/binning.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "count/distinct_bins.h"
#include "count/engine.h"
#include "count/quantiles.h"
#include "limen/base/error.h"
#include "limen/base/wide.h"

namespace limen {
namespace {

using detail::Range;
using detail::Wide;

std::vector<double> equi_span_edges(RealSpan uncertainty, int levels) {
  const auto [low, high] = uncertainty.visit([](auto values) {
    const auto range = detail::range_of(values);
    return std::pair(static_cast<double>(range.low), static_cast<double>(range.high));
  });
  std::vector<double> edges;
  for (int level = 1; level < levels; ++level) {
    // The mean of the two ends, weighted: no overflow for any finite range.
    const double share = static_cast<double>(level) / levels;
    const double edge = low * (1 - share) + high * share;
    if (edge > low && edge <= high && (edges.empty() || edge > edges.back())) edges.push_back(edge);
  }
  return edges;
}

template <typename Real>
std::vector<double> equi_weight_edges(std::span<const Real> values, int levels) {
  using Key = detail::KeyOf<Real>;
  std::vector<detail::Cut<Key>> cuts;
  if (values.size() < detail::kFewRows) {
    std::vector<Key> sorted = detail::sample_keys(values, values.size() + 1);
    detail::sort_keys(std::span(sorted));
    cuts = detail::sorted_cuts(std::span<const Key>(sorted), levels);
  } else {
    const std::vector<Key> sample = detail::sample_keys(values, std::size_t{1} << 16);
    cuts = detail::quantile_cuts(detail::RowsInMemory<Real>{values}, values.size(), levels, detail::range_of(values),
                                 std::span<const Key>(sample), values.size());
  }
  std::vector<double> edges;
  for (const auto& cut : cuts) edges.push_back(detail::edge_of(cut));
  return edges;
}

int ceil_log2(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return mantissa == 0.5 ? exponent - 1 : exponent;
}

/// Middle of the smallest and the largest uncertainty of each level, scaled so that all rows span [0, 1].
std::vector<double> scaled_uncertainty(RealSpan uncertainty, std::span<const std::uint16_t> level,
                                       std::size_t num_levels) {
  tbb::enumerable_thread_specific<std::vector<Range<double>>> parts(
      [&] { return std::vector<Range<double>>(num_levels); });
  uncertainty.visit([&](auto values) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, values.size(), detail::kBlockRows), [&](const auto& rows) {
      std::vector<Range<double>>& part = parts.local();
      for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
        Range<double>& range = part[level[row]];
        range.low = std::min(range.low, static_cast<double>(values[row]));
        range.high = std::max(range.high, static_cast<double>(values[row]));
      }
    });
  });
  std::vector<Range<double>> ranges(num_levels);
  Range<double> all;
  for (const auto& part : parts) {
    for (std::size_t at = 0; at < num_levels; ++at) {
      ranges[at] = {std::min(ranges[at].low, part[at].low), std::max(ranges[at].high, part[at].high)};
      all = {std::min(all.low, part[at].low), std::max(all.high, part[at].high)};
    }
  }
  std::vector<double> scaled;
  for (const auto& range : ranges) {
    // Halves and quarters, so that no sum of finite numbers overflows.
    const bool empty = range.low > range.high || all.high <= all.low;
    const double middle = range.low / 4 + range.high / 4;
    scaled.push_back(empty ? 0 : (middle - all.low / 2) / (all.high / 2 - all.low / 2));
  }
  return scaled;
}

/// Cuts a level at the bin ends nearest to equal shares of its rows.
std::vector<Bin> merge_equal_shares(const std::vector<Bin>& bins, std::int64_t parts) {
  const Wide total = total_counts(bins).rows;
  std::vector<Bin> merged;
  Bin open;
  Wide rows = 0;  // up to and with the latest bin
  std::int64_t part = 1;
  // Moves on past all cuts wanted at or before twice_rows / 2 and says whether there were any.
  const auto pass = [&](Wide twice_rows) {
    if (part >= parts || total == 0 || 2 * part * total > twice_rows * parts) return false;
    part = static_cast<std::int64_t>(std::min<Wide>(parts, twice_rows * parts / (2 * total) + 1));
    return true;
  };
  const auto close = [&] {
    if (open.counts.rows > 0) merged.push_back(open);
    open = {};
  };
  for (const Bin& bin : bins) {
    // Cuts wanted at part * total / parts: those not beyond the middle of this bin fall before it, the others after.
    if (pass(2 * rows + bin.counts.rows)) close();
    if (open.counts.rows == 0) open.highest = bin.highest;
    open.threshold = bin.threshold;
    open.counts += bin.counts;
    rows += bin.counts.rows;
    if (pass(2 * rows)) close();
  }
  close();
  return merged;
}

std::vector<Bin> merge_equal_spans(const std::vector<Bin>& bins, std::int64_t parts, double low, double high) {
  const double last = static_cast<double>(parts - 1);
  // Each operation is monotone, so the interval number never rises as the score falls. Halved: no overflow.
  const double width = high / 2 - low / 2;
  const auto interval = [&](double score) {
    return width > 0 ? std::min(last, std::floor((score / 2 - low / 2) / width * static_cast<double>(parts))) : 0;
  };
  std::vector<Bin> merged;
  double current = -1;
  for (const Bin& bin : bins) {
    if (merged.empty() || interval(bin.threshold) != current) {
      merged.emplace_back();
      current = interval(bin.threshold);
    }
    if (merged.back().counts.rows == 0) merged.back().highest = bin.highest;
    merged.back().threshold = bin.threshold;
    merged.back().counts += bin.counts;
  }
  std::erase_if(merged, [](const Bin& bin) { return bin.counts.rows == 0; });
  return merged;
}

}  // namespace

std::string_view to_string(Binning binning) { return binning == Binning::kEquiWeight ? "equi-weight" : "equi-span"; }

Binning parse_binning(std::string_view name) {
  if (name == "equi-weight") return Binning::kEquiWeight;
  if (name == "equi-span") return Binning::kEquiSpan;
  throw InvalidInput("binning \"" + std::string(name) + "\" is not one of equi-weight, equi-span");
}

std::vector<double> uncertainty_edges(RealSpan uncertainty, int levels, Binning binning) {
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("uncertainty_edges: levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
  if (uncertainty.empty() || levels == 1) return {};
  check_finite(uncertainty, "uncertainty_edges", "uncertainty");
  if (binning == Binning::kEquiSpan) return equi_span_edges(uncertainty, levels);
  return uncertainty.visit([&](auto values) { return equi_weight_edges(values, levels); });
}

std::int64_t WeightUnits::of_positive(double weight) const {
  return positives_up ? of_negative(weight) : static_cast<std::int64_t>(std::floor(weight / unit));
}

std::int64_t WeightUnits::of_negative(double weight) const {
  // A weight so small that the quotient is rounded to 0 is still a unit.
  return weight > 0 ? std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(weight / unit))) : 0;
}

WeightUnits weight_units(const Samples& samples, PositiveRounding rounding) {
  if (samples.weight.empty()) return {};
  const double largest = detail::range_of(samples.weight).high;
  WeightUnits units;
  units.positives_up = rounding == PositiveRounding::kUp;
  if (largest <= 0) return units;
  // A power of two divides exactly. Weights below the smallest normal number are not worth a finer unit.
  const int exponent = ceil_log2(largest) + ceil_log2(static_cast<double>(samples.size())) - 52;
  units.unit = std::ldexp(1.0, std::max(exponent, -1000));
  return units;
}

Grid count_distinct(const Samples& samples, std::vector<double> edges, const WeightUnits& units) {
  if (samples.size() == 0) throw InvalidInput("count_distinct", "there are no rows", Cause::kNoRows);
  check_finite(samples.score, "count_distinct", "score");
  check_finite(samples.uncertainty, "count_distinct", "uncertainty");
  Grid grid;
  grid.edges = std::move(edges);
  const std::size_t num_levels = grid.edges.size() + 1;
  const auto level =
      samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, grid.edges); });
  grid.scaled_uncertainty = scaled_uncertainty(samples.uncertainty, level, num_levels);
  const auto level_at = [&](std::size_t row) { return level[row]; };
  const auto label_at = [&](std::size_t row) { return samples.label[row]; };
  samples.score.visit([&](auto score) {
    if (samples.weight.empty()) {
      using Key = detail::KeyOf<typename decltype(score)::value_type>;
      grid.levels = detail::distinct_bins(
          detail::sort_sides<Key>(
              score.size(), num_levels, [&](std::size_t row) { return detail::ordered_key(score[row]); }, level_at,
              label_at),
          num_levels);
      return;
    }
    const auto item_at = [&](std::size_t row) {
      const double weight = samples.weight[row];
      const std::int64_t rounded = samples.label[row] != 0 ? units.of_positive(weight) : units.of_negative(weight);
      return detail::KeyWithUnits{static_cast<std::uint64_t>(rounded),
                                  detail::ordered_key(static_cast<double>(score[row]))};
    };
    grid.levels = detail::distinct_bins(
        detail::sort_sides<detail::KeyWithUnits>(score.size(), num_levels, item_at, level_at, label_at), num_levels);
  });
  if (samples.weight.empty()) {
    const Counts total = total_counts(grid);
    grid.positives_low = total.positives;
    grid.negatives_low = total.rows - total.positives;
  } else {
    grid.unit = units.unit;
    for (std::size_t row = 0; row < samples.size(); ++row) {
      (samples.label[row] != 0 ? grid.positives_low : grid.negatives_low) +=
          static_cast<std::int64_t>(std::floor(samples.weight[row] / units.unit));
    }
  }
  grid.rows_low = grid.positives_low + grid.negatives_low;
  return grid;
}

Grid merge_bins(const Grid& distinct, std::int64_t bins, Binning binning) {
  if (bins < 1 || bins > (std::int64_t{1} << 30)) {
    throw InvalidInput("merge_bins: bins is " + std::to_string(bins) + ", must be 1 to 2^30");
  }
  Range<double> range;
  for (const auto& level : distinct.levels) {
    for (const Bin& bin : level) {
      range.low = std::min(range.low, bin.threshold);
      range.high = std::max(range.high, bin.highest);
    }
  }
  Grid merged;
  merged.edges = distinct.edges;
  merged.unit = distinct.unit;
  merged.positives_low = distinct.positives_low;
  merged.negatives_low = distinct.negatives_low;
  merged.rows_low = distinct.rows_low;
  merged.scaled_uncertainty = distinct.scaled_uncertainty;
  for (const auto& level : distinct.levels) {
    merged.levels.push_back(binning == Binning::kEquiWeight ? merge_equal_shares(level, bins)
                                                            : merge_equal_spans(level, bins, range.low, range.high));
  }
  return merged;
}

Grid count_into(const Grid& bins, const Grid& rows) {
  if (bins.edges != rows.edges) throw InvalidInput("count_into: the edges differ");
  Grid counted = bins;
  counted.unit = rows.unit;
  counted.positives_low = rows.positives_low;
  counted.negatives_low = rows.negatives_low;
  counted.rows_low = rows.rows_low;
  for (std::size_t level = 0; level < bins.num_levels(); ++level) {
    auto next = rows.levels[level].begin();
    for (Bin& bin : counted.levels[level]) {
      bin.counts = {};
      for (; next != rows.levels[level].end() && next->threshold >= bin.threshold; ++next) bin.counts += next->counts;
    }
  }
  return counted;
}

Grid count_into(const Grid& bins, const Samples& samples, const WeightUnits& units) {
  validate(samples);
  if (samples.size() > 0) return count_into(bins, count_distinct(samples, bins.edges, units));
  Grid none;
  none.edges = bins.edges;
  none.unit = units.unit;
  none.levels.resize(bins.num_levels());
  return count_into(bins, none);
}

}  // namespace limen
