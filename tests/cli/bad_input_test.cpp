// SPDX-License-Identifier: MIT
// Everything a user can get wrong: one line that names the file and row, column or flag, exit code 2, no output.
#include <gtest/gtest.h>

#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

class BadInput : public CliTest {
 protected:
  BadInput() {
    write_file("good.csv", kHandTable);
    EXPECT_EQ(run({"fit", "good.csv", "--precision", "0.75", "--levels", "2", "-o", "good.json"}).exit_code, 0);
    write_file("old.json", "an older result");
    write_file("old.csv", "an older table");
  }

  /// Refused by every verb that reads labelled rows, as any of its tables, and by apply unless only labels or weights
  /// are bad, which it does not read.
  void expect_table_refused(const std::string& text, Words named, bool apply_too, bool evaluate_too = true) const {
    SCOPED_TRACE(text.substr(0, 80));
    write_file("bad.csv", text);
    named.emplace_back("bad.csv");
    expect_refused({"fit", "bad.csv", "--precision", "0.5", "-o", "new.json"}, named);
    expect_refused({"fit", "bad.csv", "--precision", "0.5", "-o", "old.json"}, named);
    expect_refused({"frontier", "bad.csv", "-o", "old.csv"}, named);
    expect_refused({"compare", "--holdout", "bad.csv", "--test", "good.csv", "--precision", "0.5"}, named);
    expect_refused({"compare", "--holdout", "good.csv", "--test", "bad.csv", "--precision", "0.5"}, named);
    if (evaluate_too) expect_refused({"evaluate", "good.json", "bad.csv"}, named);
    if (apply_too) {
      expect_refused({"apply", "good.json", "bad.csv", "-o", "new.csv"}, named);
      expect_refused({"apply", "good.json", "bad.csv", "-o", "old.csv"}, named);
    }
  }

  void expect_fit_refused(Words flags, const Words& named) const {
    flags.insert(flags.begin(), {"fit", "good.csv", "-o", "old.json"});
    expect_refused(flags, named);
  }
};

TEST_F(BadInput, MissingColumn) {
  expect_table_refused("points,uncertainty,label\n0.5,1,1\n0.4,1,0\n", {"\"score\"", "points", "--score"}, true);
  expect_table_refused("score,doubt,label\n0.5,1,1\n0.4,1,0\n", {"\"uncertainty\"", "doubt", "--uncertainty"}, true);
  expect_table_refused("score,uncertainty,y\n0.5,1,1\n0.4,1,0\n", {"\"label\"", "--label"}, false);
  expect_refused({"fit", "good.csv", "--weight", "w", "--precision", "0.5", "-o", "new.json"},
                 {"good.csv", "\"w\"", "--weight"});
  expect_refused({"apply", "good.json", "good.csv", "--score", "p", "-o", "new.csv"}, {"good.csv", "\"p\"", "--score"});
}

TEST_F(BadInput, DoubledColumn) {
  expect_table_refused("score,score,uncertainty,label\n0.5,0.5,1,1\n0.4,0.4,1,0\n", {"2 columns", "\"score\""}, true);
}

TEST_F(BadInput, EmptyFile) {
  expect_table_refused("", {"empty"}, true);
  expect_table_refused("\n", {"empty"}, true);
}

TEST_F(BadInput, HeaderOnly) { expect_table_refused("score,uncertainty,label\n", {"no rows"}, false); }

TEST_F(BadInput, TextInANumberColumn) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\nhigh,1,0\n", {"line 3", "\"score\"", "\"high\""}, true);
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n0.4,1.2.3,0\n", {"line 3", "\"uncertainty\"", "1.2.3"}, true);
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,heavy\n0.4,1,0,1\n", {"line 2", "\"weight\"", "heavy"},
                       false);
}

TEST_F(BadInput, MissingValue) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n,1,0\n", {"line 3", "\"score\"", "--drop-missing"}, true);
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n0.4,1,\n", {"line 3", "\"label\"", "--drop-missing"}, false);
}

TEST_F(BadInput, NaN) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\nnan,1,0\n", {"line 3", "\"score\"", "nan"}, true);
  expect_table_refused("score,uncertainty,label\n0.5,NaN,1\n0.4,1,0\n", {"line 2", "\"uncertainty\"", "NaN"}, true);
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,nan\n0.4,1,0,1\n", {"line 2", "\"weight\""}, false);
}

TEST_F(BadInput, Infinity) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\ninf,1,0\n", {"line 3", "\"score\"", "inf"}, true);
  expect_table_refused("score,uncertainty,label\n0.5,-Infinity,1\n0.4,1,0\n", {"line 2", "\"uncertainty\"", "-Inf"},
                       true);
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n1e999,1,0\n", {"line 3", "\"score\"", "1e999"}, true);
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,inf\n0.4,1,0,1\n", {"line 2", "\"weight\""}, false);
}

