// SPDX-License-Identifier: MIT
#include "limen/solve/chain.h"
#include "limen/solve/solve.h"
#include "solve/relaxation.h"

namespace limen {

Solution solve_hr(const Grid& grid, const Objective& objective) {
  const double bound = relaxation_bound(grid, objective);
  const Chain chain = recalibrated_chain(grid);
  const auto steps = best_prefix(chain, objective, totals_of(grid));
  if (!steps) return detail::infeasible_on_chain(grid, objective, chain);
  return detail::certify(grid, objective, taken_after(chain, *steps, grid.num_levels()), bound);
}

}  // namespace limen
