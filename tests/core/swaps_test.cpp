// SPDX-License-Identifier: MIT
#include "limen/judge/swaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "limen/count/levels.h"
#include "limen/judge/metrics.h"
#include "limen/judge/stratified_test.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::random_unit;
using test::refusal_of;
using test::SampleTable;

Column texts(const std::string& name, const std::vector<std::string>& values) {
  TextValues column;
  for (const std::string& value : values) {
    auto found = std::ranges::find(column.distinct, value);
    if (value == "?") {
      column.code.push_back(TextValues::kMissing);
      continue;
    }
    if (found == column.distinct.end()) found = column.distinct.insert(column.distinct.end(), value);
    column.code.push_back(static_cast<std::int32_t>(found - column.distinct.begin()));
  }
  return {name, column};
}

// The old rule flags scores from 0.5 on; the new one from 0.3 on below an uncertainty of 1, from 0.8 on above.
//
//   uncertainty 0:  .2  .3* .4  .5* .9*       .3 and .4 are taken in
//   uncertainty 2:  .2  .4  .5  .7* .9*       .5 and .7 are left out
TEST(FindSwaps, AHandWorkedCase) {
  const Rule first{{}, {0.5}};
  const Rule second{{1}, {0.3, 0.8}};
  const std::vector<double> score = {.2, .3, .4, .5, .9, .2, .4, .5, .7, .9};
  const std::vector<double> uncertainty = {0, 0, 0, 0, 0, 2, 2, 2, 2, 2};
  const std::vector<std::uint8_t> label = {0, 1, 0, 1, 1, 0, 0, 0, 1, 1};
  const std::vector<Column> columns = {
      texts("colour", {"red", "red", "blue", "red", "?", "red", "green", "blue", "blue", "red"}),
      {"size", NumberValues{1, 2, 3, 4, 1, 9, 7, 8, 9, std::nan("")}}};
  const Swaps swaps = find_swaps(first, second, std::span(score), std::span(uncertainty), label, columns,
                                 {.score_bins = 2, .values = 2});
  EXPECT_TRUE(swaps.labelled);
  EXPECT_EQ(swaps.counts, (PairedCounts{{3, 3}, {2, 1}, {2, 1}, {3, 0}}));
  EXPECT_EQ(swaps.first(), (Counts{5, 4}));
  EXPECT_EQ(swaps.second(), (Counts{5, 4}));
  EXPECT_EQ(swaps.score_low, 0.3);
  EXPECT_EQ(swaps.score_high, 0.8);
  ASSERT_EQ(swaps.levels.size(), 2U);
  EXPECT_EQ(swaps.levels[0], (SwapLevel{std::nullopt, 0.5, 0.3, {5, 3}, {2, 1}, {}}));
  EXPECT_EQ(swaps.levels[1], (SwapLevel{1, 0.5, 0.8, {5, 2}, {}, {2, 1}}));
  // Swapped scores .3 .4 .5 .7: two bins, [.3, .5) with .3 .4 and .4 of the other level, [.5, .8) with .5 and .5 .7.
  ASSERT_EQ(swaps.score_edges.size(), 1U);
  EXPECT_GT(swaps.score_edges[0], 0.4);
  EXPECT_LE(swaps.score_edges[0], 0.5);
  EXPECT_EQ(swaps.cells, (std::vector<SwapCell>{{0, 0, {2, 1}, {2, 1}, {}}, {1, 1, {2, 1}, {}, {2, 1}}}));

  const SwapColumn& colour =
      *std::ranges::find_if(swaps.columns, [](const SwapColumn& column) { return column.name == "colour"; });
  // Near the decision (.3 to .8): blue 3, red 2, green 1.
  ASSERT_EQ(colour.values.size(), 4U);
  EXPECT_EQ(to_string(colour.values[0]), "blue");
  EXPECT_EQ(to_string(colour.values[1]), "red");
  EXPECT_EQ(to_string(colour.values[2]), "(other)");
  EXPECT_EQ(to_string(colour.values[3]), "(missing)");
  EXPECT_EQ(colour.population, (std::vector<std::int64_t>{3, 5, 1, 1}));
  EXPECT_EQ(colour.flagged, (std::vector<std::int64_t>{1, 3, 0, 1}));
  EXPECT_EQ(colour.taken_in, (std::vector<std::int64_t>{1, 1, 0, 0}));
  EXPECT_EQ(colour.left_out, (std::vector<std::int64_t>{2, 0, 0, 0}));
  for (std::size_t value = 0; value < 3; ++value) EXPECT_DOUBLE_EQ(colour.taken_in_bins[value], 1.0 / 3);
  EXPECT_DOUBLE_EQ(colour.left_out_bins[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(colour.left_out_bins[1], 1.0 / 3);
  EXPECT_DOUBLE_EQ(colour.taken_in_test.divergence, 1.0 / 3);
  EXPECT_DOUBLE_EQ(colour.left_out_test.divergence, 1.0 / 3);
  EXPECT_FALSE(colour.taken_in_test.p_value);  // five expected rows of two values: there are not

  const SwapColumn& size =
      *std::ranges::find_if(swaps.columns, [](const SwapColumn& column) { return column.name == "size"; });
  ASSERT_EQ(size.values.size(), 3U);  // cut between 4 and 7, and missing
  EXPECT_EQ(size.population, (std::vector<std::int64_t>{5, 4, 1}));
  EXPECT_EQ(size.taken_in, (std::vector<std::int64_t>{2, 0, 0}));
  EXPECT_EQ(size.left_out, (std::vector<std::int64_t>{0, 2, 0}));
}

Rule random_rule(std::mt19937_64& random, double low, double high) {
  Rule rule;
  const std::size_t levels = 1 + random() % 5;
  std::set<double> edges;
  while (edges.size() + 1 < levels) edges.insert(std::floor(random_unit(random) * 16) / 16);
  rule.uncertainty_edges.assign(edges.begin(), edges.end());
  for (std::size_t level = 0; level < levels; ++level) {
    const double score = low + (high - low) * std::floor(random_unit(random) * 12) / 10;
    rule.score_thresholds.push_back(random() % 6 == 0 ? std::nullopt : std::optional(score));
  }
  return rule;
}

// The sets of random rules on all shapes of rows: they add up exactly, to what each rule flags by itself; levels, cells
// and columns add up to the sets; and every distribution is that of a count by hand.
TEST(FindSwaps, AddsUpExactlyForRandomRules) {
  std::mt19937_64 random(5);
  int with_both_sets = 0;
  int never = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::string shape = std::vector<std::string>{"continuous",        "heavy_ties",       "equal_scores",
                                                       "equal_uncertainty", "single_precision", "mixed"}[random() % 6];
    SCOPED_TRACE(shape + ", trial " + std::to_string(trial));
    const SampleTable table = make_random_samples(shape, 2 + random() % 200, random);
    const Samples samples = table.samples();
    const Rule first = random_rule(random, 0, 1);
    const Rule second = random_rule(random, 0, 1);
    std::vector<std::string> names;
    NumberValues numbers;
    for (std::size_t row = 0; row < samples.size(); ++row) {
      names.push_back(random() % 9 == 0 ? "?" : std::string(1, static_cast<char>('a' + random() % 5)));
      numbers.push_back(random() % 9 == 0 ? std::nan("") : std::floor(random_unit(random) * 20));
    }
    const std::vector<Column> columns = {texts("name", names), {"number", numbers}};
    const Swaps swaps = find_swaps(first, second, samples.score, samples.uncertainty, samples.label, columns,
                                   {.score_bins = 1 + static_cast<int>(random() % 6), .values = 3});
    const Confusion old_one = evaluate(first, {samples.score, samples.uncertainty, samples.label, {}}).total;
    const Confusion new_one = evaluate(second, {samples.score, samples.uncertainty, samples.label, {}}).total;
    const auto same = [](const Counts& counts, const Confusion& confusion) {
      EXPECT_EQ(static_cast<double>(counts.rows), confusion.flagged);
      EXPECT_EQ(static_cast<double>(counts.positives), confusion.true_positives);
    };
    same(swaps.first(), old_one);
    same(swaps.second(), new_one);
    same(swaps.first() - swaps.left_out() + swaps.taken_in(), new_one);
    EXPECT_EQ(swaps.counts, count_pairs(decide(first, samples.score, samples.uncertainty),
                                        decide(second, samples.score, samples.uncertainty), samples.label));
    Counts all;
    Counts taken_in;
    Counts left_out;
    for (const SwapLevel& level : swaps.levels) {
      all += level.all;
      taken_in += level.taken_in;
      left_out += level.left_out;
      EXPECT_TRUE(level.taken_in.rows == 0 || level.left_out.rows == 0);
    }
    EXPECT_EQ(all.rows, static_cast<std::int64_t>(samples.size()));
    EXPECT_EQ(taken_in, swaps.taken_in());
    EXPECT_EQ(left_out, swaps.left_out());
    for (const SwapCell& cell : swaps.cells) {
      taken_in -= cell.taken_in;
      left_out -= cell.left_out;
      EXPECT_TRUE(cell.taken_in.rows == 0 || cell.left_out.rows == 0);
      EXPECT_LE(cell.taken_in.rows + cell.left_out.rows, cell.all.rows);
      EXPECT_LE(cell.bin, swaps.score_edges.size());
    }
    EXPECT_EQ(taken_in, Counts{});
    EXPECT_EQ(left_out, Counts{});
    ASSERT_EQ(swaps.columns.size(), 2U);
    for (const SwapColumn& column : swaps.columns) {
      const auto sum = [](const std::vector<std::int64_t>& rows) {
        return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
      };
      EXPECT_EQ(sum(column.population), static_cast<std::int64_t>(samples.size()));
      EXPECT_EQ(sum(column.flagged), swaps.second().rows);
      EXPECT_EQ(sum(column.taken_in), swaps.taken_in().rows);
      EXPECT_EQ(sum(column.left_out), swaps.left_out().rows);
      const double shares = std::accumulate(column.taken_in_bins.begin(), column.taken_in_bins.end(), 0.0);
      EXPECT_NEAR(shares, swaps.taken_in().rows > 0 ? 1 : 0, 1e-12);
      EXPECT_GE(column.divergence(), 0);
      EXPECT_LE(column.divergence(), 1 + 1e-12);
    }
    with_both_sets += swaps.taken_in().rows > 0 && swaps.left_out().rows > 0 ? 1 : 0;
    never += swaps.score_high ? 0 : 1;
  }
  EXPECT_GT(with_both_sets, 60);
  EXPECT_GT(never, 60);
}

TEST(FindSwaps, BatchesCountAsOneTableDoes) {
  std::mt19937_64 random(2);
  const SampleTable table = make_random_samples("heavy_ties", 5000, random);
  const Samples all = table.samples();
  const Rule first{{}, {0.5}};
  const Rule second{{0.2, 0.4}, {0.3, 0.5, 0.7}};
  std::vector<std::string> names;
  for (std::size_t row = 0; row < all.size(); ++row) names.push_back("v" + std::to_string(random() % 30));
  const Column column = texts("name", names);
  const Swaps whole = find_swaps(first, second, all.score, all.uncertainty, all.label, std::span(&column, 1));

  SwapSurvey survey(first, second);
  std::optional<SwapCounter> counter;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t begin = 0; begin < all.size(); begin += 777) {
      const std::size_t size = std::min<std::size_t>(777, all.size() - begin);
      const std::span score = std::span(table.score).subspan(begin, size);
      const std::span uncertainty = std::span(table.uncertainty).subspan(begin, size);
      const Column part = texts("name", {names.begin() + static_cast<std::ptrdiff_t>(begin),
                                         names.begin() + static_cast<std::ptrdiff_t>(begin + size)});
      if (pass == 0) {
        survey.add(score, uncertainty, std::span(&part, 1));
      } else {
        counter->add(score, uncertainty, std::span(table.label).subspan(begin, size), std::span(&part, 1));
      }
    }
    if (pass == 0) counter.emplace(survey.plan());
  }
  EXPECT_EQ(counter->finish(), whole);
}

