// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class BiasVerb : public CliTest {};

// tau 1, xi 0.25 of strength 4, omega 0.5 of strength 2, n 10: lambda 0.4, gamma 0.2, nu 2. Score 0.4 was train
// positivity 0.4 - 0.1 * 0.2 = 0.38; (0.38 + 0.1) / 1.4 = 0.342857; bias (0.4 + 0.5 - 0.5) * 0.2 / 1.4 = 0.057143.
TEST_F(BiasVerb, PrintsExpectedPositivityAndBiasByScoreAndEvidence) {
  const std::string text = output_of({"bias", "--tau", "1,3", "--evidence", "10,0.5", "--scores", "0.4,0.99"});
  EXPECT_THAT(text,
              AllOf(HasSubstr("global prior: 0.25 positive, strength 4; model's prior: 0.5 positive, strength 2"),
                    HasSubstr("\ntau 1\n  score              n 10             n 0.5\n"),
                    HasSubstr("  0.4    0.3429 (+0.0571)"), HasSubstr("\ntau 3\n"), HasSubstr("\n-: with so little")));
  EXPECT_THAT(text, ContainsRegex("  0\\.99 +- +-\n"));
  EXPECT_THAT(output_of({"bias", "--scores", "0.5"}), Not(HasSubstr("-: with so little")));
}

TEST_F(BiasVerb, JsonHasTheFiguresByHand) {
  const Json report = json_of({"bias", "--tau", "1", "--evidence", "10", "--scores", "0.4,0.99", "--json"});
  EXPECT_EQ(report["xi"], 0.25);
  EXPECT_EQ(report["prior_strength"], 4);
  EXPECT_EQ(report["omega"], 0.5);
  EXPECT_EQ(report["model_strength"], 2);
  ASSERT_EQ(report["curves"].size(), 1U);
  const Json& curve = report["curves"][0];
  EXPECT_EQ(curve["tau"], 1);
  EXPECT_EQ(curve["evidence"], 10);
  EXPECT_DOUBLE_EQ(curve["lambda"].get<double>(), 0.4);
  EXPECT_DOUBLE_EQ(curve["gamma"].get<double>(), 0.2);
  EXPECT_EQ(curve["nu"], 2);
  EXPECT_DOUBLE_EQ(curve["attainable_scores"][0].get<double>(), 1. / 12);
  EXPECT_DOUBLE_EQ(curve["attainable_scores"][1].get<double>(), 11. / 12);
  const Json& point = curve["points"][0];
  EXPECT_NEAR(point["train_positivity"].get<double>(), 0.38, 1e-15);
  EXPECT_NEAR(point["expected_positivity"].get<double>(), 0.48 / 1.4, 1e-15);
  EXPECT_NEAR(point["bias"].get<double>(), 0.08 / 1.4, 1e-15);
  EXPECT_EQ(
      curve["points"][1],
      Json({{"score", 0.99}, {"train_positivity", nullptr}, {"expected_positivity", nullptr}, {"bias", nullptr}}));
  EXPECT_FALSE(report.contains("simulation"));

  // One positive of one row, uniform prior, tau 2: Q ~ r / (1 + r).
  const Json one = json_of({"bias", "--tau", "2", "--xi", "0.5", "--prior-strength", "2", "--omega", "1",
                            "--model-strength", "0", "--evidence", "1", "--scores", "1", "--json"});
  EXPECT_NEAR(one["curves"][0]["points"][0]["expected_positivity"].get<double>(),
              (std::log(2.) - 0.5) / (1 - std::log(2.)), 1e-15);
  EXPECT_EQ(one["curves"][0]["gamma"], 0);
  EXPECT_EQ(one["curves"][0]["nu"], nullptr);
}

std::vector<std::vector<std::string>> fields_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

