// SPDX-License-Identifier: MIT
#include "limen/judge/calibration_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "limen/count/binning.h"
#include "limen/judge/calibration.h"
#include "limen/judge/positivity_map.h"
#include "limen/theory/simulate.h"
#include "reference/calibration_error_reference.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;

constexpr CalibrationErrorOptions kPlain = {.bootstrap = std::nullopt};

CalibrationErrors judge(const SampleTable& table, std::vector<double> edges, const std::vector<double>& probability,
                        CalibrationErrorOptions options = kPlain) {
  const std::vector<ProbabilityColumn> columns = {{"p", std::span<const double>(probability)}};
  return calibration_errors(table.samples(), std::move(edges), columns, {}, options);
}

// Level 0 (uncertainty 0): scores .1 .2 | .8 .9 with labels 0 1 | 1 1: gaps .3 - 1 = -.7 and 1.7 - 2 = -.3, errors .35
// and .15. Level 1: .3 .3 .3 .7, labels 0 0 0 1: the three ties have the middle rank 1.5 of 4, so bin 0; gaps .9 and
// .7 - 1 = -.3, errors .3 and .3. ECE@1 = (.35 + .3) / 2, ECE@2 = (.15 + .3) / 2, cumulative ECE@0 their mean.
TEST(CalibrationErrors, ByHand) {
  SampleTable table;
  table.score = {0.1, 0.2, 0.8, 0.9, 0.3, 0.3, 0.3, 0.7};
  table.uncertainty = {0, 0, 0, 0, 1, 1, 1, 1};
  table.label = {0, 1, 1, 1, 0, 0, 0, 1};
  CalibrationErrorOptions options = kPlain;
  options.bins = 2;
  const CalibrationErrors found = judge(table, {0.5}, table.score, options);
  const ColumnErrors& errors = found.columns[0];
  EXPECT_DOUBLE_EQ(errors.ece_at[0]->value, 0.325);
  EXPECT_DOUBLE_EQ(errors.ece_at[1]->value, 0.225);
  EXPECT_DOUBLE_EQ(errors.cumulative[0]->value, 0.275);
  EXPECT_DOUBLE_EQ(errors.cumulative[1]->value, 0.225);
  EXPECT_DOUBLE_EQ(errors.ece_by_level->value, (0.7 + 0.3 + 0.9 + 0.3) / 8);
  // By score alone: .1 .2 .3 .3 .3 (middle rank of the ties 3.5 of 8) | .7 .8 .9: gaps 1.2 - 1 and 2.4 - 3.
  EXPECT_DOUBLE_EQ(errors.ece->value, (0.2 + 0.6) / 8);
  ASSERT_EQ(found.reliability.cells.size(), 2U);
  EXPECT_EQ(found.reliability.cells[0].rows, 5);
  EXPECT_THAT(errors.mean_probability[0], Optional(DoubleNear(1.2 / 5, 1e-15)));
  EXPECT_EQ(found.bins.cells.size(), 4U);
  EXPECT_EQ(found.rows, 8);
  EXPECT_EQ(found.positives, 4);
  EXPECT_FALSE(errors.ece->band);
}

