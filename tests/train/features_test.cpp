// SPDX-License-Identifier: MIT
#include "limen/train/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "reference/features_reference.h"
#include "support/frames.h"
#include "support/refusal.h"

namespace limen::train {
namespace {

using test::frame_of;
using test::number_column;
using test::text_column;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kMissing = std::nan("");

FeatureTransform fit(const Frame& frame, FeatureOptions options) {
  FeatureFitter fitter(std::move(options));
  fitter.add(frame);
  return fitter.finish();
}

void expect_same(const FeatureRows& left, const FeatureRows& right, const std::string& what) {
  EXPECT_EQ(left.num_rows, right.num_rows) << what;
  EXPECT_EQ(left.numeric, right.numeric) << what;
  EXPECT_EQ(left.categorical, right.categorical) << what;
  EXPECT_EQ(left.fraction, right.fraction) << what;
  EXPECT_EQ(left.label, right.label) << what;
}

TEST(NumericFeature, IsCentredByTheMedianAndScaledByTheQuartiles) {
  // Of 0 1 2 3 4 the quartiles are 1 2 3: (x - 2) / (2 / 1.349).
  const FeatureTransform transform = fit(frame_of({number_column("x", {3, 0, 4, 1, 2})}), {});
  EXPECT_EQ(transform.shape(), (FeatureShape{.num_numeric = 1}));
  const FeatureRows rows = transform.encode(frame_of({number_column("x", {2, 4, -1000, kMissing})}));
  EXPECT_THAT(rows.numeric, ElementsAre(0, 1.349F, -10, 0));
  EXPECT_TRUE(rows.label.empty());
}

TEST(NumericFeature, IsScaledByTheStandardDeviationWhenQuartilesAgree) {
  // 0 0 0 0 0 0 0 0 1 1: mean 0.2, variance 0.16. Median 0.
  const FeatureTransform transform = fit(frame_of({number_column("x", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0})}), {.clip = 2});
  EXPECT_THAT(transform.encode(frame_of({number_column("x", {0, 1, 0.4})})).numeric, ElementsAre(0, 2, 1));
}

TEST(NumericFeature, HasAnIndicatorWhenTrainingHasMissingValues) {
  const FeatureTransform transform = fit(frame_of({number_column("x", {0, 1, kMissing, 2, 3, 4, kInfinity})}), {});
  EXPECT_THAT(transform.numeric_names(), ElementsAre("x", "x is missing"));
  EXPECT_THAT(transform.encode(frame_of({number_column("x", {2, kMissing, -kInfinity})})).numeric,
              ElementsAre(0, 0, 0, 1, 0, 1));
  EXPECT_EQ(transform.summary()[1], "x: numeric, with missing indicator, 28.6% missing; 1 infinite, taken as missing");
}

TEST(NumericFeature, TakesTheLogarithmOfHeavyTails) {
  std::vector<double> heavy, light, far;
  for (int at = 0; at < 1000; ++at) {
    const double share = (at + 0.5) / 1000;
    heavy.push_back(1 / (1 - share));      // Pareto
    light.push_back(-std::log1p(-share));  // exponential
    far.push_back(1e9 + 1 / (1 - share));  // the logarithm does not shorten this tail
  }
  const Frame frame =
      frame_of({number_column("heavy", heavy), number_column("light", light), number_column("far", far)});
  const auto lines = fit(frame, {}).summary();
  EXPECT_EQ(lines[1], "heavy: numeric, log, 128 knots");
  EXPECT_EQ(lines[2], "light: numeric, 128 knots");
  EXPECT_EQ(lines[3], "far: numeric, 128 knots");
  const auto forced = fit(frame, {.scaling = Scaling::kLog, .scaling_of = {{"heavy", Scaling::kLinear}}}).summary();
  EXPECT_EQ(forced[1], "heavy: numeric, 128 knots");
  EXPECT_EQ(forced[2], "light: numeric, log, 128 knots");
}

TEST(NumericFeature, LogIsOddAndFinite) {
  const FeatureTransform transform = fit(frame_of({number_column("x", {-3, -1, 0, 1, 3})}), {.scaling = Scaling::kLog});
  const auto out = transform.encode(frame_of({number_column("x", {0, 1, -1, 1e308, -1e308})})).numeric;
  // log(1 + x) of the quartiles -1 and 1 is -log 2 and log 2.
  EXPECT_THAT(out,
              ElementsAre(0, testing::FloatNear(1.349F / 2, 1e-6F), testing::FloatNear(-1.349F / 2, 1e-6F), 10, -10));
}

TEST(NumericFeature, OfOneValueIsLeftOutOrOnlyAnIndicator) {
  const FeatureTransform transform =
      fit(frame_of({number_column("constant", {7, 7, 7}), number_column("empty", {kMissing, kInfinity, kMissing}),
                    number_column("flag", {7, kMissing, 7}), number_column("x", {1, 2, 3})}),
          {});
  EXPECT_THAT(transform.numeric_names(), ElementsAre("flag is missing", "x"));
  const auto lines = transform.summary();
  EXPECT_EQ(lines[0], "3 training rows; 2 numeric inputs, 0 categorical");
  EXPECT_EQ(lines[1], "constant: not used; left out: every row has 7");
  EXPECT_EQ(lines[2], "empty: not used, 100.0% missing; left out: no row has a value");
  EXPECT_EQ(
      lines[3],
      "flag: numeric, with missing indicator, 33.3% missing; every value is 7: only whether it is missing is used");
  // Columns that are left out need not be there.
  EXPECT_THAT(transform.encode(frame_of({number_column("x", {2}), number_column("flag", {kMissing})})).numeric,
              ElementsAre(1, 0));
}

TEST(NumericFeature, StaysFiniteForHugeAndTinyValues) {
  const double most = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& values : {std::vector<double>{-most, most, 0, most, -most},
                                            {0, tiny, 2 * tiny, 3 * tiny},
                                            {most, most, most, 1, most, most},
                                            {0, 0, 0, 0, 0, 0, 0, tiny},
                                            {-most, most},
                                            {1e-300, 1e300, 1, 2, 3}}) {
    for (const Scaling scaling : {Scaling::kAuto, Scaling::kLinear, Scaling::kLog}) {
      const FeatureTransform transform = fit(frame_of({number_column("x", values)}), {.scaling = scaling});
      std::vector<double> probe = values;
      probe.insert(probe.end(), {most, -most, tiny, -0.0, 1});
      for (const float value : transform.encode(frame_of({number_column("x", probe)})).numeric) {
        EXPECT_TRUE(std::abs(value) <= 10) << value;
      }
    }
  }
}