// A quarter of the near rows have one value, every other row its own: 64 candidates find it, whatever the order.
TEST(SwapSurvey, FindsTheCommonValuesOfManyAndSaysWhatItMayOverlook) {
  const Rule first{{}, {0.5}};
  const Rule second{{0.5}, {0.2, 0.8}};
  SwapSurvey survey(first, second, {.candidates = 64});
  std::mt19937_64 random(7);
  const std::size_t rows = 4000;
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<double> score;
    std::vector<double> uncertainty;
    TextValues values;
    values.distinct.push_back("common");
    for (std::size_t row = 0; row < rows; ++row) {
      score.push_back(0.2 + 0.5 * random_unit(random));
      uncertainty.push_back(random_unit(random));
      values.code.push_back(0);
      if (row % 4 == 0) continue;
      values.code.back() = static_cast<std::int32_t>(values.distinct.size());
      values.distinct.push_back("b" + std::to_string(batch) + "r" + std::to_string(row));
    }
    const Column column{"id", values};
    survey.add(std::span<const double>(score), std::span<const double>(uncertainty), std::span(&column, 1));
  }
  const SwapPlan plan = survey.plan();
  ASSERT_EQ(plan.columns.size(), 1U);
  EXPECT_EQ(plan.columns[0].values.at(0), "common");
  EXPECT_GT(plan.columns[0].rows_overlooked, 0);
  EXPECT_LE(plan.columns[0].rows_overlooked, static_cast<std::int64_t>(3 * rows / 64));
}

