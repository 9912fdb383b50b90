// SPDX-License-Identifier: MIT
#include "limen/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "limen/base/error.h"
#include "limen/choose/sweep.h"
#include "limen/judge/metrics.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Method kMethods[] = {Method::kSt,     Method::kHr,     Method::kGmt,  Method::kMist,
                               Method::kEwDpmt, Method::kVwDpmt, Method::kExact};

/// One objective of every goal.
std::vector<Objective> all_objectives() {
  return {max_recall_at_precision({3, 5}),  max_precision_at_recall({1, 2}), max_recall_at_false_positive_rate({1, 5}),
          max_recall_at_flag_rate({3, 10}), min_cost({1, 1}, {3, 2}),        max_f_beta({1, 2})};
}

bool maximizes_recall(const Objective& objective) {
  return objective.goal == Goal::kPrecision || objective.goal == Goal::kFalsePositiveRate ||
         objective.goal == Goal::kFlagRate;
}

// Sorted by score: 0.9 + at 0.1, 0.8 + at 0.9, 0.7 - at 0.9, 0.6 + at 0.1, 0.5 - at 0.1, 0.4 - at 0.9.
SampleTable six_rows() {
  SampleTable table;
  table.score = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4};
  table.uncertainty = {0.1, 0.9, 0.9, 0.1, 0.1, 0.9};
  table.label = {1, 1, 0, 1, 0, 0};
  return table;
}

// With precision 1 a single threshold stops at 0.8 (two of three positives); two levels reach 0.6 in the certain one.
TEST(FitBoundary, FindsTheBoundaryOfAFewRows) {
  const SampleTable table = six_rows();
  const Objective objective = max_recall_at_precision({1, 1});
  const FitResult st = fit_boundary(table.samples(), objective, {.method = Method::kSt});
  ASSERT_TRUE(st.boundary);
  EXPECT_THAT(st.boundary->rule.uncertainty_edges, IsEmpty());
  EXPECT_THAT(st.boundary->rule.score_thresholds, ElementsAre(0.8));
  EXPECT_EQ(st.boundary->holdout.true_positives, 2);

  const FitResult exact = fit_boundary(table.samples(), objective, {.levels = 2});
  ASSERT_TRUE(exact.boundary);
  const Boundary& boundary = *exact.boundary;
  EXPECT_THAT(boundary.rule.uncertainty_edges, ElementsAre(0.5));
  EXPECT_THAT(boundary.rule.score_thresholds, ElementsAre(0.6, 0.8));
  EXPECT_EQ(boundary.objective, objective);
  EXPECT_EQ(boundary.method, Method::kExact);
  EXPECT_EQ(boundary.bins, std::nullopt);
  EXPECT_EQ(boundary.holdout.rows, 6);
  EXPECT_FALSE(boundary.holdout.weighted);
  EXPECT_EQ(boundary.holdout.weight, 6);
  EXPECT_EQ(boundary.holdout.positives, 3);
  EXPECT_EQ(boundary.holdout.flagged, 3);
  EXPECT_EQ(boundary.holdout.true_positives, 3);
  EXPECT_EQ(boundary.holdout.objective_value, 3);
  EXPECT_EQ(boundary.holdout.objective_bound, 3);
  EXPECT_TRUE(boundary.holdout.optimal);
  EXPECT_EQ(exact.levels_used, 2);
  EXPECT_EQ(exact.solution.status, SolveStatus::kOptimal);
}

