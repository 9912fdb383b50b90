// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/samples.h"

namespace limen {

/// Level-wise isotonic calibration: one monotone step function from score to probability per uncertainty level (MIST's
/// calibrated probabilities). With no edges it is plain isotonic regression on the score (IST).
struct LevelCalibration {
  struct Level {
    std::vector<double> score;        ///< increasing: the lowest score of each step
    std::vector<double> probability;  ///< non-decreasing; same length
  };
  std::vector<double> uncertainty_edges;  ///< K - 1, increasing
  std::vector<Level> levels;              ///< K; a level that saw no rows takes the overall rate, or IST when shrunk
};

/// Fits on labelled rows. levels: 1 gives IST. Throws InvalidInput.
///
/// shrinkage: every step of a level counts as if so many more rows were in it, with the probabilities that the score
/// alone (IST) gives to its rows. 0: each level by itself; the larger, the nearer to IST, steps of few rows first.
[[nodiscard]] LevelCalibration fit_level_calibration(const Samples& samples, int levels,
                                                     Binning binning = Binning::kEquiWeight, double shrinkage = 0);

/// The shrinkage, from 0 to 10,000 rows, that leaves rows left out with the least log loss, in cross-validation of five
/// folds on counts (a seeded split: the same for any order of rows). Throws InvalidInput.
[[nodiscard]] double choose_shrinkage(const Samples& samples, int levels, Binning binning = Binning::kEquiWeight,
                                      std::uint64_t seed = 0);

/// Calibrated probability of every row: the value of the last step at or below its score, the first step's value below
/// all of them. Throws InvalidInput.
[[nodiscard]] std::vector<double> calibrated_probability(const LevelCalibration& calibration, RealSpan score,
                                                         RealSpan uncertainty);

}  // namespace limen
