// SPDX-License-Identifier: MIT
#include "plain_network.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/GradMode.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "density_head.h"
#include "encoder.h"
#include "latent_norm.h"
#include "network_state.h"
#include "plain_adam.h"
#include "plain_encoders.h"
#include "plain_heads.h"
#include "plain_tables.h"
#include "validate.h"

namespace limen::train {
namespace {

/// Predictions are of this many rows at a time, filled up with zeros where the batch ends, so that a row's numbers do
/// not depend on how many others there are: see FusedNetwork::predict_chunk.
constexpr std::int64_t kPredictRows = 1024;

template <typename Number>
at::Tensor matrix(std::span<const Number> values, std::size_t rows, std::size_t columns, at::ScalarType type) {
  at::Tensor copy = at::empty({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}, type);
  std::copy(values.begin(), values.end(), copy.data_ptr<Number>());
  return copy;
}

PlainInputs inputs_of(const FeatureShape& shape, const BatchView& batch, const at::Device& device) {
  const std::size_t rows = batch.num_rows;
  return {matrix(batch.numeric, rows, shape.num_numeric, at::kFloat).to(device),
          matrix(batch.categorical, rows, shape.num_categorical(), at::kInt).to(device, at::kLong),
          matrix(batch.fraction, rows, shape.knots.size(), at::kFloat).to(device)};
}

class PlainNetwork final : public AnyNetwork {
 public:
  PlainNetwork(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
               std::uint64_t seed, const std::string& device);

  double train_step(const BatchView& batch, const StepOptions& options) override;
  [[nodiscard]] NetworkOutput predict(const BatchView& batch, std::uint64_t seed) const override;
  [[nodiscard]] std::vector<NamedArray> state(bool optimizer) const override;
  void load_state(const std::vector<NamedArray>& arrays, bool optimizer) override;

 private:
  /// An array of the state and the tensor that holds it.
  struct Place {
    ArrayRule rule = {};
    at::Tensor tensor = {};
  };
  /// What a batch gives on the way to its loss.
  struct Pass {
    PlainWeights weights = {};
    std::vector<PlainLookup> lookups = {};
    at::Tensor mean = {};  ///< of the latent, with batch norm
    at::Tensor variance = {};
    at::Tensor loss = {};
  };
  [[nodiscard]] Pass forward(const BatchView& batch, const StepOptions& options) const;
  [[nodiscard]] std::vector<Place> places(bool optimizer) const;
  [[nodiscard]] std::vector<PlainWeight> weights_of(const Parameters& parameters) const;
  [[nodiscard]] at::Tensor tensor_of(const float* values, at::IntArrayRef shape) const;
  [[nodiscard]] bool has_density() const { return has_evidence(options_.head.kind); }
  [[nodiscard]] PlainWeights named(bool encoder_learns, bool head_learns) const;
  [[nodiscard]] NetworkOutput predict_chunk(const PlainInputs& inputs, std::uint64_t seed) const;