// The promise of the whole product: the rule, applied to the rows it was fitted on, gives exactly the figures in its
// file, and they keep the bound.
TEST(FitBoundary, ReachesOnTheHoldoutExactlyWhatItsFileSays) {
  std::map<SolveStatus, int> seen;
  const std::vector<Objective> objectives = all_objectives();
  std::size_t turn = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(1);
    for (const Method method : kMethods) {
      const SampleTable table = make_random_samples(shape, 250, random);
      if (method == Method::kVwDpmt && !table.weight.empty()) continue;
      const Samples samples = table.samples();
      for (const Binning binning : {Binning::kEquiWeight, Binning::kEquiSpan}) {
        for (const BinCount bins : {BinCount::of(1), BinCount::of(7), BinCount::of(500), BinCount::all()}) {
          const Objective& objective = objectives[turn++ % objectives.size()];
          SCOPED_TRACE(shape + " " + std::string(to_string(method)) + " " + std::string(to_string(binning)) + " bins " +
                       (bins.count ? std::to_string(*bins.count) : "all") + " " + describe(objective));
          const FitResult result = fit_boundary(
              samples, objective, {.method = method, .levels = 4, .bins = bins, .binning = binning, .num_threads = 1});
          ++seen[result.solution.status];
          ASSERT_EQ(result.boundary.has_value(), result.solution.status != SolveStatus::kInfeasible);
          if (!result.boundary) continue;
          const Boundary& boundary = *result.boundary;
          const HoldoutSummary& holdout = boundary.holdout;
          const Evaluation evaluation = evaluate(boundary.rule, samples);
          const Confusion& total = evaluation.total;
          ASSERT_EQ(result.levels.size(), evaluation.levels.size());
          for (std::size_t level = 0; level < result.levels.size(); ++level) {
            ASSERT_EQ(result.levels[level].rows, evaluation.levels[level].rows);
            ASSERT_EQ(result.levels[level].positives, evaluation.levels[level].positives);
            ASSERT_EQ(result.levels[level].flagged, evaluation.levels[level].flagged);
            ASSERT_EQ(result.levels[level].true_positives, evaluation.levels[level].true_positives);
          }
          ASSERT_EQ(holdout.rows, static_cast<std::int64_t>(table.size()));
          ASSERT_EQ(holdout.weighted, !table.weight.empty());
          ASSERT_EQ(holdout.weight, total.rows);
          ASSERT_EQ(holdout.positives, total.positives);
          ASSERT_EQ(holdout.flagged, total.flagged);
          ASSERT_EQ(holdout.true_positives, total.true_positives);
          ASSERT_EQ(boundary.bins, bins.count);
          ASSERT_EQ(boundary.binning, binning);
          ASSERT_EQ(boundary.method, method);
          ASSERT_EQ(result.levels_used, static_cast<int>(boundary.rule.score_thresholds.size()));
          ASSERT_LE(result.levels_used, method == Method::kSt ? 1 : 4);
          ASSERT_EQ(holdout.optimal, result.solution.status == SolveStatus::kOptimal);
          ASSERT_EQ(boundary_from_json(to_json(boundary)), boundary);
          if (holdout.weighted) continue;
          const Counts flagged{static_cast<std::int64_t>(total.flagged),
                               static_cast<std::int64_t>(total.true_positives)};
          const Grid all = count_distinct(samples, {});
          ASSERT_EQ(result.solution.flagged, flagged);
          ASSERT_TRUE(is_feasible(objective, totals_of(all), flagged));
          ASSERT_EQ(holdout.objective_value, objective_value(objective, totals_of(all), flagged));
          if (maximizes_recall(objective)) {
            ASSERT_EQ(holdout.objective_value, total.true_positives);
          }
        }
      }
    }
  }
  EXPECT_GT(seen[SolveStatus::kOptimal], 150);
  EXPECT_GT(seen[SolveStatus::kFeasible], 50);
  EXPECT_GT(seen[SolveStatus::kInfeasible], 5);
}

/// The same boundary, or none, with the same certificate.
void expect_same(const FitResult& found, const FitResult& expected) {
  EXPECT_EQ(found.solution.status, expected.solution.status);
  EXPECT_EQ(found.boundary, expected.boundary);
  EXPECT_EQ(found.levels_used, expected.levels_used);
  EXPECT_EQ(found.levels.size(), expected.levels.size());
}

TEST(FitBesideSingle, GivesBothAsTheyAreAlone) {
  std::map<SolveStatus, int> seen;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(2);
    const SampleTable table = make_random_samples(shape, 400, random);
    for (const Method method : {Method::kExact, Method::kMist, Method::kSt}) {
      for (const Objective& objective : all_objectives()) {
        SCOPED_TRACE(shape + " " + std::string(to_string(method)) + " " + describe(objective));
        const FitOptions options{.method = method, .levels = 4};
        const FitBesideSingle both = fit_beside_single(table.samples(), objective, options);
        expect_same(both.fit, fit_boundary(table.samples(), objective, options));
        expect_same(both.single, fit_boundary(table.samples(), objective, {.method = Method::kSt}));
        ++seen[both.single.solution.status];
      }
    }
  }
  EXPECT_GT(seen[SolveStatus::kOptimal], 80);
  EXPECT_GT(seen[SolveStatus::kInfeasible], 2);
}

