// SPDX-License-Identifier: MIT
#include "limen/count/binning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "limen/base/error.h"
#include "limen/solve/objective.h"
#include "reference/binning_reference.h"
#include "reference/wide_fraction.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::big;
using test::BigFraction;
using test::BigInt;
using test::make_random_samples;
using test::random_unit;
using test::refusal_of;
using test::SampleTable;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kLargest = std::numeric_limits<double>::max();

RealSpan view(const std::vector<double>& values) { return std::span<const double>(values); }
RealSpan view(const std::vector<float>& values) { return std::span<const float>(values); }

std::vector<std::int64_t> rows_per_level(const std::vector<double>& values, const std::vector<double>& edges) {
  std::vector<std::int64_t> rows(edges.size() + 1, 0);
  for (const double value : values) ++rows[test::level_by_definition(edges, value)];
  return rows;
}

/// The smallest observed value at or above each edge: two sets of edges with the same ones cut the rows alike. An edge
/// lies above the value before it, so that it stands between two observed ones.
std::vector<double> values_at(const std::vector<double>& edges, std::vector<double> values) {
  for (double& value : values) value += 0.0;
  std::sort(values.begin(), values.end());
  std::vector<double> at;
  for (const double edge : edges) at.push_back(*std::lower_bound(values.begin(), values.end(), edge));
  return at;
}

TEST(BinningNames, ReadBackAndRefuseOthers) {
  EXPECT_EQ(parse_binning(to_string(Binning::kEquiWeight)), Binning::kEquiWeight);
  EXPECT_EQ(parse_binning(to_string(Binning::kEquiSpan)), Binning::kEquiSpan);
  EXPECT_EQ(refusal_of([] { (void)parse_binning("equal"); }), "binning \"equal\" is not one of equi-weight, equi-span");
}

// ---- uncertainty_edges

// Six values into three levels: ranks 2 and 4 of the sorted values.
TEST(UncertaintyEdges, CutsAtTheQuantiles) {
  const std::vector<double> values = {6, 1, 5, 2, 4, 3};
  EXPECT_THAT(uncertainty_edges(view(values), 3), ElementsAre(3, 5));
}

// Between 0.312 and 0.348 lies 0.33, the nearest to the middle of the decimals of two digits.
TEST(UncertaintyEdges, AreShortDecimalsBetweenTwoValues) {
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{0.1, 0.312, 0.348, 0.9}), 2), ElementsAre(0.33));
  EXPECT_THAT(uncertainty_edges(view(std::vector<float>{0.1F, 0.312F, 0.348F, 0.9F}), 2), ElementsAre(0.33));
}

// 1 2 2 2 | rank 4: 2 3 4 5 for two levels of eight: the run of 2 is [1, 5), its upper end is 1 row away, its lower 3.
TEST(UncertaintyEdges, MovesAQuantileToTheNearerEndOfItsRun) {
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{1, 2, 2, 2, 2, 3, 4, 5}), 2), ElementsAre(3));
  // 1 2 3 | 4 4 4 4 5: the run [3, 7) starts 1 row before rank 4.
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{1, 2, 3, 4, 4, 4, 4, 5}), 2), ElementsAre(4));
}

TEST(UncertaintyEdges, HandlesTheEdges) {
  const struct {
    const char* name;
    std::vector<double> values;
    int levels;
    std::vector<double> expected;
  } cases[] = {
      {"no rows", {}, 3, {}},
      {"one row", {5}, 3, {}},
      {"one level", {1, 2, 3}, 1, {}},
      {"all equal", {4, 4, 4, 4}, 3, {}},
      {"fewer distinct values than levels", {1, 2, 1, 2}, 5, {2}},
      {"fewer rows than levels", {3, 1, 2}, 1000, {2, 3}},
      {"60% zeros", {0, 0, 0, 0, 0, 0, 7, 8, 9, 10}, 3, {7}},
      {"60% zeros, ten levels", {0, 0, 0, 0, 0, 0, 7, 8, 9, 10}, 10, {7, 8, 9, 10}},
      {"60% of the largest value", {1, 2, 3, 4, 9, 9, 9, 9, 9, 9}, 3, {4, 9}},
      {"negative values", {-3, -1, -4, -2}, 2, {-2}},
      {"both signs", {-1, 1}, 2, {1}},
      {"huge values", {-kLargest, kLargest}, 2, {kLargest}},
      {"the smallest differences", {0, 5e-324}, 2, {5e-324}},
  };
  for (const auto& [name, values, levels, expected] : cases) {
    EXPECT_EQ(values_at(uncertainty_edges(view(values), levels), values), expected) << name;
  }
}

TEST(UncertaintyEdges, TakesTheTwoZerosAsOneValue) {
  const std::vector<double> values = {-0.0, 0.0, -0.0, 0.0, -0.0, 0.0};
  EXPECT_THAT(uncertainty_edges(view(values), 3), IsEmpty());
  // -1 | zeros: the edge is written as +0, whichever zero comes first.
  for (const std::vector<double>& mixed : {std::vector{-1.0, -0.0, 0.0, -1.0}, std::vector{-1.0, 0.0, -0.0, -1.0}}) {
    const auto edges = uncertainty_edges(view(mixed), 2);
    ASSERT_THAT(edges, ElementsAre(0.0));
    EXPECT_FALSE(std::signbit(edges[0]));
  }
  const std::vector<float> single = {-1.0F, -0.0F, 0.0F, -1.0F};
  EXPECT_FALSE(std::signbit(uncertainty_edges(view(single), 2).at(0)));
}

