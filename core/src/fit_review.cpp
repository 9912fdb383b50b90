// SPDX-License-Identifier: MIT
#include "limen/fit_review.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <variant>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/wide.h"
#include "limen/choose/choose.h"
#include "limen/count/binning.h"
#include "limen/count/top_rows.h"
#include "limen/solve/near_optimum.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("fit_review", what); }

void check(const Boundary& boundary, const ReviewGoal& goal) {
  validate(goal);
  refuse_segments(boundary, "fit_review");
  validate(boundary.rule);
  if (boundary.monotone) refuse("review thresholds cannot be made monotone; leave out the review or the monotone rule");
  if (!goal.cost) return;
  if (boundary.objective.goal != Goal::kCost) refuse("a cost of review needs costs of false positives and negatives");
  const bool chosen_smooth = boundary.method == Method::kSmooth && boundary.chosen_by;
  if (boundary.method != Method::kSt && boundary.method != Method::kExact && boundary.method != Method::kJoint &&
      !chosen_smooth) {
    refuse("a cost of review needs method auto, st, exact or joint, not " + std::string(to_string(boundary.method)));
  }
}

/// Some rows of samples, copied in their own precision.
class CopiedRows {
 public:
  /// Those whose decision is 0.
  CopiedRows(const Samples& samples, std::span<const std::uint8_t> decision)
      : score_(copied(samples.score, decision)), uncertainty_(copied(samples.uncertainty, decision)) {
    for (std::size_t row = 0; row < decision.size(); ++row) {
      if (decision[row] != 0) continue;
      label_.push_back(samples.label[row]);
      if (!samples.weight.empty()) weight_.push_back(samples.weight[row]);
    }
  }

  [[nodiscard]] Samples samples() const { return {span_of(score_), span_of(uncertainty_), label_, weight_}; }

 private:
  using Reals = std::variant<std::vector<float>, std::vector<double>>;

  static Reals copied(RealSpan column, std::span<const std::uint8_t> decision) {
    return column.visit([&](auto values) -> Reals {
      std::vector<typename decltype(values)::value_type> kept;
      for (std::size_t row = 0; row < values.size(); ++row) {
        if (decision[row] == 0) kept.push_back(values[row]);
      }
      return kept;
    });
  }
  static RealSpan span_of(const Reals& reals) {
    return std::visit([](const auto& values) { return RealSpan(std::span(values)); }, reals);
  }

  Reals score_;
  Reals uncertainty_;
  std::vector<std::uint8_t> label_;
  std::vector<double> weight_;
};

RowTotals totals_of(const Samples& samples, const WeightUnits& units) {
  RowTotals totals{0, 0, static_cast<std::int64_t>(samples.size())};
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const std::int64_t low =
        samples.weight.empty() ? 1 : static_cast<std::int64_t>(std::floor(samples.weight[row] / units.unit));
    (samples.label[row] != 0 ? totals.positives_low : totals.negatives_low) += low;
  }
  return totals;
}

Review make_review(const ReviewGoal& goal, bool optimal, std::vector<std::optional<double>> thresholds) {
  Review review;
  review.score_thresholds = std::move(thresholds);
  review.max_rate = goal.max_rate;
  review.min_recall = goal.min_recall;
  review.cost = goal.cost;
  review.optimal = optimal;
  return review;
}

/// A review with its thresholds.
struct Found {
  ReviewSolution solution;
  std::vector<std::optional<double>> thresholds;
  double unit = 1;
};

Found solve_rest(const Grid& rest, const RowTotals& all, const ReviewGoal& goal) {
  ReviewSolution solution = solve_review(rest, all, goal);
  std::vector<std::optional<double>> thresholds = make_rule(rest, solution.taken).score_thresholds;
  return {std::move(solution), std::move(thresholds), rest.unit};
}

