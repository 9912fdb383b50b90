// SPDX-License-Identifier: MIT
// Cells per second of fitting and encoding features, on one thread. A cell is one raw value.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "limen/train/features.h"
#include "limen/train/schema.h"
#include "limen/train/split.h"

namespace {

using limen::Column;
using limen::Frame;
using limen::NumberValues;
using limen::TextValues;
using namespace limen::train;

constexpr std::size_t kRows = 1 << 16;  // a batch of a reader

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

Column numbers(const std::string& name, std::mt19937_64& random, double tail) {
  NumberValues values(kRows);
  for (double& value : values) value = uniform(random) < 0.05 ? std::nan("") : std::exp(tail * uniform(random));
  return {name, std::move(values)};
}

/// Hexadecimal texts like those of ad logs; small ranks are frequent.
Column texts(const std::string& name, std::mt19937_64& random, double num_distinct) {
  TextValues values;
  std::vector<std::int32_t> code_of(static_cast<std::size_t>(num_distinct), TextValues::kMissing);
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto rank = static_cast<std::size_t>(std::pow(num_distinct, uniform(random))) - 1;
    if (code_of[rank] == TextValues::kMissing) {
      char text[16];
      std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>((rank + 1) * 2654435761U));
      code_of[rank] = static_cast<std::int32_t>(values.distinct.size());
      values.distinct.emplace_back(text);
    }
    values.code.push_back(code_of[rank]);
  }
  return {name, std::move(values)};
}

Column whole_numbers(const std::string& name, std::mt19937_64& random, double num_distinct) {
  NumberValues values(kRows);
  for (double& value : values) value = std::floor(num_distinct * uniform(random));
  return {name, std::move(values)};
}

constexpr std::string_view kNoBins = "_no_knots";

struct Case {
  Frame frame;
  FeatureOptions options;
};

Case make_case(std::string shape) {
  std::mt19937_64 random(1);
  const bool no_knots = shape.ends_with(kNoBins);
  if (no_knots) shape.resize(shape.size() - kNoBins.size());
  Case result{.frame = {.num_rows = kRows}, .options = {.num_threads = 1}};
  std::vector<Column>& columns = result.frame.columns;
  if (shape == "criteo") {
    result.options = schema_preset("criteo").features;
    result.options.num_threads = 1;
    if (no_knots) result.options.numeric_knots = 0;
    result.options.max_vocabulary = 20'000;  // so that the largest columns are hashed in one batch
    columns.push_back(whole_numbers("label", random, 2));
    for (const std::string& name : result.options.numeric) columns.push_back(numbers(name, random, 9));
    for (const std::string& name : result.options.categorical) {
      columns.push_back(texts(name, random, std::pow(10, 1 + 6 * uniform(random))));
    }
    return result;
  }
  if (no_knots) result.options.numeric_knots = 0;
  for (int number = 0; number < 10; ++number) {
    const std::string name = "c" + std::to_string(number);
    if (shape == "linear") columns.push_back(numbers(name, random, 0.5));
    if (shape == "log") columns.push_back(numbers(name, random, 9));
    if (shape == "text_1000") columns.push_back(texts(name, random, 1000));
    if (shape == "text_1000000") columns.push_back(texts(name, random, 1e6));
    if (shape == "number_category") {
      columns.push_back(whole_numbers(name, random, 1000));
      result.options.categorical.push_back(name);
    }
  }
  return result;
}

FeatureTransform fit(const Case& one) {
  FeatureFitter fitter(one.options);
  fitter.add(one.frame);
  return fitter.finish();
}

void count_cells(benchmark::State& state, const Frame& frame) {
  const auto cells = static_cast<std::int64_t>(frame.num_rows * frame.columns.size());
  state.SetItemsProcessed(state.iterations() * cells);
}

void encode(benchmark::State& state, const std::string& shape) {
  const Case one = make_case(shape);
  const FeatureTransform transform = fit(one);
  for (auto _ : state) benchmark::DoNotOptimize(transform.encode(one.frame, {.num_threads = 1}));
  count_cells(state, one.frame);
}

void fit_case(benchmark::State& state, const std::string& shape) {
  const Case one = make_case(shape);
  // Batches after the first, as in a long file: what is kept of rows no longer grows.
  auto fitter = std::make_unique<FeatureFitter>(one.options);
  fitter->add(one.frame);
  for (auto _ : state) fitter->add(one.frame);
  count_cells(state, one.frame);
}

void split(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(split_rows(0, kRows, {}));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

void read_json(benchmark::State& state) {
  const std::string text = fit(make_case("text_1000000")).to_json();
  for (auto _ : state) benchmark::DoNotOptimize(FeatureTransform::from_json(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string shape : {"linear", "linear_no_knots", "log", "log_no_knots", "text_1000", "text_1000000",
                                  "number_category", "criteo", "criteo_no_knots"}) {
    benchmark::RegisterBenchmark(("encode/" + shape).c_str(),
                                 [shape](benchmark::State& state) { encode(state, shape); });
    benchmark::RegisterBenchmark(("fit/" + shape).c_str(),
                                 [shape](benchmark::State& state) { fit_case(state, shape); });
  }
  benchmark::RegisterBenchmark("split_rows", split);
  benchmark::RegisterBenchmark("read_json/text_1000000", read_json);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
