// SPDX-License-Identifier: MIT
// What each kernel that is written by hand brings to a training step: its time beside that of plain tensor operations
// on the same sizes, as a share of the step. A kernel that brings less than 15% is not worth its code.
//   bench_kernels [BATCH [VOCABULARY]]     1024 rows, vocabularies up to 100,000 unless given
// One thread, processor time; prints its tables in less than a minute.
// The attention encoders have no kernels of their own but a gradient's sum: of them the step alone is timed.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "density_head.h"
#include "dropout.h"
#include "encoder.h"
#include "fused_network.h"
#include "kernels.h"
#include "layer_loops.h"
#include "limen/base/random.h"
#include "plain_adam.h"
#include "plain_heads.h"
#include "plain_network.h"
#include "plain_tables.h"

namespace {

using namespace limen::train;
using limen::CounterRandom;
using Body = std::function<void()>;

constexpr double kShare = 0.15;
constexpr std::size_t kBatches = 16;  // used in turn, so that tables do not stay in a cache
constexpr std::array<double, 2> kCounts = {3e5, 1e5};

// Of the processor: other programs on the machine are in the way of caches alone.
double seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Microseconds of each body, the least of several rounds in which they take turns.
std::vector<double> measure(const std::vector<Body>& bodies) {
  constexpr int kRounds = 15;
  constexpr double kRoundSeconds = 0.02;
  std::vector<std::size_t> repeats;
  for (const Body& body : bodies) {
    body();
    const double start = seconds();
    body();
    repeats.push_back(static_cast<std::size_t>(std::clamp(kRoundSeconds / (seconds() - start), 1.0, 1e5)));
  }
  std::vector<double> least(bodies.size(), 1e300);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t at = 0; at < bodies.size(); ++at) {
      const double start = seconds();
      for (std::size_t repeat = 0; repeat < repeats[at]; ++repeat) bodies[at]();
      least[at] = std::min(least[at], (seconds() - start) / static_cast<double>(repeats[at]) * 1e6);
    }
  }
  return least;
}

std::vector<float> normals(std::size_t size, std::uint64_t seed) {
  CounterRandom random(seed, 0);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

at::Tensor tensor(const std::vector<float>& values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), {static_cast<std::int64_t>(values.size())}, at::kFloat)
      .view(shape);
}

/// The rows of bench_train's first case: 13 numbers with knots, 26 vocabularies from 10 to 100,000.
struct Data {
  FeatureShape shape = {.num_numeric = 13};
  std::vector<std::vector<float>> numeric = {};
  std::vector<std::vector<std::int32_t>> categorical = {};
  std::vector<std::vector<float>> fraction = {};
  std::vector<std::uint8_t> label = {};

  Data(std::size_t rows, double largest) {
    for (int at = 0; at < 26; ++at) {
      shape.num_tokens.push_back(static_cast<std::int32_t>(10 * std::pow(largest / 10, at / 25.0) + 1e-6));
    }
    for (std::size_t at = 0; at < shape.num_numeric; ++at) {
      shape.knots.push_back({at, shape.num_tokens.size()});
      shape.num_tokens.push_back(33);
    }
    CounterRandom random(1, 0);
    for (std::size_t batch = 0; batch < kBatches; ++batch) {
      numeric.push_back(normals(rows * shape.num_numeric, batch));
      categorical.emplace_back();
      fraction.emplace_back();
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t at = 0; at < shape.num_tokens.size(); ++at) {
          // The last knot has no next one.
          const std::int32_t tokens = shape.num_tokens[at] - (at >= 26 ? 1 : 0);
          categorical.back().push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(tokens))));
        }
        for (std::size_t at = 0; at < shape.knots.size(); ++at) {
          fraction.back().push_back(static_cast<float>(random.uniform()));
        }
      }
    }
    for (std::size_t row = 0; row < rows; ++row) label.push_back(random.uniform() < 0.25 ? 1 : 0);
  }
  [[nodiscard]] BatchView view(std::size_t batch) const {
    return {label.size(), numeric[batch], categorical[batch], fraction[batch], label};
  }
};

