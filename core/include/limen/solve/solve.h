// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/method.h"
#include "limen/solve/objective.h"
#include "limen/solve/problem.h"

namespace limen {

enum class SolveStatus {
  kOptimal,     ///< proved: no boundary on this grid is better
  kFeasible,    ///< meets the constraint; how far from the best is bounded by `gap`
  kInfeasible,  ///< no boundary (of the method's family) meets the constraint
};

/// A boundary with its certificate. Everything in it can be re-computed from the grid and `taken`.
struct Solution {
  SolveStatus status = SolveStatus::kInfeasible;
  /// Bins flagged per level, from the highest score; the paper's b(i) is the number of bins minus this.
  std::vector<std::int32_t> taken;
  Counts flagged;
  /// What is optimised (see objective_value) for this boundary, and a proven bound on it over all boundaries of the
  /// grid: value <= bound, or value >= bound when cost is minimised.
  double value = 0;
  double bound = 0;
  double gap = 0;  ///< |bound - value|
  /// kInfeasible only: the best attainable value of the constrained figure, precision for kPrecision.
  std::optional<double> best_attainable;
};

struct ExactOptions {
  /// The search stops with status kFeasible and an honest gap when more partial solutions than this would be kept at
  /// one level. Up to about 320 bytes each while they are made.
  std::size_t max_states = 4'000'000;
};

// All solvers: ties are broken towards fewer flagged rows, then towards flagging more at the lower (more certain)
// level. Results do not depend on threads. solve_exact({grid, objective}) makes the problem on the way.

/// Single threshold: the best score threshold whatever the level. Exact within its family. O(n log n) for n bins.
[[nodiscard]] Solution solve_st(const Problem& problem);

/// Heuristic recalibration, our reading of Poceviciute et al. (2022): one threshold on score + scaled uncertainty, the
/// scaled uncertainty of a level standing for its rows. O(n log n).
[[nodiscard]] Solution solve_hr(const Problem& problem);

/// Greedy multiple thresholds: each level alone meets the objective on its own rows; a level that cannot flags
/// nothing. Algorithm GMT of the paper. O(n).
[[nodiscard]] Solution solve_gmt(const Problem& problem);

/// Isotonic regression per level, one threshold on the calibrated value. Algorithm MIST of the paper; the greedy
/// integer part of the linear relaxation, so its gap is at most the group of equal rates at which it stops. O(n log n).
[[nodiscard]] Solution solve_mist(const Problem& problem);

/// The paper's equi-weight dynamic programme, R(i, m) = max_j pi(i, j) + R(i-1, m-j), m = number of bins flagged.
/// Exact when all bins hold equally many rows. Otherwise (ties) the size of a prefix is its rows in average bins,
/// rounded, and boundaries are judged by their true counts, so that the result is feasible but may be sub-optimal.
/// O(K^2 L^2) time, O(K^2 L) memory. At most 2^31 positives.
[[nodiscard]] Solution solve_ew_dpmt(const Problem& problem);

/// The paper's variable-weight dynamic programme over non-dominated (rows, positives) states, sparse. Exact for
/// unweighted counts; refuses grids with weights. Pseudo-polynomial: O(K L P) time, O(K P) memory for P positives.
[[nodiscard]] Solution solve_vw_dpmt(const Problem& problem);

/// One threshold on a model of the label with few parameters (smooth.h), fitted on the rows near the decision: meant
/// for many narrow levels. Exact within its family. O(n log n).
/// most_share: of all rows, flagged at most. Unless only more can meet the objective.
[[nodiscard]] Solution solve_smooth(const Problem& problem, double most_share = 1);

/// The multiple-choice knapsack solver: exact for any bins, any objective, weights included.
/// See docs/algorithms/exact.md.
[[nodiscard]] Solution solve_exact(const Problem& problem, const ExactOptions& options = {});

/// One of the above.
[[nodiscard]] Solution solve(Method method, const Problem& problem);
[[nodiscard]] Solution solve(Method method, const Grid& grid, const Objective& objective);

}  // namespace limen
