// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace limen {

/// Flagged rows and the positives among them. In units of the grid (see Grid::unit) when rows have weights.
struct Counts {
  std::int64_t rows = 0;
  std::int64_t positives = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
  Counts& operator+=(const Counts& other) {
    rows += other.rows;
    positives += other.positives;
    return *this;
  }
  Counts& operator-=(const Counts& other) {
    rows -= other.rows;
    positives -= other.positives;
    return *this;
  }
  friend Counts operator+(Counts a, const Counts& b) { return a += b; }
  friend Counts operator-(Counts a, const Counts& b) { return a -= b; }
};

/// One score bin: the rows of a level whose score is at least `threshold` and below the threshold of the bin above.
struct Bin {
  double threshold = 0;  ///< the smallest score in the bin
  Counts counts;
  double highest = threshold;  ///< the largest score in the bin
};

/// Totals that the bins do not tell.
struct RowTotals {
  std::int64_t positives_low = 0;  ///< all positives in units, every weight rounded down
  std::int64_t negatives_low = 0;  ///< all negatives in units, every weight rounded down
  std::int64_t num_rows = 0;       ///< rows that were counted, whatever their weights

  friend bool operator==(const RowTotals&, const RowTotals&) = default;
};

/// The hold-out counted into uncertainty levels and, inside each level, score bins.
///
///          highest score                     lowest score
/// level 0  | bin 0 | bin 1 | bin 2 | ...   |              uncertainty <  edges[0]
/// level 1  | bin 0 | bin 1 | ...    |                     edges[0] <= uncertainty < edges[1]
/// ...                                                     ...
/// level K-1| bin 0 | ...                   |              edges[K-2] <= uncertainty
///
/// Bins run from the HIGHEST score down, so that a boundary of the paper, "the j highest bins of this level", is a
/// prefix. Levels may have different numbers of bins; a bin may be empty; a level may have no bins.
struct Grid {
  std::vector<double> edges;             ///< K - 1 increasing uncertainties; level = number of edges <= uncertainty
  std::vector<std::vector<Bin>> levels;  ///< K >= 1 levels
  /// One row of weight w counts as w / unit, rounded (see binning.h). 1 without weights.
  double unit = 1;
  /// Set where rows have weights, and where some rows are in no bin (count_into). Unset: the sums of the bins.
  std::optional<RowTotals> totals = std::nullopt;
  /// Middle of the smallest and largest uncertainty seen in each level, scaled so that the hold-out spans [0, 1].
  /// Used by `hr` only; empty means level / (K - 1).
  std::vector<double> scaled_uncertainty;

  [[nodiscard]] std::size_t num_levels() const { return levels.size(); }
};

/// A grid from bins in any order, as a table of counts or the parts of a distributed count bring them: bins of equal
/// threshold of a level add up. `totals` must be given when unit is not 1. Checked as validate does, before anything is
/// added. Throws InvalidInput.
[[nodiscard]] Grid grid_from_bins(std::vector<double> edges, std::vector<std::vector<Bin>> levels, double unit = 1,
                                  std::optional<RowTotals> totals = std::nullopt);

/// A grid from plain tables of counts: positives[level][bin] and rows[level][bin], bins from the highest score down.
/// Thresholds are made up (falling integers), edges are 1, 2, ... Throws InvalidInput when 0 <= positives <= rows fails
/// or the shapes differ.
[[nodiscard]] Grid make_grid(const std::vector<std::vector<std::int64_t>>& positives,
                             const std::vector<std::vector<std::int64_t>>& rows);

/// For bins whose largest score is not known: every bin is taken to reach up to the bin above it.
void assume_full_bins(Grid& grid);

/// The counts of two parts of the rows together, bin by bin: what a distributed count adds up. Both grids must have the
/// same edges and unit; a score that only one of them has keeps its own bin. Associative and commutative.
/// Throws InvalidInput, also when two bins of unequal thresholds overlap.
[[nodiscard]] Grid add_counts(const Grid& a, const Grid& b);

/// Neighbouring levels put together, so that only the edges given are left, each an edge of the grid. Unset: bins of
/// different levels overlap, and no threshold cuts both between two rows.
[[nodiscard]] std::optional<Grid> merge_levels(const Grid& grid, std::vector<double> edges);

/// The score threshold that flags exactly the `taken` > 0 highest bins of a level: above the largest score of the next
/// bin with rows and not above the smallest score of the last bin with rows among those taken (of the first bin, if
/// none of them has rows), with as few digits as possible (see shortest_decimal.h). Never rises with `taken`.
[[nodiscard]] double score_cut(std::span<const Bin> level, std::size_t taken);
/// For taken = 1, 2, ..., all bins of the level. O(bins).
[[nodiscard]] std::vector<double> score_cuts(std::span<const Bin> level);

/// Sum over all bins.
[[nodiscard]] Counts total_counts(const Grid& grid);

/// Rows behind one unit of the bins: 1 without weights, else the mean.
[[nodiscard]] double rows_per_unit(const Grid& grid);

/// Sum over one level.
[[nodiscard]] Counts total_counts(std::span<const Bin> level);

/// Counts of the boundary that flags the taken[level] highest bins of every level.
[[nodiscard]] Counts flagged_counts(const Grid& grid, std::span<const std::int32_t> taken);

/// Throws InvalidInput when edges do not increase, a level's thresholds do not fall, the largest score of a bin is
/// below its smallest or not below the bin above, counts are negative or more positive than rows, the sums are so large
/// that exact arithmetic could overflow (2^53 units), or `totals` are negative, above the sums of the bins, or missing
/// though the unit is not 1. No sum overflows on the way.
void validate(const Grid& grid);

}  // namespace limen