TEST_F(BadInput, LabelThatIsNeitherClass) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n0.4,1,2\n", {"line 3", "\"label\"", "\"2\""}, false);
  expect_table_refused("score,uncertainty,label\n0.5,1,maybe\n0.4,1,no\n",
                       {"line 2", "\"label\"", "maybe", "--positive"}, false);
}

TEST_F(BadInput, OneClassOnly) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n0.4,2,1\n", {"class"}, false, false);
  expect_table_refused("score,uncertainty,label\n0.5,1,0\n0.4,2,0\n", {"class"}, false, false);
}

// The rows of a class whose weights are all 0 count for nothing: there is one class.
TEST_F(BadInput, OneClassOnlyByWeight) {
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,0\n0.4,2,0,1\n", {"class"}, false, false);
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,0\n0.4,2,0,0\n", {}, false, false);
}

TEST_F(BadInput, NegativeWeight) {
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,1\n0.4,1,0,-0.5\n", {"line 3", "\"weight\"", "-0.5"},
                       false);
}

// Their sum is beyond double: figures came out as inf and nan, and the boundary file could not be read back.
TEST_F(BadInput, WeightsTooLargeToAdd) {
  expect_table_refused("score,uncertainty,label,weight\n0.5,1,1,1.7e308\n0.4,1,0,1.7e308\n0.3,1,1,1.7e308\n",
                       {"weight"}, false);
}

TEST_F(BadInput, UnequalRowLengths) {
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n0.4,1\n", {"line 3", "2 fields", "3"}, true);
  expect_table_refused("score,uncertainty,label\n0.5,1,1,7\n0.4,1,0\n", {"line 2", "4 fields", "3"}, true);
}

TEST_F(BadInput, NotATextTable) {
  using namespace std::string_literals;
  expect_table_refused("PAR1\x15\x04"s, {"Parquet"}, true);
  expect_table_refused("\x1f\x8b\x08garbage"s, {"gzip"}, true);
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n0.4,\0001,0\n"s, {"line 3", "NUL"}, true);
  expect_table_refused("score,uncertainty,label\n0.5,1,1\n\"0.4,1,0\n"s, {"line 3", "quote"}, true);
  expect_table_refused("score;uncertainty;label\n0.5;1;1\n0.4;1;0\n"s, {"score;uncertainty", "--separator ';'"}, true);
  expect_table_refused("score\tuncertainty\tlabel\n0.5\t1\t1\n0.4\t1\t0\n"s, {"score\\tuncertainty", "--separator tab"},
                       true);
}

TEST_F(BadInput, ObjectivesNoneOrTwo) {
  expect_fit_refused({}, {"--precision", "--fbeta"});
  expect_fit_refused({"--precision", "0.5", "--recall", "0.5"}, {"--precision", "--recall"});
  expect_fit_refused({"--fpr", "0.5", "--fbeta", "1"}, {"--fpr", "--fbeta"});
  expect_fit_refused({"--cost-fp", "1"}, {"--cost-fp", "--cost-fn"});
  expect_fit_refused({"--cost-fn", "1"}, {"--cost-fp", "--cost-fn"});
}

TEST_F(BadInput, ObjectiveOutOfRange) {
  for (const char* flag : {"--precision", "--recall", "--fpr", "--flag-rate"}) {
    for (const char* value : {"1.5", "-1", "1.0000001", "90%", "0,9", "abc", "nan", "inf", "1e99", ""}) {
      expect_fit_refused({std::string(flag) + "=" + value}, {flag, value});
    }
  }
  for (const char* value : {"0", "-1", "x", "1e20"}) expect_fit_refused({"--fbeta", value}, {"beta", value});
  expect_fit_refused({"--cost-fp", "-1", "--cost-fn", "1"}, {"--cost-fp", "-1"});
  expect_fit_refused({"--cost-fp", "1", "--cost-fn", "x"}, {"--cost-fn", "x"});
  expect_fit_refused({"--cost-fp", "0", "--cost-fn", "0"}, {"cost", "0"});
  expect_refused({"compare", "--holdout", "good.csv", "--test", "good.csv", "--precision", "0.7,1.5"},
                 {"--precision", "1.5"});
  expect_refused({"frontier", "good.csv", "--exact", "0.7,x", "-o", "old.csv"}, {"--exact", "x"});
}

