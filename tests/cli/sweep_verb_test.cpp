// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Rows of equal score and uncertainty, positive of all: 30/30 and 10/10 of score 0.9 with uncertainty 0 and 1, 20/20
/// and 0/40 of score 0.5, 0/50 and 0/50 of score 0.1. At precision 0.9 one threshold reaches 40 of 60 positives, two
/// levels all of them, whichever rows are left out; one bin for a level is infeasible.
std::string planted_table() {
  std::string text = "score,uncertainty,label\n";
  const auto add = [&](int rows, const char* row) {
    for (int at = 0; at < rows; ++at) text += row;
  };
  add(30, "0.9,0,1\n");
  add(20, "0.5,0,1\n");
  add(50, "0.1,0,0\n");
  add(10, "0.9,1,1\n");
  add(40, "0.5,1,0\n");
  add(50, "0.1,1,0\n");
  return text;
}

class SweepVerb : public CliTest {
 protected:
  SweepVerb() { write_file("x.csv", planted_table()); }
  const Words sweep_ = {"sweep", "x.csv", "--precision", "0.9", "--levels", "2, 1", "--bins", "1,all"};

  [[nodiscard]] Words with(const Words& more) const {
    Words words = sweep_;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(SweepVerb, ShowsTheTableWithItsBestCell) {
  const std::string text = output_of(sweep_);
  EXPECT_THAT(text, AllOf(HasSubstr("x.csv: most recall with precision >= 0.9"), HasSubstr("200 rows, 60 positive"),
                          HasSubstr("gain in recall on rows left out over one threshold (0.6667)"),
                          HasSubstr("exact, levels from the top")));
  EXPECT_THAT(text, ContainsRegex("levels +1 +all"));
  EXPECT_THAT(text, ContainsRegex("1 +infeasible +\\+0\\.0%"));
  EXPECT_THAT(text, ContainsRegex("2 +infeasible +\\+50\\.0% \\*"));
  // What is deployed: all 60 positives, no negative, and none of the 15 fits missed the bound.
  EXPECT_THAT(text, ContainsRegex("best +2 +all +1\\.0000 +\\+50\\.0% +[0-9.]+% +1\\.0000 +1\\.0000 +0 of 15"));
  EXPECT_THAT(text, HasSubstr("best on rows left out: 2 levels with every score, recall 1, 50% better"));
  EXPECT_THAT(text, Not(HasSubstr("distinct values")));
}

TEST_F(SweepVerb, JsonAndTableHoldARowForEachCell) {
  const Json report = json_of(with({"--json", "--seed", "3"}));
  ASSERT_EQ(report["cells"].size(), 4U);
  EXPECT_EQ(report["value"], "recall");
  EXPECT_EQ(report["fits"], 15);
  EXPECT_EQ(report["cells"][3], report["best"]);
  EXPECT_EQ(report["best"]["levels"], 2);
  EXPECT_EQ(report["best"]["bins"], "all");
  EXPECT_NEAR(report["best"]["gain"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(report["cells"][0]["bins"], 1);
  EXPECT_TRUE(report["cells"][0]["value"].is_null());
  EXPECT_EQ(report["cells"][0]["fits_infeasible"], 15);
  const std::string csv = output_of(with({"-o", "-"}));
  EXPECT_THAT(csv, ::testing::StartsWith("levels,levels_used,bins,value,gain,gain_se,flagged,true_positives,precision,"
                                         "recall,fits,fits_missed,fits_infeasible,best,smallest\n"
                                         "1,1,1,,,,0,0,,0,15,0,15,0,0\n"));
  EXPECT_THAT(csv, ContainsRegex("\n2,2,all,[^\n]+,15,0,0,1,1\n"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 5);
  EXPECT_THAT(output_of(with({"-o", "s.parquet"})), HasSubstr("written to s.parquet"));
  EXPECT_THAT(file_text("s.parquet"), ::testing::StartsWith("PAR1"));
  EXPECT_THAT(file_names(), ElementsAre("s.parquet", "x.csv"));
}

TEST_F(SweepVerb, IsTheSameForAnyThreadsAndOtherwiseForAnotherSeed) {
  write_file("tied.csv", tied_table(5, 800));
  const auto csv = [&](const char* threads, const char* seed) {
    return output_of({"sweep", "tied.csv", "--fpr", "0.1", "--levels", "1,3,8", "--bins", "10,all", "-o", "-",
                      "--threads", threads, "--seed", seed});
  };
  EXPECT_EQ(csv("3", "0"), csv("1", "0"));
  EXPECT_NE(csv("1", "1"), csv("1", "0"));
}

TEST_F(SweepVerb, SaysWhenUncertaintyHasTooFewValues) {
  EXPECT_THAT(output_of({"sweep", "x.csv", "--precision", "0.6", "--levels", "2,5"}),
              AllOf(HasSubstr("5 (2 used)"), HasSubstr("too few distinct values for 5 levels: 2 were used")));
  write_file("constant.csv", replaced(planted_table(), ",1,", ",0,"));
  EXPECT_THAT(output_of({"sweep", "constant.csv", "--precision", "0.6", "--levels", "2"}),
              AllOf(HasSubstr("2 (1 used)"), HasSubstr("all rows are in one")));
}

TEST_F(SweepVerb, SaysWhatIsWeight) {
  std::string weighted = replaced(planted_table(), ",1\n", ",1,2\n");
  weighted = replaced(replaced(weighted, ",0\n", ",0,3\n"), "label\n", "label,weight\n");
  write_file("w.csv", weighted);
  // 60 positives of weight 2 and 140 negatives of weight 3; no bin has both.
  EXPECT_THAT(output_of({"sweep", "w.csv", "--precision", "0.9", "--levels", "2", "--bins", "all"}),
              AllOf(HasSubstr("540 in weight, 120 positive"), ContainsRegex("2 +\\+50\\.0% \\*")));
}

TEST_F(SweepVerb, ABoundThatNothingMeetsHasExitCode3) {
  const RunResult result = run({"sweep", "x.csv", "--precision", "0.9", "--bins", "1"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("infeasible"), HasSubstr("no number of levels and bins meets the bound")));
}

TEST_F(SweepVerb, BadInputIsRefused) {
  expect_refused({"sweep", "x.csv"}, {"no objective"});
  expect_refused({"sweep", "x.csv", "--precision", "0.9", "--levels", "2,x"}, {"--levels", "\"x\"", "1 to 1000"});
  expect_refused({"sweep", "x.csv", "--precision", "0.9", "--levels", "2,,3"}, {"--levels", "\"\""});
  expect_refused({"sweep", "x.csv", "--precision", "0.9", "--bins", "100,many"}, {"--bins", "\"many\"", "or all"});
  expect_refused({"sweep", "x.csv", "--precision", "0.9", "--method", "smooth"}, {"--method", "smooth"});
  expect_refused({"sweep", "x.csv", "--precision", "0.9", "--folds", "1"}, {"folds is 1, must be 2 to 20"});
  expect_refused({"sweep", "x.csv", "--precision", "0.9", "-o", "s.txt"}, {"s.txt", ".parquet"});
  expect_refused({"sweep", "none.csv", "--precision", "0.9"}, {"none.csv"});
  write_file("empty.csv", "");
  expect_refused({"sweep", "empty.csv", "--precision", "0.9"}, {"empty.csv"});
  write_file("header.csv", "score,uncertainty,label\n");
  expect_refused({"sweep", "header.csv", "--precision", "0.9"}, {"header.csv", "no rows"});
  write_file("one.csv", "score,uncertainty,label\n1,1,1\n2,1,1\n");
  expect_refused({"sweep", "one.csv", "--precision", "0.9"}, {"one.csv", "both classes are needed"});
  write_file("five.csv", "score,uncertainty,label\n1,1,1\n2,1,1\n3,1,0\n4,1,0\n5,2,1\n");
  expect_refused({"sweep", "five.csv", "--precision", "0.9"},
                 {"five.csv", "3 positive and 2 negative rows", "5 folds"});
}

}  // namespace
}  // namespace limen::cli::test
