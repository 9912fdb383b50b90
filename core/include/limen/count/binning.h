// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "limen/count/grid.h"
#include "limen/count/samples.h"

namespace limen {

enum class Binning {
  kEquiWeight,  ///< quantiles of uncertainty, then quantiles of score inside each level
  kEquiSpan,    ///< equal intervals of the uncertainty range and of the score range
};
[[nodiscard]] std::string_view to_string(Binning binning);
[[nodiscard]] Binning parse_binning(std::string_view name);

/// Increasing uncertainties that split the rows into at most `levels` levels; level = number of edges <= uncertainty.
///
/// Equal values never fall into different levels: with ties a quantile moves to the nearer end of its run of equal
/// values (the lower one when both are as near; never before the smallest value), and edges that coincide become one,
/// so that fewer levels than asked for may come out; none is empty. Equi-span keeps empty levels in the middle of the
/// range. Quantiles count rows, whatever their weights. levels: 1 to 1000. O(n), plus a pass for each quantile that
/// ties move up. Throws InvalidInput.
[[nodiscard]] std::vector<double> uncertainty_edges(RealSpan uncertainty, int levels,
                                                    Binning binning = Binning::kEquiWeight);
/// The same for values that are known to be finite and to have this range, as validate(Samples) gives it.
[[nodiscard]] std::vector<double> uncertainty_edges(RealSpan uncertainty, Range<double> range, int levels,
                                                    Binning binning);

/// How one row's weight becomes an integer number of units. Without weights the unit is 1.
///
/// unit = a power of two, small, with (rows * largest weight) / unit within 2^52: it depends on the rows only, not on
/// their order, and weights that are multiples of it (all integers, in practice) are exact. Any other
/// weight is rounded so that no constraint looks better than it is: negatives up; positives down where precision is
/// bounded, up where the flag rate or the positives missed (recall) are; and the totals that a constraint compares with
/// down.
enum class PositiveRounding { kDown, kUp };
struct WeightUnits {
  double unit = 1;
  bool positives_up = false;

  [[nodiscard]] std::int64_t of_positive(double weight) const;
  [[nodiscard]] std::int64_t of_negative(double weight) const;
};
[[nodiscard]] WeightUnits weight_units(const Samples& samples, PositiveRounding rounding = PositiveRounding::kDown);

/// Counts every distinct score of every level into its own bin ("--bins all").
/// O(n log n), parallel; the same result for any thread count. Throws InvalidInput when there are no rows.
[[nodiscard]] Grid count_distinct(const Samples& samples, std::vector<double> edges, const WeightUnits& units = {});

/// Merges neighbouring bins of every level into at most `bins` bins: of nearly equally many rows (equi-weight), or of
/// equal score intervals over the range of the whole grid (equi-span). Bins that would be empty are left out. Equal
/// scores stay together, because they are one bin to begin with. bins: 1 to 2^30. Throws InvalidInput.
[[nodiscard]] Grid merge_bins(const Grid& distinct, std::int64_t bins, Binning binning = Binning::kEquiWeight);

/// merge_bins(count_distinct(samples, edges, units), bins, binning) without the grid of distinct scores.
[[nodiscard]] Grid count_bins(const Samples& samples, std::vector<double> edges, std::int64_t bins,
                              Binning binning = Binning::kEquiWeight, const WeightUnits& units = {});

/// Other rows, given as they are counted by count_distinct with the same edges, in the bins of a grid, cut where a rule
/// would cut them (score_cut). Rows below every threshold of their level are in no bin, but in the totals of the grid.
/// O(bins). Throws InvalidInput.
[[nodiscard]] Grid count_into(const Grid& bins, const Grid& rows);
[[nodiscard]] Grid count_into(const Grid& bins, const Samples& samples, const WeightUnits& units = {});

}  // namespace limen