TEST_F(BadInput, LevelsBinsAndThreadsOutOfRange) {
  for (const char* value : {"0", "-1", "1001", "2.5", "many"}) {
    expect_fit_refused({"--precision", "0.5", "--levels", value}, {"--levels", value});
    expect_refused({"frontier", "good.csv", "--levels", value}, {"--levels", value});
    expect_refused({"compare", "--holdout", "good.csv", "--test", "good.csv", "--precision", "0.5", "--levels", value},
                   {"--levels", value});
  }
  for (const char* value : {"0", "-1", "2.5", "few", "99999999999999999999"}) {
    expect_fit_refused({"--precision", "0.5", "--bins", value}, {"--bins", value});
  }
  expect_fit_refused({"--precision", "0.5", "--threads", "-1"}, {"--threads", "-1"});
  expect_fit_refused({"--precision", "0.5", "--binning", "equal"}, {"--binning", "equal", "equi-weight", "equi-span"});
  expect_fit_refused({"--precision", "0.5", "--method", "magic"}, {"--method", "magic", "mist", "exact"});
  expect_fit_refused({"--precision", "0.5", "--format", "xls"}, {"--format", "xls", "csv", "tsv"});
  expect_refused({"compare", "--holdout", "good.csv", "--test", "good.csv", "--precision", "0.5", "--methods", "st,x"},
                 {"--methods", "\"x\"", "exact"});
  expect_refused({"evaluate", "good.json", "good.csv", "--interval", "1"}, {"--interval"});
}

TEST_F(BadInput, SimulationOutOfRange) {
  expect_refused({"simulate", "-o", "new", "--prior", "0,1"}, {"--prior", "0"});
  expect_refused({"simulate", "-o", "new", "--prior", "1"}, {"--prior"});
  expect_refused({"simulate", "-o", "new", "--prior", "a,b"}, {"--prior"});
  expect_refused({"simulate", "-o", "new", "--model-prior", "1,-1"}, {"--model-prior", "-1"});
  expect_refused({"simulate", "-o", "new", "--tau", "0"}, {"tau", "0"});
  expect_refused({"simulate", "-o", "new", "--tau", "nan"}, {"tau", "nan"});
  expect_refused({"simulate", "-o", "new", "--regions", "0"}, {"regions", "0"});
  expect_refused({"simulate", "-o", "new", "--holdout-rows", "-1"}, {"--holdout-rows", "-1"});
  expect_refused({"simulate", "-o", "new", "--test-rows", "-1"}, {"--test-rows", "-1"});
  expect_refused({"simulate", "-o", "new", "--seed", "1.5"}, {"--seed"});
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  std::filesystem::create_directory("folder");
  for (const std::string target : {"no/such/out.csv", "folder", "good.csv/out.csv"}) {
    expect_not_written({"fit", "good.csv", "--precision", "0.5", "-o", target}, {target});
    expect_not_written({"apply", "good.json", "good.csv", "-o", target}, {target});
    expect_not_written({"frontier", "good.csv", "-o", target}, {target});
  }
  expect_refused({"simulate", "-o", "good.csv"}, {"good.csv"});
  expect_refused({"simulate", "-o", "good.csv/folder"}, {"good.csv/folder"});
}

TEST_F(BadInput, OutputWhoseNameSaysNoFormat) {
  for (const std::string target : {"new", "new.txt", "new.gz", "new.parquet.gz", "new.xlsx"}) {
    expect_refused({"apply", "good.json", "good.csv", "-o", target}, {target, ".parquet", ".csv", ".zst"});
    expect_refused({"frontier", "good.csv", "-o", target}, {target, ".parquet", ".csv", ".zst"});
  }
}

TEST_F(BadInput, PositiveValueThatDoesNotOccur) {
  write_file("words.csv", "score,uncertainty,label\n0.5,1,high\n0.4,1,low\n");
  expect_refused({"fit", "words.csv", "--precision", "0.5", "--positive", "hgih"},
                 {"words.csv", "\"hgih\"", "did you mean \"high\"?"});
  expect_refused({"fit", "words.csv", "--precision", "0.5", "--positive", "high", "--positive-if", ">1"},
                 {"--positive"});
  EXPECT_EQ(run({"fit", "words.csv", "--precision", "0.5", "--positive", "high"}).exit_code, 0);
  write_file("numbers.csv", "score,uncertainty,label\n0.5,1,40\n0.4,1,12\n");
  EXPECT_EQ(run({"fit", "numbers.csv", "--precision", "0.5", "--positive-if", ">30"}).exit_code, 0);
}

