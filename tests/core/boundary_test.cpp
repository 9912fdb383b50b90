// SPDX-License-Identifier: MIT
#include "limen/solve/boundary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "limen/base/error.h"
#include "limen/base/version.h"
#include "reference/decide_reference.h"
#include "support/random_grid.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::decide_row;
using test::random_unit;
using test::refusal_of;
using test::SampleTable;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RealSpan view(const std::vector<double>& values) { return std::span<const double>(values); }
RealSpan view(const std::vector<float>& values) { return std::span<const float>(values); }

// ---- the rule

TEST(ValidateRule, NamesWhatIsWrong) {
  const auto refusal = [](Rule rule) { return refusal_of([&] { validate(rule); }); };
  EXPECT_EQ(refusal({{}, {0.5}}), "(not refused)");
  EXPECT_EQ(refusal({{-1, 0, 2}, {{}, {}, {}, {}}}), "(not refused)");
  EXPECT_EQ(refusal({}), "rule: 0 uncertainty edges need 1 score thresholds, there are 0");
  EXPECT_EQ(refusal({{1, 2}, {0.5}}), "rule: 2 uncertainty edges need 3 score thresholds, there are 1");
  EXPECT_EQ(refusal({{1, 1}, {0.5, 0.5, 0.5}}), "rule: uncertainty_edges[1] is not above the edge before it");
  EXPECT_EQ(refusal({{0.0, -0.0}, {0.5, 0.5, 0.5}}), "rule: uncertainty_edges[1] is not above the edge before it");
  EXPECT_EQ(refusal({{1, kInfinity}, {0.5, 0.5, 0.5}}), "rule: uncertainty_edges[1] is not finite");
  EXPECT_EQ(refusal({{std::nan("")}, {0.5, 0.5}}), "rule: uncertainty_edges[0] is not finite");
  EXPECT_EQ(refusal({{1}, {0.5, -kInfinity}}), "rule: score_thresholds[1] is not finite");
}

TEST(MakeRule, TakesTheThresholdOfTheLowestFlaggedBin) {
  Grid grid = make_grid({{1, 1}, {1}, {}}, {{1, 2}, {3}, {}});
  grid.edges = {0.25, 0.5};
  grid.levels[0][0] = {0.9, grid.levels[0][0].counts};
  grid.levels[0][1] = {0.7, grid.levels[0][1].counts};
  const Rule none = make_rule(grid, std::vector<std::int32_t>{0, 0, 0});
  EXPECT_THAT(none.uncertainty_edges, ElementsAre(0.25, 0.5));
  EXPECT_THAT(none.score_thresholds, ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  const Rule some = make_rule(grid, std::vector<std::int32_t>{2, 1, 0});
  // 0.7 itself is above its neighbour in single precision.
  EXPECT_THAT(some.score_thresholds, ElementsAre(0.697, 0.0, std::nullopt));
  const Rule one = make_rule(grid, std::vector<std::int32_t>{1, 0, 0});
  EXPECT_THAT(one.score_thresholds, ElementsAre(0.8, std::nullopt, std::nullopt));
}

// ---- decide

// Edges 1 and 2: an uncertainty on an edge belongs to the level above. Score on the threshold is positive.
TEST(Decide, CountsEdgesAtOrBelowAndIncludesTheThreshold) {
  const Rule rule{{1, 2}, {0.5, std::nullopt, 0.25}};
  const std::vector<double> score = {0.5, 0.4, 0.9, 0.9, 0.25, 0.2, 0.5};
  const std::vector<double> uncertainty = {0.9, 0.9, 1, 1.9, 2, 7, -3};
  std::vector<std::uint8_t> decision(score.size());
  std::vector<std::int32_t> level(score.size());
  decide(rule, view(score), view(uncertainty), decision, level);
  EXPECT_THAT(decision, ElementsAre(1, 0, 0, 0, 1, 0, 1));
  EXPECT_THAT(level, ElementsAre(0, 0, 1, 1, 2, 2, 0));
  EXPECT_EQ(decide(rule, view(score), view(uncertainty)), decision);
}

TEST(Decide, ComparesSinglePrecisionAsDoublePrecisionWould) {
  // 0.1F is above 0.1, 0.3F is above 0.3, 0.7F is below 0.7: rounding the threshold to nearest would flag it.
  const std::vector<float> score = {0.1F, 0.3F, 0.7F};
  const std::vector<float> uncertainty = {0, 0, 0};
  for (std::size_t row = 0; row < score.size(); ++row) {
    for (const double threshold : {0.1, 0.3, 0.7}) {
      const Rule rule{{}, {threshold}};
      EXPECT_EQ(decide(rule, view(score), view(uncertainty))[row] != 0, static_cast<double>(score[row]) >= threshold);
    }
  }
}

TEST(Decide, TakesThresholdsAndEdgesBeyondTheRangeOfFloat) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::vector<float> values = {-kLargest, -1, -0.0F, 0.0F, std::numeric_limits<float>::denorm_min(), 1, kLargest};
  for (const double limit : {-1e300, -3.5e38, static_cast<double>(-kLargest), -1e-46, -0.0, 0.0, 1e-300, 1e-46,
                             static_cast<double>(kLargest), 3.40282347e38, 3.5e38, 1e300}) {
    for (const float value : values) {
      const std::vector<float> score = {value};
      const std::vector<float> uncertainty = {value};
      const bool reached = static_cast<double>(value) >= limit;
      EXPECT_EQ(decide({{}, {limit}}, view(score), view(uncertainty))[0] != 0, reached) << value << " " << limit;
      EXPECT_EQ(decide({{limit}, {std::nullopt, -1e308}}, view(score), view(uncertainty))[0] != 0, reached)
          << value << " " << limit;
    }
  }
}

