// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/isotonic.h"
#include "limen/solve/problem.h"
#include "limen/solve/relaxation.h"
#include "limen/solve/solve.h"

namespace limen::detail {

enum class SearchStatus { kFound, kNone, kLimit };

/// What a search for the best boundary within some distance of the relaxation's bound brings.
struct SearchResult {
  SearchStatus status = SearchStatus::kNone;
  std::vector<std::int32_t> taken;
};

struct KnapsackSolution {
  std::vector<std::int32_t> taken;
  bool proved = true;
  double distance = 0;  ///< not proved: no boundary is closer than this to the relaxation's bound
};

/// The boundary of most profit within the capacity, of the problem's grid but whatever its objective, by the method of
/// exact.cpp. Some boundary must fit. profit.positives >= 0 >= profit.rows, not both 0, or the fewest rows: profit
/// {-1, 0} and a weight of positives alone.
[[nodiscard]] KnapsackSolution solve_knapsack(const Problem& problem, const Knapsack& knapsack,
                                              const ExactOptions& options = {});

/// The best boundary by search(limit), which looks only within `limit` of the relaxation's bound: with growing limits,
/// up to the gap of the greedy boundary. That one comes back when a search gives up.
template <typename Search>
KnapsackSolution search_from_bound(double gap, std::vector<std::int32_t> greedy, Search search) {
  double distance = 0;
  // Start far below the greedy boundary's gap: the optimum is usually that close to the bound, and a search that finds
  // nothing costs little.
  for (double limit = gap / 4096;; limit = std::min(2 * limit, gap)) {
    SearchResult result = search(limit);
    if (result.status == SearchStatus::kFound) return {std::move(result.taken), true};
    if (result.status == SearchStatus::kLimit || limit >= gap) return {std::move(greedy), false, distance};
    distance = limit;
  }
}

/// Most precision with enough recall, by Dinkelbach's method: for the precision of the best boundary so far, find the
/// one that exceeds it most; when none does, the tie-breaking choice among the equals is the answer.
/// solve_above(counts): the boundary that exceeds the precision of these counts most. taken: a boundary to begin with,
/// feasible.
template <typename SolveAbove>
KnapsackSolution raise_precision(const Problem& problem, std::vector<std::int32_t> taken, SolveAbove solve_above) {
  for (Counts reference = flagged_counts(problem.grid(), taken);;) {
    KnapsackSolution solution = solve_above(reference);
    const Counts flagged = flagged_counts(problem.grid(), solution.taken);
    if (!solution.proved && !problem.is_better(flagged, reference)) return {std::move(taken), false};
    if (!solution.proved || !higher_rate(flagged, reference)) return solution;
    taken = std::move(solution.taken);
    reference = flagged;
  }
}

}  // namespace limen::detail
