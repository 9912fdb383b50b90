// SPDX-License-Identifier: MIT
#include "limen/theory/bias_simulation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
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

// Sums over the regions of a cell.
class Cell {
 public:
  void add(const Drawn& drawn, double score, double train_positivity, double expected) {
    const auto count = static_cast<double>(drawn.regions);
    const double difference = drawn.mean - expected;
    regions_ += drawn.regions;
    score_ += count * score;
    train_ += count * train_positivity;
    expected_ += count * expected;
    difference_ += count * difference;
    squares_ += drawn.squares + count * difference * difference;
    test_positives_ += static_cast<double>(drawn.test_positives);
    test_variance_ += count * expected * (1 - expected);
  }
  [[nodiscard]] bool empty() const { return regions_ == 0; }
  [[nodiscard]] SimulatedBiasCell result() const {
    const auto count = static_cast<double>(regions_);
    const double difference = difference_ / count;
    const double variance = std::max(squares_ - count * difference * difference, 0.) / (count - 1);
    return {.regions = regions_,
            .score = score_ / count,
            .train_positivity = train_ / count,
            .expected_positivity = expected_ / count,
            .true_positivity = {expected_ / count + difference, std::sqrt(variance / count)},  // 0 / 0 of one region
            .test_positivity = {test_positives_ / count, std::sqrt(test_variance_) / count}};
  }

 private:
  std::int64_t regions_ = 0;
  double score_ = 0;
  double train_ = 0;
  double expected_ = 0;
  double difference_ = 0;  // of the true positivity from the theory
  double squares_ = 0;
  double test_positives_ = 0;
  double test_variance_ = 0;
};

std::map<std::int64_t, Drawn> draw_regions(const BiasParameters& parameters, const BiasSimulationOptions& options) {
  // Streams 0 to 2 of a seed are those of simulate().
  detail::Generator generator(options.seed, options.stream + 3);
  const double prior_positive = parameters.xi * parameters.prior_strength;
  const double prior_negative = (1 - parameters.xi) * parameters.prior_strength;
  std::map<std::int64_t, Drawn> by_positives;
  for (std::int64_t region = 0; region < options.regions; ++region) {
    const double truth = detail::sample_beta(generator, prior_positive, prior_negative);
    const std::int64_t positives =
        detail::sample_binomial(generator, options.evidence, detail::undersampled_positivity(truth, parameters.tau));
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
