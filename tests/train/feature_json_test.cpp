// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "limen/train/features.h"
#include "support/frames.h"
#include "support/refusal.h"

namespace limen::train {
namespace {

using test::frame_of;
using test::number_column;
using test::refusal_of;
using test::text_column;
using Json = nlohmann::json;

struct Fitted {
  Frame frame;
  FeatureTransform transform;
};

/// Numeric, categorical, hashed, date and unused columns, and labels by the given rule.
Fitted make_fitted(std::uint64_t seed, const LabelRule& rule = {}) {
  std::mt19937_64 random(seed);
  Frame frame = test::random_frame(300, random);
  FeatureFitter fitter(
      {.categorical = {"zip"}, .label = "y", .label_rule = rule, .max_vocabulary = 250, .hash_buckets = 99});
  fitter.add(frame);
  return {frame, fitter.finish()};
}

void expect_same(const FeatureRows& left, const FeatureRows& right) {
  EXPECT_EQ(left.numeric, right.numeric);
  EXPECT_EQ(left.categorical, right.categorical);
  EXPECT_EQ(left.fraction, right.fraction);
  EXPECT_EQ(left.label, right.label);
}

TEST(FeatureJson, ReadsBackToTheSameTransform) {
  for (const LabelRule& rule : {LabelRule(), positive_value("1"), positive_if(">0.1"), positive_if("!=0")}) {
    const Fitted fitted = make_fitted(5, rule);
    const FeatureTransform read = FeatureTransform::from_json(fitted.transform.to_json());
    EXPECT_EQ(read.to_json(), fitted.transform.to_json());
    EXPECT_EQ(read.shape(), fitted.transform.shape());
    EXPECT_EQ(read.summary(), fitted.transform.summary());
    EXPECT_EQ(read.columns(), fitted.transform.columns());
    EXPECT_EQ(read.label(), "y");
    expect_same(read.encode(fitted.frame), fitted.transform.encode(fitted.frame));
  }
}

TEST(FeatureJson, RefusesOtherVersions) {
  const Frame frame = frame_of({number_column("x", {1, 2, 3, 4})});
  FeatureFitter fitter({.min_count = 1});
  fitter.add(frame);
  Json json = Json::parse(fitter.finish().to_json());
  json["version"] = 2;
  EXPECT_EQ(refusal_of([&] { (void)FeatureTransform::from_json(json.dump()); }),
            "feature transform: \"version\" is 2, this program reads 3; train anew");
  json["version"] = 4;
  EXPECT_EQ(refusal_of([&] { (void)FeatureTransform::from_json(json.dump()); }),
            "feature transform: \"version\" is 4, this program reads 3; update limen");
}

TEST(FeatureJson, KeepsTextsThatAreNotUtf8) {
  const Frame frame =
      frame_of({text_column("caf\xE9", {"\xFF\x01", "Z\xC3\xBCrich", "a\"\\\n", std::string("\0b", 2)})});
  FeatureFitter fitter({.min_count = 1});
  fitter.add(frame);
  const FeatureTransform transform = fitter.finish();
  const FeatureTransform read = FeatureTransform::from_json(transform.to_json());
  EXPECT_EQ(read.columns(), transform.columns());
  EXPECT_EQ(read.shape().num_tokens, std::vector<std::int32_t>{5});
  expect_same(read.encode(frame), transform.encode(frame));
}

/// Every member and list element, at any depth.
void collect(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& all) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      all.push_back(at / key);
      collect(value, at / key, all);
    }
  } else if (json.is_array()) {
    for (std::size_t number = 0; number < json.size(); ++number) {
      all.push_back(at / number);
      collect(json[number], at / number, all);
    }
  }
}

/// True when it was refused; a transform that was read must encode soundly.
bool refused_or_sound(const std::string& text, const Frame& frame) {
  try {
    const FeatureTransform transform = FeatureTransform::from_json(text);
    (void)transform.summary();
    const FeatureShape shape = transform.shape();
    FeatureRows rows;
    try {
      rows = transform.encode(frame);
    } catch (const InvalidInput&) {
      return false;  // such as a renamed column
    }
    EXPECT_EQ(rows.numeric.size(), rows.num_rows * shape.num_numeric);
    EXPECT_EQ(rows.categorical.size(), rows.num_rows * shape.num_categorical());
    EXPECT_EQ(rows.fraction.size(), rows.num_rows * shape.knots.size());
    for (const float value : rows.numeric) EXPECT_TRUE(std::isfinite(value));
    for (const float value : rows.fraction) EXPECT_TRUE(value >= -1 && value <= 2);
    for (std::size_t at = 0; at < rows.categorical.size(); ++at) {
      EXPECT_GE(rows.categorical[at], 0);
      EXPECT_LT(rows.categorical[at], shape.num_tokens[at % shape.num_categorical()]);
    }
    EXPECT_EQ(FeatureTransform::from_json(transform.to_json()).to_json(), transform.to_json());
    return false;
  } catch (const InvalidInput&) {
    return true;
  }
}

