// SPDX-License-Identifier: MIT
#pragma once

#include "limen/solve/monotone_thresholds.h"
#include "limen/solve/problem.h"
#include "limen/solve/solve.h"

namespace limen {

/// The best boundary among those with monotone thresholds (is_monotone), for every objective, weights included.
///
/// Exact: status kOptimal means that no monotone boundary is better, kFeasible that max_states ended the search and
/// `bound` holds for all monotone boundaries. When none meets a precision bound, best_attainable is the highest
/// precision of a monotone boundary. Ties as in solve.h, except that among boundaries of the same counts the choice may
/// be another one where more than sixteen prefixes of a level are on the side of the hull that the constraint cuts; it
/// is the same in every run. Thresholds are not part of the solution: monotone_thresholds.
///
/// A few passes of O(levels * distinct thresholds) time and 16 bytes * levels * distinct thresholds of memory, then a
/// search as in solve_exact. See docs/algorithms/monotone.md.
[[nodiscard]] Solution solve_monotone(const Problem& problem, Direction direction, const ExactOptions& options = {});

}  // namespace limen
