// SPDX-License-Identifier: MIT
#include "limen/judge/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <set>

#include "limen/base/error.h"
#include "limen/solve/chain.h"
#include "reference/matched_recall_reference.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;

// ---- paired_t_test

// Differences 1 2 3: mean 2, sd 1, t = 2 sqrt(3). With 2 degrees of freedom P(T > t) = 1/2 - t / (2 sqrt(2 + t^2)) =
// 1/2 - sqrt(12) / (2 sqrt(14)) = 0.0370899.
TEST(PairedTTest, GivesTheClosedFormOfThreePairs) {
  const std::vector<double> a = {2, 5, 9};
  const std::vector<double> b = {1, 3, 6};
  EXPECT_NEAR(paired_t_test(a, b), 0.5 - std::sqrt(12.0) / (2 * std::sqrt(14.0)), 1e-12);
  EXPECT_NEAR(paired_t_test(b, a), 0.5 + std::sqrt(12.0) / (2 * std::sqrt(14.0)), 1e-12);
}

// Differences 1 3: mean 2, sd sqrt(2), t = 2. With 1 degree of freedom P(T > t) = 1/2 - atan(t) / pi.
TEST(PairedTTest, GivesTheClosedFormOfTwoPairs) {
  EXPECT_NEAR(paired_t_test(std::vector<double>{1, 3}, std::vector<double>{0, 0}),
              0.5 - std::atan(2.0) / std::numbers::pi, 1e-12);
}

// Student's sleep data (1908): ten patients, t = 4.0621, two-sided p = 0.002833.
TEST(PairedTTest, GivesStudentsOwnResult) {
  const std::vector<double> first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  EXPECT_NEAR(paired_t_test(second, first), 0.00283289 / 2, 1e-8);
}

TEST(PairedTTest, GoesBySignWhenAllDifferencesAreEqual) {
  const std::vector<double> zero = {0, 0, 0};
  EXPECT_EQ(paired_t_test(std::vector<double>{2, 2, 2}, zero), 0);
  EXPECT_EQ(paired_t_test(zero, std::vector<double>{2, 2, 2}), 1);
  EXPECT_EQ(paired_t_test(zero, zero), 0.5);
}

TEST(PairedTTest, GoesBySignAlsoWhereTheMeanIsRounded) {
  // (0.1 + 0.1 + 0.1) / 3 is not 0.1 in double precision.
  const std::vector<double> zero = {0, 0, 0};
  EXPECT_EQ(paired_t_test(std::vector<double>{0.1, 0.1, 0.1}, zero), 0);
}

TEST(PairedTTest, NamesWhatItRefuses) {
  const std::vector<double> one = {1};
  const std::vector<double> two = {1, 2};
  const std::vector<double> three = {1, 2, 3};
  EXPECT_EQ(refusal_of([&] { (void)paired_t_test(one, one); }),
            "paired_t_test: needs two or more pairs, got 1 and 1 values");
  EXPECT_EQ(refusal_of([&] { (void)paired_t_test(three, two); }),
            "paired_t_test: needs two or more pairs, got 3 and 2 values");
}

// ---- compare_methods

struct Tables {
  std::vector<SampleTable> holdout;
  std::vector<SampleTable> test;

  [[nodiscard]] std::vector<SamplePair> pairs() const {
    std::vector<SamplePair> result;
    for (std::size_t pair = 0; pair < holdout.size(); ++pair) {
      result.push_back({holdout[pair].samples(), test[pair].samples()});
    }
    return result;
  }
};

Tables make_tables(const std::string& shape, int num_pairs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Tables tables;
  for (int pair = 0; pair < num_pairs; ++pair) {
    tables.holdout.push_back(make_random_samples(shape, 250, random));
    tables.test.push_back(make_random_samples(shape, 200, random));
  }
  return tables;
}

CompareOptions make_options() {
  CompareOptions options;
  options.precision_bounds = {{3, 5}, {7, 10}, {9, 10}};
  options.fit.bins = BinCount::of(20);
  return options;
}

void expect_equal(const Confusion& a, const Confusion& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.positives, b.positives);
  EXPECT_EQ(a.flagged, b.flagged);
  EXPECT_EQ(a.true_positives, b.true_positives);
}

