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
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CalibrateVerb : public CliTest {
 protected:
  /// Two thousand rows: the label follows the score, more so where uncertainty is low; evidence 10 or 1000.
  void write_rows(const std::string& name, std::uint64_t seed, bool with_weight = false) const {
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    std::ostringstream text;
    text.precision(17);
    text << "score,uncertainty,evidence,label" << (with_weight ? ",weight\n" : "\n");
    for (int row = 0; row < 2000; ++row) {
      const double score = uniform();
      const double uncertainty = uniform();
      const double rate = 0.5 + (score - 0.5) * (1 - 0.8 * uncertainty);
      text << score << ',' << uncertainty << ',' << (uncertainty < 0.5 ? 1000 : 10) << ','
           << (uniform() < rate ? 1 : 0);
      if (with_weight) text << ',' << 1 + row % 3;
      text << '\n';
    }
    write_file(name, text.str());
  }

  [[nodiscard]] std::string refused(const Words& arguments) const {
    const RunResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  }
};

TEST_F(CalibrateVerb, FitsJudgesAndIsApplied) {
  write_rows("h.csv", 1);
  write_rows("t.csv", 2);
  const std::string text = output_of({"calibrate", "h.csv", "--test", "t.csv", "-o", "c.json", "--bootstrap", "50"});
  EXPECT_THAT(
      text, AllOf(StartsWith("h.csv: 2,000 rows, "), HasSubstr("; 3 levels\n"),
                  ContainsRegex("log loss on rows left out: ist 0\\.[0-9]+, mist 0\\.[0-9]+, shrunken 0\\.[0-9]+"),
                  ContainsRegex("chosen: [a-z]+, the least; written to c.json"), HasSubstr("\non t.csv: 2,000 rows, "),
                  HasSubstr("95% bands of 50 resamples"),
                  HasSubstr("cumulative ECE@j: mean calibration error of the score bins above the j-th of 10"),
                  HasSubstr("\nECE@j: of the j-th score bin alone\n"), HasSubstr("\norder of the rows\n"),
                  HasSubstr("\n  mist, ties by score "), HasSubstr("\nreliability: ")));
  const Json file = Json::parse(file_text("c.json"));
  EXPECT_EQ(file["format"], "limen-calibration");
  EXPECT_EQ(file["calibrators"].size(), 3U);

  EXPECT_THAT(output_of({"apply", "c.json", "t.csv", "-o", "out.csv"}),
              AllOf(StartsWith("2,000 rows, probability by "), HasSubstr(" (as the file says), written to out.csv")));
  const std::string out = file_text("out.csv");
  EXPECT_THAT(out, StartsWith("score,uncertainty,evidence,label,probability\n"));
  // By hand, row by row: the last step at or below the score, of the level.
  EXPECT_THAT(output_of({"apply", "c.json", "t.csv", "-o", "mist.csv", "--calibrator", "mist"}),
              HasSubstr("probability by mist, written"));
  std::istringstream lines(file_text("mist.csv"));
  std::string line;
  std::getline(lines, line);
  int checked = 0;
  while (std::getline(lines, line)) {
    double score = 0;
    double uncertainty = 0;
    double evidence = 0;
    double label = 0;
    double probability = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf,%lf", &score, &uncertainty, &evidence, &label, &probability),
              5);
    std::size_t level = 0;
    for (const Json& edge : file["uncertainty_edges"]) level += edge.get<double>() <= uncertainty;
    const Json& steps = file["calibrators"]["mist"]["levels"][level];
    double expected = steps["probability"][0];
    for (std::size_t step = 0; step < steps["score"].size(); ++step) {
      if (steps["score"][step].get<double>() <= score) expected = steps["probability"][step];
    }
    ASSERT_EQ(probability, expected) << line;
    ++checked;
  }
  EXPECT_EQ(checked, 2000);
}

TEST_F(CalibrateVerb, WithoutTestRowsEachRowIsJudgedByCalibratorsOfOthers) {
  write_rows("h.csv", 3);
  EXPECT_THAT(output_of({"calibrate", "h.csv"}),
              HasSubstr("on the hold-out, each row by calibrators of other rows (cross-validation, 5 folds)"));
  const Json report = json_of({"calibrate", "h.csv", "--json", "--levels", "2", "--bins", "4", "--bootstrap", "20"});
  EXPECT_EQ(report["judged_on"]["by"], "cross-validation");
  EXPECT_EQ(report["judged_on"]["folds"], 5);
  EXPECT_EQ(report["levels"], 2);
  EXPECT_EQ(report["bins"], 4);
  ASSERT_EQ(report["columns"].size(), 4U);
  const Json& mist = report["columns"][2];
  EXPECT_EQ(mist["name"], "mist");
  EXPECT_EQ(mist["ece_at"].size(), 4U);
  EXPECT_EQ(mist["cumulative_ece"].size(), 4U);
  EXPECT_EQ(mist["cumulative_ece_less_ist"].size(), 4U);
  EXPECT_LT(mist["ece"]["band"][0], mist["ece"]["band"][1]);
  EXPECT_EQ(report["columns"][0]["name"], "raw");
  EXPECT_EQ(report["reliability"].size(), 4U);
  // The same for any number of threads.
  const Words words = {"calibrate", "h.csv", "--json", "--bootstrap", "20", "--threads"};
  const auto with = [&](const char* threads) {
    Words all = words;
    all.push_back(threads);
    return output_of(all);
  };
  EXPECT_EQ(with("1"), with("2"));
}

