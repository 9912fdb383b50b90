// SPDX-License-Identifier: MIT
//
// The multiple-choice knapsack of exact.cpp with one more condition: thresholds never fall, or never rise, from a level
// to the next. What stays and what changes:
//
// 1. Hull. The relaxation is over the concave hull of the monotone boundaries, whose vertices a dynamic programme over
//    levels and thresholds finds (monotone_hull.h). The side of it that the constraint cuts gives bound and Lagrange
//    multiplier (Prices), as in exact.cpp. A vertex is optimal for cost and F-beta.
// 2. Loss. At the rate of that side let T be the most height of all boundaries and F(i, x) that of levels 0..i within
//    the places up to x (best_heights). A partial solution over levels i..K-1 that leaves the places up to x to the
//    others loses T - its height - F(i - 1, x), and any boundary that it belongs to loses at least as much:
//        bound - profit = kappa * (T - height of the boundary) + mu * (capacity - weight).
//    A stop of a level loses what the best boundary through it loses.
// 3. Search, from the last level to the first, among the stops within a growing distance of the bound. One partial
//    solution dominates another when it has no more weight, leaves no fewer places, and is better.
//
// Losses are exact up to their last factor, a double, and only decide what is looked at; feasibility, dominance and the
// choice among boundaries are decided in integers.

#include "limen/solve/monotone.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/certificate.h"
#include "solve/knapsack_search.h"
#include "solve/monotone_hull.h"