TEST(UncertaintyEdges, RefusesOtherNumbersOfLevels) {
  const std::vector<double> values = {1, 2};
  EXPECT_EQ(refusal_of([&] { (void)uncertainty_edges(view(values), 0); }),
            "uncertainty_edges: levels is 0, must be 1 to 1000");
  EXPECT_EQ(refusal_of([&] { (void)uncertainty_edges(view(values), 1001); }),
            "uncertainty_edges: levels is 1001, must be 1 to 1000");
}

TEST(UncertaintyEdges, EqualsSortingOnEveryShape) {
  int tied = 0;
  int fewer_levels = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(21);
    for (int instance = 0; instance < 6; ++instance) {
      const std::size_t rows = 1 + random() % 400;
      const SampleTable table = make_random_samples(shape, rows, random);
      const RealSpan column = table.samples().uncertainty;
      for (const int levels : {2, 3, 7, 20}) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " levels " + std::to_string(levels));
        const std::vector<double> edges = uncertainty_edges(column, levels);
        ASSERT_EQ(values_at(edges, table.uncertainty), test::edges_by_sorting(table.uncertainty, levels));
        const auto counts = rows_per_level(table.uncertainty, edges);
        for (const std::int64_t count : counts) ASSERT_GT(count, 0);
        if (shape == "continuous" && rows >= static_cast<std::size_t>(levels)) {
          const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
          ASSERT_LE(*most - *least, 1);
        }
        fewer_levels += static_cast<int>(edges.size()) + 1 < levels ? 1 : 0;
        tied += std::count(table.uncertainty.begin(), table.uncertainty.end(), table.uncertainty[0]) > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(fewer_levels, 60);
  EXPECT_GT(tied, 60);
}

// The other builds run all of them.
#ifdef __SANITIZE_THREAD__
constexpr std::array kManyRowsLevels = {11};
constexpr std::array kManyRowsBins = {400};
#else
constexpr std::array kManyRowsLevels = {2, 3, 11, 200};
constexpr std::array kManyRowsBins = {1, 7, 400};
#endif

TEST(UncertaintyEdges, EqualsSortingOnManyRows) {
  // More rows than are sorted, ranks in neighbouring and in equal buckets of the counting pass. In "rhythm" every
  // fourth row, and so a sample of them, is far from the others; in "two runs" the next larger value is far away.
  std::mt19937_64 random(22);
  for (const std::string shape :
       {"continuous", "heavy_ties", "single_precision", "margins", "bunched", "rhythm", "two runs", "zeros"}) {
    SCOPED_TRACE(shape);
    const bool is_own = shape == "bunched" || shape == "rhythm" || shape == "two runs" || shape == "zeros";
    SampleTable table = make_random_samples(is_own ? "continuous" : shape, 200'000, random);
    for (std::size_t row = 0; is_own && row < table.uncertainty.size(); ++row) {
      double& value = table.uncertainty[row];
      value = shape == "bunched"    ? 1 + std::floor(value * 1000) * 1e-15
              : shape == "rhythm"   ? (row % 4 == 0 ? 5 + value : -value)
              : shape == "two runs" ? (random() % 5 < 2 ? -7 : 1e30)
                                    : (random() % 2 == 0 ? 0.0 : -0.0) * value;
    }
    for (const int levels : kManyRowsLevels) {
      EXPECT_EQ(values_at(uncertainty_edges(table.samples().uncertainty, levels), table.uncertainty),
                test::edges_by_sorting(table.uncertainty, levels));
    }
  }
}

TEST(UncertaintyEdges, DividesTheRangeEquallyWhenAsked) {
  // 0 to 10 in five: the level [2, 4) is empty and stays.
  const std::vector<double> values = {0, 1, 5, 7, 10};
  EXPECT_THAT(uncertainty_edges(view(values), 5, Binning::kEquiSpan), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{-4, 4}), 4, Binning::kEquiSpan), ElementsAre(-2, 0, 2));
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{3, 3, 3}), 4, Binning::kEquiSpan), IsEmpty());
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{-kLargest, kLargest}), 2, Binning::kEquiSpan), ElementsAre(0));
  EXPECT_THAT(uncertainty_edges(view(std::vector<double>{}), 4, Binning::kEquiSpan), IsEmpty());
}

TEST(UncertaintyEdges, KeepsTheEndsOfTheRangeInTheFirstAndTheLastLevel) {
  std::mt19937_64 random(23);
  for (const std::string& shape : test::sample_shapes()) {
    const SampleTable table = make_random_samples(shape, 100, random);
    const auto [low, high] = std::minmax_element(table.uncertainty.begin(), table.uncertainty.end());
    for (const int levels : {2, 3, 10, 1000}) {
      SCOPED_TRACE(shape + " levels " + std::to_string(levels));
      const auto edges = uncertainty_edges(table.samples().uncertainty, levels, Binning::kEquiSpan);
      ASSERT_LT(edges.size(), static_cast<std::size_t>(levels));
      for (std::size_t edge = 0; edge < edges.size(); ++edge) {
        ASSERT_GT(edges[edge], edge == 0 ? *low : edges[edge - 1]);
        ASSERT_LE(edges[edge], *high);
        // Each of the few operations rounds by 2^-53 of the range's ends.
        const double wanted = *low + (*high - *low) * static_cast<double>(edge + 1) / levels;
        ASSERT_NEAR(edges[edge], wanted, 1e-15 * std::max(std::abs(*low), std::abs(*high)) + 1e-300);
      }
    }
  }
}

