// SPDX-License-Identifier: MIT
#include "limen/judge/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::random_unit;
using test::refusal_of;

TEST(CountPairs, PutsEveryRowIntoItsKind) {
  const std::vector<std::uint8_t> first = {1, 1, 1, 0, 0, 0, 0, 1};
  const std::vector<std::uint8_t> second = {1, 1, 0, 1, 1, 0, 0, 0};
  const std::vector<std::uint8_t> label = {1, 0, 1, 1, 0, 1, 0, 1};
  const PairedCounts counts = count_pairs(first, second, label);
  EXPECT_EQ(counts.both, (Counts{2, 1}));
  EXPECT_EQ(counts.first_only, (Counts{2, 2}));
  EXPECT_EQ(counts.second_only, (Counts{2, 1}));
  EXPECT_EQ(counts.neither, (Counts{2, 1}));
  EXPECT_EQ(refusal_of([&] { (void)count_pairs(first, second, std::span(label).first(3)); }),
            "count_pairs: decisions of 8 and 8 rows, labels of 3");
}

// 12 positives are flagged by the first alone, 3 by the second alone: twice P(Bin(15, 1/2) >= 12) = 2 (455 + 105 + 15 +
// 1) / 2^15 = 1152 / 32768. Negatives: 1 and 6: twice (7 + 1) / 2^7 = 1/8.
TEST(ComparePairs, IsTheExactTestOfMcNemar) {
  const PairedComparison found = compare_pairs({{60, 50}, {13, 12}, {9, 3}, {118, 35}});
  ASSERT_TRUE(found.recall && found.precision && found.false_positive_rate);
  EXPECT_DOUBLE_EQ(found.recall->p_value, 1152.0 / 32768);
  EXPECT_DOUBLE_EQ(found.recall->first, 0.62);
  EXPECT_DOUBLE_EQ(found.recall->second, 0.53);
  EXPECT_DOUBLE_EQ(found.recall->difference, 0.09);
  EXPECT_DOUBLE_EQ(found.false_positive_rate->p_value, 0.125);
  EXPECT_DOUBLE_EQ(found.false_positive_rate->difference, -0.05);
  // Agresti and Min: (12.5 - 3.5) / 102, variance (16 / 102 - (9 / 102)^2) / 102.
  const double variance = (16.0 / 102 - 81.0 / 102 / 102) / 102;
  EXPECT_NEAR(found.recall->interval.low, 9.0 / 102 - 1.959964 * std::sqrt(variance), 1e-6);
  EXPECT_NEAR(found.recall->interval.high, 9.0 / 102 + 1.959964 * std::sqrt(variance), 1e-6);
}

// Precision 62/73 and 53/69; together p = 115/142. Score statistic: the squares of (f1/73 - f2/69)(y - p) over the
// rows, where the sums over each boundary's rows are its size times p (1 - p).
TEST(ComparePairs, TestsPrecisionWithTheScoreOfPairedRows) {
  const PairedComparison found = compare_pairs({{60, 50}, {13, 12}, {9, 3}, {118, 35}});
  const double p = 115.0 / 142;
  const double q = 1 - p;
  const double variance = p * q / 73 + p * q / 69 - 2 * (50 * q * q + 10 * p * p) / 73 / 69;
  const double difference = 62.0 / 73 - 53.0 / 69;
  EXPECT_DOUBLE_EQ(found.precision->difference, difference);
  EXPECT_NEAR(found.precision->p_value, std::erfc(difference / std::sqrt(2 * variance)), 1e-12);
  EXPECT_LT(found.precision->p_value, 0.05);
  EXPECT_GT(found.precision->interval.low, 0);
}

TEST(ComparePairs, KnowsTheEdges) {
  const PairedComparison same = compare_pairs({{60, 50}, {}, {}, {100, 30}});
  EXPECT_EQ(same.recall->p_value, 1);
  EXPECT_EQ(same.recall->difference, 0);
  EXPECT_LT(same.recall->interval.low, 0);
  EXPECT_GT(same.recall->interval.high, 0);
  EXPECT_EQ(same.precision->p_value, 1);
  EXPECT_EQ(same.precision->interval, (Interval{0, 0}));
  EXPECT_EQ(verdict(same, "A", "B"), "A and B flag the same rows");

  const PairedComparison nothing = compare_pairs({});
  EXPECT_FALSE(nothing.recall || nothing.precision || nothing.false_positive_rate);
  const PairedComparison one_empty = compare_pairs({{}, {10, 5}, {}, {90, 5}});
  EXPECT_FALSE(one_empty.precision);
  EXPECT_DOUBLE_EQ(one_empty.recall->p_value, 2.0 / 32);
  EXPECT_EQ(verdict(one_empty, "A", "B"),
            "A and B cannot be told apart on these rows, neither in recall nor in precision");
  // All flagged rows are positive: nothing varies, nothing is significant.
  const PairedComparison pure = compare_pairs({{20, 20}, {5, 5}, {7, 7}, {50, 0}});
  EXPECT_EQ(pure.precision->p_value, 1);
  EXPECT_EQ(pure.precision->interval, (Interval{0, 0}));
  const PairedComparison all_positive = compare_pairs({{20, 20}, {5, 5}, {}, {7, 7}});
  EXPECT_FALSE(all_positive.false_positive_rate);
}

