// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include "limen/count/batches.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/judge/metrics.h"
#include "limen/solve/boundary.h"
#include "limen/solve/review.h"

namespace limen {

/// A boundary with the rows that go to a person.
struct ReviewFit {
  std::optional<Boundary> boundary;  ///< with its review; unset when infeasible
  // Its decisions on the hold-out, per level and in all; without a review of more than the rate when infeasible.
  Evaluation flagged;
  Evaluation flagged_or_reviewed;
  /// Infeasible only: the most recall of flagged or reviewed rows at the rate, and the least rate that the recall
  /// needs.
  double best_recall = 0;
  std::optional<double> least_rate;
};

/// The reviewed rows of a Confusion alone, as if they were what is flagged: its precision is that of the review.
[[nodiscard]] Confusion reviewed_only(const Confusion& flagged, const Confusion& flagged_or_reviewed);

/// What share of the rows is flagged, with the exact interval.
struct FlagRate {
  double rate = 0;
  Interval interval;
};
[[nodiscard]] FlagRate flag_rate(const Confusion& counts, double confidence = 0.95);

/// Adds a review to a boundary that was fitted on the same rows: of those that it does not flag, the ones that `goal`
/// asks for, on the levels of the boundary and as many score bins as it was fitted with (every distinct score, unless
/// bins were asked for). Exact (solve_review), but for a smooth boundary: on its many narrow levels the exact review
/// found 60% positives on a hold-out of 5,000 rows and 44% on other rows, so its review follows a smooth model of the
/// rows that are not flagged and is the best along that.
///
/// What is flagged stays as it is, unless the goal is a cost; then both boundaries are found anew on the levels of the
/// given one, the pair of least cost (solve_review_cost); `auto` that chose a smooth boundary gets 4 of its levels.
///
/// Throws InvalidInput: bad samples, a boundary whose thresholds had to be monotone, a cost for a boundary that has
/// another objective or a method other than `st`, `exact`, `joint` or `auto`.
[[nodiscard]] ReviewFit fit_review(Boundary boundary, const Samples& samples, const ReviewGoal& goal,
                                   int num_threads = 0);

/// The same on rows counted elsewhere. The boundary must cut the grid between bins.
[[nodiscard]] ReviewFit fit_review(Boundary boundary, const Grid& grid, const ReviewGoal& goal);

/// The same on rows in batches, without weights, bit for bit: for a rate, with or without a recall that it must reach
/// (least_rate stays unset). A recall alone and a cost need the rows in memory and are refused. most_rows: as
/// FitOptions::most_rows_kept.
[[nodiscard]] ReviewFit fit_review(Boundary boundary, const SampleBatches& batches, const ReviewGoal& goal,
                                   std::size_t most_rows, int num_threads = 0);

}  // namespace limen