/// A number that tests comparisons: one of the column's values, a hair beside one, or anything.
double interesting(const std::vector<double>& column, std::mt19937_64& random) {
  const double value = column.empty() ? 0.5 : column[random() % column.size()];
  switch (random() % 6) {
    case 0:
      return value;
    case 1:
      return std::nextafter(value, kInfinity);
    case 2:
      return std::nextafter(value, -kInfinity);
    case 3:
      return value + (random_unit(random) - 0.5) * 1e-8 * std::abs(value);
    default:
      return random_unit(random);
  }
}

Rule random_rule(const std::vector<double>& score, const std::vector<double>& uncertainty, std::size_t num_edges,
                 std::mt19937_64& random) {
  std::set<double> edges;
  while (edges.size() < num_edges) edges.insert(interesting(uncertainty, random));
  Rule rule;
  rule.uncertainty_edges.assign(edges.begin(), edges.end());
  for (std::size_t level = 0; level <= num_edges; ++level) {
    rule.score_thresholds.push_back(random() % 4 == 0 ? std::nullopt : std::optional(interesting(score, random)));
  }
  return rule;
}

TEST(Decide, EqualsTheDefinitionRowByRow) {
  std::int64_t positive = 0;
  std::int64_t on_threshold = 0;
  for (const std::string shape : {"continuous", "single_precision", "mixed", "heavy_ties", "weighted_ties_single",
                                  "margins", "signed_zeros", "single_uncertainty_only"}) {
    std::mt19937_64 random(51);
    for (const std::size_t rows : {0U, 1U, 2U, 1023U, 1024U, 1025U, 2048U, 3000U}) {
      for (const std::size_t num_edges : {0U, 1U, 2U, 3U, 8U, 20U}) {
        SCOPED_TRACE(shape + " rows " + std::to_string(rows) + " edges " + std::to_string(num_edges));
        SampleTable table = test::make_random_samples(shape, rows, random);
        if (shape == "single_uncertainty_only") table.use_single_uncertainty();
        const Rule rule = random_rule(table.score, table.uncertainty, num_edges, random);
        const Samples samples = table.samples();
        std::vector<std::uint8_t> decision(rows, 7);
        std::vector<std::int32_t> level(rows, -7);
        decide(rule, samples.score, samples.uncertainty, decision, level);
        for (std::size_t row = 0; row < rows; ++row) {
          const auto expected = decide_row(rule, table.score[row], table.uncertainty[row]);
          ASSERT_EQ(decision[row], expected.positive) << "row " << row;
          ASSERT_EQ(level[row], expected.level) << "row " << row;
          positive += expected.positive;
          on_threshold += rule.score_thresholds[static_cast<std::size_t>(expected.level)] == table.score[row] ? 1 : 0;
        }
        ASSERT_EQ(decide(rule, samples.score, samples.uncertainty), decision);
      }
    }
  }
  EXPECT_GT(positive, 50'000);
  EXPECT_GT(on_threshold, 500);
}

TEST(Decide, EqualsTheDefinitionOverManyParallelBlocks) {
  std::mt19937_64 random(52);
  for (const std::string shape : {"single_precision", "continuous", "mixed"}) {
    const SampleTable table = test::make_random_samples(shape, 100'001, random);
    const Samples samples = table.samples();
    const Rule rule = random_rule(table.score, table.uncertainty, 10, random);
    const auto decision = decide(rule, samples.score, samples.uncertainty);
    std::size_t different = 0;
    for (std::size_t row = 0; row < table.size(); ++row) {
      different += decision[row] != decide_row(rule, table.score[row], table.uncertainty[row]).positive ? 1 : 0;
    }
    EXPECT_EQ(different, 0U) << shape;
  }
}

TEST(Decide, RefusesValuesThatAreNotFiniteAndNamesTheRow) {
  const Rule rule{{0.5}, {0.5, std::nullopt}};
  std::mt19937_64 random(53);
  for (const std::string shape : {"continuous", "single_precision", "mixed"}) {
    const SampleTable good = test::make_random_samples(shape, 3000, random);
    for (const std::size_t row : {0U, 1023U, 1024U, 2999U}) {
      for (const double value : {std::nan(""), kInfinity, -kInfinity}) {
        const std::string what = std::isnan(value) ? "NaN" : "infinite";
        for (const bool in_score : {true, false}) {
          SampleTable table = good;
          (in_score ? table.score : table.uncertainty)[row] = value;
          if (in_score && table.single_score) table.score32[row] = static_cast<float>(value);
          if (!in_score && table.single_uncertainty) table.uncertainty32[row] = static_cast<float>(value);
          const Samples samples = table.samples();
          EXPECT_EQ(refusal_of([&] { (void)decide(rule, samples.score, samples.uncertainty); }),
                    "decide: " + std::string(in_score ? "score[" : "uncertainty[") + std::to_string(row) + "] is " +
                        what + ", must be finite")
              << shape;
        }
      }
    }
  }
}

TEST(Decide, RefusesUnequalLengthsAndBadRules) {
  const std::vector<double> three = {1, 2, 3};
  const std::vector<double> two = {1, 2};
  const Rule rule{{}, {0.5}};
  std::vector<std::uint8_t> decision(3);
  std::vector<std::int32_t> level(2);
  EXPECT_EQ(refusal_of([&] { (void)decide(rule, view(three), view(two)); }),
            "decide: score has 3 rows, uncertainty 2, decision 3; all must be equal");
  EXPECT_EQ(refusal_of([&] { decide(rule, view(two), view(two), decision); }),
            "decide: score has 2 rows, uncertainty 2, decision 3; all must be equal");
  EXPECT_EQ(refusal_of([&] { decide(rule, view(three), view(three), decision, level); }),
            "decide: score has 3 rows, uncertainty 3, decision 3, level 2; all must be equal");
  EXPECT_EQ(refusal_of([&] {
              (void)decide({{2, 1}, {1, 1, 1}}, view(two), view(two));
            }),
            "rule: uncertainty_edges[1] is not above the edge before it");
}

// ---- JSON

Boundary example() {
  Boundary boundary;
  boundary.rule = {{0.12, 0.34}, {0.81, 0.86, std::nullopt}};
  boundary.objective = max_recall_at_precision({9, 10});
  boundary.bins = 500;
  boundary.holdout.rows = 1000;
  boundary.holdout.weight = 1000;
  boundary.holdout.positives = 400;
  boundary.holdout.flagged = 250;
  boundary.holdout.true_positives = 225;
  boundary.holdout.objective_value = 225;
  boundary.holdout.objective_bound = 225;
  boundary.holdout.optimal = true;
  return boundary;
}

TEST(BoundaryToJson, WritesTheDocumentedFormat) {
  const std::string expected = R"({
 "format": "limen-boundary",
 "version": 1,
 "rule": {
  "uncertainty_edges": [
   0.12,
   0.34
  ],
  "score_thresholds": [
   0.81,
   0.86,
   null
  ]
 },
 "objective": {
  "maximize": "recall",
  "constraint": "precision",
  "bound": 0.9
 },
 "method": "exact",
 "binning": {
  "kind": "equi-weight",
  "from": "all",
  "levels": 3,
  "bins": 500
 },
 "holdout": {
  "rows": 1000,
  "positives": 400,
  "flagged": 250,
  "true_positives": 225,
  "precision": 0.9,
  "recall": 0.5625,
  "true_positives_bound": 225,
  "objective_value": 225,
  "objective_bound": 225,
  "optimal": true
 },
 "guarantee": null,
 "columns": {
  "score": "score",
  "uncertainty": "uncertainty"
 },
 "limen": ")" + std::string(kLimenVersion) +
                               "\"\n}\n";
  EXPECT_EQ(to_json(example()), expected);
}

TEST(BoundaryToJson, NamesEveryGoal) {
  const auto objective = [](const Objective& goal) {
    Boundary boundary = example();
    boundary.objective = goal;
    return Json::parse(to_json(boundary)).at("objective").dump();
  };
  EXPECT_EQ(objective(max_precision_at_recall({3, 4})),
            R"({"maximize":"precision","constraint":"recall","bound":0.75})");
  EXPECT_EQ(objective(max_recall_at_false_positive_rate({1, 100})),
            R"({"maximize":"recall","constraint":"false-positive-rate","bound":0.01})");
  EXPECT_EQ(objective(max_recall_at_flag_rate({1, 1})),
            R"({"maximize":"recall","constraint":"flag-rate","bound":1.0})");
  EXPECT_EQ(objective(min_cost({1, 1}, {5, 2})), R"({"minimize":"cost","false_positive":1.0,"false_negative":2.5})");
  EXPECT_EQ(objective(max_f_beta({2, 1})), R"({"maximize":"f-beta","beta":2.0})");
}

TEST(BoundaryToJson, WritesWhatOnlySomeBoundariesHave) {
  Boundary boundary = example();
  boundary.bins = std::nullopt;
  boundary.holdout.weighted = true;
  boundary.holdout.weight = 512.5;
  boundary.objective = max_f_beta({1, 1});
  const Json json = Json::parse(to_json(boundary));
  EXPECT_EQ(json.at("binning").at("bins"), "all");
  EXPECT_EQ(json.at("holdout").at("weight"), 512.5);
  EXPECT_TRUE(json.at("holdout").at("true_positives_bound").is_null());
  EXPECT_FALSE(Json::parse(to_json(example())).at("holdout").contains("weight"));
}

double any_double(std::mt19937_64& random) {
  for (;;) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) return value;
  }
}

