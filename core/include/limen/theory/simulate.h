// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace limen {

/// The paper's generation process (appendix, "Data Generation Process") with an ideal Bayesian model.
/// Every double in it: 1e-9 to 1e9.
struct SimulationOptions {
  /// True prior Beta(prior_positive, prior_negative) of a region's positivity.
  double prior_positive = 1;
  double prior_negative = 3;
  /// The model's prior Beta, added to the counts it has seen.
  double model_prior_positive = 1;
  double model_prior_negative = 1;
  /// Negatives in training are kept at rate 1 / tau; below 1 they are oversampled.
  double tau = 3;
  /// Number of regions of the input space. 1 to 2^31.
  std::int64_t regions = 20'000;
  /// Training rows of a region are heavy-tailed: a Pareto law, rounded down, with this smallest value before rounding,
  double evidence_scale = 8;
  /// this tail exponent, P(rows >= x) = (scale / x)^tail for whole x >= scale (smaller means heavier),
  double evidence_tail = 0.4;
  /// and this largest value, which stands for all above it. 0 to 1e9. At or below the scale: every region has as many.
  std::int64_t evidence_limit = 10'000;
  /// Rows of the hold-out and of the test table; every region is equally likely in each row. 0 or more.
  std::int64_t holdout_rows = 200'000;
  std::int64_t test_rows = 200'000;
  std::uint64_t seed = 0;
};

/// Throws InvalidInput naming field, value and range.
void validate(const SimulationOptions& options);

struct Region {
  double true_positivity = 0;
  std::int64_t train_positives = 0;
  std::int64_t train_negatives = 0;    ///< kept after undersampling
  std::int64_t dropped_negatives = 0;  ///< seen before undersampling, not trained on
  double score = 0;                    ///< mean of the model's Beta posterior
  double uncertainty = 0;              ///< its differential entropy
};

struct SimulatedRows {
  std::vector<std::int32_t> region;
  std::vector<std::uint8_t> label;
};

struct Simulation {
  std::vector<Region> regions;
  SimulatedRows holdout;
  SimulatedRows test;
};

/// Draws regions, what the model has seen of each, and labelled rows:
///   true_positivity S ~ Beta(prior), n ~ evidence law,
///   train_positives ~ Binomial(n, tau S / ((tau - 1) S + 1)), train_negatives = n - train_positives,
///   dropped_negatives ~ the draws thrown away until n are kept (negative binomial; none for tau <= 1),
///   row: region uniform, label ~ Bernoulli(S of the region).
///
/// Same options, same result: own generator and samplers, no <random> distributions. Between platforms whose <cmath>
/// rounds differently true_positivity and uncertainty may differ in the last bits, and anything else with a probability
/// of the order of 1e-15 a draw. Regions, hold-out and test have streams of their own: a larger number of regions or
/// rows extends the shorter list, and no table depends on the size of the other.
/// Every sampler is exact up to rounding, in expected time at most O(log log n). O(regions + rows) time and memory.
/// Throws InvalidInput.
[[nodiscard]] Simulation simulate(const SimulationOptions& options);

}  // namespace limen