TEST(ComparePairs, TurnsAroundWithTheOrder) {
  const PairedComparison one = compare_pairs({{60, 50}, {13, 12}, {9, 3}, {118, 35}});
  const PairedComparison other = compare_pairs({{60, 50}, {9, 3}, {13, 12}, {118, 35}});
  EXPECT_EQ(one.recall->p_value, other.recall->p_value);
  EXPECT_NEAR(one.precision->p_value, other.precision->p_value, 1e-12);
  EXPECT_DOUBLE_EQ(one.precision->difference, -other.precision->difference);
  EXPECT_NEAR(one.recall->interval.low, -other.recall->interval.high, 1e-15);
}

TEST(Verdict, IsOneSentence) {
  EXPECT_EQ(
      verdict(compare_pairs({{60, 50}, {13, 12}, {9, 3}, {118, 35}}), "a.json", "b.json"),
      "a.json wins: a.json has the higher recall (+0.0900, p = 0.035), a.json has the higher precision (+0.0812, p "
      "= 0.011)");
  // 10 positives in 10 rows more, from 700 of 1000: p = 2 / 2^10, and a precision of 710 / 1010.
  EXPECT_EQ(verdict(compare_pairs({{1000, 700}, {}, {11, 10}, {5000, 300}}), "a", "b"),
            "b wins: b has the higher recall (+0.0099, p = 0.002); precision cannot be told apart");
  const std::string trade = verdict(compare_pairs({{500, 480}, {}, {500, 200}, {5000, 20}}), "a", "b");
  EXPECT_EQ(trade.substr(0, 66), "one trades recall for precision: b has the higher recall (+0.2857,");
}

TEST(ComparePairs, NamesWhatItRefuses) {
  EXPECT_EQ(refusal_of([] { (void)compare_pairs({{1, 2}, {}, {}, {}}); }), "compare_pairs: 2 positives among 1 rows");
  EXPECT_EQ(refusal_of([] { (void)compare_pairs({}, 1); }),
            "compare_pairs: confidence is 1.000000, must be between 0 and 1");
}

/// Rows of eight kinds: flagged by both, first, second or none, positive or negative.
PairedCounts draw(const double (&chance)[8], int rows, std::mt19937_64& random) {
  std::int64_t counts[8] = {};
  for (int row = 0; row < rows; ++row) {
    double left = random_unit(random);
    int kind = 0;
    while (kind < 7 && left >= chance[kind]) left -= chance[kind++];
    ++counts[kind];
  }
  const auto of = [&](int kind) { return Counts{counts[2 * kind] + counts[2 * kind + 1], counts[2 * kind]}; };
  return {of(0), of(1), of(2), of(3)};
}

// Under the hypothesis the exact test rejects no more often than its level, the score test about as often; and the
// intervals hold the difference about as often as they say. 4,000 draws: standard error 0.0034.
TEST(ComparePairs, KeepsItsLevelWhereBothAreTheSame) {
  const struct {
    const char* name;
    int rows;
    double chance[8];
  } cases[] = {
      {"equal", 400, {0.10, 0.05, 0.04, 0.03, 0.04, 0.03, 0.11, 0.60}},
      {"few rows differ", 2000, {0.10, 0.05, 0.01, 0.01, 0.01, 0.01, 0.11, 0.70}},
      // The second flags more of the same precision, 2/3: recall differs, precision does not.
      {"nested", 600, {0.10, 0.05, 0, 0, 0.06, 0.03, 0.10, 0.66}},
  };
  for (const auto& [name, rows, chance] : cases) {
    SCOPED_TRACE(name);
    std::mt19937_64 random(11);
    const double positives = chance[0] + chance[2] + chance[4] + chance[6];
    const double recall_difference = (chance[2] - chance[4]) / positives;
    constexpr int kRuns = 4000;
    int rejected_recall = 0;
    int rejected_precision = 0;
    int recall_held = 0;
    int precision_held = 0;
    for (int run = 0; run < kRuns; ++run) {
      const PairedComparison found = compare_pairs(draw(chance, rows, random));
      if (found.recall->p_value <= 0.05) ++rejected_recall;
      if (found.precision->p_value <= 0.05) ++rejected_precision;
      if (found.recall->interval.low <= recall_difference && recall_difference <= found.recall->interval.high) {
        ++recall_held;
      }
      if (found.precision->interval.low <= 0 && found.precision->interval.high >= 0) ++precision_held;
    }
    if (recall_difference == 0) {
      EXPECT_LE(rejected_recall / double{kRuns}, 0.05 + 0.01);
    } else {
      EXPECT_GT(rejected_recall / double{kRuns}, 0.9);
    }
    EXPECT_NEAR(rejected_precision / double{kRuns}, 0.05, 0.015);
    EXPECT_NEAR(recall_held / double{kRuns}, 0.95, 0.015);
    EXPECT_NEAR(precision_held / double{kRuns}, 0.95, 0.015);
  }
}

}  // namespace
}  // namespace limen
