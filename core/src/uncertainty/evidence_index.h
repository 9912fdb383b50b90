// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace limen::detail {

/// logit P = b0 + b1 F + (g0 + g1 F) h,  h = sum_t loading_t column_t of standard deviation 1,  loading >= 0.
struct IndexFit {
  std::array<double, 4> coefficients = {};  ///< b0, b1, g0, g1
  std::vector<double> loading = {};         ///< one for each column
  std::vector<double> h = {};               ///< one for each row
  double log_likelihood = 0;
};

/// Log odds of a positive by the index. The slope in F is not below 0.05 b1, so that they never fall with the score.
[[nodiscard]] double law_log_odds(const std::array<double, 4>& coefficients, double f, double h);

/// By alternating two convex logistic regressions: of (1, F, h, h F) for given loadings, and of the columns times
/// g0 + g1 F for given coefficients. columns: standardised, at least one. Unset where the columns cancel each other.
[[nodiscard]] std::optional<IndexFit> fit_index(const std::vector<std::vector<double>>& columns,
                                                std::span<const double> f, std::span<const std::uint8_t> label);

}  // namespace limen::detail