// ---- count_distinct

// Level 0 (uncertainty < 0.5): scores 0.9 positive, 0.9 negative, 0.1 negative. Level 1: 0.5 positive.
TEST(CountDistinct, CountsEveryScoreOfEveryLevel) {
  SampleTable table;
  table.score = {0.1, 0.9, 0.5, 0.9};
  table.uncertainty = {0.2, 0.4, 0.5, 0.1};
  table.label = {0, 1, 1, 0};
  const Grid grid = count_distinct(table.samples(), {0.5});
  ASSERT_EQ(grid.num_levels(), 2U);
  ASSERT_EQ(grid.levels[0].size(), 2U);
  EXPECT_EQ(grid.levels[0][0].threshold, 0.9);
  EXPECT_EQ(grid.levels[0][0].counts, (Counts{2, 1}));
  EXPECT_EQ(grid.levels[0][1].threshold, 0.1);
  EXPECT_EQ(grid.levels[0][1].counts, (Counts{1, 0}));
  ASSERT_EQ(grid.levels[1].size(), 1U);
  EXPECT_EQ(grid.levels[1][0].counts, (Counts{1, 1}));
  EXPECT_EQ(totals_of(grid).positives_low, 2);
  EXPECT_EQ(totals_of(grid).negatives_low, 2);
  EXPECT_EQ(totals_of(grid).rows_low, 4);
  EXPECT_EQ(grid.unit, 1);
  // Uncertainty spans 0.1 to 0.5: level 0 has its middle at 0.25, 0.15 / 0.4 of the way; level 1 at the end.
  ASSERT_EQ(grid.scaled_uncertainty.size(), 2U);
  EXPECT_DOUBLE_EQ(grid.scaled_uncertainty[0], 0.375);
  EXPECT_DOUBLE_EQ(grid.scaled_uncertainty[1], 1);
}

TEST(CountDistinct, RefusesNoRows) {
  EXPECT_EQ(refusal_of([] { (void)count_distinct(Samples{}, {}); }), "count_distinct: there are no rows");
}

TEST(CountDistinct, EqualsAMapOnEveryShape) {
  int merged_scores = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(24);
    for (int instance = 0; instance < 30; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      const SampleTable table = make_random_samples(shape, 1 + random() % 300, random);
      const Samples samples = table.samples();
      const auto edges = uncertainty_edges(samples.uncertainty, 1 + static_cast<int>(random() % 6),
                                           random() % 2 == 0 ? Binning::kEquiWeight : Binning::kEquiSpan);
      const Objective objective = random() % 2 == 0 ? max_recall_at_precision({1, 2}) : max_recall_at_flag_rate({1, 2});
      const WeightUnits units = weight_units(samples, positive_rounding(objective));
      const Grid grid = count_distinct(samples, edges, units);
      const auto expected = test::distinct_by_map(samples, edges, units);
      validate(grid);
      ASSERT_EQ(grid.edges, edges);
      ASSERT_EQ(grid.num_levels(), expected.size());
      std::size_t bins = 0;
      for (std::size_t level = 0; level < expected.size(); ++level) {
        ASSERT_EQ(grid.levels[level].size(), expected[level].size());
        auto at = expected[level].begin();
        for (const Bin& bin : grid.levels[level]) {
          ASSERT_EQ(bin.threshold, at->first);
          ASSERT_FALSE(bin.threshold == 0 && std::signbit(bin.threshold));
          ASSERT_EQ(bin.counts, at->second);
          ++at;
        }
        bins += expected[level].size();
      }
      merged_scores += bins < table.size() ? 1 : 0;
      std::int64_t positives_low = 0;
      std::int64_t negatives_low = 0;
      for (std::size_t row = 0; row < table.size(); ++row) {
        const double weight = table.weight.empty() ? 1 : table.weight[row];
        (table.label[row] != 0 ? positives_low : negatives_low) +=
            static_cast<std::int64_t>(std::floor(weight / units.unit));
      }
      ASSERT_EQ(totals_of(grid).positives_low, positives_low);
      ASSERT_EQ(totals_of(grid).negatives_low, negatives_low);
      ASSERT_EQ(totals_of(grid).rows_low, positives_low + negatives_low);
      for (const double scaled : grid.scaled_uncertainty) {
        ASSERT_GE(scaled, 0);
        ASSERT_LE(scaled, 1);
      }
    }
  }
  EXPECT_GT(merged_scores, 100);
}

TEST(CountDistinct, ScalesUncertaintyOverTheHoldoutAlsoWhenTheFirstLevelHasNoRows) {
  SampleTable table;
  table.score = {0.1, 0.2, 0.3};
  table.uncertainty = {1, 3, 5};
  table.label = {0, 1, 1};
  // Levels: below 0 none; [0, 4) spans 1 to 3, middle 2; from 4 on only 5. The hold-out spans 1 to 5.
  const Grid grid = count_distinct(table.samples(), {0, 4});
  ASSERT_EQ(grid.scaled_uncertainty.size(), 3U);
  EXPECT_DOUBLE_EQ(grid.scaled_uncertainty[1], 0.25);
  EXPECT_DOUBLE_EQ(grid.scaled_uncertainty[2], 1);
}

