// SPDX-License-Identifier: MIT
#include "limen/judge/calibration.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>
#include <string>

#include "choose/parts.h"
#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
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
  for (double& value : level.probability) value = std::clamp(value, 0.0, 1.0);  // rounding of means
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

/// By the score alone.
Level score_steps(const Grid& grid) {
  Level alone = turned(isotonic_steps(all_scores(grid)));
  return alone.score.empty() ? Level{{0}, {rate(total_counts(grid))}} : alone;
}

LevelCalibration calibrate(const Grid& grid, double shrinkage) {
  LevelCalibration calibration;
  calibration.uncertainty_edges = grid.edges;
  const Level alone = shrinkage > 0 ? score_steps(grid) : Level{{0}, {rate(total_counts(grid))}};
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
  double loss = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (const Bin& bin : grid.levels[level]) {
      if (bin.counts.rows == 0) continue;
      const double p = std::clamp(probability_at(calibration.levels[level], bin.threshold), kLeastProbability,
                                  1 - kLeastProbability);
      loss -= static_cast<double>(bin.counts.positives) * std::log(p) +
              static_cast<double>(bin.counts.rows - bin.counts.positives) * std::log1p(-p);
    }
  }
  return loss;
}

/// What each shrinkage leaves rows left out with.
struct Validated {
  double shrinkage = 0;
  double ist_loss = 0;  ///< mean over rows
  double mist_loss = 0;
  double shrunken_loss = 0;
};

Validated cross_validate(const Grid& distinct, std::uint64_t seed) {
  constexpr std::size_t kFolds = 5;
  constexpr std::int64_t kMostBins = 1000;
  // Weights are counted in rows of mean weight: what rows left out can tell depends on their number.
  Grid grid = merge_bins(distinct, kMostBins);
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
  double ist_loss = 0;
  for (const Grid& part : left_out) {
    Grid rest = grid;
    for (std::size_t level = 0; level < grid.num_levels(); ++level) {
      for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
        rest.levels[level][bin].counts -= part.levels[level][bin].counts;
      }
    }
    // One step function for all levels.
    ist_loss += log_loss({rest.edges, std::vector<Level>(rest.num_levels(), score_steps(rest))}, part);
    for (std::size_t at = 0; at < kStrengths.size(); ++at) loss[at] += log_loss(calibrate(rest, kStrengths[at]), part);
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(loss) - loss.begin());
  const auto size = static_cast<double>(std::max<std::int64_t>(total_counts(grid).rows, 1));
  return {kStrengths[best], ist_loss / size, loss[0] / size, loss[best] / size};
}

/// Rows that are calibrated, or that calibrate.
struct RowCopies {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;

  void add(const Samples& from, std::size_t row) {
    score.push_back(from.score[row]);
    uncertainty.push_back(from.uncertainty[row]);
    label.push_back(from.label[row]);
    if (!from.weight.empty()) weight.push_back(from.weight[row]);
  }
  [[nodiscard]] Samples samples() const { return {std::span(score), std::span(uncertainty), label, weight}; }
};

}  // namespace

LevelCalibration fit_level_calibration(const Samples& samples, int levels, Binning binning, double shrinkage) {
  if (!(shrinkage >= 0) || !std::isfinite(shrinkage)) {
    throw InvalidInput("fit_level_calibration",
                       "shrinkage is " + std::to_string(shrinkage) + ", must be a number of rows, 0 or more");
  }
  return calibrate(counted(samples, levels, binning), shrinkage);
}

double choose_shrinkage(const Samples& samples, int levels, Binning binning, std::uint64_t seed) {
  return cross_validate(counted(samples, levels, binning), seed).shrinkage;
}

LevelCalibrations fit_level_calibrations(const Samples& samples, std::vector<double> edges, std::uint64_t seed) {
  validate(samples);
  const Grid grid = count_distinct(samples, std::move(edges), weight_units(samples, {}));
  if (total_counts(grid).rows == 0) throw InvalidInput("fit_level_calibrations", "no row has a weight above 0");
  const Validated validated = cross_validate(grid, seed);
  return {.ist = {{}, {score_steps(grid)}},
          .mist = calibrate(grid, 0),
          .shrunken = calibrate(grid, validated.shrinkage),
          .shrinkage = validated.shrinkage,
          .ist_loss = validated.ist_loss,
          .mist_loss = validated.mist_loss,
          .shrunken_loss = validated.shrunken_loss};
}

