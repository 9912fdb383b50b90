// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "parameters.h"

namespace limen::train {

/// Batch norm of the latent space, with scale and shift: densities are then compared in a space of about fixed size.
/// When predicting, means over past batches take the place of the batch's.
struct LatentNorm {
  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;

  std::vector<float> mean = {};  ///< empty: there is no norm
  std::vector<float> variance = {};
  Parameters parameters = {};  ///< scale less 1, and shift

  explicit LatentNorm(std::size_t width = 0);
  /// Normalises the rows of a batch and remembers what the way back needs.
  void forward(std::span<float> rows);
  /// Turns the gradient of the rows that forward() left into that of the rows it was given; adds to weight_gradient,
  /// which has the layout of the parameters.
  void backward(std::span<float> gradient, std::span<float> weight_gradient) const;
  /// Takes the last batch into the running means.
  void learn(std::size_t num_rows);
  void predict(std::span<float> rows) const;

 private:
  [[nodiscard]] double scale(std::size_t d) const { return 1 + static_cast<double>(parameters.value[d]); }
  [[nodiscard]] double shift(std::size_t d) const { return static_cast<double>(parameters.value[mean.size() + d]); }

  // Of the last batch.
  std::vector<double> batch_mean_ = {};
  std::vector<double> batch_variance_ = {};
  std::vector<float> normalized_ = {};
};

}  // namespace limen::train
