// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace limen {

/// One stratum: rows of each value, and how many of them are in the set.
struct Stratum {
  std::vector<std::int64_t> all;
  std::vector<std::int64_t> in_set;  ///< same length, 0 <= in_set <= all
};

struct StratifiedTest {
  double statistic = 0;
  int degrees = 0;  ///< of freedom
  double p_value = 1;
};

/// Whether a set of rows is independent of a value, given the stratum: the generalised statistic of Cochran, Mantel and
/// Haenszel for values without an order (Landis, Heyman and Koch 1978).
///
/// In a stratum of N rows, m of them in the set, the set's rows of value v are taken as drawn without replacement:
/// expected m c_v / N, covariance m (N - m) / (N^2 (N - 1)) (N c_v [v = w] - c_v c_w). Sums over the strata give a
/// quadratic form, compared with the chi-square distribution of as many degrees of freedom as the covariance has rank.
///
/// Values of which fewer than `fewest` rows are expected in the set, or outside of it, are pooled, and the pool with
/// the next smallest value while it has too few itself. Unset: fewer than two values are left, or every stratum is all
/// in the set or all out of it. Throws InvalidInput: strata of different lengths, counts that do not fit.
[[nodiscard]] std::optional<StratifiedTest> stratified_test(std::span<const Stratum> strata, double fewest = 5);

/// Holm's adjusted p-values, in the order given: reject those at most `level`, and the chance of any false rejection
/// among all of them is at most `level`. Each between 0 and 1.
[[nodiscard]] std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace limen