TEST(FeatureJson, RefusesEveryMissingMember) {
  const Fitted fitted = make_fitted(6, positive_value("1"));
  const Json whole = Json::parse(fitted.transform.to_json());
  std::vector<Json::json_pointer> all;
  collect(whole, Json::json_pointer(), all);
  int members = 0;
  for (const auto& at : all) {
    Json damaged = whole;
    Json& parent = damaged[at.parent_pointer()];
    if (!parent.is_object()) continue;
    parent.erase(at.back());
    ++members;
    EXPECT_TRUE(refused_or_sound(damaged.dump(), fitted.frame)) << at;
  }
  EXPECT_GT(members, 100);
}

TEST(FeatureJson, RefusesOrReadsSoundlyWhenMembersAreChanged) {
  const Fitted fitted = make_fitted(7, positive_if(">0.5"));
  const Json whole = Json::parse(fitted.transform.to_json());
  std::vector<Json::json_pointer> all;
  collect(whole, Json::json_pointer(), all);
  const std::vector<Json> strange = {nullptr,
                                     true,
                                     false,
                                     -1,
                                     0,
                                     1,
                                     2,
                                     31,
                                     1e300,
                                     -1e-320,
                                     0.5,
                                     1e9,
                                     9.3e18,
                                     18446744073709551615U,
                                     -9223372036854775807,
                                     "",
                                     "x",
                                     "numeric",
                                     "categorical",
                                     "date",
                                     "log",
                                     "y",
                                     "zip",
                                     Json::array(),
                                     Json::object(),
                                     {1, 2},
                                     {"a", "a"},
                                     {{"bytes", "6"}},
                                     {{"bytes", "zz"}},
                                     {{"bytes", "ff"}}};
  std::mt19937_64 random(8);
  int refused = 0;
  int read = 0;
  for (int instance = 0; instance < 6000; ++instance) {
    Json damaged = whole;
    // A few of the very many entries of vocabularies and date parts are enough.
    auto at = all[random() % all.size()];
    for (int tries = 0; tries < 8 && damaged[at.parent_pointer()].is_array(); ++tries) at = all[random() % all.size()];
    damaged[at] = strange[random() % strange.size()];
    (refused_or_sound(damaged.dump(), fitted.frame) ? refused : read)++;
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(read, 200);
}

TEST(FeatureJson, RefusesOrReadsSoundlyWhenBytesAreDamaged) {
  const Fitted fitted = make_fitted(9);
  const std::string text = fitted.transform.to_json();
  std::mt19937_64 random(10);
  int refused = 0;
  for (int instance = 0; instance < 2000; ++instance) {
    std::string damaged = text;
    const std::size_t at = random() % damaged.size();
    switch (random() % 3) {
      case 0:
        damaged[at] = static_cast<char>(random());
        break;
      case 1:
        damaged[at] = "0123456789-+.eE\"[]{},: tfn"[random() % 26];
        break;
      default:
        damaged.erase(at, 1 + random() % 40);
    }
    refused += refused_or_sound(damaged, fitted.frame) ? 1 : 0;
  }
  EXPECT_GT(refused, 500);
  for (std::size_t length = 0; length < text.size(); length += 37) {
    EXPECT_TRUE(refused_or_sound(text.substr(0, length), fitted.frame)) << length;
  }
}

TEST(FeatureJson, SaysWhatIsWrong) {
  FeatureFitter fitter({.label = "y", .min_count = 1});
  fitter.add(frame_of({number_column("x", {1, 2, 3}), text_column("c", {"a", "b", "a"}),
                       text_column("t", {"2014-01-01", "2014-01-02", "2014-01-04"}), number_column("y", {0, 1, 0})}));
  const Json whole = Json::parse(fitter.finish().to_json());
  const auto refusal = [&](const char* at, const Json& value) {
    Json json = whole;
    json[Json::json_pointer(at)] = value;
    return refusal_of([&] { (void)FeatureTransform::from_json(json.dump()); });
  };
  const std::string start = "feature transform: \"";
  EXPECT_EQ(refusal("/clip", 10), "(not refused)");
  EXPECT_EQ(refusal_of([] { (void)FeatureTransform::from_json("{"); }),
            "feature transform: is not a JSON file, or a damaged one");
  EXPECT_EQ(refusal_of([] { (void)FeatureTransform::from_json("[]"); }), "feature transform: is not a JSON object");
  EXPECT_EQ(refusal_of([] { (void)FeatureTransform::from_json("{}"); }), start + "format\" is missing");
  EXPECT_EQ(refusal_of([] { (void)FeatureTransform::from_json(std::string(1000, '[')); }),
            "feature transform: is nested too deeply, it is damaged");
  EXPECT_EQ(refusal("/format", "other"), start + "format\" is not \"limen-features\"");
  EXPECT_EQ(refusal("/rows", 0), start + "rows\" is 0, must be 1 to 9223372036854775807");
  EXPECT_EQ(refusal("/positives", 4), start + "positives\" is 4, must be 0 to 3");
  EXPECT_EQ(refusal("/clip", -1), start + "clip\" is not above 0 and at most 1e6");
  EXPECT_EQ(refusal("/label", 3), start + "label\" is not an object");
  EXPECT_EQ(refusal("/label/rule", "odd"), start + "label.rule\" is \"odd\", must be standard, equals or compare");
  EXPECT_EQ(refusal("/columns/0/name", "y"), start + "columns[0].name\" is \"y\" for the second time");
  EXPECT_EQ(refusal("/columns/0/kind", "odd"),
            start + "columns[0].kind\" is \"odd\", must be numeric, categorical, date or unused");
  EXPECT_EQ(refusal("/columns/0/scale", 0), start + "columns[0].scale\" is 0, must be above 0");
  EXPECT_EQ(refusal("/columns/0/center", "1"), start + "columns[0].center\" is not a number");
  EXPECT_EQ(refusal("/columns/0/value", false), start + "columns[0].value\" and indicator are false, one must be true");
  EXPECT_EQ(refusal("/columns/0/knots", {2, 3.5, 4}), "(not refused)");
  EXPECT_EQ(refusal("/columns/0/knots", {2, 2, 3}), start + "columns[0].knots\" is not increasing");
  EXPECT_EQ(refusal("/columns/0/knots", {2, nullptr}), start + "columns[0].knots\" holds null, must be numbers");
  EXPECT_EQ(refusal("/columns/0/knots", 2), start + "columns[0].knots\" is not a list");
  Json indicator_only = whole;
  indicator_only["columns"][0]["value"] = false;
  indicator_only["columns"][0]["indicator"] = true;
  indicator_only["columns"][0]["knots"] = {2, 3, 4};
  EXPECT_EQ(refusal_of([&] { (void)FeatureTransform::from_json(indicator_only.dump()); }),
            start + "columns[0].knots\" are there, but no input of the value");
  std::vector<int> many(1025);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(refusal("/columns/0/knots", many), start + "columns[0].knots\" has 1025, must be none or 3 to 1024");
  EXPECT_EQ(refusal("/columns/0/knots", {2, 3}), start + "columns[0].knots\" has 2, must be none or 3 to 1024");
  EXPECT_EQ(refusal("/columns/1/vocabulary/1", "a"), start + "columns[1].vocabulary\" holds \"a\" twice");
  EXPECT_EQ(refusal("/columns/1/vocabulary/1", 5), start + "columns[1].vocabulary\" is not a text");
  EXPECT_EQ(refusal("/columns/1/vocabulary/1", ""), start + "columns[1].vocabulary\" holds an empty text");
  EXPECT_EQ(refusal("/columns/1/hash_buckets", 5),
            start + "columns[1].vocabulary\" has values, but the column is hashed");
  EXPECT_EQ(refusal("/columns/1/hash_buckets", 1'000'000'000),
            start + "columns[1].hash_buckets\" is 1000000000, must be 0 to 10000000");
  EXPECT_EQ(refusal("/columns/2/parts/0/part", "year"),
            start + "columns[2].parts.part\" is \"year\", must be hour, weekday, day or month");
  EXPECT_EQ(refusal("/columns/2/parts/0/values", {3, 2}), start + "columns[2].parts.values\" is not increasing");
  EXPECT_EQ(refusal("/columns/2/parts/0/values", {3, 32}),
            start + "columns[2].parts.values\" holds 32, must be whole numbers from 0 to 31");
  EXPECT_EQ(refusal("/columns/2/parts", Json::array()), start + "columns[2].parts\" has 0 parts, must be 1 to 4");
  EXPECT_EQ(refusal("/columns", Json::array()), start + "columns\" hold no feature");
}

}  // namespace
}  // namespace limen::train