struct Part {
  const char* name;
  Body kernel;
  Body plain;
};

/// Flows, Beta loss and their gradients.
Part head_part(const HeadOptions& options, const Data& data) {
  const std::size_t rows = data.label.size();
  const auto width = static_cast<std::size_t>(options.latent);
  const auto latent = std::make_shared<std::vector<float>>(normals(rows * width, 3));
  const std::shared_ptr<DensityHead> head = make_density_head(options, kCounts, 1);
  const auto gradient = std::make_shared<std::vector<double>>(head->parameters.value.size());
  const auto latent_gradient = std::make_shared<std::vector<float>>(latent->size());
  const auto scratch = std::make_shared<std::vector<double>>(head->scratch_size());
  const auto kernel = [=, &data] {
    for (std::size_t row = 0; row < rows; row += kChunkRows) {
      (void)head->loss(&(*latent)[row * width], &data.label[row], std::min(kChunkRows, rows - row), 1e-3, false,
                       *gradient, &(*latent_gradient)[row * width], scratch->data());
    }
  };
  const at::Tensor label =
      at::from_blob(const_cast<std::uint8_t*>(data.label.data()), {static_cast<std::int64_t>(rows)}, at::kByte)
          .to(at::kDouble);
  const auto plain = [=] {
    PlainWeights weights;
    std::vector<at::Tensor> leaves;
    for (const Parameter& parameter : head->parameters.list) {
      float* value = &head->parameters.value[parameter.offset];
      weights[parameter.name] = at::from_blob(value, parameter.shape, at::kFloat).requires_grad_(true);
      leaves.push_back(weights[parameter.name]);
    }
    leaves.push_back(tensor(*latent, {static_cast<std::int64_t>(rows), options.latent}).requires_grad_(true));
    const PlainPosterior posterior = plain_posterior(options, kCounts, weights, leaves.back().to(at::kDouble));
    const at::Tensor loss = plain_beta_loss(posterior, label, options.regularizer).mean();
    (void)torch::autograd::grad({loss}, leaves);
  };
  return {options.kind == Head::kNatpn ? "natural_loss" : "posterior_loss", kernel, plain};
}

/// The passes between the matrix products of the mlp, chunk by chunk.
std::vector<Part> layer_parts(const EncoderOptions& options, int latent, std::size_t rows) {
  const auto widths = std::make_shared<std::vector<int>>(options.hidden);
  const int widest = std::max(latent, *std::max_element(widths->begin(), widths->end()));
  const auto size = kChunkRows * static_cast<std::size_t>(widest);
  const auto value = std::make_shared<std::vector<float>>(normals(size, 5));
  const auto bias = std::make_shared<std::vector<float>>(normals(static_cast<std::size_t>(widest), 6));
  const auto mask = std::make_shared<std::vector<float>>(size);
  const Dropout dropout = {.on = true, .rate = options.dropout, .seed = 1};
  dropout.fill(0, mask->data(), kChunkRows, static_cast<std::size_t>(widest));
  // Left out or as it is: numbers that go through many times do not grow without end.
  for (float& factor : *mask) factor = std::min(factor, 1.0F);
  const std::size_t chunks = (rows + kChunkRows - 1) / kChunkRows;
  const auto matrix = [](std::vector<float>& values, int width) {
    return at::from_blob(values.data(), {static_cast<std::int64_t>(kChunkRows), width}, at::kFloat);
  };
  const auto vector = [](std::vector<float>& values, int width) {
    return at::from_blob(values.data(), {width}, at::kFloat);
  };
  const auto for_layers = [=](const auto& body) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      for (const int width : *widths) body(width);
    }
  };
  const auto for_chunks = [=](const auto& body) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) body();
  };
  const auto last = static_cast<std::size_t>(latent);
  return {
      {"bias_relu",
       [=] {
         for_layers([&](int width) {
           bias_relu(value->data(), bias->data(), mask->data(), kChunkRows, static_cast<std::size_t>(width));
         });
       },
       [=] {
         for_layers(
             [&](int width) { matrix(*value, width).add_(vector(*bias, width)).relu_().mul_(matrix(*mask, width)); });
       }},
      {"relu_backward",
       [=] {
         for_layers([&](int width) {
           relu_backward(value->data(), mask->data(), 1.0F, bias->data(), kChunkRows, static_cast<std::size_t>(width));
         });
       },
       [=] {
         for_layers([&](int width) {
           at::Tensor gradient = matrix(*value, width);
           at::threshold_backward_out(gradient, gradient, matrix(*mask, width), 0).mul_(1.0F);
           vector(*bias, width).add_(gradient.sum(0));
         });
       }},
      {"add_bias", [=] { for_chunks([&] { add_bias(value->data(), bias->data(), kChunkRows, last); }); },
       [=] { for_chunks([&] { matrix(*value, latent).add_(vector(*bias, latent)); }); }},
      {"column_sums", [=] { for_chunks([&] { column_sums(value->data(), bias->data(), kChunkRows, last); }); },
       [=] { for_chunks([&] { vector(*bias, latent).add_(matrix(*value, latent).sum(0)); }); }},
      {"Dropout::fill",
       [=] {
         for_layers([&](int width) { dropout.fill(1, mask->data(), kChunkRows, static_cast<std::size_t>(width)); });
       },
       [=] {
         for_layers([&](int width) {
           matrix(*mask, width).bernoulli_(1 - dropout.rate).mul_(static_cast<double>(dropout.scale()));
         });
       }}};
}