TEST(CalibrationErrors, EqualTheDefinitionsOnEveryShape) {
  std::mt19937_64 random(7);
  int with_empty_bins = 0;
  int with_ties = 0;
  for (const std::string& shape : test::sample_shapes()) {
    for (const int bins : {1, 3, 7}) {
      SCOPED_TRACE(shape + ", bins " + std::to_string(bins));
      const SampleTable table = make_random_samples(shape, 180, random);
      const std::vector<double> edges = uncertainty_edges(table.samples().uncertainty, 3);
      // Probabilities of a few steps, so that their order has ties; not always rising with the score.
      std::vector<double> probability;
      for (std::size_t row = 0; row < table.size(); ++row) {
        probability.push_back(std::floor(5 / (1 + std::exp(-table.score[row])) + table.uncertainty[row]) / 10);
        probability.back() = std::clamp(probability.back(), 0.0, 1.0);
      }
      CalibrationErrorOptions options = kPlain;
      options.bins = bins;
      const CalibrationErrors found = judge(table, edges, probability, options);
      const ColumnErrors& errors = found.columns[0];
      const test::ReferenceErrors expected = test::reference_errors(table, edges, probability, bins);
      // Weights that are no multiples of the unit are rounded to it where rows are ranked and ordered.
      const double tolerance = shape == "weighted" || shape == "weighted_ties_single" ? 1e-6 : 1e-12;
      EXPECT_NEAR(errors.ece->value, expected.ece, tolerance);
      EXPECT_NEAR(errors.ece_by_level->value, expected.ece_by_level, tolerance);
      EXPECT_NEAR(errors.brier->value, expected.brier, tolerance);
      EXPECT_NEAR(errors.log_loss->value, expected.log_loss, tolerance);
      EXPECT_NEAR(errors.roc_auc->value, expected.roc_auc, tolerance);
      EXPECT_NEAR(errors.average_precision->value, expected.average_precision, tolerance);
      EXPECT_NEAR(*mean_log_loss(table.samples(), std::span<const double>(probability)), expected.log_loss, tolerance);
      for (std::size_t bin = 0; bin < static_cast<std::size_t>(bins); ++bin) {
        ASSERT_EQ(errors.ece_at[bin].has_value(), !std::isnan(expected.ece_at[bin])) << bin;
        ASSERT_EQ(errors.cumulative[bin].has_value(), !std::isnan(expected.cumulative[bin])) << bin;
        if (errors.ece_at[bin]) {
          EXPECT_NEAR(errors.ece_at[bin]->value, expected.ece_at[bin], tolerance);
        } else {
          ++with_empty_bins;
        }
        if (errors.cumulative[bin]) {
          EXPECT_NEAR(errors.cumulative[bin]->value, expected.cumulative[bin], tolerance);
        }
      }
      if (std::set<double>(table.score.begin(), table.score.end()).size() < table.size()) ++with_ties;
    }
  }
  EXPECT_GE(with_empty_bins, 5);
  EXPECT_GE(with_ties, 10);
}

TEST(CalibrationErrors, OfAScoreThatIsNoProbabilityOnlyTheOrderIsJudged) {
  std::mt19937_64 random(3);
  const SampleTable table = make_random_samples("margins", 200, random);
  const CalibrationErrors found = judge(table, {}, table.score, {.bins = 5});
  const ColumnErrors& errors = found.columns[0];
  EXPECT_FALSE(errors.is_probability);
  EXPECT_FALSE(errors.ece || errors.brier || errors.log_loss || errors.ece_by_level);
  EXPECT_TRUE(errors.ece_at.empty() && errors.cumulative.empty() && errors.mean_probability.empty());
  EXPECT_TRUE(errors.roc_auc && errors.roc_auc->band);
}

TEST(CalibrationErrors, OneClassHasErrorsAndNoAreas) {
  SampleTable table;
  table.score = {0.2, 0.4, 0.6};
  table.uncertainty = {0, 0, 0};
  table.label = {1, 1, 1};
  const CalibrationErrors found = judge(table, {}, table.score, {.bins = 3});
  EXPECT_DOUBLE_EQ(found.columns[0].ece->value, 0.6);
  EXPECT_FALSE(found.columns[0].roc_auc || found.columns[0].average_precision);
}

// De Moivre: E|X / 4 - 1/2| of 4 fair coins is (2 * 1 * 2/4 * ... ) = 6 / 16 * 2 / 4 = 0.1875; by enumeration below.
TEST(CalibrationErrors, WhatChanceAloneGives) {
  SampleTable table;
  for (int row = 0; row < 4; ++row) {
    table.score.push_back(0.5);
    table.uncertainty.push_back(0);
    table.label.push_back(row < 2 ? 1 : 0);
  }
  const CalibrationErrors found = judge(table, {}, table.score, {.bins = 1, .bootstrap = std::nullopt});
  const double expected = (2 * 1 * 0.5 + 2 * 4 * 0.25 + 6 * 0) / 16;
  EXPECT_THAT(found.ece_by_chance, ElementsAre(Optional(DoubleNear(expected, 1e-12))));
  EXPECT_THAT(found.cumulative_by_chance, ElementsAre(Optional(DoubleNear(expected, 1e-12))));
}

