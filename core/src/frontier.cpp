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
  for (const Rational& bound : precision_bounds) solutions.push_back(solve_exact(grid, max_recall_at_precision(bound)));
  return solutions;
}

}  // namespace limen
