// SPDX-License-Identifier: MIT
#include "limen/frontier.h"

#include <algorithm>

#include "detail/wide.h"
#include "limen/isotonic.h"

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

std::vector<Solution> exact_points(const Grid& grid, std::span<const Rational> precision_bounds) {
  std::vector<Solution> solutions;
  for (const Rational& bound : precision_bounds) solutions.push_back(solve_exact(grid, max_recall_at_precision(bound)));
  return solutions;
}

}  // namespace limen
