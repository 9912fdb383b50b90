// SPDX-License-Identifier: MIT
#include "value_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "support/refusal.h"
#include "uncertainty_choice.h"

namespace limen::train::detail {
namespace {

using test::refusal_of;

double logit(double p) { return std::log(p / (1 - p)); }

/// One number, a category of few values, and one of many.
FeatureShape many_values() {
  FeatureShape shape;
  shape.num_numeric = 1;
  shape.num_tokens = {5, 80};
  return shape;
}

FeatureRows rows_of(const std::vector<std::int32_t>& tokens, const std::vector<std::uint8_t>& label) {
  FeatureRows rows = {.num_rows = tokens.size()};
  for (const std::int32_t token : tokens) {
    rows.numeric.push_back(0.5F);
    rows.categorical.insert(rows.categorical.end(), {token % 5, token});
  }
  rows.label = label;
  return rows;
}

TEST(ValueRates, IsTheHandComputedRate) {
  // Token 7: one of three rows positive; token 9: none of one; token 0 stands for unseen values and has no rate. In all
  // two of six are positive, and half a positive and half a negative more: p = 2.5 / 7.
  const FeatureRows rows = rows_of({7, 7, 7, 9, 0, 0}, {1, 0, 0, 0, 1, 0});
  RateCounter counter(many_values());
  ASSERT_FALSE(counter.empty());
  counter.add(rows, std::vector<std::uint8_t>(6, 0));
  const ValueRates rates = counter.rates(3, 2);
  ASSERT_EQ(rates.features.size(), 1U);
  EXPECT_EQ(rates.features[0].feature, 1U);
  const double p = 2.5 / 7;
  EXPECT_DOUBLE_EQ(rates.prior, p);
  const FeatureRows wide = rates.widened(many_values(), rows);
  EXPECT_EQ(rates.widened(many_values()).num_numeric, 2U);
  ASSERT_EQ(wide.numeric.size(), 12U);
  EXPECT_EQ(wide.numeric[0], 0.5F);
  EXPECT_FLOAT_EQ(wide.numeric[1], static_cast<float>((logit((1 + 2 * p) / 5) - logit(p)) / 2));
  EXPECT_FLOAT_EQ(wide.numeric[7], static_cast<float>((logit(2 * p / 3) - logit(p)) / 2));
  EXPECT_EQ(wide.numeric[9], 0.0F);
  EXPECT_EQ(wide.categorical, rows.categorical);
}

TEST(ValueRates, ARowLearnsFromRatesWithoutItsOwnFold) {
  // Tokens of 20 rows each; the label of one row changes: its own input stays, those of the token's other folds change.
  std::vector<std::int32_t> tokens;
  std::vector<std::uint8_t> label;
  std::vector<std::uint8_t> fold;
  for (std::int32_t row = 0; row < 400; ++row) {
    tokens.push_back(1 + row % 20);
    label.push_back(row % 3 == 0 ? 1 : 0);
    fold.push_back(static_cast<std::uint8_t>((row / 20) % 10));
  }
  const auto inputs = [&] {
    RateCounter counter(many_values());
    const FeatureRows rows = rows_of(tokens, label);
    counter.add(rows, fold);
    ValueRates rates = counter.rates(1);
    rates.prior = 0.3;  // the rate of all rows has a part in every input
    std::vector<float> values = counter.out_of_fold(many_values(), rows, fold, rates).numeric;
    for (float& value : values) value *= static_cast<float>(rates.scale);
    return values;
  };
  const std::vector<float> before = inputs();
  label[40] ^= 1;
  const std::vector<float> after = inputs();
  int changed = 0;
  for (std::size_t row = 0; row < 400; ++row) {
    const bool same = std::abs(before[2 * row + 1] - after[2 * row + 1]) < 1e-5F;
    EXPECT_EQ(same, tokens[row] != tokens[40] || fold[row] == fold[40]) << row;
    changed += same ? 0 : 1;
  }
  EXPECT_EQ(changed, 18);  // the token's 20 rows less the two of its fold
}

TEST(ValueRates, EvidenceIsThatOfABetaPosterior) {
  // A score that is the mean of Beta(a, b) with a + b = n moves to (a + m) / (n + m) or a / (n + m).
  const ValueRates rates = {.tau = 3};
  const auto sampled = [](double p) { return 3 * p / (3 * p + 1 - p); };  // negatives kept at a third
  for (const double n : {0.5, 4.0, 90.0, 1e5}) {
    const double a = 0.2 * n;
    const double m = 2;
    const std::vector<double> found =
        rates.evidence(std::vector{m}, std::vector{sampled((a + m) / (n + m))}, std::vector{sampled(a / (n + m))});
    EXPECT_NEAR(found[0], n, 1e-6 * n * n + 1e-9) << n;
  }
  EXPECT_EQ(rates.evidence(std::vector{2.0}, std::vector{0.4}, std::vector{0.4})[0], 1e12);
}

TEST(ValueRates, ColumnsOfFewValuesOrWithKnotsHaveNone) {
  FeatureShape shape;
  shape.num_tokens = {63, 200};
  shape.knots = {{.categorical = 1}};
  EXPECT_TRUE(RateCounter(shape).empty());
}

TEST(ValueRates, ReadsBackWhatItWrites) {
  RateCounter counter(many_values());
  counter.add(rows_of({7, 7, 9}, {1, 0, 0}), std::vector<std::uint8_t>{1, 2, 10});  // the last does not count
  const ValueRates rates = counter.rates(2.5, 1.25);
  const ValueRates read = rates_from_json(to_json(rates), many_values());
  EXPECT_EQ(read.prior, rates.prior);
  EXPECT_EQ(read.tau, 2.5);
  EXPECT_EQ(read.scale, 1.25);
  EXPECT_EQ(read.features[0].rows, rates.features[0].rows);
  EXPECT_EQ(read.features[0].positives, rates.features[0].positives);
  EXPECT_EQ(read.features[0].rows[7], 2U);
  EXPECT_EQ(read.features[0].rows[9], 0U);
}

TEST(ValueRates, RefusesWhatContradictsItself) {
  RateCounter counter(many_values());
  counter.add(rows_of({7, 7, 9}, {1, 0, 0}), std::vector<std::uint8_t>(3, 0));
  const std::string good = to_json(counter.rates(1));
  const auto refused = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = nlohmann::json::parse(good);
    json[nlohmann::json::json_pointer(pointer)] = value;
    return refusal_of([&] { (void)rates_from_json(json.dump(), many_values()); });
  };
  EXPECT_EQ(refused("/prior", 1), "rates.json: \"prior\" must be between 0 and 1");
  EXPECT_EQ(refused("/tau", 0.5), "rates.json: \"tau\" must be 1 to 1e9");
  EXPECT_EQ(refused("/scale", 0), "rates.json: \"scale\" must be 1e-6 to 1e6");
  EXPECT_EQ(refused("/features", nlohmann::json::array()), "rates.json: \"features\" is empty");
  EXPECT_EQ(refused("/features/0/rows/7", -1), "rates.json: \"features.rows\" holds something else than counts");
  EXPECT_EQ(refused("/features/0/positives/7", 3), "rates.json: \"features.positives\" are more than the rows");
  EXPECT_EQ(refused("/features/0/rows", {1, 2}),
            "rates.json: \"features.rows\" does not have one number for each token");
  EXPECT_NE(refused("/features/0/feature", 7), "");
}

TEST(ChooseUncertainty, TakesTheMeasureThatTellsMost) {
  // The label depends on the score and, when it informs, on the evidence; the entropy is noise.
  for (const bool informs : {true, false}) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(0, 1);
    Prediction prediction;
    std::vector<std::uint8_t> label;
    for (int row = 0; row < 20'000; ++row) {
      const double score = uniform(random);
      const double evidence = std::exp(4 * uniform(random));
      const double pull = 5 * score - 3.5 + (informs ? 1.5 * std::log(evidence) - 3 : 0);
      prediction.score.push_back(score);
      prediction.evidence.push_back(evidence);
      prediction.entropy.push_back(uniform(random));
      label.push_back(uniform(random) < 1 / (1 + std::exp(-pull)) ? 1 : 0);
    }
    const UncertaintyChoice choice = choose_uncertainty(prediction, label, Uncertainty::kEntropy, 1);
    EXPECT_EQ(choice.kind, informs ? Uncertainty::kEvidence : Uncertainty::kEntropy);
    ASSERT_EQ(choice.tested.size(), 2U);  // it has no other measures
    EXPECT_EQ(choice.tested[0].kind, Uncertainty::kEntropy);
    EXPECT_GT(choice.tested[0].p_value, 0.001);
    EXPECT_EQ(choice.tested[1].p_value < 1e-6, informs);
    EXPECT_NE(choice.why.find(informs ? "evidence, which tells most" : "entropy, though none tells anything"),
              std::string::npos)
        << choice.why;
  }
}

}  // namespace
}  // namespace limen::train::detail