  FeatureShape shape_;
  ModelOptions options_;
  std::array<double, 2> class_counts_;
  at::Device device_;
  std::vector<PlainWeight> encoder_ = {};
  std::vector<PlainWeight> head_ = {};
  std::vector<PlainWeight> norm_ = {};  ///< scale less 1 and shift of the latent's batch norm
  std::vector<PlainTable> tables_ = {};
  at::Tensor norm_mean_ = {};  ///< over past batches; not defined: there is no norm
  at::Tensor norm_variance_ = {};
  AdamClock encoder_clock_ = {};
  AdamClock head_clock_ = {};  ///< of head and norm; densities also learn alone
};

at::Tensor PlainNetwork::tensor_of(const float* values, at::IntArrayRef shape) const {
  return at::from_blob(const_cast<float*>(values), shape, at::kFloat).clone().to(device_);
}

std::vector<PlainWeight> PlainNetwork::weights_of(const Parameters& parameters) const {
  std::vector<PlainWeight> weights;
  for (const Parameter& one : parameters.list) {
    const at::Tensor value = tensor_of(&parameters.value[one.offset], one.shape);
    weights.push_back({one.name, one.decays, value, at::zeros_like(value), at::zeros_like(value)});
  }
  return weights;
}

// Names, shapes and first values are declared once, where the fused network has them.
PlainNetwork::PlainNetwork(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
                           std::uint64_t seed, const std::string& device)
    : shape_(shape), options_(options), class_counts_(class_counts), device_(device) {
  validate(shape, options, class_counts);
  make_torch_serial();
  Parameters parameters;
  EmbeddingTables tables;
  (void)make_encoder(shape, options.encoder, has_density() ? options.head.latent : 1, seed, parameters, tables);
  encoder_ = weights_of(parameters);
  for (std::size_t feature = 0; feature < tables.tables().size(); ++feature) {
    const EmbeddingTables::Table& from = tables.tables()[feature];
    const auto tokens = static_cast<std::int64_t>(from.num_tokens);
    PlainTable table;
    const at::Tensor value = tensor_of(&tables.value[from.offset], {tokens, static_cast<std::int64_t>(from.width)});
    table.weight = {"embedding." + std::to_string(feature), false, value, at::zeros_like(value), at::zeros_like(value)};
    table.steps = at::zeros({tokens}, value.options());
    if (from.fraction != EmbeddingTables::kNone) table.fraction = static_cast<std::int64_t>(from.fraction);
    tables_.push_back(table);
  }
  if (!has_density()) return;
  head_ = weights_of(make_density_head(options.head, class_counts, seed)->parameters);
  if (options.head.batch_norm) {
    const LatentNorm norm(static_cast<std::size_t>(options.head.latent));
    norm_ = weights_of(norm.parameters);
    norm_mean_ = tensor_of(norm.mean.data(), {options.head.latent});
    norm_variance_ = tensor_of(norm.variance.data(), {options.head.latent});
  }
}

/// The weights by name; those that learn are leaves of autograd.
PlainWeights PlainNetwork::named(bool encoder_learns, bool head_learns) const {
  PlainWeights all;
  for (const PlainWeight& weight : encoder_) all[weight.name] = weight.value.detach().requires_grad_(encoder_learns);
  for (const PlainWeight& weight : norm_) all[weight.name] = weight.value.detach().requires_grad_(encoder_learns);
  for (const PlainWeight& weight : head_) all[weight.name] = weight.value.detach().requires_grad_(head_learns);
  return all;
}

PlainNetwork::Pass PlainNetwork::forward(const BatchView& batch, const StepOptions& options) const {
  const bool learning = !options.densities_only;
  const PlainInputs inputs = inputs_of(shape_, batch, device_);
  const at::Tensor label = matrix(batch.label, batch.num_rows, 1, at::kByte).to(device_, at::kDouble).squeeze(1);
  Pass pass = {.weights = named(learning, true)};
  PlainRows rows = {inputs.numeric, {}};
  for (std::size_t feature = 0; feature < tables_.size(); ++feature) {
    pass.lookups.push_back(look_up(tables_[feature], inputs, static_cast<std::int64_t>(feature), learning));
    rows.vectors.push_back(pass.lookups.back().rows);
  }
  const PlainDropout drop({.on = learning, .seed = options.seed});
  at::Tensor z = plain_encode(shape_, options_.encoder, pass.weights, rows, drop).to(at::kDouble);
  if (!has_density()) {
    pass.loss = plain_logit_loss(z.squeeze(1), label).mean();
    return pass;
  }
  if (norm_mean_.defined()) {
    pass.mean = z.mean(0);
    pass.variance = (z - pass.mean).square().mean(0);
    z = plain_norm(z, pass.mean, pass.variance, pass.weights);
  }
  const PlainPosterior posterior = plain_posterior(options_.head, class_counts_, pass.weights, z);
  pass.loss = (learning ? plain_beta_loss(posterior, label, options_.head.regularizer)
                        : plain_likelihood_loss(posterior, label))
                  .mean();
  return pass;
}

double PlainNetwork::train_step(const BatchView& given, const StepOptions& options) {
  check_batch("train_step", shape_, given, true);
  validate(options, options_.head.kind);
  make_torch_serial();
  const bool learning = !options.densities_only;  // encoder, embeddings and norm learn, too
  std::vector<std::int32_t> tokens(given.categorical.begin(), given.categorical.end());
  if (learning && options.token_dropout > 0) drop_tokens(shape_, options.token_dropout, options.seed, tokens);
  BatchView batch = given;
  batch.categorical = tokens;
  const Pass pass = forward(batch, options);

  // Gradients: of the weights that learn, then of the vectors of the batch's tokens.
  std::vector<PlainWeight*> learners;
  const auto add = [&](std::vector<PlainWeight>& some) {
    for (PlainWeight& weight : some) learners.push_back(&weight);
  };
  if (learning) add(encoder_);
  const std::size_t first_of_head = learners.size();
  add(head_);
  if (learning) add(norm_);
  std::vector<at::Tensor> leaves;
  for (const PlainWeight* weight : learners) leaves.push_back(pass.weights.at(weight->name));
  for (const PlainLookup& lookup : pass.lookups) {
    if (learning) leaves.push_back(lookup.vector);
  }
  std::vector<at::Tensor> gradients = torch::autograd::grad({pass.loss}, leaves, {}, c10::nullopt, false, true);
  const c10::NoGradGuard no_grad;
  double square = 0;
  for (std::size_t at = 0; at < leaves.size(); ++at) {
    if (!gradients[at].defined()) gradients[at] = at::zeros_like(leaves[at]);  // has no part in this loss
    square += gradients[at].to(at::kDouble).square().sum().item<double>();
  }
  const double loss = pass.loss.item<double>();
  if (!std::isfinite(loss) || !std::isfinite(square)) return std::numeric_limits<double>::quiet_NaN();

  // Clipping, and the step.
  const double length = std::sqrt(square);
  const double scale = options.clip > 0 && length > options.clip ? options.clip / length : 1.0;
  if (learning) ++encoder_clock_.steps;
  if (has_density()) ++head_clock_.steps;
  for (std::size_t at = 0; at < learners.size(); ++at) {
    const AdamClock& clock = at < first_of_head ? encoder_clock_ : head_clock_;
    const at::Tensor step = at::scalar_tensor(static_cast<double>(clock.steps), at::kDouble).to(device_);
    plain_adam(*learners[at], scale * gradients[at], step, options.learning_rate, options.weight_decay);
  }
  for (std::size_t feature = 0; learning && feature < tables_.size(); ++feature) {
    step_table(tables_[feature], pass.lookups[feature].touched, scale * gradients[learners.size() + feature],
               options.embedding_rate * options.learning_rate, options.embedding_l2);
  }
  if (norm_mean_.defined()) {
    const auto count = static_cast<double>(batch.num_rows);
    const double unbiased = count > 1 ? count / (count - 1) : 1.0;
    norm_mean_ += LatentNorm::kMomentum * (pass.mean - norm_mean_);
    norm_variance_ += LatentNorm::kMomentum * (unbiased * pass.variance - norm_variance_);
  }
  return loss;
}

NetworkOutput PlainNetwork::predict_chunk(const PlainInputs& inputs, std::uint64_t seed) const {
  const PlainWeights weights = named(false, false);
  PlainRows rows = {inputs.numeric, {}};
  for (std::size_t feature = 0; feature < tables_.size(); ++feature) {
    rows.vectors.push_back(look_up(tables_[feature], inputs, static_cast<std::int64_t>(feature), false).rows);
  }
  if (has_density()) {
    at::Tensor z = plain_encode(shape_, options_.encoder, weights, rows, PlainDropout({})).to(at::kDouble);
    if (norm_mean_.defined()) {
      z = plain_norm(z, norm_mean_.to(at::kDouble), norm_variance_.to(at::kDouble), weights);
    }
    return plain_output(plain_posterior(options_.head, class_counts_, weights, z));
  }
  const bool dropout = options_.head.kind == Head::kMcDropout;
  std::vector<at::Tensor> passes;
  for (int pass = 0; pass < (dropout ? options_.head.passes : 1); ++pass) {
    CounterRandom random(seed, static_cast<std::uint64_t>(pass));
    const PlainDropout drop({.on = dropout, .seed = random.next(), .same_for_all_rows = true});
    const at::Tensor logit = plain_encode(shape_, options_.encoder, weights, rows, drop).squeeze(1).to(at::kDouble);
    passes.push_back(at::sigmoid(logit));
  }
  return plain_output(at::stack(passes));
}

NetworkOutput PlainNetwork::predict(const BatchView& batch, std::uint64_t seed) const {
  check_batch("predict", shape_, batch, false);
  make_torch_serial();
  const c10::NoGradGuard no_grad;
  const PlainInputs all = inputs_of(shape_, batch, device_);
  NetworkOutput out;
  for (std::int64_t begin = 0; begin < static_cast<std::int64_t>(batch.num_rows); begin += kPredictRows) {
    const std::int64_t rows = std::min(kPredictRows, static_cast<std::int64_t>(batch.num_rows) - begin);
    const auto part = [&](const at::Tensor& from) {
      at::Tensor filled = at::zeros({kPredictRows, from.size(1)}, from.options());
      filled.narrow(0, 0, rows).copy_(from.narrow(0, begin, rows));
      return filled;
    };
    NetworkOutput chunk = predict_chunk({part(all.numeric), part(all.token), part(all.fraction)}, seed);
    const auto append = [rows](std::vector<double>& to, const std::vector<double>& from) {
      if (!from.empty()) to.insert(to.end(), from.begin(), from.begin() + rows);
    };
    append(out.score, chunk.score);
    append(out.entropy, chunk.entropy);
    append(out.evidence, chunk.evidence);
    append(out.variance, chunk.variance);
    append(out.mutual_information, chunk.mutual_information);
  }
  return out;
}

std::vector<PlainNetwork::Place> PlainNetwork::places(bool optimizer) const {
  std::vector<Place> weights;
  std::vector<Place> moments;
  const auto add = [&](const PlainWeight& weight) {
    weights.push_back({{weight.name, weight.value.sizes().vec(), false}, weight.value});
    moments.push_back({{"adam.first." + weight.name, weight.value.sizes().vec(), false}, weight.first});
    moments.push_back({{"adam.second." + weight.name, weight.value.sizes().vec(), true}, weight.second});
  };
  for (const std::vector<PlainWeight>* some : {&encoder_, &head_, &norm_}) {
    for (const PlainWeight& weight : *some) add(weight);
  }
  for (const PlainTable& table : tables_) {
    add(table.weight);
    moments.push_back({{"adam.steps." + table.weight.name, table.steps.sizes().vec(), true}, table.steps});
  }
  if (norm_mean_.defined()) {
    weights.push_back({{"norm.mean", norm_mean_.sizes().vec(), false}, norm_mean_});
    weights.push_back({{"norm.variance", norm_variance_.sizes().vec(), true}, norm_variance_});
  }
  if (optimizer) weights.insert(weights.end(), moments.begin(), moments.end());
  return weights;
}

std::vector<NamedArray> PlainNetwork::state(bool optimizer) const {
  std::vector<NamedArray> arrays;
  for (const Place& place : places(optimizer)) {
    const at::Tensor host = place.tensor.to(at::kCPU).contiguous();
    const float* values = host.data_ptr<float>();
    arrays.push_back({place.rule.name, place.rule.shape, {values, values + host.numel()}});
  }
  if (optimizer) arrays.push_back(clock_array(encoder_clock_, head_clock_));
  return arrays;
}

void PlainNetwork::load_state(const std::vector<NamedArray>& arrays, bool optimizer) {
  const std::vector<Place> wanted = places(optimizer);
  std::vector<ArrayRule> rules;
  for (const Place& place : wanted) rules.push_back(place.rule);
  if (optimizer) rules.push_back(clock_rule());
  // Everything is checked before anything is written.
  const std::vector<const NamedArray*> found = checked_arrays(rules, arrays);
  const c10::NoGradGuard no_grad;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    wanted[at].tensor.copy_(tensor_of(found[at]->values.data(), found[at]->shape));
  }
  if (optimizer) read_clocks(*found.back(), encoder_clock_, head_clock_);
}

}  // namespace

std::unique_ptr<AnyNetwork> make_plain_network(const FeatureShape& shape, const ModelOptions& options,
                                               std::array<double, 2> class_counts, std::uint64_t seed,
                                               const std::string& device) {
  return std::make_unique<PlainNetwork>(shape, options, class_counts, seed, device);
}

// The part of torch that knows CUDA is large and needs a driver: it is loaded when it is asked for, from the folder of
// the other parts.
std::string cuda_error() {
  static void* const part = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL);
  if (part == nullptr) {
    return "limen was built with a torch that computes on the processor alone: build it with one for CUDA "
           "(LIMEN_TORCH_DIR), or compute on cpu";
  }
  if (!at::globalContext().hasCUDA()) return "torch finds no CUDA device: compute on cpu";
  return {};
}

}  // namespace limen::train
