// SPDX-License-Identifier: MIT
#include "limen/judge/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "limen/base/error.h"
#include "reference/binning_reference.h"
#include "reference/isotonic_reference.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

RealSpan view(const std::vector<double>& values) { return std::span<const double>(values); }

/// The calibrated value of every distinct score of one level, by the min-max formula on the mean label of each score.
std::map<double, double> isotonic_of_labels(const SampleTable& table, const std::vector<std::size_t>& rows) {
  struct Sums {
    double labels = 0;
    double weight = 0;
  };
  std::map<double, Sums> by_score;
  for (const std::size_t row : rows) {
    const double weight = table.weight.empty() ? 1 : table.weight[row];
    Sums& sums = by_score[table.score[row]];
    sums.labels += weight * table.label[row];
    sums.weight += weight;
  }
  std::vector<double> score;
  std::vector<double> y;
  std::vector<double> weight;
  for (const auto& [at, sums] : by_score) {
    if (sums.weight == 0) continue;
    score.push_back(at);
    y.push_back(sums.labels / sums.weight);
    weight.push_back(sums.weight);
  }
  const std::vector<double> fitted = test::isotonic_by_min_max(y, weight);
  std::map<double, double> result;
  for (std::size_t at = 0; at < score.size(); ++at) result[score[at]] = fitted[at];
  return result;
}

// Scores 1 2 3 4 with labels 0 1 0 1: 2 and 3 pool to 1/2. Steps at 1, 2, 4.
TEST(FitLevelCalibration, PoolsLabelsThatFallAsTheScoreRises) {
  SampleTable table;
  table.score = {4, 3, 2, 1};
  table.uncertainty = {0, 0, 0, 0};
  table.label = {1, 0, 1, 0};
  const LevelCalibration calibration = fit_level_calibration(table.samples(), 1);
  EXPECT_THAT(calibration.uncertainty_edges, IsEmpty());
  ASSERT_EQ(calibration.levels.size(), 1U);
  EXPECT_THAT(calibration.levels[0].score, ElementsAre(1, 2, 4));
  EXPECT_THAT(calibration.levels[0].probability, ElementsAre(0, 0.5, 1));
  // On a step its value, between steps that of the one below, outside the first and the last.
  const std::vector<double> score = {1, 1.5, 2, 3, 3.9, 4, 100, 0.9, -100};
  const std::vector<double> uncertainty(score.size(), 7);
  EXPECT_THAT(calibrated_probability(calibration, view(score), view(uncertainty)),
              ElementsAre(0, 0, 0.5, 0.5, 0.5, 1, 1, 0, 0));
}

TEST(FitLevelCalibration, FitsEveryLevelAlone) {
  // Level 0 (uncertainty 0): label follows the score. Level 1 (uncertainty 1): against it, all pool to 1/2.
  SampleTable table;
  table.score = {1, 2, 1, 2};
  table.uncertainty = {0, 0, 1, 1};
  table.label = {0, 1, 1, 0};
  const LevelCalibration calibration = fit_level_calibration(table.samples(), 2);
  EXPECT_THAT(calibration.uncertainty_edges, ElementsAre(0.5));
  EXPECT_THAT(calibrated_probability(calibration, view(table.score), view(table.uncertainty)),
              ElementsAre(0, 1, 0.5, 0.5));
}

// Uncertainties 0 and 10 in five equal spans: the three levels between saw nothing and take 3/4.
TEST(FitLevelCalibration, GivesALevelNeverSeenTheOverallRate) {
  SampleTable table;
  table.score = {1, 2, 1, 2};
  table.uncertainty = {0, 0, 10, 10};
  table.label = {0, 1, 1, 1};
  const LevelCalibration calibration = fit_level_calibration(table.samples(), 5, Binning::kEquiSpan);
  ASSERT_EQ(calibration.levels.size(), 5U);
  const std::vector<double> score = {-50, 0, 1, 50};
  const std::vector<double> uncertainty = {5, 5, 5, 5};
  EXPECT_THAT(calibrated_probability(calibration, view(score), view(uncertainty)), ElementsAre(0.75, 0.75, 0.75, 0.75));
}

TEST(FitLevelCalibration, PutsAnUncertaintyOutsideTheRangeIntoTheNearestLevel) {
  SampleTable table;
  table.score = {1, 2, 1, 2};
  table.uncertainty = {0, 0, 1, 1};
  table.label = {0, 1, 1, 0};
  const LevelCalibration calibration = fit_level_calibration(table.samples(), 2);
  EXPECT_THAT(calibrated_probability(calibration, view(std::vector<double>{2, 2}), view(std::vector<double>{-9, 9})),
              ElementsAre(1, 0.5));
}

