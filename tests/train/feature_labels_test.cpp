// SPDX-License-Identifier: MIT
// Labels and errors of FeatureFitter and FeatureTransform.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limen/train/features.h"
#include "support/frames.h"
#include "support/refusal.h"

namespace limen::train {
namespace {

using test::frame_of;
using test::number_column;
using test::refusal_of;
using test::text_column;
using testing::ElementsAre;

const double kMissing = std::nan("");

FeatureTransform fit(const Frame& frame, FeatureOptions options) {
  FeatureFitter fitter(std::move(options));
  fitter.add(frame);
  return fitter.finish();
}

/// A frame with a feature and these labels.
Frame labelled(Column label) {
  const auto* text = std::get_if<TextValues>(&label.values);
  const std::size_t rows = text != nullptr ? text->code.size() : std::get<NumberValues>(label.values).size();
  std::vector<double> x(rows);
  for (std::size_t row = 0; row < rows; ++row) x[row] = static_cast<double>(row % 7);
  return frame_of({number_column("x", x), std::move(label)});
}

std::vector<std::uint8_t> labels_of(const Frame& frame, const LabelRule& rule = {}) {
  return fit(frame, {.label = "y", .label_rule = rule}).encode(frame).label;
}

std::string fit_refusal(const Frame& frame, FeatureOptions options) {
  return refusal_of([&] { (void)fit(frame, options); });
}

std::string label_refusal(Column label, const LabelRule& rule = {}) {
  return fit_refusal(labelled(std::move(label)), {.label = "y", .label_rule = rule});
}

TEST(Label, ReadsTheUsualWords) {
  EXPECT_THAT(labels_of(labelled(number_column("y", {0, 1, 1, -0.0}))), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(labels_of(labelled(text_column("y", {"0", "1", "1.0", "true", "FALSE", "Yes", "no"})), {}),
              ElementsAre(0, 1, 1, 1, 0, 1, 0));
}

TEST(Label, IsPositiveByValue) {
  EXPECT_THAT(labels_of(labelled(text_column("y", {"good", "bad", "good", "odd"})), positive_value("bad")),
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(labels_of(labelled(number_column("y", {1, 2, 3, 2})), positive_value("2.0")), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(labels_of(labelled(text_column("y", {"-1", "1"})), positive_value("1")), ElementsAre(0, 1));
}

TEST(Label, IsPositiveByComparison) {
  const Frame frame = labelled(number_column("y", {29, 30, 31, -5}));
  EXPECT_THAT(labels_of(frame, positive_if(">30")), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(labels_of(frame, positive_if(">=30")), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(labels_of(frame, positive_if("< 30")), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(labels_of(frame, positive_if("<=-5")), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(labels_of(frame, positive_if("==31")), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(labels_of(frame, positive_if("!=29")), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(labels_of(labelled(text_column("y", {"29.5", "31"})), positive_if(">30")), ElementsAre(0, 1));
}

TEST(Label, RefusesMoreOrFewerThanTwoClasses) {
  EXPECT_EQ(label_refusal(text_column("y", {"c", "a", "b", "a"})),
            "features: row 1: column \"y\": \"c\", and there are more than two values (\"a\", \"b\", \"c\"); say which "
            "one is positive, or a comparison such as \">0\"");
  EXPECT_EQ(label_refusal(number_column("y", {0, 1, 2})),
            "features: row 3: column \"y\": \"2\", and there are more than two values (\"0\", \"1\", \"2\"); say which "
            "one is positive, or a comparison such as \">0\"");
  EXPECT_EQ(
      label_refusal(text_column("y", {"good", "bad"})),
      "features: column \"y\": has the values \"bad\", \"good\", must be 0/1, true/false or yes/no; say which one is "
      "positive");
  EXPECT_EQ(label_refusal(number_column("y", {1, 1})),
            "features: column \"y\": has only positive rows (values \"1\"), two classes were needed");
  EXPECT_EQ(label_refusal(number_column("y", {3, 4}), positive_if(">30")),
            "features: column \"y\": has only negative rows (values \"3\", \"4\"), two classes were needed");
  EXPECT_EQ(
      label_refusal(text_column("y", {"no", "Yes"}), positive_value("yes")),
      "features: column \"y\": the positive value \"yes\" does not occur; there are \"Yes\", \"no\"; did you mean "
      "\"Yes\"?");
  std::vector<double> many(50);
  for (std::size_t row = 0; row < many.size(); ++row) many[row] = static_cast<double>(row + 10);
  EXPECT_THAT(label_refusal(number_column("y", many)), testing::HasSubstr("\"20\" and more); say"));
}

TEST(Label, RefusesMissingAndStrangeValues) {
  EXPECT_EQ(label_refusal(number_column("y", {1, kMissing})),
            "features: row 2: column \"y\": the label is missing, must be 0/1, true/false or yes/no");
  EXPECT_EQ(label_refusal(text_column("y", {"1", "0", ""}), positive_value("1")),
            "features: row 3: column \"y\": the label is missing, must be \"1\" or another value");
  EXPECT_EQ(label_refusal(text_column("y", {"31", "late"}), positive_if(">30")),
            "features: row 2: column \"y\": \"late\" must be a number to be compared with \">30\"");
}

TEST(Label, IsCheckedWhenEncoding) {
  const auto refusal = [](const FeatureTransform& transform, Column label) {
    const Frame frame = labelled(std::move(label));
    return refusal_of([&] { (void)transform.encode(frame, {.first_row = 1000}); });
  };
  const FeatureTransform standard = fit(labelled(number_column("y", {0, 1})), {.label = "y"});
  EXPECT_EQ(refusal(standard, number_column("y", {0, 2})),
            "encode: row 1002: column \"y\": \"2\" is of neither class, must be 0/1, true/false or yes/no");
  EXPECT_EQ(refusal(standard, number_column("y", {kMissing})),
            "encode: row 1001: column \"y\": the label is missing, must be 0/1, true/false or yes/no");
  EXPECT_EQ(refusal(standard, text_column("y", {"yes", "maybe"})),
            "encode: row 1002: column \"y\": \"maybe\" is of neither class, must be 0/1, true/false or yes/no");
  EXPECT_EQ(refusal(standard, text_column("y", {"yes", ""})),
            "encode: row 1002: column \"y\": the label is missing, must be 0/1, true/false or yes/no");
  // Two values in training: a third is neither. More: every other value is negative.
  const FeatureTransform two =
      fit(labelled(text_column("y", {"good", "bad"})), {.label = "y", .label_rule = positive_value("bad")});
  EXPECT_EQ(refusal(two, text_column("y", {"Bad"})),
            "encode: row 1001: column \"y\": \"Bad\" is of neither class, must be \"bad\" or \"good\"");
  const FeatureTransform three =
      fit(labelled(text_column("y", {"a", "b", "c"})), {.label = "y", .label_rule = positive_value("b")});
  EXPECT_EQ(refusal(three, text_column("y", {"d"})), "(not refused)");
  const FeatureTransform late =
      fit(labelled(number_column("y", {1, 50})), {.label = "y", .label_rule = positive_if(">30")});
  EXPECT_EQ(refusal(late, text_column("y", {"x"})),
            "encode: row 1001: column \"y\": \"x\" is of neither class, must be a number");
}

TEST(Label, IsUsedAsAsked) {
  const FeatureTransform transform = fit(labelled(number_column("y", {0, 1})), {.label = "y"});
  const Frame without = frame_of({number_column("x", {1, 2})});
  EXPECT_TRUE(transform.encode(without).label.empty());
  EXPECT_EQ(refusal_of([&] { (void)transform.encode(without, {.labels = LabelUse::kRequired}); }),
            "encode: column \"y\" is missing, must be there as in training; the nearest there is \"x\"; rename or add "
            "it, or train without it");
  EXPECT_TRUE(transform.encode(labelled(number_column("y", {5, 6})), {.labels = LabelUse::kIgnore}).label.empty());
  const FeatureTransform unlabelled = fit(frame_of({number_column("x", {1, 2})}), {});
  EXPECT_EQ(refusal_of([&] { (void)unlabelled.encode(without, {.labels = LabelUse::kRequired}); }),
            "encode: labels are required, but training named no label column");
}

TEST(Encode, RefusesFramesThatDoNotFit) {
  const FeatureTransform transform =
      fit(frame_of({number_column("age", {1, 2, 3}), text_column("when", {"2014-01-01", "2014-01-02", "2014-01-03"}),
                    number_column("hour", {14010100, 14010201, 14010302}), text_column("city", {"a", "b", "a"})}),
          {.date = {{"hour", DateFormat::kYymmddhh}}, .min_count = 1});
  const auto refusal = [&](std::vector<Column> columns) {
    const Frame frame = frame_of(std::move(columns));
    return refusal_of([&] { (void)transform.encode(frame); });
  };
  const Column when = text_column("when", {"2014-01-01"});
  const Column hour = number_column("hour", {14010100});
  const Column city = text_column("city", {"a"});
  const std::string what_to_do = "; rename or add it, or train without it";
  EXPECT_EQ(
      refusal({number_column("Age", {1}), when, hour, city}),
      "encode: column \"age\" is missing, must be there as in training; the nearest there is \"Age\"" + what_to_do);
  EXPECT_EQ(refusal({number_column("temperature", {1}), hour}),
            "encode: columns \"age\", \"when\", \"city\" are missing, must be there as in training" + what_to_do);
  EXPECT_EQ(refusal({text_column("age", {"old"}), when, hour, city}),
            "encode: row 1: column \"age\": \"old\" must be a number, as in training; correct it or leave it empty");
  EXPECT_EQ(refusal({number_column("age", {1}), text_column("when", {"soon"}), hour, city}),
            "encode: row 1: column \"when\": \"soon\" must be a date such as 2014-10-21 07:05, as in training; "
            "correct it or leave it empty");
  EXPECT_EQ(refusal({number_column("age", {1}), number_column("when", {5}), hour, city}),
            "encode: row 1: column \"when\": 5 must be a date such as 2014-10-21 07:05, as in training; correct it or "
            "leave it empty");
  EXPECT_EQ(refusal({number_column("age", {1}), when, number_column("hour", {14010124}), city}),
            "encode: row 1: column \"hour\": 14010124 must be YYMMDDHH such as 14102107, as in training; correct it "
            "or leave it empty");
  EXPECT_EQ(refusal({number_column("age", {1}), when, hour, number_column("city", {1})}), "(not refused)");
  EXPECT_EQ(refusal({city, city}), "encode: column \"city\": is there twice, names must differ");
  EXPECT_EQ(refusal({number_column("age", {1}), text_column("city", {"a", "b"})}),
            "encode: column \"age\": has 1 rows, the frame has 2");
  EXPECT_EQ(refusal({{"city", TextValues{.distinct = {"a"}, .code = {1}}}}),
            "encode: column \"city\": has code 1, there are 1 texts");
  EXPECT_EQ(refusal({{"city", TextValues{.distinct = {"a"}, .code = {-2}}}}),
            "encode: column \"city\": has code -2, there are 1 texts");
  EXPECT_EQ(refusal({{"city", TextValues{.distinct = {}, .code = {0}}}}),
            "encode: column \"city\": has code 0, there are 0 texts");
}

TEST(FeatureFitter, RefusesFramesThatDoNotFit) {
  const Frame frame = frame_of({number_column("age", {1, 2}), text_column("city", {"a", "b"})});
  EXPECT_EQ(fit_refusal(frame, {.numeric = {"agee"}}),
            "features: numeric names column \"agee\", which is not there; did you mean \"age\"?");
  EXPECT_EQ(fit_refusal(frame, {.drop = {"something else"}}),
            "features: drop names column \"something else\", which is not there");
  EXPECT_EQ(fit_refusal(frame, {.label = "citi"}),
            "features: label names column \"citi\", which is not there; did you mean \"city\"?");
  EXPECT_EQ(fit_refusal(frame, {.numeric = {"city"}}),
            "features: row 1: column \"city\": \"a\" must be a number, as it is declared; declare it categorical or "
            "drop it");
  EXPECT_EQ(fit_refusal(frame, {.date = {{"city", DateFormat::kText}}}),
            "features: row 1: column \"city\": \"a\" must be a date such as 2014-10-21 07:05, as it is declared; "
            "declare it categorical or drop it");
  EXPECT_EQ(fit_refusal(frame, {.date = {{"age", DateFormat::kYymmddhh}}}),
            "features: row 1: column \"age\": 1 must be YYMMDDHH such as 14102107, as it is declared; declare it "
            "categorical or drop it");
  EXPECT_EQ(fit_refusal(frame_of({number_column("age", {})}), {}),
            "features: there are no training rows, at least one was needed");
  EXPECT_EQ(fit_refusal(frame_of({number_column("age", {1, 1}), text_column("c", {"a", "b"})}), {}),
            "features: no column can be used, at least one was needed; \"age\" left out: every row has 1; \"c\" left "
            "out: no value is frequent enough");
  FeatureFitter fitter({});
  EXPECT_EQ(refusal_of([&] { fitter.add(frame, std::vector<std::uint8_t>{1}); }),
            "features: selected has 1 rows, the frame has 2");
}

TEST(FeatureFitter, RefusesBatchesThatDiffer) {
  const Frame first = frame_of({number_column("x", {1, 2}), number_column("z", {1, 2})});
  const auto refusal = [&](const Frame& second) {
    FeatureFitter fitter({});
    fitter.add(first);
    return refusal_of([&] { fitter.add(second); });
  };
  EXPECT_EQ(refusal(frame_of({number_column("x", {1})})),
            "features: column \"z\" is missing from row 3 on, must be in every batch");
  EXPECT_EQ(refusal(frame_of({number_column("x", {1}), number_column("z", {1}), number_column("w", {1})})),
            "features: column \"w\" is new from row 3 on, must be in every batch");
  EXPECT_EQ(
      refusal(frame_of({number_column("x", {1}), text_column("z", {"a"})})),
      "features: row 3: column \"z\": \"a\" must be a number, as the rows before; declare it categorical or drop it");
  EXPECT_EQ(refusal(frame_of({number_column("x", {1, 5}), text_column("z", {"", "3"})})), "(not refused)");
}

TEST(FeatureFitter, TakesAnEmptyColumnOfEitherKind) {
  FeatureFitter fitter({.min_count = 1});
  fitter.add(frame_of({number_column("c", {kMissing}), text_column("x", {""})}));
  fitter.add(frame_of({text_column("c", {"a"}), number_column("x", {1})}));
  fitter.add(frame_of({text_column("c", {"b"}), number_column("x", {2})}));
  const FeatureTransform transform = fitter.finish();
  EXPECT_THAT(transform.numeric_names(), ElementsAre("x", "x is missing"));
  EXPECT_EQ(transform.shape().num_tokens, std::vector<std::int32_t>{4});
}

TEST(FeatureOptions, AreChecked) {
  const auto refusal = [](const FeatureOptions& options) { return refusal_of([&] { validate(options); }); };
  EXPECT_EQ(refusal({}), "(not refused)");
  EXPECT_EQ(refusal({.numeric = {"a"}, .drop = {"a"}}),
            "features: column \"a\" is named twice, must be only one of numeric, categorical, date, drop and label");
  EXPECT_EQ(refusal({.categorical = {""}}), "features: a column name is empty, must have at least one letter");
  EXPECT_EQ(refusal({.label_rule = positive_value("1")}),
            "features: there is a rule for labels, but no label column is named");
  EXPECT_EQ(refusal({.categorical = {"c"}, .scaling_of = {{"c", Scaling::kLog}}}),
            "features: scaling_of names \"c\", which is no numeric column");
  EXPECT_EQ(refusal({.clip = 0}), "features: clip is 0, must be 0.001 to 1,000,000");
  EXPECT_EQ(refusal({.clip = kMissing}), "features: clip is nan, must be 0.001 to 1,000,000");
  EXPECT_EQ(refusal({.min_count = 0}), "features: min_count is 0, must be 1 to 1,000,000,000,000,000");
  EXPECT_EQ(refusal({.max_vocabulary = 0}), "features: max_vocabulary is 0, must be 1 to 10,000,000");
  EXPECT_EQ(refusal({.hash_buckets = 20'000'000}), "features: hash_buckets is 20000000, must be 1 to 10,000,000");
  EXPECT_EQ(refusal({.quantile_rows = 10}), "features: quantile_rows is 10, must be 1,000 to 100,000,000");
  EXPECT_EQ(refusal({.num_threads = -1}), "features: num_threads is -1, must be 0 to 1,000,000,000");
}

}  // namespace
}  // namespace limen::train
