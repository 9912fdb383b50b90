// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "limen/solve/problem.h"
#include "limen/solve/solve.h"

namespace limen::detail {

/// A boundary with its certificate, its status kOptimal only when it reaches the bound. When `taken` does not meet the
/// objective the status is kInfeasible and best_attainable is set.
[[nodiscard]] Solution with_certificate(const Problem& problem, std::vector<std::int32_t> taken, double bound);

/// No boundary of the grid meets the objective.
[[nodiscard]] Solution infeasible_solution(const Problem& problem);

/// The best boundary of a nested family, with the relaxation's bound; when none meets the objective, best_attainable
/// is the best of the chain's stops. This is all of ST, HR and MIST, which differ in the order of their chains.
[[nodiscard]] Solution solve_on_chain(const Problem& problem, const Chain& chain);

}  // namespace limen::detail