TEST(FitLevelCalibration, EqualsIsotonicRegressionOfTheLabelsOnEveryShape) {
  // Averages of numbers in [0, 1], at most 200 of them, in double precision: 200 * 2^-52 = 4e-14. Weights, 1/7 to 8,
  // are rounded to 2^-50 of 200 * 8 at worst, which is 1e-11 of the smallest, once up and once down.
  constexpr double kTolerance = 1e-13;
  constexpr double kWeightedTolerance = 2e-11;
  int pooled = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(1);
    for (int instance = 0; instance < 8; ++instance) {
      const SampleTable table = make_random_samples(shape, 2 + random() % 200, random);
      const Samples samples = table.samples();
      const double tolerance = table.weight.empty() ? kTolerance : kWeightedTolerance;
      for (const int levels : {1, 3}) {
        for (const Binning binning : {Binning::kEquiWeight, Binning::kEquiSpan}) {
          SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " levels " + std::to_string(levels) + " " +
                       std::string(to_string(binning)));
          const LevelCalibration calibration = fit_level_calibration(samples, levels, binning);
          ASSERT_EQ(calibration.uncertainty_edges, uncertainty_edges(samples.uncertainty, levels, binning));
          const auto probability = calibrated_probability(calibration, samples.score, samples.uncertainty);
          std::vector<std::vector<std::size_t>> rows(calibration.levels.size());
          for (std::size_t row = 0; row < table.size(); ++row) {
            rows[test::level_by_definition(calibration.uncertainty_edges, table.uncertainty[row])].push_back(row);
          }
          for (std::size_t level = 0; level < rows.size(); ++level) {
            const auto& steps = calibration.levels[level];
            ASSERT_FALSE(steps.score.empty());
            ASSERT_EQ(steps.score.size(), steps.probability.size());
            for (std::size_t step = 1; step < steps.score.size(); ++step) {
              ASSERT_GT(steps.score[step], steps.score[step - 1]);
              ASSERT_GE(steps.probability[step], steps.probability[step - 1]);
            }
            const auto expected = isotonic_of_labels(table, rows[level]);
            pooled += steps.score.size() < expected.size() ? 1 : 0;
            double calibrated = 0;
            double labels = 0;
            double weights = 0;
            for (const std::size_t row : rows[level]) {
              const double weight = table.weight.empty() ? 1 : table.weight[row];
              calibrated += weight * probability[row];
              labels += weight * table.label[row];
              weights += weight;
              const auto at = expected.find(table.score[row]);
              if (at == expected.end()) continue;  // only rows of weight 0 have this score
              ASSERT_NEAR(probability[row], at->second, tolerance) << "row " << row;
            }
            // Mean calibrated = mean label in every level.
            if (weights > 0) {
              ASSERT_NEAR(calibrated / weights, labels / weights, tolerance);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(pooled, 300);
}

// One score: level 0 has one positive, level 1 one of three. The score alone says 2 of 4. With one row more of that:
// (1 + 1/2) / 2 and (1 + 1/2) / 4.
TEST(FitLevelCalibration, ShrinksTowardsTheScoreAlone) {
  SampleTable table;
  table.score = {1, 1, 1, 1};
  table.uncertainty = {0, 5, 5, 5};
  table.label = {1, 0, 1, 0};
  const auto fit = [&](double shrinkage) {
    const LevelCalibration found = fit_level_calibration(table.samples(), 2, Binning::kEquiSpan, shrinkage);
    return calibrated_probability(found, view({1, 1}), view({0, 5}));
  };
  EXPECT_THAT(fit(0), ElementsAre(DoubleEq(1), DoubleEq(1.0 / 3)));
  EXPECT_THAT(fit(1), ElementsAre(DoubleEq(0.75), DoubleEq(0.375)));
  EXPECT_THAT(fit(1e12), ElementsAre(testing::DoubleNear(0.5, 1e-9), testing::DoubleNear(0.5, 1e-9)));
  EXPECT_THROW((void)fit(-1), InvalidInput);
  EXPECT_THROW((void)fit(std::numeric_limits<double>::quiet_NaN()), InvalidInput);
}

// On any table: steps rise, a weight of two for all rows is the same as none, and much shrinkage is IST.
TEST(FitLevelCalibration, ShrunkStepsRiseAndEndAtTheScoreAlone) {
  for (const std::string shape : {"continuous", "heavy_ties"}) {
    std::mt19937_64 random(3);
    const SampleTable table = make_random_samples(shape, 500, random);
    const LevelCalibration alone = fit_level_calibration(table.samples(), 1);
    for (const double shrinkage : {0.0, 5.0, 50.0, 1e15}) {
      const LevelCalibration found = fit_level_calibration(table.samples(), 4, Binning::kEquiWeight, shrinkage);
      for (const auto& level : found.levels) EXPECT_TRUE(std::ranges::is_sorted(level.probability)) << shape;
      if (shrinkage < 1e15) continue;
      const auto shrunk = calibrated_probability(found, table.samples().score, table.samples().uncertainty);
      const auto ist = calibrated_probability(alone, table.samples().score, table.samples().uncertainty);
      for (std::size_t row = 0; row < ist.size(); ++row) {
        // A step of a level has the mean of what IST gives to its rows.
        EXPECT_NEAR(shrunk[row], ist[row], 0.25) << shape;
      }
    }
  }
}

SampleTable law(double effect, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  SampleTable table;
  for (int row = 0; row < 6000; ++row) {
    const double score = uniform(random);
    const double u = uniform(random);
    table.score.push_back(score);
    table.uncertainty.push_back(u);
    table.label.push_back(uniform(random) < score * (1 - effect * u) ? 1 : 0);
  }
  return table;
}

TEST(ChooseShrinkage, IsStrongOnNoiseAndWeakWhereLevelsDiffer) {
  EXPECT_GE(choose_shrinkage(law(0, 1).samples(), 8), 300);
  EXPECT_LE(choose_shrinkage(law(0.9, 1).samples(), 8), 100);
  SampleTable weighted = law(0, 1);
  weighted.weight.assign(weighted.score.size(), 2.5);
  EXPECT_GE(choose_shrinkage(weighted.samples(), 8), 300);
}

TEST(FitLevelCalibration, NamesWhatItRefuses) {
  SampleTable table;
  table.score = {1, std::nan("")};
  table.uncertainty = {0, 0};
  table.label = {0, 1};
  EXPECT_EQ(refusal_of([&] { (void)fit_level_calibration(table.samples(), 1); }),
            "samples: score[1] is NaN, must be finite");
  table.score = {1, 2};
  EXPECT_EQ(refusal_of([&] { (void)fit_level_calibration(table.samples(), 0); }),
            "uncertainty_edges: levels is 0, must be 1 to 1000");
  EXPECT_EQ(refusal_of([] { (void)fit_level_calibration(Samples{}, 1); }), "count_distinct: there are no rows");
}

TEST(CalibratedProbability, NamesWhatItRefuses) {
  const LevelCalibration one{{}, {{{0}, {0.5}}}};
  const std::vector<double> two = {1, 2};
  const std::vector<double> three = {1, 2, 3};
  EXPECT_EQ(refusal_of([&] { (void)calibrated_probability(one, view(two), view(three)); }),
            "calibrated_probability: score has 2 rows, uncertainty has 3");
  const LevelCalibration bad{{1.0}, {{{0}, {0.5}}}};
  EXPECT_EQ(refusal_of([&] { (void)calibrated_probability(bad, view(two), view(two)); }),
            "calibration: the edges do not fit the number of levels");
  EXPECT_THAT(calibrated_probability(one, view(std::vector<double>{}), view(std::vector<double>{})), IsEmpty());
}

// A NaN was given the probability of the lowest step of the lowest level.
TEST(CalibratedProbability, RefusesWhatIsNotFinite) {
  const LevelCalibration one{{}, {{{0}, {0.5}}}};
  const std::vector<double> fine = {1, 2};
  const std::vector<double> nan = {1, std::nan("")};
  const std::vector<double> infinite = {-std::numeric_limits<double>::infinity(), 1};
  EXPECT_EQ(refusal_of([&] { (void)calibrated_probability(one, view(nan), view(fine)); }),
            "calibrated_probability: score[1] is NaN, must be finite");
  EXPECT_EQ(refusal_of([&] { (void)calibrated_probability(one, view(fine), view(nan)); }),
            "calibrated_probability: uncertainty[1] is NaN, must be finite");
  EXPECT_EQ(refusal_of([&] { (void)calibrated_probability(one, view(infinite), view(fine)); }),
            "calibrated_probability: score[0] is infinite, must be finite");
}

TEST(CalibratedProbability, RefusesALevelWithoutStepsOrOfUnequalLengths) {
  const std::vector<double> values = {1, 2};
  for (const LevelCalibration::Level& level :
       {LevelCalibration::Level{{}, {}}, LevelCalibration::Level{{0, 1, 2}, {0.5}}}) {
    EXPECT_NE(refusal_of([&] {
                (void)calibrated_probability({{}, {level}}, view(values), view(values));
              }),
              "(not refused)");
  }
}

}  // namespace
}  // namespace limen
