// SPDX-License-Identifier: MIT
#include "limen/count/binning.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "count/order_statistics.h"
#include "count/uncertainty_ranks.h"
#include "limen/base/error.h"
#include "limen/base/wide.h"
#include "limen/count/levels.h"

namespace limen {
namespace {

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
  const std::vector<std::size_t> ranks = detail::quantile_ranks(values.size(), levels);
  const auto ranked = detail::values_at_ranks<Real>(values, ranks);
  std::vector<double> edges;
  for (std::size_t at = 0; at < ranked.size(); ++at) {
    const auto edge = detail::edge_at(ranks[at], ranked[at], [&](Real value) {
      return ranked[at].next ? ranked[at].next : detail::smallest_above<Real>(values, value);
    });
    if (edge && (edges.empty() || static_cast<double>(*edge) > edges.back())) {
      edges.push_back(static_cast<double>(*edge));
    }
  }
  return edges;
}

int ceil_log2(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return mantissa == 0.5 ? exponent - 1 : exponent;
}

/// Scores of one level and class, and their weights in units when rows have weights.
template <typename Real>
struct Side {
  struct Row {
    Real score;
    std::int64_t units;
  };
  std::vector<Real> scores;  ///< without weights
  std::vector<Row> rows;     ///< with weights

  void sort_falling() {
    tbb::parallel_sort(scores.begin(), scores.end(), std::greater<Real>());
    tbb::parallel_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.score > b.score; });
  }
  [[nodiscard]] std::size_t size() const { return scores.size() + rows.size(); }
  [[nodiscard]] Real score(std::size_t at) const { return rows.empty() ? scores[at] : rows[at].score; }
  [[nodiscard]] std::int64_t units(std::size_t at) const { return rows.empty() ? 1 : rows[at].units; }
};

template <typename Real>
std::vector<Bin> distinct_bins(Side<Real>& positives, Side<Real>& negatives) {
  positives.sort_falling();
  negatives.sort_falling();
  std::vector<Bin> bins;
  std::size_t positive = 0;
  std::size_t negative = 0;
  while (positive < positives.size() || negative < negatives.size()) {
    Real score{};
    if (negative == negatives.size()) {
      score = positives.score(positive);
    } else if (positive == positives.size()) {
      score = negatives.score(negative);
    } else {
      score = std::max(positives.score(positive), negatives.score(negative));
    }
    Bin bin{static_cast<double>(score + Real{0}), {}};
    for (; positive < positives.size() && positives.score(positive) == score; ++positive) {
      const std::int64_t units = positives.units(positive);
      bin.counts += {units, units};
    }
    for (; negative < negatives.size() && negatives.score(negative) == score; ++negative) {
      bin.counts.rows += negatives.units(negative);
    }
    bins.push_back(bin);
  }
  return bins;
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
      merged.push_back({bin.threshold, {}, bin.highest});
      current = interval(bin.threshold);
    }
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

WeightUnits weight_units(const Samples& samples, const Objective& objective) {
  if (samples.weight.empty()) return {};
  const double largest = detail::range_of(samples.weight).high;
  WeightUnits units;
  units.positives_up = objective.goal == Goal::kFlagRate || objective.goal == Goal::kRecall;
  if (largest <= 0) return units;
  // A power of two divides exactly. Weights below the smallest normal number are not worth a finer unit.
  const int exponent = ceil_log2(largest) + ceil_log2(static_cast<double>(samples.size())) - 52;
  units.unit = std::ldexp(1.0, std::max(exponent, -1000));
  return units;
}

