// SPDX-License-Identifier: MIT
//
// The cells of the paper's run-time table, on grids of equal bins. run_time_table.py sets them beside a plain-Python
// version of the printed algorithm (ew_dpmt_reference.py) on the same grids.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "limen/solve/solve.h"

namespace limen {
namespace {

/// K x L bins of 100 rows, positivity falling with the score and shifted by the level; the same in the Python version.
Grid make_cell(std::size_t num_levels, std::size_t num_bins) {
  std::vector<std::vector<std::int64_t>> rows(num_levels);
  std::vector<std::vector<std::int64_t>> positives(num_levels);
  std::uint64_t state = 12345;
  for (std::size_t level = 0; level < num_levels; ++level) {
    for (std::size_t bin = 0; bin < num_bins; ++bin) {
      // A linear congruential generator: three lines in any language.
      state = (state * 1103515245 + 12345) % 2147483648;
      const double noise = static_cast<double>(state) / 2147483648.0 - 0.5;
      const double depth = static_cast<double>(bin) / static_cast<double>(num_bins);
      const double rate = 0.98 - 1.6 * depth - 0.02 * static_cast<double>(level) + 0.1 * noise;
      rows[level].push_back(100);
      positives[level].push_back(static_cast<std::int64_t>(100 * std::min(1.0, std::max(0.0, rate))));
    }
  }
  return make_grid(positives, rows);
}

void solve_cell(benchmark::State& state, Method method) {
  const Grid grid = make_cell(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  const Objective objective = max_recall_at_precision({9, 10});
  const Solution exact = solve_exact({grid, objective});
  const Solution solution = solve(method, grid, objective);
  if (method != Method::kMist && solution.flagged != exact.flagged) throw std::runtime_error("not the optimum");
  for (auto _ : state) benchmark::DoNotOptimize(solve(method, grid, objective));
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
  state.counters["true_positives"] = static_cast<double>(solution.flagged.positives);
}

void register_all() {
  for (const Method method : {Method::kEwDpmt, Method::kMist, Method::kVwDpmt, Method::kExact}) {
    auto* family = benchmark::RegisterBenchmark(std::string(to_string(method)).c_str(), solve_cell, method);
    family->ArgNames({"levels", "bins"})->ArgsProduct({{3, 7, 11}, {100, 500, 1000}})->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace limen

int main(int argc, char** argv) {
  limen::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
