// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/samples.h"
#include "limen/solve/boundary.h"
#include "limen/solve/method.h"
#include "limen/solve/objective.h"

namespace limen {

struct SweepOptions {
  /// Numbers of uncertainty levels, each 1 to 1000. Empty: 1, 2, 3, 5, 8, 13 and 21, for `st` 1.
  std::vector<int> levels = {};
  /// Numbers of score bins per level, each 1 to 2^30; unset ones: every distinct score. Empty: 20, 50, 100, 200, 500,
  /// 1000 and, for methods that need no bins, every distinct score.
  std::vector<std::optional<std::int64_t>> bins = {};
  LevelsFrom levels_from = LevelsFrom::kTop;
  Binning binning = Binning::kEquiWeight;
  /// Any but `smooth`, which has no bins, `joint` and `auto`, which find their levels. `st` has one level.
  Method method = Method::kExact;
  std::uint64_t seed = 0;
  int folds = 5;        ///< 2 to 20
  int repetitions = 3;  ///< 1 to 1000: of the cross-validation, each with other folds
  /// Threads used, 0 = all cores. The result does not depend on it.
  int num_threads = 0;
};

/// Throws InvalidInput that names field, value and range.
void validate(const SweepOptions& options);

/// One number of levels with one number of bins, judged on rows that it was not fitted on.
struct SweepCell {
  int levels = 1;                                   ///< as asked for
  int levels_used = 1;                              ///< fewer when uncertainty has too few distinct values
  std::optional<std::int64_t> bins = std::nullopt;  ///< unset: every distinct score
  /// Matched: what the objective optimises (recall, precision, cost or F-beta) where its constraint is just met on the
  /// rows left out, along the nested family that the method learns on the others. Unset: nowhere met.
  std::optional<double> value = std::nullopt;
  /// Over one threshold, relative: positive is better, for costs too. Unset where either has no value.
  std::optional<double> gain = std::nullopt;
  double gain_se = 0;  ///< its standard error (delete-a-group jackknife)
  /// Deployed: a boundary fitted on all folds but one, applied to that one; sums over the folds, means over the
  /// repetitions. Sums of weights where rows have weights.
  double flagged = 0;
  double true_positives = 0;
  double precision = 0;     ///< 0 when nothing is flagged
  double recall = 0;        ///< of all positives
  int fits_missed = 0;      ///< met the bound where fitted, but not on the rows left out
  int fits_infeasible = 0;  ///< no boundary met the bound where it was to be fitted
};

struct Sweep {
  std::vector<int> levels;                        ///< that were tried, rising
  std::vector<std::optional<std::int64_t>> bins;  ///< that were tried, rising; every distinct score last
  std::vector<SweepCell> cells;                   ///< level by level, in each bin by bin
  SweepCell single;                               ///< one threshold over every distinct score: what gains are over
  int num_fits = 0;                               ///< of each cell: folds times repetitions
  double rows = 0;                                ///< or their weight
  double positives = 0;
  /// The cell with the best value; of equal ones the one with the fewest levels, then bins. Unset: no cell has a value.
  std::optional<std::size_t> best;
  /// The first cell, by levels and then by bins, whose value is behind the best one by no more than one standard error
  /// of the best one's lead over one threshold.
  std::optional<std::size_t> smallest;
  std::string why;  ///< one sentence

  [[nodiscard]] const SweepCell& at(std::size_t level, std::size_t bin) const {
    return cells[level * bins.size() + bin];
  }
};

/// How the quality of a boundary depends on the number of uncertainty levels and of score bins, by cross-validation on
/// one hold-out: too few lose, too many fit the noise.
///
/// Rows are counted once, by distinct score and by the edges of all numbers of levels together. The rows of every such
/// count are put into 20 parts by seeded random numbers, those with weights as whole rows of the mean weight among
/// equal scores; folds are made of parts. So all cells, and one threshold, see the same rows, and the answer depends on
/// the rows only, not on their order. Which part a row is in depends also on the list of levels.
///
/// Values of several folds are pooled: every fold flags the same share of its learning rows, as near as its bins allow,
/// and the share with the best objective on all rows left out counts. Stops within a step of the family count too, bin
/// by bin, so that all cells stop as finely as their bins allow. Not looked at: shares beyond those near the decision
/// (rows_near_decision), and steps of less than a 4000th of that.
///
/// Levels from the top, and bins of equal spans, are as in fit_boundary. Edges are made from all rows, thresholds from
/// those that are not left out. O(cells * folds * repetitions) fits, on all threads. Throws InvalidInput: bad samples
/// or options, no rows, fewer rows of a class than folds.
[[nodiscard]] Sweep sweep(const Samples& samples, const Objective& objective, const SweepOptions& options = {});

/// What a cell's value is: "recall", "precision", "cost" or "F-beta".
[[nodiscard]] std::string value_name(const Objective& objective);

/// "200 bins", "every score".
[[nodiscard]] std::string bins_text(const std::optional<std::int64_t>& bins);

}  // namespace limen