TEST_F(BiasVerb, WritesTheCurvesOfAllTauAndEvidenceInTheFormatOfTheName) {
  const Words asked = {"bias", "--tau", "3,10", "--evidence", "2,50,1000", "--points", "5"};
  const auto with = [&](const Words& more) {
    Words all = asked;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string csv = output_of(with({"--csv"}));
  const auto rows = fields_of(csv);
  ASSERT_EQ(rows.size(), 1U + 2 * 3 * 5);
  EXPECT_THAT(rows[0], ElementsAre("tau", "evidence", "lambda", "gamma", "nu", "score", "train_positivity",
                                   "expected_positivity", "bias"));
  const Json report = json_of(with({"--json"}));
  std::size_t row = 1;
  for (const Json& curve : report["curves"]) {
    for (const Json& point : curve["points"]) {
      EXPECT_EQ(std::stod(rows[row][0]), curve["tau"].get<double>());
      EXPECT_EQ(std::stod(rows[row][1]), curve["evidence"].get<double>());
      EXPECT_EQ(std::stod(rows[row][5]), point["score"].get<double>());
      if (point["bias"].is_null()) {
        EXPECT_EQ(rows[row][6] + rows[row][7], "");
        EXPECT_EQ(rows[row].size(), 8U);  // nothing behind the last comma
      } else {
        EXPECT_EQ(std::stod(rows[row][7]), point["expected_positivity"].get<double>());
        EXPECT_EQ(std::stod(rows[row][8]), point["bias"].get<double>());
      }
      ++row;
    }
  }
  EXPECT_EQ(output_of(with({"-o", "-"})), csv);
  EXPECT_THAT(output_of(with({"-o", "b.csv"})), HasSubstr("written to b.csv"));
  EXPECT_EQ(file_text("b.csv"), csv);
  (void)output_of(with({"-o", "b.tsv", "--json"}));
  EXPECT_EQ(file_text("b.tsv"), replaced(csv, ",", "\t"));
  (void)output_of(with({"-o", "b.parquet"}));
  EXPECT_THAT(file_text("b.parquet"), StartsWith("PAR1"));
  (void)output_of(with({"-o", "b.bin", "--output-format", "csv"}));
  EXPECT_EQ(file_text("b.bin"), csv);
}

TEST_F(BiasVerb, SimulatesTheProcessBesideTheTheory) {
  const Words asked = {"bias",  "--tau",  "3", "--evidence", "4,100", "--simulate",
                       "40000", "--seed", "3", "--points",   "6"};
  const auto with = [&](const std::string& flag) {
    Words all = asked;
    all.push_back(flag);
    return all;
  };
  const Json report = json_of(with("--json"));
  EXPECT_EQ(report["simulation"], Json({{"regions", 40000}, {"seed", 3}}));
  // 0 to 4 positives; of 100 rows six cells of 16 or 17 numbers.
  ASSERT_EQ(report["curves"][0]["points"].size(), 5U);
  ASSERT_EQ(report["curves"][1]["points"].size(), 6U);
  const Json theory = json_of({"bias", "--tau", "3", "--evidence", "4", "--scores", "0.5", "--json"});
  EXPECT_NEAR(report["curves"][0]["points"][2]["expected_positivity"].get<double>(),
              theory["curves"][0]["points"][0]["expected_positivity"].get<double>(), 1e-12);
  for (const Json& curve : report["curves"]) {
    int regions = 0;
    for (const Json& cell : curve["points"]) {
      regions += cell["regions"].get<int>();
      const double expected = cell["expected_positivity"];
      EXPECT_NEAR(cell["true_positivity"].get<double>(), expected, 4 * cell["true_positivity_se"].get<double>());
      EXPECT_NEAR(cell["test_positivity"].get<double>(), expected, 4 * cell["test_positivity_se"].get<double>());
      EXPECT_GT(cell["true_positivity_se"], 0);
    }
    EXPECT_EQ(regions, 40000);
  }
  const std::string text = output_of(asked);
  EXPECT_THAT(text,
              AllOf(HasSubstr("40,000 regions drawn for each tau and evidence n"), HasSubstr("\ntau 3, n 4\n"),
                    HasSubstr("\ntau 3, n 100\n"), ContainsRegex("  score +regions +theory +true +s.e. +z +test +s.e."),
                    ContainsRegex("largest .z. of 11 cells: [0-3]\\.[0-9][0-9]\n")));
  EXPECT_EQ(text, output_of(asked));
  const auto rows = fields_of(output_of(with("--csv")));
  EXPECT_EQ(rows.size(), 12U);
  EXPECT_EQ(rows[0].back(), "test_positivity_se");
  EXPECT_EQ(std::stod(rows[1][10]), report["curves"][0]["points"][0]["true_positivity"].get<double>());
  Words other = asked;
  other[8] = "4";
  EXPECT_NE(output_of(other), text);
}

TEST_F(BiasVerb, RefusesEveryFlagOutOfRange) {
  const auto refused = [&](const Words& flags, const Words& named) {
    Words all = {"bias"};
    all.insert(all.end(), flags.begin(), flags.end());
    expect_refused(all, named);
  };
  refused({"--tau", "0"}, {"--tau is 0, must be > 0"});
  refused({"--tau", "3,-1"}, {"--tau is -1, must be > 0"});
  refused({"--tau", "1e10"}, {"--tau is 1e+10, must be 1e-9 to 1e9"});
  refused({"--tau", "three"}, {"--tau: \"three\" is not a number"});
  refused({"--tau", "nan"}, {"--tau: \"nan\" is not a number"});
  refused({"--tau", "inf"}, {"--tau: \"inf\" is not a number"});
  refused({"--tau", "3,3.0"}, {"--tau: 3 is given twice"});
  refused({"--evidence", "0"}, {"--evidence: 0 is not above 0 and at most 1e12"});
  refused({"--evidence", "1e13"}, {"--evidence: 10000000000000 is not above 0 and at most 1e12"});
  refused({"--evidence", "2.5", "--simulate", "100"},
          {"--evidence: 2.5 is not a whole number from 1 to 1e9, which --simulate needs"});
  refused({"--xi", "0"}, {"--xi is 0, must be between 0 and 1, both excluded"});
  refused({"--xi", "25"}, {"--xi is 25, must be between 0 and 1"});
  refused({"--xi", "x"}, {"--xi: \"x\" is not a number"});
  refused({"--prior-strength", "0"}, {"--prior-strength is 0, must be > 0"});
  refused({"--omega", "1.5"}, {"--omega is 1.5, must be 0 to 1"});
  refused({"--model-strength", "-1"}, {"--model-strength is -1, must be 0 to 1e9"});
  refused({"--scores", "0.5,1.5"}, {"--scores: 1.5 is not between 0 and 1"});
  refused({"--scores", "0.5,0.5"}, {"--scores: 0.5 is given twice"});
  refused({"--points", "1"}, {"--points: \"1\" is not a whole number from 2 to 100001"});
  refused({"--points", "5", "--scores", "0.5"}, {"--points", "--scores", "limen bias --help"});
  refused({"--simulate", "1"}, {"--simulate: \"1\" is not a whole number from 2 to 1000000000"});
  refused({"--simulate", "1e6"}, {"--simulate: \"1e6\" is not a whole number"});
  refused({"--simulate", "100", "--scores", "0.5"},
          {"--scores: the process of --simulate gives its own scores", "--points"});
  refused({"--seed", "1"}, {"--seed requires --simulate"});
  refused({"--csv", "--json"}, {"either --csv or --json"});
  refused({"--csv", "-o", "b.csv"}, {"--csv is for stdout"});
  refused({"--output-format", "csv"}, {"--output-format: there is no output; name one with -o"});
  refused({"-o", "b.xls"}, {"b.xls", ".csv", "(or say it with --output-format)"});
  refused({"--taux", "3"}, {"bias has no flag --taux; did you mean --tau?"});
  refused({"3"}, {"limen bias --help"});
  expect_not_written({"bias", "-o", "none/b.csv"}, {"none/b.csv"});
}

}  // namespace
}  // namespace limen::cli::test
