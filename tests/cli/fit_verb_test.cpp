// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Words kMethods = {"st", "hr", "gmt", "mist", "ew-dpmt", "vw-dpmt", "exact"};

class Fit : public CliTest {
 protected:
  Fit() { write_file("x.csv", kHandTable); }

  /// The boundary that fit makes of the hand table with two levels and every distinct score.
  [[nodiscard]] Json fit(Words flags) const {
    flags.insert(flags.begin(), {"fit", "x.csv", "--levels", "2", "--bins", "all", "--json"});
    return json_of(flags);
  }
};

TEST_F(Fit, WritesTheBestBoundaryAndSaysWhatItReaches) {
  // See kHandTable: 5,4 is the last of the undominated boundaries with precision >= 0.75, 4,3 the last such threshold.
  const std::string text =
      output_of({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--bins", "all", "-o", "b.json"});
  EXPECT_THAT(text, HasSubstr("precision >= 0.75"));
  EXPECT_THAT(text, HasSubstr("10 rows, 5 positives; 2 levels, every distinct score"));
  EXPECT_THAT(text, HasSubstr("flagged 5, true positives 4: precision 0.8000, recall 0.8000"));
  EXPECT_THAT(text, HasSubstr("proved optimal"));
  EXPECT_THAT(text,
              HasSubstr("best single threshold on this hold-out: recall 0.6000; the 2-D boundary: 0.8000 (+33.3%)"));
  EXPECT_THAT(text, HasSubstr("b.json"));
  EXPECT_THAT(file_names(), ElementsAre("b.json", "x.csv"));

  const Json boundary = Json::parse(file_text("b.json"));
  EXPECT_EQ(boundary["format"], "limen-boundary");
  EXPECT_EQ(boundary["version"], 1);
  EXPECT_EQ(boundary["rule"], Json::parse(R"({"uncertainty_edges": [0.5], "score_thresholds": [0.65, 0.8]})"));
  EXPECT_EQ(boundary["objective"], Json::parse(R"({"maximize": "recall", "constraint": "precision", "bound": 0.75})"));
  EXPECT_EQ(boundary["method"], "exact");
  EXPECT_EQ(boundary["binning"], Json::parse(R"({"kind": "equi-weight", "from": "top", "levels": 2, "bins": "all"})"));
  const Json& holdout = boundary["holdout"];
  EXPECT_EQ(holdout["rows"], 10);
  EXPECT_EQ(holdout["positives"], 5);
  EXPECT_EQ(holdout["flagged"], 5);
  EXPECT_EQ(holdout["true_positives"], 4);
  EXPECT_EQ(holdout["precision"], 0.8);
  EXPECT_EQ(holdout["recall"], 0.8);
  EXPECT_EQ(holdout["true_positives_bound"], 4);
  EXPECT_EQ(holdout["optimal"], true);
  EXPECT_TRUE(boundary["guarantee"].is_null());
  EXPECT_EQ(boundary["columns"], Json::parse(R"({"score": "score", "uncertainty": "uncertainty"})"));
  EXPECT_TRUE(boundary["limen"].is_string());
}

TEST_F(Fit, ALevelThatNeverFlagsHasNoThreshold) {
  EXPECT_EQ(fit({"--precision", "1"})["rule"]["score_thresholds"], Json::parse("[0.65, null]"));
  EXPECT_THAT(output_of({"fit", "x.csv", "--precision", "1", "--levels", "2", "--bins", "all"}), HasSubstr("never"));
}

TEST_F(Fit, EveryObjective) {
  struct Case {
    Words flags;
    int flagged;
    int true_positives;
    double value;  ///< of what is optimised
  };
  // By hand over the undominated boundaries 3,3  5,4  8,5 of 10 rows with 5 positives.
  const std::vector<Case> cases = {
      {{"--precision", "0"}, 8, 5, 5},
      {{"--precision", "0.625"}, 8, 5, 5},
      {{"--precision", "0.6250001"}, 5, 4, 4},
      {{"--precision", "8e-1"}, 5, 4, 4},
      {{"--precision", ".81"}, 3, 3, 3},
      {{"--precision", "1"}, 3, 3, 3},
      {{"--recall", "1"}, 8, 5, 0.625},
      {{"--recall", "0.8"}, 5, 4, 0.8},
      {{"--recall", "0.81"}, 8, 5, 0.625},
      {{"--fpr", "0"}, 3, 3, 3},
      {{"--fpr", "0.2"}, 5, 4, 4},
      {{"--fpr", "1"}, 8, 5, 5},
      {{"--flag-rate", "0"}, 0, 0, 0},
      {{"--flag-rate", "0.4"}, 3, 3, 3},
      {{"--flag-rate", "0.5"}, 5, 4, 4},
      {{"--flag-rate", "1"}, 8, 5, 5},
      {{"--cost-fp", "1", "--cost-fn", "5"}, 8, 5, 3},
      {{"--cost-fp", "2", "--cost-fn", "1"}, 3, 3, 2},
      {{"--cost-fp", "1", "--cost-fn", "1.5"}, 5, 4, 2.5},
      {{"--fbeta", "1"}, 5, 4, 0.8},
      {{"--fbeta", "2"}, 8, 5, 25.0 / 28},
      {{"--fbeta", "0.1"}, 3, 3, 1.01 * 3 / 3.05},
  };
  for (const Case& wanted : cases) {
    SCOPED_TRACE(command(wanted.flags));
    const Json holdout = fit(wanted.flags)["holdout"];
    EXPECT_EQ(holdout["flagged"], wanted.flagged);
    EXPECT_EQ(holdout["true_positives"], wanted.true_positives);
    // A quotient of numbers below 100: a few roundings of double.
    EXPECT_NEAR(holdout["objective_value"].get<double>(), wanted.value, 1e-14);
    EXPECT_NEAR(holdout["objective_bound"].get<double>(), wanted.value, 1e-14);
    EXPECT_EQ(holdout["optimal"], true);
  }
}

TEST_F(Fit, TheObjectiveIsInTheFile) {
  const auto objective = [&](const Words& flags) { return fit(flags)["objective"]; };
  EXPECT_EQ(objective({"--recall", "0.9"}),
            Json::parse(R"({"maximize": "precision", "constraint": "recall", "bound": 0.9})"));
  EXPECT_EQ(objective({"--fpr", "0.2"})["constraint"], "false-positive-rate");
  EXPECT_EQ(objective({"--flag-rate", "0.2"})["constraint"], "flag-rate");
  EXPECT_EQ(objective({"--cost-fp", "1", "--cost-fn", "5"}),
            Json::parse(R"({"minimize": "cost", "false_positive": 1.0, "false_negative": 5.0})"));
  EXPECT_EQ(objective({"--fbeta", "0.5"}), Json::parse(R"({"maximize": "f-beta", "beta": 0.5})"));
}

TEST_F(Fit, EveryMethod) {
  struct Case {
    const char* method;
    const char* bound;
    int flagged;
    int true_positives;
  };
  // st: 4,3 by hand. gmt: each level alone reaches 0.75, which the second cannot. hr ranks by score plus scaled
  // uncertainty, 0 and 1 here: the second level's five rows come first, then 8,5 is the best it can do.
  const std::vector<Case> cases = {{"st", "0.75", 4, 3},      {"gmt", "0.75", 3, 3},     {"mist", "0.75", 5, 4},
                                   {"ew-dpmt", "0.75", 5, 4}, {"vw-dpmt", "0.75", 5, 4}, {"exact", "0.75", 5, 4},
                                   {"hr", "0.6", 8, 5},       {"exact", "0.6", 8, 5}};
  for (const Case& wanted : cases) {
    SCOPED_TRACE(wanted.method);
    const Json boundary = fit({"--method", wanted.method, "--precision", wanted.bound});
    EXPECT_EQ(boundary["method"], wanted.method);
    EXPECT_EQ(boundary["holdout"]["flagged"], wanted.flagged);
    EXPECT_EQ(boundary["holdout"]["true_positives"], wanted.true_positives);
    EXPECT_GE(boundary["holdout"]["true_positives_bound"], wanted.true_positives);
  }
  EXPECT_EQ(fit({"--method", "st", "--precision", "0.75"})["rule"],
            Json::parse(R"({"uncertainty_edges": [], "score_thresholds": [0.8]})"));
}

TEST_F(Fit, AMethodThatMissesTheBestShowsItsGap) {
  const std::string text =
      output_of({"fit", "x.csv", "--method", "gmt", "--precision", "0.75", "--levels", "2", "--bins", "all"});
  EXPECT_THAT(text, AllOf(HasSubstr("gap 1"), Not(HasSubstr("proved optimal"))));
  EXPECT_EQ(fit({"--method", "gmt", "--precision", "0.75"})["holdout"]["optimal"], false);
}

// A method that cannot meet the bound told the best precision of all boundaries instead of its own: "precision >= 0.75
// cannot be met; the best attainable precision is 1".
TEST_F(Fit, AnInfeasibleBoundExitsWith3AndTellsTheBestAttainable) {
  // hr ends at 8,5; whole levels as single bins hold 3 of 5 and 2 of 5 positives.
  const std::vector<std::pair<Words, double>> cases = {{{"--method", "hr", "--bins", "all"}, 0.625},
                                                       {{"--bins", "1"}, 0.6}};
  write_file("b.json", "an older boundary");
  const auto before = files();
  for (const auto& [flags, best] : cases) {
    Words arguments = {"fit", "x.csv", "--levels", "2", "--precision", "0.75", "-o", "b.json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    SCOPED_TRACE(command(arguments));
    const RunResult text = run(arguments);
    EXPECT_EQ(text.exit_code, 3);
    EXPECT_THAT(text.err, AllOf(StartsWith("limen: x.csv: "), HasSubstr("0.75"), HasSubstr(Json(best).dump())));
    EXPECT_EQ(std::ranges::count(text.err, '\n'), 1);
    arguments.push_back("--json");
    const RunResult machine = run(arguments);
    EXPECT_EQ(machine.exit_code, 3);
    const Json report = Json::parse(machine.out);
    EXPECT_EQ(report["status"], "infeasible");
    EXPECT_EQ(report["best_attainable_precision"], best);
    EXPECT_EQ(files(), before);
  }
}

TEST_F(Fit, ReadsStdinAndWritesStdout) {
  const Words flags = {"--precision", "0.75", "--levels", "2", "--bins", "all"};
  const auto fit_text = [&](Words arguments, std::string_view input) {
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return output_of(arguments, input);
  };
  static_cast<void>(fit_text({"fit", "x.csv", "-o", "b.json"}, ""));
  const std::string file = file_text("b.json");
  EXPECT_EQ(fit_text({"fit", "x.csv", "--json"}, ""), file);
  EXPECT_EQ(fit_text({"fit", "x.csv", "-o", "-"}, ""), file);
  EXPECT_EQ(fit_text({"fit", "-", "-o", "-"}, kHandTable), file);
  EXPECT_EQ(fit_text({"fit", "-", "--json"}, kHandTable), file);
  EXPECT_EQ(fit_text({"fit", "-", "--format", "tsv", "-o", "-"}, replaced(kHandTable, ",", "\t")), file);
  expect_refused({"fit", "-", "--precision", "0.5"}, {"<stdin>", "empty"});
}

TEST_F(Fit, ReadsTsvCrlfQuotesAByteOrderMarkAndWords) {
  const std::string wanted = fit({"--precision", "0.75"}).dump();
  std::string words = replaced(kHandTable, ",1\n", ",True\n");
  words = replaced(words, ",0\n", ",false\n");
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"x.tsv", replaced(kHandTable, ",", "\t")},
      {"x.TSV", replaced(kHandTable, ",", "\t")},
      {"crlf.csv", replaced(kHandTable, "\n", "\r\n")},
      {"bom.csv", std::string("\xef\xbb\xbf").append(kHandTable)},
      {"quoted.csv", replaced(kHandTable, "score,uncertainty,label", "\"score\",\"uncertainty\",\"label\"")},
      {"words.csv", words},
      {"blanks.csv", replaced(kHandTable, ",", " , ") + "\n\n"},
      {"data", std::string(kHandTable)},
  };
  for (const auto& [name, text] : forms) {
    SCOPED_TRACE(name);
    write_file(name, text);
    EXPECT_EQ(json_of({"fit", name, "--precision", "0.75", "--levels", "2", "--bins", "all", "--json"}).dump(), wanted);
  }
}

TEST_F(Fit, ColumnsAreRenamedAndRemembered) {
  const std::string rest(kHandTable.substr(kHandTable.find('\n')));
  write_file("renamed.csv", "p,doubt,fraud" + rest);
  const Json boundary = json_of({"fit", "renamed.csv", "--score", "p", "--uncertainty", "doubt", "--label", "fraud",
                                 "--levels", "2", "--bins", "all", "--precision", "0.75", "--json"});
  EXPECT_EQ(boundary["holdout"], fit({"--precision", "0.75"})["holdout"]);
  EXPECT_EQ(boundary["columns"], Json::parse(R"({"score": "p", "uncertainty": "doubt"})"));
}

TEST_F(Fit, AWeightOfTwoIsARowTwice) {
  // Weights 1, 2, 3, 1, 2, ... beside the same rows written that often.
  std::string weighted = "score,uncertainty,label,weight\n";
  std::string repeated = "score,uncertainty,label\n";
  std::istringstream lines{std::string(kHandTable)};
  std::string line;
  std::getline(lines, line);
  for (int row = 0; std::getline(lines, line); ++row) {
    const int times = row % 3 + 1;
    weighted.append(line).append(",").append(std::to_string(times)).append("\n");
    for (int time = 0; time < times; ++time) repeated += line + "\n";
  }
  write_file("weighted.csv", weighted);
  write_file("repeated.csv", repeated);
  for (const Words& objective : std::vector<Words>{{"--precision", "0.75"},
                                                   {"--recall", "0.7"},
                                                   {"--fpr", "0.3"},
                                                   {"--flag-rate", "0.5"},
                                                   {"--cost-fp", "2", "--cost-fn", "3"},
                                                   {"--fbeta", "1"}}) {
    SCOPED_TRACE(command(objective));
    const auto fitted = [&](const char* file) {
      Words arguments = {"fit", file, "--levels", "2", "--bins", "all", "--json"};
      arguments.insert(arguments.end(), objective.begin(), objective.end());
      return json_of(arguments);
    };
    const Json a = fitted("weighted.csv");
    const Json b = fitted("repeated.csv");
    EXPECT_EQ(a["rule"], b["rule"]);
    for (const char* count : {"positives", "flagged", "true_positives", "precision", "recall", "objective_value"}) {
      EXPECT_EQ(a["holdout"][count], b["holdout"][count]) << count;
    }
    EXPECT_EQ(a["holdout"]["rows"], 10);
    EXPECT_EQ(a["holdout"]["weight"], b["holdout"]["rows"]);
  }
  // Under another name the column is not taken for weights unless asked.
  write_file("named.csv", replaced(weighted, "weight", "w"));
  const Words fit_named = {"fit", "named.csv", "--levels", "2", "--bins", "all", "--precision", "0.75", "--json"};
  EXPECT_FALSE(json_of(fit_named)["holdout"].contains("weight"));
  Words asked = fit_named;
  asked.insert(asked.end(), {"--weight", "w"});
  EXPECT_EQ(json_of(asked)["holdout"]["weight"], 19);
}

// The counts in the file were rounded to the nearest unit and the bound downwards: the file claimed that no boundary
// reaches more true positives than a number below its own.
TEST_F(Fit, NoWeightedBoundaryBeatsItsOwnProvenBound) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    write_file("w.csv", tied_table(seed, 300, true));
    const Json holdout = json_of({"fit", "w.csv", "--precision", "0.6", "--json"})["holdout"];
    EXPECT_GE(holdout["true_positives_bound"].get<double>(), holdout["true_positives"].get<double>());
    EXPECT_GE(holdout["true_positives"].get<double>(), 0.6 * holdout["flagged"].get<double>() * (1 - 1e-12));
  }
}

