// SPDX-License-Identifier: MIT
#include "limen/judge/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string>

#include "choose/parts.h"
#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/count/levels.h"
#include "limen/solve/isotonic.h"

namespace limen {

namespace {

using Level = LevelCalibration::Level;

double rate(const Counts& counts) {
  return counts.rows > 0 ? static_cast<double>(counts.positives) / static_cast<double>(counts.rows) : 0;
}

/// From the highest score down, as bins are; `turned` gives the order of the calibration.
Level isotonic_steps(std::span<const Bin> bins) {
  Level level;
  for (const Block& block : concave_blocks(bins)) {
    level.score.push_back(bins[block.end - 1].threshold);
    level.probability.push_back(rate(block.counts));
  }
  return level;
}

Level turned(Level level) {
  std::reverse(level.score.begin(), level.score.end());
  std::reverse(level.probability.begin(), level.probability.end());
  return level;
}

/// The step that a score is on, of steps in rising order.
double probability_at(const Level& steps, double score) {
  const auto above = std::upper_bound(steps.score.begin(), steps.score.end(), score) - steps.score.begin();
  return steps.probability[static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - 1, 0))];
}

/// The steps of a level, each with `more` units that have the probabilities of `alone`.
Level shrunk_steps(std::span<const Bin> bins, const Level& alone, double more) {
  Level level;
  std::vector<double> shrunk;
  std::vector<double> weight;
  std::size_t bin = 0;
  for (const Block& block : concave_blocks(bins)) {
    double prior = 0;
    for (; bin < block.end; ++bin) {
      if (bins[bin].counts.rows == 0) continue;
      prior += static_cast<double>(bins[bin].counts.rows) * probability_at(alone, bins[bin].threshold);
    }
    const auto rows = static_cast<double>(block.counts.rows);
    level.score.push_back(bins[block.end - 1].threshold);
    shrunk.push_back((static_cast<double>(block.counts.positives) + more * prior / rows) / (rows + more));
    weight.push_back(rows + more);
  }
  // A step of few rows moves further than its neighbours: the order is made good again.
  level.probability = fit_isotonic(shrunk, weight, {.increasing = false}).fitted;
  return level;
}

/// The bins of all levels in order of falling score. They may overlap: each is where its lowest score is.
std::vector<Bin> all_scores(const Grid& grid) {
  std::vector<Bin> bins;
  for (const auto& level : grid.levels) bins.insert(bins.end(), level.begin(), level.end());
  std::ranges::stable_sort(bins, std::greater(), &Bin::threshold);
  std::size_t last = 0;
  for (std::size_t bin = 1; bin < bins.size(); ++bin) {
    if (bins[bin].threshold == bins[last].threshold) {
      bins[last].counts += bins[bin].counts;
    } else {
      bins[++last] = bins[bin];
    }
  }
  if (!bins.empty()) bins.resize(last + 1);
  return bins;
}

LevelCalibration calibrate(const Grid& grid, double shrinkage) {
  LevelCalibration calibration;
  calibration.uncertainty_edges = grid.edges;
  const Level overall = {{0}, {rate(total_counts(grid))}};
  Level alone = shrinkage > 0 ? turned(isotonic_steps(all_scores(grid))) : overall;
  if (alone.score.empty()) alone = overall;
  const double more = shrinkage / rows_per_unit(grid);
  for (const auto& bins : grid.levels) {
    const Level steps = shrinkage > 0 ? shrunk_steps(bins, alone, more) : isotonic_steps(bins);
    calibration.levels.push_back(steps.score.empty() ? alone : turned(steps));
  }
  return calibration;
}

Grid counted(const Samples& samples, int levels, Binning binning) {
  validate(samples);
  return count_distinct(samples, uncertainty_edges(samples.uncertainty, levels, binning), weight_units(samples, {}));
}

/// Of rows that a calibration did not see.
double log_loss(const LevelCalibration& calibration, const Grid& grid) {
  constexpr double kLeast = 1e-6;  // one surprise must not decide
  double loss = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (const Bin& bin : grid.levels[level]) {
      if (bin.counts.rows == 0) continue;
      const double p = std::clamp(probability_at(calibration.levels[level], bin.threshold), kLeast, 1 - kLeast);
      loss -= static_cast<double>(bin.counts.positives) * std::log(p) +
              static_cast<double>(bin.counts.rows - bin.counts.positives) * std::log1p(-p);
    }
  }
  return loss;
}

}  // namespace

LevelCalibration fit_level_calibration(const Samples& samples, int levels, Binning binning, double shrinkage) {
  if (!(shrinkage >= 0) || !std::isfinite(shrinkage)) {
    throw InvalidInput("fit_level_calibration",
                       "shrinkage is " + std::to_string(shrinkage) + ", must be a number of rows, 0 or more");
  }
  return calibrate(counted(samples, levels, binning), shrinkage);
}

double choose_shrinkage(const Samples& samples, int levels, Binning binning, std::uint64_t seed) {
  constexpr std::size_t kFolds = 5;
  constexpr std::int64_t kMostBins = 1000;
  // Weights are counted in rows of mean weight: what rows left out can tell depends on their number.
  Grid grid = merge_bins(counted(samples, levels, binning), kMostBins);
  const double rows = rows_per_unit(grid);
  for (auto& bins : grid.levels) {
    for (Bin& bin : bins) {
      const std::int64_t positives = std::llround(rows * static_cast<double>(bin.counts.positives));
      const std::int64_t negatives = std::llround(rows * static_cast<double>(bin.counts.rows - bin.counts.positives));
      bin.counts = {positives + negatives, positives};
    }
  }
  grid.totals = std::nullopt;
  grid.unit = 1;
  CounterRandom random(seed, ~std::uint64_t{0});
  const auto folds = detail::make_folds(kFolds, random);
  std::vector<std::size_t> fold_of(detail::kParts);
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    for (const std::size_t part : folds[fold]) fold_of[part] = fold;
  }
  std::vector<Grid> left_out(kFolds, grid);
  std::uint64_t cell = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin, ++cell) {
      CounterRandom of_cell(seed, cell);
      const Counts& counts = grid.levels[level][bin].counts;
      const auto positives = detail::split(counts.positives, of_cell);
      const auto negatives = detail::split(counts.rows - counts.positives, of_cell);
      for (Grid& part : left_out) part.levels[level][bin].counts = {};
      for (std::size_t part = 0; part < detail::kParts; ++part) {
        left_out[fold_of[part]].levels[level][bin].counts += {positives[part] + negatives[part], positives[part]};
      }
    }
  }
  constexpr std::array kStrengths = {0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0};
  std::array<double, kStrengths.size()> loss{};
  for (const Grid& part : left_out) {
    Grid rest = grid;
    for (std::size_t level = 0; level < grid.num_levels(); ++level) {
      for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
        rest.levels[level][bin].counts -= part.levels[level][bin].counts;
      }
    }
    for (std::size_t at = 0; at < kStrengths.size(); ++at) loss[at] += log_loss(calibrate(rest, kStrengths[at]), part);
  }
  return kStrengths[static_cast<std::size_t>(std::ranges::min_element(loss) - loss.begin())];
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
    probability[row] = probability_at(steps, score[row]);
  }
  return probability;
}

}  // namespace limen
