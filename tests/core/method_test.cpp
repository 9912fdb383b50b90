// SPDX-License-Identifier: MIT
#include "limen/solve/method.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "limen/base/error.h"
#include "limen/solve/problem.h"
#include "limen/solve/solve.h"

namespace limen {
namespace {

TEST(Method, EveryNameReadsBackAndIsSaidOnce) {
  std::set<std::string_view> names;
  for (const MethodInfo& info : method_table()) {
    EXPECT_EQ(parse_method(info.name), info.method);
    EXPECT_EQ(to_string(info.method), info.name);
    EXPECT_EQ(&info_of(info.method), &info);
    EXPECT_FALSE(info.description.empty());
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_EQ(names.size(), all_methods().size());
}

TEST(Method, AnUnknownNameIsRefusedWithTheList) {
  EXPECT_EQ(method_names(), "st, hr, gmt, mist, ew-dpmt, vw-dpmt, smooth, exact, joint, auto");
  try {
    (void)parse_method("ST");
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(),
                 "method \"ST\" is not one of st, hr, gmt, mist, ew-dpmt, vw-dpmt, smooth, exact, joint, auto");
  }
}

TEST(Method, OnlyTheSingleThresholdHasNoLevelsAndOnlyThePapersMethodsNeedBins) {
  for (const MethodInfo& info : method_table()) {
    EXPECT_EQ(info.has_levels(), info.method != Method::kSt) << info.name;
    const bool every_score = info.method == Method::kSt || info.method == Method::kExact ||
                             info.method == Method::kSmooth || info.method == Method::kJoint ||
                             info.method == Method::kAuto;
    EXPECT_EQ(info.needs_bins, !every_score) << info.name;
  }
}

TEST(Problem, ChecksGridAndObjective) {
  Grid grid = make_grid({{1}}, {{2}});
  EXPECT_THROW((void)Problem(grid, max_recall_at_precision({3, 2})), InvalidInput);
  grid.levels[0][0].counts.positives = 3;
  EXPECT_THROW((void)Problem(grid, max_recall_at_precision({1, 2})), InvalidInput);
}

// One level, 2/2 then 0/1 then 1/1: the last two pool to 1/2. precision >= 9/10: the first block fits, of the second
// (2 rows, 1 positive, weight 9 * 2 - 10 = 8) the slack of 2 takes a quarter: 2 whole positives.
TEST(Problem, WorksOutHullChainAndBound) {
  const Grid grid = make_grid({{2, 0, 1}}, {{2, 1, 1}});
  const Problem problem(grid, max_recall_at_precision({9, 10}));
  ASSERT_EQ(problem.hulls().size(), 1U);
  ASSERT_EQ(problem.hulls()[0].size(), 2U);
  EXPECT_EQ(problem.hulls()[0][1].counts, (Counts{2, 1}));
  ASSERT_EQ(problem.hull_chain().size(), 2U);
  EXPECT_EQ(problem.hull_chain()[1].flagged, (Counts{4, 3}));
  EXPECT_EQ(problem.relaxation_bound(), 2);
  EXPECT_TRUE(problem.knapsack().has_value());
  EXPECT_FALSE(Problem(grid, max_f_beta({1, 1})).knapsack().has_value());
  EXPECT_FALSE(Problem(grid, max_precision_at_recall({1, 2})).knapsack().has_value());
}

// The same chain: slack 2 of weight at 1/8 profit each (mu), direction = 2 * positives - rows, and
// kappa = (1 * 9 - (-10) * 0) / 8.
TEST(Prices, AreThoseOfTheCutBlock) {
  const Grid grid = make_grid({{2, 0, 1}}, {{2, 1, 1}});
  const Problem problem(grid, max_recall_at_precision({9, 10}));
  const Relaxation relaxation = relax(problem.hull_chain(), *problem.knapsack());
  ASSERT_FALSE(relaxation.integral);
  const Prices prices = prices_of(problem.hull_chain(), *problem.knapsack(), relaxation);
  EXPECT_EQ(prices.mu, 0.125);
  EXPECT_EQ(prices.gap, 0.25);
  EXPECT_EQ(prices.kappa, 1.125);
  EXPECT_TRUE(prices.direction(Counts{3, 3}) == 3);
  EXPECT_TRUE(prices.direction(Counts{2, 1}) == 0);
}

TEST(Prices, AreTheProfitWhereNothingIsCut) {
  const Grid grid = make_grid({{2, 0, 1}}, {{2, 1, 1}});
  const Problem problem(grid, max_recall_at_precision({1, 2}));
  const Relaxation relaxation = relax(problem.hull_chain(), *problem.knapsack());
  ASSERT_TRUE(relaxation.integral);
  const Prices prices = prices_of(problem.hull_chain(), *problem.knapsack(), relaxation);
  EXPECT_EQ(prices.mu, 0);
  EXPECT_EQ(prices.gap, 0);
  EXPECT_EQ(prices.kappa, 1);
  EXPECT_TRUE(prices.direction(Counts{4, 3}) == 3);
}

// What the paper prints of its algorithms, taken at its word, on one level of L = 3 bins: 10 of 10, 1 of 10 and 0 of 10
// rows are positive, from the highest score down. Only the highest bin keeps a precision of 0.9. A boundary b of the
// paper flags the bins j > b, j = 1..L counting scores upwards: L - b bins.
class Print : public testing::Test {
 protected:
  static constexpr int kBins = 3;
  const Grid grid_ = make_grid({{10, 1, 0}}, {{10, 10, 10}});
  const Objective objective_ = max_recall_at_precision({9, 10});

