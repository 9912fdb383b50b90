// SPDX-License-Identifier: MIT
#include "limen/judge/frontier.h"

#include <tbb/task_arena.h>

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/wide.h"
#include "limen/solve/isotonic.h"

namespace limen {

std::vector<FrontierPoint> pareto_frontier(const Chain& chain, const Counts& total) {
  // Recall never falls along the chain: a stop is beaten iff a later one is at least as precise, or an earlier one has
  // as many positives.
  std::vector<FrontierPoint> frontier;
  for (std::size_t step = chain.size(); step-- > 0;) {
    const Counts& flagged = chain[step].flagged;
    if (!chain[step].group_end || flagged.positives == 0) continue;
    if (!frontier.empty()) {
      if (!higher_rate(flagged, frontier.back().flagged)) continue;
      if (flagged.positives == frontier.back().flagged.positives) frontier.pop_back();
    }
    frontier.push_back(
        {flagged, static_cast<double>(flagged.positives) / static_cast<double>(flagged.rows),
         total.positives > 0 ? static_cast<double>(flagged.positives) / static_cast<double>(total.positives) : 0});
  }
  std::reverse(frontier.begin(), frontier.end());
  return frontier;
}

double recall_at_precision(std::span<const FrontierPoint> frontier, Rational bound) {
  double recall = 0;
  for (const FrontierPoint& point : frontier) {
    if (detail::Wide{bound.num} * point.flagged.rows <= detail::Wide{bound.den} * point.flagged.positives) {
      recall = std::max(recall, point.recall);
    }
  }
  return recall;
}

double matched_recall(const Chain& chain, std::int64_t positives, Rational bound) {
  using detail::Wide;
  const auto surplus = [&](const Counts& flagged) {
    return Wide{bound.den} * flagged.positives - Wide{bound.num} * flagged.rows;
  };
  double best = 0;
  Counts before;
  for (const ChainStep& step : chain) {
    if (!step.group_end) continue;
    const Wide from = surplus(before);
    const Wide to = surplus(step.flagged);
    if (to >= 0) {
      best = std::max(best, static_cast<double>(step.flagged.positives));
    } else if (from > 0) {
      const double fraction = static_cast<double>(from) / static_cast<double>(from - to);
      best = std::max(best, static_cast<double>(before.positives) +
                                fraction * static_cast<double>(step.flagged.positives - before.positives));
    }
    before = step.flagged;
  }
  return positives > 0 ? best / static_cast<double>(positives) : 0;
}

std::vector<Solution> exact_points(const Grid& grid, std::span<const Rational> precision_bounds) {
  std::vector<Solution> solutions;
  for (const Rational& bound : precision_bounds)
    solutions.push_back(solve_exact({grid, max_recall_at_precision(bound)}));
  return solutions;
}

Frontiers trace_frontiers(const Samples& samples, std::span<const Rational> precision_bounds, FitOptions options) {
  validate(options);
  for (const Rational& bound : precision_bounds) validate(max_recall_at_precision(bound));
  if (samples.size() == 0) throw InvalidInput("frontier", "there are no rows");
  options.method = Method::kExact;
  if (!options.bins) options.bins = BinCount::all();
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] {
    validate(samples);
    // Weights are rounded to the safe side of a precision bound, whichever it is.
    const Objective any_precision = max_recall_at_precision({1, 2});
    const Grid grid = make_holdout_grid(samples, any_precision, options);
    const Grid st_grid = make_holdout_grid(samples, any_precision, {.method = Method::kSt});
    const Counts total = total_counts(grid);
    if (total.positives == 0 || total.positives == total.rows) {
      throw InvalidInput("frontier", "only one class; both are needed");
    }
    Frontiers result{pareto_frontier(hull_chain(grid), total),
                     pareto_frontier(score_chain(st_grid), total),
                     {},
                     grid.unit,
                     grid.num_levels()};
    for (const Solution& solution : exact_points(grid, precision_bounds)) {
      const auto rows = static_cast<double>(solution.flagged.rows);
      const auto positives = static_cast<double>(solution.flagged.positives);
      if (solution.status == SolveStatus::kInfeasible) {
        result.exact.emplace_back();
      } else {
        result.exact.emplace_back(FrontierPoint{solution.flagged, rows > 0 ? positives / rows : 0,
                                                positives / static_cast<double>(total.positives)});
      }
    }
    return result;
  });
}

}  // namespace limen
