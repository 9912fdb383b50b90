// SPDX-License-Identifier: MIT
#include "limen/choose/choose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "limen/base/error.h"
#include "limen/count/binning.h"
#include "limen/fit.h"

namespace limen {
namespace {

struct Rows {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, {}};
  }
};

struct Law {
  std::size_t size = 4000;
  double effect = 0;   ///< of the uncertainty on the log odds
  double base = -1;    ///< mean log odds
  double rounded = 0;  ///< scores and uncertainties are multiples of this; 0: no ties
};

Rows make_rows(const Law& law, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto tied = [&](double value) {
    return law.rounded > 0 ? std::round(value / law.rounded) * law.rounded : value;
  };
  Rows rows;
  for (std::size_t row = 0; row < law.size; ++row) {
    const double logit = 1.5 * normal(random) + law.base;
    const double u = uniform(random);
    // The score is not calibrated, and not linear in the log odds.
    rows.score.push_back(tied(logit + 0.1 * logit * logit + 0.2 * normal(random)));
    rows.uncertainty.push_back(tied(u));
    rows.label.push_back(uniform(random) < 1 / (1 + std::exp(-logit - law.effect * (u - 0.5))) ? 1 : 0);
  }
  return rows;
}

const FitOptions kAutoOptions{.method = Method::kAuto};

