// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/objective.h"

namespace limen::report {

/// Where the slider stops, ascending, with the bound that was asked for among them. given: as the caller wants them, in
/// any order; empty: round numbers, at most about 60. Of precision from the share of positives to the highest that any
/// boundary reaches; of recall from 0 to 1; of the other two from a ten-thousandth, or two rows, to a half, in equal
/// ratios. single: the hold-out in one level. highest: precision that some boundary reaches.
[[nodiscard]] std::vector<Rational> study_bounds(const Grid& single, const Objective& objective,
                                                 const std::vector<Rational>& given, double highest);

}  // namespace limen::report