/// The review of a smooth boundary follows such a model too, one of the rows that are not flagged.
Found solve_rest_smooth(const Grid& rest, const RowTotals& all, const ReviewGoal& goal, const Rule& flagging) {
  if (total_counts(rest).rows == 0) return solve_rest(rest, all, goal);
  const SmoothFit model(rest, rest_objective(total_counts(rest), all, goal));
  ReviewSolution solution = solve_review_on_chain(rest, all, goal, model.chain());
  std::vector<std::optional<double>> thresholds(rest.num_levels());
  if (solution.reviewed.rows > 0) thresholds = model.thresholds(solution.taken);
  for (std::size_t level = 0; level < thresholds.size(); ++level) {
    // Where the level has no row to review the model may be cut among scores that it flags.
    const auto& flag = flagging.score_thresholds[level];
    if (thresholds[level] && flag && *thresholds[level] >= *flag) thresholds[level].reset();
  }
  return {std::move(solution), std::move(thresholds), rest.unit};
}

/// The same for a rate, from the highest scores alone, as many of them as matter. score_of(rows): the score that so
/// many of the rest reach; top(score): as count_top gives.
template <typename ScoreOf, typename Top>
Found solve_top_smooth(std::int64_t num_rest, const RowTotals& all, const ReviewGoal& goal, const Rule& flagging,
                       const ScoreOf& score_of, const Top& top) {
  constexpr std::int64_t kLeast = 4000;
  std::int64_t near = std::max(kLeast, 4 * review_capacity(*goal.max_rate, all));
  for (;; near *= 2) {
    const Grid counted = top(score_of(std::min(near, num_rest)));
    Found found = solve_rest_smooth(counted, all, goal, flagging);
    // A level that is reviewed down to the last row that was counted may want more of them.
    bool all_counted = false;
    for (std::size_t level = 0; level < counted.num_levels(); ++level) {
      const auto taken = static_cast<std::size_t>(found.solution.taken[level]);
      all_counted |= taken > 0 && taken + 1 == counted.levels[level].size();
    }
    if (!all_counted || near >= num_rest) return found;
  }
}

/// What a review of the rows that are not flagged comes to; evaluate: the decisions of a rule on the hold-out.
template <typename Evaluate>
ReviewFit finish(Boundary boundary, const ReviewGoal& goal, const Found& found, const Evaluate& evaluate) {
  const ReviewSolution& solution = found.solution;
  ReviewFit fit;
  boundary.review = make_review(goal, solution.status == SolveStatus::kOptimal, found.thresholds);
  fit.flagged = evaluate(boundary.rule);
  fit.flagged_or_reviewed = evaluate(flag_or_review_rule(boundary));
  const Confusion& both = fit.flagged_or_reviewed.total;
  const Confusion reviewed = reviewed_only(fit.flagged.total, both);
  boundary.review->reviewed = reviewed.flagged;
  boundary.review->positives = reviewed.true_positives;
  if (solution.status == SolveStatus::kInfeasible) {
    fit.best_recall = both.recall();
    if (solution.fewest_rows) fit.least_rate = static_cast<double>(*solution.fewest_rows) * found.unit / both.rows;
    return fit;
  }
  fit.boundary = std::move(boundary);
  return fit;
}