TEST(FitBoundary, ProvesABoundThatTheWeightedFiguresInTheFileKeep) {
  int broken = 0;
  for (const std::string shape : {"weighted", "weighted_integers", "weighted_ties_single"}) {
    std::mt19937_64 random(2);
    for (int instance = 0; instance < 10; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      const SampleTable table = make_random_samples(shape, 250, random);
      const FitResult result = fit_boundary(table.samples(), max_recall_at_precision({3, 5}), {.num_threads = 1});
      if (!result.boundary) continue;
      const HoldoutSummary& holdout = result.boundary->holdout;
      if (holdout.objective_bound >= holdout.true_positives || ++broken > 1) continue;
      ADD_FAILURE() << "true positives exceed their proven bound by "  // the first one only
                    << holdout.true_positives - holdout.objective_bound;
    }
  }
  EXPECT_EQ(broken, 0) << "of 30 boundaries";
}

TEST(FitBoundary, GivesTheSameBytesForAnyNumberOfThreads) {
  std::mt19937_64 random(3);
  for (const std::string shape : {"continuous", "single_precision", "weighted", "heavy_ties"}) {
    const SampleTable table = make_random_samples(shape, 20'000, random);
    for (const Method method : {Method::kSt, Method::kHr, Method::kGmt, Method::kMist, Method::kExact}) {
      std::set<std::string> texts;
      for (const int threads : {1, 2, 5, 0}) {
        const FitResult result =
            fit_boundary(table.samples(), max_recall_at_precision({3, 5}),
                         {.method = method, .levels = 5, .bins = BinCount::of(200), .num_threads = threads});
        ASSERT_TRUE(result.boundary) << shape << " " << to_string(method);
        texts.insert(to_json(*result.boundary));
      }
      EXPECT_EQ(texts.size(), 1U) << shape << " " << to_string(method);
    }
  }
}

TEST(FitBoundary, IsBestWithEveryScoreAndNeverBelowASingleThreshold) {
  int better_than_st = 0;
  int better_than_coarse = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(4);
    for (int instance = 0; instance < 2; ++instance) {
      const SampleTable table = make_random_samples(shape, 200, random);
      const Samples samples = table.samples();
      for (const Objective& objective : all_objectives()) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " " + describe(objective));
        const auto solve_with = [&](Method method, BinCount bins) {
          return fit_boundary(samples, objective, {.method = method, .bins = bins, .num_threads = 1}).solution;
        };
        const Solution best = solve_with(Method::kExact, BinCount::all());
        const Solution coarse = solve_with(Method::kExact, BinCount::of(7));
        const Solution st = solve_with(Method::kSt, BinCount::all());
        const Totals totals = totals_of(make_holdout_grid(samples, objective, {.bins = BinCount::all()}));
        for (const Solution& other : {coarse, st}) {
          if (other.status == SolveStatus::kInfeasible) continue;
          ASSERT_NE(best.status, SolveStatus::kInfeasible);
          ASSERT_FALSE(is_better(objective, totals, other.flagged, best.flagged));
        }
        ASSERT_NE(best.status, SolveStatus::kFeasible);
        if (best.status == SolveStatus::kInfeasible) continue;
        better_than_st +=
            st.status == SolveStatus::kInfeasible || is_better(objective, totals, best.flagged, st.flagged) ? 1 : 0;
        better_than_coarse +=
            coarse.status == SolveStatus::kInfeasible || is_better(objective, totals, best.flagged, coarse.flagged) ? 1
                                                                                                                    : 0;
      }
    }
  }
  EXPECT_GT(better_than_st, 60);
  EXPECT_GT(better_than_coarse, 60);
}

