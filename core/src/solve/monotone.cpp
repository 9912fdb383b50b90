// SPDX-License-Identifier: MIT
//
// The multiple-choice knapsack of exact.cpp with one more condition: thresholds never fall, or never rise, from a level
// to the next. Levels are put into the order in which thresholds fall; places 0, 1, ..., M number the thresholds that
// any bin begins at, from +infinity (nothing is flagged) down to the lowest. Then
//
//   - a level has stops, the prefixes of its bins with rows; stop j is what the places first_j .. last_j flag;
//   - a boundary is monotone just when its stops have places that never fall from level to level.
//
// 1. Best boundary at a rate. Let a boundary be worth height = q * positives - p * rows. With
//        F(i, x) = most height of levels 0..i at places that never fall and end at x or before
//                = max(F(i, x - 1), F(i - 1, x) + height of the stop of level i at x)
//    the best is F(K - 1, M). Unions and intersections of monotone boundaries are monotone, so the best ones have a
//    smallest among them, the one of the lowest places, and it only grows as the rate p/q falls: between two known
//    rates the programme needs only the places between their boundaries.
// 2. Hull. These boundaries are the vertices of the concave hull of all monotone boundaries as points (rows,
//    positives). The side of it that the constraint cuts gives bound and Lagrange multiplier (Prices), as in exact.cpp.
//    A vertex is optimal for cost and F-beta, as both are constant along lines.
// 3. Loss. At the rate of that side, with the largest height T: a partial solution of levels i..K-1 that leaves the
//    places up to x to the others loses T - its height - F(i - 1, x), and so does any boundary it belongs to, at least.
// 4. Search, as in exact.cpp, from the last level to the first: partial solutions within a growing distance of the
//    bound. One dominates another when it leaves no fewer places as well.
//
// Losses are exact up to their last factor, a double; feasibility, dominance and the choice are decided in integers.

#include "limen/solve/monotone.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "limen/base/error.h"
#include "limen/base/wide.h"
#include "limen/count/shortest_decimal.h"
#include "solve/certify.h"

namespace limen {
namespace {

using detail::Wide;
using Place = std::uint32_t;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMargin = 1 + 1e-9;           // far above the rounding of kappa, mu and their products
constexpr Wide kNoHeight = -(Wide{1} << 125);  // no height: those are below 2^121

struct Stop {
  Place first;
  Place last;
  std::int32_t taken;  ///< bins; the last of them has rows
  Counts counts;
};

/// The levels in the order in which thresholds fall.
struct Levels {
  std::vector<std::vector<Stop>> stops;
  Place last_place = 0;
  bool reversed = false;  ///< the highest level comes first

