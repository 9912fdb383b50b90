// SPDX-License-Identifier: MIT
#include "fused_network.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "layer_loops.h"
#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/uninitialized_vector.h"
#include "validate.h"

namespace limen::train {
namespace {

constexpr std::size_t kMaxGroups = 16;
constexpr std::size_t kPredictRows = 256;

// Each task to whoever is free, one at a time.
template <typename Body>
void for_tasks(std::size_t count, const Body& body) {
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, 1),
      [&](const auto& range) {
        for (std::size_t task = range.begin(); task < range.end(); ++task) body(task);
      },
      tbb::simple_partitioner());
}

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// Entropy of a coin, in nats.
double coin_entropy(double p) {
  const double q = 1 - p;
  return (p > 0 ? -p * std::log(p) : p * 0) + (q > 0 ? -q * std::log(q) : 0);
}

std::size_t ceil_div(std::size_t number, std::size_t by) { return (number + by - 1) / by; }

}  // namespace

// Memory that is kept from step to step.
struct FusedNetwork::Buffers {
  std::vector<std::unique_ptr<Encoder::Workspace>> workspace = {};  // per group; with batch norm per chunk
  std::vector<std::int32_t> tokens = {};                            // of a batch of which some are dropped
  std::vector<float> output = {};
  std::vector<float> output_gradient = {};
  std::vector<float> norm_gradient = {};
  std::vector<float> table_gradient = {};
  std::vector<std::vector<float>> gradient = {};        // per group
  std::vector<std::vector<double>> head_gradient = {};  // per group
  std::vector<std::vector<double>> scratch = {};        // per group
  std::vector<Parameters::Block> blocks = {};           // of the encoder's weights
  // The network's own: making one for each step would make its threads look for work anew each time.
  tbb::task_arena arena;

  explicit Buffers(int num_threads) : arena(limen::detail::arena_size(num_threads)) {}
};

// Memory of one thread while it predicts.
struct FusedNetwork::PredictBuffers {
  std::unique_ptr<Encoder::Workspace> workspace;
  UninitializedVector<float> outputs = {};
  std::vector<double> scratch = {};
  std::vector<float> numeric = {};  // of a chunk that is filled up
  std::vector<std::int32_t> categorical = {};
  std::vector<float> fraction = {};
};

struct FusedNetwork::Batch {
  const BatchView& view;
  const StepOptions& options;
  std::size_t num_chunks = 0;
  std::size_t num_groups = 0;

  Batch(const BatchView& batch, const StepOptions& step)
      : view(batch),
        options(step),
        num_chunks(ceil_div(batch.num_rows, kChunkRows)),
        num_groups(std::min(num_chunks, kMaxGroups)) {}
  [[nodiscard]] std::size_t begin(std::size_t chunk) const { return chunk * kChunkRows; }
  [[nodiscard]] std::size_t size(std::size_t chunk) const { return std::min(kChunkRows, view.num_rows - begin(chunk)); }
  [[nodiscard]] std::size_t first_chunk(std::size_t group) const { return group * num_chunks / num_groups; }
};

FusedNetwork::FusedNetwork(const FeatureShape& shape, const ModelOptions& options, std::array<double, 2> class_counts,
                           std::uint64_t seed, int num_threads)
    : shape_(shape), options_(options), buffers_(std::make_shared<Buffers>(num_threads)) {
  validate(shape, options, class_counts);
  const bool density = has_evidence(options.head.kind);
  num_outputs_ = density ? options.head.latent : 1;
  encoder_ = make_encoder(shape, options.encoder, num_outputs_, seed, parameters_, tables_);
  buffers_->blocks = parameters_.blocks();
  if (density) {
    head_ = make_density_head(options.head, class_counts, seed);
    if (options.head.batch_norm) norm_ = LatentNorm(static_cast<std::size_t>(options.head.latent));
  }
}

void FusedNetwork::check(const char* function, const BatchView& batch, bool labels) const {
  check_batch(function, shape_, batch, labels);
}

void FusedNetwork::forward_chunk(const Batch& batch, std::size_t chunk, Encoder::Workspace& workspace) {
  const std::size_t row = batch.begin(chunk);
  const ChunkInput input = {batch.size(chunk), batch.view.numeric.data() + row * shape_.num_numeric,
                            batch.view.categorical.data() + row * shape_.num_categorical(),
                            batch.view.fraction.data() + row * shape_.knots.size()};
  const Dropout dropout = {.on = !batch.options.densities_only,
                           .rate = options_.encoder.dropout,
                           .seed = batch.options.seed,
                           .chunk = chunk};
  encoder_->forward(parameters_, tables_, input, dropout, !batch.options.densities_only, workspace,
                    &buffers_->output[row * static_cast<std::size_t>(num_outputs_)]);
}