// Columns that go with the level among rows of equal score are found; one that goes with the score alone, though its
// distribution in the sets is far from the population's, and noise, are not.
TEST(FindSwaps, TellsColumnsOfTheLevelFromColumnsOfTheScore) {
  std::mt19937_64 random(11);
  const std::size_t rows = 20000;
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::string> of_level;
  std::vector<std::string> noise;
  NumberValues of_score;
  for (std::size_t row = 0; row < rows; ++row) {
    score.push_back(random_unit(random));
    uncertainty.push_back(random_unit(random));
    of_level.push_back(random_unit(random) < 0.3 + 0.4 * (uncertainty.back() > 0.5 ? 1 : 0) ? "new" : "known");
    noise.push_back(std::string(1, static_cast<char>('a' + random() % 6)));
    of_score.push_back(score.back() + 0.1 * random_unit(random));
  }
  const std::vector<Column> columns = {texts("noise", noise), {"of_score", of_score}, texts("of_level", of_level)};
  const Swaps swaps = find_swaps({{}, {0.6}}, {{0.5}, {0.5, 0.75}}, std::span<const double>(score),
                                 std::span<const double>(uncertainty), {}, columns, {.score_bins = 50});
  EXPECT_FALSE(swaps.labelled);
  EXPECT_EQ(swaps.taken_in().positives, 0);
  ASSERT_EQ(swaps.columns.size(), 3U);
  EXPECT_EQ(swaps.columns[0].name, "of_level");
  EXPECT_LT(swaps.columns[0].adjusted_p(), 1e-20);
  EXPECT_NEAR(swaps.columns[0].taken_in_test.divergence, 0.2, 0.05);
  for (std::size_t at = 1; at < 3; ++at) EXPECT_GT(swaps.columns[at].adjusted_p(), 0.05) << swaps.columns[at].name;
}

