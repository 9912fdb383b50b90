// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limen/count/samples.h"
#include "limen/promise/intervals.h"
#include "limen/solve/objective.h"

namespace limen {

/// How many labelled rows a promise needs. A promise about precision, recall or the false-positive rate is certified by
/// one exact binomial test at level 1 - confidence, on the rows that did not help to choose the boundary: among the
/// flagged rows (precision), the positives (recall) or the negatives (false-positive rate) so many must be right that a
/// boundary which only just breaks the bound would show as many with probability 1 - confidence at most.
struct PlanOptions {
  double confidence = 0.95;  ///< of the promise, between 0 and 1
  double power = 0.8;        ///< the chance of being certified that is asked for, between 0 and 1
  /// Of the labelled rows, what learns the boundary and does not test: 0 to below 1. One threshold needs none.
  double learning_share = 0;
  /// Threads used, 0 = all cores. The result does not depend on it.
  int num_threads = 0;
};

/// Throws InvalidInput that names field, value and range.
void validate(const PlanOptions& options);

/// The smallest number of trials from which on, for it and every larger one, the test of "at most `bound`" at `level`
/// rejects with at least this power when successes have the probability `expected`. (Power does not rise steadily with
/// trials: it falls a little until one more failure is allowed.) Exact up to 10^6 trials; beyond, power may dip below
/// the one asked for by 0.001 between there and the next teeth. Unset: expected <= bound, or more than 10^12 trials.
[[nodiscard]] std::optional<std::int64_t> trials_needed(double bound, double expected, double level, double power);

/// A test that is large enough.
struct PlannedTest {
  std::int64_t trials = 0;     ///< rows it counts: flagged rows, positives or negatives
  std::int64_t successes = 0;  ///< fewest of them that must be right: true positives, or true negatives
  /// Labelled rows in all, those that learn and those that the test does not count too: so many that `trials` are
  /// expected among those that test and, since their number is random, power is kept on average.
  std::int64_t rows = 0;
  /// The chance of a certificate with so many rows. Where more trials are planned than 5000 (300 by plan_rows) it is
  /// that of exactly `trials`, which the average differs from by the height of a tooth at most.
  double power = 0;
  /// The exact two-sided interval, of the same confidence, that such a test will give for the figure (precision, recall
  /// or false-positive rate) where it comes out as expected.
  Interval interval;
};

/// For assumed figures. `expected`: the precision, recall or false-positive rate that the boundary will have;
/// `trial_rate`: how many of all rows are trials (flagged, positive or negative), above 0 to 1. Unset: the expected
/// figure is not better than the bound (or by so little that more than 10^12 trials are needed): no number of rows will
/// do. Throws InvalidInput: bad options or rates, another goal.
[[nodiscard]] std::optional<PlannedTest> plan_test(const Objective& objective, double expected, double trial_rate,
                                                   const PlanOptions& options = {});

/// A single threshold, with its figures on the rows of the plan.
struct PlannedThreshold {
  double threshold = 0;  ///< flags scores from here on
  double flag_rate = 0;
  double precision = 0;
  double recall = 0;
  double false_positive_rate = 0;
  /// What the objective makes as large as possible: recall, or precision for a recall bound.
  double value = 0;
  std::optional<PlannedTest> test;  ///< what certifies it; unset for the uncertified one
};

/// What so many labelled rows can certify.
struct PlannedReach {
  std::int64_t rows = 0;
  std::optional<PlannedThreshold> threshold;  ///< the one with the largest value; unset: none
};

/// The rows needed to give up no more than this part of the uncertified value.
struct PlannedLoss {
  double loss = 0;
  std::optional<PlannedThreshold> threshold;  ///< the one that needs the fewest rows; unset: none
};

struct Plan {
  std::int64_t rows = 0;
  std::int64_t positives = 0;
  /// The threshold that just meets the bound on these rows, which is kept in deployment about half of the time. Unset:
  /// no threshold meets it.
  std::optional<PlannedThreshold> uncertified;
  /// The threshold that needs the fewest rows, however little it is worth. Unset: no number of rows certifies any.
  std::optional<PlannedThreshold> cheapest;
  double best_attainable = 0;       ///< of the figure that is bounded, among all thresholds
  std::vector<PlannedReach> reach;  ///< for as many rows as these, then for each of `more_rows` in addition
  std::vector<PlannedLoss> losses;  ///< as asked for
};

/// From labelled predictions: the thresholds on the score, as if the figures they have on these rows were the truth.
/// Those of thresholds to be certified are smoothed: the rate of positives never rises as the score falls (isotonic
/// regression). Not looked at: thresholds whose value differs by less than a thousandth of the uncertified one.
/// O(n log n) and a thousand tests. Throws InvalidInput: bad samples, no rows, one class, weights (the test counts
/// rows), a goal other than precision, recall and false-positive rate, negative `more_rows`, losses not between 0
/// and 1.
[[nodiscard]] Plan plan_rows(const Samples& samples, const Objective& objective,
                             std::span<const std::int64_t> more_rows, std::span<const double> losses,
                             const PlanOptions& options = {});

}  // namespace limen