/// Sums over groups, norm and Adam of the dense weights.
std::vector<Part> weight_parts(const std::shared_ptr<Parameters>& parameters, std::size_t rows) {
  const std::size_t size = parameters->value.size();
  const auto gradient = std::make_shared<std::vector<float>>(normals(size, 7));
  const auto sum = std::make_shared<std::vector<float>>(normals(size, 8));
  const std::size_t groups = std::min<std::size_t>((rows + kChunkRows - 1) / kChunkRows, 16);
  const auto weights = std::make_shared<std::vector<PlainWeight>>();
  for (const Parameter& one : parameters->list) {
    const at::Tensor value = at::from_blob(&parameters->value[one.offset], one.shape, at::kFloat).clone();
    weights->push_back({one.name, one.decays, value, at::zeros_like(value), at::zeros_like(value)});
  }
  const auto all = static_cast<std::int64_t>(size);
  const auto part = [](std::vector<float>& values, const Parameter& one) {
    return at::from_blob(&values[one.offset], one.shape, at::kFloat);
  };
  return {{"add",
           [=] {
             for (std::size_t group = 1; group < groups; ++group) {
               for (const Parameters::Block& block : parameters->blocks()) {
                 add(&(*sum)[block.offset], &(*gradient)[block.offset], block.size);
               }
             }
           },
           [=] {
             for (std::size_t group = 1; group < groups; ++group) tensor(*sum, {all}).add_(tensor(*gradient, {all}));
           }},
          {"square_norm",
           [=] {
             double square = 0;
             for (const Parameters::Block& block : parameters->blocks()) {
               square += square_norm(&(*gradient)[block.offset], block.size);
             }
             if (square < 0) std::abort();
           },
           [=] {
             double square = 0;
             for (const Parameter& one : parameters->list) {
               square += part(*gradient, one).to(at::kDouble).square().sum().item<double>();
             }
             if (square < 0) std::abort();
           }},
          {"adam, dense",
           [=] {
             const AdamStep step = AdamClock{9}.next(1e-3, 0.01, 1);
             for (const Parameters::Block& block : parameters->blocks()) {
               parameters->step(block, gradient->data(), step);
             }
           },
           [=] {
             const at::Tensor step = at::scalar_tensor(10.0, at::kDouble);
             for (std::size_t at = 0; at < weights->size(); ++at) {
               plain_adam((*weights)[at], part(*gradient, parameters->list[at]), step, 1e-3, 0.01);
             }
           }}};
}

