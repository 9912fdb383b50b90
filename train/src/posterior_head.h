// SPDX-License-Identifier: MIT
// The head of postnet: class densities in latent space and, optionally, batch norm in front of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels.h"
#include "limen/train/options.h"
#include "parameters.h"

namespace limen::train {

/// Flows of both classes. The weights are single precision, as they are stored; everything is computed in double.
///
/// alpha = softplus(a) and u = softplus(b) of kernels.h, so that every a and b is a valid flow.
class PosteriorHead {
 public:
  PosteriorHead() = default;
  PosteriorHead(const HeadOptions& options, std::array<double, 2> class_counts, std::uint64_t seed);

  /// Double-precision flows from the weights: after every change of them.
  void prepare();
  [[nodiscard]] PosteriorView view() const;
  /// Numbers in a gradient, laid out as centers, alphas, us.
  [[nodiscard]] std::size_t gradient_size() const;
  [[nodiscard]] PosteriorGradient gradient_of(std::span<double> numbers, float* latent) const;
  /// Gradient in the layout of `parameters` from that of gradient_of().
  [[nodiscard]] std::vector<float> weight_gradient(std::span<const double> numbers) const;

  Parameters parameters = {};

 private:
  std::size_t latent_ = 0;
  std::size_t flows_ = 0;
  std::size_t a_ = 0;  // offsets in parameters; the centers are at 0
  std::size_t b_ = 0;
  PosteriorView view_ = {};
  std::vector<double> center_ = {};
  std::vector<double> alpha_ = {};
  std::vector<double> u_ = {};
};

/// Batch norm without scale and shift: mean 0 and variance 1 per dimension of the latent. Densities are then compared
/// in a space of fixed size. When predicting, means over past batches take the place of the batch's.
struct LatentNorm {
  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;

  std::vector<float> mean = {};
  std::vector<float> variance = {};
  /// Of the last batch.
  std::vector<double> batch_mean = {};
  std::vector<double> batch_variance = {};

  explicit LatentNorm(std::size_t width = 0) : mean(width, 0.0F), variance(width, 1.0F) {}
  /// Normalises the rows of a batch and remembers its mean and variance.
  void forward(std::span<float> rows);
  /// rows: what forward() left. Turns the gradient of the normalised rows into that of the rows.
  void backward(std::span<const float> rows, std::span<float> gradient) const;
  /// Takes the last batch into the running means.
  void learn(std::size_t num_rows);
  void predict(std::span<float> rows) const;
};

}  // namespace limen::train
