// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "limen/choose/choose.h"
#include "limen/count/grid.h"
#include "limen/solve/objective.h"

namespace limen {

/// Decides whether segments help, and whether uncertainty levels inside them do. All on counts, as choose() does.
///
/// grid: cells of segments and `inner` uncertainty levels, whose edges are the same in all segments: level of the grid
/// = segment * inner + uncertainty level. Its scores are told apart down to one that three times as many rows reach as
/// thresholds on segments flag. by_uncertainty: what choose() said of the same rows without their segments; it is what
/// segments must beat.
///
/// 1. Unless the test of categories (information.h) finds that segments inform, what by_uncertainty chose.
/// 2. Otherwise `exact` on the segments, if it is as surely better than one threshold in cross-validation as choose()
///    asks for, and where by_uncertainty chose levels, ahead of these by three standard errors of lift.
/// 3. `exact` on 2 or 4 levels in each segment, if uncertainty informs too, and it is ahead of the segments alone (or,
/// if
///    these were not surely better, of one threshold) by as much.
///
/// The choice's candidates are one threshold, what by_uncertainty chose (where that is another), and those with
/// segments; chosen is one of the last, or 0 or 1 for what by_uncertainty chose. Throws InvalidInput.
[[nodiscard]] Choice choose_segments(const Grid& grid, std::size_t inner, const Choice& by_uncertainty,
                                     const Objective& objective, const ChooseOptions& options = {});

}  // namespace limen
