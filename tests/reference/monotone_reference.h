// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/monotone.h"

namespace limen::test {

/// Whether thresholds that flag these bins can rise (or fall) with the level, from the definition: one level after the
/// other takes the lowest threshold that is neither below the one before nor low enough to flag more.
inline bool monotone_by_greedy(const Grid& grid, const std::vector<std::int32_t>& taken, Direction direction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double threshold = -kInfinity;
  for (std::size_t place = 0; place < taken.size(); ++place) {
    const std::size_t level = direction == Direction::kUp ? place : taken.size() - 1 - place;
    double most = kInfinity;
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      const Bin& scores = grid.levels[level][bin];
      if (scores.counts.rows == 0) continue;
      if (bin < static_cast<std::size_t>(taken[level])) {
        most = scores.threshold;
      } else {
        threshold = std::max(threshold, std::nextafter(scores.highest, kInfinity));
      }
    }
    if (threshold > most) return false;
  }
  return true;
}

}  // namespace limen::test