TEST(FitBoundary, GivesTheSameRuleWhenAllWeightsAreScaledByAPowerOfTwo) {
  std::mt19937_64 random(5);
  const SampleTable table = make_random_samples("weighted", 200, random);
  for (const Objective& objective : all_objectives()) {
    const FitResult plain = fit_boundary(table.samples(), objective);
    ASSERT_TRUE(plain.boundary) << describe(objective);
    for (const int exponent : {-900, -10, 10, 900}) {
      SampleTable scaled = table;
      for (double& weight : scaled.weight) weight = std::ldexp(weight, exponent);
      const FitResult result = fit_boundary(scaled.samples(), objective);
      ASSERT_TRUE(result.boundary) << describe(objective) << " 2^" << exponent;
      EXPECT_EQ(result.boundary->rule, plain.boundary->rule) << describe(objective) << " 2^" << exponent;
      EXPECT_EQ(result.boundary->holdout.flagged, std::ldexp(plain.boundary->holdout.flagged, exponent));
    }
  }
}

// Equi-span levels and every score: nothing of the grid depends on how often a row is repeated.
TEST(FitBoundary, TakesAWholeWeightAsThatManyRows) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(seed);
    const SampleTable table = make_random_samples("weighted_integers", 120, random);
    SampleTable repeated;
    for (std::size_t row = 0; row < table.size(); ++row) {
      for (int copy = 0; copy < static_cast<int>(table.weight[row]); ++copy) {
        repeated.score.push_back(table.score[row]);
        repeated.uncertainty.push_back(table.uncertainty[row]);
        repeated.label.push_back(table.label[row]);
      }
    }
    // The range of uncertainty must not hang on rows of weight 0.
    SampleTable weighted = table;
    weighted.uncertainty[0] = 0;
    weighted.uncertainty.back() = 1;
    repeated.uncertainty[0] = 0;
    repeated.uncertainty.back() = 1;
    for (const Objective& objective : all_objectives()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + describe(objective));
      const FitOptions options{.bins = BinCount::all(), .binning = Binning::kEquiSpan};
      const FitResult by_weight = fit_boundary(weighted.samples(), objective, options);
      const FitResult by_rows = fit_boundary(repeated.samples(), objective, options);
      ASSERT_TRUE(by_weight.boundary);
      ASSERT_TRUE(by_rows.boundary);
      EXPECT_EQ(by_weight.boundary->rule, by_rows.boundary->rule);
      EXPECT_EQ(by_weight.boundary->holdout.flagged, by_rows.boundary->holdout.flagged);
      EXPECT_EQ(by_weight.boundary->holdout.true_positives, by_rows.boundary->holdout.true_positives);
    }
  }
}

// Counts in units of half a row: the units were reported as rows.
TEST(FitBoundary, OfAGridOfWeightsReportsWeightsAndRows) {
  const Grid grid = grid_from_bins({0.5}, {{{0.8, {6, 5}}, {0.2, {8, 1}}}, {{0.7, {4, 1}}}}, 0.5, RowTotals{7, 11, 10});
  const FitResult result = fit_boundary(grid, max_recall_at_precision({4, 5}));
  ASSERT_TRUE(result.boundary);
  const HoldoutSummary& holdout = result.boundary->holdout;
  EXPECT_EQ(holdout.rows, 10);
  EXPECT_TRUE(holdout.weighted);
  EXPECT_EQ(holdout.weight, 9);
  EXPECT_EQ(holdout.positives, 3.5);
  EXPECT_EQ(holdout.flagged, 3);
  EXPECT_EQ(holdout.true_positives, 2.5);
  EXPECT_EQ(holdout.objective_value, 2.5);
  EXPECT_EQ(holdout.objective_bound, 2.5);
  ASSERT_EQ(result.levels.size(), 2U);
  EXPECT_EQ(result.levels[0].rows, 7);
  EXPECT_EQ(result.levels[1].rows, 2);
  EXPECT_EQ(boundary_from_json(to_json(*result.boundary)), *result.boundary);
}

