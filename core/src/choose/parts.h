// SPDX-License-Identifier: MIT
// Cross-validation on counts: the rows of a cell are put into parts by seeded random numbers of the cell, so that no
// row has to be known, and folds are made of parts. What depends on which rows were looked at is told by leaving out
// one part after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "limen/base/random.h"

namespace limen::detail {

inline constexpr std::size_t kParts = 20;

/// How `size` rows of one kind fall into the parts, each row into any of them.
inline std::array<std::int64_t, kParts> split(std::int64_t size, CounterRandom& random) {
  std::array<std::int64_t, kParts> parts{};
  constexpr std::int64_t kFew = 4096;
  if (size <= kFew) {
    for (std::int64_t row = 0; row < size; ++row) ++parts[random.below(kParts)];
    return parts;
  }
  // Of many rows: one part after the other, binomial by its normal approximation.
  for (std::size_t part = 0; part + 1 < kParts; ++part) {
    const double share = 1.0 / static_cast<double>(kParts - part);
    const double mean = share * static_cast<double>(size);
    const double drawn = std::round(mean + std::sqrt(mean * (1 - share)) * random.normal());
    parts[part] = std::clamp(static_cast<std::int64_t>(drawn), std::int64_t{0}, size);
    size -= parts[part];
  }
  parts.back() = size;
  return parts;
}

/// The parts of each fold, in random order; folds: 2 to kParts.
inline std::vector<std::vector<std::size_t>> make_folds(std::size_t num_folds, CounterRandom& random) {
  std::array<std::size_t, kParts> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t at = kParts; at > 1; --at) std::swap(order[at - 1], order[random.below(at)]);
  std::vector<std::vector<std::size_t>> folds(num_folds);
  for (std::size_t at = 0; at < kParts; ++at) folds[at % num_folds].push_back(order[at]);
  return folds;
}

/// Standard error of a figure from its values without each of the parts.
inline double jackknife_error(std::span<const double> without) {
  const auto size = static_cast<double>(without.size());
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / size;
  double sum = 0;
  for (const double value : without) sum += (value - mean) * (value - mean);
  return std::sqrt((size - 1) / size * sum);
}

}  // namespace limen::detail
