// SPDX-License-Identifier: MIT
#include "limen/fit.h"

#include <tbb/task_arena.h>

#include <string>

#include "detail/threads.h"
#include "limen/error.h"
#include "limen/metrics.h"
#include "limen/selective.h"

namespace limen {
namespace {

void check_classes(const Grid& grid, bool weighted) {
  const Counts total = total_counts(grid);
  const std::string what = weighted ? "weight" : "row";
  if (total.positives == 0) throw InvalidInput("fit_boundary: no " + what + " is positive; both classes are needed");
  if (total.positives == total.rows) {
    throw InvalidInput("fit_boundary: every " + what + " is positive; both classes are needed");
  }
}

/// samples: given when rows have weights.
HoldoutSummary summarize(std::size_t rows, const std::optional<Samples>& samples, const Grid& grid,
                         const Solution& solution, const Rule& rule, const Objective& objective) {
  HoldoutSummary summary;
  summary.rows = static_cast<std::int64_t>(rows);
  summary.weighted = samples.has_value();
  if (samples) {
    const Confusion total = evaluate(rule, *samples).total;
    summary.weight = total.rows;
    summary.positives = total.positives;
    summary.flagged = total.flagged;
    summary.true_positives = total.true_positives;
  } else {
    const Counts total = total_counts(grid);
    summary.weight = static_cast<double>(total.rows);
    summary.positives = static_cast<double>(total.positives);
    summary.flagged = static_cast<double>(solution.flagged.rows);
    summary.true_positives = static_cast<double>(solution.flagged.positives);
  }
  // Ratios have no unit, counts and costs have. Weights were rounded for the solver; where true positives are what is
  // maximised, value and bound follow the sums that are reported.
  const bool ratio = objective.goal == Goal::kRecall || objective.goal == Goal::kFBeta;
  summary.objective_value = solution.value * (ratio ? 1 : grid.unit);
  summary.objective_bound = solution.bound * (ratio ? 1 : grid.unit);
  if (!ratio && objective.goal != Goal::kCost) {
    summary.objective_value = summary.true_positives;
    summary.objective_bound = summary.true_positives + solution.gap * grid.unit;
  }
  summary.optimal = solution.status == SolveStatus::kOptimal;
  return summary;
}

}  // namespace

void validate(const FitOptions& options) {
  if (options.levels < 1 || options.levels > 1000) {
    throw InvalidInput("fit_boundary: levels is " + std::to_string(options.levels) + ", must be 1 to 1000");
  }
  constexpr std::int64_t kMostBins = std::int64_t{1} << 30;
  if (options.bins && options.bins->count && (*options.bins->count < 1 || *options.bins->count > kMostBins)) {
    throw InvalidInput("fit_boundary: bins is " + std::to_string(*options.bins->count) + ", must be 1 to 2^30");
  }
  if (options.num_threads < 0) {
    throw InvalidInput("fit_boundary: num_threads is " + std::to_string(options.num_threads) +
                       ", must be at least 1, or 0 for all cores");
  }
}

BinCount bins_of(const FitOptions& options) {
  if (options.bins) return *options.bins;
  const bool exact = options.method == Method::kSt || options.method == Method::kExact;
  return exact ? BinCount::all() : BinCount::of(500);
}

Grid make_holdout_grid(const Samples& samples, const Objective& objective, const FitOptions& options) {
  const int levels = options.method == Method::kSt ? 1 : options.levels;
  const std::vector<double> edges = uncertainty_edges(samples.uncertainty, levels, options.binning);
  const auto bins = bins_of(options).count;
  // Heuristic recalibration needs the mean uncertainty of every level, which only count_distinct works out.
  if (bins && options.binning == Binning::kEquiWeight && options.method != Method::kHr) {
    if (auto counted = count_quantile_bins(samples, edges, *bins)) return *std::move(counted);
  }
  Grid grid = count_distinct(samples, edges, weight_units(samples, objective));
  if (bins) grid = merge_bins(grid, *bins, options.binning);
  return grid;
}

namespace {

FitResult pack(std::size_t rows, const std::optional<Samples>& weighted, const Grid& grid, Solution solution,
               const Objective& objective, const FitOptions& options) {
  FitResult result;
  result.levels_used = static_cast<int>(grid.num_levels());
  if (solution.status != SolveStatus::kInfeasible) {
    Boundary boundary;
    boundary.rule = make_rule(grid, solution.taken);
    boundary.objective = objective;
    boundary.method = options.method;
    boundary.binning = options.binning;
    boundary.bins = bins_of(options).count;
    boundary.holdout = summarize(rows, weighted, grid, solution, boundary.rule, objective);
    result.boundary = std::move(boundary);
  }
  result.solution = std::move(solution);
  return result;
}

struct Solved {
  Grid grid;
  Solution solution;
};

Solved solve_holdout(const Samples& samples, const Objective& objective, const FitOptions& options) {
  const bool exact = options.method == Method::kExact || options.method == Method::kSt;
  if (exact && !bins_of(options).count) {
    // For an exact answer over every distinct score it is enough to look at the scores that can matter.
    const int levels = options.method == Method::kSt ? 1 : options.levels;
    auto grid = count_selected(samples, uncertainty_edges(samples.uncertainty, levels, options.binning), objective);
    if (grid) {
      check_classes(*grid, false);
      Solution solution = solve(options.method, *grid, objective);
      if (solution.status == SolveStatus::kOptimal) return {std::move(*grid), std::move(solution)};
    }
  }
  Grid grid = make_holdout_grid(samples, objective, options);
  check_classes(grid, !samples.weight.empty());
  Solution solution = solve(options.method, grid, objective);
  return {std::move(grid), std::move(solution)};
}

}  // namespace

FitResult fit_boundary(const Samples& samples, const Objective& objective, const FitOptions& options) {
  validate(options);
  validate(objective);
  if (samples.size() == 0) throw InvalidInput("fit_boundary: there are no rows");
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] {
    validate(samples);
    auto [grid, solution] = solve_holdout(samples, objective, options);
    const auto weighted = samples.weight.empty() ? std::nullopt : std::optional(samples);
    return pack(samples.size(), weighted, grid, std::move(solution), objective, options);
  });
}