// A threshold on an observed score is crossed when that score is rounded to single precision. Rows are decided here as
// they were fitted, with rounded scores, and with rounded scores and thresholds.
TEST(FitBoundary, DecidesItsRowsAlikeInSinglePrecision) {
  std::mt19937_64 random(83);
  std::uniform_real_distribution<double> uniform(0, 1);
  int compared = 0;
  for (int instance = 0; instance < 300; ++instance) {
    SampleTable table;
    const std::size_t rows = 20 + random() % 200;
    for (std::size_t row = 0; row < rows; ++row) {
      double score = uniform(random);
      switch (instance % 6) {
        case 0:
          break;
        case 1:
          score = std::floor(score * 20) / 20;  // ties
          break;
        case 2:
          score = -score;
          break;
        case 3:
          score = std::ldexp(score, static_cast<int>(random() % 200) - 100);
          break;
        case 4:
          score = 0.3 + 3e-8 * std::floor(score * 40);  // about one float apart
          break;
        default:
          score = static_cast<double>(static_cast<float>(score));
      }
      table.score.push_back(score);
      table.uncertainty.push_back(std::floor(uniform(random) * 8));
      table.label.push_back(uniform(random) < 0.3 + 0.4 * std::abs(uniform(random)) ? 1 : 0);
    }
    table.label[0] = 1;
    table.label[1] = 0;
    for (const Method method : kMethods) {
      FitOptions options{.method = method};
      if (instance % 2 == 1) options.bins = BinCount::of(7);
      const FitResult result = fit_boundary(table.samples(), max_recall_at_precision({1, 2}), options);
      if (!result.boundary) continue;
      const Rule& rule = result.boundary->rule;
      const auto decision =
          decide(rule, std::span<const double>(table.score), std::span<const double>(table.uncertainty));
      double flagged = 0;
      for (const std::uint8_t one : decision) flagged += one;
      ASSERT_EQ(flagged, result.boundary->holdout.flagged) << to_string(method);
      for (std::size_t row = 0; row < rows; ++row) {
        std::size_t level = 0;
        for (const double edge : rule.uncertainty_edges) level += edge <= table.uncertainty[row] ? 1 : 0;
        const auto& threshold = rule.score_thresholds[level];
        if (!threshold) continue;
        // The nearest scores of the level on either side of the threshold, if single precision tells them apart.
        double below = -std::numeric_limits<double>::infinity();
        double above = std::numeric_limits<double>::infinity();
        for (std::size_t other = 0; other < rows; ++other) {
          std::size_t other_level = 0;
          for (const double edge : rule.uncertainty_edges) other_level += edge <= table.uncertainty[other] ? 1 : 0;
          if (other_level != level) continue;
          const double score = table.score[other];
          if (score >= *threshold) above = std::min(above, score);
          if (score < *threshold) below = std::max(below, score);
        }
        if (!(static_cast<float>(below) < static_cast<float>(above))) continue;
        const auto rounded = static_cast<float>(table.score[row]);
        ASSERT_EQ(static_cast<double>(rounded) >= *threshold, decision[row] == 1) << to_string(method);
        ASSERT_EQ(rounded >= static_cast<float>(*threshold), decision[row] == 1) << to_string(method);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 50'000);
}

TEST(FitBoundary, TakesScoresAndUncertaintiesAcrossTheWholeRangeOfDouble) {
  std::mt19937_64 random(8);
  SampleTable table = make_random_samples("continuous", 60, random);
  for (double& score : table.score) score = (2 * score - 1) * 1.7e308;
  for (double& uncertainty : table.uncertainty) uncertainty = (2 * uncertainty - 1) * 1.7e308;
  for (const Method method : kMethods) {
    for (const Binning binning : {Binning::kEquiWeight, Binning::kEquiSpan}) {
      SCOPED_TRACE(std::string(to_string(method)) + " " + std::string(to_string(binning)));
      const FitResult result = fit_boundary(table.samples(), max_f_beta({1, 1}),
                                            {.method = method, .bins = BinCount::of(10), .binning = binning});
      ASSERT_TRUE(result.boundary);
      const Confusion total = evaluate(result.boundary->rule, table.samples()).total;
      EXPECT_EQ(result.boundary->holdout.flagged, total.flagged);
      EXPECT_EQ(result.boundary->holdout.true_positives, total.true_positives);
    }
  }
}

TEST(BinsOf, GivesExactMethodsEveryScoreUnlessToldOtherwise) {
  EXPECT_EQ(bins_of({.method = Method::kSt}), BinCount::all());
  EXPECT_EQ(bins_of({.method = Method::kExact}), BinCount::all());
  EXPECT_EQ(bins_of({.method = Method::kMist}), BinCount::of(500));
  EXPECT_EQ(bins_of({.method = Method::kSt, .bins = BinCount::of(7)}), BinCount::of(7));
  EXPECT_EQ(bins_of({.method = Method::kMist, .bins = BinCount::all()}), BinCount::all());
}

TEST(MakeHoldoutGrid, CountsTheHoldoutAsTheOptionsSay) {
  std::mt19937_64 random(6);
  const SampleTable table = make_random_samples("continuous", 2000, random);
  const Objective objective = max_recall_at_precision({1, 2});
  const Grid st = make_holdout_grid(table.samples(), objective, {.method = Method::kSt, .levels = 5});
  ASSERT_EQ(st.num_levels(), 1U);
  EXPECT_EQ(st.levels[0].size(), std::set<double>(table.score.begin(), table.score.end()).size());
  const Grid st_binned =
      make_holdout_grid(table.samples(), objective, {.method = Method::kSt, .bins = BinCount::of(7)});
  EXPECT_EQ(st_binned.levels[0].size(), 7U);
  const Grid mist = make_holdout_grid(table.samples(), objective, {.method = Method::kMist, .levels = 2});
  ASSERT_EQ(mist.num_levels(), 2U);
  EXPECT_EQ(mist.levels[0].size(), 500U);
  EXPECT_EQ(total_counts(mist).rows, 2000);
  const Grid exact = make_holdout_grid(table.samples(), objective, {.levels = 2});
  EXPECT_EQ(exact.levels[0].size(), 1000U);
}

TEST(FitBoundary, SaysWhenThereAreFewerLevelsThanAskedFor) {
  std::mt19937_64 random(7);
  const Objective objective = max_f_beta({1, 1});
  const SampleTable equal = make_random_samples("equal_uncertainty", 100, random);
  EXPECT_EQ(fit_boundary(equal.samples(), objective, {.levels = 5}).levels_used, 1);
  const SampleTable three = make_random_samples("signed_zeros", 100, random);  // -1, 0 (of both signs) and 1
  EXPECT_EQ(fit_boundary(three.samples(), objective, {.levels = 5}).levels_used, 3);
  const SampleTable many = make_random_samples("continuous", 100, random);
  EXPECT_EQ(fit_boundary(many.samples(), objective, {.levels = 5}).levels_used, 5);
}

TEST(FitBoundary, AnswersInfeasibleWithoutABoundary) {
  // The highest score of both levels is a negative, so no boundary has precision 1; 2/3 is the best there is.
  SampleTable table = six_rows();
  table.score[4] = 0.95;
  table.score[5] = 0.85;
  for (const Method method : kMethods) {
    SCOPED_TRACE(std::string(to_string(method)));
    const FitResult result =
        fit_boundary(table.samples(), max_recall_at_precision({1, 1}), {.method = method, .levels = 2});
    EXPECT_EQ(result.solution.status, SolveStatus::kInfeasible);
    EXPECT_FALSE(result.boundary);
    // Level 0: 0.95 -, 0.9 +, 0.6 +: 2/3. As one list: - + - + - +, at best 1/2. HR lifts level 1 by 1: - + -, then
    // level 0: 1/2 at best.
    const bool one_list = method == Method::kSt || method == Method::kHr;
    EXPECT_DOUBLE_EQ(result.solution.best_attainable.value(), one_list ? 0.5 : 2.0 / 3);
  }
}

// Each weight is finite, their sum is not: what cannot be written down has to be refused, not written as null.
TEST(FitBoundary, NeverWritesAFileThatCannotBeRead) {
  SampleTable table = six_rows();
  table.weight = {1.7e308, 1.7e308, 1, 1.7e308, 1, 1};
  try {
    const FitResult result = fit_boundary(table.samples(), max_recall_at_precision({1, 2}));
    ASSERT_TRUE(result.boundary);
    EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(to_json(*result.boundary)); }), "(not refused)");
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("weight"));
  }
}

