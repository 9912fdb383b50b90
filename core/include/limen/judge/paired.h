// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limen/count/grid.h"
#include "limen/promise/intervals.h"

namespace limen {

/// Rows by what two boundaries say of them: all rows of each kind, and the positives among them.
struct PairedCounts {
  Counts both;         ///< flagged by both
  Counts first_only;   ///< flagged by the first alone
  Counts second_only;  ///< flagged by the second alone
  Counts neither;

  friend bool operator==(const PairedCounts&, const PairedCounts&) = default;
};

/// Counts two decisions, 0 or 1 per row, against the same labels. O(n). Throws InvalidInput on unequal lengths.
[[nodiscard]] PairedCounts count_pairs(std::span<const std::uint8_t> first, std::span<const std::uint8_t> second,
                                       std::span<const std::uint8_t> label);

/// A figure of the first boundary, of the second, and whether they differ.
struct PairedDifference {
  double first = 0;
  double second = 0;
  double difference = 0;  ///< first - second
  Interval interval;      ///< of the difference, inside [-1, 1]
  double p_value = 1;     ///< two-sided, of "they are the same in deployment"

  friend bool operator==(const PairedDifference&, const PairedDifference&) = default;
};

struct PairedComparison {
  PairedCounts counts;
  std::optional<PairedDifference> recall;               ///< unset without positives
  std::optional<PairedDifference> false_positive_rate;  ///< unset without negatives
  std::optional<PairedDifference> precision;            ///< unset where either flags nothing
  double confidence = 0.95;

  friend bool operator==(const PairedComparison&, const PairedComparison&) = default;
};

/// Two boundaries on the same rows, which must not be those that either was fitted on.
///
/// Recall, on positives, and the false-positive rate, on negatives: McNemar's exact test; of the rows that only one of
/// the two flags each side has half if both are the same. Intervals of the differences: Agresti and Min (2005), Wald
/// with half a row added to each of the four cells.
///
/// Precision: rows flagged by both belong to both, so that the two are not independent; the weighted generalised score
/// statistic (Kosinski 2013) compared with the normal distribution, for which a few dozen rows flagged by one alone
/// are needed. Interval: Wald, with the variance of the same paired rows. Equal rules give p = 1 and [0, 0].
///
/// Throws InvalidInput: negative counts, more positives than rows, confidence not between 0 and 1.
[[nodiscard]] PairedComparison compare_pairs(const PairedCounts& counts, double confidence = 0.95);

/// One sentence: which is better in what, at level 1 - confidence, or that they cannot be told apart on these rows.
[[nodiscard]] std::string verdict(const PairedComparison& comparison, std::string_view first, std::string_view second);

}  // namespace limen
