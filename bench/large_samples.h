// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "limen/count/samples.h"

namespace limen::bench {

/// Predictions as a fraud or click model makes them: few positives, most scores low, uncertain rows overrated.
template <typename Real>
struct LargeSamples {
  std::vector<Real> score;
  std::vector<Real> uncertainty;
  std::vector<std::uint8_t> label;
  [[nodiscard]] Samples samples() const {
    return {std::span<const Real>(score), std::span<const Real>(uncertainty), label, {}};
  }
};

template <typename Real>
LargeSamples<Real> make_large_samples(std::size_t rows, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  LargeSamples<Real> result;
  result.score.resize(rows);
  result.uncertainty.resize(rows);
  result.label.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const double u = uniform();
    const double score = std::pow(uniform(), 4);
    result.score[row] = static_cast<Real>(score);
    result.uncertainty[row] = static_cast<Real>(u);
    result.label[row] = uniform() < std::pow(score, 1 + u) ? 1 : 0;
  }
  return result;
}

}  // namespace limen::bench
