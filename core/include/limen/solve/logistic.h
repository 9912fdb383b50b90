// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

namespace limen {

/// Rows that share their features.
struct LogisticCell {
  std::vector<double> features;
  double rows = 0;
  double positives = 0;
};

struct LogisticFit {
  std::vector<double> coefficients;
  double log_likelihood = 0;  ///< of the rows, without the penalty
};

/// Logistic regression of cells, by Newton's method with halved steps, with the penalty
/// sum_j precision[j] / 2 * (coefficient[j] - centre[j])^2. Deterministic. O(cells * features^2) a step.
/// centre and precision are as long as the features; a precision above 0 keeps a coefficient finite for any rows.
[[nodiscard]] LogisticFit fit_logistic(std::span<const LogisticCell> cells, const std::vector<double>& centre,
                                       const std::vector<double>& precision);

}  // namespace limen
