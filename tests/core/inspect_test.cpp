// SPDX-License-Identifier: MIT
#include "limen/judge/inspect.h"

#include <gtest/gtest.h>

#include <random>

#include "limen/base/error.h"
#include "limen/judge/metrics.h"

namespace limen {
namespace {

// Scores 4 3 3 2 2 1 with labels 1 1 0 0 1 0.
TEST(Inspect, FiguresByHand) {
  const std::vector<double> score = {4, 3, 3, 2, 2, 1};
  const std::vector<double> uncertainty = {0, 0, 0, 0.5, 0.5, 0.75};
  const std::vector<std::uint8_t> label = {1, 1, 0, 0, 1, 0};
  const Inspection found =
      inspect({std::span(score), std::span(uncertainty), label, {}}, max_recall_at_precision({1, 2}));
  EXPECT_EQ(found.rows, 6);
  EXPECT_EQ(found.positives, 3);
  EXPECT_EQ(found.weight, 6);
  EXPECT_FALSE(found.weighted);
  EXPECT_EQ(found.score.range.low, 1);
  EXPECT_EQ(found.score.range.high, 4);
  EXPECT_EQ(found.score.distinct, 4);
  EXPECT_EQ(found.score.most_common, 3);  // as 2, of which there are as many
  EXPECT_DOUBLE_EQ(found.score.most_common_share, 2.0 / 6);
  EXPECT_EQ(found.uncertainty.distinct, 3);
  EXPECT_EQ(found.uncertainty.most_common, 0);
  EXPECT_EQ(found.uncertainty.most_common_share, 0.5);
  // Steps: 1/1, 2/3, 3/5.
  EXPECT_DOUBLE_EQ(found.average_precision, (1.0 + 2.0 / 3 + 3.0 / 5) / 3);
  // Of 9 pairs the positives win 6, and 2 are ties.
  EXPECT_DOUBLE_EQ(found.roc_auc, 7.0 / 9);
  ASSERT_EQ(found.reliability.size(), 4U);
  EXPECT_EQ(found.reliability[0].high, 1);
  EXPECT_EQ(found.reliability[0].positives, 0);
  EXPECT_EQ(found.reliability[3].mean_score, 4);
  EXPECT_FALSE(found.choice.information.testable);
}

TEST(Inspect, AgreesWithTheMetricsOnTies) {
  std::mt19937_64 random(1);
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  for (int row = 0; row < 3000; ++row) {
    score.push_back(static_cast<double>(random() % 50));
    uncertainty.push_back(static_cast<double>(random() % 1000));
    label.push_back(random() % 100 < static_cast<std::uint64_t>(score.back()) ? 1 : 0);
  }
  const Samples samples{std::span<const double>(score), std::span<const double>(uncertainty), label, {}};
  const Inspection found = inspect(samples, max_f_beta({1, 1}));
  EXPECT_NEAR(found.average_precision, average_precision(score, label), 1e-12);
  EXPECT_NEAR(found.roc_auc, roc_auc(score, label), 1e-12);
  double rows = 0;
  double positives = 0;
  for (const ReliabilityBin& bin : found.reliability) {
    EXPECT_LE(bin.low, bin.mean_score);
    EXPECT_LE(bin.mean_score, bin.high);
    EXPECT_LE(bin.rate.low, bin.positives / bin.rows);
    EXPECT_GE(bin.rate.high, bin.positives / bin.rows);
    rows += bin.rows;
    positives += bin.positives;
  }
  EXPECT_EQ(rows, 3000);
  EXPECT_EQ(positives, found.positives);
  EXPECT_EQ(found.choice.best().method, Method::kSt);
  EXPECT_GT(found.choice.information.near.rows, 1000);

  // Weights of two change shares of nothing.
  const std::vector<double> weight(3000, 2);
  Samples weighted = samples;
  weighted.weight = weight;
  const Inspection twice = inspect(weighted, max_f_beta({1, 1}));
  EXPECT_NEAR(twice.average_precision, found.average_precision, 1e-12);
  EXPECT_NEAR(twice.roc_auc, found.roc_auc, 1e-12);
  EXPECT_NEAR(twice.positives, 2 * found.positives, 1e-6);
  EXPECT_TRUE(twice.weighted);
}

TEST(Inspect, NeedsRowsOfBothClasses) {
  const std::vector<double> one = {1};
  const std::vector<std::uint8_t> label = {1};
  EXPECT_THROW((void)inspect({std::span(one), std::span(one), label, {}}, max_f_beta({1, 1})), InvalidInput);
  EXPECT_THROW((void)inspect({}, max_f_beta({1, 1})), InvalidInput);
}

}  // namespace
}  // namespace limen
