// SPDX-License-Identifier: MIT
#include <ATen/ATen.h>

#include <cmath>

#include "attention_tokens.h"

namespace limen::train {
namespace {

struct Norm {
  std::size_t scale = 0;
  std::size_t shift = 0;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, const Weights& weights) const {
    return at::layer_norm(x, {x.size(-1)}, weights[scale] + 1, weights[shift]);
  }
};

class FtTransformer final : public AutogradEncoder {
 public:
  FtTransformer(const FeatureShape& shape, const EncoderOptions& options, int num_outputs, std::uint64_t seed,
                Parameters& parameters, EmbeddingTables& tables)
      : AutogradEncoder(shape, options.embedding.value(), true),
        heads_(options.heads.value()),
        gated_(options.gated),
        attention_dropout_(options.attention_dropout),
        feed_forward_dropout_(options.feed_forward_dropout) {
    add_tokens(shape, seed, parameters, tables);
    const double bound = 1 / std::sqrt(static_cast<double>(width_));
    const std::int64_t inner = 4 * width_ / 3;
    const auto linear = [&](const std::string& name, std::int64_t inputs, std::int64_t outputs, double weight_bound,
                            double bias_bound) {
      return Linear{add(parameters, name + ".weight", {inputs, outputs}, weight_bound, seed, true),
                    add(parameters, name + ".bias", {outputs}, bias_bound, seed, false)};
    };
    const auto usual = [&](const std::string& name, std::int64_t inputs, std::int64_t outputs) {
      const double by_inputs = 1 / std::sqrt(static_cast<double>(inputs));
      return linear(name, inputs, outputs, by_inputs, by_inputs);
    };
    const auto norm = [&](const std::string& name) {
      return Norm{add(parameters, name + ".scale", {width_}, 0, seed, false),
                  add(parameters, name + ".shift", {width_}, 0, seed, false)};
    };
    cls_ = add(parameters, "token.cls", {1, 1, width_}, bound, seed, false);
    for (int at = 0; at < options.blocks.value(); ++at) {
      const std::string name = "block." + std::to_string(at);
      Block block;
      if (at > 0) block.before_attention = norm(name + ".norm.0");
      block.query_key_value = linear(name + ".query_key_value", width_, 3 * width_, bound, 0);
      block.join = linear(name + ".join", width_, width_, bound, 0);
      block.before_forward = norm(name + ".norm.1");
      block.up = usual(name + ".up", width_, 2 * inner);
      block.down = usual(name + ".down", inner, width_);
      blocks_.push_back(block);
    }
    norm_ = norm("norm.out");
    out_ = usual("layer.out", width_, num_outputs);
  }

 protected:
  at::Tensor compute(const at::Tensor& tokens, const Weights& weights, Dropper& drop) const override {
    at::Tensor x = at::cat({weights[cls_].expand({tokens.size(0), 1, width_}), tokens}, 1);
    for (std::size_t at = 0; at < blocks_.size(); ++at) {
      const Block& block = blocks_[at];
      const at::Tensor normed = at > 0 ? block.before_attention(x, weights) : x;
      // Only CLS is looked at behind the last block.
      const bool last = at + 1 == blocks_.size();
      if (last) x = x.narrow(1, 0, 1);
      x = x + drop(attend(block, last ? normed.narrow(1, 0, 1) : normed, normed, weights, drop));
      const std::vector<at::Tensor> halves = block.up(block.before_forward(x, weights), weights).chunk(2, 2);
      const at::Tensor gate = gated_ == GatedUnit::kGeglu ? at::gelu(halves[1]) : at::relu(halves[1]);
      x = x + drop(block.down(drop(halves[0] * gate, feed_forward_dropout_), weights));
    }
    return out_(at::relu(norm_(x.select(1, 0), weights)), weights);
  }

 private:
  struct Block {
    Norm before_attention;  ///< not of the first block
    Linear query_key_value;
    Linear join;
    Norm before_forward;
    Linear up;
    Linear down;
  };

  /// What the tokens `to` take from the tokens `from`.
  [[nodiscard]] at::Tensor attend(const Block& block, const at::Tensor& to, const at::Tensor& from,
                                  const Weights& weights, Dropper& drop) const {
    const std::int64_t rows = from.size(0);
    const std::int64_t head = width_ / heads_;
    // Columns `first` to `first` + `count` of the joint layer: rows x tokens x count -> rows x heads x tokens x head
    const auto project = [&](const at::Tensor& x, std::int64_t first) {
      const at::Tensor weight = weights[block.query_key_value.weight].narrow(1, first * width_, width_);
      const at::Tensor bias = weights[block.query_key_value.bias].narrow(0, first * width_, width_);
      return (at::matmul(x, weight) + bias).view({rows, x.size(1), heads_, head}).transpose(1, 2);
    };
    const at::Tensor query = project(to, 0) * (1 / std::sqrt(static_cast<double>(head)));
    const at::Tensor weight = at::softmax(at::matmul(query, project(from, 1).transpose(2, 3)), -1);
    const at::Tensor mixed = at::matmul(drop(weight, attention_dropout_), project(from, 2));
    return block.join(mixed.transpose(1, 2).reshape({rows, to.size(1), width_}), weights);
  }

  std::int64_t heads_;
  GatedUnit gated_;
  double attention_dropout_;
  double feed_forward_dropout_;
  std::size_t cls_ = 0;
  std::vector<Block> blocks_ = {};
  Norm norm_ = {};
  Linear out_ = {};
};

}  // namespace

std::unique_ptr<Encoder> make_ft_transformer(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                             std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  return std::make_unique<FtTransformer>(shape, options, num_outputs, seed, parameters, tables);
}

}  // namespace limen::train