FitResult fit_boundary(const Grid& grid, const Objective& objective, const FitOptions& options) {
  validate(objective);
  validate(grid);
  check_classes(grid, grid.unit != 1);
  FitResult result = pack(static_cast<std::size_t>(total_counts(grid).rows), std::nullopt, grid,
                          solve(options.method, grid, objective), objective, options);
  if (result.boundary) {
    std::size_t most_bins = 0;
    for (const auto& bins : grid.levels) most_bins = std::max(most_bins, bins.size());
    result.boundary->bins = static_cast<std::int64_t>(most_bins);
  }
  return result;
}

FitResult fit_boundary(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  validate(options);
  validate(objective);
  if ((options.method != Method::kExact && options.method != Method::kSt) || bins_of(options).count ||
      options.binning != Binning::kEquiWeight) {
    throw InvalidInput(
        "fit_boundary: rows in batches need method exact or st, every distinct score and equi-weight levels");
  }
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] {
    const BatchOverview overview = look_through(batches, options.method == Method::kSt ? 1 : options.levels);
    if (overview.rows == 0) throw InvalidInput("fit_boundary: there are no rows");
    const auto grid = count_selected(batches, overview, objective);
    if (!grid) throw InvalidInput("fit_boundary: rows in batches cannot have this objective, or so many levels");
    check_classes(*grid, false);
    Solution solution = solve(options.method, *grid, objective);
    if (solution.status == SolveStatus::kFeasible) {
      throw InvalidInput("fit_boundary: the search has too many partial solutions; fit with all rows in memory");
    }
    return pack(overview.rows, std::nullopt, *grid, std::move(solution), objective, options);
  });
}

}  // namespace limen
