// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Evaluate : public CliTest {
 protected:
  Evaluate() {
    write_file("x.csv", kHandTable);
    EXPECT_EQ(run({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--bins", "all", "-o", "b.json"}).exit_code,
              0);
    EXPECT_EQ(run({"fit", "x.csv", "--precision", "0.75", "--method", "st", "-o", "st.json"}).exit_code, 0);
  }

  static void expect_interval(const Json& interval, double low, double high) {
    // The quantiles below are closed forms; Boost.Math is good to many more digits than this.
    EXPECT_NEAR(interval[0].get<double>(), low, 1e-9);
    EXPECT_NEAR(interval[1].get<double>(), high, 1e-9);
  }
};

// The Clopper-Pearson interval of n of n is [tail^(1/n), 1]. That of 1 of 2 is [1 - sqrt(1 - tail), sqrt(1 - tail)].
TEST_F(Evaluate, CountsAndIntervalsInAllAndPerLevel) {
  const Json report = json_of({"evaluate", "b.json", "x.csv", "--json"});
  ASSERT_EQ(report.size(), 1u);
  const Json& all = report[0];
  EXPECT_EQ(all["boundary"], "b.json");
  EXPECT_EQ(all["method"], "exact");
  EXPECT_EQ(all["confidence"], 0.95);
  EXPECT_EQ(all["rows"], 10);
  EXPECT_EQ(all["positives"], 5);
  EXPECT_EQ(all["flagged"], 5);
  EXPECT_EQ(all["true_positives"], 4);
  EXPECT_EQ(all["precision"], 0.8);
  EXPECT_EQ(all["recall"], 0.8);
  // 4 of 5, from R: binom.test(4, 5).
  EXPECT_NEAR(all["precision_interval"][0].get<double>(), 0.2835821, 1e-7);
  EXPECT_NEAR(all["precision_interval"][1].get<double>(), 0.9949492, 1e-7);
  EXPECT_EQ(all["recall_interval"], all["precision_interval"]);

  ASSERT_EQ(all["levels"].size(), 2u);
  const Json& sure = all["levels"][0];
  EXPECT_EQ(sure["rows"], 5);
  EXPECT_EQ(sure["positives"], 3);
  EXPECT_EQ(sure["flagged"], 3);
  EXPECT_EQ(sure["true_positives"], 3);
  expect_interval(sure["precision_interval"], std::cbrt(0.025), 1);
  const Json& unsure = all["levels"][1];
  EXPECT_EQ(unsure["flagged"], 2);
  EXPECT_EQ(unsure["true_positives"], 1);
  EXPECT_EQ(unsure["precision"], 0.5);
  expect_interval(unsure["precision_interval"], 1 - std::sqrt(0.975), std::sqrt(0.975));

  const Json wide = json_of({"evaluate", "b.json", "x.csv", "--json", "--interval", "0.99"})[0];
  EXPECT_EQ(wide["confidence"], 0.99);
  expect_interval(wide["levels"][0]["precision_interval"], std::cbrt(0.005), 1);
}

TEST_F(Evaluate, PrintsATableAndComparesWithTheBound) {
  const std::string text = output_of({"evaluate", "b.json", "x.csv"});
  EXPECT_THAT(text, AllOf(HasSubstr("b.json"), HasSubstr("exact"), HasSubstr("precision >= 0.75"), HasSubstr("x.csv")));
  EXPECT_THAT(text, AllOf(HasSubstr("95% interval"), HasSubstr("0.2836 .. 0.9949"), HasSubstr("level 0"),
                          HasSubstr("level 1")));
  EXPECT_THAT(text, AllOf(HasSubstr("above the bound 0.75: +0.0500"), Not(HasSubstr("BELOW"))));
  // The same rows with all labels of the first level turned: 1 of 5 flagged is positive.
  write_file("turned.csv", replaced(kHandTable, ",0.1,1\n", ",0.1,0\n"));
  EXPECT_THAT(output_of({"evaluate", "b.json", "turned.csv"}), HasSubstr("BELOW the bound 0.75: -0.5500"));
}

TEST_F(Evaluate, SeveralBoundariesInTheOrderGiven) {
  const Json report = json_of({"evaluate", "st.json", "b.json", "x.csv", "--json"});
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0]["boundary"], "st.json");
  EXPECT_EQ(report[0]["flagged"], 4);
  EXPECT_EQ(report[0]["true_positives"], 3);
  EXPECT_EQ(report[1]["boundary"], "b.json");
  EXPECT_EQ(report[1]["flagged"], 5);
  const std::string text = output_of({"evaluate", "st.json", "b.json", "x.csv"});
  EXPECT_LT(text.find("st.json"), text.find("b.json"));
}

