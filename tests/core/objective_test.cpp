// SPDX-License-Identifier: MIT
#include "limen/solve/objective.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "limen/base/error.h"
#include "reference/wide_fraction.h"
#include "support/random_grid.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::big;
using test::BigFraction;
using test::BigInt;
using test::refusal_of;

constexpr std::int64_t kNineDigits = 999'999'999;
constexpr std::int64_t kLargeCount = std::int64_t{1} << 52;

/// Totals without weights.
Totals make_totals(std::int64_t rows, std::int64_t positives) {
  return {{rows, positives}, positives, rows - positives, rows};
}

TEST(ValidateObjective, TakesEveryBoundFromZeroToOne) {
  for (const Rational bound : {Rational{0, 1}, Rational{9, 10}, Rational{1, 1}}) {
    for (const Objective& objective : {max_recall_at_precision(bound), max_precision_at_recall(bound),
                                       max_recall_at_false_positive_rate(bound), max_recall_at_flag_rate(bound)}) {
      EXPECT_EQ(refusal_of([&] { validate(objective); }), "(not refused)") << describe(objective);
    }
  }
  EXPECT_EQ(refusal_of([] { validate(min_cost({0, 1}, {kNineDigits, 1})); }), "(not refused)");
  EXPECT_EQ(refusal_of([] { validate(max_f_beta({1, 1'000'000'000})); }), "(not refused)");
}

TEST(ValidateObjective, NamesFieldValueAndRange) {
  const struct {
    Objective objective;
    const char* message;
  } cases[] = {
      {max_recall_at_precision({11, 10}), "objective: precision bound is 1.1, must be between 0 and 1"},
      {max_recall_at_precision({-1, 2}), "objective: precision bound is -0.5, must be between 0 and 1"},
      {max_recall_at_precision({1, 0}), "objective: precision bound is inf, must be between 0 and 1"},
      {max_recall_at_precision({-1, -2}), "objective: precision bound is 0.5, must be between 0 and 1"},
      {max_precision_at_recall({3, 2}), "objective: recall bound is 1.5, must be between 0 and 1"},
      {max_recall_at_false_positive_rate({2, 1}), "objective: false-positive-rate bound is 2, must be between 0 and 1"},
      {max_recall_at_flag_rate({7, 2}), "objective: flag-rate bound is 3.5, must be between 0 and 1"},
      {min_cost({0, 1}, {0, 1}), "objective: both costs are 0, at least one must be > 0"},
      {min_cost({-1, 1}, {1, 1}),
       "objective: cost of a false positive is -1, must be a number >= 0 of at most 10 digits"},
      {min_cost({1, 1}, {10'000'000'001, 1}),
       "objective: cost of a false negative is 10000000001, must be a number >= 0 of at most 10 digits"},
      {min_cost(parse_rational("0.12345678911"), {1, 1}),
       "objective: cost of a false positive is 0.12345678911, must be a number >= 0 of at most 10 digits"},
      {max_f_beta({0, 1}), "objective: beta is 0, must be > 0"},
      {max_f_beta({1, 20'000'000'000}), "objective: beta is 5e-11, must be a number >= 0 of at most 10 digits"},
  };
  for (const auto& refused : cases) EXPECT_EQ(refusal_of([&] { validate(refused.objective); }), refused.message);
}

TEST(ValidateObjective, TakesWhatItsMessageAllows) {
  // Six digits before the point and four after it.
  EXPECT_EQ(refusal_of([] { validate(min_cost(parse_rational("123456.7891"), {1, 1})); }), "(not refused)");
}

TEST(DescribeObjective, SaysItInWords) {
  const Rational bound{9, 10};
  EXPECT_EQ(describe(max_recall_at_precision(bound)), "most recall with precision >= 0.9");
  EXPECT_EQ(describe(max_precision_at_recall(bound)), "most precision with recall >= 0.9");
  EXPECT_EQ(describe(max_recall_at_false_positive_rate({1, 100})), "most recall with false-positive rate <= 0.01");
  EXPECT_EQ(describe(max_recall_at_flag_rate({1, 4})), "most recall with flag rate <= 0.25");
  EXPECT_EQ(describe(min_cost({1, 1}, {5, 2})), "least cost, 1 per false positive and 2.5 per false negative");
  EXPECT_EQ(describe(max_f_beta({2, 1})), "highest F-beta, beta 2");
}

TEST(TotalsOf, CarriesTheSumsAndTheRoundedTotalsOfTheGrid) {
  Grid grid = make_grid({{2, 1}, {1}}, {{3, 2}, {4}});
  EXPECT_EQ(totals_of(grid).rows_low, 9);
  grid.totals = RowTotals{3, 4, 9};
  const Totals totals = totals_of(grid);
  EXPECT_EQ(totals.all, (Counts{9, 4}));
  EXPECT_EQ(totals.positives_low, 3);
  EXPECT_EQ(totals.negatives_low, 4);
  EXPECT_EQ(totals.rows_low, 7);
}

// 100 rows, 40 positive. Each line: the last counts that meet the bound, by equality, and the first that do not.
TEST(IsFeasible, HoldsAtEqualityAndFailsOneRowBeyond) {
  const Totals totals = make_totals(100, 40);
  const struct {
    Objective objective;
    Counts meets;
    Counts fails;
  } cases[] = {
      {max_recall_at_precision({9, 10}), {10, 9}, {11, 9}},              // 9/10; 9/11
      {max_recall_at_precision({1, 1}), {7, 7}, {8, 7}},                 // 7/7; 7/8
      {max_precision_at_recall({3, 4}), {50, 30}, {50, 29}},             // 30/40; 29/40
      {max_precision_at_recall({1, 1}), {90, 40}, {90, 39}},             // all; one missed
      {max_recall_at_false_positive_rate({1, 20}), {13, 10}, {14, 10}},  // 3/60; 4/60
      {max_recall_at_false_positive_rate({0, 1}), {10, 10}, {11, 10}},   // none; one
      {max_recall_at_flag_rate({1, 4}), {25, 10}, {26, 10}},             // 25/100; 26/100
      {max_recall_at_flag_rate({0, 1}), {0, 0}, {1, 1}},                 // nothing; one
  };
  for (const auto& [objective, meets, fails] : cases) {
    EXPECT_TRUE(is_feasible(objective, totals, meets)) << describe(objective);
    EXPECT_FALSE(is_feasible(objective, totals, fails)) << describe(objective);
  }
}

TEST(IsFeasible, JudgesFlaggingNothing) {
  const Totals totals = make_totals(100, 40);
  EXPECT_FALSE(is_feasible(max_recall_at_precision({1, 1'000'000}), totals, {}));
  EXPECT_TRUE(is_feasible(max_recall_at_precision({0, 1}), totals, {}));
  EXPECT_FALSE(is_feasible(max_precision_at_recall({0, 1}), totals, {}));
  EXPECT_FALSE(is_feasible(max_precision_at_recall({0, 1}), totals, {5, 0}));
  EXPECT_TRUE(is_feasible(max_precision_at_recall({0, 1}), totals, {5, 1}));
  EXPECT_TRUE(is_feasible(max_recall_at_false_positive_rate({0, 1}), totals, {}));
  EXPECT_TRUE(is_feasible(max_recall_at_flag_rate({0, 1}), totals, {}));
  EXPECT_TRUE(is_feasible(min_cost({1, 1}, {1, 1}), totals, {}));
  EXPECT_TRUE(is_feasible(max_f_beta({1, 1}), totals, {}));
}

TEST(IsFeasible, ComparesWithTheTotalsThatAreRoundedDown) {
  // 41 positives in units that were rounded up, 39 rounded down; 61 and 59 negatives.
  const Totals totals{{102, 41}, 39, 59, 98};
  // Recall 0: at most 39 of the 41 units may be missed.
  EXPECT_TRUE(is_feasible(max_precision_at_recall({0, 1}), totals, {2, 2}));
  EXPECT_FALSE(is_feasible(max_precision_at_recall({0, 1}), totals, {1, 1}));
  // Recall 1: nothing missed is still possible.
  EXPECT_TRUE(is_feasible(max_precision_at_recall({1, 1}), totals, {41, 41}));
  // 59/2 = 29.5 false positives, 98/2 = 49 rows.
  EXPECT_TRUE(is_feasible(max_recall_at_false_positive_rate({1, 2}), totals, {30, 1}));
  EXPECT_FALSE(is_feasible(max_recall_at_false_positive_rate({1, 2}), totals, {31, 1}));
  EXPECT_TRUE(is_feasible(max_recall_at_flag_rate({1, 2}), totals, {49, 1}));
  EXPECT_FALSE(is_feasible(max_recall_at_flag_rate({1, 2}), totals, {50, 1}));
}

TEST(IsBetter, PrefersTheBetterValueThenFewerRows) {
  const Totals totals = make_totals(100, 40);
  const struct {
    Objective objective;
    Counts better;
    Counts worse;
  } cases[] = {
      {max_recall_at_precision({1, 2}), {20, 12}, {15, 11}},
      {max_recall_at_precision({1, 2}), {14, 11}, {15, 11}},
      {max_recall_at_false_positive_rate({1, 2}), {20, 12}, {15, 11}},
      {max_recall_at_flag_rate({1, 2}), {14, 11}, {15, 11}},
      {max_precision_at_recall({1, 2}), {30, 21}, {40, 27}},  // 0.7; 0.675
      {max_precision_at_recall({1, 2}), {30, 21}, {40, 28}},  // 0.7 both, fewer rows
      {min_cost({1, 1}, {2, 1}), {20, 12}, {20, 11}},         // 8 + 56; 9 + 58
      {min_cost({1, 1}, {1, 1}), {20, 12}, {22, 13}},         // 8 + 28 both, fewer rows
      {min_cost({0, 1}, {1, 1}), {20, 12}, {21, 12}},
      {max_f_beta({1, 1}), {20, 12}, {40, 15}},  // 24/60; 30/80
      {max_f_beta({1, 1}), {20, 12}, {40, 16}},  // 24/60 = 32/80, fewer rows
  };
  for (const auto& [objective, better, worse] : cases) {
    EXPECT_TRUE(is_better(objective, totals, better, worse)) << describe(objective);
    EXPECT_FALSE(is_better(objective, totals, worse, better)) << describe(objective);
    EXPECT_FALSE(is_better(objective, totals, better, better)) << describe(objective);
  }
}

TEST(IsBetter, TakesFewerRowsWhereFBetaIsNotDefined) {
  const Totals totals = make_totals(10, 0);
  EXPECT_TRUE(is_better(max_f_beta({1, 1}), totals, {0, 0}, {1, 0}));
  EXPECT_FALSE(is_better(max_f_beta({1, 1}), totals, {1, 0}, {0, 0}));
}

/// The value of F-beta in fractions of any size.
BigFraction f_beta(const Rational& beta, const Totals& totals, const Counts& flagged) {
  const BigFraction squared = big(beta) * big(beta);
  return (1 + squared) * BigInt(flagged.positives) /
         (BigFraction(BigInt(flagged.rows)) + squared * BigInt(totals.all.positives));
}

BigFraction cost(const Objective& objective, const Totals& totals, const Counts& flagged) {
  return big(objective.false_positive_cost) * BigInt(flagged.rows - flagged.positives) +
         big(objective.false_negative_cost) * BigInt(totals.all.positives - flagged.positives);
}

/// A fraction with numerator and denominator of up to nine digits, often all nine.
Rational nine_digits(std::mt19937_64& random) {
  const auto digits = [&] {
    return static_cast<std::int64_t>(1 + random() % (random() % 3 == 0 ? 1000 : 1'000'000'000));
  };
  const std::int64_t num = digits();
  const std::int64_t den = digits();
  const std::int64_t divisor = std::gcd(num, den);
  return {num / divisor, den / divisor};
}

// Close pairs on purpose: the second boundary differs from the first by a few rows, or lies on the line of equal value
// through it as far as whole numbers allow. Products of these numbers need up to 2 * 60 + 2 * 53 = 226 bits.
TEST(IsBetter, DecidesLargeCountsAndLongNumbersAsWideArithmeticDoes) {
  std::mt19937_64 random(99);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  int close = 0;
  int equal = 0;
  for (int instance = 0; instance < 6'000; ++instance) {
    const std::int64_t positives = 1 + (instance % 2 == 0 ? kLargeCount - below(1000) : below(kLargeCount));
    const Totals totals = make_totals(positives + below(kLargeCount), positives);
    Counts a;
    a.positives = below(totals.all.positives + 1);
    a.rows = a.positives + below(totals.all.rows - totals.all.positives + 1);
    Counts b = a;
    if (instance % 4 < 2) {
      b.positives = std::min(totals.all.positives, std::max<std::int64_t>(0, a.positives + below(5) - 2));
      b.rows = std::max(b.positives, a.rows + below(5) - 2);
    } else if (instance % 4 == 2) {
      b.positives = a.positives / 2;
      b.rows = a.rows / 2;
    }
    const Objective by_f = max_f_beta(nine_digits(random));
    const Objective by_cost = min_cost(nine_digits(random), nine_digits(random));
    const BigFraction f_a = f_beta(by_f.beta, totals, a);
    const BigFraction f_b = f_beta(by_f.beta, totals, b);
    const BigFraction cost_a = cost(by_cost, totals, a);
    const BigFraction cost_b = cost(by_cost, totals, b);
    const bool fewer = a.rows < b.rows;
    ASSERT_EQ(is_better(by_f, totals, a, b), f_a > f_b || (f_a == f_b && fewer)) << instance;
    ASSERT_EQ(is_better(by_f, totals, b, a), f_b > f_a || (f_a == f_b && b.rows < a.rows)) << instance;
    ASSERT_EQ(is_better(by_cost, totals, a, b), cost_a < cost_b || (cost_a == cost_b && fewer)) << instance;
    close += objective_value(by_f, totals, a) == objective_value(by_f, totals, b) && f_a != f_b ? 1 : 0;
    equal += f_a == f_b ? 1 : 0;
  }
  // Pairs that double precision cannot tell apart, and true ties.
  EXPECT_GT(close, 150);
  EXPECT_GT(equal, 1'000);
}

TEST(IsFeasible, DecidesLargeCountsAndLongBoundsAsWideArithmeticDoes) {
  std::mt19937_64 random(100);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  int at_the_edge = 0;
  for (int instance = 0; instance < 6'000; ++instance) {
    const std::int64_t den = 100'000'000'000'000'000;
    const Rational bound{1 + below(den), den};  // seventeen digits
    const std::int64_t rows = 1 + below(kLargeCount);
    // The fewest positives that meet precision >= bound, give or take one.
    const auto needed = static_cast<std::int64_t>((BigInt(bound.num) * rows + bound.den - 1) / bound.den);
    const Counts flagged{rows, std::min(rows, std::max<std::int64_t>(0, needed + below(3) - 1))};
    const Totals totals = make_totals(2 * kLargeCount, kLargeCount);
    const BigFraction precision(BigInt(flagged.positives), BigInt(flagged.rows));
    ASSERT_EQ(is_feasible(max_recall_at_precision(bound), totals, flagged), precision >= big(bound)) << instance;
    const BigFraction recall(BigInt(flagged.positives), BigInt(totals.all.positives));
    ASSERT_EQ(is_feasible(max_precision_at_recall(bound), totals, flagged),
              flagged.positives > 0 && recall >= big(bound))
        << instance;
    at_the_edge += std::abs(flagged.positives - needed) <= 1 ? 1 : 0;
  }
  EXPECT_GT(at_the_edge, 4'500);
}

TEST(ObjectiveValue, IsWhatIsOptimised) {
  const Totals totals = make_totals(100, 40);
  const Counts flagged{20, 12};
  EXPECT_EQ(objective_value(max_recall_at_precision({1, 2}), totals, flagged), 12);
  EXPECT_EQ(objective_value(max_recall_at_false_positive_rate({1, 2}), totals, flagged), 12);
  EXPECT_EQ(objective_value(max_recall_at_flag_rate({1, 2}), totals, flagged), 12);
  EXPECT_DOUBLE_EQ(objective_value(max_precision_at_recall({1, 2}), totals, flagged), 0.6);
  EXPECT_EQ(objective_value(min_cost({3, 1}, {1, 2}), totals, flagged), 3 * 8 + 0.5 * 28);
  EXPECT_DOUBLE_EQ(objective_value(max_f_beta({1, 1}), totals, flagged), 24.0 / 60);
  // beta = 2: 5 * 12 / (20 + 4 * 40).
  EXPECT_DOUBLE_EQ(objective_value(max_f_beta({2, 1}), totals, flagged), 60.0 / 180);
  EXPECT_EQ(objective_value(max_precision_at_recall({1, 2}), totals, {}), 0);
  EXPECT_EQ(objective_value(max_f_beta({1, 1}), make_totals(5, 0), {}), 0);
}

TEST(ConstraintValue, IsTheConstrainedFigureOrUnset) {
  const Totals totals = make_totals(100, 40);
  const Counts flagged{20, 12};
  EXPECT_DOUBLE_EQ(constraint_value(max_recall_at_precision({1, 2}), totals, flagged).value(), 0.6);
  EXPECT_DOUBLE_EQ(constraint_value(max_precision_at_recall({1, 2}), totals, flagged).value(), 0.3);
  EXPECT_DOUBLE_EQ(constraint_value(max_recall_at_false_positive_rate({1, 2}), totals, flagged).value(), 8.0 / 60);
  EXPECT_DOUBLE_EQ(constraint_value(max_recall_at_flag_rate({1, 2}), totals, flagged).value(), 0.2);
  EXPECT_FALSE(constraint_value(min_cost({1, 1}, {1, 1}), totals, flagged));
  EXPECT_FALSE(constraint_value(max_f_beta({1, 1}), totals, flagged));
  EXPECT_FALSE(constraint_value(max_recall_at_precision({1, 2}), totals, {}));
  EXPECT_FALSE(constraint_value(max_precision_at_recall({1, 2}), make_totals(5, 0), {}));
  EXPECT_FALSE(constraint_value(max_recall_at_false_positive_rate({1, 2}), make_totals(5, 5), {}));
  EXPECT_FALSE(constraint_value(max_recall_at_flag_rate({1, 2}), make_totals(0, 0), {}));
}

}  // namespace
}  // namespace limen
