// SPDX-License-Identifier: MIT
#include "limen/theory/bias_simulation.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>

#include "theory/checks.h"
#include "theory/samplers.h"

namespace limen {
namespace {

constexpr const char* kFunction = "simulate_bias";

// The regions with one number of training positives: sums for mean and spread (Welford), positive test rows.
struct Drawn {
  std::int64_t regions = 0;
  double mean = 0;
  double squares = 0;
  std::int64_t test_positives = 0;

  void add(double positivity, bool is_positive) {
    ++regions;
    const double difference = positivity - mean;
    mean += difference / static_cast<double>(regions);
    squares += difference * (positivity - mean);
    test_positives += is_positive ? 1 : 0;
  }
};

// Sums over the regions of a cell of something's difference from the theory.
struct Differences {
  double sum = 0;
  double squares = 0;

  [[nodiscard]] SimulatedMean around(double expected, double regions) const {
    const double mean = sum / regions;
    const double variance = (squares - regions * mean * mean) / (regions - 1);
    return {expected + mean, regions < 2 ? std::numeric_limits<double>::quiet_NaN()
                                         : std::sqrt(std::max(variance, 0.) / regions)};
  }
};

class Cell {
 public:
  void add(const Drawn& drawn, double score, double train_positivity, double expected) {
    const auto count = static_cast<double>(drawn.regions);
    const auto positives = static_cast<double>(drawn.test_positives);
    regions_ += drawn.regions;
    score_ += count * score;
    train_ += count * train_positivity;
    expected_ += count * expected;
    truth_.sum += count * (drawn.mean - expected);
    truth_.squares += drawn.squares + count * (drawn.mean - expected) * (drawn.mean - expected);
    test_.sum += positives - count * expected;
    test_.squares += positives * (1 - expected) * (1 - expected) + (count - positives) * expected * expected;
  }
  [[nodiscard]] bool empty() const { return regions_ == 0; }
  [[nodiscard]] SimulatedBiasCell result() const {
    const auto count = static_cast<double>(regions_);
    const double expected = expected_ / count;
    return {.regions = regions_,
            .score = score_ / count,
            .train_positivity = train_ / count,
            .expected_positivity = expected,
            .true_positivity = truth_.around(expected, count),
            .test_positivity = test_.around(expected, count)};
  }

 private:
  std::int64_t regions_ = 0;
  double score_ = 0;
  double train_ = 0;
  double expected_ = 0;
  Differences truth_;
  Differences test_;
};

std::map<std::int64_t, Drawn> draw_regions(const BiasParameters& parameters, const BiasSimulationOptions& options) {
  // Streams 0 to 2 of a seed are those of simulate().
  detail::Generator generator(options.seed, options.stream + 3);
  const double prior_positive = parameters.xi * parameters.prior_strength;
  const double prior_negative = (1 - parameters.xi) * parameters.prior_strength;
  std::map<std::int64_t, Drawn> by_positives;
  for (std::int64_t region = 0; region < options.regions; ++region) {
    const double truth = detail::sample_beta(generator, prior_positive, prior_negative);
    const std::int64_t positives = detail::sample_binomial(generator, options.evidence,
                                                           detail::undersampled_positivity(truth, parameters.tau));
    by_positives[positives].add(truth, generator.uniform() < truth);
  }
  return by_positives;
}

}  // namespace

void validate(const BiasSimulationOptions& options) {
  if (options.evidence < 1 || options.evidence > 1'000'000'000) {
    detail::refuse(kFunction, "evidence", options.evidence, "1 to 1e9");
  }
  if (options.regions < 2 || options.regions > 1'000'000'000) {
    detail::refuse(kFunction, "regions", options.regions, "2 to 1e9");
  }
  if (options.cells < 1 || options.cells > 1'000'000) detail::refuse(kFunction, "cells", options.cells, "1 to 1e6");
}

std::vector<SimulatedBiasCell> simulate_bias(const BiasParameters& parameters, const BiasSimulationOptions& options) {
  validate(parameters);
  validate(options);
  const auto evidence = static_cast<double>(options.evidence);
  std::vector<Cell> cells(static_cast<std::size_t>(std::min<std::int64_t>(options.cells, options.evidence + 1)));
  for (const auto& [positives, drawn] : draw_regions(parameters, options)) {
    const double train = static_cast<double>(positives) / evidence;
    // Below 2^50: cells and evidence + 1 are.
    const auto cell = positives * static_cast<std::int64_t>(cells.size()) / (options.evidence + 1);
    cells[static_cast<std::size_t>(cell)].add(drawn, model_score(train, evidence, parameters), train,
                                              expected_positivity(posterior_given_train(train, evidence, parameters)));
  }
  std::vector<SimulatedBiasCell> result;
  for (const Cell& cell : cells) {
    if (!cell.empty()) result.push_back(cell.result());
  }
  return result;
}

}  // namespace limen
