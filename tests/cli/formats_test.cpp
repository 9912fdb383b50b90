// SPDX-License-Identifier: MIT
// Every verb on every format, several files, files that do not fit into memory, and counts made elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::HasSubstr;

class Formats : public CliTest {
 protected:
  Formats() { write_file("x.csv", kHandTable); }

  /// The hand table in another format, made with `apply`; false when the program was built without Arrow.
  [[nodiscard]] bool convert(const std::string& name) const {
    EXPECT_EQ(run({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "-o", "b.json"}).exit_code, 0);
    const RunResult result = run({"apply", "b.json", "x.csv", "-o", name});
    if (result.exit_code == 2 && result.err.find("without Apache Arrow") != std::string::npos) return false;
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return true;
  }
};

TEST_F(Formats, EveryVerbReadsParquetAndArrowAsItReadsCsv) {
  for (const std::string name : {"x.parquet", "x.arrow"}) {
    SCOPED_TRACE(name);
    if (!convert(name)) GTEST_SKIP() << "built without Apache Arrow";
    EXPECT_EQ(output_of({"fit", name, "--precision", "0.75", "--levels", "2", "-o", "-"}), file_text("b.json"));
    EXPECT_EQ(json_of({"evaluate", "b.json", name, "--json"}), json_of({"evaluate", "b.json", "x.csv", "--json"}));
    EXPECT_EQ(json_of({"frontier", name, "--json"}), json_of({"frontier", "x.csv", "--json"}));
    const Words compare = {"compare", "--precision", "0.5", "--json", "--holdout", "x.csv", "--test"};
    Words converted = compare;
    converted.push_back(name);
    Words plain = compare;
    plain.push_back("x.csv");
    EXPECT_EQ(json_of(converted), json_of(plain));
  }
}

TEST_F(Formats, DecisionsInParquetAreThoseInCsv) {
  if (!convert("y.parquet")) GTEST_SKIP() << "built without Apache Arrow";
  ASSERT_EQ(run({"apply", "b.json", "x.csv", "-o", "y.csv"}).exit_code, 0);
  // Decisions are the label of the evaluation: each file agrees with the other's rule on every row.
  const Json csv = json_of({"evaluate", "b.json", "y.csv", "--label", "decision", "--json"});
  EXPECT_EQ(csv[0]["precision"], 1.0);
  EXPECT_EQ(csv[0]["recall"], 1.0);
  EXPECT_EQ(json_of({"evaluate", "b.json", "y.parquet", "--label", "decision", "--json"}), csv);
}

TEST_F(Formats, SeveralFilesAreOneTable) {
  const std::string text(kHandTable);
  const std::size_t middle = text.find("0.95,");
  const std::string header = text.substr(0, text.find('\n') + 1);
  write_file("part1.csv", text.substr(0, middle));
  write_file("part2.csv", header + text.substr(middle));
  const std::string whole = output_of({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "-o", "-"});
  EXPECT_EQ(output_of({"fit", "part1.csv", "part2.csv", "--precision", "0.75", "--levels", "2", "-o", "-"}), whole);
  EXPECT_EQ(output_of({"fit", "part*.csv", "--precision", "0.75", "--levels", "2", "-o", "-"}), whole);
}

TEST_F(Formats, AFileThatDoesNotFitIntoMemoryGivesTheSameBoundary) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "30000", "--test-rows", "10"}).exit_code, 0);
  for (const std::string method : {"exact", "st"}) {
    const Words fit = {"fit", "holdout.csv", "--precision", "0.7", "--levels", "5", "--method", method, "-o", "-"};
    Words limited = fit;
    limited.insert(limited.end(), {"--max-memory", "100KB"});
    const RunResult result = run(limited);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("in batches"));
    EXPECT_EQ(result.out, output_of(fit));
  }
  expect_refused({"fit", "holdout.csv", "--precision", "0.7", "--max-memory", "lots"}, {"--max-memory", "lots"});
}

