// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "limen/theory/bias.h"

namespace limen {

struct BiasSimulationOptions {
  /// Training rows of every region. 1 to 1e9.
  std::int64_t evidence = 10;
  /// Regions drawn. 2 to 1e9.
  std::int64_t regions = 100'000;
  /// The numbers of training positives, 0 to evidence, are put into at most so many cells of (nearly) equal width.
  /// 1 to 1e6.
  int cells = 21;
  std::uint64_t seed = 0;
  /// Simulations of one seed with other streams are independent.
  std::uint64_t stream = 0;
};

/// Throws InvalidInput naming field, value and range.
void validate(const BiasSimulationOptions& options);

/// A mean over regions and its standard error.
struct SimulatedMean {
  double mean = 0;
  double standard_error = 0;
};

/// Regions with neighbouring numbers of training positives.
struct SimulatedBiasCell {
  std::int64_t regions = 0;
  double score = 0;  ///< mean of the model's scores, as are the next two
  double train_positivity = 0;
  double expected_positivity = 0;  ///< by the theory, of each region's own score
  SimulatedMean true_positivity;   ///< as drawn
  SimulatedMean test_positivity;   ///< of one labelled test row of each region
};

/// The generation process, region by region: true positivity S ~ Beta(xi, prior_strength), training positives ~
/// Binomial(evidence, tau S / ((tau - 1) S + 1)), the model's score of them, a test label ~ Bernoulli(S).
///
/// Cells without a region are left out; the others come by rising score. The standard error of the true positivity is
/// from the spread of its differences from the theory, region by region (of a cell with one number of positives just
/// that of the mean), NaN for one region; that of the test positivity is binomial, at the theory's positivities.
/// Same options, same result. O(regions) time, O(distinct numbers of positives) memory. Throws InvalidInput.
[[nodiscard]] std::vector<SimulatedBiasCell> simulate_bias(const BiasParameters& parameters,
                                                           const BiasSimulationOptions& options);

}  // namespace limen