/// Vectors of tokens: looked up, their gradients added up, and their steps; a batch after the other.
std::vector<Part> table_parts(const std::shared_ptr<EmbeddingTables>& tables, const Data& data) {
  const std::size_t rows = data.label.size();
  const auto out = std::make_shared<std::vector<float>>(normals(rows * tables->row_width(), 9));
  const auto plain_tables = std::make_shared<std::vector<PlainTable>>();
  for (const EmbeddingTables::Table& one : tables->tables()) {
    PlainTable table;
    const at::Tensor value =
        at::from_blob(&tables->value[one.offset],
                      {static_cast<std::int64_t>(one.num_tokens), static_cast<std::int64_t>(one.width)}, at::kFloat)
            .clone();
    table.weight = {"", false, value, at::zeros_like(value), at::zeros_like(value)};
    table.steps = at::zeros({value.size(0)});
    if (one.fraction != EmbeddingTables::kNone) table.fraction = static_cast<std::int64_t>(one.fraction);
    plain_tables->push_back(table);
  }
  const auto inputs = std::make_shared<std::vector<PlainInputs>>();
  const auto lookups = std::make_shared<std::vector<std::vector<PlainLookup>>>();
  const auto count = static_cast<std::int64_t>(rows);
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    inputs->push_back({tensor(data.numeric[batch], {count, -1}),
                       at::from_blob(const_cast<std::int32_t*>(data.categorical[batch].data()),
                                     {count, static_cast<std::int64_t>(data.shape.num_categorical())}, at::kInt)
                           .to(at::kLong),
                       tensor(data.fraction[batch], {count, -1})});
    lookups->emplace_back();
    for (std::size_t feature = 0; feature < plain_tables->size(); ++feature) {
      lookups->back().push_back(
          look_up((*plain_tables)[feature], inputs->back(), static_cast<std::int64_t>(feature), true));
    }
  }
  const auto turn = std::make_shared<std::size_t>(0);
  const auto next = [turn] { return ++*turn % kBatches; };
  const auto column = [=](std::size_t feature) {
    const EmbeddingTables::Table& one = tables->tables()[feature];
    return tensor(*out, {count, -1})
        .narrow(1, static_cast<std::int64_t>(one.column), static_cast<std::int64_t>(one.width));
  };
  const auto reduce = [=, &data] {
    const std::size_t batch = next();
    for (std::size_t feature = 0; feature < tables->tables().size(); ++feature) {
      (void)tables->reduce(feature, data.categorical[batch].data(), data.fraction[batch].data(), out->data(), rows);
    }
  };
  return {{"gather",
           [=, &data] {
             const std::size_t batch = next();
             tables->gather(data.categorical[batch].data(), data.fraction[batch].data(), rows, out->data(),
                            tables->row_width());
           },
           [=] {
             const c10::NoGradGuard no_grad;
             const PlainInputs& input = (*inputs)[next()];
             std::vector<at::Tensor> parts;
             for (std::size_t feature = 0; feature < plain_tables->size(); ++feature) {
               const PlainTable& table = (*plain_tables)[feature];
               const at::Tensor token = input.token.select(1, static_cast<std::int64_t>(feature));
               at::Tensor vector = table.weight.value.index_select(0, token);
               if (table.fraction) {
                 const at::Tensor above = table.weight.value.index_select(0, token + 1);
                 vector = at::lerp(vector, above, input.fraction.select(1, *table.fraction).unsqueeze(1));
               }
               parts.push_back(vector);
             }
             (void)at::cat(parts, 1);
           }},
          {"reduce", reduce,
           [=] {
             const std::vector<PlainLookup>& batch = (*lookups)[next()];
             for (std::size_t feature = 0; feature < batch.size(); ++feature) {
               (void)torch::autograd::grad({batch[feature].rows}, {batch[feature].vector}, {column(feature)}, true);
             }
           }},
          {"reduce and adam, tokens of the batch",
           [=, &data] {
             reduce();
             for (std::size_t feature = 0; feature < tables->tables().size(); ++feature) {
               tables->step(feature, {1e-3, 0, 1});
             }
           },
           [=, &data] {
             reduce();
             const c10::NoGradGuard no_grad;
             const std::vector<PlainLookup>& batch = (*lookups)[*turn % kBatches];
             for (std::size_t feature = 0; feature < batch.size(); ++feature) {
               step_table((*plain_tables)[feature], batch[feature].touched, batch[feature].vector, 1e-3, 0);
             }
           }},
          {"the same, plain adam on all tokens",
           [=] {
             reduce();
             for (std::size_t feature = 0; feature < tables->tables().size(); ++feature) {
               tables->step(feature, {1e-3, 0, 1});
             }
           },
           [=] {
             reduce();
             const c10::NoGradGuard no_grad;
             const at::Tensor step = at::scalar_tensor(10.0, at::kDouble);
             for (PlainTable& table : *plain_tables) plain_adam(table.weight, table.weight.value, step, 1e-3, 0);
           }}};
}

