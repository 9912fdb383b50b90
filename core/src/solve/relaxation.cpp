// SPDX-License-Identifier: MIT
#include "solve/relaxation.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "limen/solve/isotonic.h"

namespace limen {
namespace detail {
namespace {

Counts step_counts(const Chain& chain, std::size_t step) {
  return step == 0 ? chain[0].flagged : chain[step].flagged - chain[step - 1].flagged;
}

/// An upper bound on floor(part * numerator / denominator), exact unless the product needs more than 126 bits; then the
/// fraction is widened a little. 0 <= part < 2^53, 0 <= numerator, 0 < denominator.
Wide scaled_down(Wide part, Wide numerator, Wide denominator) {
  constexpr Wide kLimit = Wide{1} << 72;
  while (numerator >= kLimit) {
    numerator = (numerator >> 1) + 1;
    denominator = denominator >> 1;
  }
  return part * numerator / std::max<Wide>(denominator, 1);
}

}  // namespace

Knapsack make_knapsack(const Objective& objective, const Totals& totals) {
  const Wide num = objective.bound.num;
  const Wide den = objective.bound.den;
  const Linear recall{0, 1};
  switch (objective.goal) {
    case Goal::kPrecision:
      return {recall, {num, -den}, 0};
    case Goal::kFalsePositiveRate:
      return {recall, {den, -den}, num * totals.negatives_low};
    case Goal::kFlagRate:
      return {recall, {den, 0}, num * totals.rows_low};
    case Goal::kCost: {
      // Cost = X (rows - positives) + Y (P - positives): profit is the cost saved against flagging nothing.
      const Wide per_fp = Wide{objective.false_positive_cost.num} * objective.false_negative_cost.den;
      const Wide per_fn = Wide{objective.false_negative_cost.num} * objective.false_positive_cost.den;
      return {{-per_fp, per_fp + per_fn}, {}, 0};
    }
    case Goal::kRecall:
    case Goal::kFBeta:
      break;
  }
  assert(false && "this goal has no single knapsack");
  return {};
}

Knapsack make_recall_knapsack(const Objective& objective, const Totals& totals, const Counts& reference) {
  const Wide num = objective.bound.num;
  const Wide den = objective.bound.den;
  return {{-Wide{reference.positives}, reference.rows},
          {0, -den},
          (den - num) * totals.positives_low - den * totals.all.positives};
}

Counts counts_after(const Chain& chain, std::size_t steps) { return steps == 0 ? Counts{} : chain[steps - 1].flagged; }

Relaxation relax(const Chain& hull, const Knapsack& knapsack) {
  // Rates fall along the chain and profit grows with positives, so blocks of positive profit come first.
  const auto end = std::partition_point(hull.begin(), hull.end(), [&](const ChainStep& step) {
    return knapsack.profit(step_counts(hull, static_cast<std::size_t>(&step - hull.data()))) > 0;
  });
  const auto best = static_cast<std::size_t>(end - hull.begin());
  const auto fits = [&](std::size_t steps) { return knapsack.weight(counts_after(hull, steps)) <= knapsack.capacity; };
  if (fits(best)) return {true, best, {}};
  // A bound on what is flagged: give blocks back, worst rate first, until the rest fits.
  if (knapsack.weight.rows > 0) {
    std::size_t steps = best;
    while (!fits(steps)) --steps;
    return {false, steps, step_counts(hull, steps)};
  }
  // A bound on what is missed: take further blocks, best rate first, until enough is flagged.
  std::size_t steps = best;
  while (!fits(steps)) ++steps;
  return {false, steps, step_counts(hull, steps - 1)};
}

Solution infeasible_solution(const Grid& grid, const Objective& objective) {
  Solution solution;
  solution.status = SolveStatus::kInfeasible;
  solution.taken.assign(grid.num_levels(), 0);
  // Only precision can fail. Pooling never raises the best rate, so the best attainable precision is that of the first
  // block of the hull.
  const Chain hull = hull_chain(grid);
  if (!hull.empty()) solution.best_attainable = constraint_value(objective, totals_of(grid), hull.front().flagged);
  return solution;
}

Solution infeasible_on_chain(const Grid& grid, const Objective& objective, const Chain& chain) {
  Solution solution = infeasible_solution(grid, objective);
  Counts best;
  for (const ChainStep& step : chain) {
    const bool better = best.rows == 0 ? step.flagged.rows > 0 : higher_rate(step.flagged, best);
    if (step.group_end && better) best = step.flagged;
  }
  solution.best_attainable = constraint_value(objective, totals_of(grid), best);
  return solution;
}

Solution certify(const Grid& grid, const Objective& objective, std::vector<std::int32_t> taken, double bound) {
  const Totals totals = totals_of(grid);
  Solution solution;
  for (std::size_t level = 0; level < taken.size(); ++level) {
    // An empty last bin only lowers the threshold to a score that nothing spoke for.
    while (taken[level] > 0 && grid.levels[level][static_cast<std::size_t>(taken[level]) - 1].counts.rows == 0) {
      --taken[level];
    }
  }
  solution.flagged = flagged_counts(grid, taken);
  if (!is_feasible(objective, totals, solution.flagged)) return infeasible_solution(grid, objective);
  solution.taken = std::move(taken);
  solution.value = objective_value(objective, totals, solution.flagged);
  // The bound may have been rounded; a boundary that exists proves that it can be no worse.
  solution.bound = objective.goal == Goal::kCost ? std::min(bound, solution.value) : std::max(bound, solution.value);
  solution.gap = std::abs(solution.bound - solution.value);
  solution.status = solution.gap == 0 ? SolveStatus::kOptimal : SolveStatus::kFeasible;
  return solution;
}

}  // namespace detail

double relaxation_bound(const Grid& grid, const Objective& objective) {
  using detail::Wide;
  validate(grid);
  validate(objective);
  const Totals totals = totals_of(grid);
  const Chain hull = hull_chain(grid);
  if (hull.empty()) return objective_value(objective, totals, {});
  if (objective.goal == Goal::kFBeta) {
    // F-beta is constant along lines through one point: its best boundary is a vertex of the hull.
    return objective_value(objective, totals, detail::counts_after(hull, *best_prefix(hull, objective, totals)));
  }
  if (objective.goal == Goal::kRecall) {
    // The most precise fraction of the chain with enough positives: precision only falls along it.
    detail::Knapsack knapsack = detail::make_recall_knapsack(objective, totals, {0, 1});
    const double needed = static_cast<double>(-knapsack.capacity) / static_cast<double>(objective.bound.den);
    std::size_t steps = 1;
    while (steps < hull.size() && static_cast<double>(hull[steps - 1].flagged.positives) < needed) ++steps;
    const Counts after = hull[steps - 1].flagged;
    const Counts block = detail::step_counts(hull, steps - 1);
    if (steps == 1 || block.positives == 0) return objective_value(objective, totals, after);
    const double surplus = std::max(0.0, static_cast<double>(after.positives) - needed);
    const double rows = static_cast<double>(after.rows) -
                        surplus * static_cast<double>(block.rows) / static_cast<double>(block.positives);
    return std::min(1.0, needed / rows * (1 + 1e-12));
  }
  const detail::Knapsack knapsack = detail::make_knapsack(objective, totals);
  const detail::Relaxation relaxation = detail::relax(hull, knapsack);
  const Counts vertex = detail::counts_after(hull, relaxation.vertex);
  if (relaxation.integral) return objective_value(objective, totals, vertex);
  // Most recall under a bound: the whole positives of the fraction of the cut block that fits.
  const Wide slack = knapsack.capacity - knapsack.weight(vertex);
  return static_cast<double>(vertex.positives + static_cast<std::int64_t>(detail::scaled_down(
                                                    relaxation.cut.positives, slack, knapsack.weight(relaxation.cut))));
}

}  // namespace limen