/// The pair of boundaries of least cost on a grid, in place of what the boundary has.
template <typename Evaluate>
ReviewFit finish_cost(Boundary boundary, const ReviewGoal& goal, const Grid& grid, const Evaluate& evaluate) {
  const FlagAndReview pair = solve_review_cost(grid, boundary.objective, *goal.cost);
  std::vector<std::optional<double>> thresholds = make_rule(grid, pair.flag_or_review).score_thresholds;
  for (std::size_t level = 0; level < thresholds.size(); ++level) {
    if (pair.flag_or_review[level] == pair.flag[level]) thresholds[level].reset();
  }
  boundary.rule = make_rule(grid, pair.flag);
  boundary.review = make_review(goal, true, std::move(thresholds));
  boundary.expected.reset();  // of a boundary that flagged other rows
  ReviewFit fit;
  fit.flagged = evaluate(boundary.rule);
  fit.flagged_or_reviewed = evaluate(flag_or_review_rule(boundary));
  const Confusion& flagged = fit.flagged.total;
  const Confusion reviewed = reviewed_only(flagged, fit.flagged_or_reviewed.total);
  boundary.review->reviewed = reviewed.flagged;
  boundary.review->positives = reviewed.true_positives;
  boundary.holdout.flagged = flagged.flagged;
  boundary.holdout.true_positives = flagged.true_positives;
  boundary.holdout.objective_value = boundary.holdout.objective_bound = pair.cost * grid.unit;
  boundary.holdout.optimal = true;
  fit.boundary = std::move(boundary);
  return fit;
}

/// Levels of a smooth boundary are narrow: thresholds that are free to differ would follow the noise of each.
std::vector<double> edges_for_cost(Boundary& boundary) {
  constexpr int kLevels = 4;
  if (boundary.method != Method::kSmooth) return boundary.rule.uncertainty_edges;
  boundary.method = Method::kExact;
  boundary.chosen_by->why += "; for a cost of review " + std::to_string(kLevels) + " of its levels";
  return coarser_edges(boundary.rule.uncertainty_edges, kLevels);
}

/// Nothing is left to review: a grid of empty levels.
Grid no_rows(const Rule& rule) {
  Grid grid;
  grid.edges = rule.uncertainty_edges;
  grid.levels.resize(rule.score_thresholds.size());
  return grid;
}

/// The rows that are not flagged, of a grid that the rule cuts between bins.
Grid rest_of(const Grid& grid, const Rule& rule) {
  Grid rest = grid;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    auto& bins = rest.levels[level];
    const auto& threshold = rule.score_thresholds[level];
    if (!threshold) continue;
    const auto first = std::ranges::find_if(bins, [&](const Bin& bin) { return bin.threshold < *threshold; });
    if (first != bins.end() && first->counts.rows > 0 && first->highest >= *threshold) {
      refuse("the boundary cuts level " + std::to_string(level) + " inside a bin");
    }
    bins.erase(bins.begin(), first);
  }
  if (rest.totals) {
    const Counts counts = total_counts(rest);
    rest.totals = RowTotals{counts.positives, counts.rows - counts.positives, rest.totals->num_rows};
  }
  return rest;
}

Evaluation evaluate_on(const Grid& grid, const Rule& rule) {
  const Grid rest = rest_of(grid, rule);
  Evaluation evaluation;
  const auto add = [&grid](Confusion& sums, const Counts& all, const Counts& passed) {
    sums.rows += static_cast<double>(all.rows) * grid.unit;
    sums.positives += static_cast<double>(all.positives) * grid.unit;
    sums.flagged += static_cast<double>(all.rows - passed.rows) * grid.unit;
    sums.true_positives += static_cast<double>(all.positives - passed.positives) * grid.unit;
  };
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const Counts all = total_counts(grid.levels[level]);
    const Counts passed = total_counts(rest.levels[level]);
    add(evaluation.levels.emplace_back(), all, passed);
    add(evaluation.total, all, passed);
  }
  return evaluation;
}

Evaluation evaluate_batches(const Rule& rule, const SampleBatches& batches) {
  const auto add = [](Confusion& sum, const Confusion& part) {
    sum.rows += part.rows;
    sum.positives += part.positives;
    sum.flagged += part.flagged;
    sum.true_positives += part.true_positives;
  };
  Evaluation sum;
  sum.levels.resize(rule.score_thresholds.size());
  batches([&](const Samples& batch) {
    const Evaluation part = evaluate(rule, batch);
    add(sum.total, part.total);
    for (std::size_t level = 0; level < sum.levels.size(); ++level) add(sum.levels[level], part.levels[level]);
  });
  return sum;
}

