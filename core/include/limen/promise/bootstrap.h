// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limen/base/rational.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/promise/intervals.h"
#include "limen/solve/boundary.h"

namespace limen {

/// How much thresholds, frontiers and gains would move if other rows had been drawn: the bootstrap, on counts.
///
/// Rows are counted once, into cells of a level, a score bin and a class, the score bins common to all levels. A
/// resample draws as many positives and as many negatives as there are, with replacement: a multinomial draw over the
/// cells of each class. That is the bootstrap of rows, stratified by class, and costs as much as there are cells,
/// however many rows they hold. By class alone, because how many positives a hold-out has is often set by design
/// (undersampling) and recall must stay defined, while the shares of the levels come with the rows and have to vary.
struct BootstrapOptions {
  int replicates = 200;      ///< 2 to 1,000,000
  double confidence = 0.95;  ///< of the percentile intervals, between 0 and 1
  std::uint64_t seed = 0;
  /// A score bin holds one distinct score, or at most this part of the rows above it: 500 resolves a threshold to one
  /// 500th of what it flags, with about 500 ln(rows / 500) bins. 10 to 1,000,000.
  int resolution = 500;
  /// Threads used, 0 = all cores. The result does not depend on it.
  int num_threads = 0;
};

/// Throws InvalidInput that names field, value and range.
void validate(const BootstrapOptions& options);

/// Rows counted into levels and score bins that are common to all levels, as `resolution` says: a bin's threshold and
/// highest are those of all levels. Without weights. Throws InvalidInput.
[[nodiscard]] Grid count_common_bins(const Samples& samples, std::vector<double> edges, int resolution);

/// The bins of a grid with other counts, of which some may be empty.
struct Resample {
  Grid drawn;     ///< rows drawn with replacement, as many of each class as there are
  Grid left_out;  ///< the rows that were not drawn, about 37% of them
};

/// One resample of the rows behind the grid, a function of seed and replicate. How many rows of a cell of more than 64
/// are left out is drawn from the normal distribution of the right mean and variance.
[[nodiscard]] Resample resample(const Grid& grid, std::uint64_t seed, std::uint64_t replicate);

/// Where the threshold of a level lies; an unset end: no row of the level is flagged.
struct ThresholdInterval {
  std::optional<double> low;
  std::optional<double> high;
  double never = 0;  ///< the share of resamples in which no row of the level is flagged

  friend bool operator==(const ThresholdInterval&, const ThresholdInterval&) = default;
};

struct BootstrapFit {
  int replicates = 0;
  int infeasible = 0;  ///< resamples on which no boundary meets the objective: not in the intervals
  std::vector<ThresholdInterval> thresholds;  ///< one per level; empty when all are infeasible
  ThresholdInterval single;                   ///< of the best single threshold, where there is one
  std::optional<Interval> precision;
  std::optional<Interval> recall;
  std::optional<Interval> flag_rate;
  /// Of what the objective optimises over what the best single threshold reaches on the same resample, relative;
  /// positive is better, for costs too. Both are fitted on the resample and judged there: like the gain on the hold-out
  /// it speaks of, it is never below 0 for `exact`, and not what to expect of other rows.
  std::optional<Interval> gain;
  /// The same on the rows left out of each resample, matched: where the constraint is just met there, along the nested
  /// family that the method learned on the resample (chain_of) and along single thresholds. Unset for monotone
  /// thresholds, which have no such family, and where no resample has both.
  std::optional<Interval> gain_left_out;

  friend bool operator==(const BootstrapFit&, const BootstrapFit&) = default;
};

/// The boundary's method and levels refitted on resamples of its hold-out. Levels stay as they are; `joint` is solved
/// as `exact` on them. Throws InvalidInput: bad samples or options, weights, one class.
[[nodiscard]] BootstrapFit bootstrap_fit(const Samples& holdout, const Boundary& boundary,
                                         const BootstrapOptions& options = {});

/// Recall at a precision bound: 0 on resamples that no boundary meets it on.
struct FrontierBand {
  Rational bound;
  Interval single;               ///< the best single threshold
  Interval recall;               ///< the best boundary on the levels
  std::optional<Interval> gain;  ///< relative, over resamples with any single recall; unset: there are none

  friend bool operator==(const FrontierBand&, const FrontierBand&) = default;
};

/// The exact optimum at each precision bound on resamples, with these edges between levels. Throws as above.
[[nodiscard]] std::vector<FrontierBand> bootstrap_frontier(const Samples& samples, std::vector<double> edges,
                                                           std::span<const Rational> precision_bounds,
                                                           const BootstrapOptions& options = {});

}  // namespace limen
