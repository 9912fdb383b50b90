// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include "limen/base/wide.h"
#include "limen/solve/chain.h"
#include "limen/solve/objective.h"

namespace limen {

/// A linear function of a boundary's counts.
struct Linear {
  detail::Wide rows = 0;
  detail::Wide positives = 0;
  [[nodiscard]] detail::Wide operator()(const Counts& counts) const {
    return rows * counts.rows + positives * counts.positives;
  }
};

/// Maximise profit(flagged) subject to weight(flagged) <= capacity: every objective of the product is this, or a short
/// sequence of it. "precision >= a/b" is a * rows - b * positives <= 0, linear, although precision is not additive.
/// profit.positives > 0 >= profit.rows, so that good boundaries lie on the concave hull of (rows, positives).
struct Knapsack {
  Linear profit;
  Linear weight;
  detail::Wide capacity = 0;
};

/// The knapsack of an objective. Unset for kRecall and kFBeta, which have no single one.
[[nodiscard]] std::optional<Knapsack> make_knapsack(const Objective& objective, const Totals& totals);
/// The knapsack of kRecall for a known achievable precision reference.positives / reference.rows: profit is how much a
/// boundary exceeds it.
[[nodiscard]] Knapsack make_recall_knapsack(const Objective& objective, const Totals& totals, const Counts& reference);
/// The same for kFBeta: a boundary has more profit than the reference just when its F-beta is higher. beta: a fraction
/// of numbers up to 1000, so that nothing overflows.
[[nodiscard]] Knapsack make_f_beta_knapsack(const Objective& objective, const Totals& totals, const Counts& reference);

/// The linear relaxation of a knapsack, in which one block of the hull chain may be taken in part: where it ends.
struct Relaxation {
  bool integral = false;   ///< the best profit of all meets the constraint: nothing is cut, `vertex` is the optimum
  std::size_t vertex = 0;  ///< steps of the chain up to the feasible end of the cut block (or up to the optimum)
  Counts cut;              ///< the block that the relaxation takes a fraction of, when not integral
};

/// Walks the hull chain (see chain.h). O(chain).
[[nodiscard]] Relaxation relax(const Chain& hull, const Knapsack& knapsack);

/// What the relaxation says about the prefix of a single level.
///
/// With the Lagrange multiplier mu of the constraint, a prefix x is worth
///     profit(x) - mu * weight(x) = kappa * direction(x),
/// and its loss is what it is worth less than the best prefix of its level. For every boundary
///     bound - profit = sum of the losses of its prefixes + mu * (capacity - weight),
/// so that a boundary within d of the bound consists of prefixes of loss <= d.
struct Prices {
  /// rows_cut * positives - positives_cut * rows, positive for blocks of a higher rate than the cut block's; the profit
  /// when the relaxation is integral.
  Linear direction;
  double kappa = 1;  ///< profit per unit of direction
  double mu = 0;     ///< Lagrange multiplier: profit per unit of weight; 0 when integral
  double gap = 0;    ///< bound minus the profit of the relaxation's vertex; 0 when integral
};
[[nodiscard]] Prices prices_of(const Chain& hull, const Knapsack& knapsack, const Relaxation& relaxation);
/// The same from the block that is cut and the counts of its feasible end.
[[nodiscard]] Prices prices_at(const Knapsack& knapsack, const Counts& cut, const Counts& vertex);

/// Proven bound on the objective value over all boundaries, from the relaxation over the hull chain of a grid.
[[nodiscard]] double relaxation_bound(const Chain& hull, const Objective& objective, const Totals& totals);

}  // namespace limen