ReviewFit review_samples(Boundary boundary, const Samples& samples, const ReviewGoal& goal) {
  check(boundary, goal);
  validate(samples);
  if (samples.size() == 0) throw InvalidInput("fit_review", "there are no rows", Cause::kNoRows);
  const auto evaluate_rule = [&](const Rule& rule) { return evaluate(rule, samples); };
  const auto count = [&](const Samples& rows, const std::vector<double>& edges, const WeightUnits& units) {
    return boundary.bins ? count_bins(rows, edges, *boundary.bins, boundary.binning, units)
                         : count_distinct(rows, edges, units);
  };
  if (goal.cost) {
    const std::vector<double> edges = edges_for_cost(boundary);
    const Grid grid = count(samples, edges, weight_units(samples, positive_rounding(boundary.objective)));
    return finish_cost(std::move(boundary), goal, grid, evaluate_rule);
  }
  const WeightUnits units = weight_units(samples, PositiveRounding::kUp);
  const RowTotals all = totals_of(samples, units);
  const CopiedRows copied(samples, decide(boundary.rule, samples.score, samples.uncertainty));
  const Samples rest_rows = copied.samples();
  const std::vector<double>& edges = boundary.rule.uncertainty_edges;
  const bool smooth = boundary.method == Method::kSmooth;
  const auto num_rest = static_cast<std::int64_t>(rest_rows.size());
  // For a rate alone the scores near the last one that is reviewed are enough.
  if (num_rest > 0 && goal.max_rate && !goal.min_recall && !boundary.bins && samples.weight.empty()) {
    const SampleRanges ranges = validate(rest_rows);
    if (smooth) {
      const Found found = solve_top_smooth(
          num_rest, all, goal, boundary.rule, [&](std::int64_t rows) { return top_score(rest_rows, rows); },
          [&](double score) { return count_top(rest_rows, ranges, edges, score); });
      return finish(boundary, goal, found, evaluate_rule);
    }
    const Counts counts{num_rest, 0};
    const auto near = count_near_optimum(rest_rows, ranges, edges, rest_objective(counts, all, goal));
    if (near) {
      const Found found = solve_rest(*near, all, goal);
      if (found.solution.status == SolveStatus::kOptimal) return finish(boundary, goal, found, evaluate_rule);
    }
  }
  const Grid rest = num_rest > 0 ? count(rest_rows, edges, units) : no_rows(boundary.rule);
  const Found found = smooth ? solve_rest_smooth(rest, all, goal, boundary.rule) : solve_rest(rest, all, goal);
  return finish(boundary, goal, found, evaluate_rule);
}