  [[nodiscard]] std::size_t size() const { return stops.size(); }
  [[nodiscard]] const Stop& at(std::size_t level, Place place) const {
    return std::ranges::upper_bound(stops[level], place, {}, &Stop::first)[-1];
  }
};

Levels make_levels(const Grid& grid, Direction direction) {
  Levels levels;
  levels.reversed = direction == Direction::kUp;
  levels.stops.assign(grid.num_levels(), {{0, 0, 0, {}}});
  std::vector<double> thresholds;  // of place 1, 2, ...
  for (const ChainStep& step : score_chain(grid)) {
    const auto level = static_cast<std::size_t>(step.level);
    const Bin& bin = grid.levels[level][static_cast<std::size_t>(step.taken) - 1];
    if (thresholds.empty() || thresholds.back() != bin.threshold) thresholds.push_back(bin.threshold);
    auto& stops = levels.stops[levels.reversed ? grid.num_levels() - 1 - level : level];
    if (bin.counts.rows == 0) continue;
    // Thresholds from the bin's largest score down to its smallest, that one excluded, would split it.
    const auto above = std::ranges::partition_point(thresholds, [&](double cut) { return cut > bin.highest; });
    stops.back().last = static_cast<Place>(above - thresholds.begin());
    stops.push_back({static_cast<Place>(thresholds.size()), 0, step.taken, stops.back().counts + bin.counts});
  }
  levels.last_place = static_cast<Place>(thresholds.size());
  for (auto& stops : levels.stops) stops.back().last = levels.last_place;
  return levels;
}

/// A place for every level.
using Places = std::vector<Place>;

/// F(level, place) for places low[level] .. high[level], at index place - low[level]. Two monotone boundaries.
std::vector<std::vector<Wide>> best_heights(const Levels& levels, const Linear& height, const Places& low,
                                            const Places& high) {
  std::vector<std::vector<Wide>> best(levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    best[level].reserve(high[level] - low[level] + 1);
    Wide most = kNoHeight;
    Place place = low[level];
    for (const Stop* stop = &levels.at(level, place); place <= high[level]; ++stop) {
      const Wide stop_height = height(stop->counts);
      const Place end = std::min(stop->last, high[level]);
      for (; place <= end; ++place) {
        const Wide before = level == 0 ? 0 : best[level - 1][std::min(place, high[level - 1]) - low[level - 1]];
        most = std::max(most, before + stop_height);
        best[level].push_back(most);
      }
      if (place > high[level]) break;
      const Place next = std::min(stop[1].first, high[level] + 1);
      best[level].resize(next - low[level], most);
      place = next;
    }
  }
  return best;
}

struct Vertex {
  Wide rows_price;  ///< the smallest best boundary at the rate rows_price / positives_price
  Wide positives_price;
  Counts counts;
  Places places;
};

/// The concave hull of the monotone boundaries, from nothing to all positives, as far as it has been asked for.
class Hull {
 public:
  explicit Hull(const Levels& levels) : levels_(levels) {
    vertices_.push_back({1, 1, {}, Places(levels.size(), 0)});
    vertices_.push_back(make({0, 1}, vertices_[0].places, Places(levels.size(), levels.last_place)));
  }

  [[nodiscard]] const Vertex& empty() const { return vertices_.front(); }
  [[nodiscard]] const Vertex& full() const { return vertices_.back(); }
  [[nodiscard]] const std::vector<Vertex>& known() const { return vertices_; }

  /// The smallest boundary of the most height. 0 <= -height.rows <= height.positives > 0.
  Vertex at(const Linear& height) {
    const auto next = std::ranges::partition_point(vertices_, [&](const Vertex& vertex) {
      return detail::compare_fractions(vertex.rows_price, vertex.positives_price, -height.rows, height.positives) > 0;
    });
    if (detail::compare_fractions(next->rows_price, next->positives_price, -height.rows, height.positives) == 0) {
      return *next;
    }
    return *vertices_.insert(next, make(height, std::prev(next)->places, next->places));
  }

 private:
  [[nodiscard]] Vertex make(const Linear& height, const Places& low, const Places& high) const {
    const auto best = best_heights(levels_, height, low, high);
    Vertex vertex{-height.rows, height.positives, {}, high};
    for (std::size_t level = levels_.size(); level-- > 0;) {
      const Place limit = std::min(high[level], level + 1 < levels_.size() ? vertex.places[level + 1] : high[level]);
      const auto lowest = std::ranges::lower_bound(best[level], best[level][limit - low[level]]);
      vertex.places[level] = low[level] + static_cast<Place>(lowest - best[level].begin());
      vertex.counts += levels_.at(level, vertex.places[level]).counts;
    }
    return vertex;
  }

