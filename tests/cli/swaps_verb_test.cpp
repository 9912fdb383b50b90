// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// On the table of the fixture one threshold at a precision of 0.75 flags .80 and above (4 rows, 3 positive); two levels
// flag .70 and above of the sure rows and .85 and above of the others (5 rows, 4 positive): .70 is taken in, and
// nothing is left out.
class SwapsVerb : public CliTest {
 protected:
  SwapsVerb() {
    write_file("x.csv", kHandTable);
    EXPECT_EQ(run({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--bins", "all", "-o", "b.json"}).exit_code,
              0);
    EXPECT_EQ(run({"fit", "x.csv", "--precision", "0.75", "--method", "st", "-o", "st.json"}).exit_code, 0);
  }
};

TEST_F(SwapsVerb, SaysWhatIsTakenInAndLeftOut) {
  const Json report = json_of({"swaps", "st.json", "b.json", "x.csv", "--json"});
  EXPECT_EQ(report["table_rows"], 10);
  EXPECT_EQ(report["flagged_by_first"]["rows"], 4);
  EXPECT_EQ(report["flagged_by_first"]["positives"], 3);
  EXPECT_EQ(report["left_out"]["rows"], 0);
  EXPECT_EQ(report["left_out"]["positivity"], nullptr);
  EXPECT_EQ(report["taken_in"]["rows"], 1);
  EXPECT_EQ(report["taken_in"]["positives"], 1);
  EXPECT_EQ(report["taken_in"]["positivity"], 1.0);
  EXPECT_NEAR(report["taken_in"]["positivity_interval"][0].get<double>(), 0.025, 1e-12);
  EXPECT_EQ(report["flagged_by_second"]["rows"], 5);
  EXPECT_EQ(report["flagged_by_second"]["positives"], 4);
  ASSERT_EQ(report["levels"].size(), 2U);
  EXPECT_EQ(report["levels"][0]["taken_in"]["rows"], 1);
  EXPECT_EQ(report["levels"][1]["taken_in"]["rows"], 0);
  ASSERT_EQ(report["cells"].size(), 1U);
  EXPECT_EQ(report["cells"][0]["level"], 0);
  EXPECT_EQ(report["columns"].size(), 0U);
  // The other way round the same row is left out.
  const Json back = json_of({"swaps", "b.json", "st.json", "x.csv", "--json"});
  EXPECT_EQ(back["left_out"], report["taken_in"]);
  EXPECT_EQ(back["taken_in"]["rows"], 0);

  const std::string text = output_of({"swaps", "st.json", "b.json", "x.csv"});
  EXPECT_THAT(text, AllOf(HasSubstr("- left out"), HasSubstr("+ taken in"), HasSubstr("= b.json"),
                          HasSubstr("by level and score bin"), HasSubstr("positivity")));
  EXPECT_THAT(output_of({"swaps", "b.json", "b.json", "x.csv"}), HasSubstr("nothing is swapped"));
  EXPECT_EQ(json_of({"swaps", "st.json", "b.json", "-", "--json"}, kHandTable)["taken_in"], report["taken_in"]);
}

TEST_F(SwapsVerb, LooksAtColumnsAndRanksThem) {
  std::string rows = "score,uncertainty,label,kind,noise,size,weight\n";
  for (int row = 0; row < 4000; ++row) {
    const bool sure = row % 2 == 0;
    const int score = 40 + (row / 2) % 60;
    rows += "0." + std::to_string(score) + (sure ? ",0.1," : ",0.9,") + (row % 3 == 0 ? "1" : "0") +
            ((row / 2) % 4 == 0 ? ",both"
             : sure             ? ",known"
                                : ",new") +
            "," + std::string(1, static_cast<char>('a' + (row / 120) % 3)) + "," +
            (row % 11 == 0 ? "" : std::to_string(row % 50)) + ",2\n";
  }
  write_file("y.csv", rows);
  expect_refused({"swaps", "st.json", "b.json", "y.csv"}, {"y.csv", "\"weight\"", "--ignore-weight"});
  const Json report = json_of({"swaps", "st.json", "b.json", "y.csv", "--all-columns", "--ignore-weight", "--json"});
  ASSERT_EQ(report["columns"].size(), 3U);
  const Json& kind = report["columns"][0];
  EXPECT_EQ(kind["column"], "kind");
  EXPECT_EQ(kind["kind"], "text");
  EXPECT_LT(kind["taken_in"]["adjusted_p"].get<double>(), 1e-6);
  std::int64_t sum = 0;
  double share = 0;
  for (const Json& value : kind["values"]) {
    sum += value["taken_in"].get<std::int64_t>();
    share += value["taken_in_equal_score"].get<double>();
  }
  EXPECT_EQ(sum, report["taken_in"]["rows"]);
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_EQ(json_of({"swaps", "st.json", "b.json", "y.csv", "--columns", "noise,kind", "--ignore-weight",
                     "--json"})["columns"]
                .size(),
            2U);
  const std::string text = output_of({"swaps", "st.json", "b.json", "y.csv", "--columns", "kind,size", "--categorical",
                                      "size", "--ignore-weight", "--show", "2"});
  EXPECT_THAT(text, AllOf(HasSubstr("2 columns"), HasSubstr("corrected"), HasSubstr("equal score"),
                          HasSubstr("(other)"), HasSubstr("(missing)")));

  // Without labels: counts and columns only, and it says so.
  write_file("z.csv", replaced(rows, "label", "other"));
  const Json unlabelled =
      json_of({"swaps", "st.json", "b.json", "z.csv", "--columns", "kind", "--ignore-weight", "--json"});
  EXPECT_EQ(unlabelled["labelled"], false);
  EXPECT_FALSE(unlabelled["taken_in"].contains("positives"));
  EXPECT_EQ(unlabelled["taken_in"]["rows"], report["taken_in"]["rows"]);
  EXPECT_THAT(output_of({"swaps", "st.json", "b.json", "z.csv", "--ignore-weight"}),
              AllOf(HasSubstr("no labels"), Not(HasSubstr("positivity"))));
}

TEST_F(SwapsVerb, RefusesWhatItCannotRead) {
  expect_refused({"swaps", "st.json", "b.json"}, {"PRED"});
  expect_refused({"swaps", "st.json", "x.csv", "x.csv"}, {"x.csv", "not a JSON file"});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--columns", "colour"}, {"x.csv", "\"colour\""});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--columns", "label"}, {"--columns", "is the label"});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--label", "lable"}, {"\"lable\"", "did you mean \"label\""});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--columns", "score", "--all-columns"}, {"--all-columns"});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--score-bins", "0"}, {"score_bins is 0, must be 1 to 100"});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--values", "99"}, {"values is 99, must be 2 to 50"});
  expect_refused({"swaps", "st.json", "b.json", "x.csv", "--categorical", "score"}, {"--categorical"});
  expect_refused({"swaps", "-", "-", "x.csv"}, {"stdin"});
  write_file("bad.csv", std::string(kHandTable) + ",0.1,1\n0.3,0.1,\n");
  expect_refused({"swaps", "st.json", "b.json", "bad.csv"}, {"bad.csv", "row 11", "\"score\"", "--drop-missing"});
  const RunResult dropped = run({"swaps", "st.json", "b.json", "bad.csv", "--drop-missing", "--json"});
  EXPECT_EQ(dropped.exit_code, 0);
  EXPECT_THAT(dropped.err, HasSubstr("left out 2 rows"));
  EXPECT_EQ(Json::parse(dropped.out)["table_rows"], 10);
  write_file("other.json", replaced(file_text("b.json"), "\"score\": \"score\"", "\"score\": \"p\""));
  expect_refused({"swaps", "st.json", "other.json", "x.csv"}, {"\"score\"", "\"p\"", "--score"});
  write_file("empty.csv", "score,uncertainty,label\n");
  expect_refused({"swaps", "st.json", "b.json", "empty.csv"}, {"empty.csv"});
}

}  // namespace
}  // namespace limen::cli::test
