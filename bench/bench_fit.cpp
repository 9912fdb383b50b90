// SPDX-License-Identifier: MIT
//
// Ten million rows in memory: the exact fit over every distinct score beside a sort of the scores alone.
#include <benchmark/benchmark.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

#include "large_samples.h"
#include "limen/count/binning.h"
#include "limen/fit.h"
#include "limen/judge/calibration.h"
#include "limen/solve/boundary.h"
#include "limen/solve/isotonic.h"
#include "limen/solve/near_optimum.h"

namespace limen {
namespace {

constexpr std::size_t kRows = 10'000'000;

const bench::LargeSamples<float>& float_rows() {
  static const auto rows = bench::make_large_samples<float>(kRows);
  return rows;
}

const bench::LargeSamples<double>& double_rows() {
  static const auto rows = bench::make_large_samples<double>(kRows);
  return rows;
}

void report_rows(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRows));
}

FitOptions every_score(int levels) {
  FitOptions options;
  options.levels = levels;
  options.bins = BinCount::all();
  return options;
}

const Objective kObjective = max_recall_at_precision({9, 10});

/// The selective counting must give the boundary of the full sort before its speed means anything.
void check_once(const Samples& samples) {
  const std::vector<double> edges = uncertainty_edges(samples.uncertainty, 11);
  const Grid sorted = count_distinct(samples, edges);
  const Grid selected = count_near_optimum(samples, validate(samples), edges, kObjective).value();
  if (make_rule(sorted, solve_exact({sorted, kObjective}).taken) !=
      make_rule(selected, solve_exact({selected, kObjective}).taken)) {
    throw std::runtime_error("the selective grid gives another boundary");
  }
}

void fit_exact_float(benchmark::State& state) {
  static const bool checked = (check_once(float_rows().samples()), true);
  (void)checked;
  const auto levels = static_cast<int>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(fit_boundary(float_rows().samples(), kObjective, every_score(levels)));
  }
  report_rows(state);
}
BENCHMARK(fit_exact_float)
    ->Name("fit_exact/float/n:10M")
    ->ArgName("levels")
    ->Arg(1)
    ->Arg(3)
    ->Arg(11)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void fit_exact_double(benchmark::State& state) {
  (void)double_rows();
  for (auto _ : state) benchmark::DoNotOptimize(fit_boundary(double_rows().samples(), kObjective, every_score(11)));
  report_rows(state);
}
BENCHMARK(fit_exact_double)->Name("fit_exact/double/n:10M/levels:11")->Unit(benchmark::kMillisecond)->UseRealTime();

void fit_500_bins(benchmark::State& state) {
  FitOptions options;
  options.levels = 11;
  options.bins = BinCount::of(500);
  for (auto _ : state) benchmark::DoNotOptimize(fit_boundary(float_rows().samples(), kObjective, options));
  report_rows(state);
}
BENCHMARK(fit_500_bins)->Name("fit_exact/float/n:10M/levels:11/bins:500")->Unit(benchmark::kMillisecond)->UseRealTime();

void fit_goal(benchmark::State& state, const Objective& objective) {
  const Samples samples = float_rows().samples();
  for (auto _ : state) benchmark::DoNotOptimize(fit_boundary(samples, objective, every_score(11)));
  report_rows(state);
}
BENCHMARK_CAPTURE(fit_goal, recall, max_precision_at_recall({8, 10}))
    ->Name("fit_exact/float/n:10M/levels:11/goal:recall")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(fit_goal, f_beta, max_f_beta({1, 1}))
    ->Name("fit_exact/float/n:10M/levels:11/goal:f-beta")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(fit_goal, cost, min_cost({1, 1}, {5, 1}))
    ->Name("fit_exact/float/n:10M/levels:11/goal:cost")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// A method of the paper on the bins that are its default.
void fit_method(benchmark::State& state, Method method) {
  const Samples samples = float_rows().samples();
  FitOptions options;
  options.levels = 11;
  options.method = method;
  for (auto _ : state) benchmark::DoNotOptimize(fit_boundary(samples, kObjective, options));
  report_rows(state);
}
BENCHMARK_CAPTURE(fit_method, hr, Method::kHr)
    ->Name("fit_hr/float/n:10M/levels:11")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(fit_method, gmt, Method::kGmt)
    ->Name("fit_gmt/float/n:10M/levels:11")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(fit_method, mist, Method::kMist)
    ->Name("fit_mist/float/n:10M/levels:11")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(fit_method, ew_dpmt, Method::kEwDpmt)
    ->Name("fit_ew-dpmt/float/n:10M/levels:11")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(fit_method, vw_dpmt, Method::kVwDpmt)
    ->Name("fit_vw-dpmt/float/n:10M/levels:11")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void edges_only(benchmark::State& state) {
  const Samples samples = float_rows().samples();
  for (auto _ : state) benchmark::DoNotOptimize(uncertainty_edges(samples.uncertainty, 11));
  report_rows(state);
}
BENCHMARK(edges_only)->Name("uncertainty_edges/float/n:10M/levels:11")->Unit(benchmark::kMillisecond)->UseRealTime();

