// SPDX-License-Identifier: MIT
#include "limen/solve/isotonic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "limen/base/error.h"
#include "reference/isotonic_reference.h"
#include "support/random_grid.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::hull_prefixes;
using test::isotonic_by_min_max;
using test::refusal_of;
using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 1 | 3 2 | 4: the pair 3, 2 breaks the order and becomes its mean 2.5; the others stay alone.
TEST(FitIsotonic, PoolsAViolatingPairToItsMean) {
  const IsotonicFit fit = fit_isotonic(std::vector{1.0, 3.0, 2.0, 4.0});
  EXPECT_THAT(fit.fitted, ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(fit.block_end, ElementsAre(1, 3, 4));
}

// Weights 1, 3, 1: the pair 3, 2 becomes (3 * 3 + 1 * 2) / 4 = 2.75.
TEST(FitIsotonic, PoolsAViolatingPairToItsWeightedMean) {
  const IsotonicFit fit = fit_isotonic(std::vector{1.0, 3.0, 2.0}, std::vector{1.0, 3.0, 1.0});
  EXPECT_THAT(fit.fitted, ElementsAre(1, DoubleEq(2.75), DoubleEq(2.75)));
}

// 4 | 5 3 -> 4: equal to the block before, which stays its own. Then 1 pools everything: 13 / 4.
TEST(FitIsotonic, PoolsBackAsFarAsTheOrderNeeds) {
  EXPECT_THAT(fit_isotonic(std::vector{4.0, 5.0, 3.0}).block_end, ElementsAre(1, 3));
  const IsotonicFit fit = fit_isotonic(std::vector{4.0, 5.0, 3.0, 1.0});
  EXPECT_THAT(fit.fitted, Each(DoubleEq(3.25)));
  EXPECT_THAT(fit.block_end, ElementsAre(4));
}

TEST(FitIsotonic, HandlesTheEdges) {
  EXPECT_THAT(fit_isotonic(std::vector<double>{}).fitted, IsEmpty());
  EXPECT_THAT(fit_isotonic(std::vector<double>{}).block_end, IsEmpty());
  EXPECT_THAT(fit_isotonic(std::vector{7.0}).fitted, ElementsAre(7));
  // Equal neighbours stay separate blocks.
  EXPECT_THAT(fit_isotonic(std::vector{2.0, 2.0, 2.0}).block_end, ElementsAre(1, 2, 3));
  // Sorted stays as it is, to the last bit; reversed becomes one block.
  EXPECT_THAT(fit_isotonic(std::vector{0.1, 0.2, 0.3}).fitted, ElementsAre(0.1, 0.2, 0.3));
  EXPECT_THAT(fit_isotonic(std::vector{3.0, 2.0, 1.0}).fitted, ElementsAre(2, 2, 2));
  // A weight that is next to nothing beside the other.
  EXPECT_THAT(fit_isotonic(std::vector{1.0, 0.0}, std::vector{1e-300, 1e300}).fitted, Each(DoubleEq(0)));
  EXPECT_THAT(fit_isotonic(std::vector{1.0, 0.0}, std::vector{1e300, 1e-300}).fitted, Each(DoubleEq(1)));
}

TEST(FitIsotonic, FitsDownwardsWhenAsked) {
  const IsotonicFit fit = fit_isotonic(std::vector{4.0, 2.0, 3.0, 1.0}, {}, {.increasing = false});
  EXPECT_THAT(fit.fitted, ElementsAre(4, 2.5, 2.5, 1));
  EXPECT_THAT(fit.block_end, ElementsAre(1, 3, 4));
}

TEST(FitIsotonic, ClipsToTheBounds) {
  const std::vector<double> y = {-1, 0.25, 0.5, 2};
  EXPECT_THAT(fit_isotonic(y, {}, {.lower_bound = 0.0}).fitted, ElementsAre(0, 0.25, 0.5, 2));
  EXPECT_THAT(fit_isotonic(y, {}, {.upper_bound = 1.0}).fitted, ElementsAre(-1, 0.25, 0.5, 1));
  EXPECT_THAT(fit_isotonic(y, {}, {.lower_bound = 0.3, .upper_bound = 0.3}).fitted, ElementsAre(0.3, 0.3, 0.3, 0.3));
  // Clipping comes after pooling: the blocks are those of the plain fit.
  EXPECT_THAT(fit_isotonic(y, {}, {.lower_bound = 0.3, .upper_bound = 0.3}).block_end, ElementsAre(1, 2, 3, 4));
}

TEST(FitIsotonic, NamesWhatItRefuses) {
  const auto refusal = [](std::vector<double> y, std::vector<double> weight, IsotonicOptions options = {}) {
    return refusal_of([&] { (void)fit_isotonic(y, weight, options); });
  };
  EXPECT_EQ(refusal({1, 2}, {1}), "fit_isotonic: weight has 1 entries, y has 2");
  EXPECT_EQ(refusal({1, std::nan("")}, {}), "fit_isotonic: y[1] is not finite");
  EXPECT_EQ(refusal({kInfinity}, {}), "fit_isotonic: y[0] is not finite");
  EXPECT_EQ(refusal({1, 2}, {1, 0}), "fit_isotonic: weight[1] is 0.000000, must be > 0 and finite");
  EXPECT_EQ(refusal({1, 2}, {-1, 1}), "fit_isotonic: weight[0] is -1.000000, must be > 0 and finite");
  EXPECT_EQ(refusal({1, 2}, {1, std::nan("")}), "fit_isotonic: weight[1] is nan, must be > 0 and finite");
  EXPECT_EQ(refusal({1, 2}, {1, kInfinity}), "fit_isotonic: weight[1] is inf, must be > 0 and finite");
  EXPECT_EQ(refusal({1}, {}, {.lower_bound = 1.0, .upper_bound = 0.0}),
            "fit_isotonic: lower_bound is above upper_bound");
}

std::vector<double> random_y(const std::string& shape, std::size_t n, std::mt19937_64& random) {
  std::vector<double> y(n);
  for (std::size_t row = 0; row < n; ++row) {
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
    y[row] = uniform;
    if (shape == "duplicate_heavy") y[row] = static_cast<double>(random() % 3);
    if (shape == "staircase") y[row] = static_cast<double>(row / 5) + (random() % 4 == 0 ? -2 : 0);
    if (shape == "reversed") y[row] = static_cast<double>(n - row) + 0.1 * uniform;
    if (shape == "labels") y[row] = uniform * static_cast<double>(n) < static_cast<double>(row) ? 1 : 0;
  }
  return y;
}

TEST(FitIsotonic, EqualsTheMinMaxFormulaOnEveryShape) {
  // Values up to 50 in size are averaged at most 60 times, each with a relative error of about 3 * 2^-53:
  // 60 * 3 * 1.1e-16 * 50 = 1e-12.
  constexpr double kTolerance = 1e-12;
  int pooled = 0;
  int single = 0;
  for (const std::string shape : {"uniform", "duplicate_heavy", "staircase", "reversed", "labels"}) {
    std::mt19937_64 random(11);
    for (int instance = 0; instance < 300; ++instance) {
      const std::size_t n = 1 + random() % 50;
      const std::vector<double> y = random_y(shape, n, random);
      std::vector<double> weight(n, 1);
      const bool weighted = instance % 2 == 1;
      for (double& value : weight) value = weighted ? 0.01 + static_cast<double>(random() % 1000) : 1;
      for (const bool increasing : {true, false}) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + (increasing ? " up" : " down"));
        const IsotonicFit fit = fit_isotonic(y, weighted ? weight : std::vector<double>{}, {.increasing = increasing});
        std::vector<double> turned = y;
        for (double& value : turned) value = increasing ? value : -value;
        const std::vector<double> expected = isotonic_by_min_max(turned, weight);
        ASSERT_EQ(fit.fitted.size(), n);
        for (std::size_t row = 0; row < n; ++row) {
          ASSERT_NEAR(increasing ? fit.fitted[row] : -fit.fitted[row], expected[row], kTolerance) << "row " << row;
        }
        // Blocks: cover the rows, keep their mass, constant inside and in order.
        ASSERT_EQ(fit.block_end.back(), n);
        std::size_t begin = 0;
        for (const std::size_t end : fit.block_end) {
          ASSERT_LT(begin, end);
          long double mass = 0;
          long double weights = 0;
          for (std::size_t row = begin; row < end; ++row) {
            mass += static_cast<long double>(y[row]) * weight[row];
            weights += weight[row];
            ASSERT_EQ(fit.fitted[row], fit.fitted[begin]);
          }
          ASSERT_NEAR(static_cast<double>(mass / weights), fit.fitted[begin], kTolerance);
          if (begin > 0 && increasing) {
            ASSERT_GE(fit.fitted[begin], fit.fitted[begin - 1]);
          }
          if (begin > 0 && !increasing) {
            ASSERT_LE(fit.fitted[begin], fit.fitted[begin - 1]);
          }
          (end - begin > 1 ? pooled : single) += 1;
          begin = end;
        }
      }
    }
  }
  EXPECT_GT(pooled, 5'000);
  EXPECT_GT(single, 5'000);
}

TEST(FitIsotonic, AveragesValuesWhoseDifferenceOverflows) {
  EXPECT_THAT(fit_isotonic(std::vector{1e308, -1e308}).fitted, ElementsAre(0, 0));
}

TEST(FitIsotonic, AveragesWithWeightsWhoseSumOverflows) {
  EXPECT_THAT(fit_isotonic(std::vector{1.0, 0.0}, std::vector{1e308, 1e308}).fitted, ElementsAre(0.5, 0.5));
}

std::vector<std::size_t> ends_of(const std::vector<Block>& blocks) {
  std::vector<std::size_t> ends;
  for (const Block& block : blocks) ends.push_back(block.end);
  return ends;
}

std::vector<Bin> make_level(const std::vector<std::int64_t>& positives, const std::vector<std::int64_t>& rows) {
  return make_grid({positives}, {rows}).levels[0];
}

// 1/2, 2/2 pool to 3/4; 1/2 falls below it; 0/0 is empty; 1/1 pools with 1/2 to 2/3, which is below 3/4.
TEST(ConcaveBlocks, PoolsBinsUntilTheRatesFall) {
  const auto blocks = concave_blocks(make_level({1, 2, 1, 0, 1}, {2, 2, 2, 0, 1}));
  ASSERT_THAT(ends_of(blocks), ElementsAre(2, 5));
  EXPECT_EQ(blocks[0].counts, (Counts{4, 3}));
  EXPECT_EQ(blocks[1].counts, (Counts{3, 2}));
}

TEST(ConcaveBlocks, HandlesTheEdges) {
  EXPECT_THAT(concave_blocks({}), IsEmpty());
  EXPECT_THAT(concave_blocks(make_level({0, 0}, {0, 0})), IsEmpty());
  EXPECT_THAT(ends_of(concave_blocks(make_level({0}, {5}))), ElementsAre(1));
  // Equal rates stay separate blocks, also where the second had to be pooled first: 1/2 | 0/1 1/1.
  EXPECT_THAT(ends_of(concave_blocks(make_level({1, 2}, {2, 4}))), ElementsAre(1, 2));
  EXPECT_THAT(ends_of(concave_blocks(make_level({1, 0, 1}, {2, 1, 1}))), ElementsAre(1, 3));
  // Empty bins before, between and after: no block ends in one.
  EXPECT_THAT(ends_of(concave_blocks(make_level({0, 2, 0, 1, 0}, {0, 2, 0, 2, 0}))), ElementsAre(2, 4));
  // All negative and all positive: one block per bin.
  EXPECT_THAT(ends_of(concave_blocks(make_level({0, 0, 0}, {1, 2, 3}))), ElementsAre(1, 2, 3));
  EXPECT_THAT(ends_of(concave_blocks(make_level({1, 2, 3}, {1, 2, 3}))), ElementsAre(1, 2, 3));
}

TEST(ConcaveBlocks, ComparesRatesExactlyAtTheLargestCounts) {
  // a / (a + 1) rises with a: the second bin has the higher rate by 1 / (a + 1)(a + 2), far below double precision.
  constexpr std::int64_t kLarge = std::int64_t{1} << 51;
  EXPECT_THAT(ends_of(concave_blocks(make_level({kLarge, kLarge + 1}, {kLarge + 1, kLarge + 2}))), ElementsAre(2));
  EXPECT_THAT(ends_of(concave_blocks(make_level({kLarge + 1, kLarge}, {kLarge + 2, kLarge + 1}))), ElementsAre(1, 2));
}

TEST(ConcaveBlocks, EqualsTheUpperHullOfAllPrefixesOnEveryShape) {
  int pooled = 0;
  int collinear = 0;
  for (const std::string shape :
       {"uniform", "duplicate_heavy", "staircase", "reversed", "empty_bins", "equal_rates", "huge"}) {
    std::mt19937_64 random(12);
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    for (int instance = 0; instance < 300; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      const std::int64_t num_bins = 1 + below(20);
      std::vector<std::int64_t> rows;
      std::vector<std::int64_t> positives;
      for (std::int64_t bin = 0; bin < num_bins; ++bin) {
        std::int64_t n = 1 + below(20);
        if (shape == "duplicate_heavy" || (shape == "empty_bins" && below(2) == 0)) n = below(3);
        if (shape == "huge") n = below(std::int64_t{1} << 48);
        std::int64_t p = below(n + 1);
        if (shape == "staircase") p = n * (num_bins - bin) / (num_bins + 1);
        if (shape == "reversed") p = n * bin / num_bins;
        if (shape == "equal_rates") {
          n *= 3;
          p = n / 3 * (1 + below(2));
        }
        rows.push_back(n);
        positives.push_back(p);
      }
      const std::vector<Bin> level = make_level(positives, rows);
      const auto blocks = concave_blocks(level);
      ASSERT_EQ(ends_of(blocks), hull_prefixes(level));
      std::size_t begin = 0;
      for (std::size_t block = 0; block < blocks.size(); ++block) {
        const auto bins = std::span(level).subspan(begin, blocks[block].end - begin);
        ASSERT_EQ(blocks[block].counts, total_counts(bins));
        pooled += bins.size() > 1 ? 1 : 0;
        if (block > 0) {
          ASSERT_FALSE(higher_rate(blocks[block].counts, blocks[block - 1].counts));
          collinear += higher_rate(blocks[block - 1].counts, blocks[block].counts) ? 0 : 1;
        }
        begin = blocks[block].end;
      }
    }
  }
  EXPECT_GT(pooled, 2'000);
  EXPECT_GT(collinear, 500);
}

TEST(HigherRate, IsStrictAndExact) {
  EXPECT_TRUE(higher_rate({3, 2}, {2, 1}));
  EXPECT_FALSE(higher_rate({2, 1}, {3, 2}));
  EXPECT_FALSE(higher_rate({4, 2}, {2, 1}));
  EXPECT_FALSE(higher_rate({2, 0}, {5, 0}));
  constexpr std::int64_t kLarge = std::int64_t{1} << 52;
  EXPECT_TRUE(higher_rate({kLarge + 1, kLarge}, {kLarge, kLarge - 1}));
  EXPECT_FALSE(higher_rate({kLarge, kLarge - 1}, {kLarge + 1, kLarge}));
}

}  // namespace
}  // namespace limen