TEST(FitBoundary, MayFlagNothing) {
  const FitResult result = fit_boundary(six_rows().samples(), max_recall_at_flag_rate({0, 1}), {.levels = 2});
  ASSERT_TRUE(result.boundary);
  EXPECT_THAT(result.boundary->rule.score_thresholds, ElementsAre(std::nullopt, std::nullopt));
  EXPECT_EQ(result.boundary->holdout.flagged, 0);
  EXPECT_EQ(result.boundary->holdout.precision(), 0);
}

TEST(FitBoundary, NamesWhatItRefuses) {
  const Objective objective = max_recall_at_precision({1, 2});
  const auto refusal = [&](const SampleTable& table, const FitOptions& options = {}) {
    return refusal_of([&] { (void)fit_boundary(table.samples(), objective, options); });
  };
  const SampleTable good = six_rows();
  EXPECT_EQ(refusal({}), "fit_boundary: there are no rows");
  EXPECT_EQ(refusal(good, {.levels = 0}), "fit_boundary: levels is 0, must be 1 to 1000");
  EXPECT_EQ(refusal(good, {.levels = 1001}), "fit_boundary: levels is 1001, must be 1 to 1000");
  EXPECT_EQ(refusal(good, {.bins = BinCount::of(0)}), "fit_boundary: bins is 0, must be 1 to 2^30");
  EXPECT_EQ(refusal(good, {.num_threads = -1}),
            "fit_boundary: num_threads is -1, must be at least 1, or 0 for all cores");
  EXPECT_EQ(refusal(good, {.bins = BinCount::of(std::int64_t{1} << 40)}),
            "fit_boundary: bins is 1099511627776, must be 1 to 2^30");

  SampleTable table = good;
  table.label.assign(6, 0);
  EXPECT_EQ(refusal(table), "fit_boundary: no row is positive; both classes are needed");
  table.label.assign(6, 1);
  EXPECT_EQ(refusal(table), "fit_boundary: every row is positive; both classes are needed");
  table = good;
  table.score[3] = std::nan("");
  EXPECT_EQ(refusal(table), "samples: score[3] is NaN, must be finite");
  table = good;
  table.uncertainty.pop_back();
  EXPECT_EQ(refusal(table), "samples: uncertainty has 5 rows, label has 6");
  table = good;
  table.weight = {1, 1, 1, 1, 1, -2};
  EXPECT_EQ(refusal(table), "samples: weight[5] is -2.000000, must be between 0 and 1e290");
  table.weight = {1, 0.5, 1, 1, 1, 1};
  EXPECT_EQ(refusal(table, {.method = Method::kVwDpmt}),
            "vw-dpmt: counts whole rows and takes no weights; use method exact");
  EXPECT_EQ(refusal_of([&] {
              (void)fit_boundary(good.samples(), max_recall_at_precision({2, 1}));
            }),
            "objective: precision bound is 2, must be between 0 and 1");
}

