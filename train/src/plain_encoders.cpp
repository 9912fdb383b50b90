// SPDX-License-Identifier: MIT
#include "plain_encoders.h"

#include <algorithm>
#include <cmath>

namespace limen::train {
namespace {

at::Tensor linear(const at::Tensor& x, const PlainWeights& weights, const std::string& name) {
  return at::matmul(x, weights.at(name + ".weight")) + weights.at(name + ".bias");
}

at::Tensor norm(const at::Tensor& x, const PlainWeights& weights, const std::string& name) {
  return at::layer_norm(x, {x.size(-1)}) * (1 + weights.at(name + ".scale")) + weights.at(name + ".shift");
}

/// The layers of `hidden`, and the last one.
at::Tensor layers(at::Tensor x, const EncoderOptions& options, const PlainWeights& weights, PlainDropout& drop) {
  const std::size_t last = options.hidden.size();
  for (std::size_t layer = 0; layer < last; ++layer) {
    x = drop(at::relu(linear(x, weights, "layer." + std::to_string(layer))), options.dropout);
  }
  return linear(x, weights, "layer." + std::to_string(last));
}

at::Tensor mlp(const EncoderOptions& options, const PlainWeights& weights, const PlainRows& rows, PlainDropout& drop) {
  std::vector<at::Tensor> inputs = rows.vectors;
  inputs.push_back(rows.numeric);
  return layers(at::cat(inputs, 1), options, weights, drop);
}

/// rows x tokens x width: the numeric inputs, x w_j + b_j and the vector between their knots; then the vectors of the
/// features without knots, with a bias where the encoder has one.
at::Tensor tokens(const FeatureShape& shape, const PlainWeights& weights, const PlainRows& rows) {
  std::vector<at::Tensor> all;
  for (std::size_t input = 0; input < shape.num_numeric; ++input) {
    const auto j = static_cast<std::int64_t>(input);
    all.push_back(rows.numeric.narrow(1, j, 1) * weights.at("token.scale")[j] + weights.at("token.shift")[j]);
  }
  std::vector<bool> has_knots(shape.num_categorical(), false);
  for (const KnotInput& knots : shape.knots) {
    all[knots.numeric] = all[knots.numeric] + rows.vectors[knots.categorical];
    has_knots[knots.categorical] = true;
  }
  std::int64_t other = 0;
  for (std::size_t feature = 0; feature < shape.num_categorical(); ++feature) {
    if (has_knots[feature]) continue;
    const auto bias = weights.find("token.bias");
    all.push_back(bias == weights.end() ? rows.vectors[feature] : rows.vectors[feature] + bias->second[other++]);
  }
  return at::stack(all, 1);
}

/// f: rows x n x d. In the sums below r is a row, i and j are tokens, d and e are numbers of a token's vector.
at::Tensor sam(const EncoderOptions& options, const PlainWeights& weights, at::Tensor f, PlainDropout& drop) {
  at::Tensor x;
  if (options.sam == SamVariant::k2A || options.sam == SamVariant::k2E) {
    const at::Tensor s = at::einsum("rid,rjd->rij", {f, f});
    const at::Tensor upper = at::triu_indices(f.size(1), f.size(1), 0, at::kLong).to(f.device());
    const at::Tensor pair = upper[0] * f.size(1) + upper[1];  // i <= j, row by row of the square
    x = s.flatten(1).index_select(1, pair);
    if (options.sam == SamVariant::k2E) {
      const at::Tensor products = at::einsum("rid,rjd->rijd", {f, f});
      x = (s.unsqueeze(3) * products).flatten(1, 2).index_select(1, pair).flatten(1);
    }
    if (options.residual) x = at::cat({x, f.flatten(1)}, 1);
  } else {
    for (int block = 0; block < options.blocks.value(); ++block) {
      const std::string name = "sam." + std::to_string(block);
      const at::Tensor s = at::einsum("rid,rjd->rij", {f, at::matmul(f, weights.at(name + ".key"))});
      const at::Tensor sum = options.sam == SamVariant::k3A
                                 ? at::einsum("rij,ijd->rid", {s, weights.at(name + ".pair")})
                                 : f * at::einsum("rij,rjd->rid", {s, f});
      f = options.residual ? sum + at::matmul(f, weights.at(name + ".query")) : sum;
    }
    x = f.flatten(1);
  }
  return layers(drop(x, options.dropout), options, weights, drop);
}

/// What the first `count` tokens take from all tokens of x: softmax(Q K^T / sqrt(d / heads)) V per head, joined.
at::Tensor attention(const EncoderOptions& options, const PlainWeights& weights, const std::string& name,
                     const at::Tensor& x, std::int64_t count, PlainDropout& drop) {
  const std::int64_t head = x.size(2) / options.heads.value();
  std::vector<at::Tensor> parts = linear(x, weights, name + ".query_key_value").chunk(3, 2);
  for (at::Tensor& part : parts)
    part = part.unflatten(2, {options.heads.value(), head});  // rows x tokens x heads x head
  const at::Tensor query = parts[0].narrow(1, 0, count);
  const at::Tensor score = at::einsum("rihd,rjhd->rhij", {query, parts[1]}) / std::sqrt(static_cast<double>(head));
  const at::Tensor weight = drop(at::softmax(score, -1), options.attention_dropout);
  return linear(at::einsum("rhij,rjhd->rihd", {weight, parts[2]}).flatten(2), weights, name + ".join");
}

at::Tensor ft_transformer(const EncoderOptions& options, const PlainWeights& weights, const at::Tensor& tokens,
                          PlainDropout& drop) {
  at::Tensor x = at::cat({weights.at("token.cls").expand({tokens.size(0), 1, tokens.size(2)}), tokens}, 1);
  for (int block = 0; block < options.blocks.value(); ++block) {
    const std::string name = "block." + std::to_string(block);
    const at::Tensor normed = block > 0 ? norm(x, weights, name + ".norm.0") : x;
    const std::int64_t count = block + 1 < options.blocks.value() ? x.size(1) : 1;  // at last CLS alone
    x = x.narrow(1, 0, count) + drop(attention(options, weights, name, normed, count, drop), options.dropout);
    const std::vector<at::Tensor> up = linear(norm(x, weights, name + ".norm.1"), weights, name + ".up").chunk(2, 2);
    const at::Tensor gate = options.gated == GatedUnit::kGeglu ? at::gelu(up[1]) : at::relu(up[1]);
    const at::Tensor inner = drop(up[0] * gate, options.feed_forward_dropout);
    x = x + drop(linear(inner, weights, name + ".down"), options.dropout);
  }
  return linear(at::relu(norm(x.select(1, 0), weights, "norm.out")), weights, "layer.out");
}

}  // namespace

at::Tensor PlainDropout::operator()(const at::Tensor& x, double rate) {
  Dropout dropout = dropout_;
  dropout.rate = rate;
  if (!dropout.active()) return x;
  const auto rows = static_cast<std::size_t>(x.size(0));
  const auto width = static_cast<std::size_t>(x.numel()) / rows;
  const std::size_t chunk = dropout.same_for_all_rows ? rows : kChunkRows;
  at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  for (std::size_t row = 0; row < rows; row += chunk) {
    dropout.chunk = row / chunk;
    dropout.fill(calls_, mask.data_ptr<float>() + row * width, std::min(chunk, rows - row), width);
  }
  ++calls_;
  return x * mask.to(x.device());
}

at::Tensor plain_encode(const FeatureShape& shape, const EncoderOptions& options, const PlainWeights& weights,
                        const PlainRows& rows, PlainDropout drop) {
  switch (options.kind) {
    case EncoderKind::kSam:
      return sam(options, weights, tokens(shape, weights, rows), drop);
    case EncoderKind::kFtTransformer:
      return ft_transformer(options, weights, tokens(shape, weights, rows), drop);
    case EncoderKind::kMlp:
      break;
  }
  return mlp(options, weights, rows, drop);
}

}  // namespace limen::train