double FusedNetwork::loss_chunk(const Batch& batch, std::size_t chunk, std::size_t group) {
  const std::size_t row = batch.begin(chunk);
  const std::size_t rows = batch.size(chunk);
  const std::uint8_t* label = batch.view.label.data() + row;
  const double weight = 1 / static_cast<double>(batch.view.num_rows);
  const float* output = &buffers_->output[row * static_cast<std::size_t>(num_outputs_)];
  float* gradient = &buffers_->output_gradient[row * static_cast<std::size_t>(num_outputs_)];
  if (head_) {
    return head_->loss(output, label, rows, weight, batch.options.densities_only, buffers_->head_gradient[group],
                       gradient, buffers_->scratch[group].data());
  }
  double sum = 0;
  for (std::size_t at = 0; at < rows; ++at) {
    const auto logit = static_cast<double>(output[at]);
    sum += std::max(logit, 0.0) + std::log1p(std::exp(-std::abs(logit))) - (label[at] != 0 ? logit : 0.0);
    gradient[at] = static_cast<float>(weight * (sigmoid(logit) - label[at]));
  }
  return sum;
}

void FusedNetwork::backward_chunk(const Batch& batch, std::size_t chunk, std::size_t group,
                                  Encoder::Workspace& workspace) {
  const std::size_t row = batch.begin(chunk);
  encoder_->backward(parameters_, tables_, &buffers_->output_gradient[row * static_cast<std::size_t>(num_outputs_)],
                     workspace, buffers_->gradient[group].data(),
                     buffers_->table_gradient.data() + row * tables_.row_width());
}

// Leaves the gradients of the groups in the buffers; returns the sum of the losses.
double FusedNetwork::gradients(const Batch& batch) {
  const bool norm = !norm_.mean.empty();
  const bool learning = !batch.options.densities_only;
  std::vector<double> loss(batch.num_groups, 0.0);
  const auto for_chunks = [&](const auto& body) {
    for_tasks(batch.num_groups, [&](std::size_t group) {
      make_torch_serial();
      for (std::size_t chunk = batch.first_chunk(group); chunk < batch.first_chunk(group + 1); ++chunk) {
        body(chunk, group, *buffers_->workspace[norm ? chunk : group]);
      }
    });
  };
  // A group's gradients start at zero with its first chunk, on the thread that has it.
  const auto start = [&](std::size_t chunk, std::size_t group) {
    if (chunk != batch.first_chunk(group)) return;
    if (learning) std::fill(buffers_->gradient[group].begin(), buffers_->gradient[group].end(), 0.0F);
    std::fill(buffers_->head_gradient[group].begin(), buffers_->head_gradient[group].end(), 0.0);
  };
  if (!norm) {
    for_chunks([&](std::size_t chunk, std::size_t group, Encoder::Workspace& workspace) {
      start(chunk, group);
      forward_chunk(batch, chunk, workspace);
      loss[group] += loss_chunk(batch, chunk, group);
      if (learning) backward_chunk(batch, chunk, group, workspace);
    });
  } else {
    const std::size_t size = batch.view.num_rows * static_cast<std::size_t>(num_outputs_);
    const std::span<float> output = std::span(buffers_->output).first(size);
    for_chunks([&](std::size_t chunk, std::size_t group, auto& workspace) {
      start(chunk, group);
      forward_chunk(batch, chunk, workspace);
    });
    norm_.forward(output);
    for_chunks([&](std::size_t chunk, std::size_t group, auto&) { loss[group] += loss_chunk(batch, chunk, group); });
    buffers_->norm_gradient.assign(norm_.parameters.value.size(), 0.0F);
    norm_.backward(std::span(buffers_->output_gradient).first(size), buffers_->norm_gradient);
    if (learning) {
      for_chunks([&](std::size_t chunk, std::size_t group, auto& workspace) {
        backward_chunk(batch, chunk, group, workspace);
      });
    }
  }
  double sum = 0;
  for (const double part : loss) sum += part;
  return sum;
}