Grid narrow_grid(const Rows& rows) {
  return count_distinct(rows.samples(), uncertainty_edges(rows.samples().uncertainty, kNarrowLevels));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kSets = 40;
#else
constexpr int kSets = 200;
#endif

/// Share of null data sets in which the test is significant at 5%.
double false_alarms(const Law& law, std::int64_t near) {
  int alarms = 0;
  for (int set = 0; set < kSets; ++set) {
    alarms +=
        test_information(narrow_grid(make_rows(law, 1000 + static_cast<std::uint64_t>(set))), near).p() < 0.05 ? 1 : 0;
  }
  return static_cast<double>(alarms) / kSets;
}

// Three standard errors above the level.
const double kMostAlarms = 0.05 + 3 * std::sqrt(0.05 * 0.95 / kSets);

TEST(Information, FalseAlarmsAreAtTheLevelOfTheTest) {
  EXPECT_LE(false_alarms({.size = 1500}, 700), kMostAlarms);
  EXPECT_LE(false_alarms({.size = 1500, .rounded = 0.2}, 700), kMostAlarms) << "with ties";
  EXPECT_LE(false_alarms({.size = 300}, 300), kMostAlarms) << "few rows";
  EXPECT_LE(false_alarms({.size = 8000, .base = -7}, 4000), kMostAlarms) << "rare positives";
}

TEST(Information, FindsWhatIsThere) {
  const Information found = test_information(narrow_grid(make_rows({.size = 4000, .effect = 2}, 1)), 2000);
  EXPECT_LT(found.p_value, 1e-9);
  ASSERT_TRUE(found.permutation_p_value);
  EXPECT_EQ(*found.permutation_p_value, 0.001);
  EXPECT_EQ(found.near.rows, 2000);
  EXPECT_FALSE(test_information(narrow_grid(make_rows({.size = 40'000}, 1)), 30'000).permutation_p_value);
}

TEST(Information, SaysWhenThereIsNothingToTest) {
  Rows rows = make_rows({.size = 500}, 2);
  EXPECT_TRUE(test_information(narrow_grid(rows), 500).testable);
  EXPECT_FALSE(test_information(narrow_grid(rows), 15).testable);
  std::fill(rows.uncertainty.begin(), rows.uncertainty.end(), 0.5);
  const Information constant = test_information(narrow_grid(rows), 500);
  EXPECT_FALSE(constant.testable);
  EXPECT_EQ(constant.p(), 1);
}

TEST(Choose, EndsAtOneThresholdForNoise) {
  int others = 0;
  const int sets = kSets / 4;
  for (int set = 0; set < sets; ++set) {
    const Grid grid = narrow_grid(make_rows({.size = 2000}, 5000 + static_cast<std::uint64_t>(set)));
    others += choose(grid, max_recall_at_precision({7, 10})).best().method != Method::kSt ? 1 : 0;
  }
  EXPECT_LE(others, sets * 3 / 100);
}

TEST(Choose, UsesAnUncertaintyThatInforms) {
  const Choice choice =
      choose(narrow_grid(make_rows({.size = 20'000, .effect = 3}, 3)), max_recall_at_precision({7, 10}));
  EXPECT_NE(choice.best().method, Method::kSt);
  EXPECT_GT(choice.best().gain, 0.05);
  EXPECT_LT(choice.best().gain_se, choice.best().gain / 3);
  ASSERT_EQ(choice.candidates.size(), 7U);
  EXPECT_EQ(choice.candidates[0].method, Method::kSt);
  EXPECT_EQ(choice.candidates[0].gain, 0);
  EXPECT_NE(choice.why.find("better than one threshold"), std::string::npos) << choice.why;
  EXPECT_LT(choice.precision.low, 0.7);
  EXPECT_GT(choice.precision.high, 0.68);
  EXPECT_LT(choice.recall.low, choice.recall.high);
}

// What is expected is what rows of the same kind, never seen, then show.
TEST(Choose, TakesAnInformationTestThatWasMadeAlready) {
  const Rows rows = make_rows({.size = 6000, .effect = 3}, 5);
  const Grid grid = narrow_grid(rows);
  const Objective objective = max_recall_at_precision(parse_rational("0.7"));
  const Choice own = choose(grid, objective);
  ChooseOptions options;
  options.information = own.information;
  EXPECT_EQ(chosen_by(choose(grid, objective, options)), chosen_by(own));
  // It is the one that decides: with a test that found nothing the same grid ends at one threshold.
  ASSERT_NE(own.chosen, 0U);
  options.information->p_value = 0.5;
  EXPECT_EQ(choose(grid, objective, options).chosen, 0U);
}

TEST(Choose, ExpectsWhatFreshRowsShow) {
  int precision_inside = 0;
  const int sets = kSets / 10;
  for (int set = 0; set < sets; ++set) {
    const Law law{.size = 4000, .effect = 2};
    const Rows rows = make_rows(law, 7000 + static_cast<std::uint64_t>(set));
    const FitResult fit = fit_boundary(rows.samples(), max_recall_at_precision({7, 10}), kAutoOptions);
    ASSERT_TRUE(fit.boundary && fit.boundary->expected);
    const Rows fresh = make_rows({.size = 40'000, .effect = 2}, 9000 + static_cast<std::uint64_t>(set));
    const double precision = evaluate(fit.boundary->rule, fresh.samples()).total.precision();
    precision_inside +=
        precision >= fit.boundary->expected->precision_low && precision <= fit.boundary->expected->precision_high ? 1
                                                                                                                  : 0;
  }
  EXPECT_GE(precision_inside, sets * 8 / 10);
}

TEST(Choose, EveryObjectiveHasAnAnswer) {
  const Grid grid = narrow_grid(make_rows({.size = 10'000, .effect = 3}, 4));
  for (const Objective& objective :
       {max_recall_at_precision({7, 10}), max_precision_at_recall({6, 10}), max_recall_at_false_positive_rate({1, 20}),
        max_recall_at_flag_rate({1, 10}), min_cost({1, 1}, {3, 1}), max_f_beta({1, 1})}) {
    const Choice choice = choose(grid, objective);
    EXPECT_NE(choice.best().method, Method::kSt) << describe(objective);
    EXPECT_GT(choice.best().gain, 0) << describe(objective);
  }
}

SampleBatches batches_of(const Rows& rows, std::size_t batch) {
  return [&rows, batch](const std::function<void(const Samples&)>& visit) {
    for (std::size_t begin = 0; begin < rows.label.size(); begin += batch) {
      const std::size_t size = std::min(batch, rows.label.size() - begin);
      visit({std::span<const double>(rows.score).subspan(begin, size),
             std::span<const double>(rows.uncertainty).subspan(begin, size),
             std::span<const std::uint8_t>(rows.label).subspan(begin, size),
             {}});
    }
  };
}

TEST(FitAuto, IsTheSameInBatchesAndForAnyThreadCount) {
  for (const double effect : {0.0, 1.0, 4.0}) {
    const Rows rows = make_rows({.size = 30'000, .effect = effect}, 6);
    const Objective objective = max_recall_at_precision({7, 10});
    const FitBesideSingle whole = fit_beside_single(rows.samples(), objective, kAutoOptions);
    ASSERT_TRUE(whole.fit.boundary && whole.single.boundary);
    ASSERT_TRUE(whole.fit.choice);
    EXPECT_EQ(whole.fit.boundary->method, whole.fit.choice->best().method);
    EXPECT_EQ(whole.fit.boundary->method == Method::kSt, effect == 0);
    const std::string json = to_json(*whole.fit.boundary);
    EXPECT_EQ(boundary_from_json(json), *whole.fit.boundary);
    for (const int threads : {1, 2}) {
      const FitOptions options{.method = Method::kAuto, .num_threads = threads};
      EXPECT_EQ(to_json(*fit_boundary(rows.samples(), objective, options).boundary), json);
    }
    const FitBesideSingle batched = fit_beside_single(batches_of(rows, 777), objective, kAutoOptions);
    EXPECT_EQ(to_json(*batched.fit.boundary), json);
    EXPECT_EQ(batched.single.boundary, whole.single.boundary);
    EXPECT_EQ(whole.single.boundary, fit_boundary(rows.samples(), objective, {.method = Method::kSt}).boundary);
    const FitOptions little_memory{.method = Method::kAuto, .most_rows_kept = 1000};
    EXPECT_THROW((void)fit_boundary(batches_of(rows, 777), objective, little_memory), InvalidInput);
  }
}

// On its own rows the model looks better than it is: `auto` stops where rows left out meet the bound.
TEST(FitAuto, StopsWhereRowsLeftOutSay) {
  int earlier = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Rows rows = make_rows({.size = 5000, .effect = 3}, 100 + seed);
    const Objective objective = max_recall_at_precision({7, 10});
    const FitResult fit = fit_boundary(rows.samples(), objective, kAutoOptions);
    ASSERT_TRUE(fit.boundary && fit.choice);
    if (fit.boundary->method != Method::kSmooth) continue;
    EXPECT_LE(fit.boundary->holdout.flagged, fit.choice->best().stop_share * 5000 + 1e-6);
    const FitOptions smooth{.method = Method::kSmooth, .levels_from = LevelsFrom::kTop};
    const double best = fit_boundary(rows.samples(), objective, smooth).boundary->holdout.flagged;
    EXPECT_LE(fit.boundary->holdout.flagged, best);
    earlier += fit.boundary->holdout.flagged < best ? 1 : 0;
  }
  EXPECT_GE(earlier, 5);
}

// Counted in the narrow levels that rows in memory get, every distinct score: the same boundary.
TEST(FitAuto, IsTheSameFromCounts) {
  for (const double effect : {0.0, 1.0, 4.0}) {
    const Rows rows = make_rows({.size = 30'000, .effect = effect}, 6);
    const Objective objective = max_recall_at_precision({7, 10});
    const FitResult whole = fit_boundary(rows.samples(), objective, kAutoOptions);
    const std::vector<double> edges =
        level_edges(rows.samples(), objective, {.method = Method::kSmooth, .levels_from = LevelsFrom::kTop});
    const FitResult counted = fit_boundary(count_distinct(rows.samples(), edges), objective, kAutoOptions);
    EXPECT_EQ(counted.boundary->rule, whole.boundary->rule);
    EXPECT_EQ(counted.boundary->method, whole.boundary->method);
    EXPECT_EQ(counted.boundary->chosen_by, whole.boundary->chosen_by);
    EXPECT_EQ(counted.boundary->expected, whole.boundary->expected);
    EXPECT_EQ(counted.boundary->holdout.true_positives, whole.boundary->holdout.true_positives);
  }
}

// Bins that overlap between levels cannot be put together: then levels stay as they are.
TEST(FitAuto, LeavesOverlappingLevelsOfCountsApart) {
  Grid grid = narrow_grid(make_rows({.size = 30'000, .effect = 4}, 6));
  assume_full_bins(grid);
  const FitResult fit = fit_boundary(grid, max_recall_at_precision({7, 10}), kAutoOptions);
  ASSERT_TRUE(fit.choice);
  for (const Candidate& candidate : fit.choice->candidates) {
    if (candidate.method != Method::kExact) continue;
    EXPECT_EQ(candidate.levels, static_cast<int>(grid.num_levels()));
  }
  EXPECT_NE(fit.boundary->method, Method::kSt);
}

TEST(FitAuto, RefusesLevelsAndBins) {
  const Rows rows = make_rows({.size = 100}, 1);
  const Objective objective = max_recall_at_precision({7, 10});
  EXPECT_THROW((void)fit_boundary(rows.samples(), objective, {.method = Method::kAuto, .levels = 3}), InvalidInput);
  EXPECT_THROW((void)fit_boundary(rows.samples(), objective, {.method = Method::kAuto, .bins = BinCount::all()}),
               InvalidInput);
}

TEST(CoarserEdges, KeepsEdgesBetweenNearlyEqualGroups) {
  const std::vector<double> edges = {1, 2, 3, 4, 5, 6, 7};  // eight levels
  EXPECT_EQ(coarser_edges(edges, 1), std::vector<double>());
  EXPECT_EQ(coarser_edges(edges, 2), std::vector<double>{4});
  EXPECT_EQ(coarser_edges(edges, 3), (std::vector<double>{2, 5}));  // levels 0 1 | 2 3 4 | 5 6 7
  EXPECT_EQ(coarser_edges(edges, 4), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(coarser_edges(edges, 8), edges);
  EXPECT_EQ(coarser_edges(edges, 16), edges);
}

TEST(FitAuto, TakesWeights) {
  const Rows rows = make_rows({.size = 6000, .effect = 3}, 8);
  const std::vector<double> weight(rows.score.size(), 2.5);
  Samples samples = rows.samples();
  const Method without = fit_boundary(samples, max_recall_at_precision({7, 10}), kAutoOptions).boundary->method;
  samples.weight = weight;
  EXPECT_EQ(fit_boundary(samples, max_recall_at_precision({7, 10}), kAutoOptions).boundary->method, without);
}

TEST(FitAuto, TakesWhateverRowsThereAre) {
  const auto fit = [](const Rows& rows) {
    return fit_boundary(rows.samples(), max_recall_at_precision({1, 2}), kAutoOptions);
  };
  for (const Rows& rows :
       {Rows{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, {0, 0, 1, 1, 1}},
        Rows{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, {0, 0, 0, 0, 1}}, Rows{{7, 7, 7, 7}, {1, 2, 3, 4}, {0, 1, 0, 1}},
        Rows{{1, 2, 3, 4}, {2, 2, 2, 2}, {0, 1, 0, 1}}, Rows{{1, 1, 2, 2}, {0, 1, 0, 1}, {0, 0, 0, 1}}}) {
    const FitResult result = fit(rows);
    ASSERT_TRUE(result.boundary);
    EXPECT_EQ(result.boundary->method, Method::kSt);
    EXPECT_NE(result.boundary->chosen_by->why.find("too few rows"), std::string::npos);
  }
  // The highest score is a negative: no threshold is precise enough.
  const FitResult infeasible =
      fit_boundary(Rows{{1, 2}, {1, 2}, {1, 0}}.samples(), max_recall_at_precision({9, 10}), kAutoOptions);
  EXPECT_EQ(infeasible.solution.status, SolveStatus::kInfeasible);
  EXPECT_FALSE(infeasible.boundary);
  EXPECT_THROW((void)fit(Rows{}), InvalidInput);
  EXPECT_THROW((void)fit(Rows{{1, 2}, {1, 2}, {1, 1}}), InvalidInput);
}

}  // namespace
}  // namespace limen
