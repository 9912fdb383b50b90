// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/base/rational.h"
#include "limen/count/grid.h"
#include "limen/solve/chain.h"
#include "limen/solve/objective.h"
#include "limen/solve/solve.h"

namespace limen {

/// Which rows that are not flagged a person looks at. One or both of the first two, or a cost.
struct ReviewGoal {
  /// At most this fraction of all rows is reviewed, in [0, 1]: as many positives as possible among them.
  std::optional<Rational> max_rate = std::nullopt;
  /// At least this fraction of all positives is flagged or reviewed, in [0, 1]: as few rows as possible. Together with
  /// max_rate: the most positives at that rate, which must be enough.
  std::optional<Rational> min_recall = std::nullopt;
  /// Of one review, in the currency of a cost objective: the least cost of false positives, false negatives and reviews
  /// together. Then flagging depends on it too.
  std::optional<Rational> cost = std::nullopt;
};

/// Throws InvalidInput: nothing given, a fraction outside [0, 1], a cost with one of the others or of more than 10
/// digits.
void validate(const ReviewGoal& goal);

/// The rows to review: a boundary of the rows that are not flagged.
struct ReviewSolution {
  /// kOptimal: proved, no other review of these levels and bins is better. kInfeasible: not enough positives at the
  /// rate.
  SolveStatus status = SolveStatus::kInfeasible;
  std::vector<std::int32_t> taken;  ///< bins reviewed per level, from the highest score; at the rate when infeasible
  Counts reviewed;
  /// kInfeasible only: the rows that the recall needs.
  std::optional<std::int64_t> fewest_rows;
};

/// How many units of all rows the rate allows: floor(rate * rows), in integers.
[[nodiscard]] std::int64_t review_capacity(const Rational& max_rate, const RowTotals& all);

/// The best review that goes with rows that are already flagged. rest: the other rows, counted into the levels of the
/// boundary (weights of positives rounded up). all: every row, flagged ones included, in units of rest. goal: a rate or
/// a recall or both, no cost.
///
/// Among the reviews with as many positives, the one of fewest rows; among those of as few rows as a recall needs, the
/// one of most positives; then as solve_exact. So a rate of 1 reviews down to the last positive of each level, not
/// every row. The multiple-choice knapsack of solve_exact, once for a rate, twice for a recall. Throws InvalidInput.
[[nodiscard]] ReviewSolution solve_review(const Grid& rest, const RowTotals& all, const ReviewGoal& goal,
                                          const ExactOptions& options = {});

/// The same among the boundaries of a chain alone (chain.h). Where there are many narrow levels, thresholds that are
/// free to differ follow the noise of each: a chain that a model of few numbers orders does not. At most kFeasible.
[[nodiscard]] ReviewSolution solve_review_on_chain(const Grid& rest, const RowTotals& all, const ReviewGoal& goal,
                                                   const Chain& chain);

/// Goal and grid as an objective of boundaries of `rest` alone: the flag rate that the rate comes to, else the recall.
[[nodiscard]] Objective rest_objective(const Counts& rest, const RowTotals& all, const ReviewGoal& goal);

/// Two nested boundaries, as bins taken per level.
struct FlagAndReview {
  std::vector<std::int32_t> flag;            ///< bins flagged
  std::vector<std::int32_t> flag_or_review;  ///< never fewer
  Counts flagged;
  Counts reviewed;
  double cost = 0;  ///< of all rows, in units
};

/// Least cost where a flagged negative costs objective.false_positive_cost, a reviewed row review_cost and a positive
/// that is neither flagged nor reviewed objective.false_negative_cost. Proved optimal, over both boundaries together:
/// levels do not share anything, and within a level the best begin of the review is found for every end in one walk.
/// Ties: fewer flagged, then fewer reviewed rows. O(bins), in integers. Throws InvalidInput unless the objective is a
/// cost, also when the three costs have no common denominator of at most 10 digits.
[[nodiscard]] FlagAndReview solve_review_cost(const Grid& grid, const Objective& objective,
                                              const Rational& review_cost);

}  // namespace limen