  const Levels& levels_;
  std::vector<Vertex> vertices_;  ///< in order of falling rate
};

/// Constant along the line through two points.
Linear height_along(const Counts& a, const Counts& b) {
  const Counts step = a.rows > b.rows ? a - b : b - a;
  return {-Wide{step.positives}, Wide{step.rows}};
}

/// The vertex of the highest F-beta, which rises and then falls along the hull: the one better than its neighbours.
Vertex best_f_beta(const Problem& problem, Hull& hull) {
  for (;;) {
    const std::vector<Vertex> known = hull.known();
    const Vertex* best = known.data();
    for (const Vertex& vertex : known) {
      if (problem.is_better(vertex.counts, best->counts)) best = &vertex;
    }
    const auto left =
        std::ranges::lower_bound(known, best->counts.rows, {}, [](const Vertex& v) { return v.counts.rows; });
    const auto right =
        std::ranges::upper_bound(known, best->counts.rows, {}, [](const Vertex& v) { return v.counts.rows; });
    const auto is_side = [&](const Vertex& neighbour) {
      const Linear height = height_along(best->counts, neighbour.counts);
      return height(hull.at(height).counts) == height(best->counts);
    };
    const bool left_is_side = left == known.begin() || is_side(left[-1]);
    const bool right_is_side = right == known.end() || is_side(*right);
    if (left_is_side && right_is_side) return *best;
  }
}

/// Where the constraint of a knapsack cuts the hull.
struct Cut {
  Vertex vertex;  ///< the end of the cut side that meets the constraint, or the optimum
  Counts step;    ///< from one end of the side to the other; no rows: nothing is cut, `vertex` is the optimum
};

Cut cut_hull(Hull& hull, const Knapsack& knapsack) {
  const auto fits = [&](const Vertex& vertex) { return knapsack.weight(vertex.counts) <= knapsack.capacity; };
  Vertex outside = hull.at(knapsack.profit);
  if (fits(outside)) return {std::move(outside), {}};
  Vertex inside = knapsack.weight.rows > 0 ? hull.empty() : hull.full();
  for (;;) {
    const Linear height = height_along(outside.counts, inside.counts);
    Vertex top = hull.at(height);
    if (height(top.counts) == height(inside.counts)) {
      return {std::move(inside),
              Counts{static_cast<std::int64_t>(height.positives), static_cast<std::int64_t>(-height.rows)}};
    }
    (fits(top) ? inside : outside) = std::move(top);
  }
}

struct Item {
  Place first;
  Place last;
  std::int32_t taken;
  std::uint32_t room;  ///< index of the last place below that can make a difference to the levels before
  double loss;         ///< of the best boundary that it belongs to
  Wide weight;
  Wide profit;
  Wide height;
  Wide before;  ///< F(level - 1, last)
  std::int64_t rows;
};

struct Relaxed {
  const Levels& levels;
  const Knapsack& knapsack;
  Prices prices;
  std::vector<std::vector<Wide>> best;  ///< F at prices.direction
  Wide top;
  [[nodiscard]] Wide before(std::size_t level, Place place) const { return level == 0 ? 0 : best[level - 1][place]; }
  [[nodiscard]] double loss(Wide height) const { return prices.kappa * static_cast<double>(top - height); }
};

/// Of every level the stops of loss <= limit.
std::vector<std::vector<Item>> items_within(const Relaxed& relaxed, double limit) {
  const Levels& levels = relaxed.levels;
  const Linear& height = relaxed.prices.direction;
  std::vector<std::vector<Item>> items(levels.size());
  // Most height of the levels after this one at places that never fall and begin at x or after.
  std::vector<Wide> after(levels.last_place + 1, 0);
  for (std::size_t level = levels.size(); level-- > 0;) {
    Wide most = kNoHeight;
    Place place = levels.last_place + 1;
    for (std::size_t index = levels.stops[level].size(); index-- > 0;) {
      const Stop& stop = levels.stops[level][index];
      while (place > stop.last + 1) after[--place] = most;
      const Wide stop_height = height(stop.counts);
      Wide others = kNoHeight;
      while (place > stop.first) {
        --place;
        others = std::max(others, relaxed.before(level, place) + after[place]);
        most = std::max(most, stop_height + after[place]);
        after[place] = most;
      }
      const double loss = relaxed.loss(stop_height + others);
      if (loss > limit) continue;
      items[level].push_back({stop.first, stop.last, stop.taken, 0, loss, relaxed.knapsack.weight(stop.counts),
                              relaxed.knapsack.profit(stop.counts), stop_height, relaxed.before(level, stop.last),
                              stop.counts.rows});
    }
    std::ranges::reverse(items[level]);
  }
  return items;
}

/// A partial solution over the levels from some one on.
struct State {
  Wide weight;
  Wide profit;
  Wide height;
  std::int64_t rows;
  std::uint64_t tie;     ///< the lower the better: more rows at the lowest level at which two of them differ
  std::uint32_t parent;  ///< state of the level after
  std::uint32_t room;    ///< index of the last place that it leaves to the levels before
  std::int32_t taken;
};

bool better(const State& a, const State& b) {
  if (a.profit != b.profit) return a.profit > b.profit;
  return a.rows != b.rows ? a.rows < b.rows : a.tie < b.tie;
}

/// Leaves the states that no other dominates: no more weight, no less room, and better.
void remove_dominated(std::vector<State>& states, std::size_t num_rooms) {
  tbb::parallel_sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.weight != b.weight ? a.weight < b.weight : better(a, b);
  });
  // A Fenwick tree over the rooms from the largest down: the best kept state of at least as much room.
  constexpr std::uint32_t kEmpty = UINT32_MAX;
  std::vector<std::uint32_t> tree(num_rooms + 1, kEmpty);
  std::uint32_t kept = 0;
  for (std::size_t index = 0; index < states.size(); ++index) {
    const State state = states[index];
    const std::size_t from = num_rooms - state.room;
    bool dominated = false;
    for (std::size_t node = from; node > 0 && !dominated; node &= node - 1) {
      dominated = tree[node] != kEmpty && better(states[tree[node]], state);
    }
    if (dominated) continue;
    for (std::size_t node = from; node <= num_rooms; node += node & (~node + 1)) {
      if (tree[node] == kEmpty || better(state, states[tree[node]])) tree[node] = kept;
    }
    states[kept++] = state;
  }
  states.resize(kept);
}

