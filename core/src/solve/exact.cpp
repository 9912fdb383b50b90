// SPDX-License-Identifier: MIT
//
// The two-dimensional boundary as a multiple-choice knapsack: from every level one item (a prefix of its bins, the j
// highest scores), the most profit within one linear constraint on (rows, positives) of all items together.
//
// 1. Concave hulls. Per level the prefixes that some linear trade-off between rows and positives prefers are the ends
//    of the isotonic blocks. All blocks in order of falling rate form the hull chain; the linear relaxation walks it
//    and cuts at most one block in two. Its value is the bound U.
// 2. Loss. Let t be the rate of the cut block. Under the Lagrange multiplier mu of the relaxation every item x of a
//    level is worth
//        profit(x) - mu * weight(x) = kappa * (rows_cut * positives(x) - positives_cut * rows(x)),
//    and loss(x) >= 0 is how much less that is than the best of its level (Prices). For any boundary
//        U - profit = sum of losses + mu * (capacity - weight),
//    so a boundary within d of the bound has only items of loss <= d, and their losses add up to at most d.
// 3. Reduction. With small d few items survive, all near the hull vertex at rate t.
// 4. Merging. Level after level all sums of a partial solution and an item, without those whose losses exceed d, that
//    cannot meet the constraint any more, or that another one dominates (no more weight, and better).
// 5. If that finds a boundary, no other can be better and the work is done; else d grows. At d = U - profit of the
//    greedy boundary it must find that one at least.
//
// Losses are doubles: they only decide what is looked at, with a margin far above their rounding error. Feasibility,
// dominance and the choice among boundaries are decided in integers.

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "limen/solve/isotonic.h"
#include "limen/solve/solve.h"
#include "solve/certificate.h"
#include "solve/knapsack_search.h"

namespace limen {
namespace {

using detail::KnapsackSolution;
using detail::SearchResult;
using detail::SearchStatus;
using detail::Wide;

/// Losses are sums of a few hundred roundings of relative size 2^-53: a margin of 1e-9 is wide.
constexpr double kMargin = 1 + 1e-9;

/// One level: its bins, the blocks of its concave hull, and the hull's vertices.
struct LevelHull {
  std::span<const Bin> bins;
  std::span<const Block> blocks;
  std::vector<Counts> vertices;  ///< counts before block 0, 1, ..., and after the last one
};

std::vector<LevelHull> level_hulls(const Problem& problem) {
  std::vector<LevelHull> hulls;
  for (std::size_t level = 0; level < problem.num_levels(); ++level) {
    LevelHull& hull = hulls.emplace_back(LevelHull{problem.grid().levels[level], problem.hulls()[level], {Counts{}}});
    hull.vertices.reserve(hull.blocks.size() + 1);
    for (const Block& block : hull.blocks) hull.vertices.push_back(hull.vertices.back() + block.counts);
  }
  return hulls;
}

struct Item {
  Wide weight;
  Wide profit;
  std::int64_t rows;
  double loss;
  std::int32_t taken;
};

/// Items of one level of loss <= limit. Inside a block no prefix is above the hull, so its loss is at least that of the
/// nearer end of the block: the search stops at the first vertex on either side that is too far.
std::vector<Item> items_within(const LevelHull& hull, const Knapsack& knapsack, const Prices& prices, double limit) {
  const Linear& height = prices.direction;
  const auto first_below = std::partition_point(hull.blocks.begin(), hull.blocks.end(),
                                                [&](const Block& block) { return height(block.counts) > 0; });
  const auto best = static_cast<std::size_t>(first_below - hull.blocks.begin());
  const Wide top = height(hull.vertices[best]);
  const auto loss = [&](const Counts& counts) { return prices.kappa * static_cast<double>(top - height(counts)); };

  std::vector<Item> items;
  const auto add = [&](const Counts& counts, std::size_t taken) {
    const double item_loss = loss(counts);
    if (item_loss > limit) return;
    items.push_back(
        {knapsack.weight(counts), knapsack.profit(counts), counts.rows, item_loss, static_cast<std::int32_t>(taken)});
  };
  // The prefixes strictly inside block `block` and the one that ends it.
  const auto add_block = [&](std::size_t block, bool with_end) {
    Counts counts = hull.vertices[block];
    const std::size_t end = hull.blocks[block].end;
    for (std::size_t bin = block == 0 ? 0 : hull.blocks[block - 1].end; bin < end; ++bin) {
      if (hull.bins[bin].counts.rows == 0) continue;
      counts += hull.bins[bin].counts;
      if (with_end || bin + 1 < end) add(counts, bin + 1);
    }
  };
  add(hull.vertices[best], best == 0 ? 0 : hull.blocks[best - 1].end);
  for (std::size_t block = best; block < hull.blocks.size() && loss(hull.vertices[block]) <= limit; ++block) {
    add_block(block, true);
  }
  for (std::size_t block = best; block-- > 0 && loss(hull.vertices[block + 1]) <= limit;) {
    add_block(block, false);
    add(hull.vertices[block], block == 0 ? 0 : hull.blocks[block - 1].end);
  }
  // Dominated items go: no less weight and not better. Better means more profit, or as much in fewer rows.
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    if (a.weight != b.weight) return a.weight < b.weight;
    if (a.profit != b.profit) return a.profit > b.profit;
    return a.rows < b.rows;
  });
  std::vector<Item> kept;
  for (const Item& item : items) {
    if (kept.empty() || item.profit > kept.back().profit ||
        (item.profit == kept.back().profit && item.rows < kept.back().rows)) {
      kept.push_back(item);
    }
  }
  return kept;
}

