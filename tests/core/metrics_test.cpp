// SPDX-License-Identifier: MIT
#include "limen/judge/metrics.h"

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <limits>
#include <random>

#include "limen/base/error.h"
#include "reference/decide_reference.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::decide_row;
using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;

// ---- proportion_interval

TEST(ProportionInterval, GivesThePublishedValues) {
  const struct {
    double successes, trials, confidence, low, high;
  } cases[] = {
      {8, 10, 0.95, 0.4439045, 0.9747893},
      {5, 10, 0.95, 0.1870860, 0.8129140},
      {0, 10, 0.95, 0, 0.3084971},
      {10, 10, 0.95, 0.6915029, 1},
      {1, 1, 0.95, 0.025, 1},
  };
  for (const auto& [successes, trials, confidence, low, high] : cases) {
    const Interval interval = proportion_interval(successes, trials, confidence);
    EXPECT_NEAR(interval.low, low, 5e-8) << successes << " of " << trials;  // seven digits are known
    EXPECT_NEAR(interval.high, high, 5e-8) << successes << " of " << trials;
  }
}

// With tail t: nothing of n has the upper end 1 - t^(1/n), all of n the lower end t^(1/n), n need not be whole.
TEST(ProportionInterval, HasItsClosedFormWhereNothingOrEverythingSucceeds) {
  for (const double trials : {0.3, 1.0, 2.5, 7.0, 1000.0}) {
    for (const double confidence : {0.5, 0.9, 0.95, 0.999}) {
      const double root = std::pow((1 - confidence) / 2, 1 / trials);
      EXPECT_EQ(proportion_interval(0, trials, confidence).low, 0);
      EXPECT_NEAR(proportion_interval(0, trials, confidence).high, 1 - root, 1e-12);
      EXPECT_EQ(proportion_interval(trials, trials, confidence).high, 1);
      EXPECT_NEAR(proportion_interval(trials, trials, confidence).low, root, 1e-12);
    }
  }
}

TEST(ProportionInterval, KnowsNothingWithoutTrials) {
  EXPECT_EQ(proportion_interval(0, 0).low, 0);
  EXPECT_EQ(proportion_interval(0, 0).high, 1);
}

/// P(X >= least) for X ~ Binomial(trials, p), term by term.
double binomial_tail(int least, int trials, double p) {
  double sum = 0;
  for (int k = std::max(least, 0); k <= trials; ++k) {
    sum += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) +
                    (k > 0 ? k * std::log(p) : 0) + (k < trials ? (trials - k) * std::log1p(-p) : 0));
  }
  return sum;
}

// By definition: at the lower end as many successes or more have probability (1 - confidence) / 2, at the upper end as
// many or fewer.
TEST(ProportionInterval, SolvesTheDefinitionOfClopperAndPearson) {
  for (const int trials : {1, 2, 7, 30, 100}) {
    for (int successes = 0; successes <= trials; successes += 1 + trials / 15) {
      for (const double confidence : {0.8, 0.95}) {
        SCOPED_TRACE(std::to_string(successes) + " of " + std::to_string(trials));
        const Interval interval = proportion_interval(successes, trials, confidence);
        const double tail = (1 - confidence) / 2;
        if (successes > 0) {
          EXPECT_NEAR(binomial_tail(successes, trials, interval.low), tail, 1e-9);
        }
        if (successes < trials) {
          EXPECT_NEAR(1 - binomial_tail(successes + 1, trials, interval.high), tail, 1e-9);
        }
      }
    }
  }
}

TEST(ProportionInterval, CoversTheTruthAtLeastAsOftenAsItSays) {
  constexpr int kTrials = 20;
  for (double truth = 0.01; truth < 1; truth += 0.01) {
    double covered = 0;
    for (int successes = 0; successes <= kTrials; ++successes) {
      const Interval interval = proportion_interval(successes, kTrials, 0.9);
      const double probability =
          binomial_tail(successes, kTrials, truth) - binomial_tail(successes + 1, kTrials, truth);
      if (interval.low <= truth && truth <= interval.high) covered += probability;
    }
    EXPECT_GE(covered, 0.9 - 1e-9) << truth;
  }
}

TEST(ProportionInterval, StaysSharpForVeryManyTrials) {
  // The normal limit: half-width 1.96 sqrt(p (1 - p) / n).
  const Interval interval = proportion_interval(3e8, 1e9);
  const double half = 1.959964 * std::sqrt(0.3 * 0.7 / 1e9);
  EXPECT_NEAR(interval.low, 0.3 - half, 0.01 * half);
  EXPECT_NEAR(interval.high, 0.3 + half, 0.01 * half);
}

