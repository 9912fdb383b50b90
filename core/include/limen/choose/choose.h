// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "limen/choose/choice.h"
#include "limen/count/grid.h"
#include "limen/solve/boundary.h"
#include "limen/solve/objective.h"

namespace limen {

/// What a boundary's file says of the choice.
[[nodiscard]] ChosenBy chosen_by(const Choice& choice);

/// The number of narrow levels that a grid for choose() should have: coarser ones are made of them.
inline constexpr int kNarrowLevels = 32;

/// The edges of `levels` levels, each made of nearly equally many neighbours of the levels between `edges`. All of them
/// where there are no more.
[[nodiscard]] std::vector<double> coarser_edges(std::span<const double> edges, int levels);

/// Decides whether uncertainty helps, and how much of it to use: one threshold, `smooth`, `exact` on 2, 4, 8 or 16
/// levels, or `joint` on 4. All on counts: the grid has narrow levels (top_edges with kNarrowLevels) and any bins; rows
/// are left out by a seeded split of the counts of each cell, so that the answer is a function of the counts alone.
///
/// 1. Unless the information test finds something, one threshold.
/// 2. Otherwise `smooth`, if it is surely better than one threshold in cross-validation (five fifths, repeated): where
///    the test leaves no doubt (overwhelming) by anything, else by six standard errors in `gain` and `lift` together,
///    and by more than one in each.
/// 3. `exact` on some levels, or `joint`, if one is as surely better than one threshold, and better than `smooth` by
///    three standard errors in `lift`: on the rows it was fitted on it looks better than it is.
/// Throws InvalidInput.
[[nodiscard]] Choice choose(const Grid& grid, const Objective& objective, const ChooseOptions& options = {});

}  // namespace limen
