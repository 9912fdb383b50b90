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

}  // namespace
}  // namespace limen::cli::test
