// SPDX-License-Identifier: MIT
#include "limen/fit.h"

#include <tbb/task_arena.h>

#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/choose/joint.h"
#include "limen/choose/sweep.h"
#include "limen/count/top_rows.h"
#include "limen/judge/metrics.h"
#include "limen/solve/monotone.h"
#include "limen/solve/near_optimum.h"
#include "limen/solve/smooth.h"

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
  if (options.levels && (*options.levels < 1 || *options.levels > 1000)) {
    throw InvalidInput("fit_boundary", "levels is " + std::to_string(*options.levels) + ", must be 1 to 1000");
  }
  constexpr std::int64_t kMostBins = std::int64_t{1} << 30;
  if (options.bins && options.bins->count && (*options.bins->count < 1 || *options.bins->count > kMostBins)) {
    throw InvalidInput("fit_boundary", "bins is " + std::to_string(*options.bins->count) + ", must be 1 to 2^30");
  }
  if (options.method == Method::kAuto && (options.levels || options.bins)) {
    throw InvalidInput("fit_boundary", "auto chooses levels and bins itself; with given ones name another method");
  }
  const bool exact = options.method == Method::kExact || options.method == Method::kJoint;
  if (options.monotone && !exact) {
    throw InvalidInput("fit_boundary",
                       "monotone thresholds need method exact or joint, not " + std::string(to_string(options.method)));
  }
  if (options.sweep_levels || options.sweep_bins) {
    if (options.method == Method::kAuto || options.method == Method::kJoint || options.method == Method::kSmooth) {
      throw InvalidInput("fit_boundary", "levels or bins by cross-validation are not for method " +
                                             std::string(to_string(options.method)));
    }
    if ((options.sweep_levels && options.levels) || (options.sweep_bins && options.bins)) {
      throw InvalidInput("fit_boundary", "levels or bins are both given and to be found");
    }
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

int levels_of(const FitOptions& options) {
  const MethodInfo& info = info_of(options.method);
  return info.has_levels() ? options.levels.value_or(info.levels) : 1;
}

BinCount bins_of(const FitOptions& options) {
  if (options.bins) return *options.bins;
  return info_of(options.method).needs_bins ? BinCount::of(500) : BinCount::all();
}

namespace {

/// How many of the rows are near the decision. all_in_one: their grid of one level.
std::int64_t num_near(const Grid& all_in_one, const Objective& objective, std::size_t rows) {
  const auto near = static_cast<double>(rows_near_decision(all_in_one, score_chain(all_in_one), objective));
  return std::llround(near / static_cast<double>(total_counts(all_in_one).rows) * static_cast<double>(rows));
}

Grid count_single(const Samples& samples, const SampleRanges& ranges, const Objective& objective) {
  std::optional<Grid> near = count_near_optimum(samples, ranges, {}, objective);
  return near ? *std::move(near) : count_distinct(samples, {}, weight_units(samples, positive_rounding(objective)));
}

double near_score(const Samples& samples, const SampleRanges& ranges, const Objective& objective) {
  return limen::near_score(samples, count_single(samples, ranges, objective), objective);
}

/// Equal intervals of uncertainty are of its whole range.
bool levels_from_top(const FitOptions& options) {
  return options.levels_from == LevelsFrom::kTop && options.binning == Binning::kEquiWeight;
}

std::vector<double> level_edges(const Samples& samples, const SampleRanges& ranges, const Objective& objective,
                                const FitOptions& options) {
  const bool joint = options.method == Method::kJoint;
  const int levels = joint ? kNarrowLevels : levels_of(options);
  std::vector<double> edges;
  if (levels == 1 || !levels_from_top(options)) {
    edges = uncertainty_edges(samples.uncertainty, ranges.uncertainty, levels, options.binning);
  } else {
    edges = top_edges(samples, near_score(samples, ranges, objective), levels);
  }
  if (!joint) return edges;
  const Grid narrow = count_distinct(samples, edges, weight_units(samples, positive_rounding(objective)));
  return joint_edges(narrow, objective, levels_of(options));
}

}  // namespace

double near_score(const Samples& samples, const Objective& objective) {
  return near_score(samples, validate(samples), objective);
}

double near_score(const Samples& samples, const Grid& single, const Objective& objective) {
  return top_score(samples, num_near(single, objective, samples.size()));
}

std::vector<double> level_edges(const Samples& samples, const Objective& objective, const FitOptions& options) {
  return level_edges(samples, validate(samples), objective, options);
}

namespace {

Grid count_on_edges(const Samples& samples, const std::vector<double>& edges, const Objective& objective,
                    const FitOptions& options) {
  const auto bins = bins_of(options).count;
  const WeightUnits units = weight_units(samples, positive_rounding(objective));
  return bins ? count_bins(samples, edges, *bins, options.binning, units) : count_distinct(samples, edges, units);
}

}  // namespace

Grid make_holdout_grid(const Samples& samples, const Objective& objective, const FitOptions& options) {
  return count_on_edges(samples, level_edges(samples, objective, options), objective, options);
}

namespace {

Solution solve_as(const FitOptions& options, const Grid& grid, const Objective& objective) {
  return options.monotone ? solve_monotone({grid, objective}, *options.monotone)
                          : solve(options.method, grid, objective);
}

/// weighted: the rows, when they have weights and are at hand.
FitResult pack(std::size_t rows, const Samples* weighted, const Grid& grid, Solution solution,
               const Objective& objective, const FitOptions& options) {
  FitResult result;
  result.levels_used = static_cast<int>(grid.num_levels());
  if (solution.status != SolveStatus::kInfeasible) {
    Boundary boundary;
    boundary.rule = rule_of(options.method, grid, objective, solution.taken);
    if (options.monotone) {
      boundary.rule.score_thresholds = monotone_thresholds(grid, solution.taken, *options.monotone);
      boundary.monotone = options.monotone;
    }
    boundary.objective = objective;
    boundary.method = options.method;
    boundary.binning = options.binning;
    boundary.levels_from = grid.num_levels() > 1 && levels_from_top(options) ? LevelsFrom::kTop : LevelsFrom::kAll;
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
  const bool exact =
      options.method == Method::kExact || options.method == Method::kJoint || options.method == Method::kSt;
  return exact && !options.monotone && !bins_of(options).count;
}

std::optional<Grid> count_what_matters(const Samples& samples, const SampleRanges& ranges, const Objective& objective,
                                       const FitOptions& options) {
  if (!is_exact_over_scores(options)) return std::nullopt;
  const auto edges = level_edges(samples, ranges, objective, options);
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
  return pack(samples.size(), weighted, grid, solve_as(options, grid, objective), objective, options);
}

/// A fit on these edges, whatever the options say of levels.
FitResult solve_on_edges(const Samples& samples, const SampleRanges& ranges, const std::vector<double>& edges,
                         const Objective& objective, const FitOptions& options) {
  const Samples* const weighted = samples.weight.empty() ? nullptr : &samples;
  std::optional<Grid> grid = count_near_optimum(samples, ranges, edges, objective);
  if (!grid) grid = count_distinct(samples, edges, weight_units(samples, positive_rounding(objective)));
  return pack(samples.size(), weighted, *grid, solve(options.method, *grid, objective), objective, options);
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
  options.monotone = std::nullopt;
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

/// What count_near_optimum does not count cannot be fitted from batches.
template <typename Counted>
Counted need_counted(std::optional<Counted> counted) {
  if (!counted) {
    throw InvalidInput("fit_boundary",
                       "rows that are not in memory cannot have this objective: a recall bound of 0, or a beta of more "
                       "than three digits");
  }
  return *std::move(counted);
}

void refuse_swept(const FitOptions& options) {
  if (options.sweep_levels || options.sweep_bins) {
    throw InvalidInput("fit_boundary", "levels or bins by cross-validation need rows in memory");
  }
}

/// What can be fitted without all rows in memory.
void refuse_all_but_exact(const FitOptions& options) {
  refuse_swept(options);
  if (!is_exact_over_scores(options) || options.method == Method::kJoint || options.binning != Binning::kEquiWeight) {
    throw InvalidInput("fit_boundary",
                       "rows that are not in memory need method auto, exact or st, every distinct score, equi-weight "
                       "levels and thresholds that need not be monotone");
  }
}

BatchOverview summarize_all(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  refuse_all_but_exact(options);
  const int levels = levels_of(options);
  const bool from_top = levels > 1 && levels_from_top(options);
  BatchOverview overview = summarize_batches(batches, from_top ? 1 : levels, options.most_rows_kept);
  if (overview.rows() == 0) throw InvalidInput("fit_boundary", "there are no rows", Cause::kNoRows);
  if (from_top) {
    const Grid single = need_counted(count_near_optimum(batches, overview, objective, options.most_rows_kept));
    const std::int64_t near = num_near(single, objective, overview.rows());
    const double score = top_score(batches, overview, near, options.most_rows_kept);
    overview.edges = top_edges(batches, overview, score, levels, options.most_rows_kept);
  }
  return overview;
}

/// The options with the numbers of levels and bins that cross-validation finds.
FitOptions with_swept(const Samples& samples, const Objective& objective, FitOptions options) {
  if (!options.sweep_levels && !options.sweep_bins) return options;
  SweepOptions how{.levels_from = options.levels_from,
                   .binning = options.binning,
                   .method = options.method,
                   .num_threads = options.num_threads};
  if (!options.sweep_levels) how.levels = {levels_of(options)};
  if (!options.sweep_bins) how.bins = {bins_of(options).count};
  const Sweep found = sweep(samples, objective, how);
  options.sweep_levels = options.sweep_bins = false;
  if (!found.best) return options;  // the bound is met nowhere: whatever is fitted says so
  const bool minimizes = objective.goal == Goal::kCost;
  const SweepCell* chosen = nullptr;
  for (const SweepCell& cell : found.cells) {
    if (cell.levels != found.cells[*found.smallest].levels || !cell.value) continue;
    if (!chosen || (minimizes ? *cell.value < *chosen->value : *cell.value > *chosen->value)) chosen = &cell;
  }
  options.levels = chosen->levels;
  options.bins = BinCount{chosen->bins};
  return options;
}

/// What `auto` asks of rows: in memory, in batches, or counted elsewhere.
struct RowsInMemoryFit {
  const Samples& samples;
  const SampleRanges& ranges;
  const Grid* counted = nullptr;  ///< what single() gives, where it is known

  [[nodiscard]] Grid single(const Objective& objective) const {
    return counted != nullptr ? *counted : count_single(samples, ranges, objective);
  }
  [[nodiscard]] double score_of(std::int64_t rows) const { return top_score(samples, rows); }
  [[nodiscard]] std::vector<double> edges(double score, int levels) const { return top_edges(samples, score, levels); }
  [[nodiscard]] Grid top(std::vector<double> edges, double score, const Objective& objective) const {
    return samples.weight.empty()
               ? count_top(samples, ranges, std::move(edges), score)
               : count_distinct(samples, std::move(edges), weight_units(samples, positive_rounding(objective)));
  }
  [[nodiscard]] FitResult exact(const std::vector<double>& edges, const Objective& objective,
                                const FitOptions& exact_options) const {
    return solve_on_edges(samples, ranges, edges, objective, exact_options);
  }
  [[nodiscard]] std::size_t rows() const { return samples.size(); }
  /// Up to so many rows top() gives more of them for a lower score.
  [[nodiscard]] std::int64_t most_near() const {
    return samples.weight.empty() ? static_cast<std::int64_t>(samples.size()) : 0;
  }
  [[nodiscard]] const Samples* weighted() const { return samples.weight.empty() ? nullptr : &samples; }
};

struct RowsInBatchesFit {
  const SampleBatches& batches;
  const BatchOverview& overview;
  const FitOptions& options;

  [[nodiscard]] Grid single(const Objective& objective) const {
    return need_counted(count_near_optimum(batches, overview, objective, options.most_rows_kept));
  }
  [[nodiscard]] double score_of(std::int64_t rows) const {
    return top_score(batches, overview, rows, options.most_rows_kept);
  }
  [[nodiscard]] std::vector<double> edges(double score, int levels) const {
    return top_edges(batches, overview, score, levels, options.most_rows_kept);
  }
  [[nodiscard]] Grid top(std::vector<double> edges, double score, const Objective&) const {
    return count_top(batches, overview, std::move(edges), score, options.most_rows_kept);
  }
  [[nodiscard]] FitResult exact(const std::vector<double>& edges, const Objective& objective,
                                const FitOptions& exact_options) const {
    BatchOverview with_edges = overview;
    with_edges.edges = edges;
    const Grid grid = need_counted(count_near_optimum(batches, with_edges, objective, options.most_rows_kept));
    return solve_batches(overview.rows(), grid, objective, exact_options);
  }
  [[nodiscard]] std::size_t rows() const { return overview.rows(); }
  [[nodiscard]] std::int64_t most_near() const { return static_cast<std::int64_t>(overview.rows()); }
  [[nodiscard]] static const Samples* weighted() { return nullptr; }
};

struct RowsElsewhereFit {
  const CountedRows& counted;

  [[nodiscard]] Grid single(const Objective& objective) const {
    return need_counted(count_near_optimum(counted, {}, objective));
  }
  [[nodiscard]] double score_of(std::int64_t rows) const { return top_score(counted, rows); }
  [[nodiscard]] std::vector<double> edges(double score, int levels) const {
    return quantile_edges(counted, score, levels);
  }
  [[nodiscard]] Grid top(std::vector<double> edges, double score, const Objective&) const {
    return count_top(counted, std::move(edges), score);
  }
  [[nodiscard]] FitResult exact(const std::vector<double>& edges, const Objective& objective,
                                const FitOptions& exact_options) const {
    return solve_batches(rows(), need_counted(count_near_optimum(counted, edges, objective)), objective, exact_options);
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(counted.total.rows); }
  [[nodiscard]] std::int64_t most_near() const { return counted.total.rows; }
  [[nodiscard]] static const Samples* weighted() { return nullptr; }
};

struct CountedFit {
  const Grid& grid;

  [[nodiscard]] Grid single(const Objective&) const { return merge_levels(grid, {}).value_or(grid); }
  [[nodiscard]] static double score_of(std::int64_t) { return 0; }
  [[nodiscard]] std::vector<double> edges(double, int) const { return grid.edges; }
  [[nodiscard]] Grid top(const std::vector<double>&, double, const Objective&) const { return grid; }
  [[nodiscard]] FitResult exact(const std::vector<double>& edges, const Objective& objective,
                                const FitOptions& exact_options) const {
    const Grid merged = edges == grid.edges ? grid : *merge_levels(grid, edges);
    return pack(rows(), nullptr, merged, solve(Method::kExact, merged, objective), objective, exact_options);
  }
  [[nodiscard]] std::size_t rows() const {
    return static_cast<std::size_t>(grid.totals ? grid.totals->num_rows : total_counts(grid).rows);
  }
  [[nodiscard]] static std::int64_t most_near() { return 0; }
  [[nodiscard]] static const Samples* weighted() { return nullptr; }
};

/// Whether a level is flagged down to its last bin but one, where the last has all rows that were not counted one by
/// one.
bool takes_all_counted(const Grid& grid, const Solution& solution) {
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const auto taken = static_cast<std::size_t>(solution.taken[level]);
    if (taken > 0 && taken + 1 == grid.levels[level].size()) return true;
  }
  return false;
}

template <typename Rows>
FitBesideSingle fit_chosen(const Rows& rows, const Objective& objective, const ChooseOptions& how = {}) {
  const Grid all_in_one = rows.single(objective);
  check_classes(all_in_one, rows.weighted() != nullptr);
  FitResult single = pack(rows.rows(), rows.weighted(), all_in_one, solve(Method::kSt, all_in_one, objective),
                          objective, {.method = Method::kSt});

  const std::int64_t near = num_near(all_in_one, objective, rows.rows());
  const double score = rows.score_of(near);
  const std::vector<double> edges = rows.edges(score, kNarrowLevels);
  const Grid top = rows.top(edges, score, objective);
  Choice choice = choose(top, objective, how);
  FitOptions chosen;
  chosen.method = choice.best().method;
  chosen.levels = choice.best().levels;
  chosen.levels_from = LevelsFrom::kTop;
  FitResult fit;
  if (chosen.method == Method::kSt) {
    fit = single;
  } else if (chosen.method == Method::kSmooth) {
    Grid counted = top;
    // On the rows that it was fitted on the model looks better than it is: it stops where rows left out say.
    const bool more_is_worse = objective.goal == Goal::kPrecision || objective.goal == Goal::kFalsePositiveRate;
    const double most_share = more_is_worse ? choice.best().stop_share : 1;
    Solution solution = solve_smooth({counted, objective}, most_share);
    // A level that is flagged down to the last row that was counted may want more of them.
    for (std::int64_t wider = near; takes_all_counted(counted, solution) && wider < rows.most_near();) {
      wider *= 2;
      counted = rows.top(edges, rows.score_of(wider), objective);
      solution = solve_smooth({counted, objective}, most_share);
    }
    fit = pack(rows.rows(), rows.weighted(), counted, std::move(solution), objective, chosen);
  } else {
    const int levels = choice.best().levels;
    fit = rows.exact(
        chosen.method == Method::kJoint ? joint_edges(top, objective, levels) : coarser_edges(top.edges, levels),
        objective, chosen);
  }
  if (fit.boundary) {
    fit.boundary->chosen_by = chosen_by(choice);
    fit.boundary->expected = {choice.precision.low, choice.precision.high, choice.recall.low, choice.recall.high};
  }
  fit.choice = std::move(choice);
  return {std::move(fit), std::move(single)};
}

/// `auto` on rows in memory.
FitBesideSingle fit_auto(const Samples& samples, const Objective& objective, const Grid* single = nullptr) {
  const SampleRanges ranges = check_rows(samples);
  return fit_chosen(RowsInMemoryFit{samples, ranges, single}, objective);
}

FitBesideSingle fit_auto(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  const BatchOverview overview = summarize_batches(batches, 1, options.most_rows_kept);
  if (overview.rows() == 0) throw InvalidInput("fit_boundary", "there are no rows", Cause::kNoRows);
  return fit_chosen(RowsInBatchesFit{batches, overview, options}, objective);
}

FitResult fit_auto(const Grid& grid, const Objective& objective) {
  bool levels_merge = true;
  for (const int levels : {2, 4, 8, 16})
    levels_merge &= merge_levels(grid, coarser_edges(grid.edges, levels)).has_value();
  FitResult fit = fit_chosen(CountedFit{grid}, objective, {.levels_merge = levels_merge}).fit;
  if (fit.boundary) fit.boundary->levels_from = LevelsFrom::kAll;
  return fit;
}

}  // namespace

FitResult fit_boundary(const Samples& samples, const Objective& objective, const FitOptions& asked) {
  return in_arena(objective, asked, [&] {
    if (asked.method == Method::kAuto) return fit_auto(samples, objective).fit;
    const SampleRanges ranges = check_rows(samples);
    const FitOptions options = with_swept(samples, objective, asked);
    return solve_holdout(samples, objective, options, count_what_matters(samples, ranges, objective, options));
  });
}

FitResult fit_on_edges(const Samples& samples, const std::vector<double>& edges, const Objective& objective,
                       const FitOptions& options) {
  if (options.method == Method::kAuto || options.method == Method::kJoint) {
    throw InvalidInput("fit_on_edges", "method " + std::string(to_string(options.method)) + " finds its own levels");
  }
  return in_arena(objective, options, [&] {
    const SampleRanges ranges = check_rows(samples);
    const Samples* const weighted = samples.weight.empty() ? nullptr : &samples;
    const auto near =
        is_exact_over_scores(options) ? count_near_optimum(samples, ranges, edges, objective) : std::nullopt;
    if (near) {
      Solution solution = solve(options.method, *near, objective);
      if (solution.status == SolveStatus::kOptimal) {
        return pack(samples.size(), weighted, *near, std::move(solution), objective, options);
      }
    }
    const Grid grid = count_on_edges(samples, edges, objective, options);
    return pack(samples.size(), weighted, grid, solve_as(options, grid, objective), objective, options);
  });
}

FitBesideSingle fit_beside_single(const Samples& samples, const Objective& objective, const FitOptions& asked) {
  return in_arena(objective, asked, [&] {
    if (asked.method == Method::kAuto) return fit_auto(samples, objective);
    const SampleRanges ranges = check_rows(samples);
    const FitOptions options = with_swept(samples, objective, asked);
    const FitOptions single = single_options(options);
    std::optional<NearOptimumGrids> both;
    if (is_exact_over_scores(options) && options.method != Method::kSt) {
      const auto edges = level_edges(samples, ranges, objective, options);
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

FitBesideSingle fit_auto(const Samples& samples, const Grid& single, const Objective& objective, int num_threads) {
  return in_arena(objective, {.method = Method::kAuto, .num_threads = num_threads},
                  [&] { return fit_auto(samples, objective, &single); });
}

FitResult fit_boundary(const Grid& grid, const Objective& objective, const FitOptions& options) {
  validate(options);
  validate(objective);
  validate(grid);
  refuse_swept(options);
  check_classes(grid, grid.totals.has_value());
  const std::int64_t rows = grid.totals ? grid.totals->num_rows : total_counts(grid).rows;
  FitResult result = options.method == Method::kAuto ? fit_auto(grid, objective)
                                                     : pack(static_cast<std::size_t>(rows), nullptr, grid,
                                                            solve_as(options, grid, objective), objective, options);
  if (result.boundary) {
    std::size_t most_bins = 0;
    for (const auto& bins : grid.levels) most_bins = std::max(most_bins, bins.size());
    result.boundary->bins = static_cast<std::int64_t>(most_bins);
  }
  return result;
}

FitResult fit_boundary(const CountedRows& rows, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    if (rows.total.rows == 0) throw InvalidInput("fit_boundary", "there are no rows", Cause::kNoRows);
    const RowsElsewhereFit counted{rows};
    if (options.method == Method::kAuto) return fit_chosen(counted, objective).fit;
    refuse_all_but_exact(options);
    const int levels = levels_of(options);
    std::optional<double> score;
    if (levels > 1 && levels_from_top(options)) {
      score = counted.score_of(num_near(counted.single(objective), objective, counted.rows()));
    }
    return counted.exact(quantile_edges(rows, score, levels), objective, options);
  });
}

FitResult fit_boundary(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    if (options.method == Method::kAuto) return fit_auto(batches, objective, options).fit;
    const BatchOverview overview = summarize_all(batches, objective, options);
    const Grid grid = need_counted(count_near_optimum(batches, overview, objective, options.most_rows_kept));
    return solve_batches(overview.rows(), grid, objective, options);
  });
}

FitBesideSingle fit_beside_single(const SampleBatches& batches, const Objective& objective, const FitOptions& options) {
  return in_arena(objective, options, [&] {
    if (options.method == Method::kAuto) return fit_auto(batches, objective, options);
    const BatchOverview overview = summarize_all(batches, objective, options);
    const NearOptimumGrids grids =
        need_counted(count_near_optimum_and_single(batches, overview, objective, options.most_rows_kept));
    return FitBesideSingle{solve_batches(overview.rows(), grids.boundary, objective, options),
                           solve_batches(overview.rows(), grids.single, objective, single_options(options))};
  });
}

}  // namespace limen