TEST(NumericFeature, ReadsNumbersWrittenAsText) {
  const FeatureTransform transform =
      fit(frame_of({text_column("x", {"3", "0", "4", "1", "", "2"})}), {.numeric = {"x"}});
  EXPECT_THAT(transform.encode(frame_of({text_column("x", {"2", "4.0", "nan", ""})})).numeric,
              ElementsAre(0, 0, 1.349F, 0, 0, 1, 0, 1));
}

/// Where values lie on the knots, from 0 to the number of knots less 1; NaN: missing.
std::vector<double> places_of(const FeatureTransform& transform, const std::vector<double>& values) {
  const FeatureRows rows = transform.encode(frame_of({number_column("x", values)}));
  std::vector<double> places;
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    const bool missing = rows.categorical[row] == 0;
    if (missing) {
      EXPECT_EQ(rows.fraction[row], 0.0F);
    }
    places.push_back(missing ? kMissing : rows.categorical[row] - 1 + static_cast<double>(rows.fraction[row]));
  }
  return places;
}

/// The knots of a column x, as its file has them.
std::vector<double> knots_of(const FeatureTransform& transform) {
  const std::string json = transform.to_json();
  const std::size_t begin = json.find("\"knots\":[") + 9;
  std::vector<double> knots;
  std::istringstream list(json.substr(begin, json.find(']', begin) - begin));
  for (std::string number; std::getline(list, number, ',');) knots.push_back(std::stod(number));
  return knots;
}

