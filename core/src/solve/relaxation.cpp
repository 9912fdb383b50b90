// SPDX-License-Identifier: MIT
#include "limen/solve/relaxation.h"

#include <algorithm>

namespace limen {
namespace {

using detail::Wide;

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

std::optional<Knapsack> make_knapsack(const Objective& objective, const Totals& totals) {
  const Wide num = objective.bound.num;
  const Wide den = objective.bound.den;
  const Linear recall{0, 1};
  switch (objective.goal) {
    case Goal::kPrecision:
      return Knapsack{recall, {num, -den}, 0};
    case Goal::kFalsePositiveRate:
      return Knapsack{recall, {den, -den}, num * totals.negatives_low};
    case Goal::kFlagRate:
      return Knapsack{recall, {den, 0}, num * totals.rows_low};
    case Goal::kCost: {
      // Cost = X (rows - positives) + Y (P - positives): profit is the cost saved against flagging nothing.
      const Wide per_fp = Wide{objective.false_positive_cost.num} * objective.false_negative_cost.den;
      const Wide per_fn = Wide{objective.false_negative_cost.num} * objective.false_positive_cost.den;
      return Knapsack{{-per_fp, per_fp + per_fn}, {}, 0};
    }
    case Goal::kRecall:
    case Goal::kFBeta:
      break;
  }
  return std::nullopt;
}

Knapsack make_recall_knapsack(const Objective& objective, const Totals& totals, const Counts& reference) {
  const Wide num = objective.bound.num;
  const Wide den = objective.bound.den;
  return {{-Wide{reference.positives}, reference.rows},
          {0, -den},
          (den - num) * totals.positives_low - den * totals.all.positives};
}

Knapsack make_f_beta_knapsack(const Objective& objective, const Totals& totals, const Counts& reference) {
  // F-beta = (1 + beta^2) positives / (beta^2 P + rows), against that of the reference.
  const Wide num = Wide{objective.beta.num} * objective.beta.num;
  const Wide den = Wide{objective.beta.den} * objective.beta.den;
  return {{-den * reference.positives, num * totals.all.positives + den * reference.rows}, {}, 0};
}

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

Prices prices_of(const Chain& hull, const Knapsack& knapsack, const Relaxation& relaxation) {
  if (relaxation.integral) return {knapsack.profit};
  return prices_at(knapsack, relaxation.cut, counts_after(hull, relaxation.vertex));
}

Prices prices_at(const Knapsack& knapsack, const Counts& cut, const Counts& vertex) {
  const double cut_weight = static_cast<double>(knapsack.weight(cut));
  Prices prices;
  prices.direction = {-Wide{cut.positives}, Wide{cut.rows}};
  prices.kappa = static_cast<double>(knapsack.profit.positives * knapsack.weight.rows -
                                     knapsack.weight.positives * knapsack.profit.rows) /
                 cut_weight;
  prices.mu = static_cast<double>(knapsack.profit(cut)) / cut_weight;
  const Wide slack = knapsack.capacity - knapsack.weight(vertex);
  prices.gap = prices.mu * static_cast<double>(slack);
  return prices;
}

double relaxation_bound(const Chain& hull, const Objective& objective, const Totals& totals) {
  if (hull.empty()) return objective_value(objective, totals, {});
  if (objective.goal == Goal::kFBeta) {
    // F-beta is constant along lines through one point: its best boundary is a vertex of the hull.
    return objective_value(objective, totals, counts_after(hull, *best_prefix(hull, objective, totals)));
  }
  if (objective.goal == Goal::kRecall) {
    // The most precise fraction of the chain with enough positives: precision only falls along it.
    const Knapsack knapsack = make_recall_knapsack(objective, totals, {0, 1});
    const double needed = static_cast<double>(-knapsack.capacity) / static_cast<double>(objective.bound.den);
    std::size_t steps = 1;
    while (steps < hull.size() && static_cast<double>(hull[steps - 1].flagged.positives) < needed) ++steps;
    const Counts after = hull[steps - 1].flagged;
    const Counts block = step_counts(hull, steps - 1);
    if (steps == 1 || block.positives == 0) return objective_value(objective, totals, after);
    const double surplus = std::max(0.0, static_cast<double>(after.positives) - needed);
    const double rows = static_cast<double>(after.rows) -
                        surplus * static_cast<double>(block.rows) / static_cast<double>(block.positives);
    return std::min(1.0, needed / rows * (1 + 1e-12));
  }
  const Knapsack knapsack = *make_knapsack(objective, totals);
  const Relaxation relaxation = relax(hull, knapsack);
  const Counts vertex = counts_after(hull, relaxation.vertex);
  if (relaxation.integral) return objective_value(objective, totals, vertex);
  // Most recall under a bound: the whole positives of the fraction of the cut block that fits.
  const Wide slack = knapsack.capacity - knapsack.weight(vertex);
  return static_cast<double>(vertex.positives + static_cast<std::int64_t>(scaled_down(
                                                    relaxation.cut.positives, slack, knapsack.weight(relaxation.cut))));
}

}  // namespace limen
