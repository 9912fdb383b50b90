// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Compare : public CliTest {
 protected:
  Compare() { write_file("x.csv", kHandTable); }

  [[nodiscard]] static const Json& entry(const Json& report, const std::string& method, double bound) {
    for (const Json& item : report) {
      if (item["method"] == method && item["bound"] == bound) return item;
    }
    throw std::runtime_error("no entry for " + method);
  }
};

TEST_F(Compare, EveryMethodAtEveryBoundOnBothTables) {
  // As test table the hold-out itself. Boundaries by hand: see kHandTable and the tests of fit.
  const Json report = json_of({"compare", "--holdout", "x.csv", "--test", "x.csv", "--precision", "0.75,0.6",
                               "--levels", "2", "--bins", "all", "--json"});
  ASSERT_EQ(report.size(), 20u);
  EXPECT_EQ(report[0]["method"], "st");
  EXPECT_EQ(report[0]["bound"], 0.75);
  EXPECT_EQ(report[19]["method"], "auto");
  EXPECT_EQ(report[19]["trials"][0]["method"], "st");  // ten rows tell nothing of the uncertainty
  EXPECT_EQ(report[19]["matched_recall"], entry(report, "st", 0.6)["matched_recall"]);
  EXPECT_EQ(report[11]["bound"], 0.6);
  for (const std::string method : {"mist", "ew-dpmt", "vw-dpmt", "exact"}) {
    SCOPED_TRACE(method);
    const Json& found = entry(report, method, 0.75);
    EXPECT_EQ(found["holdout_precision"], 0.8);
    EXPECT_EQ(found["holdout_recall"], 0.8);
    EXPECT_EQ(found["test_precision"], 0.8);
    EXPECT_EQ(found["test_recall"], 0.8);
    EXPECT_EQ(found["trials"].size(), 1u);
    EXPECT_EQ(found["trials"][0]["test_flagged"], 5);
    EXPECT_EQ(found["trials"][0]["test_true_positives"], 4);
    EXPECT_TRUE(found["p_value_recall"].is_null());
    // Between 5,4 and 8,5 precision is 0.75 a fifth of the way: (4 + 0.2) / 5.
    EXPECT_NEAR(found["matched_recall"].get<double>(), 0.84, 1e-12);
  }
  EXPECT_EQ(entry(report, "exact", 0.75)["trials"][0]["status"], "optimal");
  EXPECT_EQ(entry(report, "exact", 0.75)["trials"][0]["gap"], 0);
  EXPECT_EQ(entry(report, "st", 0.75)["holdout_recall"], 0.6);
  EXPECT_NEAR(entry(report, "st", 0.75)["matched_recall"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(entry(report, "gmt", 0.75)["trials"][0]["holdout_flagged"], 3);
  EXPECT_EQ(entry(report, "gmt", 0.75)["trials"][0]["gap"], 1);
  EXPECT_EQ(entry(report, "hr", 0.75)["trials"][0]["status"], "infeasible");
  EXPECT_EQ(entry(report, "hr", 0.6)["trials"][0]["holdout_true_positives"], 5);
}

TEST_F(Compare, PrintsATablePerBound) {
  const std::string text = output_of({"compare", "--holdout", "x.csv", "--test", "x.csv", "--precision", "0.75,0.6",
                                      "--methods", "st,exact", "--levels", "2", "--bins", "all"});
  EXPECT_THAT(text, AllOf(HasSubstr("precision >= 0.75\n"), HasSubstr("precision >= 0.6\n")));
  EXPECT_THAT(text, AllOf(HasSubstr("matched recall"), HasSubstr("0.8400"), HasSubstr("+40.0%"), HasSubstr("proved")));
  EXPECT_EQ(text.find("mist"), std::string::npos);
}

TEST_F(Compare, SeveralPairsGiveMeanDeviationAndPValue) {
  // On the second test table the boundary flags fewer positives: its second level has none among the flagged.
  write_file("y.csv", replaced(kHandTable, "0.85,0.9,1", "0.85,0.9,0"));
  const Words arguments = {"compare", "--holdout",   "x.csv", "--test",    "x.csv",    "--holdout",
                           "x.csv",   "--test",      "y.csv", "--levels",  "2",        "--bins",
                           "all",     "--precision", "0.75",  "--methods", "st,exact", "--json"};
  const Json report = json_of(arguments);
  const Json& exact = entry(report, "exact", 0.75);
  const Json& st = entry(report, "st", 0.75);
  ASSERT_EQ(exact["trials"].size(), 2u);
  EXPECT_EQ(exact["trials"][0]["test_recall"], 0.8);
  EXPECT_EQ(exact["trials"][1]["test_recall"], 0.75);
  EXPECT_EQ(st["trials"][0]["test_recall"], 0.6);
  EXPECT_EQ(st["trials"][1]["test_recall"], 0.5);
  EXPECT_NEAR(exact["test_recall"].get<double>(), 0.775, 1e-12);
  EXPECT_NEAR(exact["test_recall_sd"].get<double>(), 0.05 / std::sqrt(2.0), 1e-12);
  // Two pairs: t = mean / (sd / sqrt 2) has the Cauchy distribution. Differences 0.2 and 0.25: t = 0.225 / 0.025 = 9.
  EXPECT_NEAR(exact["p_value_recall"].get<double>(), 0.5 - std::atan(9.0) / std::numbers::pi, 1e-9);
  EXPECT_TRUE(exact["p_value_matched"].is_number());
  EXPECT_TRUE(st["p_value_recall"].is_null());

  Words text = arguments;
  text.pop_back();
  EXPECT_THAT(output_of(text), AllOf(HasSubstr("2 pairs"), HasSubstr("0.7750 +-0.0354"), HasSubstr("0.035")));
  // Files may also follow one flag.
  EXPECT_EQ(json_of({"compare", "--holdout", "x.csv", "x.csv", "--test", "x.csv", "y.csv", "--levels", "2", "--bins",
                     "all", "--precision", "0.75", "--methods", "st,exact", "--json"}),
            report);
  expect_refused({"compare", "--holdout", "x.csv", "--holdout", "x.csv", "--test", "x.csv", "--precision", "0.75"},
                 {"2 --holdout", "1 --test"});
}

// One of the default methods counts whole rows: a table with weights could not be compared at all.
TEST_F(Compare, AllMethodsThatTakeWeightsRunOnAWeightedTable) {
  write_file("w.csv", tied_table(3, 300, true));
  const RunResult result = run({"compare", "--holdout", "w.csv", "--test", "w.csv", "--precision", "0.6", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json report = Json::parse(result.out);
  const Json fitted =
      json_of({"fit", "w.csv", "--precision", "0.6", "--method", "exact", "--levels-from", "all", "--json"})["holdout"];
  EXPECT_NEAR(entry(report, "exact", 0.6)["holdout_recall"].get<double>(), fitted["recall"].get<double>(), 1e-12);
  // Asked for by name, the method says why it cannot.
  expect_refused({"compare", "--holdout", "w.csv", "--test", "w.csv", "--precision", "0.6", "--methods", "vw-dpmt"},
                 {"vw-dpmt", "weights"});
}

TEST_F(Compare, ReadsStdinTsvAndRenamedColumnsAndDropsGaps) {
  const auto compared = [&](const Words& more, std::string_view input = {}) {
    Words arguments = {"compare", "--precision", "0.75", "--levels", "2", "--bins", "all", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json_of(arguments, input);
  };
  const Json wanted = compared({"--holdout", "x.csv", "--test", "x.csv"});
  EXPECT_EQ(compared({"--holdout", "-", "--test", "x.csv"}, kHandTable), wanted);
  write_file("x.tsv", replaced(kHandTable, ",", "\t"));
  EXPECT_EQ(compared({"--holdout", "x.csv", "--test", "x.tsv"}), wanted);
  write_file("r.csv", replaced(kHandTable, "score,uncertainty,label", "p,doubt,y"));
  EXPECT_EQ(
      compared({"--holdout", "r.csv", "--test", "r.csv", "--score", "p", "--uncertainty", "doubt", "--label", "y"}),
      wanted);
  write_file("gaps.csv", std::string(kHandTable) + "0.5,NA,1\n");
  const RunResult dropped = run({"compare", "--precision", "0.75", "--levels", "2", "--bins", "all", "--json",
                                 "--holdout", "gaps.csv", "--test", "x.csv", "--drop-missing"});
  EXPECT_THAT(dropped.err, AllOf(HasSubstr("gaps.csv"), HasSubstr(" 1 row")));
  EXPECT_EQ(Json::parse(dropped.out), wanted);
}

TEST_F(Compare, TheReportDoesNotDependOnThreads) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "20000", "--test-rows", "20000"}).exit_code, 0);
  const auto compared = [&](const char* threads) {
    return output_of({"compare", "--holdout", "holdout.csv", "--test", "test.csv", "--precision", "0.5,0.7", "--bins",
                      "100", "--json", "--threads", threads});
  };
  const std::string one = compared("1");
  EXPECT_EQ(compared("2"), one);
  EXPECT_EQ(compared("7"), one);
}

TEST_F(Compare, GivesExactIntervalsOnTheTestSide) {
  write_file("h.csv", tied_table(1, 2000));
  write_file("t.csv", tied_table(2, 2000));
  const Words words = {"compare", "--holdout", "h.csv", "--test", "t.csv", "--precision", "0.7", "--methods", "st"};
  EXPECT_THAT(output_of(words), ::testing::ContainsRegex("test prec. .95%.*0\\.[0-9]+ .0\\.[0-9]+, 0\\.[0-9]+."));
  Words with_json = words;
  with_json.emplace_back("--json");
  const Json trial = json_of(with_json)[0]["trials"][0];
  for (const std::string figure : {"test_precision", "test_recall"}) {
    EXPECT_LT(trial[figure + "_interval"][0], trial[figure]);
    EXPECT_GT(trial[figure + "_interval"][1], trial[figure]);
  }
}

}  // namespace
}  // namespace limen::cli::test