/// The same labels and scores drawn anew: how figures really move.
TEST(CalibrationErrors, BandsCoverWhatOtherDrawsOfRowsGive) {
  const auto draw = [](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    SampleTable table;
    for (int row = 0; row < 2000; ++row) {
      const double score = test::random_unit(random);
      table.score.push_back(score);
      table.uncertainty.push_back(test::random_unit(random));
      table.label.push_back(test::random_unit(random) < 0.3 + 0.4 * score ? 1 : 0);  // far from calibrated
    }
    return table;
  };
  // Truth: |s - .3 - .4 s| = |.6 s - .3| has the mean .15; the area under the curve by many rows.
  int holds_ece = 0;
  int holds_auc = 0;
  constexpr int kDraws = 60;
  double auc = 0;
  std::vector<CalibrationErrors> found;
  for (int at = 0; at < kDraws; ++at) {
    const SampleTable table = draw(static_cast<std::uint64_t>(at));
    found.push_back(judge(table, {0.5}, table.score, {.bins = 10}));
    auc += found.back().columns[0].roc_auc->value / kDraws;
  }
  for (const CalibrationErrors& one : found) {
    const ColumnErrors& errors = one.columns[0];
    holds_ece += errors.ece->band->low <= 0.15 && 0.15 <= errors.ece->band->high;
    holds_auc += errors.roc_auc->band->low <= auc && auc <= errors.roc_auc->band->high;
    EXPECT_LE(errors.ece->band->low, errors.ece->value);
    EXPECT_GE(errors.ece->band->high, errors.ece->value);
  }
  // 95% of 60 is 57; fewer than 50 has a probability below 1e-3.
  EXPECT_GE(holds_ece, 50);
  EXPECT_GE(holds_auc, 50);
}

bool same(const std::optional<Figure>& a, const std::optional<Figure>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->value == b->value && a->band == b->band);
}

TEST(CalibrationErrors, TheSameForAnyNumberOfThreads) {
  std::mt19937_64 random(11);
  const SampleTable table = make_random_samples("continuous", 20'000, random);
  std::vector<double> other;
  for (const double score : table.score) other.push_back(score * score);
  std::vector<double> own = table.uncertainty;
  const std::vector<ProbabilityColumn> columns = {{"raw", std::span<const double>(table.score)},
                                                  {"other", std::span<const double>(other)},
                                                  {"own", std::span<const double>(own), false}};
  const auto with_threads = [&](int threads) {
    return calibration_errors(table.samples(), {0.5}, columns, {},
                              {.bootstrap = BootstrapOptions{.replicates = 30},
                               .curve_baseline = 0,
                               .order_baseline = 0,
                               .num_threads = threads});
  };
  const CalibrationErrors one = with_threads(1);
  const CalibrationErrors all = with_threads(0);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const ColumnErrors& a = one.columns[column];
    const ColumnErrors& b = all.columns[column];
    EXPECT_TRUE(same(a.ece, b.ece) && same(a.brier, b.brier) && same(a.log_loss, b.log_loss));
    EXPECT_TRUE(same(a.roc_auc, b.roc_auc) && same(a.average_precision_difference, b.average_precision_difference));
    ASSERT_TRUE(a.roc_auc->band);
    for (std::size_t bin = 0; bin < a.cumulative.size(); ++bin) {
      EXPECT_TRUE(same(a.cumulative[bin], b.cumulative[bin]) && same(a.ece_at[bin], b.ece_at[bin]));
      if (column > 0) {
        EXPECT_TRUE(same(a.cumulative_difference[bin], b.cumulative_difference[bin]));
      }
    }
  }
  EXPECT_TRUE(one.columns[0].cumulative_difference.empty());
  EXPECT_FALSE(one.columns[0].roc_auc_difference);
  // The square has the order of the score: no difference, in no resample.
  EXPECT_EQ(one.columns[1].roc_auc_difference->value, 0);
  EXPECT_EQ(*one.columns[1].roc_auc_difference->band, (Interval{0, 0}));
}

TEST(CalibrationErrors, AreasAreThoseInsideStrata) {
  // Inside each stratum the order is perfect; across them it is the other way round.
  SampleTable table;
  table.score = {0.9, 0.8, 0.2, 0.1};
  table.uncertainty = {0, 0, 0, 0};
  table.label = {1, 0, 1, 0};
  const std::vector<ProbabilityColumn> columns = {{"p", std::span<const double>(table.score)}};
  const std::vector<std::uint8_t> stratum = {0, 0, 1, 1};
  EXPECT_EQ(calibration_errors(table.samples(), {}, columns, stratum, kPlain).columns[0].roc_auc->value, 1);
  EXPECT_EQ(calibration_errors(table.samples(), {}, columns, {}, kPlain).columns[0].roc_auc->value, 0.75);
}

