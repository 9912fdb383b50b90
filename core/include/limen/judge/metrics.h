// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limen/base/frame.h"
#include "limen/count/samples.h"
#include "limen/promise/intervals.h"
#include "limen/solve/boundary.h"

namespace limen {

/// A rule's decisions counted against labels. Sums of weights where rows have weights, else whole numbers.
struct Confusion {
  double rows = 0;
  double positives = 0;
  double flagged = 0;
  double true_positives = 0;
  /// Kish's effective number divided by the plain sum, 1 without weights: scales the trials of intervals.
  double effective_fraction = 1;

  [[nodiscard]] double precision() const { return flagged > 0 ? true_positives / flagged : 0; }
  [[nodiscard]] double recall() const { return positives > 0 ? true_positives / positives : 0; }
  [[nodiscard]] Interval precision_interval(double confidence = 0.95) const;
  [[nodiscard]] Interval recall_interval(double confidence = 0.95) const;
};

/// From rows without weights: all of them, and those that are flagged.
[[nodiscard]] Confusion confusion_of_counts(const Counts& all, const Counts& flagged);

struct Evaluation {
  Confusion total;
  std::vector<Confusion> levels;  ///< one per level of the rule
};

/// Applies the rule to labelled rows and counts. On the rows a boundary was fitted on this gives exactly the figures in
/// its file. O(n), parallel, the same for any thread count. Throws InvalidInput.
[[nodiscard]] Evaluation evaluate(const Rule& rule, const Samples& samples);

struct SegmentEvaluation {
  Evaluation cells;                 ///< in all, and by cell (segments.h)
  std::vector<Confusion> segments;  ///< those that stand alone, then the pool where there is one
  std::size_t unseen = 0;           ///< rows of values that the hold-out did not have
};

/// The same for a boundary with segments. samples.uncertainty may be empty where no segment has levels.
[[nodiscard]] SegmentEvaluation evaluate(const Segments& segments, Samples samples, const TextValues& segment);

/// The area under the precision-recall curve as a sum over its steps: the mean over positives of the precision at their
/// score, equal scores being one step (as scikit-learn's average_precision_score). O(n log n). Throws InvalidInput when
/// lengths differ, a score is NaN, or there is no positive.
[[nodiscard]] double average_precision(std::span<const double> score, std::span<const std::uint8_t> label);

/// The mean of -ln of the probability that a score gives to the label, probabilities being kept 1e-12 away from 0
/// and 1. O(n). Throws InvalidInput when lengths differ, there are no rows, or a score is not between 0 and 1.
[[nodiscard]] double log_loss(std::span<const double> score, std::span<const std::uint8_t> label);

/// The chance that a positive has a higher score than a negative, ties counting half. O(n log n). Throws InvalidInput,
/// also when there is only one class.
[[nodiscard]] double roc_auc(std::span<const double> score, std::span<const std::uint8_t> label);

}  // namespace limen
