// SPDX-License-Identifier: MIT
#include "limen/fit.h"

#include <tbb/task_arena.h>

#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/judge/metrics.h"
#include "limen/solve/near_optimum.h"

namespace limen {
namespace {

void check_classes(const Grid& grid, bool weighted) {
  const Counts total = total_counts(grid);
  const std::string what = weighted ? "weight" : "row";
  if (total.positives == 0) throw InvalidInput("fit_boundary", "no " + what + " is positive; both classes are needed");
  if (total.positives == total.rows) {
    throw InvalidInput("fit_boundary", "every " + what + " is positive; both classes are needed");
  }
}

/// The decisions of a solution per level and in all. Weights were rounded for the solver: they are added up again.
Evaluation evaluate_solution(const Samples* weighted, const Grid& grid, const Solution& solution, const Rule& rule) {
  if (weighted != nullptr) return evaluate(rule, *weighted);
  const auto confusion = [&grid](const Counts& all, const Counts& flagged) {
    const auto weight = [&grid](std::int64_t units) { return static_cast<double>(units) * grid.unit; };
    return Confusion{weight(all.rows), weight(all.positives), weight(flagged.rows), weight(flagged.positives)};
  };
  Evaluation evaluation;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    Counts all;
    Counts flagged;
    const auto taken = static_cast<std::size_t>(solution.taken[level]);
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      all += grid.levels[level][bin].counts;
      if (bin < taken) flagged += grid.levels[level][bin].counts;
    }
    evaluation.levels.push_back(confusion(all, flagged));
  }
  evaluation.total = confusion(total_counts(grid), solution.flagged);
  return evaluation;
}

HoldoutSummary summarize(std::size_t rows, bool weighted, const Confusion& total, const Grid& grid,
                         const Solution& solution, const Objective& objective) {
  HoldoutSummary summary;
  summary.rows = static_cast<std::int64_t>(rows);
  summary.weighted = weighted;
  summary.weight = total.rows;
  summary.positives = total.positives;
  summary.flagged = total.flagged;
  summary.true_positives = total.true_positives;
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
    throw InvalidInput("fit_boundary", "levels is " + std::to_string(options.levels) + ", must be 1 to 1000");
  }
  constexpr std::int64_t kMostBins = std::int64_t{1} << 30;
  if (options.bins && options.bins->count && (*options.bins->count < 1 || *options.bins->count > kMostBins)) {
    throw InvalidInput("fit_boundary", "bins is " + std::to_string(*options.bins->count) + ", must be 1 to 2^30");
  }
  if (options.most_rows_kept < 1000) {
    throw InvalidInput("fit_boundary",
                       "most_rows_kept is " + std::to_string(options.most_rows_kept) + ", must be at least 1000");
  }
  if (options.num_threads < 0) {
    throw InvalidInput("fit_boundary", "num_threads is " + std::to_string(options.num_threads) +
                                           ", must be at least 1, or 0 for all cores");
  }
}

BinCount bins_of(const FitOptions& options) {
  if (options.bins) return *options.bins;
  return info_of(options.method).needs_bins ? BinCount::of(500) : BinCount::all();
}

Grid make_holdout_grid(const Samples& samples, const Objective& objective, const FitOptions& options) {
  const int levels = info_of(options.method).has_levels ? options.levels : 1;
  const std::vector<double> edges = uncertainty_edges(samples.uncertainty, levels, options.binning);
  const auto bins = bins_of(options).count;
  const WeightUnits units = weight_units(samples, positive_rounding(objective));
  return bins ? count_bins(samples, edges, *bins, options.binning, units) : count_distinct(samples, edges, units);
}

namespace {

/// weighted: the rows, when they have weights and are at hand.
FitResult pack(std::size_t rows, const Samples* weighted, const Grid& grid, Solution solution,
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
    Evaluation evaluation = evaluate_solution(weighted, grid, solution, boundary.rule);
    boundary.holdout = summarize(rows, grid.totals.has_value(), evaluation.total, grid, solution, objective);
    result.levels = std::move(evaluation.levels);
    result.boundary = std::move(boundary);
  }
  result.solution = std::move(solution);
  return result;
}

/// Whether the answer is exact over every distinct score: then it is enough to look at the scores that can matter.
bool is_exact_over_scores(const FitOptions& options) {
  return !info_of(options.method).needs_bins && !bins_of(options).count;
}

std::optional<Grid> count_what_matters(const Samples& samples, const SampleRanges& ranges, const Objective& objective,
                                       const FitOptions& options) {
  if (!is_exact_over_scores(options)) return std::nullopt;
  const int levels = info_of(options.method).has_levels ? options.levels : 1;
  const auto edges = uncertainty_edges(samples.uncertainty, ranges.uncertainty, levels, options.binning);
  return count_near_optimum(samples, ranges, edges, objective);
}

