// SPDX-License-Identifier: MIT
#include "limen/solve/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "reference/review_reference.h"
#include "support/random_grid.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;
using testing::ElementsAre;
using testing::HasSubstr;

RowTotals totals(std::int64_t rows, std::int64_t positives) { return {positives, rows - positives, rows}; }

// 100 rows and 20 positives in all, of which 12 are flagged in some 15 rows. The others, bins from the highest score:
//   level 0:  2/4  1/6  ...          prefixes (rows, positives): (4,2) (10,3)
//   level 1:  1/3  2/5               prefixes: (3,1) (8,3)
// With 10% of all rows: (4,2) + (3,1) is 3 positives in 7 rows, (10,3) is 3 in 10, (8,3) is 3 in 8. The first has the
// fewest rows. With 12%: (4,2) + (8,3) is 5 in 12.
TEST(SolveReview, TakesTheMostPositivesThatTheRateOfAllRowsAllows) {
  const Grid rest = make_grid({{2, 1, 0}, {1, 2}}, {{4, 6, 40}, {3, 5}});
  const ReviewSolution ten = solve_review(rest, totals(100, 20), {.max_rate = Rational{1, 10}});
  EXPECT_EQ(ten.status, SolveStatus::kOptimal);
  EXPECT_THAT(ten.taken, ElementsAre(1, 1));
  EXPECT_EQ(ten.reviewed, (Counts{7, 3}));
  const ReviewSolution twelve = solve_review(rest, totals(100, 20), {.max_rate = Rational{12, 100}});
  EXPECT_THAT(twelve.taken, ElementsAre(1, 2));
  EXPECT_EQ(twelve.reviewed, (Counts{12, 5}));
}

// The same rows: recall 0.85 asks for 17 of the 20 positives. 14 are flagged (20 - 6 in the rest), so 3 more, which
// (4,2)
// + (3,1) brings in 7 rows; recall 0.8 for 2 more, which (4,2) brings.
TEST(SolveReview, TakesTheFewestRowsThatTheRecallNeeds) {
  const Grid rest = make_grid({{2, 1, 0}, {1, 2}}, {{4, 6, 40}, {3, 5}});
  EXPECT_THAT(solve_review(rest, totals(100, 20), {.min_recall = Rational{17, 20}}).taken, ElementsAre(1, 1));
  EXPECT_THAT(solve_review(rest, totals(100, 20), {.min_recall = Rational{4, 5}}).taken, ElementsAre(1, 0));
  EXPECT_THAT(solve_review(rest, totals(100, 20), {.min_recall = Rational{7, 10}}).taken, ElementsAre(0, 0));
}

TEST(SolveReview, SaysWhatARecallNeedsWhereTheRateIsTooSmall) {
  const Grid rest = make_grid({{2, 1, 0}, {1, 2}}, {{4, 6, 40}, {3, 5}});
  const ReviewSolution solution =
      solve_review(rest, totals(100, 20), {.max_rate = Rational{5, 100}, .min_recall = Rational{17, 20}});
  EXPECT_EQ(solution.status, SolveStatus::kInfeasible);
  EXPECT_EQ(solution.reviewed, (Counts{4, 2}));
  EXPECT_EQ(solution.fewest_rows, 7);
}

// Rows without positives below the last one are nobody's work.
TEST(SolveReview, ARateOfOneReviewsDownToTheLastPositiveOfEachLevel) {
  const Grid rest = make_grid({{2, 1, 0}, {0, 0}, {}}, {{4, 6, 40}, {3, 5}, {}});
  const ReviewSolution solution = solve_review(rest, totals(58, 3), {.max_rate = Rational{1, 1}});
  EXPECT_EQ(solution.status, SolveStatus::kOptimal);
  EXPECT_THAT(solution.taken, ElementsAre(2, 0, 0));
}

TEST(SolveReview, ARateOfZeroAndNoRowsLeftReviewNothing) {
  const Grid rest = make_grid({{2}}, {{4}});
  EXPECT_THAT(solve_review(rest, totals(10, 5), {.max_rate = Rational{0, 1}}).taken, ElementsAre(0));
  const Grid none = make_grid({{}, {}}, {{}, {}});
  for (const ReviewGoal& goal : {ReviewGoal{.max_rate = Rational{1, 2}}, ReviewGoal{.min_recall = Rational{1, 1}}}) {
    const ReviewSolution solution = solve_review(none, totals(10, 5), goal);
    EXPECT_EQ(solution.status, SolveStatus::kOptimal);
    EXPECT_THAT(solution.taken, ElementsAre(0, 0));
  }
}

