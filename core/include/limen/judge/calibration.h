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
  std::vector<Level> levels;              ///< K; a level that saw no rows takes the overall rate
};

/// Fits on labelled rows. levels: 1 gives IST. Throws InvalidInput.
[[nodiscard]] LevelCalibration fit_level_calibration(const Samples& samples, int levels,
                                                     Binning binning = Binning::kEquiWeight);

/// Calibrated probability of every row: the value of the last step at or below its score, the first step's value below
/// all of them. Throws InvalidInput.
[[nodiscard]] std::vector<double> calibrated_probability(const LevelCalibration& calibration, RealSpan score,
                                                         RealSpan uncertainty);

}  // namespace limen
