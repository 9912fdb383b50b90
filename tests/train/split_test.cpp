// SPDX-License-Identifier: MIT
#include "limen/train/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "limen/base/dates.h"
#include "limen/base/undersampling.h"
#include "support/refusal.h"

namespace limen::train {
namespace {

using test::refusal_of;

constexpr Part kTrain = Part::kTrain;
constexpr Part kHoldout = Part::kHoldout;
constexpr Part kTest = Part::kTest;

std::array<std::size_t, 3> sizes(const std::vector<Part>& parts) {
  std::array<std::size_t, 3> count = {};
  for (const Part part : parts) ++count[static_cast<std::size_t>(part)];
  return count;
}

TEST(SplitRows, GivesEachPartItsShare) {
  const std::size_t rows = 100'000;
  const auto count = sizes(split_rows(0, rows, {.fractions = {0.6, 0.2, 0.2}, .seed = 5}));
  // Five standard deviations of a binomial count: 5 * sqrt(n p (1 - p)) < 800 for every share.
  EXPECT_NEAR(static_cast<double>(count[0]), 60'000, 800);
  EXPECT_NEAR(static_cast<double>(count[1]), 20'000, 800);
  EXPECT_NEAR(static_cast<double>(count[2]), 20'000, 800);
}

TEST(SplitRows, DoesNotDependOnBatches) {
  const SplitOptions options{.seed = 7};
  const std::vector<Part> whole = split_rows(0, 10'000, options);
  for (const std::size_t size : {1U, 17U, 4096U}) {
    std::vector<Part> joined;
    for (std::size_t first = 0; first < whole.size(); first += size) {
      const auto batch = split_rows(first, std::min(size, whole.size() - first), options);
      joined.insert(joined.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(joined, whole) << size;
  }
}

TEST(SplitRows, ChangesWithTheSeedAndOnlyThen) {
  const auto first = split_rows(0, 1000, {.seed = 1});
  EXPECT_EQ(first, split_rows(0, 1000, {.seed = 1}));
  EXPECT_NE(first, split_rows(0, 1000, {.seed = 2}));
  EXPECT_TRUE(split_rows(0, 0, {}).empty());
}

TEST(SplitRows, GivesNoRowToAShareOfZero) {
  EXPECT_EQ(sizes(split_rows(0, 10'000, {.fractions = {1, 0, 0}}))[0], 10'000U);
  EXPECT_EQ(sizes(split_rows(0, 10'000, {.fractions = {0.5, 0.5, 0}}))[2], 0U);
  EXPECT_EQ(sizes(split_rows(0, 10'000, {.fractions = {0.5, 0, 0.5}}))[1], 0U);
  // 0.7 + 0.3 is rounded; nothing may fall behind it.
  EXPECT_EQ(sizes(split_rows(0, 100'000, {.fractions = {0.7, 0.3, 0}}))[2], 0U);
}

TEST(SplitByTime, PutsTheEarliestRowsIntoTraining) {
  // Sorted: 1 2 3 4 5 6 7 8 9 10, shares of 6, 2 and 2 rows.
  const std::vector<double> time = {10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
  const std::vector<Part> expected = {kTest, kTrain, kTest, kTrain, kHoldout, kTrain, kHoldout, kTrain, kTrain, kTrain};
  EXPECT_EQ(split_by_time(time, {.fractions = {0.6, 0.2, 0.2}}), expected);
}

TEST(SplitByTime, KeepsRowsOfOneTimeTogether) {
  // A cut after 3 rows falls into the fours: the edges are at 2 and 6 rows, 2 is nearer.
  EXPECT_EQ(split_by_time(std::vector<double>{1, 2, 4, 4, 4, 4}, {.fractions = {0.5, 0, 0.5}}),
            (std::vector<Part>{kTrain, kTrain, kTest, kTest, kTest, kTest}));
  // Training must not be empty, however many rows the first time has.
  EXPECT_EQ(split_by_time(std::vector<double>{1, 1, 1, 1, 2, 3}, {.fractions = {0.1, 0.1, 0.8}}),
            (std::vector<Part>{kTrain, kTrain, kTrain, kTrain, kHoldout, kTest}));
  EXPECT_EQ(split_by_time(std::vector<double>{1, 2, 3, 3, 3, 3}, {.fractions = {0.8, 0.1, 0.1}}),
            (std::vector<Part>{kTrain, kHoldout, kTest, kTest, kTest, kTest}));
  EXPECT_EQ(split_by_time(std::vector<double>{5, 5}, {.fractions = {1, 0, 0}}), (std::vector<Part>{kTrain, kTrain}));
}

TEST(SplitByTime, IsOrderedUntiedAndNearTheShares) {
  std::mt19937_64 random(11);
  int refused = 0;
  for (int instance = 0; instance < 3000; ++instance) {
    const std::size_t rows = 1 + random() % 60;
    const std::uint64_t distinct = 1 + random() % 40;
    std::vector<double> time(rows);
    for (double& value : time) value = static_cast<double>(random() % distinct) - 7;
    constexpr std::array<double, 3> kShares[] = {{0.6, 0.2, 0.2}, {0.5, 0.5, 0}, {0.9, 0, 0.1}, {0.34, 0.33, 0.33}};
    const SplitOptions options{.fractions = kShares[random() % 4]};
    std::vector<Part> parts;
    try {
      parts = split_by_time(time, options);
    } catch (const InvalidInput&) {
      std::sort(time.begin(), time.end());
      const auto different = std::unique(time.begin(), time.end()) - time.begin();
      EXPECT_LT(different, options.fractions[1] > 0 && options.fractions[2] > 0 ? 3 : 2);
      ++refused;
      continue;
    }
    const auto count = sizes(parts);
    std::array<std::size_t, 41> of_time = {};
    for (const double value : time) ++of_time[static_cast<std::size_t>(value + 7)];
    const std::size_t largest = *std::max_element(of_time.begin(), of_time.end());
    for (std::size_t part = 0; part < 3; ++part) EXPECT_EQ(count[part] == 0, options.fractions[part] == 0) << instance;
    for (std::size_t left = 0; left < rows; ++left) {
      for (std::size_t right = 0; right < rows; ++right) {
        if (time[left] <= time[right]) {
          EXPECT_LE(parts[left], parts[right]) << instance;
        }
      }
    }
    // No cut is further from its share than the ties, and the rows reserved for parts that must not be empty, demand.
    EXPECT_LE(std::abs(static_cast<double>(count[0]) - options.fractions[0] * static_cast<double>(rows)),
              2.0 * static_cast<double>(largest) + 1)
        << instance;
  }
  EXPECT_GT(refused, 50);
}

TEST(SplitByTime, RefusesWhatCannotBeCut) {
  const SplitOptions options;
  EXPECT_EQ(refusal_of([&] { (void)split_by_time({}, options); }),
            "time_cuts: there are no rows, at least one was needed");
  EXPECT_EQ(refusal_of([&] {
              (void)split_by_time(std::vector<double>{1, 1, 2}, options);
            }),
            "time_cuts: there are too few different times for 3 parts: rows of one time stay together");
  EXPECT_EQ(refusal_of([&] {
              (void)split_by_time(std::vector<double>{1, std::nan("")}, options);
            }),
            "time_cuts: time[1] is nan, must be finite");
}

TEST(SplitRows, IsIndependentOfUndersampling) {
  const SplitOptions options{.fractions = {0.5, 0.25, 0.25}, .seed = 9};
  const std::size_t rows = 40'000;
  const auto parts = split_rows(0, rows, options);
  const Undersampling undersampling(2, 9);
  double both = 0;
  for (std::size_t row = 0; row < rows; ++row) both += parts[row] == kTrain && undersampling.keeps(row) ? 1 : 0;
  EXPECT_NEAR(both, 10'000, 5 * std::sqrt(rows * 0.25 * 0.75));
}

TEST(SplitOptions, AreChecked) {
  const auto refusal = [](const SplitOptions& options) { return refusal_of([&] { validate(options); }); };
  EXPECT_EQ(refusal({}), "(not refused)");
  EXPECT_EQ(refusal({.fractions = {0.5, 0.6, -0.1}}), "split: share of test is -0.1, must be 0 to 1");
  EXPECT_EQ(refusal({.fractions = {std::nan(""), 0.5, 0.5}}), "split: share of training is nan, must be 0 to 1");
  EXPECT_EQ(refusal({.fractions = {0.5, 0.25, 0.125}}), "split: shares add up to 0.875, must be 1");
  EXPECT_EQ(refusal({.fractions = {0, 0.5, 0.5}}), "split: share of training is 0, must be above 0");
  EXPECT_EQ(refusal({.tau = 0.5}), "split: tau is 0.5, must be 1 to 1e9");
  EXPECT_EQ(refusal({.tau = std::numeric_limits<double>::infinity()}), "split: tau is inf, must be 1 to 1e9");
}

TEST(ParseFractions, ReadsSharesAndRefusesTheRest) {
  EXPECT_EQ(parse_fractions("0.6,0.2,0.2"), (std::array<double, 3>{0.6, 0.2, 0.2}));
  EXPECT_EQ(parse_fractions("0.75,0.25"), (std::array<double, 3>{0.75, 0.25, 0}));
  const std::string needed = ", must be the shares of training, hold-out and test, such as 0.6,0.2,0.2";
  for (const std::string text : {"", "1", "0.6,", "0.6,x,0.2", "0.25,0.25,0.25,0.25", "0.6 0.2 0.2", ",,"}) {
    EXPECT_EQ(refusal_of([&] { (void)parse_fractions(text); }), "split: is \"" + text + "\"" + needed);
  }
  EXPECT_EQ(refusal_of([] { (void)parse_fractions("0.5,0.25,0.5"); }), "split: shares add up to 1.25, must be 1");
}

}  // namespace
}  // namespace limen::train