std::vector<std::uint32_t> tie_ranks(const std::vector<State>& states) {
  std::vector<std::uint32_t> order(states.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t state) { return states[state].tie; });
  std::vector<std::uint32_t> rank(states.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) rank[order[place]] = place;
  return rank;
}

enum class SearchStatus { kFound, kNone, kLimit };

struct SearchResult {
  SearchStatus status = SearchStatus::kNone;
  std::vector<std::int32_t> taken;
};

/// Index of the last of the places that is not after `place`; unset: all are after it.
std::optional<std::uint32_t> room_at(const std::vector<Place>& places, Place place) {
  const auto after = std::ranges::upper_bound(places, place);
  if (after == places.begin()) return std::nullopt;
  return static_cast<std::uint32_t>(after - places.begin() - 1);
}

/// The best boundary within `limit` of the bound, if there is one. items: those of loss <= limit.
SearchResult search(const Relaxed& relaxed, const std::vector<std::vector<Item>>& items, double limit,
                    const ExactOptions& options) {
  const Knapsack& knapsack = relaxed.knapsack;
  const std::size_t num_levels = items.size();
  // Of the levels before each: the least and the most weight, and the places at which an item of theirs begins. How
  // much room a state leaves matters only between those.
  std::vector<Wide> least(num_levels + 1, 0);
  std::vector<Wide> most(num_levels + 1, 0);
  std::vector<std::vector<Place>> rooms(num_levels + 1);
  for (std::size_t level = 0; level < num_levels; ++level) {
    if (items[level].empty()) return {};
    const auto [lightest, heaviest] = std::ranges::minmax(items[level], {}, &Item::weight);
    least[level + 1] = least[level] + lightest.weight;
    most[level + 1] = most[level] + heaviest.weight;
    std::vector<Place> firsts;
    for (const Item& item : items[level]) firsts.push_back(item.first);
    std::ranges::set_union(rooms[level], firsts, std::back_inserter(rooms[level + 1]));
  }
  rooms[0] = {0};

  struct Link {
    std::uint32_t parent;
    std::int32_t taken;
  };
  std::vector<std::vector<Link>> links(num_levels);
  std::vector<State> states = {{0, 0, 0, 0, 0, 0, static_cast<std::uint32_t>(rooms[num_levels].size() - 1), 0}};
  for (std::size_t level = num_levels; level-- > 0;) {
    const std::vector<std::uint32_t> rank = tie_ranks(states);
    // The weights from which the constraint can be met, and met with little enough slack.
    const Wide heaviest = knapsack.capacity - least[level];
    const Wide reachable = knapsack.capacity - most[level];
    std::vector<std::optional<std::uint32_t>> item_rooms;
    for (const Item& item : items[level]) item_rooms.push_back(room_at(rooms[level], item.last));
    std::vector<State> next;
    std::size_t compact_at = std::max<std::size_t>(std::size_t{1} << 16, 4 * states.size());
    for (std::uint32_t parent = 0; parent < states.size(); ++parent) {
      const State& state = states[parent];
      const Place end = rooms[level + 1][state.room];
      const std::optional<std::uint32_t> end_room = room_at(rooms[level], end);
      for (std::size_t index = 0; index < items[level].size(); ++index) {
        const Item& item = items[level][index];
        if (item.first > end) break;  // items are in order of their places
        const Wide weight = state.weight + item.weight;
        if (weight > heaviest) continue;
        const bool inside = item.last <= end;
        const Wide height = state.height + item.height;
        const double loss = relaxed.loss(height + (inside ? item.before : relaxed.before(level, end)));
        const double slack = weight < reachable ? relaxed.prices.mu * static_cast<double>(reachable - weight) : 0;
        const std::optional<std::uint32_t> room = inside ? item_rooms[index] : end_room;
        if (loss + slack > limit || !room) continue;
        // At equal rows, more of them at the lower level: the level that was added first when levels are reversed.
        const auto fewer = static_cast<std::uint64_t>(INT32_MAX - item.taken);
        const std::uint64_t tie =
            relaxed.levels.reversed ? std::uint64_t{rank[parent]} << 32U | fewer : fewer << 32U | rank[parent];
        next.push_back(
            {weight, state.profit + item.profit, height, state.rows + item.rows, tie, parent, *room, item.taken});
      }
      if (next.size() > compact_at) {
        remove_dominated(next, rooms[level].size());
        if (next.size() > options.max_states) return {SearchStatus::kLimit, {}};
        compact_at = std::max(compact_at, 4 * next.size());
      }
    }
    remove_dominated(next, rooms[level].size());
    if (next.size() > options.max_states) return {SearchStatus::kLimit, {}};
    if (next.empty()) return {};
    for (const State& state : next) links[level].push_back({state.parent, state.taken});
    states = std::move(next);
  }

  // States run to more weight and better; all of them fit, so the last is the best.
  SearchResult result{SearchStatus::kFound, std::vector<std::int32_t>(num_levels)};
  auto state = static_cast<std::uint32_t>(states.size() - 1);
  for (std::size_t level = 0; level < num_levels; ++level) {
    result.taken[level] = links[level][state].taken;
    state = links[level][state].parent;
  }
  return result;
}

