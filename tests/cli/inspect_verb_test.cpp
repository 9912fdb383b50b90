// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class InspectVerb : public CliTest {
 protected:
  InspectVerb() { write_file("x.csv", kHandTable); }
};

TEST_F(InspectVerb, TellsWhatTheTableHolds) {
  const std::string text = output_of({"inspect", "x.csv", "--precision", "0.75"});
  EXPECT_THAT(text, AllOf(HasSubstr("x.csv: 10 rows, 5 positive (50.00%)"), HasSubstr("2 distinct"),
                          HasSubstr("average precision"), HasSubstr("95% interval"),
                          HasSubstr("precision >= 0.75: 10 rows near the decision, 5 of them positive"),
                          HasSubstr("too few rows near the decision")));
  const Json report = json_of({"inspect", "x.csv", "--json"});
  EXPECT_EQ(report["rows"], 10);
  EXPECT_EQ(report["positives"], 5);
  EXPECT_EQ(report["uncertainty"]["distinct"], 2);
  EXPECT_EQ(report["uncertainty"]["most_common_share"], 0.5);
  EXPECT_EQ(report["objective"], "highest F-beta, beta 1");
  EXPECT_EQ(report["information"]["testable"], false);
  EXPECT_EQ(report["information"]["p_value"], 1);
}

TEST_F(InspectVerb, BadTablesAndTwoObjectivesAreRefused) {
  expect_refused({"inspect", "x.csv", "--precision", "0.9", "--recall", "0.5"}, {"2 objectives"});
  expect_refused({"inspect", "none.csv"}, {"none.csv"});
  write_file("one.csv", "score,uncertainty,label\n1,1,1\n2,1,1\n");
  expect_refused({"inspect", "one.csv"}, {"one.csv", "both classes are needed"});
}

// The hand table: two levels of five rows. In two bins of a level the middle of ranks .5 1.5 2.5 3.5 4.5 of 5 is below
// one half for the two lowest, so bins of 2 and 3 rows.
TEST_F(InspectVerb, MapsPositivityByScoreBinAndLevel) {
  write_file("h.csv", kHandTable);
  const Json map = json_of({"inspect", "h.csv", "--map", "--levels", "2", "--bins", "2", "--json"});
  ASSERT_EQ(map["cells"].size(), 4U);
  EXPECT_EQ(map["uncertainty_edges"].size(), 1U);
  const Json& top = map["cells"][1];
  EXPECT_EQ(top["level"], 0);
  EXPECT_EQ(top["bin"], 2);
  EXPECT_EQ(top["rows"], 3);
  EXPECT_EQ(top["positives"], 3);
  EXPECT_EQ(top["low"], 0.7);
  EXPECT_EQ(top["high"], 0.9);
  EXPECT_EQ(top["positivity"], 1);
  EXPECT_NEAR(top["interval"][0].get<double>(), 3 / (3 + 1.959963984540054 * 1.959963984540054), 1e-12);
  EXPECT_THAT(output_of({"inspect", "h.csv", "--map", "--levels", "1", "--bins", "1", "--csv"}),
              testing::StartsWith("level,bin,score_low,score_high,mean_score,rows,positives,positivity,positivity_low,"
                                  "positivity_high\n0,1,0.5,0.95,0.725,10,5,0.5,"));
  EXPECT_THAT(output_of({"inspect", "h.csv", "--map", "--levels", "2", "--bins", "2"}),
              testing::AllOf(testing::HasSubstr("h.csv: share of positives by score bin and uncertainty level\n"),
                             testing::HasSubstr("  2    1.0000  0.3333\n")));
  EXPECT_EQ(run({"inspect", "h.csv", "--map", "-o", "map.csv"}).exit_code, 0);
  EXPECT_THAT(file_text("map.csv"), testing::StartsWith("level,bin,"));
  EXPECT_THAT(run({"inspect", "h.csv", "--bins", "2"}).err, testing::HasSubstr("--bins: is for the map of positivity"));
  EXPECT_THAT(run({"inspect", "h.csv", "--map", "--precision", "0.9"}).err, testing::HasSubstr("give no objective"));
  EXPECT_THAT(run({"inspect", "h.csv", "--map", "--levels", "0"}).err, testing::HasSubstr("--levels: \"0\" is not"));
}

}  // namespace
}  // namespace limen::cli::test