TEST_F(Evaluate, BoundariesOnDifferentColumnsOfOneTable) {
  // The second model's columns hold the hand table, the first model's the same scores negated.
  std::string both = "score,uncertainty,label,s2,u2\n";
  std::istringstream lines{std::string(kHandTable)};
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::string pair = line.substr(0, line.rfind(','));
    both += "-" + pair + line.substr(line.rfind(',')) + "," + pair + "\n";
  }
  write_file("both.csv", both);
  Json second = Json::parse(file_text("b.json"));
  second["columns"] = {{"score", "s2"}, {"uncertainty", "u2"}};
  write_file("second.json", second.dump());
  const Json report = json_of({"evaluate", "b.json", "second.json", "b.json", "both.csv", "--json"});
  EXPECT_EQ(report[0]["flagged"], 0);
  EXPECT_EQ(report[1]["flagged"], 5);
  EXPECT_EQ(report[2]["flagged"], 0);
}

TEST_F(Evaluate, WhatIsNotDefinedIsNull) {
  const Json nothing = json_of({"evaluate", "b.json", "-", "--json"}, "score,uncertainty,label\n0,0,0\n0,1,0\n")[0];
  EXPECT_EQ(nothing["flagged"], 0);
  for (const char* figure : {"precision", "precision_interval", "recall", "recall_interval"}) {
    EXPECT_TRUE(nothing[figure].is_null()) << figure;
  }
}

TEST_F(Evaluate, WeightsAreAdded) {
  // Level 0: flagged 2 + 0.5, true positives 2. Level 1: nothing flagged.
  const Json all = json_of({"evaluate", "b.json", "-", "--json"},
                           "score,uncertainty,label,weight\n0.9,0,1,2\n0.8,0,0,0.5\n0.1,0,1,1\n0.1,1,0,0.25\n")[0];
  EXPECT_EQ(all["rows"], 3.75);
  EXPECT_EQ(all["positives"], 3);
  EXPECT_EQ(all["flagged"], 2.5);
  EXPECT_EQ(all["true_positives"], 2);
  EXPECT_EQ(all["precision"], 0.8);
  EXPECT_EQ(all["recall"], 2.0 / 3);
}

TEST_F(Evaluate, ReadsStdinTsvAndRenamedColumnsAndDropsGaps) {
  const Json wanted = json_of({"evaluate", "b.json", "x.csv", "--json"});
  EXPECT_EQ(json_of({"evaluate", "b.json", "-", "--json"}, kHandTable), wanted);
  Json from_stdin = json_of({"evaluate", "-", "x.csv", "--json"}, file_text("b.json"));
  from_stdin[0]["boundary"] = "b.json";
  EXPECT_EQ(from_stdin, wanted);
  write_file("x.tsv", replaced(kHandTable, ",", "\t"));
  EXPECT_EQ(json_of({"evaluate", "b.json", "x.tsv", "--json"}), wanted);
  write_file("renamed.csv", replaced(kHandTable, "score,uncertainty,label", "p,doubt,y"));
  EXPECT_EQ(json_of({"evaluate", "b.json", "renamed.csv", "--json", "--score", "p", "--uncertainty", "doubt", "--label",
                     "y"}),
            wanted);
  write_file("gaps.csv", std::string(kHandTable) + "0.5,NA,1\n0.5,0.5,3\n");
  const RunResult result = run({"evaluate", "b.json", "gaps.csv", "--json", "--drop-missing"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("gaps.csv"), HasSubstr(" 2 rows")));
  EXPECT_EQ(Json::parse(result.out), wanted);
}