Grid count_distinct(const Samples& samples, std::vector<double> edges, const WeightUnits& units) {
  if (samples.size() == 0) throw InvalidInput("count_distinct: there are no rows");
  const std::size_t rows = samples.size();
  const bool weighted = !samples.weight.empty();
  Grid grid;
  grid.edges = std::move(edges);
  grid.levels.resize(grid.edges.size() + 1);
  grid.unit = weighted ? units.unit : 1;
  RowTotals totals{0, 0, static_cast<std::int64_t>(rows)};

  std::vector<std::uint16_t> level(rows);
  std::vector<detail::Range<double>> ranges(grid.num_levels());
  samples.uncertainty.visit([&](auto values) {
    const LevelFinder<typename decltype(values)::value_type> finder(grid.edges);
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, 1 << 16), [&](const auto& range) {
      finder.find(values.data() + range.begin(), range.size(), level.data() + range.begin());
    });
    for (std::size_t row = 0; row < rows; ++row) {
      auto& range = ranges[level[row]];
      range.low = std::min(range.low, static_cast<double>(values[row]));
      range.high = std::max(range.high, static_cast<double>(values[row]));
    }
  });
  detail::Range<double> all;
  for (const auto& range : ranges) all = {std::min(all.low, range.low), std::max(all.high, range.high)};
  for (const auto& range : ranges) {
    // Halves and quarters, so that no sum of finite numbers overflows.
    const bool empty = range.low > range.high || all.high <= all.low;
    const double middle = range.low / 4 + range.high / 4;
    grid.scaled_uncertainty.push_back(empty ? 0 : (middle - all.low / 2) / (all.high / 2 - all.low / 2));
  }

  samples.score.visit([&](auto scores) {
    using Real = std::remove_cv_t<typename decltype(scores)::element_type>;
    std::vector<Side<Real>> positives(grid.num_levels());
    std::vector<Side<Real>> negatives(grid.num_levels());
    for (std::size_t row = 0; row < rows; ++row) {
      Side<Real>& side = samples.label[row] != 0 ? positives[level[row]] : negatives[level[row]];
      if (!weighted) {
        side.scores.push_back(scores[row]);
        continue;
      }
      const double weight = samples.weight[row];
      const bool positive = samples.label[row] != 0;
      side.rows.push_back({scores[row], positive ? units.of_positive(weight) : units.of_negative(weight)});
      const auto rounded_down = static_cast<std::int64_t>(std::floor(weight / units.unit));
      (positive ? totals.positives_low : totals.negatives_low) += rounded_down;
    }
    tbb::parallel_for(std::size_t{0}, grid.num_levels(),
                      [&](std::size_t at) { grid.levels[at] = distinct_bins(positives[at], negatives[at]); });
  });
  if (weighted) grid.totals = totals;
  return grid;
}

Grid merge_bins(const Grid& distinct, std::int64_t bins, Binning binning) {
  if (bins < 1 || bins > (std::int64_t{1} << 30)) {
    throw InvalidInput("merge_bins: bins is " + std::to_string(bins) + ", must be 1 to 2^30");
  }
  detail::Range<double> range;
  for (const auto& level : distinct.levels) {
    for (const Bin& bin : level) {
      range.low = std::min(range.low, bin.threshold);
      range.high = std::max(range.high, bin.threshold);
    }
  }
  Grid merged;
  merged.edges = distinct.edges;
  merged.unit = distinct.unit;
  merged.totals = distinct.totals;
  merged.scaled_uncertainty = distinct.scaled_uncertainty;
  for (const auto& level : distinct.levels) {
    merged.levels.push_back(binning == Binning::kEquiWeight ? merge_equal_shares(level, bins)
                                                            : merge_equal_spans(level, bins, range.low, range.high));
  }
  return merged;
}

Grid count_into(const Grid& bins, const Samples& samples, const WeightUnits& units) {
  validate(samples);
  Grid counted = bins;
  counted.unit = units.unit;
  RowTotals totals{0, 0, static_cast<std::int64_t>(samples.size())};
  // The same cuts as in the rule that flags a prefix of the bins.
  std::vector<std::vector<double>> cuts(bins.num_levels());
  for (std::size_t level = 0; level < bins.num_levels(); ++level) {
    cuts[level] = score_cuts(bins.levels[level]);
    for (Bin& bin : counted.levels[level]) bin.counts = {};
  }
  samples.score.visit([&](auto scores) {
    samples.uncertainty.visit([&](auto uncertainties) {
      for (std::size_t row = 0; row < samples.size(); ++row) {
        const bool positive = samples.label[row] != 0;
        const double weight = samples.weight.empty() ? 1 : samples.weight[row];
        const std::int64_t row_units = positive ? units.of_positive(weight) : units.of_negative(weight);
        (positive ? totals.positives_low : totals.negatives_low) +=
            static_cast<std::int64_t>(std::floor(weight / units.unit));
        const std::size_t level = level_of(counted.edges, static_cast<double>(uncertainties[row]));
        const auto cut = std::partition_point(cuts[level].begin(), cuts[level].end(), [&](double candidate) {
          return candidate > static_cast<double>(scores[row]);
        });
        if (cut == cuts[level].end()) continue;
        counted.levels[level][static_cast<std::size_t>(cut - cuts[level].begin())].counts +=
            {row_units, positive ? row_units : 0};
      }
    });
  });
  counted.totals = totals;
  return counted;
}

}  // namespace limen