struct KnapsackSolution {
  std::vector<std::int32_t> taken;  ///< in the order of Levels
  bool proved = true;
  double bound = 0;  ///< on the profit
};

std::vector<std::int32_t> taken_at(const Levels& levels, const Places& places) {
  std::vector<std::int32_t> taken;
  for (std::size_t level = 0; level < levels.size(); ++level) taken.push_back(levels.at(level, places[level]).taken);
  return taken;
}

KnapsackSolution solve_knapsack(const Levels& levels, Hull& hull, const Knapsack& knapsack,
                                const ExactOptions& options) {
  const Cut cut = cut_hull(hull, knapsack);
  const double profit = static_cast<double>(knapsack.profit(cut.vertex.counts));
  KnapsackSolution solution{taken_at(levels, cut.vertex.places), true, profit};
  if (cut.step.rows == 0) return solution;
  Relaxed relaxed{levels, knapsack, prices_at(knapsack, cut.step, cut.vertex.counts), {}, 0};
  relaxed.best = best_heights(levels, relaxed.prices.direction, Places(levels.size(), 0),
                              Places(levels.size(), levels.last_place));
  relaxed.top = relaxed.best.back().back();
  const double gap = relaxed.prices.gap;
  const std::vector<std::vector<Item>> all = items_within(relaxed, gap * kMargin);
  double excluded = 0;  // there is no boundary this close to the bound
  for (double limit = gap / 4096;; limit = std::min(2 * limit, gap)) {
    std::vector<std::vector<Item>> items(all.size());
    for (std::size_t level = 0; level < all.size(); ++level) {
      std::ranges::copy_if(all[level], std::back_inserter(items[level]),
                           [&](const Item& item) { return item.loss <= limit * kMargin; });
    }
    SearchResult result = search(relaxed, items, limit * kMargin, options);
    if (result.status == SearchStatus::kFound) {
      solution.taken = std::move(result.taken);
      return solution;
    }
    if (result.status == SearchStatus::kLimit || limit >= gap) {
      solution.proved = false;
      solution.bound = profit + gap - excluded;
      return solution;
    }
    excluded = limit;
  }
}

