// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// See kHandTable. The calibrated rates of the second level are 1/2 for two rows and 1/3 for three, so that its prefixes
// 2,1 and 5,2 follow the first level's 3,3.
constexpr std::string_view kFrontier =
    "family,flagged,true_positives,precision,recall\n"
    "hull,3,3,1,0.6\n"
    "hull,5,4,0.8,0.8\n"
    "hull,8,5,0.625,1\n"
    "st,4,3,0.75,0.6\n"
    "st,6,4,0.6666666666666666,0.8\n"
    "st,9,5,0.5555555555555556,1\n";

class FrontierVerb : public CliTest {
 protected:
  FrontierVerb() { write_file("x.csv", kHandTable); }
};

TEST_F(FrontierVerb, WritesEveryUndominatedPoint) {
  const std::string text = output_of({"frontier", "x.csv", "--levels", "2", "-o", "f.csv"});
  EXPECT_EQ(file_text("f.csv"), kFrontier);
  EXPECT_THAT(file_names(), ElementsAre("f.csv", "x.csv"));
  EXPECT_THAT(text, AllOf(HasSubstr("3 boundaries"), HasSubstr("2 levels"), HasSubstr("3 single thresholds"),
                          HasSubstr("f.csv")));
  // At precision 0.75: recall 0.6 of single thresholds, 0.8 of boundaries.
  EXPECT_THAT(text, ::testing::ContainsRegex("0\\.75 +0\\.6000 +0\\.8000 +\\+33\\.3%"));
}

TEST_F(FrontierVerb, JsonHoldsTheSamePoints) {
  const Json report = json_of({"frontier", "x.csv", "--levels", "2", "--exact", "0.8,1", "--json"});
  EXPECT_EQ(report["hull"], Json::parse(R"([
      {"flagged": 3, "true_positives": 3, "precision": 1, "recall": 0.6},
      {"flagged": 5, "true_positives": 4, "precision": 0.8, "recall": 0.8},
      {"flagged": 8, "true_positives": 5, "precision": 0.625, "recall": 1}])"));
  ASSERT_EQ(report["st"].size(), 3u);
  EXPECT_EQ(report["st"][1]["flagged"], 6);
  ASSERT_EQ(report["exact"].size(), 2u);
  EXPECT_EQ(report["exact"][0]["bound"], 0.8);
  EXPECT_EQ(report["exact"][0]["status"], "optimal");
  EXPECT_EQ(report["exact"][0]["recall"], 0.8);
  EXPECT_EQ(report["exact"][1]["recall"], 0.6);
}

TEST_F(FrontierVerb, ExactPointsAreAddedAndInfeasibleOnesSaid) {
  // The best score of each level belongs to a negative: no boundary has precision 0.9.
  const std::string rows = "score,uncertainty,label\n0.9,1,0\n0.8,1,1\n0.9,2,0\n0.8,2,1\n0.7,2,1\n";
  const std::string csv = output_of({"frontier", "-", "--levels", "2", "--exact", "0.5,0.9", "-o", "-"}, rows);
  // All five rows: 3 of 5; that is the only exact point.
  EXPECT_THAT(csv, HasSubstr("exact,5,3,0.6,1\n"));
  EXPECT_EQ(csv.find("exact,"), csv.rfind("exact,"));
  const Json report = json_of({"frontier", "-", "--levels", "2", "--exact", "0.5,0.9", "--json"}, rows);
  EXPECT_EQ(report["exact"][1]["status"], "infeasible");
  EXPECT_TRUE(report["exact"][1]["recall"].is_null());
  EXPECT_THAT(output_of({"frontier", "-", "--levels", "2", "--exact", "0.5,0.9"}, rows), HasSubstr("infeasible"));
}

TEST_F(FrontierVerb, ReadsStdinAndWritesStdout) {
  EXPECT_EQ(output_of({"frontier", "-", "--levels", "2", "-o", "-"}, kHandTable), kFrontier);
}

TEST_F(FrontierVerb, ReadsTsvAndRenamedColumnsAndDropsGaps) {
  write_file("x.tsv", replaced(kHandTable, ",", "\t"));
  EXPECT_EQ(output_of({"frontier", "x.tsv", "--levels", "2", "-o", "-"}), kFrontier);
  write_file("r.csv", replaced(kHandTable, "score,uncertainty,label", "p,doubt,y"));
  EXPECT_EQ(output_of({"frontier", "r.csv", "--levels", "2", "-o", "-", "--score", "p", "--uncertainty", "doubt",
                       "--label", "y"}),
            kFrontier);
  write_file("gaps.csv", std::string(kHandTable) + "0.5,NA,1\n0.5,0.5,\n");
  const RunResult dropped = run({"frontier", "gaps.csv", "--levels", "2", "-o", "-", "--drop-missing"});
  EXPECT_EQ(dropped.exit_code, 0);
  EXPECT_THAT(dropped.err, AllOf(HasSubstr("gaps.csv"), HasSubstr(" 2 rows")));
  EXPECT_EQ(dropped.out, kFrontier);
}

