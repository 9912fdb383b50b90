// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "limen/count/grid.h"

namespace limen::test {

/// Calls `function(taken)` for every boundary of a small grid.
template <typename Function>
void for_each_boundary(const Grid& grid, Function function) {
  std::vector<std::int32_t> taken(grid.num_levels(), 0);
  for (;;) {
    function(taken);
    std::size_t level = 0;
    while (level < grid.num_levels() && taken[level] == static_cast<std::int32_t>(grid.levels[level].size())) {
      taken[level++] = 0;
    }
    if (level == grid.num_levels()) return;
    ++taken[level];
  }
}

/// Falling thresholds out of a few whole numbers: levels share some and not others.
inline void draw_thresholds(Grid& grid, std::mt19937_64& random) {
  for (auto& level : grid.levels) {
    std::set<double, std::greater<>> thresholds;
    while (thresholds.size() < level.size()) thresholds.insert(static_cast<double>(random() % (level.size() + 3)));
    auto next = thresholds.begin();
    for (Bin& bin : level) bin = {*next++, bin.counts};
  }
}

}  // namespace limen::test