/// Most precision with enough recall, by Dinkelbach's method (see exact.cpp).
KnapsackSolution solve_recall(const Problem& problem, const Levels& levels, Hull& hull, const ExactOptions& options) {
  const auto knapsack_above = [&](const Counts& reference) {
    Knapsack knapsack = make_recall_knapsack(problem.objective(), problem.totals(), reference);
    // One positive at least: the precision of nothing is not defined.
    knapsack.capacity = std::min(knapsack.capacity, knapsack.weight.positives);
    return knapsack;
  };
  Vertex reference = hull.full();
  if (!problem.is_feasible(reference.counts)) return {taken_at(levels, reference.places)};
  // First among the vertices alone.
  for (;;) {
    Vertex next = cut_hull(hull, knapsack_above(reference.counts)).vertex;
    if (!higher_rate(next.counts, reference.counts)) break;
    reference = std::move(next);
  }
  Counts counts = reference.counts;
  std::vector<std::int32_t> taken = taken_at(levels, reference.places);
  const auto counts_of = [&](const std::vector<std::int32_t>& stops) {
    Counts sum;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      sum += std::ranges::lower_bound(levels.stops[level], stops[level], {}, &Stop::taken)->counts;
    }
    return sum;
  };
  for (;;) {
    KnapsackSolution solution = solve_knapsack(levels, hull, knapsack_above(counts), options);
    const Counts flagged = counts_of(solution.taken);
    if (!solution.proved && !problem.is_better(flagged, counts)) return {std::move(taken), false};
    const bool more_precise = higher_rate(flagged, counts);
    if (!solution.proved || !more_precise) return solution;
    taken = std::move(solution.taken);
    counts = flagged;
  }
}

/// The highest precision of a monotone boundary with rows: the first side of the hull.
std::optional<double> best_precision(const Problem& problem, Hull& hull) {
  Vertex best = hull.full();
  // Without positives, any boundary will do.
  if (best.counts.rows == 0) return constraint_value(problem.objective(), problem.totals(), problem.totals().all);
  for (;;) {
    Vertex next = hull.at(height_along(best.counts, {}));
    if (next.counts.rows == 0) return constraint_value(problem.objective(), problem.totals(), best.counts);
    best = std::move(next);
  }
}

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

Solution solve_monotone(const Problem& problem, Direction direction, const ExactOptions& options) {
  const Levels levels = make_levels(problem.grid(), direction);
  Hull hull(levels);
  const Goal goal = problem.objective().goal;
  KnapsackSolution found;
  if (goal == Goal::kFBeta) {
    found.taken = taken_at(levels, best_f_beta(problem, hull).places);
  } else if (const auto& knapsack = problem.knapsack()) {
    found = solve_knapsack(levels, hull, *knapsack, options);
  } else {
    found = solve_recall(problem, levels, hull, options);
  }
  if (levels.reversed) std::ranges::reverse(found.taken);
  const Counts flagged = flagged_counts(problem.grid(), found.taken);
  if (!problem.is_feasible(flagged)) {
    Solution solution = detail::infeasible_solution(problem);
    if (goal == Goal::kPrecision) solution.best_attainable = best_precision(problem, hull);
    return solution;
  }
  double bound = problem.value(flagged);
  if (!found.proved) {
    bound = problem.relaxation_bound();  // of all boundaries, monotone or not
    if (goal != Goal::kRecall) bound = std::min(bound, std::floor(found.bound * kMargin));  // profit is positives
  }
  return detail::certify(problem, std::move(found.taken), bound);
}

}  // namespace limen