TEST_F(CalibrateVerb, CorrectsUndersamplingByTauAndByEvidence) {
  write_rows("h.csv", 4);
  const Json report = json_of({"calibrate", "h.csv", "--tau", "3", "--evidence", "evidence", "--xi", "0.25",
                               "--prior-strength", "4", "-o", "c.json", "--json", "--bootstrap", "20"});
  ASSERT_EQ(report["columns"].size(), 6U);
  EXPECT_EQ(report["columns"][1]["name"], "tau");
  EXPECT_EQ(report["columns"][2]["name"], "evidence");
  EXPECT_TRUE(report["columns"][2]["roc_auc_less_raw"]["band"].is_array());
  // Undersampling by tau leaves the order as it is.
  EXPECT_EQ(report["columns"][1]["roc_auc_less_raw"]["value"], 0);
  EXPECT_EQ(report["log_loss_on_rows_left_out"].size(), 5U);
  write_file("row.csv", "score,uncertainty,evidence\n0.5,0,10\n");
  (void)output_of({"apply", "c.json", "row.csv", "-o", "out.csv", "--calibrator", "tau"});
  EXPECT_EQ(file_text("out.csv"), "score,uncertainty,evidence,probability\n0.5,0,10,0.25\n");
  (void)output_of({"apply", "c.json", "row.csv", "-o", "out.csv", "--calibrator", "evidence"});
  const std::string text = output_of({"bias", "--tau", "3", "--evidence", "10", "--scores", "0.5", "--json"});
  const double expected = Json::parse(text)["curves"][0]["points"][0]["expected_positivity"];
  const std::string line = file_text("out.csv");
  EXPECT_DOUBLE_EQ(std::stod(line.substr(line.rfind(',') + 1)), expected);
  // Of the score alone neither uncertainty nor evidence is needed.
  write_file("score.csv", "score\n0.5\n");
  EXPECT_EQ(run({"apply", "c.json", "score.csv", "-o", "out.csv", "--calibrator", "ist"}).exit_code, 0);
  EXPECT_THAT(refused({"apply", "c.json", "score.csv", "-o", "out.csv", "--calibrator", "mist"}),
              HasSubstr("column \"uncertainty\": there is no such column"));
}

