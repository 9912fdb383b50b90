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

using detail::Wide;

std::vector<double> equi_span_edges(Range<double> range, int levels) {
  const auto [low, high] = range;
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
std::vector<double> equi_weight_edges(std::span<const Real> values, Range<double> range, int levels) {
  using Key = detail::KeyOf<Real>;
  std::vector<detail::Cut<Key>> cuts;
  if (values.size() < detail::kFewRows) {
    std::vector<Key> sorted = detail::sample_keys(values, values.size() + 1);
    detail::sort_keys(std::span(sorted));
    cuts = detail::sorted_cuts(std::span<const Key>(sorted), levels);
  } else {
    const std::vector<Key> sample = detail::sample_keys(values, std::size_t{1} << 17);
    const detail::KeyMap<Key> map(detail::ordered_key(static_cast<Real>(range.low)),
                                  detail::ordered_key(static_cast<Real>(range.high)), sample,
                                  detail::quantile_buckets(levels));
    detail::KeyCounter<Key> counter(map, detail::guess_buckets(map, std::span<const Key>(sample), levels),
                                    values.size());
    const detail::RowsInMemory<Real> rows{values};
    counter.add(rows);
    cuts = detail::quantile_cuts(rows, counter, values.size(), levels, values.size());
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

/// Puts the bins of a level, from the highest score down, together into bins of nearly equal shares of its rows: cuts
/// are at the bin ends nearest to them.
class EqualShares {
 public:
  EqualShares(std::int64_t total_rows, std::int64_t parts, std::vector<Bin>& merged)
      : total_(total_rows), parts_(parts), merged_(merged) {}

  void add(const Bin& bin) {
    // Cuts wanted at part * total / parts: those not beyond the middle of this bin fall before it, the others after.
    if (passes_a_cut(2 * rows_ + bin.counts.rows)) close();
    if (open_.counts.rows == 0) open_.highest = bin.highest;
    open_.threshold = bin.threshold;
    open_.counts += bin.counts;
    rows_ += bin.counts.rows;
    if (passes_a_cut(2 * rows_)) close();
  }
  void close() {
    if (open_.counts.rows > 0) merged_.push_back(open_);
    open_ = {};
  }

 private:
  /// Moves on past all cuts wanted at or before twice_rows / 2 and says whether there were any.
  bool passes_a_cut(std::int64_t twice_rows) {
    if (twice_rows < next_) return false;
    part_ = std::min<Wide>(parts_, Wide{twice_rows} * parts_ / (2 * total_) + 1);
    next_ = twice_rows_at(part_);
    return true;
  }
  /// The least number at which 2 * part * total / parts is reached; never, for the last part.
  [[nodiscard]] std::int64_t twice_rows_at(Wide part) const {
    if (part >= parts_ || total_ == 0) return std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>((2 * part * total_ + parts_ - 1) / parts_);
  }

  Wide total_;
  Wide parts_;
  std::vector<Bin>& merged_;
  Bin open_;
  std::int64_t rows_ = 0;  // up to and with the latest bin; at most 2^53
  Wide part_ = 1;
  std::int64_t next_ = twice_rows_at(part_);
};

/// Puts bins together by equal intervals of the score between low and high; those without rows are left out.
class EqualSpans {
 public:
  EqualSpans(Range<double> range, std::int64_t parts, std::vector<Bin>& merged)
      : low_(range.low), width_(range.high / 2 - range.low / 2), parts_(static_cast<double>(parts)), merged_(merged) {}

  void add(const Bin& bin) {
    const double interval = interval_of(bin.threshold);
    if (interval != current_) close();
    current_ = interval;
    if (open_.counts.rows == 0) open_.highest = bin.highest;
    open_.threshold = bin.threshold;
    open_.counts += bin.counts;
  }
  void close() {
    if (open_.counts.rows > 0) merged_.push_back(open_);
    open_ = {};
  }

 private:
  // Each operation is monotone, so the interval number never rises as the score falls. Halved: no overflow.
  [[nodiscard]] double interval_of(double score) const {
    return width_ > 0 ? std::min(parts_ - 1, std::floor((score / 2 - low_ / 2) / width_ * parts_)) : 0;
  }

  double low_;
  double width_;
  double parts_;
  std::vector<Bin>& merged_;
  Bin open_;
  double current_ = -1;
};

void check_bins(const char* function, std::int64_t bins) {
  if (bins < 1 || bins > (std::int64_t{1} << 30)) {
    throw InvalidInput(function, "bins is " + std::to_string(bins) + ", must be 1 to 2^30");
  }
}

/// Rows by level and label, sorted by score: what becomes of them, by(sides), and the totals.
template <typename Make>
Grid count_sorted(const Samples& samples, std::vector<double> edges, const WeightUnits& units, const char* function,
                  const Make& make) {
  if (samples.size() == 0) throw InvalidInput(function, "there are no rows", Cause::kNoRows);
  finite_range(samples.score, "samples", "score");
  finite_range(samples.uncertainty, "samples", "uncertainty");
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
      const auto key_at = [&](std::size_t row) { return detail::ordered_key(score[row]); };
      const auto sides = detail::sort_sides<Key>(score.size(), num_levels, key_at, level_at, label_at);
      grid.levels = make(sides);
      return;
    }
    const auto item_at = [&](std::size_t row) {
      const double weight = samples.weight[row];
      const std::int64_t rounded = samples.label[row] != 0 ? units.of_positive(weight) : units.of_negative(weight);
      return detail::KeyWithUnits{static_cast<std::uint64_t>(rounded),
                                  detail::ordered_key(static_cast<double>(score[row]))};
    };
    grid.unit = units.unit;
    grid.totals = RowTotals{0, 0, static_cast<std::int64_t>(samples.size())};
    for (std::size_t row = 0; row < samples.size(); ++row) {
      (samples.label[row] != 0 ? grid.totals->positives_low : grid.totals->negatives_low) +=
          static_cast<std::int64_t>(std::floor(samples.weight[row] / units.unit));
    }
    grid.levels = make(detail::sort_sides<detail::KeyWithUnits>(score.size(), num_levels, item_at, level_at, label_at));
  });
  return grid;
}