TEST(CompareMethods, ListsMethodsInsideBoundsWithOneTrialPerPair) {
  const Tables tables = make_tables("continuous", 3, 1);
  const CompareOptions options = make_options();
  const auto summaries = compare_methods(tables.pairs(), options);
  ASSERT_EQ(summaries.size(), 3 * options.methods.size());
  for (std::size_t at = 0; at < summaries.size(); ++at) {
    EXPECT_EQ(summaries[at].bound, options.precision_bounds[at / options.methods.size()]);
    EXPECT_EQ(summaries[at].method, options.methods[at % options.methods.size()]);
    EXPECT_EQ(summaries[at].trials.size(), 3U);
  }
}

// A trial is what fitting on the hold-out and evaluating on both tables gives, `st` always with every score.
TEST(CompareMethods, FitsAndJudgesAsTheSingleStepsDo) {
  int infeasible = 0;
  for (const std::string shape : {"continuous", "heavy_ties", "single_precision", "weighted"}) {
    const Tables tables = make_tables(shape, 2, 2);
    CompareOptions options = make_options();
    if (shape == "weighted") options.methods = {Method::kSt, Method::kGmt, Method::kMist, Method::kExact};
    const auto pairs = tables.pairs();
    for (const MethodSummary& summary : compare_methods(pairs, options)) {
      for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
        SCOPED_TRACE(shape + " " + std::string(to_string(summary.method)) + " " + to_string(summary.bound));
        const Trial& trial = summary.trials[pair];
        FitOptions fit = options.fit;
        fit.method = summary.method;
        if (fit.method == Method::kSt || fit.method == Method::kAuto) fit.bins = std::nullopt;
        if (fit.method == Method::kAuto) fit.levels = std::nullopt;
        const FitResult alone = fit_boundary(pairs[pair].holdout, max_recall_at_precision(summary.bound), fit);
        ASSERT_TRUE(trial.solution);
        EXPECT_EQ(trial.method, alone.boundary ? alone.boundary->method : trial.method);
        ASSERT_EQ(trial.solution->status, alone.solution.status);
        ASSERT_EQ(trial.solution->flagged, alone.solution.flagged);
        if (!alone.boundary) {
          EXPECT_EQ(trial.holdout.flagged, 0);
          EXPECT_EQ(trial.test.flagged, 0);
          EXPECT_EQ(trial.test.recall(), 0);
          ++infeasible;
          continue;
        }
        expect_equal(trial.holdout, evaluate(alone.boundary->rule, pairs[pair].holdout).total);
        expect_equal(trial.test, evaluate(alone.boundary->rule, pairs[pair].test).total);
      }
    }
  }
  EXPECT_GT(infeasible, 0);
}

// What `auto` chose is judged as it was fitted, also where it stops before the best boundary of its method.
TEST(CompareMethods, JudgesTheBoundaryThatAutoGives) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto table = [&] {
    SampleTable rows;
    for (int row = 0; row < 8000; ++row) {
      const double score = uniform(random);
      const double u = uniform(random);
      rows.score.push_back(score);
      rows.uncertainty.push_back(u);
      rows.label.push_back(uniform(random) < score * (1.1 - u) ? 1 : 0);
    }
    return rows;
  };
  const SampleTable holdout = table();
  const SampleTable test = table();
  const std::vector<SamplePair> pairs = {{holdout.samples(), test.samples()}};
  CompareOptions options;
  options.methods = {Method::kAuto};
  options.precision_bounds = {{3, 5}, {7, 10}};
  for (const MethodSummary& summary : compare_methods(pairs, options)) {
    const FitResult alone =
        fit_boundary(holdout.samples(), max_recall_at_precision(summary.bound), {.method = Method::kAuto});
    ASSERT_NE(alone.boundary->method, Method::kSt);
    const Trial& trial = summary.trials[0];
    EXPECT_EQ(trial.method, alone.boundary->method);
    expect_equal(trial.holdout, evaluate(alone.boundary->rule, holdout.samples()).total);
    expect_equal(trial.test, evaluate(alone.boundary->rule, test.samples()).total);
    EXPECT_EQ(summary.missed, trial.test.precision() < summary.bound.to_double() ? 1U : 0U);
  }
}

