// SPDX-License-Identifier: MIT
#include "choose/score_table.h"

#include <cmath>
#include <numeric>

#include "limen/solve/chain.h"

namespace limen::detail {

Counts ScoreTable::total() const { return std::accumulate(cells.begin(), cells.end(), Counts{}); }

Grid ScoreTable::grid() const {
  std::vector<std::vector<Bin>> levels(num_levels);
  for (std::size_t bin = 0; bin < num_bins(); ++bin) {
    for (std::size_t level = 0; level < num_levels; ++level) {
      levels[level].push_back({-static_cast<double>(bin), cells[bin * num_levels + level]});
    }
  }
  Grid grid;
  for (std::size_t level = 1; level < num_levels; ++level) grid.edges.push_back(static_cast<double>(level));
  grid.levels = std::move(levels);
  return grid;
}

ScoreTable score_table(const Grid& grid, std::int64_t near_rows) {
  constexpr std::size_t kScoreBins = 200;
  const Chain by_score = score_chain(grid);
  ScoreTable table{grid.num_levels(), std::vector<Counts>(grid.num_levels() * (kScoreBins + 1))};
  std::size_t group_begin = 0;
  for (std::size_t step = 0; step < by_score.size(); ++step) {
    if (!by_score[step].group_end) continue;
    // By the rows above, so that equal scores stay together.
    const std::int64_t above = counts_after(by_score, group_begin).rows;
    const std::size_t bin =
        above >= near_rows
            ? kScoreBins
            : static_cast<std::size_t>(static_cast<double>(above) * kScoreBins / static_cast<double>(near_rows));
    for (; group_begin <= step; ++group_begin) {
      table.cells[bin * table.num_levels + static_cast<std::size_t>(by_score[group_begin].level)] +=
          by_score[group_begin].flagged - counts_after(by_score, group_begin);
    }
  }
  const double scale = rows_per_unit(grid);
  if (scale == 1) return table;
  for (Counts& cell : table.cells) {
    const std::int64_t positives = std::llround(scale * static_cast<double>(cell.positives));
    cell = {positives + std::llround(scale * static_cast<double>(cell.rows - cell.positives)), positives};
  }
  return table;
}

}  // namespace limen::detail