TEST(CountDistinct, ScalesUncertaintiesWhoseSumOrRangeOverflows) {
  for (const std::vector<double>& uncertainty :
       {std::vector{1e308, 1.4e308, 1.7e308}, std::vector{-kLargest, 0.0, kLargest}}) {
    SampleTable table;
    table.score = {0.1, 0.2, 0.3};
    table.uncertainty = uncertainty;
    table.label = {0, 1, 1};
    const Grid grid = count_distinct(table.samples(), {uncertainty[1]});
    for (const double scaled : grid.scaled_uncertainty) {
      EXPECT_GE(scaled, 0);
      EXPECT_LE(scaled, 1);
    }
    EXPECT_LT(grid.scaled_uncertainty[0], grid.scaled_uncertainty[1]);
  }
}

// ---- WeightUnits

TEST(WeightUnits, AreOneWithoutWeights) {
  const WeightUnits units = weight_units(Samples{}, positive_rounding(max_recall_at_flag_rate({1, 2})));
  EXPECT_EQ(units.unit, 1);
  EXPECT_EQ(units.of_positive(1), 1);
  EXPECT_EQ(units.of_negative(1), 1);
}

TEST(WeightUnits, RoundNegativesUpAndPositivesAsTheConstraintNeeds) {
  const WeightUnits down{0.25, false};
  const WeightUnits up{0.25, true};
  EXPECT_EQ(down.of_positive(0.6), 2);
  EXPECT_EQ(up.of_positive(0.6), 3);
  EXPECT_EQ(down.of_negative(0.6), 3);
  EXPECT_EQ(up.of_negative(0.6), 3);
  for (const WeightUnits& units : {down, up}) {  // multiples of the unit are exact
    EXPECT_EQ(units.of_positive(0.75), 3);
    EXPECT_EQ(units.of_negative(0.75), 3);
    EXPECT_EQ(units.of_positive(0), 0);
    EXPECT_EQ(units.of_negative(0), 0);
  }
}

TEST(WeightUnits, AreAFinePowerOfTwoThatKeepsTheSumWithinTwoToThe52) {
  std::mt19937_64 random(31);
  for (int instance = 0; instance < 500; ++instance) {
    SampleTable table = make_random_samples("weighted", 1 + random() % 100, random);
    const double scale = std::ldexp(1.0, static_cast<int>(random() % 1200) - 800);
    for (double& weight : table.weight) weight *= scale;
    const double largest = *std::max_element(table.weight.begin(), table.weight.end());
    if (largest == 0) continue;
    SCOPED_TRACE("instance " + std::to_string(instance));
    const double unit = weight_units(table.samples(), positive_rounding(max_recall_at_precision({1, 2}))).unit;
    int exponent = 0;
    ASSERT_EQ(std::frexp(unit, &exponent), 0.5);
    const double units_at_most = largest / unit * static_cast<double>(table.size());
    ASSERT_LE(units_at_most, 0x1p52);
    // Each of the two factors is rounded up to a power of two.
    ASSERT_GT(units_at_most, 0x1p50);
  }
}

TEST(WeightUnits, DoNotDependOnTheOrderOfTheRows) {
  std::mt19937_64 random(32);
  SampleTable table = make_random_samples("weighted", 1000, random);
  const WeightUnits units = weight_units(table.samples(), positive_rounding(max_recall_at_precision({1, 2})));
  std::shuffle(table.weight.begin(), table.weight.end(), random);
  EXPECT_EQ(weight_units(table.samples(), positive_rounding(max_recall_at_precision({1, 2}))).unit, units.unit);
}

TEST(WeightUnits, AreOneWhenAllWeightsAreZero) {
  SampleTable table;
  table.score = table.uncertainty = {1, 2};
  table.label = {0, 1};
  table.weight = {0, 0};
  EXPECT_EQ(weight_units(table.samples(), positive_rounding(max_recall_at_precision({1, 2}))).unit, 1);
}

struct WeightedCase {
  SampleTable table;
  bool exact = false;  ///< all weights are multiples of the unit
};

WeightedCase make_weighted_case(const std::string& shape, std::mt19937_64& random) {
  const std::size_t rows = 2 + random() % 12;
  WeightedCase result{make_random_samples("heavy_ties", rows, random), shape == "integers" || shape == "quarters"};
  for (std::size_t row = 0; row < rows; ++row) {
    double weight = random_unit(random);
    if (shape == "tenths") weight = static_cast<double>(1 + random() % 10) / 10;
    if (shape == "thirds") weight = static_cast<double>(1 + random() % 3) / 3;
    if (shape == "wide") weight = std::pow(10.0, 20 * random_unit(random) - 15);
    if (shape == "integers") weight = static_cast<double>(random() % 1'000'000);
    if (shape == "quarters") weight = static_cast<double>(random() % 100) / 4;
    if (shape == "huge") weight = std::ldexp(random_unit(random), 1000 - static_cast<int>(random() % 60));
    result.table.weight.push_back(weight);
  }
  return result;
}

/// Sums of the true weights, in fractions of any size.
struct TrueSums {
  BigFraction positives = 0, negatives = 0, flagged_positives = 0, flagged_negatives = 0;
};