// One step of all rows, told apart by the score: the order of the score, in every resample too.
TEST(CalibrationErrors, EqualProbabilitiesAreOrderedByTheTieBreaker) {
  std::mt19937_64 random(13);
  for (const char* shape : {"continuous", "heavy_ties", "single_precision"}) {
    const SampleTable table = make_random_samples(shape, 400, random);
    const std::vector<double> equal(table.size(), 0.5);
    std::vector<std::uint8_t> fold;
    for (std::size_t row = 0; row < table.size(); ++row) fold.push_back(static_cast<std::uint8_t>(row % 3));
    const std::vector<ProbabilityColumn> columns = {
        {"raw", std::span<const double>(table.score)},
        {"equal", std::span<const double>(equal), true, std::span<const double>(table.score)}};
    const CalibrationErrors found =
        calibration_errors(table.samples(), {0.5}, columns, fold,
                           {.bootstrap = BootstrapOptions{.replicates = 20, .resolution = 1000}, .order_baseline = 0});
    EXPECT_EQ(found.columns[1].roc_auc->value, 0.5);
    EXPECT_DOUBLE_EQ(found.columns[1].roc_auc_untied->value, found.columns[0].roc_auc->value);
    EXPECT_DOUBLE_EQ(found.columns[1].average_precision_untied->value, found.columns[0].average_precision->value);
    EXPECT_NEAR(found.columns[1].average_precision_untied_difference->band->low, 0, 1e-12);
    EXPECT_NEAR(found.columns[1].average_precision_untied_difference->band->high, 0, 1e-12);
    EXPECT_FALSE(found.columns[0].roc_auc_untied);
  }
}

TEST(CalibrationErrors, NamesWhatItRefuses) {
  SampleTable table;
  table.score = {0.2, 0.4};
  table.uncertainty = {0, 0};
  table.label = {1, 0};
  EXPECT_EQ(refusal_of([&] { (void)judge(table, {}, table.score, {.bins = 0}); }),
            "calibration_errors: bins is 0, must be 1 to 1000");
  EXPECT_EQ(refusal_of([&] { (void)judge(table, {}, {0.1}); }), "calibration_errors: p has 1 rows, label has 2");
  EXPECT_EQ(refusal_of([&] {
              (void)judge(table, {}, {0.1, std::nan("")});
            }),
            "calibration_errors: p[1] is NaN, must be finite");
  EXPECT_EQ(refusal_of([&] { (void)judge(SampleTable{}, {}, {}); }), "calibration_errors: there are no rows");
  table.weight = {1, 2};
  EXPECT_EQ(
      refusal_of([&] { (void)judge(table, {}, table.score, {}); }),
      "calibration_errors: rows have weights, but the bootstrap draws rows; ask for no bands, or leave the weights "
      "out");
  EXPECT_NO_THROW((void)judge(table, {}, table.score));
}

SampleTable rows_of(const Simulation& simulation, const SimulatedRows& rows) {
  SampleTable table;
  for (std::size_t row = 0; row < rows.label.size(); ++row) {
    const Region& region = simulation.regions[static_cast<std::size_t>(rows.region[row])];
    table.score.push_back(region.score);
    table.uncertainty.push_back(region.uncertainty);
    table.label.push_back(rows.label[row]);
  }
  return table;
}

// The paper's calibration figure on its own process with the ideal model: MIST's error is below IST's, the difference
// grows with the score, and the bands of the difference are below 0 from the middle of the scores on.
TEST(CalibrationErrors, LevelsHelpMostWhereScoresAreHigh) {
  SimulationOptions process;
  process.prior_positive = 1.5;
  process.prior_negative = 8.5;
  process.tau = 5;
  process.regions = 100'000;
  process.holdout_rows = 300'000;
  process.test_rows = 300'000;
  process.seed = 1;
  const Simulation simulation = simulate(process);
  const SampleTable holdout = rows_of(simulation, simulation.holdout);
  const SampleTable table = rows_of(simulation, simulation.test);
  const std::vector<double> edges = uncertainty_edges(holdout.samples().uncertainty, 3);
  const LevelCalibrations fitted = fit_level_calibrations(holdout.samples(), edges);
  const auto by = [&](const LevelCalibration& calibration) {
    return calibrated_probability(calibration, table.samples().score, table.samples().uncertainty);
  };
  const std::vector<double> ist = by(fitted.ist);
  const std::vector<double> mist = by(fitted.mist);
  const std::vector<double> shrunken = by(fitted.shrunken);
  const std::vector<ProbabilityColumn> columns = {{"raw", std::span<const double>(table.score)},
                                                  {"ist", std::span<const double>(ist)},
                                                  {"mist", std::span<const double>(mist)},
                                                  {"shrunken", std::span<const double>(shrunken)}};
  const CalibrationErrors found = calibration_errors(
      table.samples(), edges, columns, {},
      {.bins = 20, .bootstrap = BootstrapOptions{.replicates = 100}, .curve_baseline = 1, .order_baseline = 0});
  const ColumnErrors& by_levels = found.columns[2];
  for (std::size_t bin = 0; bin < 20; ++bin) {
    EXPECT_LT(by_levels.cumulative[bin]->value, found.columns[1].cumulative[bin]->value) << bin;
    EXPECT_LT(found.columns[1].cumulative[bin]->value, found.columns[0].cumulative[bin]->value) << bin;
    EXPECT_LT(by_levels.cumulative_difference[bin]->band->high, 0) << bin;
  }
  // Larger at the top tenth than over all scores, by more than the bands are wide.
  EXPECT_LT(by_levels.cumulative_difference[18]->band->high, by_levels.cumulative_difference[0]->band->low);
  // By score alone IST is as good as can be; what it misses is in the levels.
  EXPECT_LT(found.columns[1].ece->value, 0.01);
  EXPECT_GT(found.columns[1].ece_by_level->band->low, by_levels.ece_by_level->band->high);
  // The paper's open question: the order is better at the top. Over all rows the area under the ROC curve hardly moves.
  EXPECT_LT(std::abs(by_levels.roc_auc_difference->value), 0.002);
  EXPECT_GT(by_levels.average_precision_difference->band->low, 0);
  EXPECT_LT(by_levels.log_loss->value, found.columns[1].log_loss->value);
}