/// A partial solution over the levels so far.
struct State {
  Wide weight;
  Wide profit;
  std::int64_t rows;
  double loss;
  std::uint32_t parent;       ///< state of the level before
  std::uint32_t parent_rank;  ///< its place in the tie-breaking order
  std::int32_t taken;
};

/// The part of a state that the boundary is read back from.
struct Link {
  std::uint32_t parent;
  std::int32_t taken;
};

/// Total order of what is better at equal weight: profit, then fewer rows, then more rows at the lower level.
bool better(const State& a, const State& b) {
  if (a.profit != b.profit) return a.profit > b.profit;
  if (a.rows != b.rows) return a.rows < b.rows;
  if (a.parent_rank != b.parent_rank) return a.parent_rank < b.parent_rank;
  return a.taken > b.taken;
}

void remove_dominated(std::vector<State>& states) {
  tbb::parallel_sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.weight != b.weight ? a.weight < b.weight : better(a, b);
  });
  std::size_t kept = 0;
  for (std::size_t state = 0; state < states.size(); ++state) {
    if (kept == 0 || better(states[state], states[kept - 1])) states[kept++] = states[state];
  }
  states.resize(kept);
}

std::vector<std::uint32_t> tie_ranks(const std::vector<State>& states) {
  std::vector<std::uint32_t> order(states.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return states[a].parent_rank != states[b].parent_rank ? states[a].parent_rank < states[b].parent_rank
                                                          : states[a].taken > states[b].taken;
  });
  std::vector<std::uint32_t> rank(states.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) rank[order[place]] = place;
  return rank;
}

/// The best boundary within `limit` of the bound, if there is one.
SearchResult search(const std::vector<LevelHull>& hulls, const Knapsack& knapsack, const Prices& prices, double limit,
                    const ExactOptions& options) {
  const double loss_limit = limit * kMargin;
  const std::size_t num_levels = hulls.size();
  std::vector<std::vector<Item>> items;
  for (const LevelHull& hull : hulls) items.push_back(items_within(hull, knapsack, prices, loss_limit));

  // The least and the most weight that the levels from here on can add.
  std::vector<Wide> least(num_levels + 1, 0);
  std::vector<Wide> most(num_levels + 1, 0);
  for (std::size_t level = num_levels; level-- > 0;) {
    least[level] = least[level + 1] + items[level].front().weight;
    most[level] = most[level + 1] + items[level].back().weight;
  }

  std::vector<std::vector<Link>> links;
  std::vector<State> states = {{0, 0, 0, 0.0, 0, 0, 0}};
  for (std::size_t level = 0; level < num_levels; ++level) {
    const std::vector<std::uint32_t> rank = tie_ranks(states);
    // The weights from which the constraint can be met, and met with little enough slack.
    const Wide heaviest = knapsack.capacity - least[level + 1];
    const Wide reachable = knapsack.capacity - most[level + 1];
    std::vector<State> next;
    std::size_t compact_at = std::max<std::size_t>(std::size_t{1} << 16, 4 * states.size());
    for (std::uint32_t parent = 0; parent < states.size(); ++parent) {
      const State& state = states[parent];
      for (const Item& item : items[level]) {
        const Wide weight = state.weight + item.weight;
        if (weight > heaviest) break;  // items are in order of weight
        const double loss = state.loss + item.loss;
        if (loss > loss_limit) continue;
        if (weight < reachable && loss + prices.mu * static_cast<double>(reachable - weight) > loss_limit) continue;
        next.push_back(
            {weight, state.profit + item.profit, state.rows + item.rows, loss, parent, rank[parent], item.taken});
      }
      if (next.size() > compact_at) {
        remove_dominated(next);
        if (next.size() > options.max_states) return {SearchStatus::kLimit, {}};
        compact_at = std::max(compact_at, 4 * next.size());
      }
    }
    remove_dominated(next);
    if (next.size() > options.max_states) return {SearchStatus::kLimit, {}};
    if (next.empty()) return {SearchStatus::kNone, {}};
    std::vector<Link>& level_links = links.emplace_back();
    level_links.reserve(next.size());
    for (const State& state : next) level_links.push_back({state.parent, state.taken});
    states = std::move(next);
  }

  // States run to more weight and better; all of them fit, so the last is the best.
  SearchResult result{SearchStatus::kFound, std::vector<std::int32_t>(num_levels)};
  auto state = static_cast<std::uint32_t>(states.size() - 1);
  for (std::size_t level = num_levels; level-- > 0;) {
    const Link& link = links[level][state];
    result.taken[level] = link.taken;
    state = link.parent;
  }
  return result;
}

