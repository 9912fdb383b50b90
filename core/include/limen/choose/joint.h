// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/objective.h"

namespace limen {

/// Edges between levels found together with the thresholds: of the edges of a grid with many narrow levels, those that
/// leave at most `levels` levels on which the objective is best.
///
/// For a price t of a flagged row, a positive being worth 1, the best boundary over all ways to put neighbouring levels
/// together is a shortest path: V(a, b), the most that one threshold gets out of the levels a to b - 1, added up along
/// a way from the first level to the last in at most `levels` steps. Every price gives one such boundary; the best of
/// them that meets the constraint names the edges. The thresholds then belong to an exact solver: here scores are
/// looked at in about 50 bins near the decision. It can follow noise: choose() judges it on rows left out.
/// levels: 1 to 1000. Throws InvalidInput.
[[nodiscard]] std::vector<double> joint_edges(const Grid& grid, const Objective& objective, int levels);

}  // namespace limen
