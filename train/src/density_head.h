// SPDX-License-Identifier: MIT
// Heads that turn a place in latent space into a Beta posterior, by densities: postnet and natpn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels.h"
#include "limen/train/options.h"
#include "parameters.h"

namespace limen::train {

/// The weights are single precision, as they are stored; everything is computed in double.
class DensityHead {
 public:
  virtual ~DensityHead() = default;

  /// To be called after every change of the weights.
  virtual void prepare() = 0;
  /// Doubles of scratch space that loss() and predict() need.
  [[nodiscard]] virtual std::size_t scratch_size() const = 0;
  /// Sum of the losses of some rows, or with `likelihood` of -ln of their densities. Gradients times `weight`: added to
  /// `gradient`, one number for each weight; written to `latent_gradient`.
  virtual double loss(const float* latent, const std::uint8_t* label, std::size_t rows, double weight, bool likelihood,
                      std::span<double> gradient, float* latent_gradient, double* scratch) const = 0;
  virtual void predict(const float* latent, std::size_t rows, const PosteriorRows& out, double* scratch) const = 0;
  /// The gradient of the weights as they are stored, from that of loss().
  [[nodiscard]] virtual std::vector<float> weight_gradient(std::span<const double> gradient) const = 0;

  Parameters parameters = {};
};

/// options: of postnet or natpn. class_counts: negatives and positives of the training rows.
[[nodiscard]] std::unique_ptr<DensityHead> make_density_head(const HeadOptions& options,
                                                             std::array<double, 2> class_counts, std::uint64_t seed);

/// Logarithm of the evidence that natpn gives out over all of its latent space.
[[nodiscard]] double log_budget(Budget budget, int latent);

/// Radial flows of some classes: weights, and the same in double as kernels.h wants them: alpha = softplus(a) and
/// u = softplus(b), so that every a and b is a valid flow.
class FlowWeights {
 public:
  FlowWeights(const HeadOptions& options, int classes, std::uint64_t seed, Parameters& parameters);

  void prepare(const Parameters& parameters);
  [[nodiscard]] FlowView view() const;
  /// The flows' part of a gradient in the layout of the parameters.
  [[nodiscard]] PosteriorGradient gradient_of(std::span<double> numbers) const;
  void to_weights(std::span<const double> numbers, const Parameters& parameters, std::span<float> gradient) const;

 private:
  FlowView view_ = {};
  std::size_t at_center_ = 0;  // offsets in the parameters
  std::size_t at_a_ = 0;
  std::size_t at_b_ = 0;
  std::vector<double> center_ = {};
  std::vector<double> alpha_ = {};
  std::vector<double> u_ = {};
};

}  // namespace limen::train
