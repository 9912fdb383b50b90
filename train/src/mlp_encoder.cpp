// SPDX-License-Identifier: MIT
// Forward and backward by hand: the matrix products are torch's, bias, ReLU and dropout are one pass between them.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "encoder.h"
#include "layer_loops.h"
#include "limen/base/uninitialized_vector.h"

namespace limen::train {
namespace {

struct Layer {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::size_t weight = 0;  // inputs x outputs
  std::size_t bias = 0;
};

at::Tensor view(const float* data, std::int64_t rows, std::int64_t columns) {
  return at::from_blob(const_cast<float*>(data), {rows, columns}, at::kFloat);
}

struct MlpWorkspace final : Encoder::Workspace {
  std::size_t rows = 0;
  float scale = 1;
  // activation[0] is the input: the vectors of the categorical features, then the numbers.
  std::vector<UninitializedVector<float>> activation = {};
  std::vector<std::vector<float>> gradient = {};  // of the outputs of the hidden layers
  std::vector<float> mask = {};
};

class MlpEncoder final : public Encoder {
 public:
  MlpEncoder(std::size_t num_numeric, std::vector<Layer> layers)
      : num_numeric_(num_numeric), layers_(std::move(layers)) {}

  std::unique_ptr<Workspace> make_workspace(std::size_t max_rows) const override {
    auto workspace = std::make_unique<MlpWorkspace>();
    for (const Layer& layer : layers_) {
      workspace->activation.emplace_back(max_rows * static_cast<std::size_t>(layer.inputs));
      workspace->gradient.emplace_back(&layer == layers_.data() ? 0 : workspace->activation.back().size());
    }
    return workspace;
  }

  void forward(const Parameters& parameters, const EmbeddingTables& tables, const ChunkInput& input,
               const Dropout& dropout, bool /*learning*/, Workspace& base, float* out) const override {
    const c10::NoGradGuard no_grad;
    auto& workspace = static_cast<MlpWorkspace&>(base);
    workspace.rows = input.rows;
    workspace.scale = dropout.active() ? dropout.scale() : 1.0F;
    const auto width = static_cast<std::size_t>(layers_[0].inputs);
    float* first = workspace.activation[0].data();
    tables.gather(input.categorical, input.fraction, input.rows, first, width);
    for (std::size_t row = 0; row < input.rows; ++row) {
      for (std::size_t at = 0; at < num_numeric_; ++at) {
        first[row * width + tables.row_width() + at] = input.numeric[row * num_numeric_ + at];
      }
    }
    const auto rows = static_cast<std::int64_t>(input.rows);
    for (std::size_t at = 0; at < layers_.size(); ++at) {
      const Layer& layer = layers_[at];
      const bool last = at + 1 == layers_.size();
      float* to = last ? out : workspace.activation[at + 1].data();
      at::Tensor product = view(to, rows, layer.outputs);
      at::mm_out(product, view(workspace.activation[at].data(), rows, layer.inputs),
                 view(&parameters.value[layer.weight], layer.inputs, layer.outputs));
      const auto outputs = static_cast<std::size_t>(layer.outputs);
      const float* bias = &parameters.value[layer.bias];
      if (last) {
        add_bias(to, bias, input.rows, outputs);
        continue;
      }
      const float* mask = nullptr;
      if (dropout.active()) {
        workspace.mask.resize(input.rows * outputs);
        dropout.fill(at, workspace.mask.data(), input.rows, outputs);
        mask = workspace.mask.data();
      }
      bias_relu(to, bias, mask, input.rows, outputs);
    }
  }

  void backward(const Parameters& parameters, const EmbeddingTables& tables, const float* out_gradient, Workspace& base,
                float* gradient, float* table_gradient) const override {
    const c10::NoGradGuard no_grad;
    auto& workspace = static_cast<MlpWorkspace&>(base);
    const auto rows = static_cast<std::int64_t>(workspace.rows);
    for (std::size_t at = layers_.size(); at-- > 0;) {
      const Layer& layer = layers_[at];
      const bool last = at + 1 == layers_.size();
      const float* from = out_gradient;
      const auto outputs = static_cast<std::size_t>(layer.outputs);
      if (last) {
        column_sums(from, gradient + layer.bias, workspace.rows, outputs);
      } else {
        float* own = workspace.gradient[at + 1].data();
        relu_backward(own, workspace.activation[at + 1].data(), workspace.scale, gradient + layer.bias, workspace.rows,
                      outputs);
        from = own;
      }
      const at::Tensor delta = view(from, rows, layer.outputs);
      at::Tensor sum = view(gradient + layer.weight, layer.inputs, layer.outputs);
      at::addmm_out(sum, sum, view(workspace.activation[at].data(), rows, layer.inputs).t(), delta);
      // The numeric inputs need no gradient; they are the last rows of the first layer's weights.
      const std::int64_t inputs = at == 0 ? static_cast<std::int64_t>(tables.row_width()) : layer.inputs;
      if (inputs == 0) continue;
      at::Tensor below = view(at == 0 ? table_gradient : workspace.gradient[at].data(), rows, inputs);
      at::mm_out(below, delta, view(&parameters.value[layer.weight], inputs, layer.outputs).t());
    }
  }

 private:
  std::size_t num_numeric_;
  std::vector<Layer> layers_;
};

}  // namespace

void make_torch_serial() {
  // The setting is partly one of the calling thread.
  static thread_local const bool done = [] {
    at::set_num_threads(1);
    return true;
  }();
  (void)done;
}

std::unique_ptr<Encoder> make_mlp(const FeatureShape& shape, const EncoderOptions& options, int num_outputs,
                                  std::uint64_t seed, Parameters& parameters, EmbeddingTables& tables) {
  // Small vectors at first: what a rare token adds is learned, not drawn.
  constexpr double kDeviation = 0.05;
  std::vector<int> widths;
  for (const std::int32_t tokens : shape.num_tokens)
    widths.push_back(embedding_width(tokens, options.embedding.value()));
  tables = EmbeddingTables(shape, widths, kDeviation, seed);
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(tables.row_width() + shape.num_numeric)};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  sizes.push_back(num_outputs);
  std::vector<Layer> layers;
  for (std::size_t at = 0; at + 1 < sizes.size(); ++at) {
    Layer layer = {.inputs = sizes[at], .outputs = sizes[at + 1]};
    const std::string name = "layer." + std::to_string(at);
    layer.weight = parameters.add(name + ".weight", {layer.inputs, layer.outputs}, true);
    layer.bias = parameters.add(name + ".bias", {layer.outputs}, false);
    set_uniform(parameters, layer.weight, 1 / std::sqrt(static_cast<double>(layer.inputs)), seed);
    set_uniform(parameters, layer.bias, 1 / std::sqrt(static_cast<double>(layer.inputs)), seed);
    layers.push_back(layer);
  }
  return std::make_unique<MlpEncoder>(shape.num_numeric, std::move(layers));
}

}  // namespace limen::train