TEST(NumericKnots, AreTheValuesWhenThereAreFew) {
  const FeatureTransform transform = fit(frame_of({number_column("x", {3, 0, 4, 1, 2})}), {.min_count = 1});
  // 0 missing, 1 to 5 the values 0 to 4.
  EXPECT_EQ(transform.shape(), (FeatureShape{.num_numeric = 1, .num_tokens = {6}, .knots = {{0, 0}}}));
  EXPECT_THAT(transform.categorical_names(), ElementsAre("knots of x"));
  EXPECT_EQ(transform.summary()[1], "x: numeric, 5 knots");
  // Beyond the ends it goes on for one interval.
  EXPECT_THAT(places_of(transform, {-5, -0.5, 0, -0.0, 0.5, 1, 3.75, 4, 4.5, 99}),
              ElementsAre(-1, -0.5, 0, 0, 0.5, 1, 3.75, 4, 4.5, 5));
  for (const double place : places_of(transform, {kMissing, kInfinity, -kInfinity})) EXPECT_TRUE(std::isnan(place));
}

TEST(NumericKnots, HaveEquallyManyRowsWhenThereAreManyValues) {
  std::vector<double> values(100);
  std::iota(values.rbegin(), values.rend(), 0.0);
  // The ends, and of the 98 values between them one in the middle of each half.
  EXPECT_THAT(knots_of(fit(frame_of({number_column("x", values)}), {.numeric_knots = 4})), ElementsAre(0, 25, 74, 99));
  // Ten rows to each: as many as 100 rows have room for.
  EXPECT_EQ(knots_of(fit(frame_of({number_column("x", values)}), {.min_count = 10})).size(), 10U);
}

TEST(NumericKnots, GiveAValueOfManyRowsAKnotOfItsOwn) {
  // 50 rows of 0, 30 of 7: of the other 20, but for the highest, two at equal distances.
  std::vector<double> values(50, 0.0);
  for (int at = 1; at <= 6; ++at) values.push_back(at);
  values.insert(values.end(), 30, 7.0);
  for (int at = 8; at <= 21; ++at) values.push_back(at);
  EXPECT_THAT(knots_of(fit(frame_of({number_column("x", values)}), {.numeric_knots = 5})),
              ElementsAre(0, 5, 7, 16, 21));
}

TEST(NumericKnots, AreNotAtValuesOfTooFewRows) {
  // 5, 2, 5, 5 and 1 rows of the values 1 to 5: of three rows each there may be six knots.
  const Frame train = frame_of({number_column("x", {1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5})});
  EXPECT_THAT(places_of(fit(train, {.min_count = 3}), {1, 2, 3, 4, 5}), ElementsAre(0, 0.5, 1, 2, 3));
  EXPECT_THAT(places_of(fit(train, {.min_count = 1}), {1, 2, 3, 4, 5}), ElementsAre(0, 1, 2, 3, 4));
  // Of five rows each there may be three: the ends, and one in the middle of the others.
  EXPECT_THAT(knots_of(fit(train, {.min_count = 5})), ElementsAre(1, 3, 5));
  // Of the ends alone the scaled value tells as much.
  EXPECT_TRUE(fit(train, {.min_count = 8}).shape().num_tokens.empty());
}

TEST(NumericKnots, AreLeftOutOfTwoValuesAndOnDemand) {
  const Frame train = frame_of({number_column("x", {0, 1, 0, 1}), number_column("z", {1, 2, 3, 4})});
  EXPECT_THAT(fit(train, {.min_count = 1}).categorical_names(), ElementsAre("knots of z"));
  for (const int knots : {0, 1, 2}) {
    EXPECT_TRUE(fit(train, {.numeric_knots = knots, .min_count = 1}).categorical_names().empty()) << knots;
  }
  EXPECT_THAT(fit(train, {.numeric_knots = 3, .min_count = 1}).shape().num_tokens, ElementsAre(4));
}