TEST_F(Formats, WhatNeedsAllRowsIsRefusedWhenTheyDoNotFit) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "30000", "--test-rows", "10"}).exit_code, 0);
  const RunResult result =
      run({"fit", "holdout.csv", "--precision", "0.7", "--method", "mist", "--max-memory", "100KB", "-o", "c.json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("rows that are not in memory need method auto, exact or st"));
}

TEST_F(Formats, TooLittleMemoryForTheChoiceNamesTheWayOut) {
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", "30000", "--test-rows", "10"}).exit_code, 0);
  const RunResult result = run({"fit", "holdout.csv", "--precision", "0.3", "--max-memory", "100KB"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("rows are near the decision, and there is memory for"),
                                HasSubstr("--max-memory"), HasSubstr("--method")));
}

TEST_F(Formats, CountsMadeElsewhereGiveTheBoundaryOfTheRows) {
  // The hand table counted by level and score. The lower edge of level 0 is not used.
  write_file("counts.csv",
             "level,score,positives,rows,uncertainty\n"
             "0,0.9,1,1,0\n0,0.8,1,1,0\n0,0.7,1,1,0\n0,0.6,0,1,0\n0,0.5,0,1,0\n"
             "1,0.95,0,1,0.5\n1,0.85,1,1,0.5\n1,0.75,0,1,0.5\n1,0.65,0,1,0.5\n1,0.55,1,1,0.5\n");
  const Json rows = json_of({"fit", "x.csv", "--precision", "0.75", "--levels", "2", "--json"});
  const Json counts = json_of({"fit", "--counts", "counts.csv", "--method", "exact", "--precision", "0.75", "--json"});
  // The same boundary; but where the rows of a bin end the table does not say, so that it is cut where the bin begins.
  EXPECT_EQ(rows["rule"], Json::parse(R"({"uncertainty_edges": [0.5], "score_thresholds": [0.65, 0.8]})"));
  EXPECT_EQ(counts["rule"], Json::parse(R"({"uncertainty_edges": [0.5], "score_thresholds": [0.7, 0.85]})"));
  EXPECT_EQ(counts["holdout"], rows["holdout"]);
  // The picture in the terminal too: the gain over a single threshold, and what each level flags.
  const auto shown = [&](const std::vector<std::string>& arguments) {
    const std::string text = run(arguments).out;
    return text.substr(text.find("  best single threshold"));
  };
  EXPECT_EQ(shown({"fit", "--counts", "counts.csv", "--method", "exact", "--precision", "0.75"}),
            replaced(replaced(shown({"fit", "x.csv", "--precision", "0.75", "--levels", "2"}), " >= 0.65", "  >= 0.7"),
                     "  >= 0.8", " >= 0.85"));
  // Where it brings nothing, on the same bins, that is what it says; and what cannot be met names the table.
  write_file("flat.csv",
             "level,score,positives,rows,uncertainty\n0,0.9,9,10,0\n0,0.5,3,10,0\n1,0.9,5,10,0.4\n1,0.6,1,10,0.4\n");
  EXPECT_THAT(run({"fit", "--counts", "flat.csv", "--method", "exact", "--precision", "0.7"}).out,
              HasSubstr(": uncertainty brings nothing here\n"));
  const RunResult infeasible = run({"fit", "--counts", "flat.csv", "--method", "exact", "--precision", "0.95"});
  EXPECT_EQ(infeasible.exit_code, 3);
  EXPECT_THAT(infeasible.err, HasSubstr("limen: flat.csv: infeasible"));
  EXPECT_THAT(infeasible.err, HasSubstr("2 levels and the bins of the table; the best attainable precision is 0.9\n"));
  // Edges may be given instead, and parts of a count add up.
  write_file("parts.csv", "level,score,positives,rows\n0,0.9,4,5\n1,0.8,3,4\n0,0.9,5,5\n1,0.8,1,1\n");
  const Json parts =
      json_of({"fit", "--counts", "parts.csv", "--method", "exact", "--edges", "0.5", "--precision", "0.8", "--json"});
  EXPECT_EQ(parts["rule"], Json::parse(R"({"uncertainty_edges": [0.5], "score_thresholds": [0.895, 0.8]})"));
  EXPECT_EQ(parts["holdout"]["flagged"], 15);
  EXPECT_EQ(parts["holdout"]["true_positives"], 13);
}

// The sum of the two bins of equal score does not fit into 64 bits.
TEST_F(Formats, CountsWhoseSumsAreTooLargeAreRefused) {
  write_file(
      "c.csv",
      "level,score,positives,rows\n0,0.9,1,9007199254740992\n0,0.9,1,9007199254740992\n0,0.5,1,9007199254740992\n");
  expect_refused({"fit", "--counts", "c.csv", "--precision", "0.5"}, {"c.csv", "2^53"});
}

TEST_F(Formats, CountsThatDoNotFitAreRefused) {
  write_file("c.csv", "level,score,positives,rows\n0,0.9,1,2\n1,0.8,1,2\n");
  expect_refused({"fit", "--counts", "c.csv", "--precision", "0.5"}, {"c.csv", "level 1", "--edges"});
  expect_refused({"fit", "--counts", "c.csv", "--edges", "1,2", "--precision", "0.5"}, {"--edges"});
  expect_refused({"fit", "--counts", "c.csv", "x.csv", "--precision", "0.5"}, {"either"});
  write_file("bad.csv", "level,score,positives,rows\n0,0.9,3,2\n");
  expect_refused({"fit", "--counts", "bad.csv", "--precision", "0.5"}, {"bad.csv", "positives"});
}

TEST_F(Formats, AMislabelledFileIsRefusedByName) {
  write_file("x.parquet", kHandTable);
  expect_refused({"fit", "x.parquet", "--precision", "0.5"}, {"x.parquet"});
}

}  // namespace
}  // namespace limen::cli::test
