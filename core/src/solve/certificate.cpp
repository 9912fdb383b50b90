// SPDX-License-Identifier: MIT
#include "solve/certificate.h"

#include <algorithm>
#include <cmath>

#include "limen/solve/isotonic.h"

namespace limen::detail {

Solution with_certificate(const Problem& problem, std::vector<std::int32_t> taken, double bound) {
  const Grid& grid = problem.grid();
  for (std::size_t level = 0; level < taken.size(); ++level) {
    // An empty last bin only lowers the threshold to a score that nothing spoke for.
    while (taken[level] > 0 && grid.levels[level][static_cast<std::size_t>(taken[level]) - 1].counts.rows == 0) {
      --taken[level];
    }
  }
  Solution solution;
  solution.flagged = flagged_counts(grid, taken);
  if (!problem.is_feasible(solution.flagged)) return infeasible_solution(problem);
  solution.taken = std::move(taken);
  solution.value = problem.value(solution.flagged);
  // The bound may have been rounded; a boundary that exists proves that it can be no worse.
  const bool minimizes = problem.objective().goal == Goal::kCost;
  solution.bound = minimizes ? std::min(bound, solution.value) : std::max(bound, solution.value);
  solution.gap = std::abs(solution.bound - solution.value);
  solution.status = solution.gap == 0 ? SolveStatus::kOptimal : SolveStatus::kFeasible;
  return solution;
}

Solution infeasible_solution(const Problem& problem) {
  Solution solution;
  solution.status = SolveStatus::kInfeasible;
  solution.taken.assign(problem.num_levels(), 0);
  // Only precision can fail. Pooling never raises the best rate, so the best attainable precision is that of the first
  // block of the hull.
  const Chain& hull = problem.hull_chain();
  if (!hull.empty()) {
    solution.best_attainable = constraint_value(problem.objective(), problem.totals(), hull.front().flagged);
  }
  return solution;
}

Solution solve_on_chain(const Problem& problem, const Chain& chain) {
  const auto steps = best_prefix(chain, problem.objective(), problem.totals());
  if (steps) {
    return with_certificate(problem, taken_after(chain, *steps, problem.num_levels()), problem.relaxation_bound());
  }
  Solution solution = infeasible_solution(problem);
  Counts best;
  for (const ChainStep& step : chain) {
    const bool better = best.rows == 0 ? step.flagged.rows > 0 : higher_rate(step.flagged, best);
    if (step.group_end && better) best = step.flagged;
  }
  solution.best_attainable = constraint_value(problem.objective(), problem.totals(), best);
  return solution;
}

}  // namespace limen::detail
