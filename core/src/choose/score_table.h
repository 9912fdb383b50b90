// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/objective.h"

namespace limen::detail {

/// The counts of a grid by score bin, the same for all levels, and level; bin 0 has the highest scores, the last bin
/// all rows that are not near the decision.
struct ScoreTable {
  std::size_t num_levels = 0;
  std::vector<Counts> cells;  ///< bin * num_levels + level

  [[nodiscard]] std::size_t num_bins() const { return cells.size() / num_levels; }
  [[nodiscard]] Counts total() const;
  [[nodiscard]] Totals totals() const { return totals_of_rows(total()); }
  [[nodiscard]] Grid grid() const;

  /// What a constraint compares with, where rows have no weights.
  [[nodiscard]] static Totals totals_of_rows(const Counts& counts) {
    return {counts, counts.positives, counts.rows - counts.positives, counts.rows};
  }
};

/// About 200 bins of the near_rows (in units) highest scores, by the rows above them. Weights are counted in rows of
/// mean weight, rounded: what rows left out can tell depends on their number.
[[nodiscard]] ScoreTable score_table(const Grid& grid, std::int64_t near_rows);

}  // namespace limen::detail