CrossFitted cross_fit(const Samples& samples, const std::vector<double>& edges, int folds, std::uint64_t seed) {
  validate(samples);
  const std::size_t rows = samples.size();
  if (folds < 2 || folds > 100 || static_cast<std::size_t>(folds) > rows) {
    throw InvalidInput(Where{.function = "cross_fit", .field = "folds"},
                       "is " + std::to_string(folds) + ", must be 2 to 100, and not above the number of rows, " +
                           std::to_string(rows));
  }
  CrossFitted result;
  const RowHash hash(seed, RowUse::kCalibrate);
  for (std::size_t row = 0; row < rows; ++row) {
    result.fold.push_back(static_cast<std::uint8_t>(hash_bucket(hash(row), folds)));
  }
  result.ist.resize(rows);
  result.mist.resize(rows);
  result.shrunken.resize(rows);
  for (int fold = 0; fold < folds; ++fold) {
    RowCopies others;
    RowCopies part;
    std::vector<std::size_t> place;
    for (std::size_t row = 0; row < rows; ++row) {
      const bool is_part = result.fold[row] == fold;
      (is_part ? part : others).add(samples, row);
      if (is_part) place.push_back(row);
    }
    if (place.empty()) continue;
    const LevelCalibrations fitted = fit_level_calibrations(others.samples(), edges, seed);
    const auto fill = [&](const LevelCalibration& calibration, std::vector<double>& to) {
      const std::vector<double> probability =
          calibrated_probability(calibration, part.samples().score, part.samples().uncertainty);
      for (std::size_t at = 0; at < place.size(); ++at) to[place[at]] = probability[at];
    };
    fill(fitted.ist, result.ist);
    fill(fitted.mist, result.mist);
    fill(fitted.shrunken, result.shrunken);
  }
  return result;
}

void validate(const LevelCalibration& calibration) {
  const auto refuse = [](const std::string& what) { throw InvalidInput("calibration", what); };
  const std::vector<double>& edges = calibration.uncertainty_edges;
  if (calibration.levels.size() != edges.size() + 1) refuse("the edges do not fit the number of levels");
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    if (!std::isfinite(edges[edge])) refuse("uncertainty_edges[" + std::to_string(edge) + "] is not finite");
    if (edge > 0 && edges[edge] <= edges[edge - 1]) {
      refuse("uncertainty_edges[" + std::to_string(edge) + "] is " + number_text(edges[edge]) +
             ", not above the one before");
    }
  }
  for (std::size_t level = 0; level < calibration.levels.size(); ++level) {
    const Level& steps = calibration.levels[level];
    const std::string name = "level " + std::to_string(level);
    if (steps.score.empty() || steps.score.size() != steps.probability.size()) {
      refuse(name + " has " + std::to_string(steps.score.size()) + " scores and " +
             std::to_string(steps.probability.size()) + " probabilities");
    }
    for (std::size_t step = 0; step < steps.score.size(); ++step) {
      const std::string at = "[" + std::to_string(step) + "] of " + name;
      if (!std::isfinite(steps.score[step])) refuse("score" + at + " is not finite");
      if (!(steps.probability[step] >= 0 && steps.probability[step] <= 1)) {
        refuse("probability" + at + " is " + number_text(steps.probability[step]) + ", must be 0 to 1");
      }
      if (step == 0) continue;
      if (steps.score[step] <= steps.score[step - 1]) refuse("score" + at + " is not above the one before");
      if (steps.probability[step] < steps.probability[step - 1])
        refuse("probability" + at + " is below the one before");
    }
  }
}

std::vector<double> calibrated_probability(const LevelCalibration& calibration, RealSpan score, RealSpan uncertainty) {
  if (score.size() != uncertainty.size()) {
    throw InvalidInput("calibrated_probability", "score has " + std::to_string(score.size()) +
                                                     " rows, uncertainty has " + std::to_string(uncertainty.size()));
  }
  validate(calibration);
  const auto check = [](RealSpan column, const char* name, std::size_t row) {
    if (std::isfinite(column[row])) return;
    throw InvalidInput("calibrated_probability",
                       std::string(name) + "[" + std::to_string(row) + "] is " +
                           (std::isnan(column[row]) ? "NaN" : "infinite") + ", must be finite",
                       Cause::kMissingValue);
  };
  std::vector<double> probability(score.size());
  const auto calibrate_rows = [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const double value = score[row];
      const double level = uncertainty[row];
      if (!std::isfinite(value) || !std::isfinite(level)) return false;
      probability[row] = probability_at(calibration.levels[level_of(calibration.uncertainty_edges, level)], value);
    }
    return true;
  };
  std::atomic<bool> all_finite = true;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, score.size(), 1 << 14), [&](const auto& range) {
    if (!calibrate_rows(range.begin(), range.end())) all_finite = false;
  });
  if (!all_finite) {  // the first of them is named
    for (std::size_t row = 0; row < score.size(); ++row) {
      check(score, "score", row);
      check(uncertainty, "uncertainty", row);
    }
  }
  return probability;
}

}  // namespace limen
