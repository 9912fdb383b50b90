// SPDX-License-Identifier: MIT
#include <ATen/ATen.h>

#include <cmath>

#include "attention_tokens.h"

namespace limen::train {
namespace {

class Sam final : public AutogradEncoder {
 public:
  Sam(const FeatureShape& shape, const EncoderOptions& options, int num_outputs, std::uint64_t seed,
      Parameters& parameters, EmbeddingTables& tables)
      : AutogradEncoder(shape, options.embedding.value(), false), variant_(options.sam), residual_(options.residual) {
    add_tokens(shape, seed, parameters, tables);
    const std::int64_t tokens = num_tokens_;
    const double bound = 1 / std::sqrt(static_cast<double>(width_));
    std::int64_t size = tokens * width_;
    if (second_order()) {
      const std::int64_t pairs = tokens * (tokens + 1) / 2;
      size = pairs * (variant_ == SamVariant::k2A ? 1 : width_) + (residual_ ? size : 0);
      const at::Tensor upper = at::triu_indices(tokens, tokens);
      first_ = upper[0].contiguous();
      second_ = upper[1].contiguous();
    } else {
      for (int block = 0; block < options.blocks.value(); ++block) {
        const std::string name = "sam." + std::to_string(block);
        Interaction part;
        part.key = add(parameters, name + ".key", {width_, width_}, bound, seed, true);
        if (residual_) part.query = add(parameters, name + ".query", {width_, width_}, bound, seed, true);
        if (variant_ == SamVariant::k3A) {
          // A sum over all tokens: the more there are, the less each weighs at first.
          part.pair = add(parameters, name + ".pair", {tokens, tokens, width_},
                          1 / std::sqrt(static_cast<double>(tokens)), seed, true);
        }
        interactions_.push_back(part);
      }
    }
    std::vector<int> outputs = options.hidden;
    outputs.push_back(num_outputs);
    for (std::size_t at = 0; at < outputs.size(); ++at) {
      const double layer_bound = 1 / std::sqrt(static_cast<double>(size));
      const std::string name = "layer." + std::to_string(at);
      Linear layer;
      layer.weight = add(parameters, name + ".weight", {size, outputs[at]}, layer_bound, seed, true);
      layer.bias = add(parameters, name + ".bias", {outputs[at]}, layer_bound, seed, false);
      layers_.push_back(layer);
      size = outputs[at];
    }
  }

 protected:
  at::Tensor compute(const at::Tensor& tokens, const Weights& weights, Dropper& drop) const override {
    at::Tensor x = drop(second_order() ? pairs(tokens) : interact(tokens, weights).flatten(1));
    for (std::size_t at = 0; at < layers_.size(); ++at) {
      x = layers_[at](x, weights);
      if (at + 1 < layers_.size()) x = drop(at::relu(x));
    }
    return x;
  }

 private:
  struct Interaction {
    std::size_t key = 0;
    std::size_t query = 0;
    std::size_t pair = 0;
  };

  [[nodiscard]] bool second_order() const { return variant_ == SamVariant::k2A || variant_ == SamVariant::k2E; }

  [[nodiscard]] at::Tensor pairs(const at::Tensor& f) const {
    const at::Tensor left = f.index_select(1, first_);
    const at::Tensor products = left * f.index_select(1, second_);  // rows x pairs x width
    at::Tensor x = products.sum(2);
    if (variant_ == SamVariant::k2E) x = (x.unsqueeze(2) * products).flatten(1);
    return residual_ ? at::cat({x, f.flatten(1)}, 1) : x;
  }

  [[nodiscard]] at::Tensor interact(at::Tensor f, const Weights& weights) const {
    for (const Interaction& part : interactions_) {
      const at::Tensor s = at::matmul(f, at::matmul(f, weights[part.key]).transpose(1, 2));  // rows x n x n
      // Per token i: S_i. (1 x n) times W_i (n x d), for all rows at once; or f_i * (S f)_i.
      at::Tensor x = variant_ == SamVariant::k3A ? at::bmm(s.transpose(0, 1), weights[part.pair]).transpose(0, 1)
                                                 : f * at::matmul(s, f);
      f = residual_ ? x + at::matmul(f, weights[part.query]) : x;
    }
    return f;
  }

  SamVariant variant_;
  bool residual_;
  at::Tensor first_ = {};  // i and j of the pairs i <= j
  at::Tensor second_ = {};
  std::vector<Interaction> interactions_ = {};
  std::vector<Linear> layers_ = {};
};

}  // namespace

std::unique_ptr<Encoder> make_sam(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                  std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  return std::make_unique<Sam>(shape, options, num_outputs, seed, parameters, tables);
}

}  // namespace limen::train
