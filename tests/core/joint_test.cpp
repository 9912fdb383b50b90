// SPDX-License-Identifier: MIT
#include "limen/choose/joint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "limen/base/error.h"
#include "limen/count/binning.h"
#include "limen/fit.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::SampleTable;

/// Up to 40 rows with few distinct scores and uncertainties.
SampleTable small_table(std::mt19937_64& random) {
  SampleTable table;
  const std::size_t rows = 8 + random() % 32;
  for (std::size_t row = 0; row < rows; ++row) {
    table.score.push_back(static_cast<double>(random() % 9));
    table.uncertainty.push_back(static_cast<double>(random() % 6));
    table.label.push_back(random() % 3 == 0 ? 1 : 0);
  }
  table.label[0] = 1;
  table.label[1] = 0;
  return table;
}

/// Every way to keep at most `most` of the edges.
std::vector<std::vector<double>> subsets(const std::vector<double>& edges, std::size_t most) {
  std::vector<std::vector<double>> found;
  for (std::size_t kept = 0; kept < (std::size_t{1} << edges.size()); ++kept) {
    std::vector<double> subset;
    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
      if ((kept >> edge) & 1U) subset.push_back(edges[edge]);
    }
    if (subset.size() <= most) found.push_back(std::move(subset));
  }
  return found;
}

// Costs add up over levels: there the boundaries of one price are all that matters, and the edges are the best there
// are. Brute force over all subsets of the edges, each solved exactly.
TEST(JointEdges, AreTheBestForCosts) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const SampleTable table = small_table(random);
    const Grid grid = count_distinct(table.samples(), uncertainty_edges(table.samples().uncertainty, 6));
    const int levels = 1 + static_cast<int>(random() % 4);
    const Objective objective =
        min_cost({static_cast<std::int64_t>(1 + random() % 5), 1}, {static_cast<std::int64_t>(1 + random() % 5), 1});
    double least = INFINITY;
    for (const auto& edges : subsets(grid.edges, static_cast<std::size_t>(levels) - 1)) {
      least = std::min(least, solve(Method::kExact, *merge_levels(grid, edges), objective).value);
    }
    const std::vector<double> edges = joint_edges(grid, objective, levels);
    ASSERT_LT(edges.size(), static_cast<std::size_t>(levels));
    EXPECT_EQ(solve(Method::kExact, *merge_levels(grid, edges), objective).value, least) << trial;
  }
}

// With a precision bound the boundaries of one price are not all; but they are never worse than one threshold, and in
// most cases nothing is better.
TEST(JointEdges, AreMostlyTheBestForPrecision) {
  std::mt19937_64 random(2);
  int best = 0;
  int feasible = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const SampleTable table = small_table(random);
    const Grid grid = count_distinct(table.samples(), uncertainty_edges(table.samples().uncertainty, 6));
    const Objective objective = max_recall_at_precision({1, 2});
    const auto value_of = [&](const std::vector<double>& edges) {
      const Solution solution = solve(Method::kExact, *merge_levels(grid, edges), objective);
      return solution.status == SolveStatus::kInfeasible ? -1 : solution.value;
    };
    double most = -1;
    for (const auto& edges : subsets(grid.edges, 2)) most = std::max(most, value_of(edges));
    if (most < 0) continue;
    ++feasible;
    const double found = value_of(joint_edges(grid, objective, 3));
    EXPECT_GE(found, value_of({}));
    if (found == most) ++best;
  }
  ASSERT_GT(feasible, 200);
  EXPECT_GT(best, feasible * 3 / 4);
}

/// Rows whose rate of positives jumps where the uncertainty passes `step`.
SampleTable table_with_step(std::size_t rows, double step, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  SampleTable table;
  for (std::size_t row = 0; row < rows; ++row) {
    const double score = uniform(random);
    const double u = uniform(random);
    table.score.push_back(score);
    table.uncertainty.push_back(u);
    table.label.push_back(uniform(random) < score * (u < step ? 0.4 : 0.95) ? 1 : 0);
  }
  return table;
}

// Two levels of equal size have their edge at one half, where nothing happens.
TEST(JointEdges, LieWhereTheRateChanges) {
  const Objective objective = max_recall_at_precision({7, 10});
  for (const double step : {0.15, 0.5, 0.82}) {
    const SampleTable table = table_with_step(20'000, step, 3);
    const FitResult joint = fit_boundary(table.samples(), objective, {.method = Method::kJoint, .levels = 2});
    ASSERT_TRUE(joint.boundary);
    ASSERT_EQ(joint.boundary->rule.uncertainty_edges.size(), 1U);
    EXPECT_NEAR(joint.boundary->rule.uncertainty_edges[0], step, 0.04);
    EXPECT_EQ(joint.boundary->method, Method::kJoint);
    EXPECT_TRUE(joint.boundary->holdout.optimal);
    const FitResult halves = fit_boundary(table.samples(), objective, {.method = Method::kExact, .levels = 2});
    const double with_halves = halves.boundary ? halves.boundary->holdout.true_positives : 0;
    EXPECT_GE(joint.boundary->holdout.true_positives, with_halves);
    if (step == 0.5) continue;
    EXPECT_GT(joint.boundary->holdout.true_positives, 1.02 * with_halves);
  }
}

TEST(JointEdges, NeedNoMoreLevelsThanHelp) {
  std::mt19937_64 random(5);
  // Every row above one half is positive, whatever its uncertainty: one level is enough.
  SampleTable table;
  for (int row = 0; row < 1000; ++row) {
    table.score.push_back(static_cast<double>(row) / 1000);
    table.uncertainty.push_back(static_cast<double>(random() % 1000));
    table.label.push_back(row >= 500 ? 1 : 0);
  }
  const Grid grid = count_distinct(table.samples(), uncertainty_edges(table.samples().uncertainty, 16));
  EXPECT_EQ(joint_edges(grid, max_recall_at_precision({9, 10}), 5), std::vector<double>());
  EXPECT_EQ(joint_edges(grid, min_cost({1, 1}, {1, 1}), 5), std::vector<double>());
}

TEST(JointEdges, OneLevelHasNoEdgesAndOthersAreRefused) {
  const Grid grid = make_grid({{1, 0}, {1, 1}}, {{1, 2}, {2, 2}});
  EXPECT_EQ(joint_edges(grid, max_recall_at_precision({1, 2}), 1), std::vector<double>());
  EXPECT_THROW((void)joint_edges(grid, max_recall_at_precision({1, 2}), 0), InvalidInput);
  EXPECT_THROW((void)joint_edges(grid, max_recall_at_precision({1, 2}), 1001), InvalidInput);
  EXPECT_THROW((void)joint_edges(grid, max_recall_at_precision({3, 2}), 2), InvalidInput);
}

}  // namespace
}  // namespace limen
