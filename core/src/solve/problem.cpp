// SPDX-License-Identifier: MIT
#include "limen/solve/problem.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace limen {

Problem::Problem(const Grid& grid, const Objective& objective) : grid_(grid), objective_(objective) {
  validate(grid);
  validate(objective);
  totals_ = totals_of(grid);
  knapsack_ = make_knapsack(objective, totals_);
}

const Problem::Hull& Problem::hull() const {
  std::call_once(hull_made_, [&] {
    hull_.blocks.resize(num_levels());
    const auto make = [&](std::size_t level) { hull_.blocks[level] = concave_blocks(grid_.levels[level]); };
    // Starting threads costs as much as some ten thousand bins.
    std::size_t num_bins = 0;
    for (const auto& bins : grid_.levels) num_bins += bins.size();
    if (num_bins > (std::size_t{1} << 14)) {
      // Isolated: a thread that waits here must not pick up work that asks for this very hull.
      tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, num_levels(), make); });
    } else {
      for (std::size_t level = 0; level < num_levels(); ++level) make(level);
    }
    hull_.chain = limen::hull_chain(hull_.blocks);
  });
  return hull_;
}

double Problem::relaxation_bound() const { return limen::relaxation_bound(hull_chain(), objective_, totals_); }

}  // namespace limen
