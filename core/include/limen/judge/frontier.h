// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/fit.h"
#include "limen/solve/chain.h"
#include "limen/solve/solve.h"

namespace limen {

struct FrontierPoint {
  Counts flagged;
  double precision = 0;
  double recall = 0;
};

/// The boundaries of a chain at which it may stop, from the fewest flagged rows to the most, without those that another
/// one of the chain beats in both precision and recall.
[[nodiscard]] std::vector<FrontierPoint> pareto_frontier(const Chain& chain, const Counts& total);

/// Highest recall on the frontier at precision >= bound; 0 when no point reaches it. Exact comparison.
[[nodiscard]] double recall_at_precision(std::span<const FrontierPoint> frontier, Rational bound);

/// Recall at equal precision: the most of `positives` that is flagged along the chain where its precision is the bound.
/// Between two stops counts are interpolated (a coin decides inside the step), so that families with wide steps and
/// with narrow ones compare fairly. 0 when the chain never reaches the bound. Feasibility is exact.
[[nodiscard]] double matched_recall(const Chain& chain, std::int64_t positives, Rational bound);

/// The exact optimum (solve_exact) at each precision bound: points above the hull chain where the hull has none.
[[nodiscard]] std::vector<Solution> exact_points(const Grid& grid, std::span<const Rational> precision_bounds);

/// What two dimensions and single thresholds reach on the same rows.
struct Frontiers {
  std::vector<FrontierPoint> hull;                  ///< two-dimensional boundaries
  std::vector<FrontierPoint> st;                    ///< single thresholds, over every distinct score
  std::vector<std::optional<FrontierPoint>> exact;  ///< the optimum at each bound; unset: no boundary meets it
  double unit = 1;                                  ///< the weight that one count stands for
  std::size_t num_levels = 0;
};

/// Without bins in the options, over every distinct score; `method` is not used. Throws InvalidInput: bad samples, no
/// rows, only one class, bad options or bounds.
[[nodiscard]] Frontiers trace_frontiers(const Samples& samples, std::span<const Rational> precision_bounds,
                                        FitOptions options = {});

}  // namespace limen