// The gap of weighted rows came out in the units that weights are rounded to, near 1e-12 of a row: weights of one made
// a gap of 3 true positives one of 8e12. Without weights the bound is rounded down to whole rows, with weights it is
// not.
TEST(CompareMethods, GapsOfWeightsOfOneAreThoseWithoutWeightsUpToARow) {
  Tables tables = make_tables("continuous", 2, 4);
  CompareOptions options = make_options();
  options.methods = {Method::kSt, Method::kGmt, Method::kMist};
  const auto plain = compare_methods(tables.pairs(), options);
  for (auto* group : {&tables.holdout, &tables.test}) {
    for (SampleTable& table : *group) table.weight.assign(table.size(), 1);
  }
  const auto weighted = compare_methods(tables.pairs(), options);
  double largest = 0;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    for (std::size_t pair = 0; pair < 2; ++pair) {
      EXPECT_GE(weighted[at].trials[pair].gap, plain[at].trials[pair].gap);
      EXPECT_LT(weighted[at].trials[pair].gap, plain[at].trials[pair].gap + 1);
      EXPECT_EQ(plain[at].trials[pair].gap, plain[at].trials[pair].solution->gap);
      largest = std::max(largest, plain[at].trials[pair].gap);
    }
  }
  EXPECT_GE(largest, 1);
}

// Every stop of the method's chain as a rule of its own, applied to the test table.
TEST(CompareMethods, MatchesRecallAtEqualTestPrecisionAsApplyingEveryStopDoes) {
  int differs_from_plain = 0;
  for (const std::string shape : {"continuous", "heavy_ties", "mostly_zero_uncertainty"}) {
    const Tables tables = make_tables(shape, 1, 3);
    CompareOptions options = make_options();
    options.methods = {Method::kSt, Method::kHr, Method::kGmt, Method::kMist, Method::kExact};
    const auto pairs = tables.pairs();
    for (const MethodSummary& summary : compare_methods(pairs, options)) {
      SCOPED_TRACE(shape + " " + std::string(to_string(summary.method)) + " " + to_string(summary.bound));
      std::vector<Rule> rules;
      if (summary.method == Method::kSt) {
        const std::set<double, std::greater<>> scores(tables.holdout[0].score.begin(), tables.holdout[0].score.end());
        for (const double threshold : scores) rules.push_back({{}, {threshold}});
      } else {
        FitOptions fit = options.fit;
        fit.method = summary.method;
        const Grid grid = make_holdout_grid(pairs[0].holdout, max_recall_at_precision(summary.bound), fit);
        const Chain chain = chain_of(summary.method, grid);
        for (std::size_t step = 0; step < chain.size(); ++step) {
          if (chain[step].group_end) rules.push_back(make_rule(grid, taken_after(chain, step + 1, grid.num_levels())));
        }
      }
      std::vector<Counts> stops;
      double positives = 0;
      for (const Rule& rule : rules) {
        const Confusion total = evaluate(rule, pairs[0].test).total;
        stops.push_back({static_cast<std::int64_t>(total.flagged), static_cast<std::int64_t>(total.true_positives)});
        positives = total.positives;
      }
      const Trial& trial = summary.trials[0];
      EXPECT_NEAR(trial.matched_recall, test::most_at_precision(stops, summary.bound) / positives, 1e-12);
      differs_from_plain += trial.matched_recall != trial.test.recall() ? 1 : 0;
    }
  }
  EXPECT_GT(differs_from_plain, 10);
}

TEST(CompareMethods, SummarizesItsTrials) {
  const Tables tables = make_tables("continuous", 4, 4);
  const auto summaries = compare_methods(tables.pairs(), make_options());
  for (const MethodSummary& summary : summaries) {
    SCOPED_TRACE(std::string(to_string(summary.method)) + " " + to_string(summary.bound));
    double holdout_precision = 0, holdout_recall = 0, precision = 0, recall = 0, matched = 0;
    for (const Trial& trial : summary.trials) {
      holdout_precision += trial.holdout.precision() / 4;
      holdout_recall += trial.holdout.recall() / 4;
      precision += trial.test.precision() / 4;
      recall += trial.test.recall() / 4;
      matched += trial.matched_recall / 4;
    }
    double recall_square = 0, matched_square = 0;
    for (const Trial& trial : summary.trials) {
      recall_square += std::pow(trial.test.recall() - recall, 2) / 3;
      matched_square += std::pow(trial.matched_recall - matched, 2) / 3;
    }
    EXPECT_NEAR(summary.mean_holdout_precision, holdout_precision, 1e-14);
    EXPECT_NEAR(summary.mean_holdout_recall, holdout_recall, 1e-14);
    EXPECT_NEAR(summary.mean_test_precision, precision, 1e-14);
    EXPECT_NEAR(summary.mean_test_recall, recall, 1e-14);
    EXPECT_NEAR(summary.mean_matched_recall, matched, 1e-14);
    EXPECT_NEAR(summary.sd_test_recall, std::sqrt(recall_square), 1e-13);
    EXPECT_NEAR(summary.sd_matched_recall, std::sqrt(matched_square), 1e-13);
  }
}

