// SPDX-License-Identifier: MIT
#include "limen/uncertainty/frame_law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/frames.h"
#include "../support/refusal.h"

namespace limen {
namespace {

using test::frame_of;
using test::number_column;
using test::refusal_of;
using test::text_column;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

TEST(EvidenceColumns, AreThoseThatAllTablesHaveButForWhatIsNoFeature) {
  const Names training = {"id", "label", "city", "score", "uncertainty", "evidence", "age", "job"};
  const std::vector<Names> others = {{"job", "age", "city", "score", "label", "uncertainty", "evidence", "id"},
                                     {"age", "score", "label", "job", "id", "uncertainty", "evidence"}};
  EXPECT_EQ(evidence_columns(training, others), (Names{"id", "age", "job"}));
  EXPECT_EQ(evidence_columns(training, {}, {.label = "job", .score = "age", .drop = {"id", "city"}}),
            (Names{"label", "score"}));
  EXPECT_EQ(evidence_columns(training, others, {.made = {"age"}}), (Names{"id", "uncertainty", "evidence", "job"}));
  EXPECT_EQ(refusal_of([&] { (void)evidence_columns(training, others, {.drop = {"town"}}); }),
            "evidence_columns: drop names \"town\", which is not a column of the training rows");
}

TEST(RisingColumnsTest, RiseFromEachRowToTheNextWhateverTheBatches) {
  const Frame frame = frame_of({number_column("number", {1, 2, 3.5, 9}), number_column("tie", {1, 2, 2, 3}),
                                number_column("hole", {1, kMissing, 3, 4}), text_column("text", {"1", "2", "3", "4"}),
                                number_column("falls last", {1, 2, 3, 2})});
  for (const std::size_t cut : {std::size_t{1}, std::size_t{3}, std::size_t{4}}) {
    RisingColumns rising;
    rising.add(test::slice(frame, 0, cut));
    rising.add(test::slice(frame, cut, 4));
    const std::vector<bool> found = {rising.rises(0), rising.rises(1), rising.rises(2), rising.rises(3),
                                     rising.rises(4)};
    EXPECT_EQ(found, (std::vector<bool>{true, false, false, false, false})) << cut;
  }
  RisingColumns two;
  two.add(frame_of({number_column("x", {1, 2})}));
  EXPECT_FALSE(two.rises(0));
}

// Cells of city x age by hand. Codes: city a 1, b 2; age 30 1, 40 2; missing is 0. `shade` is in no term.
FrameLaw small_law() {
  const EvidenceKeys keys =
      EvidenceKeys::from_values({{.name = "shade", .texts = {"red"}},
                                 {.name = "city", .texts = {"a", "b"}},
                                 {.name = "age", .is_number = true, .cuts = {30, 40}},
                                 {.name = "pay", .is_number = true, .is_binned = true, .cuts = {10}}},
                                {});
  EvidenceLaw law;
  law.status = EvidenceLawStatus::kActive;
  law.num_columns = 4;
  law.cap = 1000;
  law.num_candidates = 3;
  law.p_value = 1e-4;
  law.gain_z = 2.5;
  law.terms = {{.columns = {1, 2}, .weight = 0.25, .cells = {.keys = {0, (1ULL << 32U) | 2U}, .counts = {3, 7}}},
               {.columns = {3}, .weight = 0.75, .cells = {.keys = {1, 2}, .counts = {1, 5}}}};
  law.curve = {.at = {-2, 0, 1, 2}, .log_odds = {-3, -1, 1, 3}, .mean = 0, .sd = 1};
  law.coefficients = {0, 1, 0.5, 1};
  law.evidence_mean = 0.5;
  law.evidence_sd = 0.5;
  law.crossing = 0.3775;
  return {keys, law};
}

Frame small_rows() {
  return frame_of({text_column("city", {"a", "", "new", "a"}), number_column("age", {40, kMissing, 40, 35}),
                   number_column("pay", {9, 10, kMissing, 1e9})});
}

// Row a 40, pay below 10: 7 and 1 rows; missing twice, pay from 10: 3 and 5; nothing at all; 35 was never seen, 5.
TEST(FrameLawTest, CountsByTheColumnsOfItsTermsAlone) {
  const FrameLaw law = small_law();
  EXPECT_THAT(law.column_names(), ElementsAre("city", "age", "pay"));
  const LawEvidence found = law.evidence(small_rows());
  const std::vector<double> log_n = {0.25 * std::log(8) + 0.75 * std::log(2), 0.25 * std::log(4) + 0.75 * std::log(6),
                                     0, 0.75 * std::log(6)};
  for (std::size_t row = 0; row < log_n.size(); ++row) {
    EXPECT_NEAR(found.uncertainty[row], -log_n[row], 1e-12) << row;
    EXPECT_NEAR(found.evidence[row], std::exp(log_n[row]), 1e-12) << row;
  }
  EXPECT_FALSE(std::signbit(found.uncertainty[2]));
  EXPECT_THAT(law.describe(), HasSubstr("rows that agree on city x age (0.25) and pay (0.75)"));
  // Score 1/2: F = -1; h = -1 where nothing is known, so log odds -0.5 - 0.05.
  EXPECT_NEAR(law.probability(std::vector<double>(4, 0.5), small_rows())[2], 1 / (1 + std::exp(0.55)), 1e-12);
  EXPECT_THAT(refusal_of([&] { (void)law.evidence(frame_of({text_column("city", {"a"})})); }),
              HasSubstr("1 columns, there are 3 keys"));
}

// The paper's process in small: as many training rows as a city has by chance, a score by a prior that is too weak.
struct Table {
  Frame training;
  Frame validation;
  std::vector<double> score;
  std::vector<std::uint8_t> label;
  std::vector<std::uint8_t> chance;  // labels that depend on the score alone
};

Table make_table() {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit;
  std::gamma_distribution<double> one(1.5);
  std::gamma_distribution<double> other(8.5);
  constexpr std::size_t kCities = 1500;
  std::array<std::vector<double>, 2> number;
  std::array<std::vector<double>, 2> noise;
  std::array<Names, 2> city;
  const auto put = [&](std::size_t table, std::size_t at) {
    number[table].push_back(static_cast<double>(number[table].size()));
    noise[table].push_back(unit(random));
    city[table].push_back("c" + std::to_string(at));
  };
  std::vector<double> rate;
  std::vector<double> score;
  for (std::size_t at = 0; at < kCities; ++at) {
    const double positive = one(random);
    rate.push_back(positive / (positive + other(random)));
    const auto rows = static_cast<int>(2 * std::pow(30, unit(random)));
    int positives = 0;
    for (int row = 0; row < rows; ++row) {
      put(0, at);
      positives += unit(random) < rate.back() ? 1 : 0;
    }
    score.push_back((positives + 0.3) / (rows + 2.0));
  }
  Table table;
  for (int row = 0; row < 30'000; ++row) {
    const auto at = static_cast<std::size_t>(unit(random) * kCities);
    put(1, at);
    table.score.push_back(score[at]);
    table.label.push_back(unit(random) < rate[at] ? 1 : 0);
    table.chance.push_back(unit(random) < score[at] ? 1 : 0);
  }
  table.training =
      frame_of({number_column("number", number[0]), text_column("city", city[0]), number_column("noise", noise[0])});
  table.validation =
      frame_of({number_column("number", number[1]), text_column("city", city[1]), number_column("noise", noise[1])});
  return table;
}

TEST(FitFrameLaw, LeavesOutRowNumbersAndKeepsWhatCounts) {
  const Table table = make_table();
  const FrameLawFit fit = fit_frame_law(table.training, table.validation, table.score, table.label);
  EXPECT_THAT(fit.columns, ElementsAre("city", "noise"));
  EXPECT_THAT(fit.rising, ElementsAre("number"));
  ASSERT_FALSE(fit.law.law().is_silent()) << fit.law.describe();
  EXPECT_THAT(fit.law.column_names(), ElementsAre("city"));
  // A city that training did not have, and c0, whose rows are counted.
  const auto& cities = std::get<TextValues>(table.training.columns[1].values);
  const auto rows = static_cast<double>(std::ranges::count(cities.code, cities.code[0]));
  const LawEvidence found = fit.law.evidence(frame_of({text_column("city", {"c0", "new"})}));
  EXPECT_NEAR(found.evidence[0], 1 + rows, 1e-9 * rows);
  EXPECT_EQ(found.evidence[1], 1);
}

// Batches and other dictionaries, as a reader of files makes them, give the same evidence bit for bit.
TEST(FitFrameLaw, IsTheLawOfTheSameRowsInBatches) {
  const Table table = make_table();
  const FrameLawFit fit =
      fit_frame_law(table.training, table.validation, table.score, table.label, {.law = {.num_threads = 1}});
  const auto without_number = [](Frame frame) {
    frame.columns.erase(frame.columns.begin());
    return frame;
  };
  const std::size_t rows = table.training.num_rows;
  std::vector<Frame> batches;
  for (std::size_t begin = 0; begin < rows; begin += 5000) {
    batches.push_back(without_number(test::slice(table.training, begin, std::min(begin + 5000, rows))));
  }
  EvidenceKeys keys(batches[0], {});
  for (const Frame& batch : batches) keys.fit(batch);
  keys.finish_fit();
  CodeRows training = {.num_columns = 2};
  for (const Frame& batch : batches) {
    const std::vector<std::uint32_t> codes = keys.add_codes(batch);
    training.codes.insert(training.codes.end(), codes.begin(), codes.end());
  }
  const Frame validation = without_number(test::slice(table.validation, 0, table.validation.num_rows));
  const FrameLaw law(keys, fit_evidence_law(training, {.num_columns = 2, .codes = keys.codes(validation)}, table.score,
                                            table.label, {.num_threads = 4}));
  const Frame cities = frame_of({table.validation.columns[1]});
  EXPECT_EQ(law.describe(), fit.law.describe());
  EXPECT_EQ(law.evidence(cities).uncertainty, fit.law.evidence(cities).uncertainty);
  EXPECT_EQ(law.probability(table.score, cities), fit.law.probability(table.score, cities));
}

TEST(FitFrameLaw, ASilentLawNeedsNoColumnsAndSaysWhy) {
  const Table table = make_table();
  const FrameLawFit fit = fit_frame_law(table.training, table.validation, table.score, table.chance);
  ASSERT_TRUE(fit.law.law().is_silent());
  EXPECT_THAT(fit.law.column_names(), IsEmpty());
  EXPECT_THAT(fit.law.describe(), HasSubstr("Silent: "));
  const Frame two = {.num_rows = 2};
  EXPECT_THAT(fit.law.evidence(two).evidence, ElementsAre(1, 1));
  EXPECT_THAT(fit.law.evidence(two).uncertainty, ElementsAre(0, 0));
  // The score alone, recalibrated: what it is worth on these rows.
  const std::vector<double> p = fit.law.probability(std::vector{0.1, 0.3}, two);
  EXPECT_NEAR(p[0], 0.1, 0.02);
  EXPECT_NEAR(p[1], 0.3, 0.05);
  EXPECT_EQ(refusal_of([&] { (void)fit.law.probability(std::vector{0.1}, two); }),
            "probability: score has 1 rows, must have 2");
  EXPECT_EQ(to_json(frame_law_from_json(to_json(fit.law))), to_json(fit.law));
}

TEST(FitFrameLaw, RefusesBadInput) {
  const Frame rows = frame_of({text_column("a", {"x", "y", "x"}), number_column("b", {1, 3, 2})});
  const std::vector<double> score = {0.1, 0.2, 0.3};
  const std::vector<std::uint8_t> label = {0, 1, 0};
  const auto refused = [&](const Frame& training, const Frame& validation, const FrameLawOptions& options = {}) {
    return refusal_of([&] { (void)fit_frame_law(training, validation, score, label, options); });
  };
  EXPECT_EQ(refused(rows, rows), "(not refused)");
  EXPECT_EQ(refused({.num_rows = 3}, {.num_rows = 3}),
            "fit_frame_law: the tables have no column in common that could be counted by");
  const Frame rising = frame_of({number_column("b", {1, 2, 3})});
  EXPECT_EQ(refused(rising, rising), "fit_frame_law: no column is left to count by but what rises from row to row");
  EXPECT_EQ(refused(rows, frame_of({text_column("a", {"x", "y", "x"})})),
            "fit_frame_law: validation has 1 columns, training has 2");
  EXPECT_THAT(refused(rows, frame_of({text_column("a", {"x", "y", "x"}), text_column("b", {"1", "3", "2"})})),
              HasSubstr("column 2 is b (text), the key is b (number)"));
  Frame infinite = rows;
  std::get<NumberValues>(infinite.columns[1].values)[2] = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused(infinite, rows),
            "fit_frame_law: training has an infinite number in row 2 of column \"b\", must be finite or missing");
  EXPECT_THAT(refused(rows, infinite), HasSubstr("validation has an infinite number"));
  EXPECT_THAT(refused(rows, rows, {.num_bins = 1}), HasSubstr("num_bins is 1, must be from 2 to 65536"));
  EXPECT_THAT(refused(rows, rows, {.law = {.level = 2}}), HasSubstr("level is 2"));
  Frame wide = {.num_rows = 3};
  for (int column = 0; column < 257; ++column)
    wide.columns.push_back(text_column(std::to_string(column), {"", "", ""}));
  EXPECT_EQ(refused(wide, wide), "fit_frame_law: there are 257 columns to look at, at most 256: leave some out");
}

TEST(FrameLawJson, RoundTrip) {
  const FrameLaw law = small_law();
  const FrameLaw again = frame_law_from_json(to_json(law));
  EXPECT_EQ(to_json(again), to_json(law));
  EXPECT_EQ(again.evidence(small_rows()).evidence, law.evidence(small_rows()).evidence);
  EXPECT_EQ(again.describe(), law.describe());
  const FrameLaw bytes(EvidenceKeys::from_values({{.name = "a", .texts = {"\xff"}}}, {}), [] {
    EvidenceLaw one = small_law().law();
    one.num_columns = 1;
    one.terms = {{.columns = {0}, .weight = 1, .cells = {.keys = {1}, .counts = {1}}}};
    return one;
  }());
  EXPECT_EQ(refusal_of([&] { (void)to_json(bytes); }),
            "evidence law: a column has text that is not UTF-8, which JSON cannot hold");
}

TEST(FrameLawJson, RefusesDamage) {
  const std::string text = to_json(small_law());
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return "no " + from + " in " + text;
    return refusal_of([&] { (void)frame_law_from_json(std::string(text).replace(at, from.size(), to)); });
  };
  EXPECT_THAT(refusal_of([] { (void)frame_law_from_json("[]"); }), HasSubstr("is no law of evidence"));
  EXPECT_THAT(refusal_of([&] { (void)evidence_law_from_json(text); }), HasSubstr("\"limen-evidence-law\""));
  EXPECT_THAT(refused("\"version\":1", "\"version\":7"), HasSubstr("has version 7"));
  EXPECT_EQ(refused("[\"a\",\"b\"]", "[\"a\",\"a\"]"), "evidence: key \"city\" has the text \"a\" twice");
  for (const auto& [member, from, to] : std::vector<std::array<std::string, 3>>{
           {"name", "\"name\":\"age\"", "\"name\":7"},
           {"name", "\"name\":\"age\"", "\"name\":\"city\""},
           {"kind", "\"kind\":\"bins\"", "\"kind\":\"bin\""},
           {"texts", "[\"a\",\"b\"]", "[\"a\",2]"},
           {"texts", "[\"a\",\"b\"]", "\"ab\""},
           {"cuts", "[30.0,40.0]", "[40.0,30.0]"},
           {"cuts", "[30.0,40.0]", "[null]"},
           {"texts", "\"kind\":\"bins\"", "\"kind\":\"text\""},
           {"law", "\"law\"", "\"lore\""},
           {"columns", "\"num_columns\":3", "\"num_columns\":4"},
           {"columns", "\"columns\":[2]", "\"columns\":[1]"},
       }) {
    EXPECT_EQ(refused(from, to), "evidence law: is damaged at \"" + member + "\"") << from << " -> " << to;
  }
}

}  // namespace
}  // namespace limen
