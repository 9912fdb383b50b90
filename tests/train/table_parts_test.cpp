// SPDX-License-Identifier: MIT
#include "limen/train/table_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/frames.h"
#include "support/refusal.h"

namespace limen::train {
namespace {

using test::refusal_of;
using testing::ElementsAre;

const Frame kDays = test::frame_of({test::number_column("x", {1, 2, 3}),
                                    test::text_column("day", {"1970-01-03", "1970-01-01", "1970-01-02 00:00:30"})});

// Seconds since 1970: two days, none, and a day and half a minute. Hold-out begins behind the first day, test with the
// second.
const SplitUse kByDay = {.time_column = "day", .cuts = {.holdout_from = 86'401, .test_from = 172'800}};

TEST(PartsOfRows, AllAreForTrainingWithoutASplit) {
  EXPECT_THAT(parts_of_rows(std::nullopt, kDays, 7), ElementsAre(Part::kTrain, Part::kTrain, Part::kTrain));
}

TEST(PartsOfRows, ByTimeTheyGoByTheCuts) {
  EXPECT_THAT(times_of_rows(kByDay, kDays, 0), ElementsAre(172'800, 0, 86'430));
  EXPECT_THAT(parts_of_rows(kByDay, kDays, 0), ElementsAre(Part::kTest, Part::kTrain, Part::kHoldout));
}

TEST(PartsOfRows, RandomOnesGoByTheNumberOfTheRowInTheTable) {
  const SplitUse split = {.options = {.fractions = {0.4, 0.3, 0.3}, .seed = 3}};
  const std::vector<Part> all = split_rows(0, 300, split.options);
  for (std::uint64_t first_row = 0; first_row < 300; first_row += 3) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first_row);
    ASSERT_EQ(parts_of_rows(split, kDays, first_row), std::vector(begin, begin + 3)) << first_row;
  }
}

TEST(PartsOfRows, FramesWithoutTheirTimesAreRefused) {
  SplitUse split = kByDay;
  split.time_column = "hour";
  EXPECT_EQ(refusal_of([&] { (void)parts_of_rows(split, kDays, 0); }),
            "times_of_rows: has no column \"hour\", by which the parts were made");
  Frame longer = kDays;
  longer.num_rows = 4;
  EXPECT_EQ(refusal_of([&] { (void)parts_of_rows(kByDay, longer, 0); }),
            "times_of_rows: column \"day\": has 3 rows, the frame has 4");
  const Frame gap = test::frame_of({test::text_column("day", {"1970-01-01", ""})});
  EXPECT_THAT(refusal_of([&] { (void)parts_of_rows(kByDay, gap, 40); }),
              testing::StartsWith("time_values: row 42: column \"day\": is missing, must be "));
}

TEST(AddRows, AppendsTheChosenOnes) {
  const FeatureShape shape = {.num_numeric = 2, .num_tokens = {9}};
  const FeatureRows from = {.num_rows = 3, .numeric = {1, 2, 3, 4, 5, 6}, .categorical = {7, 8, 0}, .label = {0, 1, 1}};
  FeatureRows to;
  add_rows(shape, from, std::vector<std::uint8_t>{1, 0, 1}, to);
  add_rows(shape, from, std::vector<std::uint8_t>{0, 0, 0}, to);
  add_rows(shape, from, std::vector<std::uint8_t>{0, 1, 0}, to);
  EXPECT_EQ(to.num_rows, 3U);
  EXPECT_THAT(to.numeric, ElementsAre(1, 2, 5, 6, 3, 4));
  EXPECT_THAT(to.categorical, ElementsAre(7, 0, 8));
  EXPECT_THAT(to.label, ElementsAre(0, 1, 1));
  FeatureRows unlabelled = from;
  unlabelled.label.clear();
  FeatureRows rest;
  add_rows(shape, unlabelled, std::vector<std::uint8_t>{0, 1, 0}, rest);
  EXPECT_THAT(rest.numeric, ElementsAre(3, 4));
  EXPECT_TRUE(rest.label.empty());
}

TEST(AddRows, ArraysThatDoNotFitAreRefused) {
  const FeatureShape shape = {.num_numeric = 1};
  const FeatureRows from = {.num_rows = 2, .numeric = {1, 2}};
  FeatureRows to;
  const std::string refused = "add_rows: the arrays do not fit the number of rows, which is 2";
  EXPECT_EQ(refusal_of([&] { add_rows(shape, from, std::vector<std::uint8_t>{1}, to); }), refused);
  const std::vector<std::uint8_t> both = {1, 1};
  EXPECT_EQ(refusal_of([&] { add_rows({.num_numeric = 2}, from, both, to); }), refused);
  EXPECT_EQ(refusal_of([&] { add_rows({.num_numeric = 1, .num_tokens = {3}}, from, both, to); }), refused);
  FeatureRows labelled = from;
  labelled.label = {1};
  EXPECT_EQ(refusal_of([&] { add_rows(shape, labelled, both, to); }), refused);
  EXPECT_EQ(to.num_rows, 0U);
}

}  // namespace
}  // namespace limen::train
