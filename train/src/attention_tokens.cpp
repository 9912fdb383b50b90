// SPDX-License-Identifier: MIT
#include "attention_tokens.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <cstring>

#include "layer_loops.h"

namespace limen::train {
namespace {

struct AutogradWorkspace final : Encoder::Workspace {
  Weights weights = {};
  at::Tensor embedded = {};
  at::Tensor out = {};
};

at::Tensor view(const float* data, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(data), shape, at::kFloat);
}

}  // namespace

at::Tensor Dropper::operator()(const at::Tensor& value, double rate) {
  Dropout dropout = dropout_;
  dropout.rate = rate;
  if (!dropout.active()) return value;
  at::Tensor mask = at::empty(value.sizes(), at::kFloat);
  const auto rows = static_cast<std::size_t>(mask.size(0));
  dropout.fill(calls_++, mask.data_ptr<float>(), rows, static_cast<std::size_t>(mask.numel()) / rows);
  return value * mask;
}

AutogradEncoder::AutogradEncoder(const FeatureShape& shape, int width, bool categorical_bias)
    : width_(width),
      num_numeric_(static_cast<std::int64_t>(shape.num_numeric)),
      num_categorical_(static_cast<std::int64_t>(shape.num_categorical())),
      categorical_bias_(categorical_bias) {
  std::vector<std::int64_t> knots;
  std::vector<std::int64_t> numeric_of;
  std::vector<std::int64_t> others;
  for (std::int64_t feature = 0; feature < num_categorical_; ++feature) {
    const bool has_knots = knots.size() < shape.knots.size() &&
                           static_cast<std::int64_t>(shape.knots[knots.size()].categorical) == feature;
    if (has_knots) numeric_of.push_back(static_cast<std::int64_t>(shape.knots[knots.size()].numeric));
    (has_knots ? knots : others).push_back(feature);
  }
  knots_ = at::tensor(knots, at::kLong);
  numeric_of_ = at::tensor(numeric_of, at::kLong);
  others_ = at::tensor(others, at::kLong);
  num_tokens_ = num_numeric_ + others_.numel();
}

std::unique_ptr<Encoder::Workspace> AutogradEncoder::make_workspace(std::size_t /*max_rows*/) const {
  return std::make_unique<AutogradWorkspace>();
}

at::Tensor AutogradEncoder::tokens(const at::Tensor& numeric, const at::Tensor& embedded,
                                   const Weights& weights) const {
  std::vector<at::Tensor> parts;
  if (num_numeric_ > 0) parts.push_back(numeric.unsqueeze(2) * weights[scale_] + weights[shift_]);
  if (knots_.numel() > 0) parts[0] = parts[0].index_add(1, numeric_of_, embedded.index_select(1, knots_));
  if (others_.numel() > 0) {
    const at::Tensor others = knots_.numel() > 0 ? embedded.index_select(1, others_) : embedded;
    parts.push_back(categorical_bias_ ? others + weights[bias_] : others);
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

void AutogradEncoder::forward(const Parameters& parameters, const EmbeddingTables& tables, const ChunkInput& input,
                              const Dropout& dropout, bool learning, Workspace& base, float* out) const {
  auto& workspace = static_cast<AutogradWorkspace&>(base);
  const c10::AutoGradMode mode(learning);
  const auto rows = static_cast<std::int64_t>(input.rows);
  workspace.weights.clear();
  for (const Parameter& parameter : parameters.list) {
    workspace.weights.push_back(view(&parameters.value[parameter.offset], parameter.shape).requires_grad_(learning));
  }
  workspace.embedded = at::empty({rows, num_categorical_, width_}, at::kFloat);
  tables.gather(input.categorical, input.fraction, input.rows, workspace.embedded.data_ptr<float>(),
                tables.row_width());
  workspace.embedded.requires_grad_(learning);
  Dropper drop(dropout);
  const at::Tensor numeric = view(input.numeric, {rows, num_numeric_});
  workspace.out = compute(tokens(numeric, workspace.embedded, workspace.weights), workspace.weights, drop).contiguous();
  std::memcpy(out, workspace.out.data_ptr<float>(), static_cast<std::size_t>(workspace.out.numel()) * sizeof(float));
}

void AutogradEncoder::backward(const Parameters& parameters, const EmbeddingTables& /*tables*/,
                               const float* out_gradient, Workspace& base, float* gradient,
                               float* table_gradient) const {
  auto& workspace = static_cast<AutogradWorkspace&>(base);
  std::vector<at::Tensor> inputs = workspace.weights;
  if (num_categorical_ > 0) inputs.push_back(workspace.embedded);
  const at::Tensor delta = view(out_gradient, workspace.out.sizes());
  const std::vector<at::Tensor> gradients =
      torch::autograd::grad({workspace.out}, inputs, {delta}, c10::nullopt, false, true);
  for (std::size_t at = 0; at < parameters.list.size(); ++at) {
    if (!gradients[at].defined()) continue;
    const Parameter& parameter = parameters.list[at];
    train::add(gradient + parameter.offset, gradients[at].contiguous().data_ptr<float>(), parameter.size);
  }
  if (num_categorical_ > 0) {
    const at::Tensor rows = gradients.back().contiguous();
    std::memcpy(table_gradient, rows.data_ptr<float>(), static_cast<std::size_t>(rows.numel()) * sizeof(float));
  }
  workspace = {};
}

std::size_t AutogradEncoder::add(Parameters& parameters, const std::string& name, std::vector<std::int64_t> shape,
                                 double bound, std::uint64_t seed, bool decays) {
  const std::size_t offset = parameters.add(name, std::move(shape), decays);
  set_uniform(parameters, offset, bound, seed);
  return parameters.list.size() - 1;
}

void AutogradEncoder::add_tokens(const FeatureShape& shape, std::uint64_t seed, Parameters& parameters,
                                 EmbeddingTables& tables) {
  const double bound = 1 / std::sqrt(static_cast<double>(width_));
  if (num_numeric_ > 0) {
    scale_ = add(parameters, "token.scale", {num_numeric_, width_}, bound, seed, false);
    shift_ = add(parameters, "token.shift", {num_numeric_, width_}, bound, seed, false);
  }
  if (others_.numel() > 0 && categorical_bias_) {
    bias_ = add(parameters, "token.bias", {others_.numel(), width_}, bound, seed, false);
  }
  // The deviation of a uniform number in -bound to bound.
  const std::vector<int> widths(shape.num_tokens.size(), static_cast<int>(width_));
  tables = EmbeddingTables(shape, widths, bound / std::sqrt(3.0), seed);
}

}  // namespace limen::train
