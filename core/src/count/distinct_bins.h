// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "count/engine.h"
#include "limen/count/grid.h"

namespace limen::detail {

inline std::int64_t units_of(std::uint32_t /*key*/) { return 1; }
inline std::int64_t units_of(std::uint64_t /*key*/) { return 1; }
inline std::int64_t units_of(const KeyWithUnits& item) { return static_cast<std::int64_t>(item.units); }

/// Calls visit(bin) for every distinct score of a level, from the highest down.
template <typename Item, typename Visit>
void for_each_distinct(const SortedSides<Item>& sides, std::size_t level, const Visit& visit) {
  const std::span<const Item> negatives = sides.side(level, 0);
  const std::span<const Item> positives = sides.side(level, 1);
  std::size_t negative = negatives.size();
  std::size_t positive = positives.size();
  while (negative > 0 || positive > 0) {
    const bool from_negatives =
        positive == 0 || (negative > 0 && key_of(negatives[negative - 1]) > key_of(positives[positive - 1]));
    const auto key = key_of(from_negatives ? negatives[negative - 1] : positives[positive - 1]);
    Counts counts;
    for (; positive > 0 && key_of(positives[positive - 1]) == key; --positive) {
      const std::int64_t units = units_of(positives[positive - 1]);
      counts += {units, units};
    }
    for (; negative > 0 && key_of(negatives[negative - 1]) == key; --negative) {
      counts.rows += units_of(negatives[negative - 1]);
    }
    visit(Bin{static_cast<double>(value_of_key(key)), counts});
  }
}

/// The bins of every level: one for every distinct score.
template <typename Item>
std::vector<std::vector<Bin>> distinct_bins(const SortedSides<Item>& sides) {
  std::vector<std::vector<Bin>> levels(sides.num_levels());
  tbb::parallel_for(std::size_t{0}, levels.size(), [&](std::size_t level) {
    // Memory that is reserved and not touched costs nothing.
    levels[level].reserve(sides.side(level, 0).size() + sides.side(level, 1).size());
    for_each_distinct(sides, level, [&](const Bin& bin) { levels[level].push_back(bin); });
  });
  return levels;
}

}  // namespace limen::detail