/// Calls merge(merger) for every level, on all threads; bins that go to the merger are put together in `levels`.
/// rows_of(level): its rows. range: of all scores.
template <typename RowsOf, typename Merge>
std::vector<std::vector<Bin>> merge_levels(std::size_t num_levels, std::int64_t bins, Binning binning,
                                           Range<double> range, const RowsOf& rows_of, const Merge& merge) {
  std::vector<std::vector<Bin>> levels(num_levels);
  tbb::parallel_for(std::size_t{0}, num_levels, [&](std::size_t level) {
    const auto run = [&](auto merger) {
      merge(level, [&](const Bin& bin) { merger.add(bin); });
      merger.close();
    };
    if (binning == Binning::kEquiWeight) {
      run(EqualShares(rows_of(level), bins, levels[level]));
    } else {
      run(EqualSpans(range, bins, levels[level]));
    }
  });
  return levels;
}

}  // namespace

std::string_view to_string(Binning binning) { return binning == Binning::kEquiWeight ? "equi-weight" : "equi-span"; }

Binning parse_binning(std::string_view name) {
  if (name == "equi-weight") return Binning::kEquiWeight;
  if (name == "equi-span") return Binning::kEquiSpan;
  throw InvalidInput("binning \"" + std::string(name) + "\" is not one of equi-weight, equi-span");
}

std::vector<double> uncertainty_edges(RealSpan uncertainty, int levels, Binning binning) {
  const bool needs_range = !uncertainty.empty() && levels > 1;
  return uncertainty_edges(uncertainty,
                           needs_range ? finite_range(uncertainty, "samples", "uncertainty") : Range<double>{}, levels,
                           binning);
}

