// SPDX-License-Identifier: MIT
#pragma once

#include "limen/solve/monotone_thresholds.h"
#include "limen/solve/problem.h"
#include "limen/solve/solve.h"

namespace limen {

/// The best boundary among those with monotone thresholds (is_monotone), for every objective, weights included.
/// Exact: status kOptimal means that no monotone boundary is better, kFeasible that max_states ended the search and
/// `bound` holds for all monotone boundaries. When none meets a precision bound, best_attainable is the highest
/// precision of a monotone boundary. Ties as in solve.h. A few passes of O(levels * bins) time and 16 bytes * levels *
/// distinct thresholds of memory, then a search as in solve_exact. See docs/algorithms/monotone.md.
[[nodiscard]] Solution solve_monotone(const Problem& problem, Direction direction, const ExactOptions& options = {});

}  // namespace limen
