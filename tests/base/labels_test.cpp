// SPDX-License-Identifier: MIT
#include "limen/base/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;
using testing::ElementsAre;

constexpr std::optional<std::uint8_t> kNeither = std::nullopt;

TEST(LabelOf, TakesTheUsualWords) {
  const LabelRule rule;
  for (const char* text : {"1", "true", "TRUE", "yes", "Yes", " 1 ", "1.0", "+1"}) EXPECT_EQ(label_of(rule, text), 1);
  for (const char* text : {"0", "false", "False", "no", "NO", "0.0", "-0"}) EXPECT_EQ(label_of(rule, text), 0);
  for (const char* text : {"2", "y", "t", "positive", "1.5", "-1", "inf"}) EXPECT_EQ(label_of(rule, text), kNeither);
  EXPECT_EQ(label_of(rule, 1.0), 1);
  EXPECT_EQ(label_of(rule, -0.0), 0);
  EXPECT_EQ(label_of(rule, 0.5), kNeither);
}

// A class called ">50K" was read as a comparison and refused.
TEST(PositiveValue, IsExactlyThatValue) {
  const LabelRule income = positive_value(">50K");
  EXPECT_EQ(label_of(income, " >50K"), 1);
  EXPECT_EQ(label_of(income, "<=50K"), 0);
  const LabelRule comparison_like = positive_value(">30");
  EXPECT_EQ(label_of(comparison_like, ">30"), 1);
  EXPECT_EQ(label_of(comparison_like, "31"), 0);
  EXPECT_EQ(label_of(positive_value("2.0"), "2"), 1);
  EXPECT_EQ(label_of(positive_value("2"), 2.0), 1);
  EXPECT_EQ(label_of(positive_value("yes"), "Yes"), 0);
  LabelRule two = positive_value("good");
  two.negative = "bad";
  EXPECT_EQ(label_of(two, "bad"), 0);
  EXPECT_EQ(label_of(two, "odd"), kNeither);
  EXPECT_EQ(refusal_of([] { (void)positive_value(" "); }),
            "labels: the positive value is empty, must be a value of the column");
}

TEST(PositiveIf, ComparesNumbers) {
  EXPECT_EQ(label_of(positive_if(">30"), "31"), 1);
  EXPECT_EQ(label_of(positive_if(">30"), "30"), 0);
  EXPECT_EQ(label_of(positive_if(" >= 30"), 30.0), 1);
  EXPECT_EQ(label_of(positive_if("<0"), "-1e-9"), 1);
  EXPECT_EQ(label_of(positive_if("<=-5"), "-5"), 1);
  EXPECT_EQ(label_of(positive_if("==2"), "2.0"), 1);
  EXPECT_EQ(label_of(positive_if("!=2"), "2.0"), 0);
  EXPECT_EQ(label_of(positive_if(">30"), "late"), kNeither);
  for (const char* text : {"", "30", ">", ">x", "=3", "=>3", "> 50K"}) {
    EXPECT_NE(refusal_of([&] { (void)positive_if(text); }), "(not refused)") << text;
  }
}

TEST(ReadLabels, MarksMissingOnesWhateverTheRule) {
  const Column text{.name = "y",
                    .values = TextValues{.distinct = {"yes", "NA", "no", "", " null "},
                                         .code = {0, 1, 2, 3, TextValues::kMissing, 4, 2}}};
  LabelsSeen seen;
  EXPECT_THAT(read_labels(text, {}, Where{.source = "t.csv"}, 0, seen), ElementsAre(1, 2, 0, 2, 2, 2, 0));
  EXPECT_THAT(read_labels(text, positive_value("no"), Where{.source = "t.csv"}, 0, seen),
              ElementsAre(0, 2, 1, 2, 2, 2, 1));
  EXPECT_THAT(missing_labels(text), ElementsAre(0, 1, 0, 1, 1, 1, 0));
  EXPECT_THAT(seen.values(), ElementsAre("no", "yes"));
  const double infinity = std::numeric_limits<double>::infinity();
  const Column numbers{.name = "y", .values = NumberValues{1, std::nan(""), 0, 0, infinity, 1}};
  EXPECT_THAT(read_labels(numbers, {}, Where{.source = "t.csv"}, 0, seen), ElementsAre(1, 2, 0, 0, 2, 1));
  EXPECT_THAT(missing_labels(numbers), ElementsAre(0, 1, 0, 0, 1, 0));
}

TEST(ReadLabels, NamesTheFirstRowOfNeitherClass) {
  const Column text{.name = "y", .values = TextValues{.distinct = {"b\x1b", "1"}, .code = {1, 1, 0, 0}}};
  const Column numbers{.name = "y", .values = NumberValues{0, 1, 2}};
  LabelsSeen seen;
  EXPECT_EQ(refusal_of([&] { (void)read_labels(text, {}, Where{.source = "t.csv"}, 10, seen); }),
            "t.csv: row 13: column \"y\": \"b\\x1b\" is of neither class, must be 0/1, true/false or yes/no");
  EXPECT_EQ(refusal_of([&] { (void)read_labels(numbers, {}, Where{.source = "t.csv"}, 0, seen); }),
            "t.csv: row 3: column \"y\": \"2\" is of neither class, must be 0/1, true/false or yes/no");
  EXPECT_EQ(refusal_of([&] { refuse_missing_label(Where{.source = "t.csv"}, "y", 4, {}); }),
            "t.csv: row 5: column \"y\": the label is missing, must be 0/1, true/false or yes/no");
}

// A positive value with a slip of the pen gave "no positives" and no error.
TEST(RequirePositiveSeen, RefusesAValueThatDoesNotOccur) {
  LabelsSeen seen;
  const Column text{.name = "y", .values = TextValues{.distinct = {"high", "low"}, .code = {0, 1}}};
  const LabelRule slip = positive_value("hgih");
  (void)read_labels(text, slip, Where{.source = "t.csv"}, 0, seen);
  EXPECT_EQ(
      refusal_of([&] { require_positive_seen(slip, seen, Where{.source = "t.csv", .column = "y"}); }),
      "t.csv: column \"y\": the positive value \"hgih\" does not occur; there are \"high\", \"low\"; did you mean "
      "\"high\"?");
  LabelsSeen found;
  (void)read_labels(text, positive_value("high"), Where{.source = "t.csv"}, 0, found);
  require_positive_seen(positive_value("high"), found, Where{.source = "t.csv", .column = "y"});
  require_positive_seen(positive_if(">5"), LabelsSeen(), Where{.source = "t.csv", .column = "y"});
}

TEST(LabelsSeen, RemembersOnlyAFew) {
  LabelsSeen first;
  LabelsSeen second;
  for (int value = 10; value < 40; ++value) (value % 2 == 0 ? first : second).add(std::to_string(value), kNeither);
  EXPECT_EQ(first.values().size(), LabelsSeen::kMostValues);
  EXPECT_FALSE(first.any_positive());
  second.add("1", 1);
  first.merge(second);
  EXPECT_TRUE(first.any_positive());
  EXPECT_FALSE(first.any_negative());
  EXPECT_EQ(first.list().substr(first.list().size() - 9), " and more");
}

}  // namespace
}  // namespace limen
