// SPDX-License-Identifier: MIT
#include "limen/judge/calibration_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "limen/judge/calibration_error.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void expect_equal(const LevelCalibration& a, const LevelCalibration& b) {
  EXPECT_EQ(a.uncertainty_edges, b.uncertainty_edges);
  ASSERT_EQ(a.levels.size(), b.levels.size());
  for (std::size_t level = 0; level < a.levels.size(); ++level) {
    EXPECT_EQ(a.levels[level].score, b.levels[level].score);
    EXPECT_EQ(a.levels[level].probability, b.levels[level].probability);
  }
}

CalibrationSet fitted_set() {
  std::mt19937_64 random(5);
  return fit_calibration_set(make_random_samples("continuous", 500, random).samples());
}

TEST(FitCalibrationSet, EqualsEachCalibratorFittedAlone) {
  std::mt19937_64 random(1);
  for (const std::string& shape : test::sample_shapes()) {
    SCOPED_TRACE(shape);
    const SampleTable table = make_random_samples(shape, 400, random);
    const CalibrationSet set = fit_calibration_set(table.samples(), 3);
    expect_equal(*set.ist, fit_level_calibration(table.samples(), 1));
    expect_equal(*set.mist, fit_level_calibration(table.samples(), 3));
    EXPECT_EQ(set.shrinkage, choose_shrinkage(table.samples(), 3));
    expect_equal(*set.shrunken, fit_level_calibration(table.samples(), 3, Binning::kEquiWeight, set.shrinkage));
    EXPECT_NO_THROW(validate(set));
    EXPECT_EQ(set.losses.size(), 3U);
    EXPECT_LE(set.losses[2].log_loss, set.losses[1].log_loss);
  }
}

TEST(FitCalibrationSet, ChoosesLevelsWhereTheyTellAndTheScoreAloneWhereTheyDoNot) {
  std::mt19937_64 random(2);
  const auto chosen = [&](double effect) {
    SampleTable table;
    for (int row = 0; row < 20'000; ++row) {
      const double score = test::random_unit(random);
      const double uncertainty = test::random_unit(random);
      table.score.push_back(score);
      table.uncertainty.push_back(uncertainty);
      const double rate = 0.2 + 0.6 * score + effect * (0.5 - uncertainty);
      table.label.push_back(test::random_unit(random) < rate ? 1 : 0);
    }
    return fit_calibration_set(table.samples()).chosen;
  };
  EXPECT_EQ(chosen(0), Calibrator::kIst);
  EXPECT_NE(chosen(0.3), Calibrator::kIst);
}

TEST(FitCalibrationSet, ACorrectionThatLosesLessIsChosen) {
  CalibrationSet set = fitted_set();
  set.tau = 5;
  add_loss(set, Calibrator::kTau, 9);
  EXPECT_NE(set.chosen, Calibrator::kTau);
  set.losses.pop_back();
  add_loss(set, Calibrator::kTau, 0.001);
  EXPECT_EQ(set.chosen, Calibrator::kTau);
  EXPECT_NO_THROW(validate(set));
}

// Every row by a calibration of other rows: labels of a fold do not reach its own probabilities.
TEST(CrossFit, NoRowIsCalibratedByItself) {
  std::mt19937_64 random(4);
  SampleTable table = make_random_samples("continuous", 600, random);
  const std::vector<double> edges = {0.3, 0.6};
  const CrossFitted before = cross_fit(table.samples(), edges, 5, 9);
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (before.fold[row] == 2) table.label[row] = 1 - table.label[row];
  }
  const CrossFitted after = cross_fit(table.samples(), edges, 5, 9);
  EXPECT_EQ(before.fold, after.fold);
  int changed = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (before.fold[row] == 2) {
      EXPECT_EQ(before.ist[row], after.ist[row]);
      EXPECT_EQ(before.mist[row], after.mist[row]);
      EXPECT_EQ(before.shrunken[row], after.shrunken[row]);
    } else {
      changed += before.ist[row] != after.ist[row];
    }
  }
  EXPECT_GT(changed, 100);
  EXPECT_EQ(refusal_of([&] { (void)cross_fit(table.samples(), edges, 1); }),
            "cross_fit: folds is 1, must be 2 to 100, and not above the number of rows, 600");
}