/// Prints and returns microseconds of a step of the fused network.
double print_step(const char* name, const Data& data, const ModelOptions& options) {
  FusedNetwork fused(data.shape, options, kCounts, 1, 1);
  const std::unique_ptr<AnyNetwork> plain = make_plain_network(data.shape, options, kCounts, 1, "cpu");
  std::size_t turn = 0;
  const auto step_of = [&](AnyNetwork& network) {
    return [&network, &data, &turn] { (void)network.train_step(data.view(++turn % kBatches), {.seed = turn}); };
  };
  const std::vector<double> steps = measure({step_of(fused), step_of(*plain)});
  std::printf("%s, batches of %zu: a step of the fused network takes %.0f us, of the plain one %.0f us: %.1f times\n",
              name, data.label.size(), steps[0], steps[1], steps[1] / steps[0]);
  return steps[0];
}

void print_table(const char* name, const Data& data, const ModelOptions& options) {
  const double step = print_step(name, data, options);
  const auto parameters = std::make_shared<Parameters>();
  const auto tables = std::make_shared<EmbeddingTables>();
  (void)make_encoder(data.shape, options.encoder, options.head.latent, 1, *parameters, *tables);
  std::vector<Part> parts = {head_part(options.head, data)};
  for (Part& part : layer_parts(options.encoder, options.head.latent, data.label.size())) parts.push_back(part);
  for (Part& part : weight_parts(parameters, data.label.size())) parts.push_back(part);
  for (Part& part : table_parts(tables, data)) parts.push_back(part);
  std::printf("\n| kernel | us | plain us | brings, of a step | at least %.0f%% |\n|---|---|---|---|---|\n",
              100 * kShare);
  for (const Part& part : parts) {
    const std::vector<double> times = measure({part.kernel, part.plain});
    const double brings = (times[1] - times[0]) / step;
    std::printf("| %s | %.1f | %.1f | %+.1f%% | %s |\n", part.name, times[0], times[1], 100 * brings,
                brings >= kShare ? "yes" : "no");
    std::fflush(stdout);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int batch = argc > 1 ? std::atoi(argv[1]) : 1024;
  const int vocabulary = argc > 2 ? std::atoi(argv[2]) : 100'000;
  if (batch < 1 || vocabulary < 10) {
    std::fprintf(stderr, "bench_kernels [BATCH [VOCABULARY]]\n");
    return 2;
  }
  make_torch_serial();
  const Data data(static_cast<std::size_t>(batch), vocabulary);
  ModelOptions options;
  options.encoder = settled(options.encoder, data.label.size());
  print_table("natpn on mlp", data, options);
  options.head.kind = Head::kPostnet;
  print_table("postnet on mlp", data, options);
  options.head.kind = Head::kNatpn;
  options.encoder.kind = EncoderKind::kSam;
  (void)print_step("natpn on sam", data, options);
  options.encoder.kind = EncoderKind::kFtTransformer;
  (void)print_step("natpn on ft-transformer", data, options);
  return 0;
}