/// A decimal of at most `digits` digits in (0, 1].
Rational random_decimal(int digits, std::mt19937_64& random) {
  const auto den =
      static_cast<std::int64_t>(std::pow(10, 1 + static_cast<double>(random() % static_cast<std::uint64_t>(digits))));
  const auto num = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(den));
  const std::int64_t divisor = std::gcd(num, den);
  return {num / divisor, den / divisor};
}

Boundary random_boundary(std::mt19937_64& random, int bound_digits) {
  Boundary boundary;
  std::set<double> edges;
  for (std::size_t edge = random() % 21; edge > 0; --edge) {
    edges.insert(random() % 2 == 0 ? random_unit(random) : any_double(random));
  }
  boundary.rule.uncertainty_edges.assign(edges.begin(), edges.end());
  for (std::size_t level = 0; level <= edges.size(); ++level) {
    boundary.rule.score_thresholds.push_back(
        random() % 4 == 0 ? std::nullopt : std::optional(random() % 2 == 0 ? random_unit(random) : any_double(random)));
  }
  const Objective objectives[] = {max_recall_at_precision(random_decimal(bound_digits, random)),
                                  max_precision_at_recall(random_decimal(bound_digits, random)),
                                  max_recall_at_false_positive_rate(random_decimal(bound_digits, random)),
                                  max_recall_at_flag_rate(random_decimal(bound_digits, random)),
                                  min_cost(random_decimal(9, random), random_decimal(9, random)),
                                  max_f_beta(random_decimal(9, random))};
  boundary.objective = objectives[random() % std::size(objectives)];
  constexpr Method kMethods[] = {Method::kSt,     Method::kHr,     Method::kGmt,  Method::kMist,
                                 Method::kEwDpmt, Method::kVwDpmt, Method::kExact};
  boundary.method = kMethods[random() % std::size(kMethods)];
  boundary.binning = random() % 2 == 0 ? Binning::kEquiWeight : Binning::kEquiSpan;
  if (random() % 4 == 0) {
    const bool up = random() % 2 == 0;
    boundary.monotone = up ? Direction::kUp : Direction::kDown;
    std::ranges::sort(boundary.rule.score_thresholds, [up](const auto& a, const auto& b) {
      const double first = a.value_or(INFINITY);
      const double second = b.value_or(INFINITY);
      return up ? first < second : first > second;
    });
  }
  if (random() % 3 != 0) boundary.bins = static_cast<std::int64_t>(1 + random() % 1'000'000);
  HoldoutSummary& holdout = boundary.holdout;
  holdout.rows = static_cast<std::int64_t>(1 + random() % 1'000'000'000'000);
  holdout.weighted = random() % 2 == 0;
  const double scale = holdout.weighted ? random_unit(random) * 1e18 : 1;
  const auto count = [&] { return scale * static_cast<double>(random() % 1'000'000); };
  holdout.weight = holdout.weighted ? count() : static_cast<double>(holdout.rows);
  holdout.positives = std::min(count(), holdout.weight);
  holdout.flagged = std::min(count(), holdout.weight);
  holdout.true_positives = std::min({count(), holdout.flagged, holdout.positives});
  const Goal goal = boundary.objective.goal;
  const bool recall = goal == Goal::kPrecision || goal == Goal::kFalsePositiveRate || goal == Goal::kFlagRate;
  holdout.objective_value = recall ? holdout.true_positives : random() % 2 == 0 ? count() : random_unit(random);
  holdout.optimal = random() % 2 == 0;
  const double gap = holdout.optimal ? 0 : count();
  holdout.objective_bound = holdout.objective_value + (goal == Goal::kCost ? -gap : gap);
  const char* names[] = {"score", "", "with \"quotes\" and \\", "zwei\nZeilen", "\xC3\xA9\xE2\x82\xAC", "\x01"};
  boundary.score_column = names[random() % std::size(names)];
  boundary.uncertainty_column = names[random() % std::size(names)];
  return boundary;
}

