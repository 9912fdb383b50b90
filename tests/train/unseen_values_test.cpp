// SPDX-License-Identifier: MIT
#include "unseen_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limen/uncertainty/beta.h"

namespace limen::train::detail {
namespace {

/// A category, and a number with three knots, whose tokens are the second feature.
FeatureShape shape() {
  FeatureShape shape;
  shape.num_numeric = 1;
  shape.num_tokens = {4, 3};
  shape.knots = {{.numeric = 0, .categorical = 1}};
  return shape;
}

FeatureRows rows_of(const std::vector<std::array<std::int32_t, 2>>& tokens, const std::vector<float>& fraction) {
  FeatureRows rows = {.num_rows = tokens.size(), .numeric = std::vector<float>(tokens.size(), 0.0F)};
  for (const auto& row : tokens) rows.categorical.insert(rows.categorical.end(), row.begin(), row.end());
  rows.fraction = fraction;
  return rows;
}

TEST(UnseenValues, AreCountedInTrainingAndAskedOfOtherRows) {
  // Token 0 of the category stands for rare values: two of five training rows. A number beyond its knots has a fraction
  // below 0 or above 1; the token 0 of knots is the first knot.
  const FeatureRows training = rows_of({{0, 0}, {1, 0}, {0, 1}, {2, 1}, {3, 0}}, {0, 0.5F, 1, 0, 0});
  const std::vector<double> unseen = unseen_rows(shape(), training);
  EXPECT_EQ(unseen, (std::vector<double>{2, 0}));
  const FeatureRows rows = rows_of({{1, 0}, {0, 0}, {1, 1}, {0, 0}}, {0.5F, 0, 1.5F, -0.5F});
  const std::vector<double> odds = unseen_log_odds(shape(), rows, unseen, 5);
  EXPECT_EQ(odds[0], 0);
  EXPECT_DOUBLE_EQ(odds[1], std::log(3.0 / 4));
  EXPECT_DOUBLE_EQ(odds[2], std::log(1.0 / 6));
  EXPECT_DOUBLE_EQ(odds[3], std::log(3.0 / 4) + std::log(1.0 / 6));
}

TEST(UnseenValues, LowerTheEvidenceAndWhatFollowsFromIt) {
  for (const Head kind : {Head::kNatpn, Head::kPostnet}) {
    const HeadOptions head = {.kind = kind, .prior = {2, 1}};
    // natpn: 40 rows of which a quarter is positive; postnet: alpha (12, 28) with the prior in it.
    const double score = kind == Head::kNatpn ? 0.25 : 12.0 / 40;
    const double evidence = kind == Head::kNatpn ? 43 : 40;
    NetworkOutput output = {.score = {score, score},
                            .entropy = {7, 7},
                            .evidence = {evidence, evidence},
                            .variance = {7, 7},
                            .mutual_information = {7, 7}};
    lower_evidence(head, {0, std::log(0.1)}, output);
    EXPECT_EQ(output.score[1], score);
    EXPECT_EQ(output.evidence[0], evidence);  // known values: nothing changes
    EXPECT_EQ(output.entropy[0], 7);
    const double alpha1 = 1 + 0.1 * (kind == Head::kNatpn ? 10 : 11);
    const double alpha0 = 2 + 0.1 * (kind == Head::kNatpn ? 30 : 26);
    EXPECT_NEAR(output.evidence[1], alpha1 + alpha0, 1e-12);
    EXPECT_NEAR(output.entropy[1], beta_entropy(alpha1, alpha0), 1e-12);
    const double mean = alpha1 / (alpha1 + alpha0);
    EXPECT_NEAR(output.variance[1], mean * (1 - mean) / (alpha1 + alpha0 + 1), 1e-12);
    // The expected entropy of a label, by the midpoint rule over the density of the Beta.
    double expected = 0;
    double mass = 0;
    constexpr int kSteps = 200'000;
    for (int step = 0; step < kSteps; ++step) {
      const double p = (step + 0.5) / kSteps;
      const double density = std::exp((alpha1 - 1) * std::log(p) + (alpha0 - 1) * std::log1p(-p));
      mass += density;
      expected += density * (-p * std::log(p) - (1 - p) * std::log1p(-p));
    }
    const double label = -mean * std::log(mean) - (1 - mean) * std::log1p(-mean);
    EXPECT_NEAR(output.mutual_information[1], label - expected / mass, 1e-6);
  }
}

}  // namespace
}  // namespace limen::train::detail
