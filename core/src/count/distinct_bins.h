// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "count/engine.h"
#include "limen/count/grid.h"

namespace limen::detail {

inline std::int64_t units_of(std::uint32_t /*key*/) { return 1; }
inline std::int64_t units_of(std::uint64_t /*key*/) { return 1; }
inline std::int64_t units_of(const KeyWithUnits& item) { return static_cast<std::int64_t>(item.units); }

/// One bin for every distinct key of two sorted sides, from the highest down.
template <typename Item>
std::vector<Bin> walk_sides(std::span<const Item> negatives, std::span<const Item> positives) {
  std::vector<Bin> bins;
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
    bins.push_back({static_cast<double>(value_of_key(key)), counts});
  }
  return bins;
}

/// The bins of every level: one for every distinct score.
template <typename Item>
std::vector<std::vector<Bin>> distinct_bins(const SortedSides<Item>& sides, std::size_t num_levels) {
  std::vector<std::vector<Bin>> pieces(num_levels * sides.num_ranges);
  tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t at) {
    const std::size_t level = at / sides.num_ranges;
    const std::size_t range = sides.num_ranges - 1 - at % sides.num_ranges;
    pieces[at] = walk_sides(sides.side(level, 0, range), sides.side(level, 1, range));
  });
  if (sides.num_ranges == 1) return pieces;
  std::vector<std::vector<Bin>> levels(num_levels);
  tbb::parallel_for(std::size_t{0}, num_levels, [&](std::size_t level) {
    const auto begin = pieces.begin() + static_cast<std::ptrdiff_t>(level * sides.num_ranges);
    const auto end = begin + static_cast<std::ptrdiff_t>(sides.num_ranges);
    std::size_t size = 0;
    for (auto piece = begin; piece != end; ++piece) size += piece->size();
    levels[level].reserve(size);
    for (auto piece = begin; piece != end; ++piece)
      levels[level].insert(levels[level].end(), piece->begin(), piece->end());
  });
  return levels;
}

/// A grid of rows without weights.
inline Grid grid_of_bins(std::vector<double> edges, std::vector<std::vector<Bin>> levels) {
  Grid grid;
  grid.edges = std::move(edges);
  grid.levels = std::move(levels);
  const Counts total = total_counts(grid);
  grid.positives_low = total.positives;
  grid.negatives_low = total.rows - total.positives;
  grid.rows_low = total.rows;
  return grid;
}

}  // namespace limen::detail