TrueSums true_sums(const SampleTable& table, const std::vector<double>& edges, const Grid& grid,
                   const std::vector<std::int32_t>& taken) {
  TrueSums sums;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const BigFraction weight(table.weight[row]);
    const std::size_t level = test::level_by_definition(edges, table.uncertainty[row]);
    const auto bins = static_cast<std::size_t>(taken[level]);
    const bool flagged = bins > 0 && table.score[row] >= grid.levels[level][bins - 1].threshold;
    (table.label[row] != 0 ? sums.positives : sums.negatives) += weight;
    if (flagged) (table.label[row] != 0 ? sums.flagged_positives : sums.flagged_negatives) += weight;
  }
  return sums;
}

/// By how much the sums keep the constraint, multiplied by its denominator; feasible iff >= 0.
BigFraction margin(const Objective& objective, const TrueSums& sums) {
  const BigFraction bound = big(objective.bound);
  const BigFraction flagged = sums.flagged_positives + sums.flagged_negatives;
  switch (objective.goal) {
    case Goal::kPrecision:
      return sums.flagged_positives - bound * flagged;
    case Goal::kRecall:
      return sums.flagged_positives - bound * sums.positives;
    case Goal::kFalsePositiveRate:
      return bound * sums.negatives - sums.flagged_negatives;
    default:
      return bound * (sums.positives + sums.negatives) - flagged;
  }
}

/// The figure itself, in double.
double figure(Goal goal, const TrueSums& sums) {
  const BigFraction flagged = sums.flagged_positives + sums.flagged_negatives;
  const auto ratio = [](const BigFraction& part, const BigFraction& whole) {
    return whole == 0 ? 0.5 : static_cast<double>(BigFraction(part / whole));
  };
  switch (goal) {
    case Goal::kPrecision:
      return ratio(sums.flagged_positives, flagged);
    case Goal::kRecall:
      return ratio(sums.flagged_positives, sums.positives);
    case Goal::kFalsePositiveRate:
      return ratio(sums.flagged_negatives, sums.negatives);
    default:
      return ratio(flagged, sums.positives + sums.negatives);
  }
}