double FusedNetwork::take_step(const Batch& batch, double loss) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const StepOptions& options = batch.options;
  const bool learns_norm = !norm_.mean.empty() && !options.densities_only;
  double square = 0;
  std::vector<float>& total = buffers_->gradient[0];
  if (!options.densities_only) {
    // Sums over groups and over equal tokens; the features first, they take longest.
    const std::size_t features = tables_.tables().size();
    std::vector<double> squares(features + buffers_->blocks.size());
    for_tasks(squares.size(), [&](std::size_t task) {
      if (task < features) {
        squares[task] = tables_.reduce(task, batch.view.categorical.data(), batch.view.fraction.data(),
                                       buffers_->table_gradient.data(), batch.view.num_rows);
        return;
      }
      const Parameters::Block& block = buffers_->blocks[task - features];
      for (std::size_t group = 1; group < batch.num_groups; ++group) {
        add(&total[block.offset], &buffers_->gradient[group][block.offset], block.size);
      }
      squares[task] = square_norm(&total[block.offset], block.size);
    });
    for (const double part : squares) square += part;
  }
  std::vector<float> head_gradient;
  if (head_) {
    std::vector<double>& sum = buffers_->head_gradient[0];
    for (std::size_t group = 1; group < batch.num_groups; ++group) {
      for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += buffers_->head_gradient[group][at];
    }
    head_gradient = head_->weight_gradient(sum);
    square += square_norm(head_gradient.data(), head_gradient.size());
    if (learns_norm) square += square_norm(buffers_->norm_gradient.data(), buffers_->norm_gradient.size());
  }
  if (!std::isfinite(loss) || !std::isfinite(square)) return kNan;

  const double norm = std::sqrt(square);
  const double scale = options.clip > 0 && norm > options.clip ? options.clip / norm : 1.0;
  if (!options.densities_only) {
    const AdamStep step = clock_.next(options.learning_rate, options.weight_decay, scale);
    const EmbeddingTables::Step table_step = {options.embedding_rate * options.learning_rate, options.embedding_l2,
                                              scale};
    const std::size_t features = tables_.tables().size();
    for_tasks(features + buffers_->blocks.size(), [&](std::size_t task) {
      if (task < features) {
        tables_.step(task, table_step);
      } else {
        parameters_.step(buffers_->blocks[task - features], total.data(), step);
      }
    });
    ++clock_.steps;
  }
  if (head_) {
    const AdamStep step = head_clock_.next(options.learning_rate, 0, scale);
    for (const Parameters::Block& block : head_->parameters.blocks()) {
      head_->parameters.step(block, head_gradient.data(), step);
    }
    for (const Parameters::Block& block : norm_.parameters.blocks()) {
      if (learns_norm) norm_.parameters.step(block, buffers_->norm_gradient.data(), step);
    }
    ++head_clock_.steps;
    head_->prepare();
    if (!norm_.mean.empty()) norm_.learn(batch.view.num_rows);
  }
  return loss;
}

double FusedNetwork::train_step(const BatchView& given, const StepOptions& options) {
  check("train_step", given, true);
  validate(options, options_.head.kind);
  Buffers& buffers = *buffers_;
  BatchView view = given;
  if (options.token_dropout > 0 && !options.densities_only) {
    buffers.tokens.assign(given.categorical.begin(), given.categorical.end());
    drop_tokens(shape_, options.token_dropout, options.seed, buffers.tokens);
    view.categorical = buffers.tokens;
  }
  const Batch batch(view, options);
  const std::size_t outputs = view.num_rows * static_cast<std::size_t>(num_outputs_);
  if (buffers.output.size() < outputs) {
    buffers.output.resize(outputs);
    buffers.output_gradient.resize(outputs);
    buffers.table_gradient.resize(view.num_rows * tables_.row_width());
  }
  while (buffers.workspace.size() < (norm_.mean.empty() ? batch.num_groups : batch.num_chunks)) {
    buffers.workspace.push_back(encoder_->make_workspace(kChunkRows));
  }
  while (buffers.gradient.size() < batch.num_groups) {
    buffers.gradient.emplace_back(parameters_.value.size());
    buffers.head_gradient.emplace_back(head_ ? head_->parameters.value.size() : 0);
    buffers.scratch.emplace_back(head_ ? head_->scratch_size() : 0);
  }
  double loss = 0;
  buffers.arena.execute([&] { loss = take_step(batch, gradients(batch) / static_cast<double>(view.num_rows)); });
  return loss;
}