// Labels of rows in one stratum, two values: the statistic is (a - E)^2 / V with the hypergeometric variance, which is
// (N - 1) / N times Pearson's chi-square. 12 of 20 and 8 of 30 rows in the set: E = 8, V = 20 * 30 * 20 * 30 / (2500 *
// 49).
TEST(StratifiedTest, IsMantelAndHaenszelForTwoValues) {
  const Stratum one{{20, 30}, {12, 8}};
  const auto found = stratified_test(std::span(&one, 1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->degrees, 1);
  const double variance = 20.0 * 30 * 20 * 30 / (2500.0 * 49);
  EXPECT_NEAR(found->statistic, 16 / variance, 1e-12);
  EXPECT_NEAR(found->p_value, std::erfc(4 / std::sqrt(2 * variance)), 1e-12);
  // Two strata: differences and variances add up.
  const std::vector<Stratum> two = {one, {{10, 40}, {6, 14}}};  // E = 4, V = 20 * 30 * 10 * 40 / (2500 * 49)
  const double sum = variance + 20.0 * 30 * 10 * 40 / (2500.0 * 49);
  EXPECT_NEAR(stratified_test(two)->statistic, 36 / sum, 1e-12);
}

TEST(StratifiedTest, PoolsSmallValuesAndHasNoAnswerWhereThereIsNone) {
  // Two values of too few rows become one.
  const Stratum small{{40, 40, 4, 6}, {25, 15, 3, 2}};
  const Stratum pooled{{40, 40, 10}, {25, 15, 5}};
  EXPECT_EQ(stratified_test(std::span(&small, 1), 3)->degrees, 2);
  EXPECT_NEAR(stratified_test(std::span(&small, 1), 3)->statistic, stratified_test(std::span(&pooled, 1), 3)->statistic,
              1e-12);
  const Stratum all_in{{5, 9}, {5, 9}};
  const Stratum none_in{{5, 9}, {0, 0}};
  EXPECT_FALSE(stratified_test(std::vector{all_in, none_in}));
  EXPECT_FALSE(stratified_test({}));
  const Stratum one_value{{50}, {20}};
  EXPECT_FALSE(stratified_test(std::span(&one_value, 1)));
  // Values that never meet in a stratum tell nothing.
  EXPECT_FALSE(stratified_test(std::vector<Stratum>{{{50, 0}, {20, 0}}, {{0, 50}, {0, 30}}}));
  const Stratum bad{{5, 9}, {6, 0}};
  EXPECT_EQ(refusal_of([&] { (void)stratified_test(std::span(&bad, 1)); }), "stratified_test: 6 rows in the set of 5");
}

// Sets drawn without regard to the value: p-values are uniform.
TEST(StratifiedTest, KeepsItsLevel) {
  std::mt19937_64 random(3);
  int below = 0;
  const int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Stratum> strata;
    for (int bin = 0; bin < 6; ++bin) {
      Stratum stratum{std::vector<std::int64_t>(4, 0), std::vector<std::int64_t>(4, 0)};
      for (int row = 0; row < 60; ++row) {
        // Both the values and the set depend on the stratum, not on each other.
        const auto value = static_cast<std::size_t>(std::min(3.0, random_unit(random) * (2 + bin)));
        ++stratum.all[value];
        if (random_unit(random) < 0.1 + 0.1 * bin) ++stratum.in_set[value];
      }
      strata.push_back(stratum);
    }
    below += stratified_test(strata)->p_value < 0.05 ? 1 : 0;
  }
  // Three standard errors of 5% are 1.5%.
  EXPECT_NEAR(static_cast<double>(below) / trials, 0.05, 0.015);
}

