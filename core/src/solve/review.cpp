// SPDX-License-Identifier: MIT
#include "limen/solve/review.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/base/wide.h"
#include "limen/solve/relaxation.h"
#include "solve/knapsack_search.h"

namespace limen {
namespace {

using detail::KnapsackSolution;
using detail::Wide;

constexpr std::int64_t kMostCost = 10'000'000'000;  // ten digits, as the costs of an objective

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("review", what); }

void check_fraction(const Rational& value, const char* name) {
  if (value.den > 0 && value.num >= 0 && value.num <= value.den) return;
  std::string text = std::string(name) + " is " + number_text(value.to_double()) + ", must be between 0 and 1";
  if (value.den > 0 && value.num > 0 && value.num / value.den <= 100) {
    text += "; " + number_text(value.to_double()) + "% is " + number_text(value.to_double() / 100);
  }
  refuse(text);
}

/// An empty last bin only lowers the threshold to a score that nothing spoke for.
void trim_empty_bins(const Grid& grid, std::vector<std::int32_t>& taken) {
  for (std::size_t level = 0; level < taken.size(); ++level) {
    while (taken[level] > 0 && grid.levels[level][static_cast<std::size_t>(taken[level]) - 1].counts.rows == 0) {
      --taken[level];
    }
  }
}

/// The three costs as whole numbers of 1 / denominator.
struct WholeCosts {
  Wide false_positive;
  Wide false_negative;
  Wide review;
  Wide denominator;
};

WholeCosts whole_costs(const Objective& objective, const Rational& review_cost) {
  Wide common = 1;
  for (const Rational& cost : {objective.false_positive_cost, objective.false_negative_cost, review_cost}) {
    common *= cost.den / std::gcd(static_cast<std::int64_t>(common), cost.den);
    if (common > kMostCost) refuse("the three costs have no common denominator of at most 10 digits");
  }
  const auto whole = [&](const Rational& cost) { return cost.num * (common / cost.den); };
  return {whole(objective.false_positive_cost), whole(objective.false_negative_cost), whole(review_cost), common};
}

/// Positives of the rest that a recall needs: those that are neither flagged nor reviewed may be
/// floor((1 - recall) * positives) units.
std::int64_t positives_needed(const Counts& rest, const RowTotals& all, const ReviewGoal& goal) {
  if (!goal.min_recall) return 0;
  const Rational& recall = *goal.min_recall;
  return std::max<std::int64_t>(
      rest.positives - static_cast<std::int64_t>(Wide{recall.den - recall.num} * all.positives_low / recall.den), 0);
}

Rational fraction_of(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return {1, 1};
  const std::int64_t divisor = std::gcd(part, whole);
  return {part / divisor, whole / divisor};
}

}  // namespace

void validate(const ReviewGoal& goal) {
  if (goal.cost) {
    if (goal.max_rate || goal.min_recall) refuse("a cost decides how much is reviewed; give no rate and no recall");
    if (goal.cost->num < 0 || goal.cost->den <= 0 || goal.cost->num > kMostCost || goal.cost->den > kMostCost) {
      refuse("the cost is " + number_text(goal.cost->to_double()) + ", must be a number >= 0 of at most 10 digits");
    }
    return;
  }
  if (!goal.max_rate && !goal.min_recall) refuse("needs a rate, a recall or a cost");
  if (goal.max_rate) check_fraction(*goal.max_rate, "rate");
  if (goal.min_recall) check_fraction(*goal.min_recall, "recall");
}

std::int64_t review_capacity(const Rational& max_rate, const RowTotals& all) {
  return static_cast<std::int64_t>(Wide{max_rate.num} * (all.positives_low + all.negatives_low) / max_rate.den);
}

ReviewSolution solve_review(const Grid& rest, const RowTotals& all, const ReviewGoal& goal,
                            const ExactOptions& options) {
  validate(goal);
  if (goal.cost) refuse("a cost needs flagging and review together (solve_review_cost)");
  const Problem problem(rest, max_recall_at_flag_rate({1, 1}));  // for its hulls; the knapsacks are made here

  const std::int64_t needed = positives_needed(problem.totals().all, all, goal);
  const auto solve = [&](const Knapsack& knapsack) {
    KnapsackSolution found = detail::solve_knapsack(problem, knapsack, options);
    trim_empty_bins(rest, found.taken);
    return found;
  };
  const auto solve_fewest = [&] { return solve({{-1, 0}, {0, -1}, -Wide{needed}}); };

  ReviewSolution solution;
  bool proved = true;
  std::int64_t capacity = 0;
  if (goal.max_rate) {
    capacity = review_capacity(*goal.max_rate, all);
  } else {
    const KnapsackSolution fewest = solve_fewest();
    proved = fewest.proved;
    capacity = flagged_counts(rest, fewest.taken).rows;
  }
  KnapsackSolution most = solve({{0, 1}, {1, 0}, capacity});
  solution.taken = std::move(most.taken);
  solution.reviewed = flagged_counts(rest, solution.taken);
  proved &= most.proved;
  if (solution.reviewed.positives < needed) {
    KnapsackSolution fewest = solve_fewest();
    const Counts counts = flagged_counts(rest, fewest.taken);
    if (counts.rows > capacity) {
      solution.fewest_rows = counts.rows;
      return solution;
    }
    // Only where the search for the most positives had to give up.
    solution.taken = std::move(fewest.taken);
    solution.reviewed = counts;
    proved = false;
  }
  solution.status = proved ? SolveStatus::kOptimal : SolveStatus::kFeasible;
  return solution;
}