namespace limen {
namespace {

using detail::FallingLevels;
using detail::KnapsackSolution;
using detail::MonotoneHull;
using detail::Place;
using detail::Places;
using detail::SearchResult;
using detail::SearchStatus;
using detail::Stop;
using detail::Wide;

/// Far above the rounding of kappa, mu and their products.
constexpr double kMargin = 1 + 1e-9;

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
  const FallingLevels& levels;
  const Knapsack& knapsack;
  Prices prices;
  std::vector<std::vector<Wide>> best;  ///< F at prices.direction
  Wide top;
  [[nodiscard]] Wide before(std::size_t level, Place place) const { return level == 0 ? 0 : best[level - 1][place]; }
  [[nodiscard]] double loss(Wide height) const { return prices.kappa * static_cast<double>(top - height); }
};

/// Of every level the stops of loss <= limit.
std::vector<std::vector<Item>> items_within(const Relaxed& relaxed, double limit) {
  const FallingLevels& levels = relaxed.levels;
  const Linear& height = relaxed.prices.direction;
  std::vector<std::vector<Item>> items(levels.size());
  // Most height of the levels after this one at places that never fall and begin at x or after.
  std::vector<Wide> after(levels.last_place + 1, 0);
  for (std::size_t level = levels.size(); level-- > 0;) {
    Wide most = detail::kNoHeight;
    Place place = levels.last_place + 1;
    for (std::size_t index = levels.stops[level].size(); index-- > 0;) {
      const Stop& stop = levels.stops[level][index];
      while (place > stop.last + 1) after[--place] = most;
      const Wide stop_height = height(stop.counts);
      Wide others = detail::kNoHeight;
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
  if (relaxed.levels.reversed) std::ranges::reverse(result.taken);
  return result;
}

/// On a long side (see fill_side), of the stops without loss those next to a boundary's own. Unset: there are few.
std::optional<std::vector<std::vector<Item>>> items_without_loss(const std::vector<std::vector<Item>>& all,
                                                                 const Places& places) {
  constexpr std::ptrdiff_t kMostPerSide = 8;
  bool many = false;
  std::vector<std::vector<Item>> near(all.size());
  for (std::size_t level = 0; level < all.size(); ++level) {
    std::vector<Item> items;
    std::ranges::copy_if(all[level], std::back_inserter(items), [](const Item& item) { return item.loss == 0; });
    const auto after = std::ranges::upper_bound(items, places[level], {}, &Item::first);
    const auto first = after - std::min(after - items.begin(), kMostPerSide);
    const auto last = after + std::min(items.end() - after, kMostPerSide);
    near[level].assign(first, last);
    many |= near[level].size() < items.size();
  }
  return many ? std::optional(std::move(near)) : std::nullopt;
}

Counts counts_of(const FallingLevels& levels, const std::vector<std::int32_t>& taken) {
  Counts counts;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::int32_t stop = taken[levels.reversed ? levels.size() - 1 - level : level];
    counts += std::ranges::lower_bound(levels.stops[level], stop, {}, &Stop::taken)->counts;
  }
  return counts;
}

struct Bounded {
  KnapsackSolution solution;
  double bound;  ///< on the profit
};

Bounded solve_knapsack(const FallingLevels& levels, MonotoneHull& hull, const Knapsack& knapsack,
                       const ExactOptions& options) {
  const detail::HullCut cut = detail::cut_hull(hull, knapsack);
  std::vector<std::int32_t> greedy = detail::taken_at(levels, cut.inside.places);
  const auto profit = static_cast<double>(knapsack.profit(cut.inside.counts));
  if (cut.step.rows == 0) return {{std::move(greedy)}, profit};
  const detail::HullVertex filled = detail::fill_side(levels, hull, knapsack, cut);
  if (detail::is_closest(knapsack, cut, filled.counts)) {
    return {{detail::taken_at(levels, filled.places)}, static_cast<double>(knapsack.profit(filled.counts))};
  }
  Relaxed relaxed{levels, knapsack, prices_at(knapsack, cut.step, cut.inside.counts), {}, 0};
  relaxed.best = detail::best_heights(levels, relaxed.prices.direction, Places(levels.size(), 0),
                                      Places(levels.size(), levels.last_place));
  relaxed.top = relaxed.best.back().back();
  const double gap = relaxed.prices.gap;
  const std::vector<std::vector<Item>> within_gap = items_within(relaxed, gap * kMargin);
  if (const auto items = items_without_loss(within_gap, filled.places)) {
    SearchResult result = search(relaxed, *items, gap * kMargin, options);
    if (result.status == SearchStatus::kFound && detail::is_closest(knapsack, cut, counts_of(levels, result.taken))) {
      return {{std::move(result.taken)}, profit + gap};
    }
  }
  KnapsackSolution solution = detail::search_from_bound(gap, std::move(greedy), [&](double limit) {
    std::vector<std::vector<Item>> items(levels.size());
    for (std::size_t level = 0; level < levels.size(); ++level) {
      std::ranges::copy_if(within_gap[level], std::back_inserter(items[level]),
                           [&](const Item& item) { return item.loss <= limit * kMargin; });
    }
    return search(relaxed, items, limit * kMargin, options);
  });
  return {solution, profit + gap - solution.distance};
}

/// Most precision with enough recall: raise_precision.
KnapsackSolution solve_recall(const Problem& problem, const FallingLevels& levels, MonotoneHull& hull,
                              const ExactOptions& options) {
  const auto knapsack_above = [&](const Counts& reference) {
    return make_recall_knapsack(problem.objective(), problem.totals(), reference);
  };
  detail::HullVertex start = hull.all_positives();
  if (!problem.is_feasible(start.counts)) return {detail::taken_at(levels, start.places)};
  const Knapsack needed = knapsack_above(start.counts);
  if (needed.weight(Counts{}) <= needed.capacity) {  // no positives are asked for
    return {detail::taken_at(levels, detail::most_precise(levels, hull)->places)};
  }
  // First among the vertices alone, which need no search.
  for (;;) {
    detail::HullVertex next = detail::cut_hull(hull, knapsack_above(start.counts)).inside;
    if (!higher_rate(next.counts, start.counts)) break;
    start = std::move(next);
  }
  return detail::raise_precision(problem, detail::taken_at(levels, start.places), [&](const Counts& above) {
    return solve_knapsack(levels, hull, knapsack_above(above), options).solution;
  });
}

}  // namespace

Solution solve_monotone(const Problem& problem, Direction direction, const ExactOptions& options) {
  const FallingLevels levels = detail::falling_levels(problem.grid(), direction);
  MonotoneHull hull(levels);
  KnapsackSolution found;
  double bound = 0;
  if (problem.objective().goal == Goal::kFBeta) {
    found.taken = detail::taken_at(levels, detail::best_f_beta(problem, hull).places);
  } else if (const auto& knapsack = problem.knapsack()) {
    Bounded bounded = solve_knapsack(levels, hull, *knapsack, options);
    found = std::move(bounded.solution);
    // What is not proved at once is most recall: the profit is the positives.
    bound = std::floor(bounded.bound * kMargin);
  } else {
    found = solve_recall(problem, levels, hull, options);
    bound = found.proved ? 0 : problem.relaxation_bound();  // of all boundaries, monotone or not
  }
  const Counts flagged = flagged_counts(problem.grid(), found.taken);
  if (!problem.is_feasible(flagged)) {
    Solution solution = detail::infeasible_solution(problem);
    if (problem.objective().goal == Goal::kPrecision) {
      // Without positives all boundaries are equally imprecise.
      const auto best = detail::most_precise(levels, hull);
      solution.best_attainable =
          constraint_value(problem.objective(), problem.totals(), best ? best->counts : problem.totals().all);
    }
    return solution;
  }
  return detail::with_certificate(problem, std::move(found.taken), found.proved ? problem.value(flagged) : bound);
}

}  // namespace limen
