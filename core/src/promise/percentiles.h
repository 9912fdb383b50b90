// SPDX-License-Identifier: MIT
// What resamples say of a figure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "limen/promise/intervals.h"

namespace limen::detail {

/// Between the two order statistics around it; values need not be sorted, and may be infinite. At least one value.
inline double quantile_of(std::vector<double> values, double probability) {
  std::ranges::sort(values);
  const double at = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  if (values[below] == values[above]) return values[below];
  const double part = at - static_cast<double>(below);
  if (part == 0) return values[below];
  return std::isinf(values[above]) ? values[above] : values[below] + part * (values[above] - values[below]);
}

/// The middle `confidence` of the values.
inline Interval percentiles(const std::vector<double>& values, double confidence) {
  return {quantile_of(values, (1 - confidence) / 2), quantile_of(values, (1 + confidence) / 2)};
}

}  // namespace limen::detail