ReviewSolution solve_review_on_chain(const Grid& rest, const RowTotals& all, const ReviewGoal& goal,
                                     const Chain& chain) {
  validate(goal);
  if (goal.cost) refuse("a cost needs flagging and review together (solve_review_cost)");
  const std::int64_t needed = positives_needed(total_counts(rest), all, goal);
  std::size_t fewest = 0;  // steps of the shortest boundary with enough positives
  std::size_t most = 0;    // of the shortest one with the most positives at the rate
  const std::int64_t capacity = goal.max_rate ? review_capacity(*goal.max_rate, all) : 0;
  for (std::size_t steps = 1; steps <= chain.size(); ++steps) {
    const ChainStep& step = chain[steps - 1];
    if (!step.group_end) continue;
    if (counts_after(chain, fewest).positives < needed) fewest = steps;
    if (step.flagged.rows <= capacity && step.flagged.positives > counts_after(chain, most).positives) most = steps;
  }
  const std::size_t chosen = goal.max_rate ? most : fewest;
  ReviewSolution solution;
  solution.taken = taken_after(chain, chosen, rest.num_levels());
  trim_empty_bins(rest, solution.taken);
  solution.reviewed = counts_after(chain, chosen);
  if (solution.reviewed.positives >= needed) {
    solution.status = SolveStatus::kFeasible;
  } else {
    solution.fewest_rows = counts_after(chain, fewest).rows;
  }
  return solution;
}

Objective rest_objective(const Counts& rest, const RowTotals& all, const ReviewGoal& goal) {
  if (goal.max_rate) {
    return max_recall_at_flag_rate(fraction_of(std::min(review_capacity(*goal.max_rate, all), rest.rows), rest.rows));
  }
  return max_precision_at_recall(fraction_of(positives_needed(rest, all, goal), rest.positives));
}

FlagAndReview solve_review_cost(const Grid& grid, const Objective& objective, const Rational& review_cost) {
  validate(grid);
  validate(objective);
  validate(ReviewGoal{.cost = review_cost});
  if (objective.goal != Goal::kCost) refuse("a cost of review needs an objective of least cost");
  const WholeCosts costs = whole_costs(objective, review_cost);

  // cost(flag, end) = [X * negatives(flag) - Z * rows(flag)] + [Z * rows(end) + Y * (P - positives(end))] for prefixes
  // flag <= end of a level: the walk keeps the best flag so far and tries every end. Ties by (cost, flagged, reviewed).
  struct Prefix {
    Wide cost = 0;
    Counts counts;
    std::int32_t bins = 0;
  };
  struct Pair {
    Wide cost = 0;
    Prefix flag;
    Prefix end;
    [[nodiscard]] auto key() const {
      return std::tuple(cost, flag.counts.rows, end.counts.rows - flag.counts.rows, end.bins);
    }
  };
  FlagAndReview result;
  Wide total_cost = 0;
  for (const auto& bins : grid.levels) {
    const Wide positives = total_counts(bins).positives;
    Prefix flag;
    Pair best{costs.false_negative * positives, {}, {}};
    Prefix prefix;
    for (const Bin& bin : bins) {
      prefix.counts += bin.counts;
      ++prefix.bins;
      if (bin.counts.rows == 0) continue;
      const Wide reviewed = costs.review * prefix.counts.rows;
      prefix.cost = costs.false_positive * (prefix.counts.rows - prefix.counts.positives) - reviewed;
      if (prefix.cost < flag.cost) flag = prefix;
      Prefix end = prefix;
      end.cost = reviewed + costs.false_negative * (positives - prefix.counts.positives);
      const Pair pair{flag.cost + end.cost, flag, end};
      if (pair.key() < best.key()) best = pair;
    }
    total_cost += best.cost;
    result.flag.push_back(best.flag.bins);
    result.flag_or_review.push_back(best.end.bins);
    result.flagged += best.flag.counts;
    result.reviewed += best.end.counts - best.flag.counts;
  }
  result.cost = static_cast<double>(total_cost) / static_cast<double>(costs.denominator);
  return result;
}

}  // namespace limen
