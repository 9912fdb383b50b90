// SPDX-License-Identifier: MIT
#include "solve/prefix_ranges.h"

namespace limen::detail {
namespace {

/// Ranges of the prefixes that can be part of a boundary of weight <= capacity, weight = per_row * rows +
/// per_positive * positives. Int: wide enough for the weight of all rows.
template <typename Int>
std::vector<PrefixRange> ranges_within(const Grid& grid, Int per_row, Int per_positive, Int capacity) {
  std::vector<PrefixRange> ranges(grid.num_levels());
  Int least_sum = 0;
  std::vector<Int> least(grid.num_levels(), 0);
  std::size_t num_prefixes = 0;
  for (const auto& bins : grid.levels) num_prefixes += bins.size();
  std::vector<Int> weights(num_prefixes);  // of all prefixes but the empty ones, level after level
  Int* next = weights.data();
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    Int weight = 0;
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      const Counts& counts = grid.levels[level][bin].counts;
      weight += per_row * counts.rows + per_positive * counts.positives;
      *next++ = weight;
      if (weight < least[level]) {
        least[level] = weight;
        ranges[level].first = bin + 1;
      }
    }
    least_sum += least[level];
  }
  const Int* weight = weights.data();
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const Int allowed = capacity - (least_sum - least[level]);
    std::size_t last = grid.levels[level].size();
    while (last > ranges[level].first && weight[last - 1] > allowed) --last;
    ranges[level].last = last;
    weight += grid.levels[level].size();
  }
  return ranges;
}

}  // namespace

std::vector<PrefixRange> useful_prefixes(const Problem& problem) {
  const Grid& grid = problem.grid();
  const Goal goal = problem.objective().goal;
  if (goal != Goal::kPrecision && goal != Goal::kFalsePositiveRate && goal != Goal::kFlagRate) {
    std::vector<PrefixRange> ranges;
    for (const auto& bins : grid.levels) ranges.push_back({0, bins.size()});
    return ranges;
  }
  const Knapsack& knapsack = *problem.knapsack();
  const Wide per_row = knapsack.weight.rows;
  const Wide per_positive = knapsack.weight.positives;
  constexpr Wide kFits64 = Wide{1} << 61;
  if ((per_row - per_positive) * problem.totals().all.rows < kFits64 && knapsack.capacity < kFits64) {
    return ranges_within(grid, static_cast<std::int64_t>(per_row), static_cast<std::int64_t>(per_positive),
                         static_cast<std::int64_t>(knapsack.capacity));
  }
  return ranges_within(grid, per_row, per_positive, knapsack.capacity);
}

}  // namespace limen::detail