KnapsackSolution solve_knapsack(const std::vector<LevelHull>& hulls, const Chain& chain, const Knapsack& knapsack,
                                const ExactOptions& options) {
  const Relaxation relaxation = relax(chain, knapsack);
  std::vector<std::int32_t> greedy = taken_after(chain, relaxation.vertex, hulls.size());
  if (relaxation.integral) return {std::move(greedy), true};
  const Prices prices = prices_of(chain, knapsack, relaxation);
  return detail::search_from_bound(prices.gap, std::move(greedy),
                                   [&](double limit) { return search(hulls, knapsack, prices, limit, options); });
}

/// Most precision with enough recall: raise_precision.
KnapsackSolution solve_recall(const Problem& problem, const std::vector<LevelHull>& hulls,
                              const ExactOptions& options) {
  const Chain& chain = problem.hull_chain();
  const auto knapsack_above = [&](const Counts& reference) {
    return make_recall_knapsack(problem.objective(), problem.totals(), reference);
  };
  // Start from the first stop of the chain with enough positives.
  std::size_t steps = 0;
  while (steps < chain.size() && !problem.is_feasible(counts_after(chain, steps))) ++steps;
  std::vector<std::int32_t> taken = taken_after(chain, steps, hulls.size());
  const Counts reference = counts_after(chain, steps);
  if (!problem.is_feasible(reference)) return {std::move(taken), true};
  const Knapsack needed = knapsack_above(reference);
  if (needed.weight(Counts{}) <= needed.capacity) {
    // No positives are asked for: the most precise single prefix, the shortest first, then the lowest level. It is the
    // first block of some level, and the chain begins with the blocks of that rate.
    std::vector<bool> seen(hulls.size(), false);
    std::size_t best = 0;
    Counts best_counts = chain[0].flagged;
    for (std::size_t step = 0; step == 0 || !chain[step - 1].group_end; ++step) {
      const auto level = static_cast<std::size_t>(chain[step].level);
      const Counts counts = chain[step].flagged - counts_after(chain, step);
      if (!seen[level] && counts.rows < best_counts.rows) {
        best = step;
        best_counts = counts;
      }
      seen[level] = true;
    }
    std::fill(taken.begin(), taken.end(), 0);
    taken[static_cast<std::size_t>(chain[best].level)] = chain[best].taken;
    return {std::move(taken), true};
  }
  return detail::raise_precision(problem, std::move(taken), [&](const Counts& above) {
    return solve_knapsack(hulls, chain, knapsack_above(above), options);
  });
}

}  // namespace

detail::KnapsackSolution detail::solve_knapsack(const Problem& problem, const Knapsack& knapsack,
                                                const ExactOptions& options) {
  return limen::solve_knapsack(level_hulls(problem), problem.hull_chain(), knapsack, options);
}

Solution solve_exact(const Problem& problem, const ExactOptions& options) {
  KnapsackSolution found;
  if (problem.objective().goal == Goal::kFBeta) {
    // F-beta is constant along lines through one point of the (rows, positives) plane: a vertex of the hull is best,
    // and no vertex that splits a group of equal rates is better than both ends of the group.
    const auto steps = best_prefix(problem.hull_chain(), problem.objective(), problem.totals());
    found = {taken_after(problem.hull_chain(), *steps, problem.num_levels()), true};
  } else if (const auto& knapsack = problem.knapsack()) {
    found = solve_knapsack(level_hulls(problem), problem.hull_chain(), *knapsack, options);
  } else {
    found = solve_recall(problem, level_hulls(problem), options);
  }
  const Counts flagged = flagged_counts(problem.grid(), found.taken);
  if (!problem.is_feasible(flagged)) return detail::infeasible_solution(problem);
  const double bound = found.proved ? problem.value(flagged) : problem.relaxation_bound();
  return detail::with_certificate(problem, std::move(found.taken), bound);
}

}  // namespace limen