TEST(BoundaryFromJson, ReadsBackExactlyWhatWasWritten) {
  std::mt19937_64 random(61);
  for (int instance = 0; instance < 2'000; ++instance) {
    const Boundary boundary = random_boundary(random, 15);
    const std::string text = to_json(boundary);
    ASSERT_EQ(boundary_from_json(text), boundary) << "instance " << instance << "\n" << text;
    ASSERT_EQ(to_json(boundary_from_json(text)), text) << "instance " << instance;
  }
}

TEST(BoundaryFromJson, ReadsBackBoundsOfSeventeenDigits) {
  std::mt19937_64 random(62);
  int wrong = 0;
  for (int instance = 0; instance < 2'000; ++instance) {
    Boundary boundary = example();
    boundary.objective.bound = decimal_rational(0.1 + 0.9 * random_unit(random));
    if (boundary_from_json(to_json(boundary)) == boundary || ++wrong > 1) continue;
    ADD_FAILURE() << to_string(boundary.objective.bound) << " reads back as "  // the first one only
                  << to_string(boundary_from_json(to_json(boundary)).objective.bound);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(BoundaryFromJson, ReadsBackFractionsThatAreNoDecimals) {
  Boundary boundary = example();
  for (const Objective& objective : {max_recall_at_precision({2, 3}), min_cost({1, 3}, {1, 1}), max_f_beta({2, 3})}) {
    validate(objective);
    boundary.objective = objective;
    Boundary read;
    EXPECT_EQ(refusal_of([&] { read = boundary_from_json(to_json(boundary)); }), "(not refused)");
    EXPECT_TRUE(read == boundary) << describe(objective);
  }
}

TEST(BoundaryFromJson, IgnoresMembersItDoesNotKnowAndTheirOrder) {
  Json json = Json::parse(to_json(example()));
  json["note"] = {1, 2, {{"deep", nullptr}}};
  json["rule"]["note"] = "x";
  json["holdout"]["note"] = true;
  EXPECT_EQ(boundary_from_json(json.dump()), example());
  EXPECT_EQ(boundary_from_json(nlohmann::json::parse(json.dump()).dump()), example());  // sorted by name
}

TEST(BoundaryFromJson, RefusesEveryTruncation) {
  const std::string text = to_json(example());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {  // without the last byte only the newline is gone
    EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(std::string_view(text).substr(0, length)); }),
              "boundary: is not a JSON file, or a damaged one")
        << length;
  }
  EXPECT_EQ(boundary_from_json(std::string_view(text).substr(0, text.size() - 1)), example());
}

