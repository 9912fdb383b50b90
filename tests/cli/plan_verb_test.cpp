// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// Ten blocks of equal scores of 200 rows each, with precision 0.95, 0.85, ... 0.05.
std::string stairs() {
  std::string text = "score,uncertainty,label\n";
  for (int block = 0; block < 10; ++block) {
    for (int row = 0; row < 200; ++row) {
      text += std::to_string(1 - 0.1 * block) + "," + std::to_string(row % 3) + "," +
              (row < 190 - 20 * block ? "1" : "0") + "\n";
    }
  }
  return text;
}

class PlanVerb : public CliTest {
 protected:
  PlanVerb() { write_file("x.csv", stairs()); }
};

// An expected precision of 1 passes every test that can reject: 29 rows, for 0.9^29 = 0.047. One in ten rows is flagged
// and all rows test: of 332 rows 29 or more are flagged with probability 0.803. The interval of 29 of 29 is
// [0.025^(1/29), 1].
TEST_F(PlanVerb, PlansForAssumedFigures) {
  const Words assumed = {"plan", "--precision", "0.9", "--expect-precision", "1", "--flag-rate", "0.1"};
  const std::string text = output_of(assumed);
  EXPECT_THAT(text, AllOf(HasSubstr("precision >= 0.9 with confidence 0.95"), ContainsRegex(" 29  flagged rows"),
                          ContainsRegex(" 332  labelled rows in all"), ContainsRegex(" 29  true positives or more"),
                          ContainsRegex("80.3%  of such hold-outs")));
  Words with_json = assumed;
  with_json.emplace_back("--json");
  const Json report = json_of(with_json);
  EXPECT_EQ(report["status"], "planned");
  EXPECT_EQ(report["test"]["trials"], 29);
  EXPECT_EQ(report["test"]["rows"], 332);
  EXPECT_NEAR(report["test"]["interval"][0].get<double>(), std::pow(0.025, 1.0 / 29), 1e-9);
  EXPECT_EQ(report["test"]["interval"][1], 1);
  // Recall 0.5 of 20% positives at precision 1 flags one row in ten.
  EXPECT_EQ(json_of({"plan", "--precision", "0.9", "--expect-precision", "1", "--expect-recall", "0.5",
                     "--positive-rate", "0.2", "--json"})["test"],
            report["test"]);
  EXPECT_EQ(json_of({"plan", "--recall", "0.9", "--expect-recall", "1", "--positive-rate", "0.1", "--json"})["test"],
            report["test"]);
  EXPECT_EQ(json_of({"plan", "--fpr", "0.1", "--expect-fpr", "0", "--positive-rate", "0.9", "--json"})["test"]["rows"],
            332);
  // Where 15% learn, of 390 rows 332 test.
  EXPECT_EQ(json_of({"plan", "--precision", "0.9", "--expect-precision", "1", "--flag-rate", "0.1", "--learning-share",
                     "0.15", "--json"})["test"]["rows"],
            390);
}

