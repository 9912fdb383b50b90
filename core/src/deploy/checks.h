// SPDX-License-Identifier: MIT
#pragma once

#include "limen/solve/boundary.h"

/// What every export of a boundary checks first.
namespace limen::detail {

/// Throws InvalidInput for a rule, segments or a review that are not valid, and for values of segments that
/// check_text refuses.
void check_exported(const Boundary& boundary, const char* function);

/// Whether the rule looks at uncertainty: a boundary without segments always does, as `decide` refuses what is not
/// finite.
[[nodiscard]] bool looks_at_uncertainty(const Boundary& boundary);

}  // namespace limen::detail