// The bound of each case is the figure that a random boundary truly has, rounded to a decimal of 3 to 16 digits: the
// boundary lies a hair above or below it, or exactly on it. An accepted boundary must truly meet its bound.
TEST(WeightUnits, NeverLetABoundaryPassThatTrulyBreaksItsBound) {
  int accepted = 0;
  int close_calls = 0;
  int truly_broken = 0;
  for (const std::string shape : {"uniform", "tenths", "thirds", "wide", "integers", "quarters", "huge"}) {
    std::mt19937_64 random(33);
    for (int instance = 0; instance < 250; ++instance) {
      const auto [table, exact] = make_weighted_case(shape, random);
      const Samples samples = table.samples();
      const std::vector<double> edges = {0.25};
      for (const Goal goal : {Goal::kPrecision, Goal::kRecall, Goal::kFalsePositiveRate, Goal::kFlagRate}) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " goal " +
                     std::to_string(static_cast<int>(goal)));
        Objective objective;
        objective.goal = goal;
        const WeightUnits units = weight_units(samples, positive_rounding(objective));
        const Grid grid = count_distinct(samples, edges, units);
        std::vector<std::int32_t> taken;
        for (const auto& level : grid.levels) taken.push_back(static_cast<std::int32_t>(random() % (level.size() + 1)));
        const TrueSums sums = true_sums(table, edges, grid, taken);
        const double digits = std::pow(10.0, static_cast<double>(3 + random() % 14));
        const double value = std::round(figure(goal, sums) * digits) / digits;
        if (!(value >= 0.001 && value <= 1)) continue;
        try {
          objective.bound = decimal_rational(value);
        } catch (const InvalidInput&) {
          continue;  // more digits than a bound may have
        }
        const Counts flagged = flagged_counts(grid, taken);
        const bool feasible = is_feasible(objective, totals_of(grid), flagged);
        const BigFraction truth = margin(objective, sums);
        if (feasible) {
          ASSERT_GE(truth, 0) << to_string(objective.bound);
        }
        // And not over-cautious: every row is rounded by less than a unit, in at most two sums.
        const BigFraction slack = BigFraction(units.unit) * static_cast<int>(2 * table.size());
        const bool defined =
            goal == Goal::kRecall ? flagged.positives > 0 : (goal != Goal::kPrecision || flagged.rows > 0);
        if (defined && (truth > slack || (exact && truth >= 0))) {
          ASSERT_TRUE(feasible) << to_string(objective.bound);
        }
        accepted += feasible ? 1 : 0;
        truly_broken += truth < 0 ? 1 : 0;
        close_calls += truth < slack && truth > -slack ? 1 : 0;
      }
    }
  }
  EXPECT_GT(accepted, 1'000);
  EXPECT_GT(truly_broken, 1'000);
  EXPECT_GT(close_calls, 1'000);
}

TEST(WeightUnits, CountANegativeFarBelowTheUnit) {
  // The quotient of weight and unit is below the smallest double and becomes 0; the row still has to count as one unit,
  // or a boundary with a false positive in it would pass as having precision 1.
  SampleTable table;
  table.score = {0.5, 0.5};
  table.uncertainty = {0, 0};
  table.label = {1, 0};
  table.weight = {1e300, 1e-300};
  const Objective objective = max_recall_at_precision({1, 1});
  const Grid grid = count_distinct(table.samples(), {}, weight_units(table.samples(), positive_rounding(objective)));
  EXPECT_FALSE(is_feasible(objective, totals_of(grid), total_counts(grid)));
}

// ---- merge_bins

Grid one_level(const std::vector<std::int64_t>& rows) {
  return make_grid({std::vector<std::int64_t>(rows.size(), 0)}, {rows});
}

std::vector<std::int64_t> rows_of(const std::vector<Bin>& bins) {
  std::vector<std::int64_t> rows;
  for (const Bin& bin : bins) rows.push_back(bin.counts.rows);
  return rows;
}

// Ten bins of one row into three: cuts wanted behind 3.33 and 6.67 rows, nearest bin ends 3 and 7.
TEST(MergeBins, CutsNearestToEqualShares) {
  const Grid merged = merge_bins(one_level(std::vector<std::int64_t>(10, 1)), 3);
  EXPECT_THAT(rows_of(merged.levels[0]), ElementsAre(3, 4, 3));
  // Thresholds of make_grid are 0, -1, -2, ...: the smallest of bins 0-2, 3-6, 7-9.
  EXPECT_EQ(merged.levels[0][0].threshold, -2);
  EXPECT_EQ(merged.levels[0][1].threshold, -6);
  EXPECT_EQ(merged.levels[0][2].threshold, -9);
}

TEST(MergeBins, HandlesTheEdges) {
  const struct {
    std::vector<std::int64_t> rows;
    std::int64_t bins;
    std::vector<std::int64_t> expected;
  } cases[] = {
      {{1, 2, 3}, 1, {6}},
      {{1, 2, 3}, 1'000'000, {1, 2, 3}},
      {{5}, 4, {5}},
      {{}, 4, {}},
      {{10, 1, 1, 10}, 5, {10, 2, 10}},     // wanted 4.4 8.8 13.2 17.6
      {{1, 1, 100, 1, 1}, 2, {2, 102}},     // wanted 52, as near to 2 as to 102: the higher score
      {{1, 1, 100, 1, 1}, 4, {2, 100, 2}},  // wanted 26 52 78
      {{0, 4, 0, 4, 0}, 2, {4, 4}},         // bins without rows join one beside them
      {{0, 0}, 3, {}},
  };
  for (const auto& [rows, bins, expected] : cases) {
    EXPECT_EQ(rows_of(merge_bins(one_level(rows), bins).levels[0]), expected) << testing::PrintToString(rows);
  }
}

TEST(MergeBins, RefusesOtherNumbersOfBins) {
  const Grid grid = one_level({1});
  EXPECT_EQ(refusal_of([&] { (void)merge_bins(grid, 0); }), "merge_bins: bins is 0, must be 1 to 2^30");
  EXPECT_EQ(refusal_of([&] { (void)merge_bins(grid, (std::int64_t{1} << 30) + 1); }),
            "merge_bins: bins is 1073741825, must be 1 to 2^30");
}

/// Every merged bin is a run of the level's bins: their sum, with the smallest threshold. Returns where the runs end.
std::vector<std::size_t> check_runs(const std::vector<Bin>& bins, const std::vector<Bin>& merged) {
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  for (const Bin& run : merged) {
    EXPECT_GT(run.counts.rows, 0);
    Counts counts;
    while (at < bins.size() && bins[at].threshold >= run.threshold) counts += bins[at++].counts;
    EXPECT_EQ(run.counts, counts);
    EXPECT_EQ(bins[at - 1].threshold, run.threshold);
    ends.push_back(at);
  }
  EXPECT_EQ(total_counts(merged), total_counts(bins));
  return ends;
}

TEST(MergeBins, EqualsTheNearestCutsOnEveryShape) {
  int merged_anything = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(41);
    for (int instance = 0; instance < 15; ++instance) {
      const SampleTable table = make_random_samples(shape, 1 + random() % 300, random);
      const Samples samples = table.samples();
      const Grid distinct = count_distinct(samples, uncertainty_edges(samples.uncertainty, 3),
                                           weight_units(samples, positive_rounding(max_recall_at_precision({1, 2}))));
      for (const std::int64_t bins : {1, 2, 7, 50, 5000}) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " bins " + std::to_string(bins));
        const Grid merged = merge_bins(distinct, bins);
        validate(merged);
        ASSERT_EQ(merged.edges, distinct.edges);
        ASSERT_EQ(merged.unit, distinct.unit);
        ASSERT_EQ(merged.totals, distinct.totals);
        ASSERT_EQ(merged.scaled_uncertainty, distinct.scaled_uncertainty);
        for (std::size_t level = 0; level < merged.num_levels(); ++level) {
          check_runs(distinct.levels[level], merged.levels[level]);
          ASSERT_LE(merged.levels[level].size(), static_cast<std::size_t>(bins));
          merged_anything += merged.levels[level].size() < distinct.levels[level].size() ? 1 : 0;
          if (!table.weight.empty()) continue;
          std::set<std::int64_t> cuts = {0};
          for (const Bin& bin : merged.levels[level]) cuts.insert(*cuts.rbegin() + bin.counts.rows);
          ASSERT_EQ(cuts, test::cuts_at_equal_shares(distinct.levels[level], bins));
          // Both ends of a bin lie within half a bin of their wanted places.
          std::int64_t coarsest = 0;
          for (const Bin& bin : distinct.levels[level]) coarsest = std::max(coarsest, bin.counts.rows);
          const double share = static_cast<double>(total_counts(merged.levels[level]).rows) / static_cast<double>(bins);
          for (const Bin& bin : merged.levels[level]) {
            ASSERT_LE(std::abs(static_cast<double>(bin.counts.rows) - share), static_cast<double>(coarsest) + 1e-9);
          }
        }
      }
    }
  }
  EXPECT_GT(merged_anything, 500);
}

