// SPDX-License-Identifier: MIT
#include "limen/solve/monotone_thresholds.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "limen/base/error.h"
#include "limen/count/shortest_decimal.h"

namespace limen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The thresholds that decide as a prefix of a level does: low < t <= high.
struct ThresholdRange {
  double low = -kInfinity;
  double high = kInfinity;
};

/// Per level, in order of rising thresholds.
std::vector<ThresholdRange> threshold_ranges(const Grid& grid, std::span<const std::int32_t> taken,
                                             Direction direction) {
  (void)flagged_counts(grid, taken);  // throws when they do not fit each other
  std::vector<ThresholdRange> ranges;
  for (std::size_t level = 0; level < taken.size(); ++level) {
    const auto& bins = grid.levels[level];
    const auto split = bins.begin() + taken[level];
    const auto has_rows = [](const Bin& bin) { return bin.counts.rows > 0; };
    const auto next = std::find_if(split, bins.end(), has_rows);
    const auto last = std::find_if(std::reverse_iterator(split), bins.rend(), has_rows);
    ranges.push_back(
        {next == bins.end() ? -kInfinity : next->highest, last == bins.rend() ? kInfinity : last->threshold});
  }
  if (direction == Direction::kDown) std::ranges::reverse(ranges);
  return ranges;
}

/// What is left of the ranges when each leaves room to those on both sides. Both ends rise from range to range.
void narrow(std::vector<ThresholdRange>& ranges) {
  for (std::size_t level = 1; level < ranges.size(); ++level) {
    ranges[level].low = std::max(ranges[level].low, ranges[level - 1].low);
  }
  for (std::size_t level = ranges.size() - 1; level-- > 0;) {
    ranges[level].high = std::min(ranges[level].high, ranges[level + 1].high);
  }
}

/// As score_cut has it; +infinity where that is possible.
double cut_in(const ThresholdRange& range) {
  if (range.high == kInfinity) return kInfinity;
  return range.low == -kInfinity ? shortest_at_most(range.high) : shortest_between(range.low, range.high);
}

}  // namespace

std::string_view to_string(Direction direction) { return direction == Direction::kUp ? "up" : "down"; }

Direction parse_direction(std::string_view name) {
  if (name == "up") return Direction::kUp;
  if (name == "down") return Direction::kDown;
  throw InvalidInput("monotone \"" + std::string(name) + "\" is not one of up, down");
}

bool is_monotone(const Grid& grid, std::span<const std::int32_t> taken, Direction direction) {
  std::vector<ThresholdRange> ranges = threshold_ranges(grid, taken, direction);
  narrow(ranges);
  return std::ranges::all_of(ranges, [](const ThresholdRange& range) { return range.low < range.high; });
}

std::vector<std::optional<double>> monotone_thresholds(const Grid& grid, std::span<const std::int32_t> taken,
                                                       Direction direction) {
  if (!is_monotone(grid, taken, direction)) {
    throw InvalidInput("monotone_thresholds", "taken needs thresholds that are not monotone");
  }
  std::vector<ThresholdRange> ranges = threshold_ranges(grid, taken, direction);
  std::vector<double> cuts(ranges.size());
  std::ranges::transform(ranges, cuts.begin(), cut_in);
  if (!std::ranges::is_sorted(cuts)) {
    narrow(ranges);
    std::ranges::transform(ranges, cuts.begin(), cut_in);
    // As both ends of the ranges rise, a cut of the range before that is above a range's own cut is in that range too.
    std::partial_sum(cuts.begin(), cuts.end(), cuts.begin(), [](double a, double b) { return std::max(a, b); });
  }
  if (direction == Direction::kDown) std::ranges::reverse(cuts);
  std::vector<std::optional<double>> thresholds(cuts.size());
  for (std::size_t level = 0; level < cuts.size(); ++level) {
    if (cuts[level] < kInfinity) thresholds[level] = cuts[level];
  }
  return thresholds;
}

}  // namespace limen