// 1/3 of 9 rows is 3; as a double it would be a little less.
TEST(SolveReview, DecidesTheRateInIntegers) {
  const Grid rest = make_grid({{1, 1, 1, 1}}, {{1, 1, 1, 1}});
  EXPECT_THAT(solve_review(rest, totals(9, 5), {.max_rate = Rational{1, 3}}).taken, ElementsAre(3));
  EXPECT_THAT(solve_review(rest, totals(8, 5), {.max_rate = Rational{1, 3}}).taken, ElementsAre(2));
}

TEST(SolveReview, EqualsBruteForce) {
  std::mt19937_64 random(17);
  std::map<std::string, int> seen;
  for (const std::string& shape : test::grid_shapes()) {
    for (int trial = 0; trial < 400; ++trial) {
      const Grid rest = test::make_random_grid(shape, random).grid;
      const Counts sum = total_counts(rest);
      // Some rows are flagged already; with weights all totals are rounded down.
      RowTotals all = rest.totals.value_or(totals(sum.rows, sum.positives));
      all.positives_low += static_cast<std::int64_t>(random() % 20);
      all.negatives_low += static_cast<std::int64_t>(random() % 5);
      ReviewGoal goal;
      if (random() % 3 != 0) goal.max_rate = test::random_bound(random);
      if (!goal.max_rate || random() % 2 == 0) goal.min_recall = test::random_bound(random);
      const ReviewSolution found = solve_review(rest, all, goal);
      const test::BruteForceReview expected = test::brute_force_review(rest, all, goal);
      SCOPED_TRACE(shape + ", trial " + std::to_string(trial));
      EXPECT_EQ(flagged_counts(rest, found.taken), found.reviewed);
      ASSERT_EQ(found.status, expected.best ? SolveStatus::kOptimal : SolveStatus::kInfeasible);
      if (expected.best) {
        ASSERT_EQ(found.reviewed, *expected.best);
        ++seen[goal.max_rate ? goal.min_recall ? "both" : "rate" : "recall"];
        if (found.reviewed.rows > 0 && found.reviewed.rows < sum.rows) ++seen["part"];
      } else {
        ASSERT_EQ(found.fewest_rows, expected.fewest_rows);
        ++seen["infeasible"];
      }
    }
  }
  for (const char* branch : {"both", "rate", "recall", "part", "infeasible"}) EXPECT_GT(seen[branch], 200) << branch;
}