// ---- monotone thresholds

// Certain rows are worse here: the free optimum lowers the threshold with uncertainty.
SampleTable falling_table() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  SampleTable table;
  for (int row = 0; row < 3000; ++row) {
    const double score = uniform(random);
    const double u = uniform(random);
    table.score.push_back(score);
    table.uncertainty.push_back(u);
    table.label.push_back(uniform(random) < score * (0.4 + 0.6 * u) ? 1 : 0);
  }
  return table;
}

TEST(FitBoundary, KeepsThresholdsMonotoneWhenAsked) {
  const SampleTable table = falling_table();
  for (const Objective& objective : all_objectives()) {
    const FitOptions free{.levels = 4, .levels_from = LevelsFrom::kTop};
    const double best = fit_boundary(table.samples(), objective, free).boundary->holdout.objective_value;
    const double single =
        fit_boundary(table.samples(), objective, {.method = Method::kSt}).boundary->holdout.objective_value;
    for (const Direction direction : {Direction::kUp, Direction::kDown}) {
      FitOptions options = free;
      options.monotone = direction;
      const FitBesideSingle both = fit_beside_single(table.samples(), objective, options);
      ASSERT_TRUE(both.fit.boundary) << describe(objective);
      const Boundary& boundary = *both.fit.boundary;
      EXPECT_EQ(boundary.monotone, direction);
      EXPECT_TRUE(boundary.holdout.optimal);
      EXPECT_FALSE(both.single.boundary->monotone);
      const auto& thresholds = boundary.rule.score_thresholds;
      for (std::size_t level = 1; level < thresholds.size(); ++level) {
        const double before = thresholds[level - 1].value_or(INFINITY);
        const double after = thresholds[level].value_or(INFINITY);
        EXPECT_TRUE(direction == Direction::kUp ? before <= after : before >= after) << describe(objective);
      }
      const Confusion decided = evaluate(boundary.rule, table.samples()).total;
      EXPECT_EQ(decided.flagged, boundary.holdout.flagged);
      EXPECT_EQ(decided.true_positives, boundary.holdout.true_positives);
      EXPECT_EQ(boundary_from_json(to_json(boundary)), boundary);
      // Between one threshold and the free optimum.
      const bool minimizes = objective.goal == Goal::kCost;
      EXPECT_LE(minimizes ? best : boundary.holdout.objective_value,
                minimizes ? boundary.holdout.objective_value : best);
      EXPECT_LE(minimizes ? boundary.holdout.objective_value : single,
                minimizes ? single : boundary.holdout.objective_value);
    }
  }
}

