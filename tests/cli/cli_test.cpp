// SPDX-License-Identifier: MIT
// The program as a whole: help, version, verbs and flags. The verbs have files of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const Words kVerbs = {"simulate", "fit", "apply", "evaluate", "compare", "frontier"};

class Program : public CliTest {};

TEST_F(Program, TellsItsVersion) {
  EXPECT_THAT(output_of({"--version"}), MatchesRegex("limen [0-9]+.[0-9]+.[0-9]+\n"));
}

TEST_F(Program, HelpListsEveryVerb) {
  const std::string help = output_of({"--help"});
  for (const std::string& verb : kVerbs) EXPECT_THAT(help, HasSubstr("\n  " + verb + " "));
  EXPECT_THAT(help, HasSubstr("Example: limen "));
}

TEST_F(Program, HelpOfEveryVerbHasAnExampleAndJson) {
  for (const std::string& verb : kVerbs) {
    SCOPED_TRACE(verb);
    const RunResult result = run({verb, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("Usage: limen " + verb));
    EXPECT_THAT(result.out, HasSubstr("Example: limen " + verb + " "));
    EXPECT_THAT(result.out, HasSubstr("--json"));
    EXPECT_EQ(run({verb, "-h"}).out, result.out);
  }
}

TEST_F(Program, EveryExampleInTheHelpRuns) {
  const std::string rows = "20000";
  ASSERT_EQ(run({"simulate", "-o", ".", "--holdout-rows", rows, "--test-rows", rows}).exit_code, 0);
  for (const char* copy : {"h.csv", "t.csv", "today.csv"}) write_file(copy, file_text("test.csv"));
  for (const std::string verb : {"fit", "apply", "export", "evaluate", "compare", "frontier"}) {
    const std::string help = output_of({verb, "--help"});
    const std::string start = "Example: limen ";
    const std::size_t from = help.find(start) + start.size();
    std::istringstream line(help.substr(from, help.find('\n', from) - from));
    Words arguments;
    for (std::string word; line >> word;) arguments.push_back(word);
    const RunResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << command(arguments) << "\n" << result.err;
  }
}

TEST_F(Program, RefusesNoVerbAndAnUnknownOne) {
  expect_refused({}, {"--help"});
  expect_refused({"fitt", "x.csv"}, {"fitt"});
  expect_refused({"--frob"}, {"--frob"});
}

TEST_F(Program, RefusesUnknownAndRepeatedFlagsAndExtraFiles) {
  write_file("x.csv", kHandTable);
  expect_refused({"fit", "x.csv", "--precision", "0.5", "--frob", "-o", "b.json"}, {"--frob"});
  expect_refused({"fit", "x.csv", "--precision", "0.5", "--precision", "0.6", "-o", "b.json"}, {"--precision"});
  expect_refused({"fit", "x.csv", "y.csv", "--precision", "0.5", "-o", "b.json"}, {"y.csv"});
  expect_refused({"fit", "x.csv", "-o", "b.json", "--precision"}, {"--precision"});
  expect_refused({"simulate", "--frob", "-o", "d"}, {"--frob"});
  expect_refused({"apply", "b.json", "x.csv", "-o", "y.csv", "--label", "y"}, {"--label"});
  expect_refused({"evaluate", "b.json", "x.csv", "--frob"}, {"--frob"});
  expect_refused({"compare", "--holdout", "x.csv", "--test", "x.csv", "--precision", "0.5", "--frob"}, {"--frob"});
  expect_refused({"frontier", "x.csv", "--frob"}, {"--frob"});
}

TEST_F(Program, RefusesAMissingArgument) {
  write_file("x.csv", kHandTable);
  expect_refused({"simulate"}, {"--output"});
  expect_refused({"fit", "--precision", "0.5"}, {"PRED"});
  expect_refused({"apply", "b.json"}, {"DATA"});
  expect_refused({"apply", "b.json", "x.csv"}, {"--output"});
  expect_refused({"evaluate", "b.json"}, {"boundary", "table"});
  expect_refused({"compare", "--holdout", "x.csv", "--precision", "0.5"}, {"--test"});
  expect_refused({"compare", "--holdout", "x.csv", "--test", "x.csv"}, {"--precision"});
  expect_refused({"frontier"}, {"PRED"});
}

TEST_F(Program, NamesAFileThatIsNotThere) {
  write_file("x.csv", kHandTable);
  ASSERT_EQ(run({"fit", "x.csv", "--precision", "0.75", "-o", "b.json"}).exit_code, 0);
  expect_refused({"fit", "none.csv", "--precision", "0.5", "-o", "c.json"}, {"none.csv", "No such file"});
  expect_refused({"apply", "none.json", "x.csv", "-o", "y.csv"}, {"none.json"});
  expect_refused({"apply", "b.json", "none.csv", "-o", "y.csv"}, {"none.csv", "No such file"});
  expect_refused({"evaluate", "none.json", "x.csv"}, {"none.json"});
  expect_refused({"evaluate", "b.json", "none.csv"}, {"none.csv", "No such file"});
  expect_refused({"compare", "--holdout", "none.csv", "--test", "x.csv", "--precision", "0.5"}, {"none.csv"});
  expect_refused({"compare", "--holdout", "x.csv", "--test", "none.csv", "--precision", "0.5"}, {"none.csv"});
  expect_refused({"frontier", "none.csv", "-o", "f.csv"}, {"none.csv", "No such file"});
  expect_refused({"fit", ".", "--precision", "0.5", "-o", "c.json"}, {".: ", "directory"});
}

// A full disk under a redirected stdout went unnoticed: the exit code was 0 and the JSON was lost.
TEST_F(Program, FailsWhenStdoutCannotBeWritten) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  write_file("x.csv", kHandTable);
  write_file("in", "");
  ASSERT_EQ(run({"fit", "x.csv", "--precision", "0.75", "-o", "b.json"}).exit_code, 0);
  const std::vector<Words> commands = {{"fit", "x.csv", "--precision", "0.75"},
                                       {"fit", "x.csv", "--precision", "0.75", "--json"},
                                       {"fit", "x.csv", "--precision", "0.75", "-o", "-"},
                                       {"apply", "b.json", "x.csv", "-o", "-"},
                                       {"evaluate", "b.json", "x.csv", "--json"},
                                       {"compare", "--holdout", "x.csv", "--test", "x.csv", "--precision", "0.5"},
                                       {"frontier", "x.csv", "--json"}};
  for (const Words& arguments : commands) {
    SCOPED_TRACE(command(arguments));
    EXPECT_EQ(start_limen(arguments, "in", "/dev/full", "err").wait(), 1);
    EXPECT_THAT(file_text("err"), HasSubstr("No space left"));
  }
}

}  // namespace
}  // namespace limen::cli::test