// The other question: the pair of nested boundaries that catches the most positives in all, the inner one within the
// precision bound. Where that bound is tight, most true positives are most flagged rows, so the pair found one after
// the other can only lose what whole bins leave over; on grids of a few bins that is the most there is to lose.
TEST(SolveReview, FlaggingFirstSeldomCostsPositivesAgainstBothTogether) {
  std::mt19937_64 random(31);
  int feasible = 0;
  int equal = 0;
  for (int trial = 0; trial < 6'000; ++trial) {
    const char* const shapes[] = {"uniform", "staircase", "few_values"};
    const Grid grid = test::make_random_grid(shapes[trial % 3], random).grid;
    if (grid.levels.size() > 2) continue;
    const Objective objective = max_recall_at_precision(parse_rational("0.7"));
    const Solution flag = solve_exact({grid, objective});
    if (flag.status == SolveStatus::kInfeasible) continue;
    const Counts sum = total_counts(grid);
    const std::int64_t capacity = sum.rows / 5;
    Grid rest = grid;
    for (std::size_t level = 0; level < rest.num_levels(); ++level) {
      rest.levels[level].erase(rest.levels[level].begin(), rest.levels[level].begin() + flag.taken[level]);
    }
    const ReviewSolution review = solve_review(rest, totals(sum.rows, sum.positives), {.max_rate = Rational{1, 5}});
    const std::int64_t found = flag.flagged.positives + review.reviewed.positives;
    std::int64_t together = 0;
    test::for_each_boundary(grid, [&](const std::vector<std::int32_t>& outer) {
      const Counts both = flagged_counts(grid, outer);
      test::for_each_boundary(grid, [&](const std::vector<std::int32_t>& inner) {
        for (std::size_t level = 0; level < outer.size(); ++level) {
          if (inner[level] > outer[level]) return;
        }
        const Counts flagged = flagged_counts(grid, inner);
        if (both.rows - flagged.rows > capacity || !is_feasible(objective, totals_of(grid), flagged)) return;
        together = std::max(together, both.positives);
      });
    });
    ASSERT_GE(together, found);
    ++feasible;
    equal += together == found ? 1 : 0;
  }
  EXPECT_GT(feasible, 1'000);
  EXPECT_GT(equal, feasible * 95 / 100);
  EXPECT_LT(equal, feasible);
}

// False positive 2, false negative 5, review 1. One level, bins (positives/rows) from the highest score:
//   4/4  3/4  1/4  0/4
// Flag first 4 (cost 0), second: flag costs 2, review 4, pass 15; third: flag 6, review 4, pass 5; last: pass 0.
// So flag two bins, review one: 2 + 4 = 6. Without review: flag two, pass the others: 2 + 5 = 7.
TEST(SolveReviewCost, FindsThePairOfLeastCost) {
  const Grid grid = make_grid({{4, 3, 1, 0}}, {{4, 4, 4, 4}});
  const FlagAndReview pair = solve_review_cost(grid, min_cost({2, 1}, {5, 1}), {1, 1});
  EXPECT_THAT(pair.flag, ElementsAre(2));
  EXPECT_THAT(pair.flag_or_review, ElementsAre(3));
  EXPECT_EQ(pair.flagged, (Counts{8, 7}));
  EXPECT_EQ(pair.reviewed, (Counts{4, 1}));
  EXPECT_EQ(pair.cost, 6);
}

// For nothing a person looks at every row that is not surely positive; at a price above both others at none.
TEST(SolveReviewCost, TheEndsOfThePrice) {
  const Grid grid = make_grid({{4, 3, 1, 0}}, {{4, 4, 4, 4}});
  const FlagAndReview free = solve_review_cost(grid, min_cost({2, 1}, {5, 1}), {0, 1});
  EXPECT_EQ(free.cost, 0);
  EXPECT_EQ(free.flagged.rows, 0);
  EXPECT_THAT(free.flag_or_review, ElementsAre(3));
  const FlagAndReview dear = solve_review_cost(grid, min_cost({2, 1}, {5, 1}), {6, 1});
  EXPECT_EQ(dear.reviewed.rows, 0);
  EXPECT_EQ(dear.flagged, solve_exact({grid, min_cost({2, 1}, {5, 1})}).flagged);
}

TEST(SolveReviewCost, EqualsBruteForceOverPairs) {
  std::mt19937_64 random(23);
  int both = 0;
  for (const std::string& shape : test::grid_shapes()) {
    for (int trial = 0; trial < 600; ++trial) {
      Grid grid = test::make_random_grid(shape, random).grid;
      if (grid.levels.size() > 2) grid = make_grid({{1, 0, 2}}, {{2, 3, 2}});  // pairs of boundaries are many
      const auto cost = [&] { return static_cast<std::int64_t>(random() % 8); };
      const std::int64_t x = 1 + cost();
      const std::int64_t y = cost();
      const std::int64_t z = cost() / 2;
      // In tenths: denominators are brought together.
      const FlagAndReview found = solve_review_cost(grid, min_cost({x, 1}, parse_rational(std::to_string(y) + "e-1")),
                                                    parse_rational(std::to_string(z) + "e-1"));
      const auto [least, flagged, reviewed] = test::brute_force_cost(grid, 10 * x, y, z);
      SCOPED_TRACE(shape + ", trial " + std::to_string(trial));
      ASSERT_DOUBLE_EQ(found.cost, static_cast<double>(least) / 10);
      ASSERT_EQ(found.flagged.rows, flagged);
      ASSERT_EQ(found.reviewed.rows, reviewed);
      for (std::size_t level = 0; level < found.flag.size(); ++level) {
        ASSERT_LE(found.flag[level], found.flag_or_review[level]);
      }
      both += flagged > 0 && reviewed > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(both, 100);
}

TEST(ValidateReviewGoal, SaysWhatIsWrong) {
  const auto refusal = [](const ReviewGoal& goal) { return refusal_of([&] { validate(goal); }); };
  EXPECT_EQ(refusal({}), "review: needs a rate, a recall or a cost");
  EXPECT_EQ(refusal({.max_rate = Rational{5, 1}}), "review: rate is 5, must be between 0 and 1; 5% is 0.05");
  EXPECT_EQ(refusal({.min_recall = Rational{1000, 1}}), "review: recall is 1000, must be between 0 and 1");
  EXPECT_EQ(refusal({.max_rate = Rational{1, 2}, .cost = Rational{1, 1}}),
            "review: a cost decides how much is reviewed; give no rate and no recall");
  EXPECT_THAT(refusal({.cost = Rational{1, 100'000'000'000}}), HasSubstr("at most 10 digits"));
  EXPECT_EQ(refusal({.max_rate = Rational{1, 1}, .min_recall = Rational{0, 1}}), "(not refused)");
  const Grid grid = make_grid({{1}}, {{2}});
  EXPECT_EQ(refusal_of([&] {
              (void)solve_review_cost(grid, max_recall_at_flag_rate({1, 2}), {1, 1});
            }),
            "review: a cost of review needs an objective of least cost");
  EXPECT_EQ(refusal_of([&] {
              (void)solve_review_cost(grid, min_cost({1, 999'999'937}, {1, 1'000'003}), {1, 7});
            }),
            "review: the three costs have no common denominator of at most 10 digits");
}

}  // namespace
}  // namespace limen