TEST(BoundaryFromJson, RefusesOrReadsSoundlyWhenBytesAreDamaged) {
  std::mt19937_64 random(63);
  const std::string text = to_json(example());
  int refused = 0;
  int read = 0;
  for (int instance = 0; instance < 10'000; ++instance) {
    std::string damaged = text;
    for (std::uint64_t change = 1 + random() % 3; change > 0; --change) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged[at] = "0123456789-+.eE\"[]{},: tfn"[random() % 26];
          break;
        default:
          damaged.erase(at, 1 + random() % 30);
      }
    }
    try {
      const Boundary boundary = boundary_from_json(damaged);
      validate(boundary.rule);
      validate(boundary.objective);
      ++read;
    } catch (const InvalidInput&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5'000);
  EXPECT_GT(read, 100);
}

std::string refusal_with(const Json::json_pointer& at, const Json& value) {
  Json json = Json::parse(to_json(example()));
  json[at] = value;
  return refusal_of([&] { (void)boundary_from_json(json.dump()); });
}

std::string refusal_with(const char* at, const Json& value) { return refusal_with(Json::json_pointer(at), value); }

TEST(BoundaryFromJson, SaysWhatIsNotABoundary) {
  const auto refusal = [](std::string_view text) { return refusal_of([&] { (void)boundary_from_json(text); }); };
  const std::string not_json = "boundary: is not a JSON file, or a damaged one";
  const std::string other = "boundary: is not a boundary file: \"format\" must be \"limen-boundary\"";
  for (const char* text : {"", " ", "score,label\n1,2\n", "{", "{\"format\": }", "\xFF\xFE", "nan", "{} {}"}) {
    EXPECT_EQ(refusal(text), not_json) << text;
  }
  for (const char* text :
       {"{}", "[]", "null", "3", "\"limen-boundary\"", "{\"format\": \"other\"}", "{\"format\": 1, \"version\": 1}"}) {
    EXPECT_EQ(refusal(text), other) << text;
  }
  EXPECT_EQ(refusal("{\"format\": \"limen-boundary\"}"), "boundary: \"version\" is missing; the file is damaged");
}