TEST_F(PlanVerb, SaysWhenNoNumberOfRowsWillDo) {
  const Words hopeless = {"plan", "--precision", "0.9", "--expect-precision", "0.9", "--flag-rate", "0.1"};
  expect_refused(hopeless, {"infeasible", "expected precision 0.9 is not above the bound 0.9", "no number of rows"}, {},
                 3);
  expect_refused({"plan", "--fpr", "0.1", "--expect-fpr", "0.2", "--positive-rate", "0.1"},
                 {"expected false-positive rate 0.2 is not below the bound 0.1"}, {}, 3);
  expect_refused({"plan", "--precision", "0.9", "--expect-precision", "0.90000000001", "--flag-rate", "0.1"},
                 {"more than 10^12 flagged rows"}, {}, 3);
  expect_refused({"plan", "x.csv", "--precision", "0.97"}, {"x.csv: infeasible", "the best precision is 0.95"}, {}, 3);
  // 0.95 is reached, but nothing better: the test would be of 0.95 against 0.95.
  expect_refused({"plan", "x.csv", "--precision", "0.95"}, {"x.csv: infeasible", "no number of rows like them"}, {}, 3);
  expect_refused({"plan", "x.csv", "--recall", "1"}, {"no number of rows like them"}, {}, 3);
  write_file("few.csv", "score,uncertainty,label\n0.9,0,1\n0.8,0,1\n0.7,0,0\n0.6,0,1\n");
  EXPECT_THAT(output_of({"plan", "few.csv", "--precision", "0.9"}),
              ContainsRegex("to certify anything, recall 0\\.6667: [0-9]+ labelled rows"));
  const RunResult result = run({"plan", "x.csv", "--precision", "0.97", "--json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(Json::parse(result.out)["status"], "infeasible");
  EXPECT_EQ(Json::parse(result.out)["best_attainable"], 0.95);
}

// See PlanRows.IsWhatItsTestsSay of the library's tests: four blocks meet 0.8 exactly, three are certified.
TEST_F(PlanVerb, PlansFromPredictions) {
  const Json report =
      json_of({"plan", "x.csv", "--precision", "0.8", "--more", "1000,100000", "--within", "0.25,0.05", "--json"});
  EXPECT_EQ(report["rows"], 2000);
  EXPECT_EQ(report["uncertified"]["recall"], 0.64);
  ASSERT_EQ(report["reach"].size(), 3u);
  EXPECT_EQ(report["reach"][1]["rows"], 3000);
  EXPECT_EQ(report["reach"][2]["certified"]["recall"], 0.51);
  EXPECT_EQ(report["within"][0]["certified"]["recall"], 0.51);
  EXPECT_EQ(report["within"][1]["certified"], nullptr);
  const std::string text = output_of({"plan", "x.csv", "--precision", "0.8", "--within", "0.25,0.05"});
  EXPECT_THAT(text, AllOf(HasSubstr("2,000 rows, 1,000 positives"), HasSubstr("12,000 (+10,000)"),
                          HasSubstr("10,000 labels more buy"), HasSubstr("to give up at most 25% of the recall: "),
                          HasSubstr("5% of the recall: no number of rows will do")));
  const std::string recall = output_of({"plan", "x.csv", "--recall", "0.5"});
  EXPECT_THAT(recall, AllOf(HasSubstr("certified precision"), HasSubstr("positives tested")));
  const std::string rate = output_of({"plan", "x.csv", "--fpr", "0.1"});
  EXPECT_THAT(rate, AllOf(HasSubstr("negatives tested"), HasSubstr("false-positive rate <= 0.1")));
  EXPECT_EQ(output_of({"plan", "x.csv", "--precision", "0.8", "--threads", "1"}),
            output_of({"plan", "x.csv", "--precision", "0.8"}));
}

TEST_F(PlanVerb, RefusesWhatItCannotPlan) {
  write_file("empty.csv", "score,uncertainty,label\n");
  write_file("one.csv", "score,uncertainty,label\n0.5,0,1\n0.6,0,1\n");
  write_file("weights.csv", "score,uncertainty,label,weight\n0.5,0,1,2\n0.6,0,0,1\n");
  expect_refused({"plan"}, {"give one promise: --precision, --recall or --fpr"});
  expect_refused({"plan", "--precision", "0.9", "--recall", "0.5"}, {"give one promise"});
  expect_refused({"plan", "--precision", "0.9"}, {"--expect-precision"});
  expect_refused({"plan", "--precision", "0.9", "--expect-precision", "0.95"}, {"--flag-rate", "--positive-rate"});
  expect_refused({"plan", "--precision", "0.9", "--expect-precision", "0.95", "--flag-rate", "0"}, {"no row"});
  expect_refused(
      {"plan", "--precision", "0.5", "--expect-precision", "0.6", "--expect-recall", "1", "--positive-rate", "0.9"},
      {"more rows than there are"});
  expect_refused(
      {"plan", "--precision", "0.9", "--expect-precision", "0.95", "--flag-rate", "0.1", "--expect-recall", "0.5"},
      {"either --flag-rate or --expect-recall"});
  expect_refused({"plan", "--recall", "0.9", "--expect-recall", "0.95"}, {"--positive-rate"});
  expect_refused({"plan", "--recall", "0.9", "--expect-recall", "0.95", "--positive-rate", "0"}, {"no row to test"});
  expect_refused({"plan", "--precision", "90", "--expect-precision", "0.95", "--flag-rate", "0.1"},
                 {"--precision", "90 is not between 0 and 1"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--confidence", "95"}, {"--confidence", "95% is 0.95"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--confidence", "1"}, {"--confidence", "between 0 and 1"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--confidence", "0"}, {"--confidence"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--power", "1"}, {"--power"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--learning-share", "1"}, {"learning-share"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--more", "-5"}, {"--more"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--within", "1"}, {"--within"});
  expect_refused({"plan", "x.csv", "--precision", "0.9", "--flag-rate", "0.1"}, {"--flag-rate", "without"});
  expect_refused({"plan", "empty.csv", "--precision", "0.9"}, {"empty.csv", "no rows"});
  expect_refused({"plan", "one.csv", "--precision", "0.9"}, {"one.csv", "only one class"});
  expect_refused({"plan", "weights.csv", "--precision", "0.9"}, {"weights.csv", "weights"});
  expect_refused({"plan", "none.csv", "--precision", "0.9"}, {"none.csv"});
}

}  // namespace
}  // namespace limen::cli::test
