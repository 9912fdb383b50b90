// SPDX-License-Identifier: MIT
//
// ST, single threshold (the paper's baseline; K = 1): positive iff score >= t, whatever the uncertainty. Its boundaries
// are the prefixes of all bins in order of falling score.

#include "limen/solve/solve.h"
#include "solve/certificate.h"

namespace limen {

Solution solve_st(const Problem& problem) {
  Solution solution = detail::solve_on_chain(problem, score_chain(problem.grid()));
  // With one level every boundary is a single threshold, and the best of them is the optimum.
  if (problem.num_levels() == 1 && solution.status != SolveStatus::kInfeasible) {
    solution.bound = solution.value;
    solution.gap = 0;
    solution.status = SolveStatus::kOptimal;
  }
  return solution;
}

}  // namespace limen