TEST(BoundaryFromJson, RefusesOtherVersions) {
  EXPECT_EQ(refusal_with("/version", 3), "boundary: has version 3, this program reads up to 2; update limen");
  EXPECT_EQ(refusal_with("/version", 1'000'000'000'000),
            "boundary: has version 1000000000000, this program reads up to 2; update limen");
  EXPECT_EQ(refusal_with("/version", 0), "boundary: has version 0, the first is 1");
  EXPECT_EQ(refusal_with("/version", 1.0), "boundary: \"version\" is not a whole number");
}

TEST(BoundaryFromJson, RefusesRulesThatDoNotFit) {
  EXPECT_EQ(refusal_with("/rule/uncertainty_edges", {0.34, 0.12}),
            "rule: uncertainty_edges[1] is not above the edge before it");
  EXPECT_EQ(refusal_with("/rule/uncertainty_edges", {0.12, 0.12}),
            "rule: uncertainty_edges[1] is not above the edge before it");
  EXPECT_EQ(refusal_with("/rule/uncertainty_edges", {0.12, 0.34, 0.5}),
            "rule: 3 uncertainty edges need 4 score thresholds, there are 3");
  EXPECT_EQ(refusal_with("/rule/score_thresholds", Json::array()),
            "rule: 2 uncertainty edges need 3 score thresholds, there are 0");
}

TEST(BoundaryFromJson, RefusesALevelCountThatIsNotTheRules) {
  EXPECT_THAT(refusal_with("/binning/levels", 7), StartsWith("boundary: "));
}

TEST(BoundaryFromJson, RefusesObjectivesItDoesNotKnow) {
  EXPECT_EQ(refusal_with("/objective/constraint", "accuracy"),
            "boundary: \"objective\" maximizes \"recall\" under \"accuracy\", which is not known");
  EXPECT_EQ(refusal_with("/objective/maximize", "profit"),
            "boundary: \"objective\" maximizes \"profit\" under \"precision\", which is not known");
  EXPECT_EQ(refusal_with("/objective/minimize", "regret"), "boundary: \"objective.minimize\" is not \"cost\"");
  EXPECT_EQ(refusal_with("/objective", Json::object()),
            "boundary: \"objective.maximize\" is missing; the file is damaged");
  EXPECT_EQ(refusal_with("/objective/bound", -0.5), "boundary: \"objective.bound\" is negative");
  EXPECT_EQ(refusal_with("/objective/bound", 1.5), "objective: precision bound is 1.5, must be between 0 and 1");
  EXPECT_EQ(refusal_with("/method", "magic"),
            "method \"magic\" is not one of st, hr, gmt, mist, ew-dpmt, vw-dpmt, smooth, exact, joint, auto");
  EXPECT_EQ(refusal_with("/method", "auto"), "boundary: \"method\" is auto, which makes no boundary itself");
  EXPECT_EQ(refusal_with("/binning/kind", "equal"), "binning \"equal\" is not one of equi-weight, equi-span");
}

TEST(BoundaryFromJson, RefusesNumbersThatCannotBe) {
  for (const Json& value : {Json(-1), Json(18446744073709551615U)}) {
    EXPECT_THAT(refusal_with("/holdout/rows", value), StartsWith("boundary: ")) << value;
    EXPECT_THAT(refusal_with("/binning/bins", value), StartsWith("boundary: ")) << value;
  }
  EXPECT_THAT(refusal_with("/binning/bins", 0), StartsWith("boundary: "));
}