TEST(CalibrationSetJson, ReadsBackExactly) {
  std::mt19937_64 random(6);
  for (const std::string& shape : test::sample_shapes()) {
    SCOPED_TRACE(shape);
    CalibrationSet set = fit_calibration_set(make_random_samples(shape, 300, random).samples(), 4);
    set.tau = 0.1 + 0.2;
    set.evidence = EvidenceCorrection{.tau = 3, .xi = 1.0 / 3, .column = "rows \"behind\""};
    add_loss(set, Calibrator::kTau, 1.0 / 7);
    set.score_column = "s";
    const std::string text = to_json(set);
    EXPECT_TRUE(is_calibration_json(text));
    const CalibrationSet read = calibration_set_from_json(text);
    expect_equal(*read.ist, *set.ist);
    expect_equal(*read.mist, *set.mist);
    expect_equal(*read.shrunken, *set.shrunken);
    EXPECT_EQ(read.tau, set.tau);
    EXPECT_EQ(read.evidence, set.evidence);
    EXPECT_EQ(read.chosen, set.chosen);
    EXPECT_EQ(read.score_column, "s");
    // Losses are read in the order of their names.
    EXPECT_EQ(read.losses.size(), set.losses.size());
    EXPECT_EQ(to_json(calibration_set_from_json(to_json(read))), to_json(read));
  }
  EXPECT_FALSE(is_calibration_json("{\"format\": \"limen-boundary\"}"));
  EXPECT_FALSE(is_calibration_json("["));
}

TEST(CalibrationSetJson, OneCalibratorIsEnough) {
  CalibrationSet set = fitted_set();
  set.ist.reset();
  set.shrunken.reset();
  set.losses.clear();
  set.chosen = Calibrator::kMist;
  const CalibrationSet read = calibration_set_from_json(to_json(set));
  expect_equal(*read.mist, *set.mist);
  EXPECT_FALSE(read.ist || read.shrunken);
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from + " in " + text);
  return text.replace(at, from.size(), to);
}

TEST(CalibrationSetJson, RefusesDamagedNewerAndContradictoryFiles) {
  CalibrationSet set;
  set.ist = LevelCalibration{{}, {{{0.25, 0.5}, {0.125, 0.75}}}};
  set.mist = LevelCalibration{{0.5}, {{{0.25}, {0.125}}, {{0.5, 1}, {0.75, 1}}}};
  set.chosen = Calibrator::kMist;
  set.losses = {{Calibrator::kIst, 0.5}, {Calibrator::kMist, 0.25}};
  set.tau = 2;
  set.rows = 10;
  set.weight = 10;
  set.positives = 4;
  const std::string good = to_json(set);
  ASSERT_NO_THROW((void)calibration_set_from_json(good));
  const auto refused = [&](const std::string& from, const std::string& to) {
    return refusal_of([&] { (void)calibration_set_from_json(changed(good, from, to)); });
  };
  EXPECT_EQ(refused("limen-calibration", "limen-boundary"),
            "calibration: is not a calibration file: \"format\" must be \"limen-calibration\"");
  EXPECT_EQ(refused("\"version\": 1", "\"version\": 2"),
            "calibration: has version 2, this program reads up to 1; update limen");
  EXPECT_THAT(refused("\"chosen\": \"mist\"", "\"chosen\": \"shrunken\""),
              StartsWith("calibration: chosen is shrunken, which is not there"));
  EXPECT_THAT(refused("\"chosen\": \"mist\"", "\"chosen\": \"ist\""), HasSubstr("the log loss of mist is lower"));
  EXPECT_THAT(refused("\"chosen\": \"mist\"", "\"chosen\": \"platt\""), HasSubstr("\"platt\" is no calibrator"));
  EXPECT_THAT(refused("0.25,\n      0.5", "0.5,\n      0.25"),
              HasSubstr("\"calibrators.ist.levels\": score[1] of level 0 is not above the one before"));
  EXPECT_THAT(refused("0.125", "1.125"), HasSubstr("probability[0] of level 0 is 1.125, must be 0 to 1"));
  EXPECT_THAT(refused("0.125", "0.875"), HasSubstr("probability[1] of level 0 is below the one before"));
  EXPECT_THAT(refused("0.125", "\"0.125\""), HasSubstr("is not a number"));
  EXPECT_THAT(refused("0.125", "0.125, 0.5"), HasSubstr("level 0 has 2 scores and 3 probabilities"));
  EXPECT_THAT(refused("\"uncertainty_edges\": [\n  0.5\n ]", "\"uncertainty_edges\": []"),
              HasSubstr("the edges do not fit the number of levels"));
  EXPECT_THAT(refused("\"positives\": 4", "\"positives\": 11"), HasSubstr("holdout has counts that cannot be"));
  EXPECT_THAT(refused("\"rows\": 10", "\"rows\": -1"), HasSubstr("counts that cannot be"));
  EXPECT_THAT(refused("\"tau\": 2", "\"tau\": 1e999"), HasSubstr("calibration: "));
  EXPECT_THAT(refused("\"columns\"", "\"kolumns\""), HasSubstr("\"columns\" is missing; the file is damaged"));
  // Every prefix is refused, none crashes.
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    EXPECT_THAT(refusal_of([&] { (void)calibration_set_from_json(good.substr(0, size)); }),
                StartsWith("calibration: "));
  }
  EXPECT_THAT(refusal_of([&] { (void)calibration_set_from_json(std::string(200'000, '[')); }),
              StartsWith("calibration: "));
}

}  // namespace
}  // namespace limen
