// SPDX-License-Identifier: MIT
#include "limen/judge/calibration.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "limen/count/levels.h"
#include "limen/solve/isotonic.h"

namespace limen {

LevelCalibration fit_level_calibration(const Samples& samples, int levels, Binning binning) {
  validate(samples);
  const Grid grid =
      count_distinct(samples, uncertainty_edges(samples.uncertainty, levels, binning), weight_units(samples, {}));
  const Counts total = total_counts(grid);
  const auto rate = [](const Counts& counts) {
    return counts.rows > 0 ? static_cast<double>(counts.positives) / static_cast<double>(counts.rows) : 0;
  };
  LevelCalibration calibration;
  calibration.uncertainty_edges = grid.edges;
  for (const auto& bins : grid.levels) {
    LevelCalibration::Level level;
    for (const Block& block : concave_blocks(bins)) {
      level.score.push_back(bins[block.end - 1].threshold);
      level.probability.push_back(rate(block.counts));
    }
    if (level.score.empty()) {
      level.score.push_back(0);
      level.probability.push_back(rate(total));
    }
    std::reverse(level.score.begin(), level.score.end());
    std::reverse(level.probability.begin(), level.probability.end());
    calibration.levels.push_back(std::move(level));
  }
  return calibration;
}

std::vector<double> calibrated_probability(const LevelCalibration& calibration, RealSpan score, RealSpan uncertainty) {
  if (score.size() != uncertainty.size()) {
    throw InvalidInput("calibrated_probability", "score has " + std::to_string(score.size()) +
                                                     " rows, uncertainty has " + std::to_string(uncertainty.size()));
  }
  if (calibration.levels.size() != calibration.uncertainty_edges.size() + 1) {
    throw InvalidInput("calibrated_probability", "the edges do not fit the number of levels");
  }
  for (std::size_t level = 0; level < calibration.levels.size(); ++level) {
    const auto& steps = calibration.levels[level];
    if (steps.score.empty() || steps.score.size() != steps.probability.size()) {
      throw InvalidInput("calibrated_probability", "level " + std::to_string(level) + " has " +
                                                       std::to_string(steps.score.size()) + " scores and " +
                                                       std::to_string(steps.probability.size()) + " probabilities");
    }
  }
  const auto check = [](RealSpan column, const char* name, std::size_t row) {
    if (std::isfinite(column[row])) return;
    throw InvalidInput("calibrated_probability",
                       std::string(name) + "[" + std::to_string(row) + "] is " +
                           (std::isnan(column[row]) ? "NaN" : "infinite") + ", must be finite",
                       Cause::kMissingValue);
  };
  std::vector<double> probability(score.size());
  for (std::size_t row = 0; row < score.size(); ++row) {
    check(score, "score", row);
    check(uncertainty, "uncertainty", row);
    const auto& steps = calibration.levels[level_of(calibration.uncertainty_edges, uncertainty[row])];
    const auto above = std::upper_bound(steps.score.begin(), steps.score.end(), score[row]) - steps.score.begin();
    probability[row] = steps.probability[static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0))];
  }
  return probability;
}

}  // namespace limen