  /// Of a boundary of the paper.
  [[nodiscard]] double precision(int b) const {
    const std::vector<std::int32_t> taken = {kBins - b};
    const Counts flagged = flagged_counts(grid_, taken);
    return static_cast<double>(flagged.positives) / static_cast<double>(flagged.rows);
  }
};

// GMT ends with b(i) = j*, the number of bins taken, where b(i) is the number of those left out.
TEST_F(Print, GmtSetsTheBoundaryToTheNumberOfBinsTaken) {
  const int taken = solve_gmt({grid_, objective_}).taken[0];
  ASSERT_EQ(taken, 1);
  EXPECT_EQ(precision(kBins - taken), 1);
  EXPECT_LT(precision(taken), 0.9);  // as printed: two bins
}

// MIST ends with the lowest bin of rank >= r*, though low ranks are the positive region: b(i) is the highest bin whose
// rank is above r*.
TEST_F(Print, MistTakesTheWrongSideOfTheRank) {
  ASSERT_EQ(solve_mist({grid_, objective_}).taken[0], 1);
  const std::vector<int> rank = {3, 2, 1};  // of bins j = 1, 2, 3
  const int last_rank = 1;                  // r*: with the bins of rank 2 precision is 11 / 20
  int printed = kBins;
  int meant = 0;
  for (int bin = kBins; bin >= 1; --bin) {
    if (rank[static_cast<std::size_t>(bin - 1)] >= last_rank) printed = bin;
    if (rank[static_cast<std::size_t>(bin - 1)] > last_rank) meant = std::max(meant, bin);
  }
  EXPECT_EQ(precision(meant), 1);
  EXPECT_LT(precision(printed), 0.9);
}

// VW-DPMT looks for the best m among 0..KL, but m counts samples: of this grid it would see no boundary at all.
TEST_F(Print, VwDpmtSearchesTooFewSampleCounts) {
  const Solution solution = solve_vw_dpmt({grid_, objective_});
  EXPECT_EQ(solution.flagged, (Counts{10, 10}));
  EXPECT_GT(solution.flagged.rows, 1 * kBins);
}

}  // namespace
}  // namespace limen
