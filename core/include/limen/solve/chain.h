// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/isotonic.h"
#include "limen/solve/method.h"
#include "limen/solve/objective.h"

namespace limen {

/// A nested family of boundaries: step after step more bins of one level join the flagged region. ST, HR, GMT and MIST
/// each are "the best prefix of a chain"; a precision-recall frontier is a chain walked to its end.
struct ChainStep {
  std::int32_t level = 0;
  std::int32_t taken = 0;  ///< bins of `level` flagged after this step
  bool group_end = false;  ///< a boundary may stop here; steps of equal rank only join together
  Counts flagged;          ///< of the whole boundary after this step
};
using Chain = std::vector<ChainStep>;

/// Bins in order of falling score, whatever their level: a single threshold (ST). Equal thresholds form one group.
[[nodiscard]] Chain score_chain(const Grid& grid);

/// Blocks of the level-wise isotonic regressions in order of falling positivity rate: the concave hull of all
/// boundaries (MIST). Equal rates form one group.
[[nodiscard]] Chain hull_chain(const Grid& grid);
/// The same from the concave_blocks of every level.
[[nodiscard]] Chain hull_chain(std::span<const std::vector<Block>> levels);

/// Bins in order of falling threshold + scaled uncertainty of their level: heuristic recalibration (HR).
[[nodiscard]] Chain recalibrated_chain(const Grid& grid);

/// Bins in order of falling key, given for every bin of every level; keys must not rise along a level.
[[nodiscard]] Chain chain_by_key(const Grid& grid, const std::vector<std::vector<double>>& keys);

/// Bins in the order in which the greedy per-level rule (GMT) takes them as its precision bound falls from 1 to 0.
[[nodiscard]] Chain greedy_chain(const Grid& grid);

/// The chain that a method's boundaries lie on, in the order it learns from `grid`: score for ST, recalibrated for HR,
/// greedy for GMT, hull for all others (whose optima are not nested; the hull is the nested family under them). That of
/// SMOOTH, which depends on the objective too, is smooth_chain.
[[nodiscard]] Chain chain_of(Method method, const Grid& grid);

/// The same steps with the counts of other rows: `counted` has the bins of the grid that the chain was made from.
[[nodiscard]] Chain recount(Chain chain, const Grid& counted);

/// Number of steps (0 = flag nothing) of the best boundary on the chain that meets the objective. Unset: none does.
[[nodiscard]] std::optional<std::size_t> best_prefix(const Chain& chain, const Objective& objective,
                                                     const Totals& totals);

/// Counts of the boundary after the first `steps` steps.
[[nodiscard]] Counts counts_after(const Chain& chain, std::size_t steps);

/// The boundary after the first `steps` steps, as bins taken per level.
[[nodiscard]] std::vector<std::int32_t> taken_after(const Chain& chain, std::size_t steps, std::size_t num_levels);

}  // namespace limen
