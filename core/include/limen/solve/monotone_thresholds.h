// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "limen/count/grid.h"

namespace limen {

/// How the score threshold goes from one uncertainty level to the next higher one.
enum class Direction {
  kUp,    ///< it never falls: the less certain a row, the higher the score that flags it
  kDown,  ///< it never rises
};

[[nodiscard]] std::string_view to_string(Direction direction);
/// "up" or "down". Throws InvalidInput.
[[nodiscard]] Direction parse_direction(std::string_view name);

/// True when thresholds exist that flag exactly the taken[level] highest bins of every level and never fall (kUp) or
/// never rise (kDown) with the level.
///
/// The threshold of a level may be any number above the largest score of the next bin with rows and not above the
/// smallest score of the last bin with rows among those taken; +infinity where nothing is taken, -infinity where
/// nothing is left. So a level that flags nothing does not stop the others as long as a finite threshold above its
/// scores fits between theirs, and a level without rows fits anywhere. O(bins). Throws InvalidInput when `taken` does
/// not fit the grid.
[[nodiscard]] bool is_monotone(const Grid& grid, std::span<const std::int32_t> taken, Direction direction);

/// Such thresholds, with few digits (see shortest_decimal.h): those of score_cut where they are monotone, and a common
/// one where levels have to share it. Unset, +infinity: this level flags nothing, and nor does any level that may not
/// have a lower threshold. A level that flags nothing of the grid has a finite threshold where a level after it in that
/// order flags something. O(bins). Throws InvalidInput when `taken` is not monotone.
[[nodiscard]] std::vector<std::optional<double>> monotone_thresholds(const Grid& grid,
                                                                     std::span<const std::int32_t> taken,
                                                                     Direction direction);

}  // namespace limen