// Ten rows of one level: five bins of two. The three 3s have the middle rank 3.5 of 10: bin 1; so bin 2 of ranks 4 and
// 5 holds 4 alone.
TEST(PositivityMap, ByHandWithTies) {
  SampleTable table;
  table.score = {1, 2, 3, 3, 3, 4, 5, 6, 7, 8};
  table.uncertainty.assign(10, 0);
  table.label = {0, 0, 0, 1, 0, 1, 0, 1, 1, 1};
  const PositivityMap map = positivity_map(table.samples(), {.levels = 3, .bins = 5});
  ASSERT_EQ(map.cells.size(), 5U);
  EXPECT_TRUE(map.uncertainty_edges.empty());
  const auto column = [&](auto member) {
    std::vector<double> values;
    for (const PositivityCell& cell : map.cells) values.push_back(static_cast<double>(cell.*member));
    return values;
  };
  EXPECT_THAT(column(&PositivityCell::bin), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(column(&PositivityCell::rows), ElementsAre(2, 3, 1, 2, 2));
  EXPECT_THAT(column(&PositivityCell::low), ElementsAre(1, 3, 4, 5, 7));
  EXPECT_THAT(column(&PositivityCell::high), ElementsAre(2, 3, 4, 6, 8));
  EXPECT_THAT(column(&PositivityCell::mean_score), ElementsAre(1.5, 3, 4, 5.5, 7.5));
  EXPECT_THAT(column(&PositivityCell::positives), ElementsAre(0, 1, 1, 1, 2));
  // All ten scores equal: everything in the middle bin.
  table.score.assign(10, 0.5);
  const PositivityMap one = positivity_map(table.samples(), {.bins = 5});
  ASSERT_EQ(one.cells.size(), 1U);
  EXPECT_EQ(one.cells[0].bin, 2);
  EXPECT_EQ(one.cells[0].mean_score, 0.5);
}

TEST(PositivityMap, BalancedBinsHaveHalfOfEachClassCounted) {
  // 90 negatives below 0, 10 positives above: by rows one positive bin of ten, by classes five.
  SampleTable table;
  for (int row = 0; row < 100; ++row) {
    table.score.push_back(row < 90 ? row - 90 : row);
    table.uncertainty.push_back(0);
    table.label.push_back(row < 90 ? 0 : 1);
  }
  const auto positive_bins = [&](bool balanced) {
    const PositivityMap map = positivity_map(table.samples(), {.bins = 10, .balanced = balanced});
    return std::ranges::count_if(map.cells, [](const PositivityCell& cell) { return cell.positives > 0; });
  };
  EXPECT_EQ(positive_bins(false), 1);
  EXPECT_EQ(positive_bins(true), 5);
}

TEST(PositivityMap, EquiSpanCutsTheRangeOfAllLevels) {
  SampleTable table;
  table.score = {0, 0.4, 0.5, 1.0, 0.2};
  table.uncertainty = {0, 0, 0, 0, 1};
  table.label = {0, 1, 0, 1, 0};
  const PositivityMap map = positivity_map(table.samples(), {.levels = 2, .bins = 2, .binning = Binning::kEquiSpan});
  ASSERT_EQ(map.cells.size(), 3U);
  EXPECT_EQ(map.cells[0].rows, 2);
  EXPECT_EQ(map.cells[1].rows, 2);
  EXPECT_EQ(map.cells[2].level, 1);
  EXPECT_EQ(map.cells[2].bin, 0);
}

TEST(PositivityMap, WeightsCountAndWeightZeroDoesNot) {
  SampleTable table;
  table.score = {1, 2, 3};
  table.uncertainty = {0, 0, 0};
  table.label = {0, 1, 1};
  table.weight = {3, 1, 0};
  const PositivityMap map = positivity_map(table.samples(), {.bins = 1});
  ASSERT_EQ(map.cells.size(), 1U);
  EXPECT_TRUE(map.weighted);
  EXPECT_EQ(map.cells[0].rows, 4);
  EXPECT_EQ(map.cells[0].positives, 1);
  EXPECT_EQ(map.cells[0].high, 2);
}

TEST(PositivityMap, TakesScoreEdgesThatAllLevelsShare) {
  // Scores by level, positives marked *: level 0 has 1 2* 3*, level 1 has 2 4*. Edges 2 and 3.5: a score on an edge is
  // above it.
  SampleTable table;
  table.score = {1, 2, 3, 2, 4};
  table.uncertainty = {0, 0, 0, 1, 1};
  table.label = {0, 1, 1, 0, 1};
  const PositivityMap map =
      positivity_map(table.samples(), {.edges = std::vector{0.5}, .score_edges = std::vector{2, 3.5}});
  EXPECT_EQ(map.bins, 3);
  ASSERT_EQ(map.cells.size(), 4U);
  const auto is = [&](std::size_t at, int level, int bin, double rows, double positives, double mean) {
    const PositivityCell& cell = map.cells[at];
    EXPECT_EQ(std::tuple(cell.level, cell.bin, cell.rows, cell.positives, cell.mean_score),
              std::tuple(level, bin, rows, positives, mean));
  };
  is(0, 0, 0, 1, 0, 1);
  is(1, 0, 1, 2, 2, 2.5);
  is(2, 1, 1, 1, 0, 2);
  is(3, 1, 2, 1, 1, 4);
}

TEST(PositivityMap, NamesWhatItRefuses) {
  SampleTable table;
  table.score = {1};
  table.uncertainty = {0};
  table.label = {0};
  const auto refused = [&](const PositivityMapOptions& options) {
    return refusal_of([&] { (void)positivity_map(table.samples(), options); });
  };
  EXPECT_EQ(refused({.levels = 0}), "positivity_map: levels is 0, must be 1 to 1000");
  EXPECT_EQ(refused({.bins = 10'001}), "positivity_map: bins is 10001, must be 1 to 10000");
  EXPECT_EQ(refused({.confidence = 1}), "positivity_map: confidence is 1, must be between 0 and 1");
  EXPECT_EQ(refused({.edges = std::vector<double>{1, 1}}),
            "positivity_map: edges[1] is 1, must be finite and above the one before");
  EXPECT_EQ(refused({.score_edges = std::vector<double>{2, 1}}),
            "positivity_map: score_edges[1] is 1, must be finite and above the one before");
  EXPECT_EQ(refused({.binning = Binning::kEquiSpan, .balanced = true}),
            "positivity_map: balanced is set, must be off with equi-span, whose bins do not count rows");
}

// Newcombe (1998): 81 of 263, 15 of 148, 0 of 20, 1 of 29.
TEST(WilsonInterval, EqualsThePublishedTable) {
  const auto is = [](double successes, double trials, double low, double high) {
    const Interval found = wilson_interval(successes, trials);
    EXPECT_NEAR(found.low, low, 5e-5);
    EXPECT_NEAR(found.high, high, 5e-5);
  };
  is(81, 263, 0.2553, 0.3662);
  is(15, 148, 0.0624, 0.1605);
  is(0, 20, 0, 0.1611);
  is(1, 29, 0.0061, 0.1718);
  EXPECT_EQ(wilson_interval(0, 0), (Interval{0, 1}));
  EXPECT_EQ(wilson_interval(5, 5).high, 1);
  EXPECT_EQ(refusal_of([] { (void)wilson_interval(2, 1); }),
            "wilson_interval: 2.000000 successes among 1.000000 trials");
}

}  // namespace
}  // namespace limen
