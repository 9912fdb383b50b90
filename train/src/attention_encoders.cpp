// SPDX-License-Identifier: MIT
#include <ATen/ATen.h>

#include <cmath>

#include "attention_tokens.h"

namespace limen::train {
namespace {

/// A linear layer's place in Weights: inputs x outputs, then the bias.
struct Linear {
  std::size_t weight = 0;
  std::size_t bias = 0;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, const Weights& weights) const {
    return at::matmul(x, weights[weight]) + weights[bias];
  }
};

struct Norm {
  std::size_t scale = 0;
  std::size_t shift = 0;

  [[nodiscard]] at::Tensor operator()(const at::Tensor& x, const Weights& weights) const {
    return at::layer_norm(x, {x.size(-1)}, weights[scale] + 1, weights[shift]);
  }
};

class Sam final : public AutogradEncoder {
 public:
  Sam(const FeatureShape& shape, const EncoderOptions& options, int num_outputs, std::uint64_t seed,
      Parameters& parameters, EmbeddingTables& tables)
      : AutogradEncoder(shape, options.embedding, false), variant_(options.sam), residual_(options.residual) {
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
      for (int block = 0; block < options.blocks; ++block) {
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

class FtTransformer final : public AutogradEncoder {
 public:
  FtTransformer(const FeatureShape& shape, const EncoderOptions& options, int num_outputs, std::uint64_t seed,
                Parameters& parameters, EmbeddingTables& tables)
      : AutogradEncoder(shape, options.embedding, true), heads_(options.heads), gated_(options.gated) {
    add_tokens(shape, seed, parameters, tables);
    const double bound = 1 / std::sqrt(static_cast<double>(width_));
    const std::int64_t inner = (4 * width_ + 2) / 3;
    const auto linear = [&](const std::string& name, std::int64_t inputs, std::int64_t outputs) {
      const double layer_bound = 1 / std::sqrt(static_cast<double>(inputs));
      return Linear{add(parameters, name + ".weight", {inputs, outputs}, layer_bound, seed, true),
                    add(parameters, name + ".bias", {outputs}, 0, seed, false)};
    };
    const auto norm = [&](const std::string& name) {
      return Norm{add(parameters, name + ".scale", {width_}, 0, seed, false),
                  add(parameters, name + ".shift", {width_}, 0, seed, false)};
    };
    cls_ = add(parameters, "token.cls", {1, 1, width_}, bound, seed, false);
    for (int at = 0; at < options.blocks; ++at) {
      const std::string name = "block." + std::to_string(at);
      blocks_.push_back({norm(name + ".norm.0"), linear(name + ".query_key_value", width_, 3 * width_),
                         linear(name + ".join", width_, width_), norm(name + ".norm.1"),
                         linear(name + ".up", width_, 2 * inner), linear(name + ".down", inner, width_)});
    }
    norm_ = norm("norm.out");
    out_ = linear("layer.out", width_, num_outputs);
  }

 protected:
  at::Tensor compute(const at::Tensor& tokens, const Weights& weights, Dropper& drop) const override {
    at::Tensor x = at::cat({weights[cls_].expand({tokens.size(0), 1, width_}), tokens}, 1);
    for (const Block& block : blocks_) {
      x = x + drop(attend(block, block.before_attention(x, weights), weights));
      const std::vector<at::Tensor> halves = block.up(block.before_forward(x, weights), weights).chunk(2, 2);
      const at::Tensor gate = gated_ == GatedUnit::kGeglu ? at::gelu(halves[1]) : at::relu(halves[1]);
      x = x + drop(block.down(halves[0] * gate, weights));
    }
    return out_(at::relu(norm_(x.select(1, 0), weights)), weights);
  }

 private:
  struct Block {
    Norm before_attention;
    Linear query_key_value;
    Linear join;
    Norm before_forward;
    Linear up;
    Linear down;
  };

  [[nodiscard]] at::Tensor attend(const Block& block, const at::Tensor& x, const Weights& weights) const {
    const std::int64_t rows = x.size(0);
    const std::int64_t tokens = x.size(1);
    const std::int64_t head = width_ / heads_;
    // rows x tokens x 3 x heads x head -> 3 x rows x heads x tokens x head
    const at::Tensor parts =
        block.query_key_value(x, weights).view({rows, tokens, 3, heads_, head}).permute({2, 0, 3, 1, 4});
    const at::Tensor query = parts[0] * (1 / std::sqrt(static_cast<double>(head)));
    const at::Tensor weight = at::softmax(at::matmul(query, parts[1].transpose(2, 3)), -1);
    return block.join(at::matmul(weight, parts[2]).transpose(1, 2).reshape({rows, tokens, width_}), weights);
  }

  std::int64_t heads_;
  GatedUnit gated_;
  std::size_t cls_ = 0;
  std::vector<Block> blocks_ = {};
  Norm norm_ = {};
  Linear out_ = {};
};

}  // namespace

std::unique_ptr<Encoder> make_sam(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                  std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  return std::make_unique<Sam>(shape, options, num_outputs, seed, parameters, tables);
}

std::unique_ptr<Encoder> make_ft_transformer(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                             std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  return std::make_unique<FtTransformer>(shape, options, num_outputs, seed, parameters, tables);
}

std::unique_ptr<Encoder> make_encoder(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                      std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  switch (options.kind) {
    case EncoderKind::kSam:
      return make_sam(shape, options, num_outputs, seed, parameters, tables);
    case EncoderKind::kFtTransformer:
      return make_ft_transformer(shape, options, num_outputs, seed, parameters, tables);
    case EncoderKind::kMlp:
      break;
  }
  return make_mlp(shape, options, num_outputs, seed, parameters, tables);
}

}  // namespace limen::train