TEST(ProportionInterval, NamesWhatItRefuses) {
  const double nan = std::nan("");
  const auto refusal = [](double successes, double trials, double confidence) {
    return refusal_of([&] { (void)proportion_interval(successes, trials, confidence); });
  };
  EXPECT_EQ(refusal(1, 2, 0), "proportion_interval: confidence is 0.000000, must be between 0 and 1");
  EXPECT_EQ(refusal(1, 2, 1), "proportion_interval: confidence is 1.000000, must be between 0 and 1");
  EXPECT_EQ(refusal(1, 2, nan), "proportion_interval: confidence is nan, must be between 0 and 1");
  EXPECT_EQ(refusal(3, 2, 0.9), "proportion_interval: 3.000000 successes among 2.000000 trials");
  EXPECT_EQ(refusal(-1, 2, 0.9), "proportion_interval: -1.000000 successes among 2.000000 trials");
  EXPECT_EQ(refusal(nan, 2, 0.9), "proportion_interval: nan successes among 2.000000 trials");
  EXPECT_EQ(refusal(1, nan, 0.9), "proportion_interval: 1.000000 successes among nan trials");
}

// ---- Confusion

TEST(Confusion, GivesPrecisionAndRecallOrZero) {
  const Confusion confusion{100, 40, 20, 15, 1};
  EXPECT_DOUBLE_EQ(confusion.precision(), 0.75);
  EXPECT_DOUBLE_EQ(confusion.recall(), 0.375);
  EXPECT_EQ(Confusion{}.precision(), 0);
  EXPECT_EQ(Confusion{}.recall(), 0);
  EXPECT_EQ(confusion.precision_interval().low, proportion_interval(15, 20).low);
  EXPECT_EQ(confusion.recall_interval(0.8).high, proportion_interval(15, 40, 0.8).high);
  EXPECT_EQ(Confusion{}.precision_interval().high, 1);
}

TEST(Confusion, ScalesIntervalsByTheEffectiveNumber) {
  const Confusion confusion{100, 40, 20, 15, 0.5};
  EXPECT_EQ(confusion.precision_interval().low, proportion_interval(7.5, 10).low);
  EXPECT_EQ(confusion.recall_interval().high, proportion_interval(7.5, 20).high);
}

// ---- evaluate

// Level 0 flags from 0.5, level 1 nothing. Rows: (0.6, 0) positive, (0.4, 0) positive, (0.7, 0) negative, (0.9, 2)
// positive.
TEST(Evaluate, CountsARuleOnAFewRows) {
  SampleTable table;
  table.score = {0.6, 0.4, 0.7, 0.9};
  table.uncertainty = {0, 0, 0, 2};
  table.label = {1, 1, 0, 1};
  const Evaluation evaluation = evaluate({{1}, {0.5, std::nullopt}}, table.samples());
  EXPECT_EQ(evaluation.total.rows, 4);
  EXPECT_EQ(evaluation.total.positives, 3);
  EXPECT_EQ(evaluation.total.flagged, 2);
  EXPECT_EQ(evaluation.total.true_positives, 1);
  EXPECT_EQ(evaluation.total.effective_fraction, 1);
  ASSERT_EQ(evaluation.levels.size(), 2U);
  EXPECT_EQ(evaluation.levels[0].rows, 3);
  EXPECT_EQ(evaluation.levels[0].flagged, 2);
  EXPECT_EQ(evaluation.levels[1].rows, 1);
  EXPECT_EQ(evaluation.levels[1].positives, 1);
  EXPECT_EQ(evaluation.levels[1].flagged, 0);
}

// Weights 1, 2, 3: Kish's number 36 / 14, divided by the sum 6.
TEST(Evaluate, AddsWeightsAndGivesKishsFraction) {
  SampleTable table;
  table.score = {0.6, 0.4, 0.7};
  table.uncertainty = {0, 0, 0};
  table.label = {1, 1, 0};
  table.weight = {1, 2, 3};
  const Evaluation evaluation = evaluate({{}, {0.5}}, table.samples());
  EXPECT_EQ(evaluation.total.rows, 6);
  EXPECT_EQ(evaluation.total.positives, 3);
  EXPECT_EQ(evaluation.total.flagged, 4);
  EXPECT_EQ(evaluation.total.true_positives, 1);
  EXPECT_DOUBLE_EQ(evaluation.total.effective_fraction, 6.0 / 14);
}

