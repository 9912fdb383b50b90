// SPDX-License-Identifier: MIT
#include "limen/count/grid.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/count/shortest_decimal.h"

namespace limen {
namespace {

/// Beyond this, products of counts with bounds would no longer fit into 128 bits, nor counts into a double.
constexpr std::int64_t kMaxUnits = std::int64_t{1} << 53;

std::string place(std::size_t level, std::size_t bin) {
  return "level " + std::to_string(level) + ", bin " + std::to_string(bin);
}

void check_counts(const std::vector<std::vector<Bin>>& levels) {
  std::int64_t total = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    if (levels[level].size() > static_cast<std::size_t>(INT32_MAX)) {
      throw InvalidInput("grid", "level " + std::to_string(level) + " has more than 2^31 - 1 bins");
    }
    for (std::size_t bin = 0; bin < levels[level].size(); ++bin) {
      const Counts& counts = levels[level][bin].counts;
      if (counts.positives < 0 || counts.positives > counts.rows) {
        throw InvalidInput("grid", place(level, bin) + " has " + std::to_string(counts.positives) +
                                       " positives among " + std::to_string(counts.rows) + " rows");
      }
      if (counts.rows > kMaxUnits - total) throw InvalidInput("grid", "holds more than 2^53 rows or weight units");
      total += counts.rows;
      if (!std::isfinite(levels[level][bin].threshold)) {
        throw InvalidInput("grid", "the threshold of " + place(level, bin) + " is not finite");
      }
    }
  }
}

void check_scores(std::span<const Bin> bins, std::size_t level) {
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    if (bin > 0 && bins[bin].threshold >= bins[bin - 1].threshold) {
      throw InvalidInput("grid", "the threshold of " + place(level, bin) + " does not fall");
    }
    if (!(bins[bin].highest >= bins[bin].threshold) || !std::isfinite(bins[bin].highest) ||
        (bin > 0 && bins[bin].highest >= bins[bin - 1].threshold)) {
      throw InvalidInput("grid", "the largest score of " + place(level, bin) +
                                     " is below its smallest, or not below those of the bin above");
    }
  }
}

/// Whether check_counts and check_scores have nothing to refuse, in one pass without branches: ew-dpmt on a small grid
/// takes only a few times as long as that.
bool is_sound(const std::vector<std::vector<Bin>>& levels) {
  // The sum of all rows, and of their parts above 32 bits: when those are small, the sum has not overflowed.
  std::uint64_t total = 0;
  std::uint64_t high_parts = 0;
  bool sound = true;
  for (const auto& bins : levels) {
    double above = std::numeric_limits<double>::infinity();
    for (const Bin& bin : bins) {
      // As unsigned numbers, negative ones are too large.
      const auto rows = static_cast<std::uint64_t>(bin.counts.rows);
      sound &= static_cast<std::uint64_t>(bin.counts.positives) <= rows;
      total += rows;
      high_parts += rows >> 32U;
      sound &= bin.highest >= bin.threshold;
      sound &= bin.highest < above;
      above = bin.threshold;
    }
    sound &= bins.size() <= static_cast<std::size_t>(INT32_MAX) && (bins.empty() || std::isfinite(above));
  }
  constexpr auto kMost = static_cast<std::uint64_t>(kMaxUnits);
  return sound && high_parts <= kMost >> 32U && total <= kMost;
}

void check_totals(const Grid& grid) {
  if (!grid.totals) {
    if (grid.unit != 1) throw InvalidInput("grid", "has weights (unit is not 1), but no totals");
    return;
  }
  const Counts sum = total_counts(grid);
  if (grid.totals->positives_low < 0 || grid.totals->positives_low > sum.positives || grid.totals->negatives_low < 0 ||
      grid.totals->negatives_low > sum.rows - sum.positives || grid.totals->num_rows < 0) {
    throw InvalidInput("grid", "its totals are negative, or above the sums of its bins");
  }
}

/// The totals of a grid, whether they are the sums of its bins or not.
RowTotals row_totals(const Grid& grid) {
  if (grid.totals) return *grid.totals;
  const Counts sum = total_counts(grid);
  return {sum.positives, sum.rows - sum.positives, sum.rows};
}

}  // namespace

Grid grid_from_bins(std::vector<double> edges, std::vector<std::vector<Bin>> levels, double unit,
                    std::optional<RowTotals> totals) {
  check_counts(levels);
  Grid grid;
  grid.edges = std::move(edges);
  grid.unit = unit;
  grid.totals = totals;
  for (auto& bins : levels) {
    std::ranges::stable_sort(bins, std::greater(), &Bin::threshold);
    std::vector<Bin>& merged = grid.levels.emplace_back();
    for (const Bin& bin : bins) {
      if (merged.empty() || merged.back().threshold != bin.threshold) {
        merged.push_back(bin);
      } else {
        merged.back().counts += bin.counts;
        merged.back().highest = std::max(merged.back().highest, bin.highest);
      }
    }
    for (Bin& bin : merged) bin.threshold += 0.0;  // -0 is 0
  }
  validate(grid);
  return grid;
}

Grid make_grid(const std::vector<std::vector<std::int64_t>>& positives,
               const std::vector<std::vector<std::int64_t>>& rows) {
  if (positives.size() != rows.size()) {
    throw InvalidInput("make_grid", "positives has " + std::to_string(positives.size()) + " levels, rows has " +
                                        std::to_string(rows.size()));
  }
  std::vector<double> edges;
  std::vector<std::vector<Bin>> levels(rows.size());
  for (std::size_t level = 0; level < rows.size(); ++level) {
    if (level > 0) edges.push_back(static_cast<double>(level));
    if (positives[level].size() != rows[level].size()) {
      throw InvalidInput("make_grid", "level " + std::to_string(level) + " has unequal numbers of bins");
    }
    for (std::size_t bin = 0; bin < rows[level].size(); ++bin) {
      levels[level].push_back({-static_cast<double>(bin), {rows[level][bin], positives[level][bin]}});
    }
  }
  return grid_from_bins(std::move(edges), std::move(levels));
}