/// selected: as count_what_matters gives.
FitResult solve_holdout(const Samples& samples, const Objective& objective, const FitOptions& options,
                        const std::optional<Grid>& selected) {
  const Samples* const weighted = samples.weight.empty() ? nullptr : &samples;
  if (selected) {
    check_classes(*selected, false);
    Solution solution = solve(options.method, *selected, objective);
    if (solution.status == SolveStatus::kOptimal) {
      return pack(samples.size(), weighted, *selected, std::move(solution), objective, options);
    }
  }
  const Grid grid = make_holdout_grid(samples, objective, options);
  check_classes(grid, weighted != nullptr);
  return pack(samples.size(), weighted, grid, solve(options.method, grid, objective), objective, options);
}

FitResult solve_batches(std::size_t rows, const Grid& selected, const Objective& objective, const FitOptions& options) {
  check_classes(selected, false);
  Solution solution = solve(options.method, selected, objective);
  if (solution.status == SolveStatus::kFeasible) {
    throw InvalidInput("fit_boundary", "the search has too many partial solutions; fit with all rows in memory");
  }
  return pack(rows, nullptr, selected, std::move(solution), objective, options);
}

/// `st` over every distinct score.
FitOptions single_options(FitOptions options) {
  options.method = Method::kSt;
  options.bins = std::nullopt;
  return options;
}

template <typename Solve>
auto in_arena(const Objective& objective, const FitOptions& options, const Solve& solve) {
  validate(options);
  validate(objective);
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute(solve);
}

SampleRanges check_rows(const Samples& samples) {
  if (samples.size() == 0) throw InvalidInput("fit_boundary", "there are no rows", Cause::kNoRows);
  return validate(samples);
}

BatchOverview summarize_all(const SampleBatches& batches, const FitOptions& options) {
  if (!is_exact_over_scores(options) || options.binning != Binning::kEquiWeight) {
    throw InvalidInput("fit_boundary",
                       "rows in batches need method exact or st, every distinct score and equi-weight levels");
  }
  BatchOverview overview =
      summarize_batches(batches, info_of(options.method).has_levels ? options.levels : 1, options.most_rows_kept);
  if (overview.rows() == 0) throw InvalidInput("fit_boundary", "there are no rows");
  return overview;
}

/// What count_near_optimum does not count cannot be fitted from batches.
template <typename Counted>
Counted need_counted(std::optional<Counted> counted) {
  if (!counted)
    throw InvalidInput(
        "fit_boundary",
        "rows in batches cannot have this objective: a recall bound of 0, or a beta of more than three digits");
  return *std::move(counted);
}

}  // namespace

FitResult fit_boundary(const Samples& samples, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    const SampleRanges ranges = check_rows(samples);
    return solve_holdout(samples, objective, options, count_what_matters(samples, ranges, objective, options));
  });
}

FitBesideSingle fit_beside_single(const Samples& samples, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    const SampleRanges ranges = check_rows(samples);
    const FitOptions single = single_options(options);
    std::optional<NearOptimumGrids> both;
    if (is_exact_over_scores(options) && options.method == Method::kExact) {
      const auto edges = uncertainty_edges(samples.uncertainty, ranges.uncertainty, options.levels, options.binning);
      both = count_near_optimum_and_single(samples, ranges, edges, objective);
    }
    if (both) {
      FitResult fit = solve_holdout(samples, objective, options, both->boundary);
      Solution threshold = solve(Method::kSt, both->single, objective);
      return FitBesideSingle{std::move(fit),
                             pack(samples.size(), nullptr, both->single, std::move(threshold), objective, single)};
    }
    const auto fit = [&](const FitOptions& how) {
      return solve_holdout(samples, objective, how, count_what_matters(samples, ranges, objective, how));
    };
    return FitBesideSingle{fit(options), fit(single)};
  });
}

FitResult fit_boundary(const Grid& grid, const Objective& objective, const FitOptions& options) {
  validate(objective);
  validate(grid);
  check_classes(grid, grid.totals.has_value());
  const std::int64_t rows = grid.totals ? grid.totals->num_rows : total_counts(grid).rows;
  FitResult result =
      pack(static_cast<std::size_t>(rows), nullptr, grid, solve(options.method, grid, objective), objective, options);
  if (result.boundary) {
    std::size_t most_bins = 0;
    for (const auto& bins : grid.levels) most_bins = std::max(most_bins, bins.size());
    result.boundary->bins = static_cast<std::int64_t>(most_bins);
  }
  return result;
}

FitResult fit_boundary(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    const BatchOverview overview = summarize_all(batches, options);
    const Grid grid = need_counted(count_near_optimum(batches, overview, objective, options.most_rows_kept));
    return solve_batches(overview.rows(), grid, objective, options);
  });
}

FitBesideSingle fit_beside_single(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    const BatchOverview overview = summarize_all(batches, options);
    const NearOptimumGrids grids =
        need_counted(count_near_optimum_and_single(batches, overview, objective, options.most_rows_kept));
    return FitBesideSingle{solve_batches(overview.rows(), grids.boundary, objective, options),
                           solve_batches(overview.rows(), grids.single, objective, single_options(options))};
  });
}

}  // namespace limen
