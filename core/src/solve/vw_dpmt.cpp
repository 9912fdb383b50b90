// SPDX-License-Identifier: MIT
//
// VW-DPMT, the paper's dynamic programme for bins of any size. With p(i, j) positives and n(i, j) samples in the bin of
// level i = 1 .. K and column j = 1 .. L, columns counting the score upwards, as printed:
//   pi(i, j), nu(i, j) = sums of p(i, j') and of n(i, j') over j' = L-j+1 .. L     the j highest bins (prefix sums)
//   R(1, nu(1, j)) = pi(1, j),  every other R(1, m) = -infinity
//   R(i, m) = max over 0 <= j <= L of [ pi(i, j) + R(i-1, m - nu(i, j)) ]     most positives of a boundary over levels
//                                                                             1 .. i with exactly m samples flagged
//   m* = argmax of R(K, m) over 0 <= m <= KL with R(K, m) / m >= sigma        -- erratum: m runs over 0 .. N, the
//                                                                             samples, not over numbers of bins
//   b* = the boundary behind R(K, m*)
//
// Here the table is turned around and kept sparse: fewest(i, q) = fewest samples that hold exactly q positives over
// levels 1 .. i, the same recurrence with min for max. Positives have far fewer values than samples. Only states that
// no other dominates (as many positives in fewer samples) and that can still meet the objective are carried on.

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "limen/base/error.h"
#include "limen/solve/solve.h"
#include "solve/certificate.h"

namespace limen {
namespace {

using detail::Wide;

/// A partial boundary over the levels so far that no other one dominates: none has as many positives in fewer rows.
struct State {
  Counts counts;
  std::int32_t taken = 0;    ///< bins of the latest level
  std::uint32_t parent = 0;  ///< state of the level before
  std::uint32_t rank = 0;    ///< place in the tie-breaking order of all states of the level; lower is preferred
};

struct Item {
  Counts counts;
  std::int32_t taken = 0;
};

/// Prefixes worth taking: nothing, and those that end in a bin with positives.
std::vector<Item> useful_prefixes(std::span<const Bin> bins) {
  std::vector<Item> items = {Item{}};
  Counts prefix;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    prefix += bins[bin].counts;
    if (bins[bin].counts.positives > 0) items.push_back({prefix, static_cast<std::int32_t>(bin + 1)});
  }
  return items;
}

/// The constraint that a partial boundary must still be able to meet; all zero for goals without one.
Knapsack pruning_constraint(const Problem& problem) {
  if (problem.knapsack()) return *problem.knapsack();
  if (problem.objective().goal == Goal::kFBeta) return {};
  return make_recall_knapsack(problem.objective(), problem.totals(), {1, 1});
}

/// Places in the tie-breaking order: more rows at the lower level first. Parents are ranked already.
void assign_ranks(std::vector<State>& states, const std::vector<State>& parents) {
  std::vector<std::uint32_t> order(states.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint32_t rank_a = parents[states[a].parent].rank;
    const std::uint32_t rank_b = parents[states[b].parent].rank;
    return rank_a != rank_b ? rank_a < rank_b : states[a].taken > states[b].taken;
  });
  for (std::uint32_t place = 0; place < order.size(); ++place) states[order[place]].rank = place;
}

}  // namespace

Solution solve_vw_dpmt(const Problem& problem) {
  const Grid& grid = problem.grid();
  if (grid.unit != 1) throw InvalidInput("vw-dpmt: counts whole rows and takes no weights; use method exact");
  const std::int64_t num_positives = problem.totals().all.positives;
  const Knapsack constraint = pruning_constraint(problem);

  std::vector<std::vector<Item>> items;
  for (const auto& bins : grid.levels) items.push_back(useful_prefixes(bins));
  // least_weight[level]: the least that the levels from `level` on can add to the constraint's weight.
  std::vector<Wide> least_weight(grid.num_levels() + 1, 0);
  for (std::size_t level = grid.num_levels(); level-- > 0;) {
    Wide least = 0;
    for (const Item& item : items[level]) least = std::min(least, constraint.weight(item.counts));
    least_weight[level] = least_weight[level + 1] + least;
  }

  // fewest[q] = fewest(i, q); its non-dominated entries are the states.
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMaxPositives = std::int64_t{1} << 28;
  if (num_positives > kMaxPositives) {
    throw InvalidInput("vw-dpmt: " + std::to_string(num_positives) +
                       " positives are too many for its table; use method exact");
  }
  struct Cell {
    std::int64_t rows = kNone;
    std::uint32_t parent = 0;
    std::int32_t taken = 0;
  };
  std::vector<Cell> fewest;
  std::vector<std::vector<State>> states = {{State{}}};
  std::int64_t positives_so_far = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const std::vector<State>& before = states.back();
    constexpr double kMaxSteps = 1e13;
    if (static_cast<double>(before.size()) * static_cast<double>(items[level].size()) > kMaxSteps) {
      throw InvalidInput("vw-dpmt: level " + std::to_string(level) +
                         " would take more than 1e13 steps; use fewer bins, or method exact");
    }
    positives_so_far += items[level].back().counts.positives;
    fewest.assign(static_cast<std::size_t>(positives_so_far) + 1, Cell{});
    for (const Item& item : items[level]) {
      for (std::uint32_t parent = 0; parent < before.size(); ++parent) {
        const Counts counts = before[parent].counts + item.counts;
        Cell& cell = fewest[static_cast<std::size_t>(counts.positives)];
        if (counts.rows > cell.rows) continue;
        if (counts.rows == cell.rows) {
          const std::uint32_t rank = before[parent].rank;
          const std::uint32_t cell_rank = before[cell.parent].rank;
          if (rank > cell_rank || (rank == cell_rank && item.taken <= cell.taken)) continue;
        }
        cell = {counts.rows, parent, item.taken};
      }
    }
    // Dominance, from the most positives down.
    std::vector<State> next;
    std::int64_t fewest_above = kNone;  // over all higher positives
    for (std::size_t positives = fewest.size(); positives-- > 0;) {
      const Cell& cell = fewest[positives];
      if (cell.rows >= fewest_above) continue;
      fewest_above = cell.rows;
      const Counts counts{cell.rows, static_cast<std::int64_t>(positives)};
      if (constraint.weight(counts) + least_weight[level + 1] > constraint.capacity) continue;
      next.push_back({counts, cell.taken, cell.parent, 0});
    }
    assign_ranks(next, before);
    states.push_back(std::move(next));
  }

  const std::vector<State>& last = states.back();
  const State* best = nullptr;
  for (const State& state : last) {
    if (!problem.is_feasible(state.counts)) continue;
    if (best == nullptr || problem.is_better(state.counts, best->counts)) best = &state;
  }
  if (best == nullptr) return detail::infeasible_solution(problem);
  std::vector<std::int32_t> taken(grid.num_levels());
  const State* state = best;
  for (std::size_t level = grid.num_levels(); level-- > 0;) {
    taken[level] = state->taken;
    state = &states[level][state->parent];
  }
  // The programme is exhaustive: what it finds is its own bound.
  return detail::with_certificate(problem, std::move(taken), problem.value(best->counts));
}

}  // namespace limen