// Control characters of a file must not reach the terminal.
TEST_F(BadInput, TextOfFilesIsShownEscaped) {
  write_file("bad\x1b[31m.csv", "sc\x1b[31more,uncertainty,label\n0.5,1,1\n");
  const RunResult result = run({"fit", "bad\x1b[31m.csv", "--precision", "0.5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("bad\\x1b[31m.csv"), std::string::npos) << result.err;
}

// The hold-out had already been replaced when the test table turned out not to be writable.
TEST_F(BadInput, SimulationThatCannotWriteItsSecondFile) {
  std::filesystem::create_directories("demo/test.csv");
  write_file("demo/holdout.csv", "an older hold-out");
  expect_refused({"simulate", "-o", "demo", "--holdout-rows", "10", "--test-rows", "10"}, {"demo/test.csv"});
}

class BadBoundary : public BadInput {
 protected:
  void expect_boundary_refused(const std::string& text, Words named) const {
    SCOPED_TRACE(text.substr(0, 80));
    write_file("bad.json", text);
    named.emplace_back("bad.json");
    expect_refused({"apply", "bad.json", "good.csv", "-o", "new.csv"}, named);
    expect_refused({"apply", "bad.json", "good.csv", "-o", "old.csv"}, named);
    expect_refused({"evaluate", "good.json", "bad.json", "good.csv"}, named);
  }

  /// The good boundary after one change.
  template <typename Change>
  static std::string changed(Change change) {
    Json boundary = Json::parse(file_text("good.json"));
    change(boundary);
    return boundary.dump();
  }
};

TEST_F(BadBoundary, NotOneOrDamaged) {
  const std::string good = file_text("good.json");
  expect_boundary_refused("", {"empty"});
  expect_boundary_refused("score,uncertainty\n", {"JSON"});
  expect_boundary_refused("[]", {"limen-boundary"});
  expect_boundary_refused("{\"format\": \"other\"}", {"limen-boundary"});
  expect_boundary_refused(good + "{", {"damaged"});
  expect_boundary_refused(std::string(200'000, '['), {"damaged"});
}

TEST_F(BadBoundary, TruncatedAnywhere) {
  const std::string good = file_text("good.json");
  const std::size_t end = good.find_last_of('}');
  for (std::size_t length = 1; length < end; length += 37) {
    SCOPED_TRACE(length);
    write_file("bad.json", good.substr(0, length));
    expect_refused({"apply", "bad.json", "good.csv", "-o", "new.csv"}, {"bad.json", "damaged"});
  }
}

TEST_F(BadBoundary, NewerVersion) {
  expect_boundary_refused(changed([](Json& boundary) { boundary["version"] = 2; }), {"version 2", "segment"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["version"] = 3; }), {"version 3", "update"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["version"] = 99; }), {"version 99", "update"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["version"] = 0; }), {"version 0"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["version"] = "1"; }), {"version"});
}

TEST_F(BadBoundary, RuleThatDoesNotHold) {
  const auto with_rule = [&](const Json& edges, const Json& thresholds) {
    return changed([&](Json& boundary) {
      boundary["rule"]["uncertainty_edges"] = edges;
      boundary["rule"]["score_thresholds"] = thresholds;
    });
  };
  expect_boundary_refused(with_rule({0.5, 0.4}, {1, 2, 3}), {"uncertainty_edges[1]"});
  expect_boundary_refused(with_rule({0.5, 0.5}, {1, 2, 3}), {"uncertainty_edges[1]"});
  expect_boundary_refused(with_rule({0.5}, {1, 2, 3}), {"2 score thresholds", "3"});
  expect_boundary_refused(with_rule({"a"}, {1, 2}), {"uncertainty_edges"});
  expect_boundary_refused(with_rule({0.5}, {1, "b"}), {"score_thresholds"});
  expect_boundary_refused(replaced(with_rule({0.5}, {1, 12345}), "12345", "1e999"), {});
}

TEST_F(BadBoundary, MissingOrImpossibleMember) {
  for (const char* name : {"version", "rule", "objective", "method", "binning", "holdout", "columns"}) {
    expect_boundary_refused(changed([&](Json& boundary) { boundary.erase(name); }), {name});
  }
  expect_boundary_refused(changed([](Json& boundary) { boundary["method"] = "magic"; }), {"magic"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["objective"]["bound"] = 1.5; }), {"1.5"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["objective"]["bound"] = -1; }), {"bound"});
  expect_boundary_refused(changed([](Json& boundary) { boundary["holdout"]["rows"] = "ten"; }), {"holdout.rows"});
}

// Columns named by a hostile file must not reach the terminal as control characters.
TEST_F(BadBoundary, ColumnNamesAreShownEscaped) {
  write_file("bad.json", changed([](Json& boundary) { boundary["columns"]["score"] = "a\n\x1b[31mb"; }));
  expect_refused({"apply", "bad.json", "good.csv", "-o", "new.csv"}, {"good.csv", "a\\n\\x1b[31mb"});
}

}  // namespace
}  // namespace limen::cli::test
