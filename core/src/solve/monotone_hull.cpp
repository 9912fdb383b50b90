// SPDX-License-Identifier: MIT
#include "solve/monotone_hull.h"

#include <algorithm>

#include "limen/solve/chain.h"

namespace limen::detail {
namespace {

/// Constant along the line through two points.
Linear height_along(const Counts& a, const Counts& b) {
  const Counts step = a.rows > b.rows ? a - b : b - a;
  return {-Wide{step.positives}, Wide{step.rows}};
}

/// Raised so that a level, and with it those after it, is at `place` or after it.
Places from_place(Places places, std::size_t level, Place place) {
  for (; level < places.size(); ++level) places[level] = std::max(places[level], place);
  return places;
}

/// The most slack that is less than what one positive makes along the cut side.
Wide slack_of_a_positive(const Knapsack& knapsack, const HullCut& cut) {
  const Wide weight = knapsack.weight(cut.step);
  return ((weight < 0 ? -weight : weight) - 1) / cut.step.positives;
}

}  // namespace

const Stop& FallingLevels::at(std::size_t level, Place place) const {
  return std::ranges::upper_bound(stops[level], place, {}, &Stop::first)[-1];
}

FallingLevels falling_levels(const Grid& grid, Direction direction) {
  FallingLevels levels;
  levels.reversed = direction == Direction::kUp;
  levels.stops.assign(grid.num_levels(), {{0, 0, 0, {}}});
  std::vector<double> thresholds;  // of place 1, 2, ...
  for (const ChainStep& step : score_chain(grid)) {
    const auto level = static_cast<std::size_t>(step.level);
    const Bin& bin = grid.levels[level][static_cast<std::size_t>(step.taken) - 1];
    if (thresholds.empty() || thresholds.back() != bin.threshold) thresholds.push_back(bin.threshold);
    if (bin.counts.rows == 0) continue;
    // Thresholds above the bin's smallest score and not above its largest would split it.
    const auto above = std::ranges::partition_point(thresholds, [&](double cut) { return cut > bin.highest; });
    auto& stops = levels.stops[levels.reversed ? grid.num_levels() - 1 - level : level];
    stops.back().last = static_cast<Place>(above - thresholds.begin());
    stops.push_back({static_cast<Place>(thresholds.size()), 0, step.taken, stops.back().counts + bin.counts});
  }
  levels.last_place = static_cast<Place>(thresholds.size());
  for (auto& stops : levels.stops) stops.back().last = levels.last_place;
  return levels;
}

std::vector<std::int32_t> taken_at(const FallingLevels& levels, const Places& places) {
  std::vector<std::int32_t> taken;
  for (std::size_t level = 0; level < levels.size(); ++level) taken.push_back(levels.at(level, places[level]).taken);
  if (levels.reversed) std::ranges::reverse(taken);
  return taken;
}

std::vector<std::vector<Wide>> best_heights(const FallingLevels& levels, const Linear& height, const Places& low,
                                            const Places& high) {
  std::vector<std::vector<Wide>> best(levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    best[level].reserve(high[level] - low[level] + 1);
    Wide most = kNoHeight;
    Place place = low[level];
    for (const Stop* stop = &levels.at(level, place); place <= high[level]; ++stop) {
      const Wide stop_height = height(stop->counts);
      for (const Place end = std::min(stop->last, high[level]); place <= end; ++place) {
        const Wide before = level == 0 ? 0 : best[level - 1][std::min(place, high[level - 1]) - low[level - 1]];
        most = std::max(most, before + stop_height);
        best[level].push_back(most);
      }
      if (place > high[level]) break;
      place = std::min(stop[1].first, high[level] + 1);
      best[level].resize(place - low[level], most);
    }
  }
  return best;
}

MonotoneHull::MonotoneHull(const FallingLevels& levels) : levels_(levels) {
  // At a rate of 1 no boundary has more height than nothing.
  vertices_.push_back({1, 1, {}, Places(levels.size(), 0)});
  vertices_.push_back(*best_between({0, 1}, empty().places, Places(levels.size(), levels.last_place)));
}

HullVertex MonotoneHull::best(const Linear& height) {
  const auto compare_rate = [&](const HullVertex& vertex) {
    return compare_fractions(vertex.rows_price, vertex.positives_price, -height.rows, height.positives);
  };
  const auto next =
      std::ranges::partition_point(vertices_, [&](const auto& vertex) { return compare_rate(vertex) > 0; });
  if (compare_rate(*next) == 0) return *next;
  return *vertices_.insert(next, *best_between(height, std::prev(next)->places, next->places));
}

std::optional<HullVertex> MonotoneHull::best_between(const Linear& height, const Places& low,
                                                     const Places& high) const {
  const auto heights = best_heights(levels_, height, low, high);
  if (heights.back().back() < kNoHeight / 2) return std::nullopt;
  HullVertex vertex{-height.rows, height.positives, {}, high};
  for (std::size_t level = levels_.size(); level-- > 0;) {
    // The lowest place of the most height that the levels after this one leave.
    const Place end = level + 1 < levels_.size() ? std::min(high[level], vertex.places[level + 1]) : high[level];
    const auto lowest = std::ranges::lower_bound(heights[level], heights[level][end - low[level]]);
    vertex.places[level] = low[level] + static_cast<Place>(lowest - heights[level].begin());
    vertex.counts += levels_.at(level, vertex.places[level]).counts;
  }
  return vertex;
}

HullCut cut_hull(MonotoneHull& hull, const Knapsack& knapsack) {
  const auto fits = [&](const HullVertex& vertex) { return knapsack.weight(vertex.counts) <= knapsack.capacity; };
  HullVertex outside = hull.best(knapsack.profit);
  if (fits(outside)) return {outside, outside, {}};
  // A bound on what is flagged, or on what is missed.
  HullVertex inside = knapsack.weight.rows > 0 ? hull.empty() : hull.all_positives();
  for (;;) {
    const Linear height = height_along(outside.counts, inside.counts);
    HullVertex top = hull.best(height);
    if (height(top.counts) == height(inside.counts)) {
      const Counts step =
          outside.counts.rows > inside.counts.rows ? outside.counts - inside.counts : inside.counts - outside.counts;
      return {std::move(inside), std::move(outside), step};
    }
    (fits(top) ? inside : outside) = std::move(top);
  }
}

bool is_closest(const Knapsack& knapsack, const HullCut& cut, const Counts& counts) {
  const Linear height = height_along(cut.inside.counts, cut.outside.counts);
  const Wide slack = knapsack.capacity - knapsack.weight(counts);
  return height(counts) == height(cut.inside.counts) && slack >= 0 && slack <= slack_of_a_positive(knapsack, cut);
}

HullVertex fill_side(const FallingLevels& levels, const MonotoneHull& hull, const Knapsack& knapsack,
                     const HullCut& cut) {
  const Linear height = height_along(cut.inside.counts, cut.outside.counts);
  const Wide top = height(cut.inside.counts);
  const Wide most_slack = slack_of_a_positive(knapsack, cut);
  // Along the side weight rises, or falls when the constraint bounds what is missed.
  const bool rises = knapsack.weight(cut.step) > 0;
  const auto is_within = [&](const HullVertex& vertex) {
    const Wide slack = knapsack.capacity - knapsack.weight(vertex.counts);
    return height(vertex.counts) == top && (rises ? slack >= 0 : slack <= most_slack);
  };
  HullVertex filled = rises ? cut.inside : cut.outside;
  Places high = rises ? cut.outside.places : cut.inside.places;
  // Of the boundaries that agree with what the levels before it got, the smallest is kept: all others contain it.
  for (std::size_t grid_level = 0; grid_level < levels.size(); ++grid_level) {
    const std::size_t level = levels.reversed ? levels.size() - 1 - grid_level : grid_level;
    for (Place last = high[level]; filled.places[level] < last;) {
      const Place middle = last - (last - filled.places[level]) / 2;
      auto next = hull.best_between(height, from_place(filled.places, level, middle), high);
      if (next && is_within(*next)) {
        filled = *std::move(next);
      } else {
        last = middle - 1;
      }
    }
    const Place end = levels.at(level, filled.places[level]).last;
    for (std::size_t before = 0; before <= level; ++before) high[before] = std::min(high[before], end);
  }
  return filled;
}

HullVertex best_f_beta(const Problem& problem, MonotoneHull& hull) {
  // F-beta rises along the hull and then falls: a vertex that is better than the next ones on both sides is the best.
  for (;;) {
    const std::vector<HullVertex> known = hull.known();
    const HullVertex* best = known.data();
    for (const HullVertex& vertex : known) {
      if (problem.is_better(vertex.counts, best->counts)) best = &vertex;
    }
    const auto rows_of = [](const HullVertex& vertex) { return vertex.counts.rows; };
    const auto [first, last] = std::ranges::equal_range(known, best->counts.rows, {}, rows_of);
    const auto is_next = [&](const HullVertex& neighbour) {
      const Linear height = height_along(best->counts, neighbour.counts);
      return height(hull.best(height).counts) == height(best->counts);
    };
    const bool left_is_next = first == known.begin() || is_next(first[-1]);
    const bool right_is_next = last == known.end() || is_next(*last);
    if (left_is_next && right_is_next) return *best;
  }
}

std::optional<HullVertex> most_precise(const FallingLevels& levels, MonotoneHull& hull) {
  HullVertex best = hull.all_positives();
  if (best.counts.rows == 0) return std::nullopt;
  Linear height;
  for (;;) {
    height = height_along(best.counts, {});
    HullVertex next = hull.best(height);
    if (next.counts.rows == 0) break;
    best = std::move(next);
  }
  // That is the largest one. The smallest is among the smallest that have rows of some level.
  const Places high = best.places;
  for (std::size_t grid_level = 0; grid_level < levels.size(); ++grid_level) {
    const std::size_t level = levels.reversed ? levels.size() - 1 - grid_level : grid_level;
    if (levels.at(level, high[level]).taken == 0) continue;
    const Places low = from_place(Places(levels.size(), 0), level, levels.stops[level][1].first);
    HullVertex candidate = *hull.best_between(height, low, high);
    if (height(candidate.counts) < 0) continue;
    const auto order = [&](const HullVertex& vertex) { return taken_at(levels, vertex.places); };
    if (candidate.counts.rows < best.counts.rows ||
        (candidate.counts.rows == best.counts.rows && order(candidate) > order(best))) {
      best = std::move(candidate);
    }
  }
  return best;
}

}  // namespace limen::detail