// On kHandTable b.json flags 3 + 2 rows with 3 + 1 positives, st.json the four highest scores with 3: .95, .90*, .85*,
// .80*. Both flag those four; b.json alone flags .70*. One discordant positive: p = 1.
TEST_F(Evaluate, ComparesEveryBoundaryWithTheFirst) {
  const Json report = json_of({"evaluate", "b.json", "st.json", "b.json", "x.csv", "--json"});
  ASSERT_EQ(report.size(), 3u);
  EXPECT_FALSE(report[0].contains("against_first"));
  const Json& pair = report[1]["against_first"];
  EXPECT_EQ(pair["both"], Json({{"rows", 4}, {"positives", 3}}));
  EXPECT_EQ(pair["first_only"], Json({{"rows", 1}, {"positives", 1}}));
  EXPECT_EQ(pair["second_only"], Json({{"rows", 0}, {"positives", 0}}));
  EXPECT_EQ(pair["neither"], Json({{"rows", 5}, {"positives", 1}}));
  EXPECT_EQ(pair["recall"]["first"], 0.8);
  EXPECT_EQ(pair["recall"]["second"], 0.6);
  EXPECT_EQ(pair["recall"]["p_value"], 1);
  EXPECT_NEAR(pair["precision"]["difference"].get<double>(), 0.05, 1e-12);
  EXPECT_THAT(pair["verdict"].get<std::string>(), HasSubstr("cannot be told apart"));
  EXPECT_EQ(report[2]["against_first"]["verdict"], "b.json and b.json flag the same rows");
  const std::string text = output_of({"evaluate", "b.json", "st.json", "x.csv"});
  EXPECT_THAT(text, AllOf(HasSubstr("b.json against st.json on the same rows"),
                          ::testing::ContainsRegex("b.json only +1 +1 +1\\.0000"),
                          HasSubstr("b.json and st.json cannot be told apart on these rows")));
  EXPECT_THAT(output_of({"evaluate", "b.json", "x.csv"}), Not(HasSubstr("against")));
}

TEST_F(Evaluate, SaysWhereThePairedTestsDoNotApply) {
  std::string weighted = "score,uncertainty,label,weight\n";
  std::istringstream lines{std::string(kHandTable)};
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) weighted += line + ",1.5\n";
  write_file("w.csv", weighted);
  EXPECT_THAT(output_of({"evaluate", "b.json", "st.json", "w.csv"}),
              HasSubstr("rows have weights, but the paired tests count rows"));
  EXPECT_FALSE(json_of({"evaluate", "b.json", "st.json", "w.csv", "--json"})[1].contains("against_first"));
  // Boundaries of two models on one table: compared where every row has both scores.
  std::string two = "score,uncertainty,label,other\n";
  std::istringstream again{std::string(kHandTable)};
  for (std::getline(again, line); std::getline(again, line);) two += line + "," + line.substr(0, line.find(',')) + "\n";
  write_file("two.csv", two);
  write_file("other.json", replaced(file_text("st.json"), "\"score\": \"score\"", "\"score\": \"other\""));
  EXPECT_EQ(json_of({"evaluate", "st.json", "other.json", "two.csv", "--json"})[1]["against_first"]["verdict"],
            "st.json and other.json flag the same rows");
  write_file("gap.csv", replaced(two, "1,0.9\n", "1,\n"));
  EXPECT_THAT(output_of({"evaluate", "st.json", "other.json", "gap.csv", "--drop-missing"}),
              HasSubstr("they look at different columns"));
}

}  // namespace
}  // namespace limen::cli::test