TEST(NumericKnots, HaveATokenOfMissingValues) {
  const std::vector<double> values = {1, kMissing, 2, 3, kInfinity, -kInfinity};
  const Frame train = frame_of({number_column("x", values), number_column("z", {1, 2, 3, 1, 2, 3})});
  const FeatureTransform transform = fit(train, {.min_count = 1});
  const FeatureRows rows = transform.encode(train);
  EXPECT_THAT(rows.categorical, ElementsAre(1, 1, 0, 2, 2, 2, 2, 1, 0, 2, 0, 2));
  EXPECT_THAT(rows.fraction, ElementsAre(0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1));
  // Inputs: x, whether x is missing, z.
  EXPECT_EQ(transform.shape().knots, (std::vector<KnotInput>{{0, 0}, {2, 1}}));
  // A column of one value, or of none, has no knots.
  EXPECT_TRUE(
      fit(frame_of({number_column("flag", {7, kMissing, 7}), number_column("empty", {kMissing, kMissing, kMissing})}),
          {.min_count = 1})
          .shape()
          .num_tokens.empty());
}

TEST(NumericKnots, OfTextAreThoseOfItsNumbers) {
  const FeatureOptions options = {.numeric = {"x"}, .min_count = 1};
  const Frame texts = frame_of({text_column("x", {"10", "9", "", "1e1", "-2.5", "inf"})});
  const Frame numbers = frame_of({number_column("x", {10, 9, kMissing, 10, -2.5, kInfinity})});
  EXPECT_EQ(fit(texts, options).to_json(), fit(numbers, options).to_json());
  EXPECT_THAT(fit(numbers, options).encode(texts).categorical, ElementsAre(2, 2, 0, 2, 1, 0));
  EXPECT_THAT(fit(numbers, options).encode(texts).fraction, ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(NumericKnots, StandBetweenTheOtherTokensInTheOrderOfTheColumns) {
  const Frame train = frame_of({text_column("a", {"p", "q", "p"}), number_column("x", {3, 1, 2}),
                                text_column("b", {"r", "s", "s"}), number_column("z", {1, 2, 1})});
  const FeatureTransform transform = fit(train, {.min_count = 1});
  EXPECT_THAT(transform.categorical_names(), ElementsAre("a", "knots of x", "b"));
  EXPECT_EQ(transform.shape().knots, (std::vector<KnotInput>{{.numeric = 0, .categorical = 1}}));
  EXPECT_THAT(transform.encode(train).categorical, ElementsAre(1, 2, 2, 2, 1, 1, 1, 2, 1));
  EXPECT_THAT(transform.encode(train).fraction, ElementsAre(1, 0, 0));
}

TEST(NumericKnots, TakeTheLargestAndTheSmallestNumbers) {
  const double most = std::numeric_limits<double>::max();
  const double tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<double> values = {-most, -tiny, 0, tiny, most};
  const FeatureTransform transform = fit(frame_of({number_column("x", values)}), {.min_count = 1});
  EXPECT_THAT(places_of(transform, values), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(places_of(FeatureTransform::from_json(transform.to_json()), values), ElementsAre(0, 1, 2, 3, 4));
}

TEST(CategoricalFeature, NumbersValuesByFrequency) {
  const Frame train = frame_of({text_column("c", {"b", "a", "b", "c", "a", "b", "d", "", ""})});
  const FeatureTransform transform = fit(train, {.min_count = 2});
  // 0 other, 1 missing, 2 b, 3 a.
  EXPECT_EQ(transform.shape(), (FeatureShape{.num_tokens = {4}}));
  EXPECT_THAT(transform.encode(frame_of({text_column("c", {"a", "b", "c", "d", "", "new"})})).categorical,
              ElementsAre(3, 2, 0, 0, 1, 0));
  EXPECT_EQ(transform.summary()[1], "c: categorical, 4 tokens, 22.2% missing; 2 values below 2 rows share a token");
  // Too few missing values for a token of their own.
  const FeatureTransform strict = fit(train, {.min_count = 3});
  EXPECT_EQ(strict.shape(), (FeatureShape{.num_tokens = {2}}));
  EXPECT_THAT(strict.encode(frame_of({text_column("c", {"a", "b", ""})})).categorical, ElementsAre(0, 1, 0));
}

TEST(CategoricalFeature, TakesNumbersAndTheirTextsAsOneValue) {
  const FeatureTransform transform = fit(frame_of({number_column("c", {7, 7, -0.0, 0, 0, 0.5, 0.5, 1e300, 1e300})}),
                                         {.categorical = {"c"}, .min_count = 2});
  EXPECT_EQ(transform.shape(), (FeatureShape{.num_tokens = {5}}));
  EXPECT_THAT(transform.encode(frame_of({number_column("c", {0, 0.5, 1e300, 7, 3, kMissing})})).categorical,
              ElementsAre(1, 2, 3, 4, 0, 0));
  EXPECT_THAT(transform.encode(frame_of({text_column("c", {"0", "0.5", "1e+300", "7", "3", ""})})).categorical,
              ElementsAre(1, 2, 3, 4, 0, 0));
}

TEST(CategoricalFeature, IsHashedAboveTheLargestVocabulary) {
  std::vector<std::string> values;
  for (int at = 0; at < 1'000'000; ++at) values.push_back("v" + std::to_string(at));
  const Frame frame = frame_of({text_column("c", values)});
  const FeatureTransform transform = fit(frame, {.hash_buckets = 1000});
  EXPECT_EQ(transform.shape(), (FeatureShape{.num_tokens = {1001}}));
  const auto tokens = transform.encode(frame).categorical;
  std::vector<int> count(1001);
  for (const std::int32_t token : tokens) ++count[static_cast<std::size_t>(token)];
  EXPECT_EQ(count[0], 0);
  // 1000 values a bucket, six standard deviations.
  for (std::size_t token = 1; token < count.size(); ++token) EXPECT_NEAR(count[token], 1000, 190) << token;
  const std::string line = transform.summary()[1];
  EXPECT_THAT(line, StartsWith("c: categorical, 1,001 tokens; about "));
  EXPECT_THAT(
      line, EndsWith(" different values, hashed; most rows have a value of their own: drop it if it is an identifier"));
  std::string estimate = line.substr(36, line.find(" different") - 36);
  std::erase(estimate, ',');
  EXPECT_NEAR(std::stod(estimate), 1e6, 1e5);
}

TEST(CategoricalFeature, IsHashedAsTheFormatSays) {
  const FeatureTransform transform = fit(frame_of({text_column("c", {"a", "b", "c", ""})}),
                                         {.min_count = 1, .max_vocabulary = 2, .hash_buckets = 12'345});
  const std::vector<std::string> values = {"a", "68fd1e64", "Z\xFCrich", "a longer text than most"};
  std::vector<std::int32_t> expected;
  for (const std::string& value : values) {
    std::uint64_t hash = 14695981039346656037U;
    for (const char c : value) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211U;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
    hash ^= hash >> 31;
    expected.push_back(static_cast<std::int32_t>(2 + ((hash >> 32) * 12'345 >> 32)));
  }
  EXPECT_EQ(transform.encode(frame_of({text_column("c", values)})).categorical, expected);
  EXPECT_THAT(transform.encode(frame_of({text_column("c", {""})})).categorical, ElementsAre(1));
}

TEST(CategoricalFeature, CountsExactlyAtTheLimit) {
  const Frame three = frame_of({text_column("c", {"a", "a", "b", "b", "c", "c"})});
  EXPECT_EQ(fit(three, {.min_count = 1, .max_vocabulary = 3, .hash_buckets = 50}).shape().num_tokens[0], 4);
  EXPECT_EQ(fit(three, {.min_count = 1, .max_vocabulary = 2, .hash_buckets = 50}).shape().num_tokens[0], 51);
}

TEST(DateFeature, GivesHourAndWeekday) {
  // 2014-10-20 was a Monday.
  std::vector<std::string> when = {"2014-10-20 07:00", "2014/10/21 23:59", "2014-10-22T07:30:00", "",
                                   "2014-10-20 08:00"};
  const FeatureTransform transform = fit(frame_of({text_column("t", when)}), {.min_count = 1});
  EXPECT_THAT(transform.categorical_names(), ElementsAre("hour of t", "weekday of t"));
  // Hours 7, 8, 23; Monday, Tuesday, Wednesday; 0 other, 1 missing.
  EXPECT_EQ(transform.shape(), (FeatureShape{.num_tokens = {5, 5}}));
  EXPECT_THAT(
      transform.encode(frame_of({text_column("t", {when[1], "", "2020-01-01 08:00", "2020-01-02 09:00"})})).categorical,
      ElementsAre(4, 3, 1, 1, 3, 4, 0, 0));
  EXPECT_EQ(transform.summary()[1], "t: date: hour, weekday, 20.0% missing");
}

TEST(DateFeature, UsesDayAndMonthOnlyWhereTheyAreNoClock) {
  const auto names = [](const std::string& last) {
    return fit(frame_of({text_column("t", {"2014-01-01", "2014-02-02", last})}), {.min_count = 1}).categorical_names();
  };
  EXPECT_THAT(names("2015-01-01"), ElementsAre("weekday of t"));
  EXPECT_THAT(names("2015-01-02"), ElementsAre("weekday of t", "day of t"));
  EXPECT_THAT(names("2016-01-01"), ElementsAre("weekday of t", "day of t"));
  EXPECT_THAT(names("2016-01-02"), ElementsAre("weekday of t", "day of t", "month of t"));
}

TEST(DateFeature, ReadsPackedHoursAsNumbersAndText) {
  const FeatureOptions options{.date = {{"hour", DateFormat::kYymmddhh}}, .min_count = 1};
  const Frame numbers = frame_of({number_column("hour", {14102000, 14102101, 14102202, kMissing})});
  const Frame texts = frame_of({text_column("hour", {"14102000", "14102101", "14102202", ""})});
  const FeatureTransform transform = fit(numbers, options);
  EXPECT_EQ(transform.to_json(), fit(texts, options).to_json());
  EXPECT_THAT(transform.encode(numbers).categorical, ElementsAre(2, 2, 3, 3, 4, 4, 1, 1));
  expect_same(transform.encode(numbers), transform.encode(texts), "text");
}

TEST(DateFeature, IsCategoricalWhenOneValueIsNoDate) {
  const FeatureTransform transform =
      fit(frame_of({text_column("t", {"2014-01-01", "2014-01-02", "soon"})}), {.min_count = 1});
  EXPECT_THAT(transform.categorical_names(), ElementsAre("t"));
  EXPECT_EQ(transform.shape().num_tokens[0], 4);
}

TEST(FeatureTransform, FindsColumnsByNameAndIgnoresOthers) {
  const Frame train = frame_of({number_column("x", {0, 1, 2, 3, 4}), text_column("c", {"a", "b", "a", "b", "a"})});
  const FeatureTransform transform = fit(train, {.min_count = 1});
  const Frame other =
      frame_of({text_column("more", {"?", "?"}), text_column("c", {"b", "a"}), number_column("x", {2, 4})});
  const FeatureRows rows = transform.encode(other);
  EXPECT_THAT(rows.numeric, ElementsAre(0, 1.349F));
  EXPECT_THAT(rows.categorical, ElementsAre(3, 2, 4, 1));  // knots of x, c
  EXPECT_THAT(rows.fraction, ElementsAre(0, 1));
  EXPECT_EQ(transform.columns(),
            (std::vector<ColumnUse>{{"x", ColumnKind::kNumeric}, {"c", ColumnKind::kCategorical}}));
  const FeatureRows none = transform.encode(frame_of({number_column("x", {}), text_column("c", {})}));
  EXPECT_EQ(none.num_rows, 0U);
  EXPECT_TRUE(none.numeric.empty());
}

FeatureOptions random_options() {
  return {.categorical = {"zip"}, .drop = {"id"}, .label = "y", .min_count = 3, .quantile_rows = 1000};
}

TEST(FeatureTransform, AgreesWithTheObviousReference) {
  std::mt19937_64 random(21);
  for (int instance = 0; instance < 60; ++instance) {
    const Frame train = test::random_frame(10 + random() % 500, random);
    const Frame other = test::random_frame(10 + random() % 50, random);
    FeatureOptions options = random_options();
    options.numeric_knots = std::vector<int>{0, 3, 8, 32, 100}[random() % 5];
    const FeatureTransform transform = fit(train, options);
    const test::FeaturesReference reference(train, options);
    for (const Frame* frame : {&train, &other}) {
      const FeatureRows rows = transform.encode(*frame);
      const FeatureRows expected = reference.encode(*frame);
      ASSERT_EQ(rows.categorical, expected.categorical) << instance;
      ASSERT_EQ(rows.label, expected.label) << instance;
      ASSERT_EQ(rows.numeric.size(), expected.numeric.size()) << instance;
      for (std::size_t at = 0; at < rows.numeric.size(); ++at) {
        // Doubles against long doubles, both rounded to float; the differences near 1e308 lose some more bits.
        ASSERT_NEAR(rows.numeric[at], expected.numeric[at], 1e-5) << instance << " " << at;
      }
    }
  }
}

TEST(FeatureFitter, DoesNotDependOnBatchesOrThreads) {
  std::mt19937_64 random(22);
  const Frame frame = test::random_frame(5000, random);
  std::vector<std::uint8_t> selected(frame.num_rows);
  for (auto& one : selected) one = random() % 4 != 0 ? 1 : 0;
  selected[0] = selected[1] = 1;
  FeatureOptions options = random_options();
  options.drop = {};
  options.max_vocabulary = 2000;
  const FeatureTransform whole = [&] {
    FeatureFitter fitter(options);
    fitter.add(frame, selected);
    return fitter.finish();
  }();
  const FeatureRows encoded = whole.encode(frame);
  for (const std::size_t size : {1U, 7U, 1000U, 4999U}) {
    for (const int threads : {1, 2}) {
      options.num_threads = threads;
      FeatureFitter fitter(options);
      FeatureRows joined;
      for (std::size_t begin = 0; begin < frame.num_rows; begin += size) {
        const std::size_t end = std::min(begin + size, frame.num_rows);
        const Frame batch = test::slice(frame, begin, end);
        fitter.add(batch, std::span(selected).subspan(begin, end - begin));
        const FeatureRows rows = whole.encode(batch, {.num_threads = threads});
        joined.num_rows += rows.num_rows;
        joined.numeric.insert(joined.numeric.end(), rows.numeric.begin(), rows.numeric.end());
        joined.categorical.insert(joined.categorical.end(), rows.categorical.begin(), rows.categorical.end());
        joined.fraction.insert(joined.fraction.end(), rows.fraction.begin(), rows.fraction.end());
        joined.label.insert(joined.label.end(), rows.label.begin(), rows.label.end());
      }
      EXPECT_EQ(fitter.finish().to_json(), whole.to_json()) << size;
      expect_same(joined, encoded, "batches of " + std::to_string(size));
    }
  }
}

TEST(FeatureFitter, LearnsFromSelectedRowsOnly) {
  const Frame frame = frame_of(
      {number_column("x", {0, 1, 2, 3, 4, 1e9, kMissing}), text_column("c", {"a", "b", "a", "b", "a", "z", ""})});
  FeatureFitter fitter({.min_count = 1});
  fitter.add(frame, std::vector<std::uint8_t>{1, 1, 1, 1, 1, 0, 0});
  const FeatureTransform transform = fitter.finish();
  EXPECT_EQ(transform.to_json(), fit(test::slice(frame, 0, 5), {.min_count = 1}).to_json());
}

TEST(FeatureFitter, LeavesOutIdentifiers) {
  const std::size_t rows = 101;
  std::vector<double> id(rows), shuffled(rows), half(rows), twice(rows), few(rows), wanted(rows), gap(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    id[row] = 1e6 + static_cast<double>(row);
    shuffled[row] = static_cast<double>(row * 37 % rows) - 50;
    half[row] = static_cast<double>(row) + (row == 60 ? 0.5 : 0);
    twice[row] = static_cast<double>(row == 100 ? 99 : row);
    few[row] = static_cast<double>(row % 10);
    wanted[row] = static_cast<double>(row);
    gap[row] = row == 50 ? std::nan("") : static_cast<double>(row);
  }
  const Frame frame =
      test::frame_of({number_column("id", id), number_column("shuffled", shuffled), number_column("half", half),
                      number_column("twice", twice), number_column("few", few), number_column("wanted", wanted),
                      number_column("gap", gap)});
  const auto fit = [](const Frame& part) {
    FeatureFitter fitter({.numeric = {"wanted"}});
    fitter.add(test::slice(part, 0, part.num_rows / 2));
    fitter.add(test::slice(part, part.num_rows / 2, part.num_rows));
    return fitter.finish();
  };
  const FeatureTransform transform = fit(frame);
  EXPECT_THAT(transform.identifiers(), testing::ElementsAre("id", "shuffled"));
  EXPECT_EQ(FeatureTransform::from_json(transform.to_json()).identifiers(), transform.identifiers());
  EXPECT_THAT(transform.numeric_names(),
              testing::ElementsAre("half", "twice", "few", "wanted", "gap", "gap is missing"));
  EXPECT_THAT(transform.summary()[1], testing::HasSubstr("id: not used; left out: every row has a whole number of its "
                                                         "own, as an identifier"));
  // Of few rows, different numbers say nothing.
  EXPECT_TRUE(fit(test::slice(frame, 0, 100)).identifiers().empty());
}

// Above 2^16 values only a share of them is remembered.
TEST(FeatureFitter, FindsIdentifiersInLongColumns) {
  const std::size_t rows = 400'000;
  std::vector<double> id(rows), late(rows), few(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    id[row] = static_cast<double>((row * 7919) % rows);
    late[row] = static_cast<double>(row < rows / 2 ? row : row - rows / 4);
    few[row] = static_cast<double>(row % 3);
  }
  FeatureFitter fitter({});
  fitter.add(test::frame_of({number_column("id", id), number_column("late", late), number_column("few", few)}));
  EXPECT_THAT(fitter.finish().identifiers(), testing::ElementsAre("id"));
}

TEST(FeatureFitter, RefusesAColumnWithoutAName) {
  FeatureFitter fitter({});
  const Frame frame = test::frame_of({number_column("x", {1, 2}), number_column(" ", {1, 2})});
  EXPECT_EQ(test::refusal_of([&] { fitter.add(frame); }), "features: column 2 has no name, every column needs one");
}

TEST(FeatureFitter, EstimatesQuantilesFromASampleAboveTheLimit) {
  std::vector<double> values(200'000);
  std::iota(values.begin(), values.end(), 0.0);
  const Frame frame = frame_of({number_column("x", values)});
  const Frame probe = frame_of({number_column("x", {50'000, 100'000, 150'000})});
  const auto exact = fit(frame, {.numeric = {"x"}, .quantile_rows = 200'000}).encode(probe).numeric;
  EXPECT_NEAR(exact[0], -1.349 / 2, 1e-4);
  const auto sampled = fit(frame, {.numeric = {"x"}, .quantile_rows = 4000}).encode(probe).numeric;
  // At least 2000 rows: a quartile's share has a standard error below 0.01; scaled, that is below 0.03 each.
  for (std::size_t at = 0; at < 3; ++at) EXPECT_NEAR(sampled[at], exact[at], 0.15);
  EXPECT_NE(sampled, fit(frame, {.numeric = {"x"}, .quantile_rows = 4000, .seed = 1}).encode(probe).numeric);
}

}  // namespace
}  // namespace limen::train