TEST(Evaluate, DoesNotChangeIntervalsWhenAllWeightsAreEqual) {
  std::mt19937_64 random(5);
  SampleTable table = make_random_samples("continuous", 200, random);
  const Rule rule{{0.5}, {0.5, 0.7}};
  const Interval plain = evaluate(rule, table.samples()).total.precision_interval();
  table.weight.assign(200, 8);
  const Interval weighted = evaluate(rule, table.samples()).total.precision_interval();
  EXPECT_DOUBLE_EQ(weighted.low, plain.low);
  EXPECT_DOUBLE_EQ(weighted.high, plain.high);
}

// The sum of squares of such weights leaves the range of double, the effective number does not.
TEST(Evaluate, DoesNotChangeIntervalsWhenAllWeightsAreScaled) {
  std::mt19937_64 random(5);
  const SampleTable table = make_random_samples("weighted", 200, random);
  const Rule rule{{0.5}, {0.5, 0.7}};
  const Interval plain = evaluate(rule, table.samples()).total.precision_interval();
  for (const int exponent : {-600, -20, 20, 600}) {
    SampleTable scaled = table;
    for (double& weight : scaled.weight) weight = std::ldexp(weight, exponent);
    const Interval interval = evaluate(rule, scaled.samples()).total.precision_interval();
    EXPECT_NEAR(interval.low, plain.low, 1e-12) << "2^" << exponent;
    EXPECT_NEAR(interval.high, plain.high, 1e-12) << "2^" << exponent;
  }
}

Rule some_rule(const SampleTable& table, std::mt19937_64& random) {
  Rule rule;
  std::vector<double> edges = {table.uncertainty[random() % table.size()], table.uncertainty[random() % table.size()]};
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  rule.uncertainty_edges = edges;
  for (std::size_t level = 0; level <= edges.size(); ++level) {
    rule.score_thresholds.push_back(random() % 4 == 0 ? std::nullopt
                                                      : std::optional(table.score[random() % table.size()]));
  }
  return rule;
}

TEST(Evaluate, EqualsANaiveLoopOnEveryShape) {
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(6);
    for (int instance = 0; instance < 40; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      const SampleTable table = make_random_samples(shape, 1 + random() % 400, random);
      const Rule rule = some_rule(table, random);
      const Evaluation evaluation = evaluate(rule, table.samples());
      struct Sums {
        long double rows = 0, positives = 0, flagged = 0, true_positives = 0;
      };
      std::vector<Sums> expected(rule.score_thresholds.size());
      double weights = 0;
      double squares = 0;
      double largest = 0;
      for (std::size_t row = 0; row < table.size(); ++row) {
        const double weight = table.weight.empty() ? 1 : table.weight[row];
        const auto decision = decide_row(rule, table.score[row], table.uncertainty[row]);
        Sums& sums = expected[static_cast<std::size_t>(decision.level)];
        sums.rows += weight;
        sums.positives += table.label[row] * weight;
        sums.flagged += decision.positive * weight;
        sums.true_positives += decision.positive * table.label[row] * weight;
        weights += weight;
        squares += weight * weight;
        largest = std::max(largest, weight);
      }
      // Each weight is rounded to a multiple of 2^-50 of rows * largest weight or finer. Whole ones are exact.
      const auto rows = static_cast<double>(table.size());
      const bool exact = table.weight.empty() || shape == "weighted_integers";
      const double tolerance = exact ? 0 : rows * rows * largest * 0x1p-50;
      ASSERT_EQ(evaluation.levels.size(), expected.size());
      Confusion total;
      for (std::size_t level = 0; level < expected.size(); ++level) {
        const Confusion& counted = evaluation.levels[level];
        ASSERT_NEAR(counted.rows, static_cast<double>(expected[level].rows), tolerance);
        ASSERT_NEAR(counted.positives, static_cast<double>(expected[level].positives), tolerance);
        ASSERT_NEAR(counted.flagged, static_cast<double>(expected[level].flagged), tolerance);
        ASSERT_NEAR(counted.true_positives, static_cast<double>(expected[level].true_positives), tolerance);
        total.rows += counted.rows;
        total.positives += counted.positives;
        total.flagged += counted.flagged;
        total.true_positives += counted.true_positives;
      }
      // Multiples of a power of two below 2^53 of it: the levels add up to the total without rounding.
      ASSERT_EQ(evaluation.total.rows, total.rows);
      ASSERT_EQ(evaluation.total.positives, total.positives);
      ASSERT_EQ(evaluation.total.flagged, total.flagged);
      ASSERT_EQ(evaluation.total.true_positives, total.true_positives);
      ASSERT_NEAR(evaluation.total.effective_fraction, squares > 0 ? weights / squares : 1, 1e-12);
    }
  }
}

