// SPDX-License-Identifier: MIT
#include <algorithm>

#include "limen/solve/solve.h"
#include "solve/relaxation.h"

namespace limen {
namespace {

/// The level's own totals. The rounding slack of weighted totals is charged to every level in full, so that levels that
/// each meet a constraint meet it together.
Totals level_totals(const Counts& level, const Totals& totals) {
  const auto reduced = [](std::int64_t own, std::int64_t sum, std::int64_t low) {
    return std::max<std::int64_t>(0, own - (sum - low));
  };
  return {level, reduced(level.positives, totals.all.positives, totals.positives_low),
          reduced(level.rows - level.positives, totals.all.rows - totals.all.positives, totals.negatives_low),
          reduced(level.rows, totals.all.rows, totals.rows_low)};
}

std::int32_t best_of_level(std::span<const Bin> bins, const Objective& objective, const Totals& totals) {
  if (totals.all.positives == 0) return 0;
  std::int32_t best = 0;
  Counts best_counts;
  bool found = is_feasible(objective, totals, best_counts);
  Counts prefix;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    prefix += bins[bin].counts;
    if (!is_feasible(objective, totals, prefix)) continue;
    if (found && !is_better(objective, totals, prefix, best_counts)) continue;
    found = true;
    best = static_cast<std::int32_t>(bin + 1);
    best_counts = prefix;
  }
  return best;
}

}  // namespace

Solution solve_gmt(const Grid& grid, const Objective& objective) {
  const double bound = relaxation_bound(grid, objective);
  const Totals totals = totals_of(grid);
  std::vector<std::int32_t> taken;
  for (const auto& bins : grid.levels) {
    taken.push_back(best_of_level(bins, objective, level_totals(total_counts(bins), totals)));
  }
  return detail::certify(grid, objective, std::move(taken), bound);
}

}  // namespace limen
