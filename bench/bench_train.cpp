// SPDX-License-Identifier: MIT
// Rows per second of training and prediction of a network on generated rows; bench/training.py runs this program for
// the fused and the plain network, beside the same network in PyTorch.
//   bench_train fused|plain postnet|natpn THREADS BATCH STEPS VOCABULARY...     one number per categorical feature
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "network.h"

namespace {

using limen::train::BatchView;

constexpr std::size_t kNumeric = 13;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "bench_train fused|plain postnet|natpn THREADS BATCH STEPS VOCABULARY...\n");
    return 2;
  }
  const auto kind = limen::train::parse<limen::train::NetworkKind>(argv[1]);
  limen::train::ModelOptions options;
  options.encoder = limen::train::settled(options.encoder, 1'000'000);
  options.head.kind = limen::train::parse<limen::train::Head>(argv[2]);
  const int threads = std::atoi(argv[3]);
  const auto batch = static_cast<std::size_t>(std::atoi(argv[4]));
  const auto steps = static_cast<std::size_t>(std::atoi(argv[5]));
  limen::train::FeatureShape shape = {.num_numeric = kNumeric, .num_tokens = {}};
  for (int at = 6; at < argc; ++at) shape.num_tokens.push_back(std::atoi(argv[at]));

  // 64 batches of rows, used in turn; tokens are uniform, as bad for caches as it gets.
  const std::size_t rows = 64 * batch;
  std::vector<float> numeric(rows * kNumeric);
  std::vector<std::int32_t> categorical(rows * shape.num_categorical());
  std::vector<std::uint8_t> label(rows);
  std::uint64_t state = 1;
  const auto next = [&state] { return (state = state * 6364136223846793005U + 1442695040888963407U) >> 33U; };
  for (float& value : numeric) value = static_cast<float>(next() % 4096) / 1024.0F - 2.0F;
  for (std::size_t at = 0; at < categorical.size(); ++at) {
    const auto tokens = static_cast<std::uint64_t>(shape.num_tokens[at % shape.num_categorical()]);
    categorical[at] = static_cast<std::int32_t>(next() % tokens);
  }
  for (std::size_t row = 0; row < rows; ++row) {
    label[row] = numeric[row * kNumeric] + static_cast<float>(next() % 4096) / 2048.0F > 1.5F ? 1 : 0;
  }

  limen::train::Network network(shape, options, {3e5, 1e5}, 1, "cpu", threads, kind);
  const auto view = [&](std::size_t first, std::size_t count) {
    const std::size_t features = shape.num_categorical();
    return BatchView{
        .num_rows = count,
        .numeric = std::span<const float>(numeric).subspan(first * kNumeric, count * kNumeric),
        .categorical = std::span<const std::int32_t>(categorical).subspan(first * features, count * features),
        .label = std::span<const std::uint8_t>(label).subspan(first, count)};
  };
  for (std::size_t step = 0; step < 10; ++step) (void)network.train_step(view(step * batch, batch), {});
  double cpu = cpu_seconds();
  double wall = wall_seconds();
  double loss = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    loss = network.train_step(view(step % 64 * batch, batch), {.learning_rate = 1e-3, .seed = step});
  }
  const auto trained = static_cast<double>(steps * batch);
  std::printf("train %.0f %.0f %.4f\n", trained / (wall_seconds() - wall), trained / (cpu_seconds() - cpu), loss);

  (void)network.predict(view(0, rows), 0);
  cpu = cpu_seconds();
  wall = wall_seconds();
  double sum = 0;
  for (int round = 0; round < 5; ++round) sum += network.predict(view(0, rows), 0).entropy[0];
  const auto predicted = static_cast<double>(5 * rows);
  std::printf("predict %.0f %.0f %.4f\n", predicted / (wall_seconds() - wall), predicted / (cpu_seconds() - cpu), sum);
  return 0;
}
