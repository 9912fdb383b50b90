// SPDX-License-Identifier: MIT
#include "limen/solve/chain.h"
#include "limen/solve/solve.h"
#include "solve/relaxation.h"

namespace limen {

Solution solve_st(const Grid& grid, const Objective& objective) {
  const double bound = relaxation_bound(grid, objective);
  const Chain chain = score_chain(grid);
  const auto steps = best_prefix(chain, objective, totals_of(grid));
  if (!steps) return detail::infeasible_on_chain(grid, objective, chain);
  Solution solution = detail::certify(grid, objective, taken_after(chain, *steps, grid.num_levels()), bound);
  // With one level every boundary is a single threshold, and the best of them is the optimum.
  if (grid.num_levels() == 1) {
    solution.bound = solution.value;
    solution.gap = 0;
    solution.status = SolveStatus::kOptimal;
  }
  return solution;
}

}  // namespace limen
