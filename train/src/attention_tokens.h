// SPDX-License-Identifier: MIT
// What the two attention encoders share: features as tokens, weights as torch tensors, and backward by autograd.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "encoder.h"

namespace limen::train {

/// The weights of a chunk's pass, in the order of Parameters::list: views of the shared memory that each pass tracks
/// for itself.
using Weights = std::vector<at::Tensor>;

/// A linear layer's place in Weights: inputs x outputs, then the bias.
struct Linear {
  std::size_t weight = 0;
  std::size_t bias = 0;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, const Weights& weights) const {
    return at::matmul(x, weights[weight]) + weights[bias];
  }
};

/// One mask of dropout per call, each from its own stream.
class Dropper {
 public:
  explicit Dropper(const Dropout& dropout) : dropout_(dropout) {}
  [[nodiscard]] at::Tensor operator()(const at::Tensor& value) { return (*this)(value, dropout_.rate); }
  /// At another rate than the encoder's.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& value, double rate);

 private:
  const Dropout& dropout_;
  std::uint64_t calls_ = 0;
};

/// Forward and backward by autograd; subclasses say what is computed.
class AutogradEncoder : public Encoder {
 public:
  AutogradEncoder(const FeatureShape& shape, int width, bool categorical_bias);

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace(std::size_t max_rows) const override;
  void forward(const Parameters& parameters, const EmbeddingTables& tables, const ChunkInput& input,
               const Dropout& dropout, bool learning, Workspace& workspace, float* out) const override;
  void backward(const Parameters& parameters, const EmbeddingTables& tables, const float* out_gradient,
                Workspace& workspace, float* gradient, float* table_gradient) const override;

 protected:
  /// tokens: rows x num_tokens_ x width. Returns rows x outputs.
  [[nodiscard]] virtual at::Tensor compute(const at::Tensor& tokens, const Weights& weights, Dropper& drop) const = 0;

  /// Adds a parameter with numbers in -bound to bound and returns its index in Weights.
  static std::size_t add(Parameters& parameters, const std::string& name, std::vector<std::int64_t> shape, double bound,
                         std::uint64_t seed, bool decays);
  /// Adds the weights of the tokens: the first in Weights. Builds the tables, all of one width.
  void add_tokens(const FeatureShape& shape, std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables);

  std::int64_t width_;
  std::int64_t num_tokens_;  // the numeric inputs, then the categorical features without knots

 private:
  [[nodiscard]] at::Tensor tokens(const at::Tensor& numeric, const at::Tensor& embedded, const Weights& weights) const;
  std::int64_t num_numeric_;
  std::int64_t num_categorical_;
  bool categorical_bias_;
  // Features with knots, the inputs that they are of, and the features without.
  at::Tensor knots_ = {};
  at::Tensor numeric_of_ = {};
  at::Tensor others_ = {};
  std::size_t scale_ = 0;  // indices in Weights
  std::size_t shift_ = 0;
  std::size_t bias_ = 0;
};

}  // namespace limen::train