// Every product of matrices has kPredictRows rows, filled up with zeros where the batch ends: a library chooses its
// kernel, and with it the order of a sum, by the sizes of the matrices. So the numbers of a row are the same whether it
// is predicted alone or among others.
void FusedNetwork::predict_chunk(const BatchView& batch, std::size_t begin, std::size_t end, std::uint64_t seed,
                                 PredictBuffers& buffers, NetworkOutput& out) const {
  const std::size_t rows = end - begin;
  const std::size_t num_numeric = shape_.num_numeric;
  const std::size_t num_categorical = shape_.num_categorical();
  const std::size_t num_knots = shape_.knots.size();
  ChunkInput input = {kPredictRows, batch.numeric.data() + begin * num_numeric,
                      batch.categorical.data() + begin * num_categorical, batch.fraction.data() + begin * num_knots};
  if (rows < kPredictRows) {
    buffers.numeric.assign(kPredictRows * num_numeric, 0.0F);
    buffers.categorical.assign(kPredictRows * num_categorical, 0);
    std::copy_n(input.numeric, rows * num_numeric, buffers.numeric.data());
    buffers.fraction.assign(kPredictRows * num_knots, 0.0F);
    std::copy_n(input.categorical, rows * num_categorical, buffers.categorical.data());
    std::copy_n(input.fraction, rows * num_knots, buffers.fraction.data());
    input.numeric = buffers.numeric.data();
    input.categorical = buffers.categorical.data();
    input.fraction = buffers.fraction.data();
  }
  UninitializedVector<float>& outputs = buffers.outputs;
  outputs.resize(kPredictRows * static_cast<std::size_t>(num_outputs_));
  if (head_) {
    encoder_->forward(parameters_, tables_, input, {}, false, *buffers.workspace, outputs.data());
    if (!norm_.mean.empty()) norm_.predict(outputs);
    buffers.scratch.resize(head_->scratch_size());
    head_->predict(outputs.data(), rows,
                   {&out.score[begin], &out.entropy[begin], &out.evidence[begin], &out.variance[begin],
                    &out.mutual_information[begin]},
                   buffers.scratch.data());
    return;
  }
  const bool dropout = options_.head.kind == Head::kMcDropout;
  const int passes = dropout ? options_.head.passes : 1;
  // Sums over passes of p, p^2 about the first pass (the variance of nearly equal numbers), and entropy.
  std::vector<double> first(rows);
  std::vector<double> shift(rows, 0.0);
  std::vector<double> square(rows, 0.0);
  std::vector<double> entropy(rows, 0.0);
  for (int pass = 0; pass < passes; ++pass) {
    CounterRandom random(seed, static_cast<std::uint64_t>(pass));
    const Dropout mask = {
        .on = dropout, .rate = options_.encoder.dropout, .seed = random.next(), .same_for_all_rows = true};
    encoder_->forward(parameters_, tables_, input, mask, false, *buffers.workspace, outputs.data());
    for (std::size_t row = 0; row < rows; ++row) {
      const double p = sigmoid(static_cast<double>(outputs[row]));
      if (pass == 0) first[row] = p;
      shift[row] += p - first[row];
      square[row] += (p - first[row]) * (p - first[row]);
      entropy[row] += coin_entropy(p);
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const double mean = shift[row] / passes;
    out.score[begin + row] = first[row] + mean;
    out.entropy[begin + row] = coin_entropy(first[row] + mean);
    out.variance[begin + row] = std::max(square[row] / passes - mean * mean, 0.0);
    out.mutual_information[begin + row] = std::max(out.entropy[begin + row] - entropy[row] / passes, 0.0);
  }
}

NetworkOutput FusedNetwork::predict(const BatchView& batch, std::uint64_t seed) const {
  check("predict", batch, false);
  NetworkOutput out;
  for (std::vector<double>* part : {&out.score, &out.entropy, &out.variance, &out.mutual_information}) {
    part->resize(batch.num_rows);
  }
  if (head_) out.evidence.resize(batch.num_rows);
  buffers_->arena.execute([&] {
    tbb::enumerable_thread_specific<PredictBuffers> locals(
        [&] { return PredictBuffers{encoder_->make_workspace(kPredictRows)}; });
    tbb::parallel_for(std::size_t{0}, ceil_div(batch.num_rows, kPredictRows), [&](std::size_t chunk) {
      make_torch_serial();
      const std::size_t begin = chunk * kPredictRows;
      predict_chunk(batch, begin, std::min(begin + kPredictRows, batch.num_rows), seed, locals.local(), out);
    });
  });
  return out;
}

}  // namespace limen::train