// The example: 1000 rows, 400 positives, 250 flagged, 225 of them positive, proved optimal.
TEST(BoundaryFromJson, RefusesAHoldoutThatContradictsItself) {
  const std::vector<std::tuple<const char*, Json, std::string>> cases = {
      {"/holdout/true_positives", 251,
       "\"holdout.true_positives\" is 251, more than \"holdout.flagged\", which is 250"},
      {"/holdout/positives", 224, "\"holdout.true_positives\" is 225, more than \"holdout.positives\", which is 224"},
      {"/holdout/positives", 1001, "\"holdout.positives\" is 1001, more than \"holdout.rows\", which is 1000"},
      {"/holdout/flagged", 1001, "\"holdout.flagged\" is 1001, more than \"holdout.rows\", which is 1000"},
      {"/holdout/weight", 40, "\"holdout.positives\" is 400, more than \"holdout.weight\", which is 40"},
      {"/holdout/weight", -1, "\"holdout.weight\" is negative"},
      {"/holdout/rows", -1, "\"holdout.rows\" is negative"},
      {"/holdout/flagged", -1, "\"holdout.flagged\" is negative"},
      {"/holdout/true_positives", -1, "\"holdout.true_positives\" is negative"},
      {"/holdout/precision", 0.95, "\"holdout.precision\" is 0.95, but by its counts it is 0.9"},
      {"/holdout/recall", 0.3, "\"holdout.recall\" is 0.3, but by its counts it is 0.5625"},
      {"/holdout/objective_bound", 224, "\"holdout.objective_value\" is better than \"holdout.objective_bound\""},
      {"/holdout/objective_bound", 226,
       "\"holdout.optimal\" is true, but \"holdout.objective_value\" is not the bound"},
      {"/holdout/true_positives_bound", 226, "\"holdout.true_positives_bound\" is not \"holdout.objective_bound\""},
      {"/objective/bound_fraction", "2/3", "\"objective.bound_fraction\" is 2/3, but \"objective.bound\" is 0.9"},
      {"/chosen_by", 3, "\"chosen_by\" is neither null nor an object"},
      {"/expected", "x", "\"expected\" is neither null nor an object"},
      {"/expected", {{"by", "cross-validation"}}, "\"expected.precision\" is missing; the file is damaged"},
      {"/expected",
       {{"precision", {0.9, 0.8}}, {"recall", {0, 1}}, {"by", "cross-validation"}},
       "\"expected.precision\" is not a range between 0 and 1"},
      {"/chosen_by",
       {{"information_p", 2}, {"candidates", Json::array()}, {"why", ""}},
       "\"chosen_by.information_p\" is not between 0 and 1"},
      {"/binning/from", 3, "\"binning.from\" is not a text"},
  };
  for (const auto& [at, value, problem] : cases) EXPECT_EQ(refusal_with(at, value), "boundary: " + problem) << at;
  // What was maximized.
  Json json = Json::parse(to_json(example()));
  json["holdout"]["objective_value"] = 224;
  json["holdout"]["objective_bound"] = 224;
  json["holdout"]["true_positives_bound"] = 224;
  EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(json.dump()); }),
            "boundary: \"holdout.objective_value\" is not \"holdout.true_positives\", which is what was maximized");
}

TEST(BoundaryFromJson, ReadsRoundedRatiosEqualFractionsAndMembersThatMayBeAbsent) {
  Json json = Json::parse(to_json(example()));
  json["holdout"]["recall"] = 0.562;
  json["objective"]["bound_fraction"] = "18/20";
  json.erase("guarantee");
  json["chosen_by"] = nullptr;
  json["expected"] = nullptr;
  json["binning"].erase("from");
  EXPECT_EQ(boundary_from_json(json.dump()), example());
}

TEST(BoundaryFromJson, RefusesNumbersBeyondTheRangeOfDouble) {
  std::string text = to_json(example());
  text.replace(text.find("0.81"), 4, "1e999");
  EXPECT_THAT(refusal_of([&] { (void)boundary_from_json(text); }), StartsWith("boundary: "));
}

TEST(BoundaryFromJson, RefusesAMissingMember) {
  for (const char* at : {"/format",
                         "/version",
                         "/rule",
                         "/rule/uncertainty_edges",
                         "/rule/score_thresholds",
                         "/objective",
                         "/objective/maximize",
                         "/objective/constraint",
                         "/objective/bound",
                         "/method",
                         "/binning",
                         "/binning/kind",
                         "/binning/bins",
                         "/holdout",
                         "/holdout/rows",
                         "/holdout/positives",
                         "/holdout/flagged",
                         "/holdout/true_positives",
                         "/holdout/objective_value",
                         "/holdout/objective_bound",
                         "/holdout/optimal",
                         "/columns",
                         "/columns/score",
                         "/columns/uncertainty"}) {
    const Json::json_pointer pointer(at);
    Json json = Json::parse(to_json(example()));
    json[pointer.parent_pointer()].erase(pointer.back());
    std::string name = at;
    name.erase(0, 1);
    std::replace(name.begin(), name.end(), '/', '.');
    const std::string expected = name == "format"
                                     ? "boundary: is not a boundary file: \"format\" must be \"limen-boundary\""
                                     : "boundary: \"" + name + "\" is missing; the file is damaged";
    EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(json.dump()); }), expected);
  }
}

/// Every member and list element of the file.
void collect_pointers(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& pointers) {
  if (!at.empty()) pointers.push_back(at);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) collect_pointers(value, at / key, pointers);
  }
  if (json.is_array()) {
    for (std::size_t element = 0; element < json.size(); ++element) {
      collect_pointers(json[element], at / element, pointers);
    }
  }
}