TEST(Evaluate, GivesTheSameForAnyThreadCountAndOrderOfRows) {
  std::mt19937_64 random(7);
  for (const std::string shape : {"continuous", "weighted", "weighted_ties_single"}) {
    SampleTable table = make_random_samples(shape, 200'000, random);
    const Rule rule{{0.2, 0.5}, {0.4, 0.5, 0.6}};
    const Evaluation first = evaluate(rule, table.samples());
    for (const int threads : {1, 2, 5}) {
      tbb::task_arena arena(threads);
      const Evaluation again = arena.execute([&] { return evaluate(rule, table.samples()); });
      EXPECT_EQ(again.total.flagged, first.total.flagged) << shape << " threads " << threads;
      EXPECT_EQ(again.total.true_positives, first.total.true_positives);
      EXPECT_EQ(again.total.effective_fraction, first.total.effective_fraction);
    }
    SampleTable reversed;
    reversed.score.assign(table.score.rbegin(), table.score.rend());
    reversed.uncertainty.assign(table.uncertainty.rbegin(), table.uncertainty.rend());
    reversed.label.assign(table.label.rbegin(), table.label.rend());
    reversed.weight.assign(table.weight.rbegin(), table.weight.rend());
    const Evaluation backwards = evaluate(rule, reversed.samples());
    EXPECT_EQ(backwards.total.flagged, first.total.flagged) << shape;
    EXPECT_EQ(backwards.total.true_positives, first.total.true_positives) << shape;
    EXPECT_EQ(backwards.levels[1].positives, first.levels[1].positives) << shape;
  }
}

TEST(Evaluate, CountsNothingWithoutRowsOrWeight) {
  const Evaluation nothing = evaluate({{1}, {0.5, 0.5}}, Samples{});
  EXPECT_EQ(nothing.total.rows, 0);
  EXPECT_EQ(nothing.levels.size(), 2U);
  EXPECT_EQ(nothing.total.effective_fraction, 1);
  SampleTable table;
  table.score = {0.6, 0.4};
  table.uncertainty = {0, 0};
  table.label = {1, 0};
  table.weight = {0, 0};
  const Evaluation weightless = evaluate({{}, {0.5}}, table.samples());
  EXPECT_EQ(weightless.total.flagged, 0);
  EXPECT_EQ(weightless.total.precision_interval().high, 1);
}

TEST(Evaluate, RefusesBadRowsAndBadRules) {
  SampleTable table;
  table.score = {0.6, 0.4};
  table.uncertainty = {0, 0};
  table.label = {1, 3};
  EXPECT_EQ(refusal_of([&] {
              (void)evaluate({{}, {0.5}}, table.samples());
            }),
            "samples: label[1] is 3, must be 0 or 1");
  table.label = {1, 0};
  EXPECT_EQ(refusal_of([&] {
              (void)evaluate({{2, 1}, {0.5, 0.5, 0.5}}, table.samples());
            }),
            "rule: uncertainty_edges[1] is not above the edge before it");
  EXPECT_EQ(refusal_of([&] {
              (void)evaluate({{}, {}}, table.samples());
            }),
            "rule: 0 uncertainty edges need 1 score thresholds, there are 0");
}

// ---- average_precision and roc_auc

using Labels = std::vector<std::uint8_t>;

/// By the definition: every positive counts the precision of flagging all rows with at least its score.
double average_precision_by_thresholds(const std::vector<double>& score, const Labels& label) {
  double sum = 0;
  double positives = 0;
  for (std::size_t row = 0; row < score.size(); ++row) {
    if (label[row] == 0) continue;
    ++positives;
    double flagged = 0;
    double hits = 0;
    for (std::size_t other = 0; other < score.size(); ++other) {
      if (score[other] < score[row]) continue;
      ++flagged;
      hits += label[other];
    }
    sum += hits / flagged;
  }
  return sum / positives;
}

/// By the definition: over all pairs of a positive and a negative.
double roc_auc_by_pairs(const std::vector<double>& score, const Labels& label) {
  double won = 0;
  double pairs = 0;
  for (std::size_t row = 0; row < score.size(); ++row) {
    for (std::size_t other = 0; other < score.size(); ++other) {
      if (label[row] == 0 || label[other] != 0) continue;
      ++pairs;
      won += score[row] > score[other] ? 1 : score[row] == score[other] ? 0.5 : 0;
    }
  }
  return won / pairs;
}

TEST(AveragePrecision, IsTheHandComputedMean) {
  // By falling score: 1 0 1 0. Precision at the positives: 1/1 and 2/3.
  EXPECT_DOUBLE_EQ(average_precision(std::vector{0.9, 0.1, 0.8, 0.4}, Labels{1, 0, 0, 1}), (1 + 2.0 / 3) / 2);
  // A tie of a positive and a negative is one step, whatever their order: 1/2 for the tie, 2/3 for the last.
  EXPECT_DOUBLE_EQ(average_precision(std::vector{0.5, 0.5, 0.2}, Labels{1, 0, 1}), (0.5 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(average_precision(std::vector{0.5, 0.5, 0.2}, Labels{0, 1, 1}), (0.5 + 2.0 / 3) / 2);
  EXPECT_EQ(average_precision(std::vector{3.0, 2.0}, Labels{1, 1}), 1);
  // All equal: the base rate.
  EXPECT_EQ(average_precision(std::vector<double>(8, 0.3), Labels{1, 0, 0, 0, 1, 0, 0, 0}), 0.25);
}

TEST(RocAuc, IsTheHandComputedShareOfPairs) {
  // Positives .9 .4, negatives .1 .8: won .9>.1 .9>.8 .4>.1, lost .4<.8.
  EXPECT_EQ(roc_auc(std::vector{0.9, 0.1, 0.8, 0.4}, Labels{1, 0, 0, 1}), 0.75);
  EXPECT_EQ(roc_auc(std::vector{0.5, 0.5}, Labels{1, 0}), 0.5);
  EXPECT_EQ(roc_auc(std::vector{2.0, 1.0}, Labels{1, 0}), 1);
  EXPECT_EQ(roc_auc(std::vector{2.0, 1.0}, Labels{0, 1}), 0);
}

TEST(RankMetrics, AreThoseOfTheDefinitions) {
  std::mt19937 random(20240607);
  int tied = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const std::size_t rows = 2 + random() % 60;
    const std::uint64_t values = instance % 3 == 0 ? 1U << 30 : 1 + random() % 12;  // few: many ties
    std::vector<double> score(rows);
    Labels label(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      score[row] = static_cast<double>(random() % values) - 5;
      label[row] = random() % (1 + static_cast<unsigned>(instance) % 7) == 0 ? 1 : 0;
    }
    label[0] = 1;
    label[1] = 0;
    tied += score[0] == score[1] ? 1 : 0;
    // Sums of at most 60 terms of at most 1, in another order: 60 units in the last place.
    EXPECT_NEAR(average_precision(score, label), average_precision_by_thresholds(score, label), 2e-14) << instance;
    EXPECT_NEAR(roc_auc(score, label), roc_auc_by_pairs(score, label), 2e-14) << instance;
  }
  EXPECT_GT(tied, 20);
}

TEST(RankMetrics, OrderTheInfinitiesAndBothZeros) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(roc_auc(std::vector{infinity, -infinity, 0.0}, Labels{1, 0, 0}), 1);
  EXPECT_EQ(roc_auc(std::vector{0.0, -0.0}, Labels{1, 0}), 0.5);
  EXPECT_EQ(average_precision(std::vector{0.0, -0.0}, Labels{1, 0}), 0.5);
}

TEST(RankMetrics, RefuseWhatHasNoValue) {
  const std::vector<double> score = {0.1, std::nan("")};
  EXPECT_EQ(refusal_of([&] { (void)average_precision(score, Labels{1, 0}); }), "average_precision: score[1] is NaN");
  EXPECT_EQ(refusal_of([&] { (void)roc_auc(score, Labels{1, 0}); }), "roc_auc: score[1] is NaN");
  EXPECT_EQ(refusal_of([&] { (void)roc_auc(score, Labels{1}); }), "roc_auc: score has 2 rows, label has 1");
  EXPECT_EQ(refusal_of([&] { (void)average_precision({}, {}); }), "average_precision: no row is positive");
  EXPECT_EQ(refusal_of([&] { (void)average_precision(std::vector{0.1}, Labels{0}); }),
            "average_precision: no row is positive");
  EXPECT_EQ(refusal_of([&] { (void)roc_auc({}, {}); }), "roc_auc: both classes are needed");
  EXPECT_EQ(refusal_of([&] { (void)roc_auc(std::vector{0.1}, Labels{1}); }), "roc_auc: both classes are needed");
}

}  // namespace
}  // namespace limen
