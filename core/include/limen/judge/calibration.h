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

/// Probabilities are kept so far away from 0 and 1 where -ln of them is taken: one surprise must not decide.
inline constexpr double kLeastProbability = 1e-6;

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

/// IST, MIST and shrunken MIST of the same rows, which are counted once.
struct LevelCalibrations {
  LevelCalibration ist;
  LevelCalibration mist;
  LevelCalibration shrunken;
  double shrinkage = 0;  ///< of the shrunken one, as choose_shrinkage finds it
  /// Mean -ln of the probability of the label, on rows left out: the cross-validation of choose_shrinkage.
  double ist_loss = 0;
  double mist_loss = 0;
  double shrunken_loss = 0;
};
/// The levels are those between the edges. Equal to fit_level_calibration with 1 level and with these. Throws
/// InvalidInput, also when no row has weight.
[[nodiscard]] LevelCalibrations fit_level_calibrations(const Samples& samples, std::vector<double> edges,
                                                       std::uint64_t seed = 0);

/// Probabilities of rows by calibrations that did not see them: each of `folds` parts of the rows by calibrations of
/// the others, their shrinkage chosen there too.
struct CrossFitted {
  std::vector<double> ist;
  std::vector<double> mist;
  std::vector<double> shrunken;
  std::vector<std::uint8_t> fold;  ///< of each row: a function of seed and row number
};
/// folds: 2 to 100, and no more than rows. Throws InvalidInput.
[[nodiscard]] CrossFitted cross_fit(const Samples& samples, const std::vector<double>& edges, int folds = 5,
                                    std::uint64_t seed = 0);

/// Throws InvalidInput unless edges and scores increase, probabilities are 0 to 1 and do not fall, and every level has
/// a step.
void validate(const LevelCalibration& calibration);

/// Calibrated probability of every row: the value of the last step at or below its score, the first step's value below
/// all of them. O(rows log steps), parallel. Throws InvalidInput.
[[nodiscard]] std::vector<double> calibrated_probability(const LevelCalibration& calibration, RealSpan score,
                                                         RealSpan uncertainty);

}  // namespace limen