TEST(BoundaryFromJson, RefusesAWrongTypeInEveryMember) {
  const Json json = Json::parse(to_json(example()));
  std::vector<Json::json_pointer> pointers;
  collect_pointers(json, Json::json_pointer(), pointers);
  ASSERT_EQ(pointers.size(), 36U);
  const Json values[] = {nullptr, true, "text", 1.25, 3, Json::array({1}), Json::object({{"x", 1}})};
  for (const Json::json_pointer& pointer : pointers) {
    const std::string name = pointer.to_string();
    const bool whole =
        name == "/version" || name == "/binning/levels" || name == "/binning/bins" || name == "/holdout/rows";
    const bool may_be_null =
        name.starts_with("/rule/score_thresholds/") || name == "/holdout/true_positives_bound" || name == "/guarantee";
    const bool may_be_number = name.starts_with("/rule/score_thresholds/");
    for (const Json& value : values) {
      if (value.is_null() && may_be_null) continue;
      if (value.is_number() && may_be_number) continue;
      if (name == "/guarantee" && value.is_object()) continue;
      const bool same_type = value.is_number() && json[pointer].is_number() ? !whole || value.is_number_integer()
                                                                            : value.type() == json[pointer].type();
      if (same_type) continue;
      EXPECT_NE(refusal_with(pointer, value), "(not refused)") << name << " is " << value;
    }
  }
}

Boundary example_with_review() {
  Boundary boundary = example();
  boundary.review = Review{.score_thresholds = {0.7, std::nullopt, 0.93},
                           .max_rate = Rational{1, 20},
                           .min_recall = Rational{3, 5},
                           .reviewed = 48,
                           .positives = 21,
                           .optimal = true};
  return boundary;
}

TEST(BoundaryFromJson, ReadsBackAReviewAndRefusesOneOfMissingOrWrongMembers) {
  EXPECT_EQ(boundary_from_json(to_json(example_with_review())), example_with_review());
  const Json json = Json::parse(to_json(example_with_review()));
  Json without = json;
  without["review"] = nullptr;
  EXPECT_EQ(boundary_from_json(without.dump()), example());
  for (const char* key : {"score_thresholds", "rate", "reviewed", "positives", "recall", "optimal"}) {
    Json missing = json;
    missing["review"].erase(key);
    EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(missing.dump()); }),
              "boundary: \"review." + std::string(key) + "\" is missing; the file is damaged");
  }
  std::vector<Json::json_pointer> pointers;
  collect_pointers(json["review"], Json::json_pointer(), pointers);
  ASSERT_EQ(pointers.size(), 11U);
  const Json values[] = {nullptr, true, "text", -3, 1e30, Json::array({1}), Json::object({{"x", 1}})};
  for (const Json::json_pointer& pointer : pointers) {
    for (const Json& value : values) {
      const std::string name = pointer.to_string();
      if (value.is_boolean() && name == "/optimal") continue;
      if ((value.is_null() || value == -3) && name.starts_with("/score_thresholds/")) continue;  // any real score
      if (value == 1e30 && name == "/score_thresholds/2") continue;  // nothing of the level is flagged
      Json changed = json;
      changed["review"][pointer] = value;
      EXPECT_NE(refusal_of([&] { (void)boundary_from_json(changed.dump()); }), "(not refused)") << name << value;
    }
  }
}

constexpr std::size_t kDepth = 100'000;

TEST(BoundaryFromJson, RefusesDeepNestingWithoutHarm) {
  const std::string open(kDepth, '[');
  const std::string close(kDepth, ']');
  std::string objects;
  for (std::size_t depth = 0; depth < kDepth; ++depth) objects += "{\"a\":";
  EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(open); }), "boundary: is nested too deeply, it is damaged");
  EXPECT_EQ(refusal_of([&] { (void)boundary_from_json(objects); }), "boundary: is nested too deeply, it is damaged");
  EXPECT_THAT(refusal_of([&] { (void)boundary_from_json(open + close); }), StartsWith("boundary: "));
}

TEST(BoundaryFromJson, RefusesDeepNestingInAKnownMember) {
  std::string text = to_json(example());
  text.replace(text.find("0.12"), 4, std::string(kDepth, '[') + std::string(kDepth, ']'));
  EXPECT_THAT(refusal_of([&] { (void)boundary_from_json(text); }), StartsWith("boundary: "));
}

// Members follow the deep one: whoever keeps them in a growing list must not copy what is already in it, level by level
// on the stack.
TEST(BoundaryFromJson, SurvivesDeepNestingInAMemberItDoesNotKnow) {
  std::string text = to_json(example());
  text.insert(1, "\"note\": " + std::string(kDepth, '[') + std::string(kDepth, ']') + ",");
  try {
    EXPECT_EQ(boundary_from_json(text), example());
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), StartsWith("boundary: "));  // a limit on the depth would do as well
  }
}

}  // namespace
}  // namespace limen