std::vector<double> uncertainty_edges(RealSpan uncertainty, Range<double> range, int levels, Binning binning) {
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("uncertainty_edges", "levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
  if (uncertainty.empty() || levels == 1) return {};
  if (binning == Binning::kEquiSpan) return equi_span_edges(range, levels);
  return uncertainty.visit([&](auto values) { return equi_weight_edges(values, range, levels); });
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
  const double largest = finite_range(RealSpan(samples.weight), "samples", "weight").high;
  WeightUnits units;
  units.positives_up = rounding == PositiveRounding::kUp;
  if (largest <= 0) return units;
  // A power of two divides exactly. Weights below the smallest normal number are not worth a finer unit.
  const int exponent = ceil_log2(largest) + ceil_log2(static_cast<double>(samples.size())) - 52;
  units.unit = std::ldexp(1.0, std::max(exponent, -1000));
  return units;
}

Grid count_distinct(const Samples& samples, std::vector<double> edges, const WeightUnits& units) {
  return count_sorted(samples, std::move(edges), units, "count_distinct",
                      [](const auto& sides) { return detail::distinct_bins(sides); });
}

Grid count_bins(const Samples& samples, std::vector<double> edges, std::int64_t bins, Binning binning,
                const WeightUnits& units) {
  check_bins("count_bins", bins);
  return count_sorted(samples, std::move(edges), units, "count_bins", [&](const auto& sides) {
    Range<double> range;
    for (std::size_t level = 0; level < sides.num_levels(); ++level) {
      for (const std::size_t label : {0, 1}) {
        const auto side = sides.side(level, label);
        if (side.empty()) continue;
        range.low = std::min(range.low, static_cast<double>(detail::value_of_key(detail::key_of(side.front()))));
        range.high = std::max(range.high, static_cast<double>(detail::value_of_key(detail::key_of(side.back()))));
      }
    }
    const auto rows_of = [&](std::size_t level) {
      std::int64_t rows = 0;
      for (const std::size_t label : {0, 1}) {
        for (const auto& item : sides.side(level, label)) rows += detail::units_of(item);
      }
      return rows;
    };
    return merge_levels(sides.num_levels(), bins, binning, range, rows_of,
                        [&](std::size_t level, const auto& add) { detail::for_each_distinct(sides, level, add); });
  });
}

Grid merge_bins(const Grid& distinct, std::int64_t bins, Binning binning) {
  check_bins("merge_bins", bins);
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
  merged.totals = distinct.totals;
  merged.scaled_uncertainty = distinct.scaled_uncertainty;
  merged.levels = merge_levels(
      distinct.num_levels(), bins, binning, range,
      [&](std::size_t level) { return total_counts(distinct.levels[level]).rows; },
      [&](std::size_t level, const auto& add) {
        for (const Bin& bin : distinct.levels[level]) add(bin);
      });
  return merged;
}

Grid count_into(const Grid& bins, const Grid& rows) {
  if (bins.edges != rows.edges) throw InvalidInput("count_into", "the edges differ");
  Grid counted = bins;
  counted.unit = rows.unit;
  const Counts total = total_counts(rows);
  counted.totals = rows.totals.value_or(RowTotals{total.positives, total.rows - total.positives, total.rows});
  tbb::parallel_for(std::size_t{0}, bins.num_levels(), [&](std::size_t level) {
    const std::vector<double> cuts = score_cuts(bins.levels[level]);
    auto next = rows.levels[level].begin();
    for (std::size_t bin = 0; bin < cuts.size(); ++bin) {
      Counts& counts = counted.levels[level][bin].counts;
      counts = {};
      for (; next != rows.levels[level].end() && next->threshold >= cuts[bin]; ++next) counts += next->counts;
    }
  });
  return counted;
}

Grid count_into(const Grid& bins, const Samples& samples, const WeightUnits& units) {
  validate(samples);
  if (samples.size() > 0) return count_into(bins, count_distinct(samples, bins.edges, units));
  Grid none;
  none.edges = bins.edges;
  none.unit = units.unit;
  none.totals = RowTotals{};
  none.levels.resize(bins.num_levels());
  return count_into(bins, none);
}

}  // namespace limen