TEST_F(CalibrateVerb, WritesCurvesForPlotting) {
  write_rows("h.csv", 5);
  EXPECT_EQ(run({"calibrate", "h.csv", "--bins", "3", "--curves", "curves.csv", "--bootstrap", "20"}).exit_code, 0);
  const std::string text = file_text("curves.csv");
  EXPECT_THAT(text, StartsWith("calibrator,j,ece_at,ece_at_low,ece_at_high,cumulative_ece,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 4 * 4);  // j = 0 .. 3 of four columns
  EXPECT_THAT(text, ContainsRegex("\nraw,0,,,,0\\.[0-9]"));
  EXPECT_THAT(output_of({"calibrate", "h.csv", "--bins", "3", "--curves", "-", "--output-format", "csv"}),
              StartsWith("calibrator,j,"));
}

TEST_F(CalibrateVerb, ScoresThatAreNoProbabilitiesAreSaidToBe) {
  write_file("h.csv",
             "score,uncertainty,label\n-3,0,0\n-2,1,0\n-1,0,1\n1,1,0\n2,0,1\n3,1,1\n4,0,1\n5,1,0\n6,0,1\n7,1,1\n");
  const std::string text = output_of({"calibrate", "h.csv", "--levels", "1", "--bins", "2", "--bootstrap", "0"});
  EXPECT_THAT(text, AllOf(HasSubstr("raw is outside 0 to 1: no probability, so that only its order is judged"),
                          Not(ContainsRegex("\n  raw +0\\.[0-9]+ +0\\.[0-9]+ +0\\.[0-9]+ +0\\.[0-9]+\n")),
                          Not(HasSubstr("band"))));
  EXPECT_THAT(
      refused({"calibrate", "h.csv", "--tau", "3"}),
      HasSubstr("h.csv: row 1: column \"score\": is -3; a correction of undersampling needs scores from 0 to 1"));
}

TEST_F(CalibrateVerb, WeightsCountAndHaveNoBands) {
  write_rows("h.csv", 6, true);
  EXPECT_THAT(output_of({"calibrate", "h.csv"}),
              AllOf(HasSubstr(" positive by weight; 3 levels"),
                    HasSubstr("no bands, as rows have weights and resamples draw rows"), Not(HasSubstr("95% band "))));
  EXPECT_THAT(refused({"calibrate", "h.csv", "--bootstrap", "20"}),
              HasSubstr("rows have weights, but --bootstrap draws"));
}

TEST_F(CalibrateVerb, NamesWhatItRefuses) {
  write_rows("h.csv", 7);
  const auto with = [&](const Words& more) {
    Words all = {"calibrate", "h.csv"};
    all.insert(all.end(), more.begin(), more.end());
    return refused(all);
  };
  EXPECT_THAT(with({"--tau", "0"}), HasSubstr("--tau is 0, must be > 0"));
  EXPECT_THAT(with({"--tau", "nan"}), HasSubstr("--tau: \"nan\" is not a number"));
  EXPECT_THAT(with({"--tau", "-2"}), HasSubstr("--tau is -2, must be > 0"));
  EXPECT_THAT(with({"--tau", "3", "--evidence", "evidence", "--xi", "1"}), HasSubstr("--xi is 1, must be"));
  EXPECT_THAT(with({"--tau", "3", "--evidence", "evidence", "--xi", "0.5"}),
              HasSubstr("give --xi and --prior-strength"));
  EXPECT_THAT(with({"--evidence", "evidence"}), HasSubstr("give it with --tau"));
  EXPECT_THAT(with({"--tau", "3", "--omega", "0.5"}), HasSubstr("name its column with --evidence"));
  EXPECT_THAT(with({"--tau", "3", "--evidence", "nowhere", "--xi", "0.25", "--prior-strength", "4"}),
              HasSubstr("column \"nowhere\": there is no such column"));
  EXPECT_THAT(with({"--levels", "0"}), HasSubstr("--levels: \"0\" is not a whole number from 1 to 1000"));
  EXPECT_THAT(with({"--bins", "1001"}), HasSubstr("--bins: \"1001\" is not a whole number from 1 to 1000"));
  EXPECT_THAT(with({"--max-memory", "1KB"}), HasSubstr("do not fit into 0 MB; allow more with --max-memory"));
  EXPECT_THAT(with({"-o", "h.csv"}), HasSubstr("is the input"));
  write_file("e.csv", "score,uncertainty,evidence,label\n0.5,0,-1,1\n0.4,0,3,0\n");
  EXPECT_THAT(
      refused({"calibrate", "e.csv", "--tau", "3", "--evidence", "evidence", "--xi", "0.25", "--prior-strength", "4"}),
      HasSubstr("e.csv: row 1: column \"evidence\": is -1; evidence is a number of rows, 0 to 1e12"));
}

TEST_F(CalibrateVerb, ApplyRefusesBadFilesByName) {
  write_rows("h.csv", 8);
  (void)output_of({"calibrate", "h.csv", "-o", "c.json", "--tau", "5", "--bootstrap", "0"});
  const std::string good = file_text("c.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    write_file("bad.json", text.replace(at, from.size(), to));
    return refused({"apply", "bad.json", "h.csv", "-o", "out.csv"});
  };
  EXPECT_THAT(with("\"version\": 1", "\"version\": 7"),
              HasSubstr("bad.json: has version 7, this program reads up to 1"));
  EXPECT_THAT(with("\"tau\": 5.0", "\"tau\": 0.0"), HasSubstr("\"calibrators.tau.tau\" is 0, must be > 0"));
  EXPECT_THAT(with("\"chosen\"", "\"choosen\""), HasSubstr("\"chosen\" is missing; the file is damaged"));
  EXPECT_THAT(refused({"apply", "c.json", "h.csv", "-o", "out.csv", "--calibrator", "evidence"}),
              HasSubstr("c.json: has no calibrator \"evidence\""));
  EXPECT_THAT(refused({"apply", "c.json", "h.csv", "-o", "out.csv", "--calibrator", "platt"}),
              HasSubstr("\"platt\" is no calibrator"));
  (void)output_of({"fit", "h.csv", "--precision", "0.6", "-o", "b.json", "--method", "st"});
  EXPECT_THAT(refused({"apply", "b.json", "h.csv", "-o", "out.csv", "--calibrator", "ist"}),
              HasSubstr("b.json is no calibration file"));
}

}  // namespace
}  // namespace limen::cli::test
