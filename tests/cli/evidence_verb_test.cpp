// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <random>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Late by more than 30: 40, 31, 90. At JFK: 2 rows, 1 late; hour 8: both; LAX hour 9: 3 rows, 2 late.
constexpr std::string_view kTrain =
    "date,from,late,w\n"
    "2001-01-14 08:05,JFK,40,1\n"
    "2001/01/15 08:59,JFK,30,0.5\n"
    "2001-01-14 09:00,LAX,31,2\n"
    "2001-01-14 09:01,LAX,-5,1\n"
    "2001-01-14 09:02,LAX,90,1\n";
constexpr std::string_view kData =
    "id,date,from\na,2001-02-01 08:00,JFK\nb,2001-02-01 10:00,LAX\nc,2001-02-01 09:00,SFO\n";

// `text` with {N} replaced by the uncertainty of N rows in the cell of all keys.
std::string with_uncertainty(std::string text) {
  for (const int count : {2, 50}) {
    // The compiler's own log1p and the library's may differ in the last digit.
    const volatile double rows = count;
    std::array<char, 32> digits = {};
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), -std::log1p(rows)).ptr;
    text = replaced(text, "{" + std::to_string(count) + "}",
                    std::string(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()))));
  }
  return text;
}

class EvidenceVerb : public CliTest {
 protected:
  EvidenceVerb() {
    write_file("train.csv", kTrain);
    write_file("data.csv", kData);
  }
  Words with(const Words& more) const {
    Words words = {"evidence", "train.csv", "data.csv", "--keys", "from,date:hour"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

// Cells: (JFK, 8) 2 rows; (LAX, 10) none, LAX 3; SFO none, all 5.
TEST_F(EvidenceVerb, AddsEvidenceAndUncertainty) {
  const std::string text = output_of(with({"-o", "out.csv"}));
  EXPECT_THAT(text, AllOf(HasSubstr("train.csv: 5 rows in 2 cells of from, date:hour"),
                          HasSubstr("3 rows, 2 (66.67%) with an empty cell, written to out.csv")));
  EXPECT_EQ(file_text("out.csv"), with_uncertainty("id,date,from,evidence,uncertainty\n"
                                                   "a,2001-02-01 08:00,JFK,2,{2}\n"
                                                   "b,2001-02-01 10:00,LAX,3,0.25\n"
                                                   "c,2001-02-01 09:00,SFO,5,1.1666666666666665\n"));
  EXPECT_EQ(json_of(with({"-o", "out.csv", "--json"})),
            Json::parse(R"({"training_rows": 5, "cells": 2, "rows": 3, "rows_backed_off": 2})"));
}

// Strength 1: all 3/5; JFK (1 + 0.6) / 3, (JFK, 8) (1 + 8/15) / 3 = 23/45; LAX (2 + 0.6) / 4 = 0.65.
TEST_F(EvidenceVerb, AddsTheSmoothedRateAndPositives) {
  const std::string text = output_of(
      with({"--label", "late", "--positive-if", ">30", "--rate", "--positives", "--strength", "1", "-o", "-"}));
  EXPECT_EQ(text, with_uncertainty("id,date,from,evidence,uncertainty,positives,score\n"
                                   "a,2001-02-01 08:00,JFK,2,{2},1,0.5111111111111111\n"
                                   "b,2001-02-01 10:00,LAX,3,0.25,2,0.65\n"
                                   "c,2001-02-01 09:00,SFO,5,1.1666666666666665,3,0.6\n"));
  EXPECT_THAT(output_of(with({"--label", "late", "--positive-if", "<=30", "--rate=p", "--strength", "0", "-o", "-"})),
              AllOf(HasSubstr("uncertainty,p\n"), HasSubstr("SFO,5,1.1666666666666665,0.4\n")));
}

TEST_F(EvidenceVerb, CountsWeights) {
  EXPECT_THAT(output_of(with({"--weight", "w", "-o", "-"})), AllOf(HasSubstr("JFK,1.5,"), HasSubstr("SFO,5.5,")));
  write_file("train.csv", replaced(kTrain, "30,0.5", "30,-1"));
  expect_refused(with({"--weight", "w", "-o", "out.csv"}), {"train.csv: row 2", "\"w\"", "at least 0"});
}

TEST_F(EvidenceVerb, TauKeepsAllPositivesAndTheSameNegativesForASeed) {
  std::string train = "k,y\n";
  for (int row = 0; row < 4000; ++row) train += row % 4 == 0 ? "a,yes\n" : "a,no\n";
  write_file("t.csv", train);
  const auto report = [&](const std::string& seed) {
    return json_of({"evidence", "t.csv", "t.csv", "--keys", "k", "--label", "y", "--positive", "yes", "--tau", "3",
                    "--seed", seed, "-o", "out.csv", "--json"});
  };
  const Json first = report("1");
  EXPECT_EQ(first["training_positives"], 1000);
  // 3000 negatives at a third: five standard deviations of 25.8.
  EXPECT_NEAR(first["training_rows"].get<double>(), 2000, 130);
  EXPECT_EQ(report("1"), first);
  EXPECT_NE(report("2"), first);
}

TEST_F(EvidenceVerb, LeavesEachRowOutOfItsOwnEvidence) {
  write_file("t.csv", "k,y\na,1\na,0\na,1\nb,1\n");
  EXPECT_EQ(output_of({"evidence", "t.csv", "t.csv", "--keys", "k", "--label", "y", "--rate", "--strength", "0",
                       "--leave-one-out", "-o", "-"}),
            with_uncertainty("k,y,evidence,uncertainty,score\n"
                             "a,1,2,{2},0.5\n"
                             "a,0,2,{2},1\n"
                             "a,1,2,{2},0.5\n"
                             "b,1,3,0.25,0.6666666666666666\n"));
  expect_refused(with({"--leave-one-out", "-o", "out.csv"}), {"--leave-one-out", "TRAIN"});
}

TEST_F(EvidenceVerb, BinsNumbersUnlessTheyAreCategorical) {
  std::string train = "x,y\n";
  for (int row = 0; row < 100; ++row) train += std::to_string(row) + ",0\n";
  write_file("t.csv", train);
  write_file("d.csv", "x\n-5\n49\n50\n1e9\n");
  const Words base = {"evidence", "t.csv", "d.csv", "--keys", "x", "--bins", "2", "-o", "-"};
  EXPECT_EQ(output_of(base), with_uncertainty("x,evidence,uncertainty\n-5,50,{50}\n49,50,{50}\n"
                                              "50,50,{50}\n1e9,50,{50}\n"));
  Words categorical = base;
  categorical.insert(categorical.end(), {"--categorical", "x"});
  EXPECT_THAT(output_of(categorical), AllOf(HasSubstr("\n49,1,"), HasSubstr("\n-5,100,")));
}

TEST_F(EvidenceVerb, AddsTheLabelAndTakesTextLabels) {
  write_file("t.csv", "k;y\na;>50K\na;<=50K\n");
  EXPECT_EQ(output_of({"evidence", "t.csv", "t.csv", "--separator", ";", "--keys", "k", "--label", "y", "--positive",
                       ">50K", "--add-label", "-o", "-"}),
            with_uncertainty("k,y,evidence,uncertainty,label\na,>50K,2,{2},1\na,<=50K,2,{2},0\n"));
}

// Rows without a label counted as negatives when the label was a word such as NA.
TEST_F(EvidenceVerb, MissingLabelsAreAnErrorOrAreDropped) {
  write_file("t.csv", "k,y,w\na,no,1\na,NA,1\nb,yes,1\nb,,1\na,yes,\n");
  const Words base = {"evidence", "t.csv", "t.csv", "--keys", "k", "--label", "y", "-o", "o.csv"};
  const auto with_more = [&](const Words& more) {
    Words words = base;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refused(base, {"t.csv: row 2: column \"y\": the label is missing"});
  expect_refused(with_more({"--positive", "yes"}), {"t.csv: row 2: column \"y\": the label is missing"});
  const RunResult result = run(with_more({"--drop-missing"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("t.csv: left out 2 rows without a label"));
  EXPECT_THAT(result.out, HasSubstr("t.csv: 3 rows, 2 positives in 2 cells of k"));
  // DATA keeps its rows where no label is asked of it.
  EXPECT_THAT(result.out, HasSubstr("5 rows, 0 (0.00%) with an empty cell"));
  const RunResult labelled = run(with_more({"--drop-missing", "--add-label", "--weight", "w"}));
  EXPECT_EQ(labelled.exit_code, 0) << labelled.err;
  EXPECT_THAT(file_text("o.csv"), AllOf(HasSubstr("a,no,1,1,"), HasSubstr("b,yes,1,1,"), Not(HasSubstr("NA"))));
  EXPECT_THAT(labelled.err, HasSubstr("left out 3 rows without a label or weight"));
  expect_refused(with_more({"--weight", "w", "--positive", "x"}), {"t.csv: row 2"});
}

TEST_F(EvidenceVerb, APositiveValueThatDoesNotOccurIsAnError) {
  write_file("t.csv", "k,y\na,high\na,low\n");
  const Words base = {"evidence", "t.csv", "t.csv", "--keys", "k", "--label", "y", "-o", "o.csv"};
  Words words = base;
  words.insert(words.end(), {"--positive", "hgih"});
  expect_refused(words, {"t.csv: column \"y\": the positive value \"hgih\" does not occur", "did you mean \"high\"?"});
  words = base;
  words.insert(words.end(), {"--positive", "high", "--positive-if", ">3"});
  expect_refused(words, {"--positive excludes --positive-if"});
  words = base;
  words.insert(words.end(), {"--positive-if", "high"});
  expect_refused(words, {"--positive-if: \"high\" is not a comparison"});
}

TEST_F(EvidenceVerb, ReadsStdin) {
  const std::string wanted = output_of(with({"-o", "-"}));
  EXPECT_EQ(output_of({"evidence", "-", "data.csv", "--keys", "from,date:hour", "-o", "-"}, kTrain), wanted);
  EXPECT_EQ(output_of({"evidence", "train.csv", "-", "--keys", "from,date:hour", "-o", "-"}, kData), wanted);
  expect_refused({"evidence", "-", "data.csv", "--keys", "late", "-o", "out.csv"},
                 {"<stdin>", "two passes", "--categorical late"}, kTrain);
  expect_refused({"evidence", "-", "-", "--keys", "from", "-o", "out.csv"}, {"stdin"});
}

TEST_F(EvidenceVerb, RefusesBadInput) {
  expect_refused({"evidence", "train.csv", "data.csv", "--keys", "form", "-o", "out.csv"},
                 {"train.csv", "column \"form\": there is no such column", "did you mean \"from\""});
  expect_refused({"evidence", "train.csv", "data.csv", "--keys", "late", "-o", "out.csv"}, {"data.csv", "\"late\""});
  expect_refused({"evidence", "train.csv", "data.csv", "--keys", "date:minute", "-o", "out.csv"},
                 {"--keys", "weekday"});
  expect_refused({"evidence", "train.csv", "data.csv", "--keys", "from:hour", "-o", "out.csv"},
                 {"train.csv", "\"from\"", "\"JFK\" is not a date"});
  expect_refused({"evidence", "train.csv", "data.csv", "--keys", "from,from", "-o", "out.csv"}, {"twice"});
  expect_refused(with({"--rate", "-o", "out.csv"}), {"--rate", "--label"});
  expect_refused(with({"--tau", "5", "-o", "out.csv"}), {"--tau", "--label"});
  expect_refused(with({"--label", "from", "-o", "out.csv"}), {"--label", "key"});
  expect_refused(with({"--label", "late", "--tau", "0.5", "-o", "out.csv"}), {"--tau", "at least 1"});
  expect_refused(with({"--label", "late", "-o", "out.csv"}),
                 {"train.csv: row 1: column \"late\": \"40\" is of neither class, must be 0/1, true/false or yes/no"});
  expect_refused(with({"--categorical", "w", "-o", "out.csv"}), {"--categorical", "\"w\""});
  expect_refused(with({"--separator", "ab", "-o", "out.csv"}), {"--separator", "\"ab\""});
  expect_refused(with({"--bins", "1", "-o", "out.csv"}), {"--bins"});
  expect_refused(with({"-o", "train.csv"}), {"train.csv", "is the input"});
  expect_refused({"evidence", "none.csv", "data.csv", "--keys", "from", "-o", "out.csv"},
                 {"none.csv", "cannot be read"});
}

// What `predict` writes has a column `uncertainty`: the refusal named no way out.
TEST_F(EvidenceVerb, ReplacesAColumnOfDataOrNamesItsOwnOtherwise) {
  write_file("data.csv", replaced(kData, "id,", "evidence,"));
  expect_refused(with({"-o", "out.csv"}), {"data.csv: already has a column \"evidence\"", "--replace", "--prefix"});
  // It comes before the training rows are read, which may take long.
  write_file("train.csv", "date,from,late,w\nbroken\n");
  expect_refused(with({"-o", "out.csv"}), {"data.csv: already has a column \"evidence\""});
  write_file("train.csv", kTrain);
  EXPECT_THAT(output_of(with({"--replace", "-o", "-"})),
              ::testing::StartsWith(with_uncertainty("date,from,evidence,uncertainty\n2001-02-01 08:00,JFK,2,{2}\n")));
  EXPECT_THAT(
      output_of(with({"--prefix", "our_", "--positives", "--label", "late", "--positive-if", ">30", "-o", "-"})),
      ::testing::StartsWith("evidence,date,from,our_evidence,our_uncertainty,our_positives\na,"));
  // Stdin can be read only once, and is refused when its turn comes.
  expect_refused({"evidence", "train.csv", "-", "--keys", "from", "-o", "out.csv"},
                 {"<stdin>: already has a column \"evidence\"", "--replace"}, replaced(kData, "id,", "evidence,"));
  EXPECT_THAT(output_of({"evidence", "train.csv", "-", "--keys", "from", "--replace", "-o", "-"},
                        replaced(kData, "id,", "evidence,")),
              ::testing::StartsWith("date,from,evidence,uncertainty\n"));
}

// The pass that counts read other rows than the pass that set the bins.
TEST_F(EvidenceVerb, ATableThatChangesBetweenPassesIsRefused) {
  write_file("data.csv", kData);
  for (const std::string keys : {"from", "from,late"}) {
    expect_change_noticed({"evidence", "t*.csv", "data.csv", "--keys", keys, "-o", "out.csv"}, std::string(kTrain));
  }
}

// The paper's process: 1,500 regions with a rate from Beta(1.5, 8.5) and 2 to 60 training rows; the score is the
// posterior mean by a prior that is too weak. `shade` has three values and tells nothing; `number` counts rows.
class EvidenceLawVerb : public CliTest {
 protected:
  EvidenceLawVerb() {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> unit;
    std::gamma_distribution<double> one(1.5);
    std::gamma_distribution<double> other(8.5);
    std::vector<double> rate;
    std::vector<double> score;
    std::string train = "number,region,shade,label\n";
    int number = 0;
    for (int region = 0; region < 1500; ++region) {
      const double positive = one(random);
      rate.push_back(positive / (positive + other(random)));
      const int rows = static_cast<int>(2 * std::pow(30, unit(random)));
      int positives = 0;
      for (int row = 0; row < rows; ++row) {
        const int label = unit(random) < rate.back() ? 1 : 0;
        positives += label;
        train += std::to_string(number++) + ",r" + std::to_string(region) + "," + shade(random) + "," +
                 std::to_string(label) + "\n";
      }
      score.push_back((positives + 0.3) / (rows + 2.0));
    }
    write_file("train.csv", train);
    std::string data = "number,region,shade,score,label\n";
    std::string chance = data;
    for (int row = 0; row < 30'000; ++row) {
      const auto region = static_cast<std::size_t>(unit(random) * 1500);
      const std::string begin = std::to_string(row) + ",r" + std::to_string(region) + "," + shade(random) + "," +
                                std::to_string(score[region]) + ",";
      data += begin + (unit(random) < rate[region] ? "1\n" : "0\n");
      chance += begin + (unit(random) < score[region] ? "1\n" : "0\n");
    }
    write_file("data.csv", data);
    write_file("chance.csv", chance);
    write_file("new.csv", "score,region,shade\n0.3,r1,red\n0.3,r1,\n0.3,unheard,red\n");
  }
  static std::string shade(std::mt19937& random) {
    return std::array<std::string, 3>{"red", "green", "blue"}[random() % 3];
  }
};

TEST_F(EvidenceLawVerb, LearnsTheColumnsThatCount) {
  const std::string text = output_of({"evidence", "train.csv", "data.csv", "-o", "out.csv", "--law-score", "mean"});
  EXPECT_THAT(text,
              AllOf(HasSubstr("2 columns: region, shade\n"), HasSubstr("they rise from row to row: number"),
                    HasSubstr("data.csv: 30,000 labelled rows\n"), HasSubstr("Evidence: rows that agree on region (p "),
                    HasSubstr("  region   1.000  1,500\n"), HasSubstr("30,000 rows written to out.csv\n")));
  EXPECT_THAT(file_text("out.csv"),
              ::testing::StartsWith("number,region,shade,score,label,evidence,uncertainty,mean\n"));
  const Json report = json_of({"evidence", "train.csv", "data.csv", "-o", "out.csv", "--json"});
  EXPECT_EQ(report["status"], "active");
  EXPECT_EQ(report["terms"][0]["columns"], Json::array({"region"}));
  EXPECT_EQ(report["terms"][0]["weight"], 1);
  EXPECT_EQ(report["validation_rows"], 30'000);
  EXPECT_EQ(report["rows"], 30'000);
  EXPECT_LT(report["p_value"], 1e-6);
  EXPECT_GE(report["gain_z"], 2);
}

// Evidence of a region is 1 + its rows; a region that training did not have is least certain.
TEST_F(EvidenceLawVerb, AddsTheEvidenceToOtherRowsThanItWasLearntFrom) {
  const std::string text =
      output_of({"evidence", "train.csv", "new.csv", "--validation", "data.csv", "--law-score", "mean", "-o", "-"});
  std::string train = file_text("train.csv");
  int rows = 0;
  for (std::size_t at = train.find(",r1,"); at != std::string::npos; at = train.find(",r1,", at + 1)) ++rows;
  EXPECT_THAT(text, ::testing::StartsWith("score,region,shade,evidence,uncertainty,mean\n0.3,r1,red,"));
  double evidence = 0;
  const std::size_t at = text.find("r1,red,") + 7;
  std::from_chars(text.data() + at, text.data() + text.size(), evidence);
  EXPECT_NEAR(evidence, 1 + rows, 1e-9);
  EXPECT_THAT(text, HasSubstr("unheard,red,1,0,0."));
  // The score of the law is not read where it is not wanted.
  write_file("new.csv", "region,shade\nr1,red\n");
  EXPECT_THAT(output_of({"evidence", "train.csv", "new.csv", "--validation", "data.csv", "-o", "-"}),
              ::testing::StartsWith("region,shade,evidence,uncertainty\nr1,red,"));
}

// What `predict` writes has a column `uncertainty`; it is not counted by, and not written over unasked.
TEST_F(EvidenceLawVerb, ReplacesAColumnOfDataOrNamesItsOwnOtherwise) {
  const std::string law = output_of({"evidence", "train.csv", "data.csv", "-o", "-"});
  const auto with_column = [](const std::string& text, const std::string& header, const std::string& value) {
    std::string result = replaced(text, "number,", header + ",number,");
    for (std::size_t at = result.find('\n'); at + 1 < result.size(); at = result.find('\n', at + 1)) {
      result.insert(at + 1, value + ",");
    }
    return result;
  };
  write_file("data.csv", with_column(file_text("data.csv"), "uncertainty", "7"));
  expect_refused({"evidence", "train.csv", "data.csv", "-o", "out.csv"},
                 {"data.csv: already has a column \"uncertainty\"", "--replace", "--prefix"});
  EXPECT_EQ(output_of({"evidence", "train.csv", "data.csv", "--replace", "-o", "-"}), law);
  EXPECT_EQ(output_of({"evidence", "train.csv", "data.csv", "--prefix", "law_", "-o", "-"}),
            replaced(with_column(law, "uncertainty", "7"), "evidence,uncertainty\n", "law_evidence,law_uncertainty\n"));
  // The score of the law in place of the score that it is made from.
  EXPECT_THAT(output_of({"evidence", "train.csv", "data.csv", "--replace", "--law-score", "score", "-o", "-"}),
              ::testing::StartsWith("number,region,shade,label,evidence,uncertainty,score\n"));
}

TEST_F(EvidenceLawVerb, WritesNothingWhereCountsExplainNothing) {
  expect_refused({"evidence", "train.csv", "chance.csv", "-o", "out.csv"},
                 {"chance.csv: Silent: ", "2 combinations of columns", "Nothing was written."}, {}, 3);
  expect_refused({"evidence", "train.csv", "data.csv", "--drop", "region", "-o", "out.csv"}, {"Silent: "}, {}, 3);
  const RunResult result = run({"evidence", "train.csv", "chance.csv", "-o", "out.csv", "--json"});
  EXPECT_EQ(result.exit_code, 3);
  const Json report = Json::parse(result.out);
  EXPECT_NE(report["status"], "active");
  EXPECT_EQ(report["terms"], Json::array());
  EXPECT_EQ(report["rows"], nullptr);
}

TEST_F(EvidenceLawVerb, TauLeavesOutTheNegativesThatTrainingLeftOut) {
  const Json all = json_of({"evidence", "train.csv", "data.csv", "-o", "out.csv", "--json"});
  const Json some =
      json_of({"evidence", "train.csv", "data.csv", "--tau", "3", "--seed", "7", "-o", "out.csv", "--json"});
  // Of about 22,000 rows 85% are negative, of which a third is kept.
  const double share = some["training_rows"].get<double>() / all["training_rows"].get<double>();
  EXPECT_NEAR(share, 0.15 + 0.85 / 3, 0.03);
}

TEST_F(EvidenceLawVerb, RefusesBadInput) {
  const auto with = [](const Words& more) {
    Words words = {"evidence", "train.csv", "data.csv", "-o", "out.csv"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refused({"evidence", "train.csv", "new.csv", "-o", "out.csv"}, {"new.csv", "\"label\"", "--validation"});
  expect_refused(with({"--rate"}), {"--rate needs the keys"});
  expect_refused(with({"--weight", "shade"}), {"--weight needs the keys"});
  expect_refused(with({"--leave-one-out"}), {"--leave-one-out needs the keys"});
  expect_refused(with({"--keys", "region", "--drop", "shade"}), {"--drop: not with --keys"});
  expect_refused(with({"--keys", "region", "--law-score", "p"}), {"--law-score: not with --keys"});
  expect_refused(with({"--drop", "regoin"}), {"--drop: \"regoin\" is not a column of train.csv"});
  expect_refused(with({"--drop", "region,shade"}), {"no column in common"});
  expect_refused(with({"--categorical", "label"}), {"--categorical: \"label\""});
  expect_refused(with({"--score", "scoer"}), {"data.csv", "\"scoer\"", "did you mean \"score\"?"});
  expect_refused({"evidence", "-", "data.csv", "-o", "out.csv"}, {"give files, not stdin"});
  expect_refused(with({"--law-score", "shade"}), {"data.csv", "already has a column \"shade\""});
  write_file("data.csv", "region,shade,score,label\nr1,red,0.5,1\nr2,red,1.5,0\n");
  expect_refused(with({}), {"data.csv: row 2: column \"score\": the score is 1.5, must be a probability"});
  write_file("data.csv", "region,shade,score,label\nr1,red,0.5,1\nr2,red,,0\n");
  expect_refused(with({}), {"data.csv: row 2: column \"score\": the score is missing"});
  write_file("data.csv", "region,shade,score,label\nr1,red,0.5,1\nr2,red,0.4,\n");
  expect_refused(with({}), {"data.csv: row 2: column \"label\": the label is missing"});
  const RunResult result = run(with({"--drop-missing"}));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("left out 1 row without a label or score"), HasSubstr("all of one class")));
}

}  // namespace
}  // namespace limen::cli::test
