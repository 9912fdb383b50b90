// SPDX-License-Identifier: MIT
// How far probabilities are from what happens, by level and score bin, and what calibration does to the order of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/base/real_span.h"
#include "limen/count/samples.h"
#include "limen/judge/positivity_map.h"
#include "limen/promise/bootstrap.h"
#include "limen/promise/intervals.h"

namespace limen {

/// Probabilities to judge, one for each row: a score, or what a calibrator makes of it.
struct ProbabilityColumn {
  std::string name;
  RealSpan probability;  ///< finite. With a value outside 0 to 1 only its order is judged.
  /// Inside a level (and stratum) the order is that of the score, ties aside. Otherwise resamples need cells of the
  /// column's own; the first such column has them, the order of others is given without an interval.
  bool follows_score = true;
  /// Empty, or numbers by which rows of equal probability are ordered, the score in most cases: then also the areas of
  /// that order are found. A step of isotonic regression makes many scores equal, which costs average precision.
  RealSpan tie_breaker = {};
};

/// A number and, where rows were resampled, where it lies for other draws of the rows.
struct Figure {
  double value = 0;
  std::optional<Interval> band = std::nullopt;
};

struct CalibrationErrorOptions {
  int bins = 10;  ///< L score bins inside each level, 1 to 1000
  Binning binning = Binning::kEquiWeight;
  /// Unset: no bands. Rows must have no weights.
  std::optional<BootstrapOptions> bootstrap = BootstrapOptions{.resolution = 200};
  /// The columns that curves and order are compared with.
  std::optional<std::size_t> curve_baseline = std::nullopt;
  std::optional<std::size_t> order_baseline = std::nullopt;
  double confidence = 0.95;  ///< of the intervals of shares
  /// Threads used, 0 = all cores; that of `bootstrap` is not looked at. The result does not depend on it.
  int num_threads = 0;
};

/// What is found of one column. Unset: the column is no probability, or there are no rows to tell by.
struct ColumnErrors {
  std::string name;
  bool is_probability = true;
  std::optional<Figure> ece;           ///< sum over score bins of all levels together of share of rows times |gap|
  std::optional<Figure> ece_by_level;  ///< the same over bins of score and level
  std::optional<Figure> brier;         ///< mean of (probability - label)^2
  std::optional<Figure> log_loss;      ///< mean of -ln, probabilities kept kLeastProbability away from 0 and 1
  /// [j - 1]: ECE@j, the mean over levels of |sum (probability - label)| / rows of bin j; levels whose bin is empty are
  /// left out.
  std::vector<std::optional<Figure>> ece_at;
  /// [j]: cumulative ECE@j, the mean of the same over all bins that have rows and a number above j, of all levels.
  std::vector<std::optional<Figure>> cumulative;
  /// Less that of the curve baseline, paired; empty for the baseline itself and where there is none.
  std::vector<std::optional<Figure>> cumulative_difference;
  std::vector<std::optional<double>> mean_probability;  ///< of each cell of `reliability`; empty for no probability
  std::optional<Figure> roc_auc;                        ///< unset where there is one class
  std::optional<Figure> average_precision;
  std::optional<Figure> roc_auc_difference;  ///< less that of the order baseline, paired
  std::optional<Figure> average_precision_difference;
  /// The same of the order in which equal probabilities are told apart; unset without a tie breaker.
  std::optional<Figure> roc_auc_untied;
  std::optional<Figure> average_precision_untied;
  std::optional<Figure> roc_auc_untied_difference;
  std::optional<Figure> average_precision_untied_difference;
};

struct CalibrationErrors {
  double rows = 0;  ///< or their weight
  double positives = 0;
  bool weighted = false;
  PositivityMap bins;         ///< the K x L bins of ECE@j
  PositivityMap reliability;  ///< L bins by score alone
  /// [j - 1] and [j]: what ECE@j and cumulative ECE@j of the true probabilities would be, on average, by chance alone:
  /// the mean of |X / n - p| of a binomial X of n trials, p being the rate seen in the bin, with half a positive and
  /// half a negative added.
  std::vector<std::optional<double>> ece_by_chance;
  std::vector<std::optional<double>> cumulative_by_chance;
  std::vector<ColumnErrors> columns;
};

/// Judges columns on the same labelled rows. Levels are by `edges`, score bins those of positivity_map on these rows.
///
/// stratum: empty, or one number below 256 for each row: rows whose probabilities come from different fits, as in
/// cross-validation; areas are those inside strata, averaged by rows.
///
/// Bands: rows are counted into cells of level, score and class, fine ones as BootstrapOptions::resolution says, and
/// drawn again (promise/bootstrap.h); a resampled row has the mean probability of its cell and class, and cells are
/// ordered by their lowest probability. A band is the middle of the resampled values, moved by as much as their mean is
/// off the value itself: an absolute error grows by resampling, which adds the noise of a draw a second time. Bands of
/// errors and losses do not go below 0. Exact but for the rounding of double elsewhere.
/// O(columns rows log rows), parallel; the same for any thread count. Throws InvalidInput.
[[nodiscard]] CalibrationErrors calibration_errors(const Samples& samples, std::vector<double> edges,
                                                   std::span<const ProbabilityColumn> columns,
                                                   std::span<const std::uint8_t> stratum = {},
                                                   const CalibrationErrorOptions& options = {});

/// The mean of -ln of the probability that a column gives to the labels of the rows, by weight; see
/// ColumnErrors::log_loss. Unset where it is no probability, or no row has weight. O(rows); the same for any thread
/// count. Throws InvalidInput.
[[nodiscard]] std::optional<double> mean_log_loss(const Samples& samples, RealSpan probability);

}  // namespace limen
