// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Apply : public CliTest {
 protected:
  Apply() {
    // Edge 0.5, thresholds 0.65 and 0.8: see kHandTable.
    EXPECT_EQ(run({"fit", "-", "--precision", "0.75", "--levels", "2", "--bins", "all", "-o", "b.json"}, kHandTable)
                  .exit_code,
              0);
  }
};

// On the edge and on a threshold, and one step of double below each.
constexpr std::string_view kRows =
    "id,score,uncertainty\n"
    "a,0.65,0.1\n"
    "b,0.6499999999999999,0.1\n"
    "c,0.8,0.5\n"
    "\"d, e\",0.7999999999999999,0.9\n"
    "f,0.8,0.4999999999999999\n"
    "g,-1e300,1e300\n"
    "h,1e300,-1e300\n";
constexpr std::string_view kDecided =
    "id,score,uncertainty,decision,level\n"
    "a,0.65,0.1,1,0\n"
    "b,0.6499999999999999,0.1,0,0\n"
    "c,0.8,0.5,1,1\n"
    "\"d, e\",0.7999999999999999,0.9,0,1\n"
    "f,0.8,0.4999999999999999,1,0\n"
    "g,-1e300,1e300,0,1\n"
    "h,1e300,-1e300,1,0\n";

TEST_F(Apply, AddsDecisionAndLevel) {
  write_file("x.csv", kRows);
  const std::string text = output_of({"apply", "b.json", "x.csv", "-o", "y.csv"});
  EXPECT_THAT(text, AllOf(HasSubstr("7 rows"), HasSubstr("4 flagged"), HasSubstr("57.14%"), HasSubstr("y.csv")));
  EXPECT_EQ(file_text("y.csv"), kDecided);
  EXPECT_THAT(file_names(), ElementsAre("b.json", "x.csv", "y.csv"));
  EXPECT_EQ(json_of({"apply", "b.json", "x.csv", "-o", "y.csv", "--json"}),
            Json::parse(R"({"rows": 7, "flagged": 4, "rows_dropped": 0})"));
}

TEST_F(Apply, ReadsStdinAndWritesStdout) {
  write_file("x.csv", kRows);
  EXPECT_EQ(output_of({"apply", "b.json", "x.csv", "-o", "-"}), kDecided);
  EXPECT_EQ(output_of({"apply", "b.json", "-", "-o", "-"}, kRows), kDecided);
  EXPECT_EQ(output_of({"apply", "-", "x.csv", "-o", "-"}, file_text("b.json")), kDecided);
  expect_refused({"apply", "-", "-", "-o", "y.csv"}, {"stdin"}, file_text("b.json"));
}

TEST_F(Apply, KeepsTabsLineEndsAndTheByteOrderMark) {
  write_file("x.tsv", replaced(replaced(kRows, "d, e", "d; e"), ",", "\t"));
  EXPECT_EQ(output_of({"apply", "b.json", "x.tsv", "-o", "-"}),
            replaced(replaced(kDecided, "d, e", "d; e"), ",", "\t"));
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(output_of({"apply", "b.json", "-", "-o", "-"}, mark + replaced(kRows, "\n", "\r\n")),
            mark + replaced(kDecided, "\n", "\r\n"));
}

TEST_F(Apply, TheOutputMayBeTheInput) {
  write_file("x.csv", kRows);
  ASSERT_EQ(run({"apply", "b.json", "x.csv", "-o", "x.csv"}).exit_code, 0);
  EXPECT_EQ(file_text("x.csv"), kDecided);
  expect_refused({"apply", "b.json", "x.csv", "-o", "x.csv"}, {"x.csv", "\"decision\""});
}

TEST_F(Apply, UsesTheColumnsOfTheBoundaryUnlessTold) {
  const std::string renamed = replaced(kHandTable, "score,uncertainty", "p,doubt");
  ASSERT_EQ(run({"fit", "-", "--score", "p", "--uncertainty", "doubt", "--precision", "0.75", "--levels", "2", "--bins",
                 "all", "-o", "renamed.json"},
                renamed)
                .exit_code,
            0);
  write_file("x.csv", replaced(kRows, "score,uncertainty", "p,doubt"));
  const std::string decided = replaced(kDecided, "score,uncertainty", "p,doubt");
  EXPECT_EQ(output_of({"apply", "renamed.json", "x.csv", "-o", "-"}), decided);
  expect_refused({"apply", "b.json", "x.csv", "-o", "y.csv"}, {"x.csv", "\"score\"", "--score"});
  EXPECT_EQ(output_of({"apply", "b.json", "x.csv", "--score", "p", "--uncertainty", "doubt", "-o", "-"}), decided);
}

TEST_F(Apply, DropMissingSaysHowMany) {
  write_file("x.csv", std::string(kRows) + "i,,1\nj,nan,1\nk,1,inf\n");
  const RunResult result = run({"apply", "b.json", "x.csv", "-o", "y.csv", "--drop-missing", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("x.csv"), HasSubstr(" 3 rows")));
  EXPECT_EQ(Json::parse(result.out), Json::parse(R"({"rows": 7, "flagged": 4, "rows_dropped": 3})"));
  EXPECT_EQ(file_text("y.csv"), kDecided);
  write_file("none.csv", "score,uncertainty\n,1\n");
  expect_refused({"apply", "b.json", "none.csv", "-o", "y.csv", "--drop-missing"}, {"none.csv", "no rows"});
}

// The bad row comes after more rows than are decided on at once, so that part of the output is already written.
TEST_F(Apply, AFailureLateInTheTableLeavesTheOldOutput) {
  std::string text = "score,uncertainty\n";
  for (int row = 0; row < 200'000; ++row) text += "0.5,0.5\n";
  write_file("x.csv", text + "0.5,what\n");
  write_file("y.csv", "an older output");
  expect_refused({"apply", "b.json", "x.csv", "-o", "y.csv"}, {"x.csv", "line 200002", "\"uncertainty\"", "what"});
  expect_refused({"apply", "b.json", "x.csv", "-o", "x.csv"}, {"x.csv", "line 200002"});
}

TEST_F(Apply, TakesABoundaryOfManyLevels) {
  Json boundary = Json::parse(file_text("b.json"));
  Json edges = Json::array();
  Json thresholds = Json::array({0});
  for (int edge = 1; edge < 10'000; ++edge) {
    edges.push_back(edge);
    thresholds.push_back(edge);
  }
  boundary["rule"]["uncertainty_edges"] = edges;
  boundary["rule"]["score_thresholds"] = thresholds;
  boundary["binning"]["levels"] = 10'000;
  write_file("many.json", boundary.dump());
  EXPECT_EQ(output_of({"apply", "many.json", "-", "-o", "-"}, "score,uncertainty\n5000,5000.5\n4999,5000.5\n0,-1\n"),
            "score,uncertainty,decision,level\n5000,5000.5,1,5000\n4999,5000.5,0,5000\n0,-1,1,0\n");
}

TEST_F(Apply, AnEmptyTableStaysATable) {
  write_file("empty.csv", "id,score,uncertainty\n");
  EXPECT_EQ(run({"apply", "b.json", "empty.csv", "-o", "out.csv"}).exit_code, 0);
  EXPECT_EQ(file_text("out.csv"), "id,score,uncertainty,decision,level\n");
  EXPECT_EQ(run({"apply", "b.json", "empty.csv", "-o", "out.parquet"}).exit_code, 0);
  EXPECT_THAT(file_text("out.parquet"), ::testing::StartsWith("PAR1"));
}

}  // namespace
}  // namespace limen::cli::test