// Sorted .01 .02 .04: 3 * .01, 2 * .02, max(.04, 1 * .04).
TEST(HolmAdjusted, MultipliesByTheTestsThatAreLeft) {
  const std::vector<double> adjusted = holm_adjusted(std::vector{0.04, 0.01, 0.02});
  EXPECT_DOUBLE_EQ(adjusted[0], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.04);
  EXPECT_DOUBLE_EQ(holm_adjusted(std::vector{0.9, 0.8})[0], 1);
  EXPECT_TRUE(holm_adjusted({}).empty());
}

TEST(FindSwaps, EqualRulesSwapNothing) {
  const std::vector<double> score = {0.1, 0.6};
  const Column column{"x", NumberValues{1, 2}};
  const Swaps swaps =
      find_swaps({{}, {0.5}}, {{0.3}, {0.5, 0.5}}, std::span(score), std::span(score), {}, std::span(&column, 1));
  EXPECT_EQ(swaps.counts, (PairedCounts{{1, 0}, {}, {}, {1, 0}}));
  EXPECT_TRUE(swaps.cells.empty());
  EXPECT_FALSE(swaps.columns.at(0).taken_in_test.p_value);
  EXPECT_EQ(swaps.columns.at(0).divergence(), 0);
  const Swaps none = find_swaps({{}, {0.5}}, {{}, {0.6}}, std::span<const double>(), std::span<const double>());
  EXPECT_EQ(none.counts, PairedCounts{});
}

TEST(FindSwaps, RefusesWhatDoesNotFit) {
  const Rule rule{{}, {0.5}};
  const std::vector<double> score = {0.1, 0.6};
  const auto refused = [&](const std::vector<double>& uncertainty, std::vector<std::uint8_t> label,
                           const std::vector<Column>& columns, const SwapOptions& options = {}) {
    return refusal_of(
        [&] { (void)find_swaps(rule, rule, std::span(score), std::span(uncertainty), label, columns, options); });
  };
  EXPECT_EQ(refused(score, {0, 1}, {}, {.score_bins = 0}), "find_swaps: score_bins is 0, must be 1 to 100");
  EXPECT_EQ(refused(score, {0, 1}, {}, {.values = 1}), "find_swaps: values is 1, must be 2 to 50");
  EXPECT_EQ(refused(score, {0, 1}, {}, {.candidates = 1}), "find_swaps: candidates is 1, must be 64 to 1048576");
  EXPECT_EQ(refused(score, {0}, {}), "find_swaps: 1 labels for 2 rows");
  EXPECT_EQ(refused(score, {0, 7}, {}), "find_swaps: label[1] is 7, must be 0 or 1");
  EXPECT_EQ(refused(score, {}, {{"x", NumberValues{1}}}), "find_swaps: column \"x\" has 1 rows, score has 2");
  EXPECT_EQ(refused(score, {}, {{"x", TextValues{{"a"}, {0, 1}}}}),
            "find_swaps: column \"x\" has the code 1 of 1 texts");
  EXPECT_NE(refused({0.1, std::nan("")}, {}, {}).find("uncertainty"), std::string::npos);
  SwapSurvey survey(rule, rule);
  const Column number{"x", NumberValues{1, 2}};
  const Column text = texts("x", {"a", "b"});
  survey.add(std::span(score), std::span(score), std::span(&number, 1));
  EXPECT_EQ(refusal_of([&] { survey.add(std::span(score), std::span(score), std::span(&text, 1)); }),
            "find_swaps: column \"x\" is not the column of numbers \"x\" that was there before");
}

}  // namespace
}  // namespace limen