TEST(FitBoundary, MonotoneThresholdsAreForExactSolversInMemory) {
  const SampleTable table = falling_table();
  const Objective objective = max_recall_at_precision({1, 2});
  EXPECT_EQ(refusal_of([&] {
              (void)fit_boundary(table.samples(), objective, {.method = Method::kMist, .monotone = Direction::kUp});
            }),
            "fit_boundary: monotone thresholds need method exact or joint, not mist");
  const SampleBatches batches = [&](const std::function<void(const Samples&)>& visit) { visit(table.samples()); };
  EXPECT_THROW((void)fit_boundary(batches, objective, {.monotone = Direction::kUp}), InvalidInput);
  const Grid grid = make_holdout_grid(table.samples(), objective, {.levels = 3});
  EXPECT_TRUE(fit_boundary(grid, objective, {.monotone = Direction::kUp}).boundary->monotone);
}

// ---- levels and bins by cross-validation

TEST(FitBoundary, FindsLevelsAndBinsByCrossValidation) {
  const SampleTable table = falling_table();
  const Objective objective = max_recall_at_precision({3, 5});
  const Sweep levels = sweep(table.samples(), objective, {.bins = {std::nullopt}, .levels_from = LevelsFrom::kAll});
  const FitResult by_levels = fit_boundary(table.samples(), objective, {.sweep_levels = true});
  EXPECT_EQ(by_levels.levels_used, levels.cells[*levels.smallest].levels);
  EXPECT_FALSE(by_levels.boundary->bins);

  const Sweep bins = sweep(table.samples(), objective, {.levels = {4}, .levels_from = LevelsFrom::kAll});
  const FitResult by_bins = fit_boundary(table.samples(), objective, {.levels = 4, .sweep_bins = true});
  EXPECT_EQ(by_bins.levels_used, 4);
  EXPECT_EQ(by_bins.boundary->bins, bins.cells[*bins.best].bins);
}

TEST(FitBoundary, CrossValidatesOnlyWhatItCan) {
  const SampleTable table = six_rows();
  const Objective objective = max_recall_at_precision({1, 2});
  const auto refusal = [&](const FitOptions& options) {
    return refusal_of([&] { (void)fit_boundary(table.samples(), objective, options); });
  };
  EXPECT_EQ(refusal({.method = Method::kSmooth, .sweep_levels = true}),
            "fit_boundary: levels or bins by cross-validation are not for method smooth");
  EXPECT_EQ(refusal({.levels = 3, .sweep_levels = true}),
            "fit_boundary: levels or bins are both given and to be found");
  const Grid grid = make_holdout_grid(table.samples(), objective, {});
  EXPECT_EQ(refusal_of([&] { (void)fit_boundary(grid, objective, {.sweep_bins = true}); }),
            "fit_boundary: levels or bins by cross-validation need rows in memory");
}

}  // namespace
}  // namespace limen
