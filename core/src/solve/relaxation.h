// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "limen/base/wide.h"
#include "limen/solve/chain.h"
#include "limen/solve/objective.h"
#include "limen/solve/solve.h"

namespace limen::detail {

/// A linear function of a boundary's counts.
struct Linear {
  Wide rows = 0;
  Wide positives = 0;
  [[nodiscard]] Wide operator()(const Counts& counts) const {
    return rows * counts.rows + positives * counts.positives;
  }
};

/// Maximise profit(flagged) subject to weight(flagged) <= capacity: every objective of the product is this, or a short
/// sequence of it. "precision >= a/b" is a * rows - b * positives <= 0, linear, although precision is not additive.
/// profit.positives > 0 >= profit.rows, so that good boundaries lie on the concave hull of (rows, positives).
struct Knapsack {
  Linear profit;
  Linear weight;
  Wide capacity = 0;
};

/// The linear relaxation: where it ends on the hull chain.
struct Relaxation {
  bool integral = false;   ///< the best profit of all meets the constraint: nothing is cut, `vertex` is the optimum
  std::size_t vertex = 0;  ///< steps of the chain up to the feasible end of the cut block (or up to the optimum)
  Counts cut;              ///< the block that the relaxation takes a fraction of, when not integral
};

/// The knapsack of an objective that has a single one: all but kRecall and kFBeta.
[[nodiscard]] Knapsack make_knapsack(const Objective& objective, const Totals& totals);
/// The knapsack of kRecall for a known achievable precision reference.positives / reference.rows: profit is how much a
/// boundary exceeds it.
[[nodiscard]] Knapsack make_recall_knapsack(const Objective& objective, const Totals& totals, const Counts& reference);

/// Walks the hull chain. O(chain).
[[nodiscard]] Relaxation relax(const Chain& hull, const Knapsack& knapsack);

[[nodiscard]] Counts counts_after(const Chain& chain, std::size_t steps);

/// A boundary with its certificate, its status kOptimal only when it reaches the bound. When `taken` does not meet the
/// objective the status is kInfeasible and best_attainable is set.
[[nodiscard]] Solution certify(const Grid& grid, const Objective& objective, std::vector<std::int32_t> taken,
                               double bound);
[[nodiscard]] Solution infeasible_solution(const Grid& grid, const Objective& objective);
/// The same for a family of boundaries that is a chain: best_attainable is the best of its stops.
[[nodiscard]] Solution infeasible_on_chain(const Grid& grid, const Objective& objective, const Chain& chain);

}  // namespace limen::detail