void validate_only(benchmark::State& state) {
  for (auto _ : state) validate(float_rows().samples());
  report_rows(state);
}
BENCHMARK(validate_only)->Name("validate/float/n:10M")->Unit(benchmark::kMillisecond)->UseRealTime();

void select_only(benchmark::State& state) {
  const std::vector<double> edges = uncertainty_edges(float_rows().samples().uncertainty, 11);
  for (auto _ : state) {
    const Samples samples = float_rows().samples();
    benchmark::DoNotOptimize(count_near_optimum(samples, validate(samples), edges, kObjective));
  }
  report_rows(state);
}
BENCHMARK(select_only)->Name("count_near_optimum/float/n:10M/levels:11")->Unit(benchmark::kMillisecond)->UseRealTime();

void sort_scores(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<float> copy = float_rows().score;
    state.ResumeTiming();
    std::sort(copy.begin(), copy.end());
    benchmark::DoNotOptimize(copy.data());
  }
  report_rows(state);
}
BENCHMARK(sort_scores)->Name("peer/std_sort_of_scores/float/n:10M")->Unit(benchmark::kMillisecond)->UseRealTime();

void parallel_sort_scores(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<float> copy = float_rows().score;
    state.ResumeTiming();
    tbb::parallel_sort(copy.begin(), copy.end());
    benchmark::DoNotOptimize(copy.data());
  }
  report_rows(state);
}
BENCHMARK(parallel_sort_scores)
    ->Name("peer/parallel_sort_of_scores/float/n:10M")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// Labels in order of falling score: what a calibrator fits.
const std::vector<double>& sorted_labels() {
  static const std::vector<double> labels = [] {
    const auto& rows = float_rows();
    std::vector<std::size_t> order(kRows);
    for (std::size_t row = 0; row < kRows; ++row) order[row] = row;
    tbb::parallel_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return rows.score[a] < rows.score[b]; });
    std::vector<double> sorted(kRows);
    for (std::size_t row = 0; row < kRows; ++row) sorted[row] = rows.label[order[row]];
    return sorted;
  }();
  return labels;
}

void isotonic_sorted(benchmark::State& state) {
  (void)sorted_labels();
  for (auto _ : state) benchmark::DoNotOptimize(fit_isotonic(sorted_labels()));
  report_rows(state);
}
BENCHMARK(isotonic_sorted)->Name("fit_isotonic/sorted_labels/n:10M")->Unit(benchmark::kMillisecond)->UseRealTime();

void isotonic_calibration(benchmark::State& state) {
  (void)float_rows();
  for (auto _ : state) benchmark::DoNotOptimize(fit_level_calibration(float_rows().samples(), 1));
  report_rows(state);
}
BENCHMARK(isotonic_calibration)
    ->Name("fit_level_calibration/float/n:10M/levels:1")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void decide_rows(benchmark::State& state) {
  (void)float_rows();
  Rule rule;
  for (int edge = 1; edge < state.range(0); ++edge) {
    rule.uncertainty_edges.push_back(edge / static_cast<double>(state.range(0)));
  }
  for (int level = 0; level < state.range(0); ++level) {
    rule.score_thresholds.emplace_back(0.4 + 0.2 * level / static_cast<double>(state.range(0)));
  }
  std::vector<std::uint8_t> decision(kRows);
  for (auto _ : state) {
    decide(rule, std::span(float_rows().score), std::span(float_rows().uncertainty), decision);
    benchmark::DoNotOptimize(decision.data());
  }
  report_rows(state);
}
BENCHMARK(decide_rows)
    ->Name("decide/float/n:10M")
    ->ArgName("levels")
    ->Arg(3)
    ->Arg(11)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace limen

/// With --dump=DIR the rows are written there instead, for peers in other languages to run on.
int main(int argc, char** argv) {
  const std::string flag = "--dump=";
  if (argc == 2 && std::string(argv[1]).substr(0, flag.size()) == flag) {
    const std::string folder = std::string(argv[1]).substr(flag.size());
    const auto& rows = limen::float_rows();
    const auto write = [&](const char* name, const auto& values) {
      std::ofstream file(folder + "/" + name, std::ios::binary);
      file.write(reinterpret_cast<const char*>(values.data()),
                 static_cast<std::streamsize>(values.size() * sizeof(values[0])));
    };
    write("score.f32", rows.score);
    write("uncertainty.f32", rows.uncertainty);
    write("label.u8", rows.label);
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