TEST(MergeBins, DividesTheScoreRangeEquallyWhenAsked) {
  // Scores 0 to 8 in four intervals of 2, the range of the whole grid; level 1 has no score in [4, 6).
  SampleTable table;
  table.score = {0, 1, 2, 5, 8, 1, 3, 7};
  table.uncertainty = {0, 0, 0, 0, 0, 1, 1, 1};
  table.label = {0, 0, 1, 1, 1, 0, 1, 1};
  const Grid merged = merge_bins(count_distinct(table.samples(), {1}), 4, Binning::kEquiSpan);
  ASSERT_EQ(merged.num_levels(), 2U);
  EXPECT_THAT(rows_of(merged.levels[0]), ElementsAre(1, 1, 1, 2));
  EXPECT_EQ(merged.levels[0][0].threshold, 8);
  EXPECT_EQ(merged.levels[0][1].threshold, 5);
  EXPECT_EQ(merged.levels[0][2].threshold, 2);
  EXPECT_EQ(merged.levels[0][3].threshold, 0);
  EXPECT_THAT(rows_of(merged.levels[1]), ElementsAre(1, 1, 1));
}

TEST(MergeBins, KeepsEqualIntervalsApartAndWholeOnEveryShape) {
  for (const std::string& shape : test::sample_shapes()) {
    if (shape.find("weighted") != std::string::npos) continue;
    std::mt19937_64 random(42);
    for (int instance = 0; instance < 15; ++instance) {
      const SampleTable table = make_random_samples(shape, 1 + random() % 300, random);
      const Samples samples = table.samples();
      const Grid distinct = count_distinct(samples, uncertainty_edges(samples.uncertainty, 3));
      const auto [low, high] = std::minmax_element(table.score.begin(), table.score.end());
      for (const std::int64_t bins : {1, 2, 7, 50, 5000}) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " bins " + std::to_string(bins));
        const Grid merged = merge_bins(distinct, bins, Binning::kEquiSpan);
        const double width = (*high - *low) / static_cast<double>(bins);
        for (std::size_t level = 0; level < merged.num_levels(); ++level) {
          const auto& fine = distinct.levels[level];
          const auto ends = check_runs(fine, merged.levels[level]);
          ASSERT_LE(ends.size(), static_cast<std::size_t>(bins));
          std::size_t begin = 0;
          for (std::size_t run = 0; run < ends.size(); ++run) {
            // A run is no wider than an interval, and two neighbours together are wider than nothing.
            const double top = fine[begin].threshold;
            ASSERT_LE(top - merged.levels[level][run].threshold, width * (1 + 1e-9) + 1e-300);
            begin = ends[run];
          }
        }
      }
    }
  }
}

TEST(MergeBins, LeavesOutIntervalsWhoseRowsAllHaveWeightZero) {
  for (const Binning binning : {Binning::kEquiWeight, Binning::kEquiSpan}) {
    SampleTable table;
    table.score = {0, 4, 8};
    table.uncertainty = {0, 0, 0};
    table.label = {0, 1, 1};
    table.weight = {1, 0, 1};
    const Grid merged =
        merge_bins(count_distinct(table.samples(), {},
                                  weight_units(table.samples(), positive_rounding(max_recall_at_precision({1, 2})))),
                   4, binning);
    for (const Bin& bin : merged.levels[0]) EXPECT_GT(bin.counts.rows, 0) << to_string(binning);
  }
}

// ---- count_into