void assume_full_bins(Grid& grid) {
  for (auto& bins : grid.levels) {
    double above = std::numeric_limits<double>::infinity();
    for (Bin& bin : bins) {
      bin.highest = std::nextafter(above, -std::numeric_limits<double>::infinity());
      above = bin.threshold;
    }
  }
}

Grid add_counts(const Grid& a, const Grid& b) {
  validate(a);
  validate(b);
  if (a.edges != b.edges || a.num_levels() != b.num_levels()) throw InvalidInput("add_counts", "the edges differ");
  if (a.unit != b.unit) throw InvalidInput("add_counts", "the units differ");
  std::vector<std::vector<Bin>> levels = a.levels;
  for (std::size_t level = 0; level < b.num_levels(); ++level) {
    levels[level].insert(levels[level].end(), b.levels[level].begin(), b.levels[level].end());
  }
  std::optional<RowTotals> totals;
  if (a.totals || b.totals) {
    const RowTotals left = row_totals(a);
    const RowTotals right = row_totals(b);
    totals = {left.positives_low + right.positives_low, left.negatives_low + right.negatives_low,
              left.num_rows + right.num_rows};
  }
  return grid_from_bins(a.edges, std::move(levels), a.unit, totals);
}

std::optional<Grid> merge_levels(const Grid& grid, std::vector<double> edges) {
  std::vector<std::vector<Bin>> levels(edges.size() + 1);
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const auto place = level == 0 ? edges.begin() : std::ranges::upper_bound(edges, grid.edges[level - 1]);
    auto& into = levels[static_cast<std::size_t>(place - edges.begin())];
    into.insert(into.end(), grid.levels[level].begin(), grid.levels[level].end());
  }
  for (auto& bins : levels) {
    std::ranges::stable_sort(bins, std::greater(), &Bin::threshold);
    double above = std::numeric_limits<double>::infinity();
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      if (bin > 0 && bins[bin].threshold != bins[bin - 1].threshold) above = bins[bin - 1].threshold;
      if (bins[bin].highest >= above) return std::nullopt;
    }
  }
  return grid_from_bins(std::move(edges), std::move(levels), grid.unit, grid.totals);
}

double score_cut(std::span<const Bin> level, std::size_t taken) {
  std::size_t last = taken - 1;
  while (last > 0 && level[last].counts.rows == 0) --last;
  std::size_t next = taken;
  while (next < level.size() && level[next].counts.rows == 0) ++next;
  const double at = level[last].threshold;
  return next == level.size() ? shortest_at_most(at) : shortest_between(level[next].highest, at);
}

std::vector<double> score_cuts(std::span<const Bin> level) {
  std::vector<double> cuts(level.size());
  for (std::size_t bin = 0; bin < level.size();) {
    // A bin and the empty ones that follow it have one cut.
    std::size_t next = bin + 1;
    while (next < level.size() && level[next].counts.rows == 0) ++next;
    std::fill(cuts.begin() + static_cast<std::ptrdiff_t>(bin), cuts.begin() + static_cast<std::ptrdiff_t>(next),
              score_cut(level.first(std::min(next + 1, level.size())), next));
    bin = next;
  }
  return cuts;
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
    throw InvalidInput("flagged_counts", "taken has " + std::to_string(taken.size()) + " entries, the grid has " +
                                             std::to_string(grid.num_levels()) + " levels");
  }
  Counts flagged;
  for (std::size_t level = 0; level < taken.size(); ++level) {
    const auto& bins = grid.levels[level];
    if (taken[level] < 0 || static_cast<std::size_t>(taken[level]) > bins.size()) {
      throw InvalidInput("flagged_counts", "taken[" + std::to_string(level) + "] is " + std::to_string(taken[level]) +
                                               ", the level has " + std::to_string(bins.size()) + " bins");
    }
    flagged += total_counts(std::span(bins).first(static_cast<std::size_t>(taken[level])));
  }
  return flagged;
}

void validate(const Grid& grid) {
  if (grid.levels.empty()) throw InvalidInput("grid", "has no levels");
  if (grid.edges.size() + 1 != grid.num_levels()) {
    throw InvalidInput("grid", std::to_string(grid.edges.size()) + " edges do not fit " +
                                   std::to_string(grid.num_levels()) + " levels");
  }
  for (std::size_t edge = 0; edge < grid.edges.size(); ++edge) {
    if (!std::isfinite(grid.edges[edge]) || (edge > 0 && grid.edges[edge] <= grid.edges[edge - 1])) {
      throw InvalidInput("grid", "edges[" + std::to_string(edge) + "] is not finite or does not increase");
    }
  }
  if (!grid.scaled_uncertainty.empty() && grid.scaled_uncertainty.size() != grid.num_levels()) {
    throw InvalidInput("grid", "scaled_uncertainty does not fit the number of levels");
  }
  if (!(grid.unit > 0) || !std::isfinite(grid.unit)) throw InvalidInput("grid", "its unit is not a positive number");
  if (!is_sound(grid.levels)) {
    check_counts(grid.levels);
    for (std::size_t level = 0; level < grid.num_levels(); ++level) check_scores(grid.levels[level], level);
  }
  check_totals(grid);
}

double rows_per_unit(const Grid& grid) {
  const std::int64_t units = total_counts(grid).rows;
  return grid.totals && units > 0 ? static_cast<double>(grid.totals->num_rows) / static_cast<double>(units) : 1;
}

}  // namespace limen