TEST_F(Fit, DropMissingSaysHowMany) {
  write_file("gaps.csv", std::string(kHandTable) + ",0.1,1\n0.5,nan,0\n0.5,inf,0\n0.5,0.1,7\n0.5,0.1,\n");
  const RunResult result =
      run({"fit", "gaps.csv", "--drop-missing", "--precision", "0.75", "--levels", "2", "--bins", "all", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("gaps.csv"), HasSubstr(" 5 rows")));
  EXPECT_EQ(Json::parse(result.out), fit({"--precision", "0.75"}));
  // Text where a number belongs is a mistake, not a gap.
  write_file("text.csv", std::string(kHandTable) + "high,0.1,1\n");
  expect_refused({"fit", "text.csv", "--drop-missing", "--precision", "0.75"}, {"text.csv", "line 12", "\"high\""});
}

TEST_F(Fit, FewerLevelsThanAskedAreUsedAndItSaysSo) {
  const RunResult result = run({"fit", "x.csv", "--levels", "5", "--precision", "0.75", "-o", "b.json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("x.csv"), HasSubstr("5 levels"), HasSubstr("2")));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
  EXPECT_THAT(result.out, HasSubstr("2 levels"));
  const Json boundary = Json::parse(file_text("b.json"));
  EXPECT_EQ(boundary["binning"]["levels"], 2);
  EXPECT_EQ(boundary["rule"]["uncertainty_edges"], Json::parse("[0.5]"));

  write_file("flat.csv", replaced(replaced(kHandTable, ",0.1,", ",3,"), ",0.9,", ",3,"));
  const RunResult flat = run({"fit", "flat.csv", "--precision", "0.75", "--method", "exact", "-o", "b.json"});
  EXPECT_EQ(flat.exit_code, 0);
  EXPECT_THAT(flat.err, AllOf(HasSubstr("flat.csv"), HasSubstr("3 levels"), HasSubstr("1")));
  EXPECT_EQ(Json::parse(file_text("b.json"))["rule"]["uncertainty_edges"], Json::array());
}

TEST_F(Fit, OddButLegalNumbers) {
  // Rows, then thresholds wanted at precision 1 with every distinct score.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"1e308,1,1\n-1e308,1,0\n", "[0.0]"},
      {"1.7976931348623157e308,-1.7e308,1\n1e308,1.7e308,0\n", "[1.79e308, null]"},
      {"5e-324,1,1\n0,1,0\n", "[5e-324]"},
      {"-0.0,1,1\n-1,1,0\n", "[0.0]"},
      {"1e-999,1,1\n-1,1,0\n", "[0.0]"},
      {"+0.5,1,1\n0.25,1,0\n", "[0.4]"},
      {"0.5,1,1\n0.5,2,0\n", "[0.5, null]"},
  };
  for (const auto& [rows, thresholds] : cases) {
    SCOPED_TRACE(rows);
    write_file("odd.csv", "score,uncertainty,label\n" + rows);
    const Json boundary = json_of({"fit", "odd.csv", "--precision", "1", "--levels", "2", "--bins", "all", "--json"});
    EXPECT_EQ(boundary["rule"]["score_thresholds"], Json::parse(thresholds));
  }
}

// On tables full of ties, for every method and binning: the boundary, read back from its file, gives the counts in it.
TEST_F(Fit, AppliedToItsHoldoutTheBoundaryGivesTheCountsInItsFile) {
  int fitted = 0;
  write_file("tied.csv", tied_table(1, 400));
  for (const std::string& method : kMethods) {
    for (const char* binning : {"equi-weight", "equi-span"}) {
      for (const char* bins : {"3", "50", "all"}) {
        const Words arguments = {"fit",  "tied.csv",  "--precision", "0.55",   "--levels", "4",  "--method",
                                 method, "--binning", binning,       "--bins", bins,       "-o", "b.json"};
        SCOPED_TRACE(command(arguments));
        const int exit_code = run(arguments).exit_code;
        if (exit_code == 3) continue;
        ASSERT_EQ(exit_code, 0);
        ++fitted;
        const Json holdout = Json::parse(file_text("b.json"))["holdout"];
        const Json judged = json_of({"evaluate", "b.json", "tied.csv", "--json"})[0];
        for (const char* count : {"rows", "positives", "flagged", "true_positives", "precision", "recall"}) {
          EXPECT_EQ(judged[count], holdout[count]) << count;
        }
        EXPECT_GE(holdout["precision"].get<double>(), 0.55);
        EXPECT_EQ(json_of({"apply", "b.json", "tied.csv", "-o", "out.csv", "--json"})["flagged"], holdout["flagged"]);
      }
    }
  }
  EXPECT_GT(fitted, 30);
}

TEST_F(Fit, TheFileDoesNotDependOnThreads) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "150000", "--test-rows", "0"}).exit_code, 0);
  write_file("weighted.csv", tied_table(1, 30'000, true));
  const std::vector<Words> cases = {{"holdout.csv", "--method", "exact", "--bins", "all", "--levels", "7"},
                                    {"holdout.csv", "--method", "exact"},
                                    {"holdout.csv", "--method", "mist", "--bins", "all"},
                                    {"holdout.csv", "--method", "st"},
                                    {"holdout.csv", "--method", "vw-dpmt", "--bins", "100"},
                                    {"weighted.csv", "--method", "exact", "--bins", "all"}};
  for (Words arguments : cases) {
    arguments.insert(arguments.begin(), "fit");
    arguments.insert(arguments.end(), {"--precision", "0.6", "-o", "b.json", "--threads"});
    SCOPED_TRACE(command(arguments));
    std::vector<std::string> written;
    for (const char* threads : {"1", "2", "7", "0"}) {
      arguments.push_back(threads);
      ASSERT_EQ(run(arguments).exit_code, 0);
      arguments.pop_back();
      written.push_back(file_text("b.json"));
      std::filesystem::remove("b.json");
    }
    EXPECT_THAT(written, ::testing::Each(written[0]));
  }
}

TEST_F(Fit, AnOldOutputIsReplacedWhole) {
  write_file("b.json", std::string(100'000, 'x'));
  ASSERT_EQ(run({"fit", "x.csv", "--precision", "0.75", "-o", "b.json"}).exit_code, 0);
  EXPECT_EQ(Json::parse(file_text("b.json"))["format"], "limen-boundary");
  EXPECT_THAT(file_names(), ElementsAre("b.json", "x.csv"));
}

// Rows of the paper's process, whose uncertainty informs, and the same with an uncertainty that does not.
TEST_F(Fit, ByDefaultItFindsOutWhetherUncertaintyHelps) {
  (void)output_of({"simulate", "-o", "sim", "--prior", "1.5,8.5", "--tau", "3", "--regions", "5000", "--holdout-rows",
                   "100000", "--test-rows", "10", "--seed", "1"});
  const std::string text = output_of({"fit", "sim/holdout.csv", "--precision", "0.4", "-o", "b.json"});
  EXPECT_THAT(text, AllOf(HasSubstr("auto: uncertainty informs"), HasSubstr("expected in deployment: precision"),
                          HasSubstr("on this hold-out")));
  const Json boundary = Json::parse(file_text("b.json"));
  EXPECT_EQ(boundary["method"], "smooth");
  EXPECT_EQ(boundary["binning"]["from"], "top");
  EXPECT_LT(boundary["chosen_by"]["information_p"], 0.01);
  EXPECT_EQ(boundary["chosen_by"]["candidates"].size(), 7);
  EXPECT_EQ(boundary["expected"]["by"], "cross-validation");
  // In batches: the same file.
  const RunResult batched =
      run({"fit", "sim/holdout.csv", "--precision", "0.4", "-o", "batched.json", "--max-memory", "2MB"});
  EXPECT_EQ(batched.exit_code, 0) << batched.err;
  EXPECT_THAT(batched.err, HasSubstr("in batches"));
  EXPECT_EQ(file_text("batched.json"), file_text("b.json"));

  // The score as its own uncertainty tells nothing more.
  const Json plain =
      Json::parse(output_of({"fit", "sim/holdout.csv", "--precision", "0.35", "--uncertainty", "score", "--json"}));
  EXPECT_EQ(plain["method"], "st");
  EXPECT_THAT(plain["chosen_by"]["why"], HasSubstr("one threshold"));
}

TEST_F(Fit, FewFlaggedRowsAreSaidToBeFew) {
  // 5 rows are flagged, 4 of them positive: Clopper and Pearson give 0.2836 to 0.9949.
  EXPECT_THAT(output_of({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--bins", "all"}),
              HasSubstr("caution: this rests on 5 rows flagged; by chance alone precision may be 0.2836 to 0.9949"));
  write_file("many.csv", tied_table(5, 800, false));
  EXPECT_THAT(output_of({"fit", "many.csv", "--precision", "0.6", "--levels", "50"}), HasSubstr("levels for"));
  EXPECT_THAT(output_of({"fit", "many.csv", "--precision", "0.6", "--levels", "2"}), Not(HasSubstr("caution")));
}

TEST_F(Fit, AnInfeasibleChoiceNamesItself) {
  write_file("upside_down.csv", "score,uncertainty,label\n1,1,0\n0.5,1,1\n");
  const RunResult result = run({"fit", "upside_down.csv", "--precision", "0.9"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("cannot be met by auto on 1 level"), HasSubstr("--method exact")));
}

TEST_F(Fit, LevelsAndBinsLeaveNothingToChoose) {
  EXPECT_EQ(json_of({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--json"})["method"], "exact");
  EXPECT_EQ(json_of({"fit", "x.csv", "--precision", "0.75", "--bins", "3", "--json"})["method"], "exact");
  expect_refused({"fit", "x.csv", "--precision", "0.75", "--method", "auto", "--levels", "2"},
                 {"--method auto", "--levels"});
  write_file("counts.csv", "level,score,positives,rows\n0,0.5,1,2\n");
  const Json counted = json_of({"fit", "--counts", "counts.csv", "--precision", "0.4", "--json"});
  EXPECT_EQ(counted["method"], "st");
  EXPECT_THAT(counted["chosen_by"]["why"], HasSubstr("too few rows"));
  expect_refused({"fit", "x.csv", "--precision", "0.75", "--levels-from", "bottom"}, {"--levels-from", "bottom"});
}

TEST_F(Fit, KeepsThresholdsMonotone) {
  const Json free = json_of({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--levels-from", "all", "--json"});
  EXPECT_EQ(free["rule"]["score_thresholds"], Json::parse("[0.65, 0.8]"));
  EXPECT_FALSE(free["binning"].contains("monotone"));
  const Words words = {"fit", "x.csv", "--precision", "0.75", "--levels-from", "all", "--levels", "2", "--monotone"};
  const auto with = [&](const std::string& way, const std::string& more) {
    Words all = words;
    all.insert(all.end(), {way, more});
    return all;
  };
  const Json up = json_of(with("up", "--json"));
  EXPECT_EQ(up["rule"], free["rule"]);
  EXPECT_EQ(up["binning"]["monotone"], "up");
  const Json down = json_of(with("down", "--json"));
  EXPECT_GE(down["rule"]["score_thresholds"][0], down["rule"]["score_thresholds"][1]);
  EXPECT_LT(down["holdout"]["true_positives"], up["holdout"]["true_positives"]);
  EXPECT_THAT(output_of({"fit", "x.csv", "--precision", "0.75", "--monotone", "down"}),
              HasSubstr("whose thresholds never rise with uncertainty"));
  expect_refused({"fit", "x.csv", "--precision", "0.75", "--monotone", "sideways"}, {"--monotone", "sideways"});
  expect_refused({"fit", "x.csv", "--precision", "0.75", "--monotone", "up", "--method", "smooth"}, {"exact or joint"});
}

// One threshold flags all positives already.
TEST_F(Fit, SaysWhereJointOrMonotoneThresholdsBringNothing) {
  write_file("five.csv", "score,uncertainty,label\n1,2,0\n2,1,1\n3,1,1\n4,2,0\n5,2,1\n");
  EXPECT_THAT(output_of({"fit", "five.csv", "--precision", "0.5", "--method", "joint"}),
              HasSubstr("(+0.0%): uncertainty brings nothing here\n"));
  EXPECT_THAT(output_of({"fit", "five.csv", "--precision", "0.5", "--levels", "2", "--monotone", "up"}),
              HasSubstr("(+0.0%): such thresholds bring nothing here\n"));
}

TEST_F(Fit, FindsLevelsAndBinsWhenAsked) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "5000", "--test-rows", "10"}).exit_code, 0);
  const Json found =
      json_of({"fit", "holdout.csv", "--precision", "0.4", "--levels", "auto", "--bins", "auto", "--json"});
  EXPECT_EQ(found["method"], "exact");
  const Json swept = json_of({"sweep", "holdout.csv", "--precision", "0.4", "--json"});
  EXPECT_EQ(found["binning"]["levels"], swept["smallest"]["levels"]);
  EXPECT_EQ(json_of({"fit", "holdout.csv", "--precision", "0.4", "--method", "joint", "--json"})["method"], "joint");
  expect_refused({"compare", "--holdout", "x.csv", "--test", "x.csv", "--precision", "0.5", "--levels", "auto"},
                 {"--levels", "auto"});
}

TEST_F(Fit, FitsAgainOnResamples) {
  write_file("t.csv", tied_table(3, 3000));
  const Words words = {"fit", "t.csv", "--precision", "0.7", "--levels", "3", "--bootstrap", "40"};
  EXPECT_THAT(output_of(words), ::testing::AllOf(::testing::HasSubstr("fitted again on 40 resamples"),
                                                 ::testing::HasSubstr("on the rows left out of the resample"),
                                                 ::testing::HasSubstr("one for all")));
  Words with_json = words;
  with_json.insert(with_json.end(), {"--json", "-o", "b.json"});
  const Json found = json_of(with_json);
  EXPECT_EQ(found["bootstrap"]["replicates"], 40);
  EXPECT_EQ(found["bootstrap"]["score_thresholds"].size(), 3u);
  EXPECT_LE(found["bootstrap"]["recall"][0], found["holdout"]["recall"]);
  EXPECT_FALSE(Json::parse(file_text("b.json")).contains("bootstrap"));
  with_json.insert(with_json.end(), {"--threads", "1"});
  EXPECT_EQ(json_of(with_json), found);
  expect_refused({"fit", "t.csv", "--precision", "0.7", "--bootstrap", "1"}, {"--bootstrap", "2 or more"});
  expect_refused({"fit", "--counts", "t.csv", "--precision", "0.7", "--bootstrap", "20"}, {"--bootstrap", "--counts"});
}

}  // namespace
}  // namespace limen::cli::test