// Bins of level 0 start at 0.8 and 0.4. A row at 0.9 and one at 0.8 join the first, 0.5 the second, 0.3 none.
TEST(CountBins, EqualsMergingEveryDistinctScore) {
  std::mt19937_64 random(31);
  int merged_bins = 0;
  for (const std::string& shape : test::sample_shapes()) {
    for (const std::size_t size : {std::size_t{200}, std::size_t{140'000}}) {
      const SampleTable table = make_random_samples(shape, size, random);
      const WeightUnits units = weight_units(table.samples());
      for (const int num_levels : {1, 5}) {
        const std::vector<double> edges = uncertainty_edges(table.samples().uncertainty, num_levels);
        const Grid distinct = count_distinct(table.samples(), edges, units);
        for (const Binning binning : {Binning::kEquiWeight, Binning::kEquiSpan}) {
          for (const std::int64_t bins : kManyRowsBins) {
            SCOPED_TRACE(shape + ", " + std::to_string(num_levels) + " levels, " + std::to_string(bins) + " bins");
            const Grid expected = merge_bins(distinct, bins, binning);
            const Grid found = count_bins(table.samples(), edges, bins, binning, units);
            EXPECT_EQ(found.edges, expected.edges);
            EXPECT_EQ(found.unit, expected.unit);
            EXPECT_EQ(found.totals, expected.totals);
            EXPECT_EQ(found.scaled_uncertainty, expected.scaled_uncertainty);
            ASSERT_EQ(found.num_levels(), expected.num_levels());
            for (std::size_t level = 0; level < expected.num_levels(); ++level) {
              ASSERT_EQ(found.levels[level].size(), expected.levels[level].size());
              for (std::size_t bin = 0; bin < expected.levels[level].size(); ++bin) {
                ASSERT_EQ(found.levels[level][bin].threshold, expected.levels[level][bin].threshold);
                ASSERT_EQ(found.levels[level][bin].highest, expected.levels[level][bin].highest);
                ASSERT_EQ(found.levels[level][bin].counts, expected.levels[level][bin].counts);
                ++merged_bins;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(merged_bins, 10'000);
}

TEST(CountInto, CountsOtherRowsIntoTheSameBins) {
  Grid bins = make_grid({{0, 0}, {0}}, {{1, 1}, {1}});
  bins.edges = {0.5};
  bins.levels[0][0] = {0.8, bins.levels[0][0].counts};
  bins.levels[0][1] = {0.4, bins.levels[0][1].counts};
  bins.levels[1][0] = {0.6, bins.levels[1][0].counts};
  SampleTable table;
  table.score = {0.9, 0.8, 0.5, 0.3, 0.7, 0.5};
  table.uncertainty = {0, 0.1, 0.2, 0.4, 0.5, 0.9};
  table.label = {1, 0, 1, 1, 1, 0};
  const Grid counted = count_into(bins, table.samples());
  EXPECT_EQ(counted.levels[0][0].counts, (Counts{2, 1}));
  EXPECT_EQ(counted.levels[0][1].counts, (Counts{1, 1}));
  EXPECT_EQ(counted.levels[1][0].counts, (Counts{1, 1}));
  EXPECT_EQ(totals_of(counted).positives_low, 4);
  EXPECT_EQ(totals_of(counted).negatives_low, 2);
  EXPECT_EQ(totals_of(counted).rows_low, 6);
  EXPECT_EQ(counted.levels[0][0].threshold, 0.8);
}

TEST(CountInto, RefusesBadRows) {
  const Grid bins = make_grid({{0}}, {{1}});
  SampleTable table;
  table.score = {0.9, std::nan("")};
  table.uncertainty = {0, 0};
  table.label = {0, 1};
  EXPECT_EQ(refusal_of([&] { (void)count_into(bins, table.samples()); }), "samples: score[1] is NaN, must be finite");
}

TEST(CountInto, GivesBackTheGridThatTheRowsMade) {
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(43);
    for (int instance = 0; instance < 10; ++instance) {
      const SampleTable table = make_random_samples(shape, 1 + random() % 300, random);
      const Samples samples = table.samples();
      const WeightUnits units = weight_units(samples, positive_rounding(max_recall_at_flag_rate({1, 2})));
      const Grid distinct = count_distinct(samples, uncertainty_edges(samples.uncertainty, 4), units);
      for (const Grid& grid : {distinct, merge_bins(distinct, 9), merge_bins(distinct, 9, Binning::kEquiSpan)}) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance));
        const Grid counted = count_into(grid, samples, units);
        ASSERT_EQ(totals_of(counted).positives_low, totals_of(grid).positives_low);
        ASSERT_EQ(totals_of(counted).negatives_low, totals_of(grid).negatives_low);
        ASSERT_EQ(totals_of(counted).rows_low, totals_of(grid).rows_low);
        ASSERT_EQ(counted.unit, grid.unit);
        for (std::size_t level = 0; level < grid.num_levels(); ++level) {
          ASSERT_EQ(counted.levels[level].size(), grid.levels[level].size());
          for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
            ASSERT_EQ(counted.levels[level][bin].counts, grid.levels[level][bin].counts);
          }
        }
      }
    }
  }
}

TEST(CountInto, EqualsARowByRowSearchForOtherRows) {
  int below_all = 0;
  for (const std::string& shape : test::sample_shapes()) {
    std::mt19937_64 random(44);
    for (int instance = 0; instance < 10; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      const SampleTable table = make_random_samples(shape, 1 + random() % 100, random);
      const SampleTable other = make_random_samples(shape, random() % 200, random);
      const Samples samples = table.samples();
      const Samples others = other.samples();
      const Grid bins = merge_bins(count_distinct(samples, uncertainty_edges(samples.uncertainty, 4)), 6);
      const WeightUnits units = weight_units(others, positive_rounding(max_recall_at_precision({1, 2})));
      Grid expected = bins;
      for (auto& level : expected.levels) {
        for (Bin& bin : level) bin.counts = {};
      }
      for (std::size_t row = 0; row < other.size(); ++row) {
        auto& level = expected.levels[test::level_by_definition(bins.edges, other.uncertainty[row])];
        const bool positive = other.label[row] != 0;
        const double weight = other.weight.empty() ? 1 : other.weight[row];
        const std::int64_t count = positive ? units.of_positive(weight) : units.of_negative(weight);
        bool found = false;
        const auto& original = bins.levels[static_cast<std::size_t>(&level - expected.levels.data())];
        for (std::size_t at = 0; at < level.size(); ++at) {
          Bin& bin = level[at];
          if (other.score[row] < score_cut(original, at + 1)) continue;
          bin.counts += {count, positive ? count : 0};
          found = true;
          break;
        }
        below_all += found ? 0 : 1;
      }
      const Grid counted = count_into(bins, others, units);
      for (std::size_t level = 0; level < bins.num_levels(); ++level) {
        for (std::size_t bin = 0; bin < bins.levels[level].size(); ++bin) {
          ASSERT_EQ(counted.levels[level][bin].counts, expected.levels[level][bin].counts);
        }
      }
    }
  }
  EXPECT_GT(below_all, 50);
}

}  // namespace
}  // namespace limen
