// SPDX-License-Identifier: MIT
#include "limen/count/grid.h"

#include <cmath>
#include <string>

#include "limen/base/error.h"

namespace limen {
namespace {

/// Beyond this, products of counts with bounds would no longer fit into 128 bits, nor counts into a double.
constexpr std::int64_t kMaxUnits = std::int64_t{1} << 53;

std::string place(std::size_t level, std::size_t bin) {
  return "level " + std::to_string(level) + ", bin " + std::to_string(bin);
}

}  // namespace

Grid make_grid(const std::vector<std::vector<std::int64_t>>& positives,
               const std::vector<std::vector<std::int64_t>>& rows) {
  if (positives.size() != rows.size()) {
    throw InvalidInput("make_grid: positives has " + std::to_string(positives.size()) + " levels, rows has " +
                       std::to_string(rows.size()));
  }
  Grid grid;
  grid.levels.resize(rows.size());
  for (std::size_t level = 0; level < rows.size(); ++level) {
    if (level > 0) grid.edges.push_back(static_cast<double>(level));
    if (positives[level].size() != rows[level].size()) {
      throw InvalidInput("make_grid: level " + std::to_string(level) + " has unequal numbers of bins");
    }
    for (std::size_t bin = 0; bin < rows[level].size(); ++bin) {
      grid.levels[level].push_back({-static_cast<double>(bin), {rows[level][bin], positives[level][bin]}});
    }
  }
  validate(grid);
  const Counts total = total_counts(grid);
  grid.positives_low = total.positives;
  grid.negatives_low = total.rows - total.positives;
  grid.rows_low = total.rows;
  return grid;
}

Grid add_counts(const Grid& a, const Grid& b) {
  if (a.edges != b.edges || a.num_levels() != b.num_levels()) throw InvalidInput("add_counts: the edges differ");
  if (a.unit != b.unit) throw InvalidInput("add_counts: the units differ");
  Grid sum;
  sum.edges = a.edges;
  sum.unit = a.unit;
  sum.positives_low = a.positives_low + b.positives_low;
  sum.negatives_low = a.negatives_low + b.negatives_low;
  sum.rows_low = a.rows_low + b.rows_low;
  for (std::size_t level = 0; level < a.num_levels(); ++level) {
    std::vector<Bin>& bins = sum.levels.emplace_back();
    auto left = a.levels[level].begin();
    auto right = b.levels[level].begin();
    const auto left_end = a.levels[level].end();
    const auto right_end = b.levels[level].end();
    while (left != left_end || right != right_end) {
      const bool from_left = right == right_end || (left != left_end && left->threshold >= right->threshold);
      const bool from_right = left == left_end || (right != right_end && right->threshold >= left->threshold);
      Bin bin = from_left ? *left : *right;
      if (from_left && from_right) bin.counts += right->counts;
      if (from_left) ++left;
      if (from_right) ++right;
      bins.push_back(bin);
    }
  }
  return sum;
}

Counts total_counts(std::span<const Bin> level) {
  Counts total;
  for (const Bin& bin : level) total += bin.counts;
  return total;
}

Counts total_counts(const Grid& grid) {
  Counts total;
  for (const auto& level : grid.levels) total += total_counts(level);
  return total;
}

Counts flagged_counts(const Grid& grid, std::span<const std::int32_t> taken) {
  if (taken.size() != grid.num_levels()) {
    throw InvalidInput("flagged_counts: taken has " + std::to_string(taken.size()) + " entries, the grid has " +
                       std::to_string(grid.num_levels()) + " levels");
  }
  Counts flagged;
  for (std::size_t level = 0; level < taken.size(); ++level) {
    const auto& bins = grid.levels[level];
    if (taken[level] < 0 || static_cast<std::size_t>(taken[level]) > bins.size()) {
      throw InvalidInput("flagged_counts: taken[" + std::to_string(level) + "] is " + std::to_string(taken[level]) +
                         ", the level has " + std::to_string(bins.size()) + " bins");
    }
    flagged += total_counts(std::span(bins).first(static_cast<std::size_t>(taken[level])));
  }
  return flagged;
}

void validate(const Grid& grid) {
  if (grid.levels.empty()) throw InvalidInput("grid: has no levels");
  if (grid.edges.size() + 1 != grid.num_levels()) {
    throw InvalidInput("grid: " + std::to_string(grid.edges.size()) + " edges do not fit " +
                       std::to_string(grid.num_levels()) + " levels");
  }
  for (std::size_t edge = 0; edge < grid.edges.size(); ++edge) {
    if (!std::isfinite(grid.edges[edge]) || (edge > 0 && grid.edges[edge] <= grid.edges[edge - 1])) {
      throw InvalidInput("grid: edges[" + std::to_string(edge) + "] is not finite or does not increase");
    }
  }
  if (!grid.scaled_uncertainty.empty() && grid.scaled_uncertainty.size() != grid.num_levels()) {
    throw InvalidInput("grid: scaled_uncertainty does not fit the number of levels");
  }
  std::int64_t total = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const auto& bins = grid.levels[level];
    if (bins.size() > static_cast<std::size_t>(INT32_MAX)) {
      throw InvalidInput("grid: level " + std::to_string(level) + " has more than 2^31 - 1 bins");
    }
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      const Counts& counts = bins[bin].counts;
      if (counts.positives < 0 || counts.positives > counts.rows) {
        throw InvalidInput("grid: " + place(level, bin) + " has " + std::to_string(counts.positives) +
                           " positives among " + std::to_string(counts.rows) + " rows");
      }
      if (counts.rows > kMaxUnits - total) throw InvalidInput("grid: holds more than 2^53 rows or weight units");
      total += counts.rows;
      if (!std::isfinite(bins[bin].threshold) || (bin > 0 && bins[bin].threshold >= bins[bin - 1].threshold)) {
        throw InvalidInput("grid: the threshold of " + place(level, bin) + " is not finite or does not fall");
      }
    }
  }
}

}  // namespace limen
