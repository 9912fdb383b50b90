// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "limen/solve/review.h"
#include "reference/brute_force.h"
#include "support/boundaries.h"

namespace limen::test {

/// The best review of the rows that are not flagged, by trying every one, from the definition and nothing else.
struct BruteForceReview {
  std::optional<Counts> best;            ///< unset: none meets the goal
  std::int64_t fewest_rows = INT64_MAX;  ///< that the recall needs
};

inline BruteForceReview brute_force_review(const Grid& rest, const RowTotals& all, const ReviewGoal& goal) {
  const Int all_rows = Int{all.positives_low} + all.negatives_low;
  const std::int64_t rest_positives = total_counts(rest).positives;
  BruteForceReview result;
  for_each_boundary(rest, [&](const std::vector<std::int32_t>& taken) {
    const Counts counts = flagged_counts(rest, taken);
    const Int missed = rest_positives - counts.positives;
    const bool enough = !goal.min_recall || missed * goal.min_recall->den <=
                                                Int{goal.min_recall->den - goal.min_recall->num} * all.positives_low;
    if (enough) result.fewest_rows = std::min(result.fewest_rows, counts.rows);
    if (!enough || (goal.max_rate && counts.rows * Int{goal.max_rate->den} > goal.max_rate->num * all_rows)) return;
    // At a rate the most positives, then the fewest rows; for a recall alone the other way round.
    const auto order = [&](const Counts& a) {
      return goal.max_rate ? std::pair(-a.positives, a.rows) : std::pair(a.rows, -a.positives);
    };
    if (!result.best || order(counts) < order(*result.best)) result.best = counts;
  });
  return result;
}

/// Least (cost, flagged rows, reviewed rows) over all pairs of nested boundaries; costs are whole numbers.
inline std::tuple<Int, std::int64_t, std::int64_t> brute_force_cost(const Grid& grid, std::int64_t false_positive,
                                                                    std::int64_t false_negative, std::int64_t review) {
  const Counts total = total_counts(grid);
  std::optional<std::tuple<Int, std::int64_t, std::int64_t>> best;
  for_each_boundary(grid, [&](const std::vector<std::int32_t>& outer) {
    for_each_boundary(grid, [&](const std::vector<std::int32_t>& inner) {
      for (std::size_t level = 0; level < outer.size(); ++level) {
        if (inner[level] > outer[level]) return;
      }
      const Counts flagged = flagged_counts(grid, inner);
      const Counts both = flagged_counts(grid, outer);
      const std::tuple<Int, std::int64_t, std::int64_t> found{
          Int{false_positive} * (flagged.rows - flagged.positives) + Int{review} * (both.rows - flagged.rows) +
              Int{false_negative} * (total.positives - both.positives),
          flagged.rows, both.rows - flagged.rows};
      if (!best || found < *best) best = found;
    });
  });
  return *best;
}

}  // namespace limen::test