TEST(CompareMethods, TestsEveryMethodAgainstTheSingleThreshold) {
  const Tables tables = make_tables("continuous", 4, 5);
  const CompareOptions options = make_options();
  const auto summaries = compare_methods(tables.pairs(), options);
  for (std::size_t at = 0; at < summaries.size(); ++at) {
    const MethodSummary& summary = summaries[at];
    const MethodSummary& st = summaries[at - at % options.methods.size()];
    ASSERT_EQ(st.method, Method::kSt);
    if (summary.method == Method::kSt) {
      EXPECT_FALSE(summary.p_value_recall);
      EXPECT_FALSE(summary.p_value_matched);
      continue;
    }
    std::vector<double> recall, st_recall, matched, st_matched;
    for (std::size_t pair = 0; pair < 4; ++pair) {
      recall.push_back(summary.trials[pair].test.recall());
      st_recall.push_back(st.trials[pair].test.recall());
      matched.push_back(summary.trials[pair].matched_recall);
      st_matched.push_back(st.trials[pair].matched_recall);
    }
    ASSERT_TRUE(summary.p_value_recall && summary.p_value_matched);
    EXPECT_EQ(*summary.p_value_recall, paired_t_test(recall, st_recall));
    EXPECT_EQ(*summary.p_value_matched, paired_t_test(matched, st_matched));
  }
}

TEST(CompareMethods, LeavesPValuesUnsetWithOnePairOrWithoutSt) {
  CompareOptions options = make_options();
  for (const MethodSummary& summary : compare_methods(make_tables("continuous", 1, 6).pairs(), options)) {
    EXPECT_FALSE(summary.p_value_recall || summary.p_value_matched);
    EXPECT_EQ(summary.sd_test_recall, 0);
  }
  options.methods = {Method::kMist, Method::kExact};
  for (const MethodSummary& summary : compare_methods(make_tables("continuous", 2, 6).pairs(), options)) {
    EXPECT_FALSE(summary.p_value_recall || summary.p_value_matched);
  }
}

TEST(CompareMethods, NamesWhatItRefuses) {
  const Tables tables = make_tables("continuous", 1, 7);
  const auto pairs = tables.pairs();
  const auto refusal = [&](auto change) {
    CompareOptions options = make_options();
    std::vector<SamplePair> changed = pairs;
    change(options, changed);
    return refusal_of([&] { (void)compare_methods(changed, options); });
  };
  EXPECT_EQ(refusal([](auto&, auto& all) { all.clear(); }), "compare_methods: there are no hold-out/test pairs");
  EXPECT_EQ(refusal([](auto& options, auto&) { options.methods.clear(); }), "compare_methods: there are no methods");
  EXPECT_EQ(refusal([](auto& options, auto&) { options.precision_bounds.clear(); }),
            "compare_methods: there are no precision bounds");
  EXPECT_EQ(refusal([](auto& options, auto&) {
              options.precision_bounds.push_back({5, 4});
            }),
            "objective: precision bound is 1.25, must be between 0 and 1");
  EXPECT_EQ(refusal([](auto& options, auto&) { options.fit.levels = 0; }),
            "fit_boundary: levels is 0, must be 1 to 1000");
  const std::vector<double> short_weights = {1, 2};
  EXPECT_EQ(refusal([&](auto&, auto& all) { all[0].test.weight = short_weights; }),
            "samples: weight has 2 rows, label has 200");
  EXPECT_EQ(refusal([](auto&, auto& all) { all[0].holdout = {}; }),
            "compare_methods: the hold-out of pair 1 has no rows in one of the classes; both are needed");
}

}  // namespace
}  // namespace limen