ReviewFit review_batches(Boundary boundary, const SampleBatches& batches, const ReviewGoal& goal,
                         std::size_t most_rows) {
  check(boundary, goal);
  if (!goal.max_rate) refuse("a recall alone, or a cost, needs all rows in memory; rows in batches can have a rate");
  if (boundary.bins || boundary.holdout.weighted) refuse("rows in batches need every distinct score and no weights");
  const auto evaluate_rule = [&](const Rule& rule) { return evaluate_batches(rule, batches); };
  const auto positives = static_cast<std::int64_t>(boundary.holdout.positives);
  const RowTotals all{positives, boundary.holdout.rows - positives, boundary.holdout.rows};
  const std::int64_t num_rest = all.num_rows - static_cast<std::int64_t>(boundary.holdout.flagged);
  if (num_rest == 0) {
    return finish(boundary, goal, solve_rest(no_rows(boundary.rule), all, goal), evaluate_rule);
  }
  const SampleBatches rest = [&](const std::function<void(const Samples&)>& visit) {
    batches([&](const Samples& batch) {
      const CopiedRows copied(batch, decide(boundary.rule, batch.score, batch.uncertainty));
      if (const Samples rows = copied.samples(); rows.size() > 0) visit(rows);
    });
  };
  BatchOverview overview = summarize_batches(rest, 1, most_rows);
  if (static_cast<std::int64_t>(overview.rows()) != num_rest) {
    throw InvalidInput("fit_review", "the rows are not those that the boundary was fitted on", Cause::kFileChanged);
  }
  overview.edges = boundary.rule.uncertainty_edges;
  const ReviewGoal rate{.max_rate = goal.max_rate};
  Found found;
  if (boundary.method == Method::kSmooth) {
    found = solve_top_smooth(
        num_rest, all, rate, boundary.rule,
        [&](std::int64_t rows) { return top_score(rest, overview, rows, most_rows); },
        [&](double score) { return count_top(rest, overview, overview.edges, score, most_rows); });
  } else {
    const auto near = count_near_optimum(rest, overview, rest_objective({num_rest, 0}, all, rate), most_rows);
    if (near) found = solve_rest(*near, all, rate);
    if (found.solution.status != SolveStatus::kOptimal) {
      refuse("the search has too many partial solutions; fit with all rows in memory");
    }
  }
  if (goal.min_recall) {
    const detail::Wide reached =
        static_cast<std::int64_t>(boundary.holdout.true_positives) + found.solution.reviewed.positives;
    if (reached * goal.min_recall->den < detail::Wide{goal.min_recall->num} * positives) {
      found.solution.status = SolveStatus::kInfeasible;
    }
  }
  return finish(boundary, goal, found, evaluate_rule);
}

template <typename Fit>
ReviewFit in_arena(int num_threads, const Fit& fit) {
  if (num_threads < 0) {
    refuse("num_threads is " + std::to_string(num_threads) + ", must be at least 1, or 0 for all cores");
  }
  tbb::task_arena arena(detail::arena_size(num_threads));
  return arena.execute(fit);
}

}  // namespace

Confusion reviewed_only(const Confusion& flagged, const Confusion& flagged_or_reviewed) {
  Confusion reviewed = flagged_or_reviewed;
  reviewed.flagged -= flagged.flagged;
  reviewed.true_positives -= flagged.true_positives;
  return reviewed;
}

FlagRate flag_rate(const Confusion& counts, double confidence) {
  return {counts.rows > 0 ? counts.flagged / counts.rows : 0,
          proportion_interval(counts.flagged * counts.effective_fraction, counts.rows * counts.effective_fraction,
                              confidence)};
}

ReviewFit fit_review(Boundary boundary, const Samples& samples, const ReviewGoal& goal, int num_threads) {
  return in_arena(num_threads, [&] { return review_samples(std::move(boundary), samples, goal); });
}

ReviewFit fit_review(Boundary boundary, const SampleBatches& batches, const ReviewGoal& goal, std::size_t most_rows,
                     int num_threads) {
  return in_arena(num_threads, [&] { return review_batches(std::move(boundary), batches, goal, most_rows); });
}

ReviewFit fit_review(Boundary boundary, const Grid& grid, const ReviewGoal& goal) {
  check(boundary, goal);
  validate(grid);
  const std::vector<double> edges = goal.cost ? edges_for_cost(boundary) : boundary.rule.uncertainty_edges;
  const std::optional<Grid> merged = merge_levels(grid, edges);
  if (!merged) refuse("bins of different levels overlap; give a method that keeps the levels of the counts");
  const auto evaluate_rule = [&](const Rule& rule) { return evaluate_on(*merged, rule); };
  if (goal.cost) return finish_cost(std::move(boundary), goal, *merged, evaluate_rule);
  const Counts total = total_counts(*merged);
  const RowTotals all = merged->totals.value_or(RowTotals{total.positives, total.rows - total.positives, total.rows});
  const Grid rest = rest_of(*merged, boundary.rule);
  const Found found = boundary.method == Method::kSmooth ? solve_rest_smooth(rest, all, goal, boundary.rule)
                                                         : solve_rest(rest, all, goal);
  return finish(boundary, goal, found, evaluate_rule);
}

}  // namespace limen