TEST_F(FrontierVerb, AWeightOfTwoIsARowTwice) {
  std::string weighted = "score,uncertainty,label,weight\n";
  std::istringstream lines{std::string(kHandTable)};
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) weighted += line + ",2\n";
  const Json once = json_of({"frontier", "x.csv", "--levels", "2", "--json"});
  const Json twice = json_of({"frontier", "-", "--levels", "2", "--json"}, weighted);
  for (const char* family : {"hull", "st"}) {
    ASSERT_EQ(twice[family].size(), once[family].size());
    for (std::size_t at = 0; at < once[family].size(); ++at) {
      EXPECT_EQ(twice[family][at]["flagged"], 2 * once[family][at]["flagged"].get<int>());
      EXPECT_EQ(twice[family][at]["precision"], once[family][at]["precision"]);
      EXPECT_EQ(twice[family][at]["recall"], once[family][at]["recall"]);
    }
  }
}

// The hull never lies below the single thresholds' frontier where fit's exact method does not, and fit agrees with the
// exact points.
TEST_F(FrontierVerb, ExactPointsAreThoseOfFit) {
  write_file("tied.csv", tied_table(5, 500));
  const Json report = json_of({"frontier", "tied.csv", "--levels", "4", "--exact", "0.5,0.6,0.7", "--json"});
  const Words bounds = {"0.5", "0.6", "0.7"};
  for (std::size_t at = 0; at < bounds.size(); ++at) {
    const RunResult fitted =
        run({"fit", "tied.csv", "--levels", "4", "--bins", "all", "--precision", bounds[at], "--json"});
    ASSERT_EQ(fitted.exit_code, 0) << bounds[at];
    EXPECT_EQ(report["exact"][at]["recall"], Json::parse(fitted.out)["holdout"]["recall"]);
  }
}

TEST_F(FrontierVerb, TheFileDoesNotDependOnThreads) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "150000", "--test-rows", "0"}).exit_code, 0);
  const auto frontier = [&](const char* threads) {
    return output_of({"frontier", "holdout.csv", "--exact", "0.7", "-o", "-", "--threads", threads});
  };
  const std::string one = frontier("1");
  EXPECT_EQ(frontier("2"), one);
  EXPECT_EQ(frontier("7"), one);
}

// The output's name was ignored: f.parquet was CSV.
TEST_F(FrontierVerb, OutputFollowsItsName) {
  write_file("t.csv", kHandTable);
  for (const std::string name : {"f.parquet", "f.arrow", "f.csv.gz", "f.tsv"}) {
    EXPECT_EQ(run({"frontier", "t.csv", "-o", name}).exit_code, 0) << name;
  }
  EXPECT_THAT(file_text("f.parquet"), ::testing::StartsWith("PAR1"));
  EXPECT_THAT(file_text("f.arrow"), ::testing::StartsWith("ARROW1"));
  EXPECT_THAT(file_text("f.csv.gz"), ::testing::StartsWith("\x1f\x8b"));
  EXPECT_THAT(file_text("f.tsv"), ::testing::StartsWith("family\tflagged\t"));
}

TEST_F(FrontierVerb, GivesBandsByResampling) {
  write_file("t.csv", tied_table(1, 2000));
  const Words exact = {"frontier", "t.csv", "--exact", "0.6,0.7", "--bootstrap", "50", "--json"};
  const Json found = json_of(exact)["exact"];
  for (const Json& point : found) {
    EXPECT_LE(point["recall_interval"][0].get<double>(), point["recall"].get<double>() + 0.05);
    EXPECT_LE(point["st_recall_interval"][0], point["recall_interval"][0]);
    EXPECT_LE(point["recall_interval"][0], point["recall_interval"][1]);
    EXPECT_GE(point["gain_interval"][0].get<double>(), 0);
  }
  Words one_thread = exact;
  one_thread.insert(one_thread.end(), {"--threads", "1"});
  EXPECT_EQ(json_of(one_thread)["exact"], found);
  Words other = exact;
  other.insert(other.end(), {"--bootstrap-seed", "7"});
  EXPECT_NE(json_of(other)["exact"], found);
  EXPECT_THAT(output_of({"frontier", "t.csv", "--bootstrap", "20"}), HasSubstr("95% band"));
  expect_refused({"frontier", "t.csv", "--bootstrap", "20", "--json"}, {"--bootstrap", "--exact"});
  expect_refused({"frontier", "t.csv", "--bootstrap", "1"}, {"--bootstrap", "2 or more"});
  write_file("w.csv", tied_table(1, 200, true));
  expect_refused({"frontier", "w.csv", "--bootstrap", "20"}, {"w.csv", "weights"});
}

}  // namespace
}  // namespace limen::cli::test
