// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <thread>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Flags scores from 0.5 on, from 0.8 on where uncertainty is at least 0.5. Promises precision 0.9; 20% were flagged.
constexpr std::string_view kBoundary = R"({"format": "limen-boundary", "version": 1,
 "rule": {"uncertainty_edges": [0.5], "score_thresholds": [0.5, 0.8]},
 "objective": {"maximize": "recall", "constraint": "precision", "bound": 0.9}, "method": "exact",
 "binning": {"kind": "equi-weight", "levels": 2, "bins": "all"},
 "holdout": {"rows": 10000, "positives": 2500, "flagged": 2000, "true_positives": 1800, "precision": 0.9,
  "recall": 0.72, "true_positives_bound": 1800, "objective_value": 1800, "objective_bound": 1800, "optimal": true},
 "guarantee": null, "columns": {"score": "score", "uncertainty": "uncertainty"}, "limen": "0.1.0"})";

constexpr std::string_view kHeader = "score,uncertainty,label,id,day\n";

class MonitorVerb : public CliTest {
 protected:
  MonitorVerb() { write_file("b.json", kBoundary); }

  /// Rows of a day: one in five flagged, of these `precision` positive. labelled: the share that has a label.
  static std::string day(int number, int rows, double precision, double labelled = 1) {
    std::mt19937_64 random(static_cast<unsigned>(number));
    std::uniform_real_distribution<double> uniform;
    std::string text(kHeader);
    for (int row = 0; row < rows; ++row) {
      const bool flagged = uniform(random) < 0.2;
      const bool label = uniform(random) < (flagged ? precision : 0.03);
      const bool known = uniform(random) < labelled;
      text += std::string(flagged ? "0.9" : "0.1") + (uniform(random) < 0.5 ? ",0.3," : ",0.6,") +
              (known ? (label ? "1" : "0") : "") + "," + std::to_string(number) + "-" + std::to_string(row) + ",2026-" +
              std::to_string(number) + "\n";
    }
    return text;
  }

  [[nodiscard]] static Words command_of(const Words& tables, const Words& more = {}) {
    Words words = {"monitor", "b.json"};
    words.insert(words.end(), tables.begin(), tables.end());
    words.insert(words.end(), {"--id", "id", "--time", "day", "--state", "s.json"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

// Two flagged rows with labels, one of them wrong; a third has no label yet.
TEST_F(MonitorVerb, CountsByHand) {
  write_file("x.csv", "score,uncertainty,label\n0.9,0.1,1\n0.6,0.1,0\n0.6,0.7,1\n0.5,0.2,\n0.1,0.2,NA\n");
  const Json json = json_of({"monitor", "b.json", "x.csv", "--json"});
  EXPECT_EQ(json["verdict"], "not enough yet");
  EXPECT_EQ(json["rows"], 5);
  EXPECT_EQ(json["flagged"], 3);
  EXPECT_EQ(json["labelled"], 3);
  EXPECT_EQ(json["tested"], 2);
  EXPECT_EQ(json["figure"], 0.5);
  EXPECT_GT(json["more_needed"], 100);
  EXPECT_EQ(json["broken"], nullptr);
  EXPECT_THAT(output_of({"monitor", "b.json", "x.csv"}),
              ::testing::AllOf(HasSubstr("precision >= 0.9: not enough yet"), HasSubstr("in 2 labelled flagged rows"),
                               HasSubstr("first 10,000 rows are taken as reference, 5 so far")));
  EXPECT_THAT(file_names(), ::testing::UnorderedElementsAre("b.json", "x.csv"));
}

TEST_F(MonitorVerb, HoldsThenBreaksThenStaysBrokenUntilReset) {
  for (int number = 1; number <= 20; ++number) write_file(std::to_string(number), day(number, 2000, 0.93));
  for (int number = 21; number <= 30; ++number) write_file(std::to_string(number), day(number, 2000, 0.8));
  Words good, bad;
  for (int number = 1; number <= 20; ++number) good.push_back(std::to_string(number));
  for (int number = 21; number <= 30; ++number) bad.push_back(std::to_string(number));
  EXPECT_THAT(output_of(command_of(good)),
              ::testing::AllOf(HasSubstr("precision >= 0.9: holds so far, to within 0.05"),
                               HasSubstr("no sign of drift"), HasSubstr("written to s.json")));
  const RunResult broken = run(command_of(bad));
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.out, ::testing::AllOf(HasSubstr("precision >= 0.9: broken"), HasSubstr("since        2026-2"),
                                           HasSubstr("precision about 0.8")));
  const RunResult again = run({"monitor", "b.json", "--state", "s.json", "--json"});
  EXPECT_EQ(again.exit_code, 3);
  const Json json = Json::parse(again.out);
  EXPECT_NEAR(json["broken"]["since"]["row"].get<double>(), 40'000, 2'500);
  EXPECT_LE(json["p_value"], 0.05);
  EXPECT_NEAR(json["broken"]["figure_before"].get<double>(), 0.93, 0.02);
  write_file("later", day(99, 20'000, 0.99));
  EXPECT_EQ(run(command_of({"later"})).exit_code, 3);
  EXPECT_EQ(run(command_of({"later"}, {"--reset"})).exit_code, 0);
}

TEST_F(MonitorVerb, LateLabelsCountOnce) {
  const std::string whole = day(1, 3000, 0.9);
  write_file("whole.csv", whole);
  write_file("none.csv", day(1, 3000, 0.9, 0));
  write_file("half.csv", day(1, 3000, 0.9, 0.5));
  const Json at_once = json_of({"monitor", "b.json", "whole.csv", "--id", "id", "--json"});
  const Json none = json_of(command_of({"none.csv"}, {"--json"}));
  EXPECT_EQ(none["rows"], 3000);
  EXPECT_EQ(none["labelled"], 0);
  const Json half = json_of(command_of({"half.csv"}, {"--json"}));
  EXPECT_NEAR(half["labelled"].get<double>(), 1500, 150);
  const Json late = json_of(command_of({"whole.csv"}, {"--json"}));
  for (const char* key : {"rows", "flagged", "labelled", "tested", "figure"}) EXPECT_EQ(late[key], at_once[key]) << key;
}

TEST_F(MonitorVerb, TheSameTableTwiceIsCountedOnceWhateverItsNameAndFormat) {
  write_file("a.csv", day(1, 1000, 0.9));
  std::filesystem::create_directory("moved");
  write_file("moved/a.tsv", replaced(day(1, 1000, 0.9), ",", "\t"));
  (void)output_of({"monitor", "b.json", "a.csv", "--state", "s.json"});
  const std::string state = file_text("s.json");
  for (const char* name : {"a.csv", "moved/a.tsv"}) {
    const RunResult result = run({"monitor", "b.json", name, "--state", "s.json"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, std::string(name) + ": the same rows as in a table counted before, not counted again\n");
    EXPECT_EQ(file_text("s.json"), state);
  }
  EXPECT_EQ(json_of({"monitor", "b.json", "a.csv", "a.csv", "--json"})["rows"], 1000);
}

TEST_F(MonitorVerb, AYearOfEmptyDaysIsNotEnough) {
  write_file("empty.csv", kHeader);
  (void)output_of({"monitor", "b.json", "empty.csv", "--state", "s.json"});
  const std::string state = file_text("s.json");
  const Words year(365, "empty.csv");
  const Json json = json_of(command_of(year, {"--json"}));
  EXPECT_EQ(json["verdict"], "not enough yet");
  EXPECT_EQ(json["rows"], 0);
  EXPECT_EQ(file_text("s.json"), state);
}

TEST_F(MonitorVerb, LabelsMayBeAbsentUnlessAskedFor) {
  write_file("x.csv", "score,uncertainty\n0.9,0.1\n0.1,0.1\n");
  const Json json = json_of({"monitor", "b.json", "x.csv", "--json"});
  EXPECT_EQ(json["rows"], 2);
  EXPECT_EQ(json["labelled"], 0);
  expect_refused({"monitor", "b.json", "x.csv", "--label", "fraud"}, {"x.csv", "fraud"});
  EXPECT_EQ(json_of({"monitor", "b.json", "-", "--json"}, "score,uncertainty\n0.9,0.1\n")["rows"], 1);
  EXPECT_EQ(json_of({"monitor", "b.json", "-", "--json"}, "label,other,score,uncertainty\nyes,x,0.9,0.1\n")["tested"],
            1);
  expect_refused({"monitor", "b.json", "-", "--label", "fraud"}, {"<stdin>", "fraud"}, "score,uncertainty\n0.9,0.1\n");
}

// The kind of a column is told from its first megabyte, which may hold no label at all.
TEST_F(MonitorVerb, WordsAsLabelsMayComeLate) {
  std::string text = "score,uncertainty,label\n";
  for (int row = 0; row < 200'000; ++row) text += "0.9,0.1,\n";
  write_file("x.csv", text + "0.9,0.1,yes\n0.9,0.1,no\n");
  EXPECT_EQ(json_of({"monitor", "b.json", "x.csv", "--json"})["figure"], 0.5);
}

TEST_F(MonitorVerb, WatchesDriftAgainstAReference) {
  write_file("h.csv", day(1, 20'000, 0.9));
  write_file("x.csv", day(2, 20'000, 0.9));
  write_file("moved.csv", replaced(replaced(day(3, 10'000, 0.9), ",0.3,", ",0.6,"), "0.1,", "0.9,"));
  const Json json = json_of({"monitor", "b.json", "x.csv", "--reference", "h.csv", "--json", "--state", "s.json"});
  EXPECT_EQ(json["levels"]["reference_rows"], 20'000);
  EXPECT_EQ(json["levels"]["drift"], nullptr);
  EXPECT_EQ(json["flag_rate"]["drift"], nullptr);
  const RunResult moved = run({"monitor", "b.json", "moved.csv", "--state", "s.json"});
  EXPECT_THAT(moved.out, ::testing::AllOf(HasSubstr("flag rate    drifted since row 19,969: flagged 99."),
                                          HasSubstr("levels       drifted since row 19,969: level 1 99.")));
  expect_refused({"monitor", "b.json", "x.csv", "--reference", "h.csv", "--state", "s.json"}, {"--reference"});
}

TEST_F(MonitorVerb, RefusesWhatPromisesNothing) {
  write_file("x.csv", kHandTable);
  (void)output_of({"fit", "x.csv", "--cost-fp", "1", "--cost-fn", "2", "-o", "cost.json"});
  (void)output_of({"fit", "x.csv", "--fbeta", "1", "-o", "f.json"});
  expect_refused({"monitor", "cost.json", "x.csv"}, {"cost.json", "promises nothing"});
  expect_refused({"monitor", "f.json", "x.csv"}, {"f.json", "promises nothing"});
  for (const Words& fit : {Words{"--recall", "0.6"}, Words{"--fpr", "0.4"}, Words{"--flag-rate", "0.5"}}) {
    Words words = {"fit", "x.csv", "-o", "c.json"};
    words.insert(words.end(), fit.begin(), fit.end());
    (void)output_of(words);
    EXPECT_THAT(output_of({"monitor", "c.json", "x.csv"}), HasSubstr(": not enough yet"));
  }
}

TEST_F(MonitorVerb, RefusesBadInputAndLeavesTheState) {
  write_file("x.csv", day(1, 100, 0.9));
  (void)output_of(command_of({"x.csv"}));
  const auto refuse_table = [&](const std::string& text, const Words& named, const Words& more = {}) {
    write_file("y.csv", text);
    expect_refused(command_of({"y.csv"}, more), named);
  };
  refuse_table("score,uncertainty,label,id,day\n0.9,,1,a,1\n",
               {"y.csv: row 1", "uncertainty", "is missing", "--drop-missing"});
  refuse_table("score,uncertainty,label,id,day\n0.9,0.1,1,,1\n", {"row 1", "id", "is missing"});
  refuse_table("score,uncertainty,label,id,day\n0.9,inf,1,a,1\n", {"uncertainty"});
  refuse_table("score,uncertainty,label,id,day\n0.9,0.1,maybe,a,1\n", {"row 1", "maybe"});
  refuse_table("score,uncertainty,label,day\n0.9,0.1,1,1\n", {"id"});
  refuse_table("score,uncertainty,label,id\n0.9,0.1,1,1\n", {"day"});
  refuse_table("score,uncertainty,label,id,day,weight\n0.9,0.1,1,a,1,2\n", {"--max-weight", "--ignore-weight"});
  refuse_table("score,uncertainty,label,id,day\n0.9,0.1,no,a,1\n", {"yes"}, {"--positive", "yes", "--reset"});
  refuse_table("", {"y.csv"});
  expect_refused(command_of({"nowhere.csv"}), {"nowhere.csv"});
  expect_refused(command_of({"x.csv"}, {"--alpha", "0.1"}), {"s.json", "--alpha"});
  expect_refused(command_of({"x.csv"}, {"--max-weight", "3"}), {"s.json", "--max-weight"});
  expect_refused({"monitor", "b.json", "x.csv", "--alpha", "95"}, {"alpha"});
  expect_refused({"monitor", "b.json", "x.csv", "--alpha", "0"}, {"alpha"});
  expect_refused({"monitor", "b.json", "x.csv", "--tolerance", "1"}, {"tolerance"});
  expect_refused({"monitor", "b.json", "x.csv", "--remember", "0"}, {"remember"});
  expect_refused({"monitor", "b.json"}, {"give tables"});
  expect_refused({"monitor", "b.json", "--state", "nowhere.json"}, {"give tables"});
  expect_refused({"monitor", "b.json", "x.csv", "--state", "-"}, {"--state"});
  expect_refused({"monitor", "b.json", "x.csv", "--state", "x.csv", "--reset"}, {"x.csv", "is the input"});
  write_file("other.json", replaced(kBoundary, "[0.5, 0.8]", "[0.5, 0.7]"));
  expect_refused({"monitor", "other.json", "x.csv", "--state", "s.json"}, {"s.json", "another boundary"});
  write_file("damaged.json", replaced(file_text("s.json"), "\"rows\":100", "\"rows\":101"));
  expect_refused({"monitor", "b.json", "x.csv", "--state", "damaged.json"}, {"damaged.json", "is damaged"});
  expect_refused({"monitor", "b.json", "x.csv", "--state", "b.json"}, {"b.json"});
  std::filesystem::create_directory("folder");
  expect_refused({"monitor", "b.json", "folder"}, {"folder: is not a file"});
  write_file("z.csv", day(2, 10, 0.9));
  expect_refused({"monitor", "b.json", "?.csv"}, {"stands for"});
  expect_not_written({"monitor", "b.json", "x.csv", "--state", "no/folder/s.json"}, {"no/folder/s.json"});
}

TEST_F(MonitorVerb, DropsBadRowsWhenAsked) {
  write_file("x.csv", "score,uncertainty,label\n0.9,0.1,1\n,0.1,1\n0.9,0.1,maybe\n0.9,0.1,\n");
  const RunResult result = run({"monitor", "b.json", "x.csv", "--drop-missing", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("left out 2 rows"));
  EXPECT_EQ(Json::parse(result.out)["rows"], 2);
  EXPECT_EQ(Json::parse(result.out)["tested"], 1);
}

TEST_F(MonitorVerb, RowsWithWeights) {
  write_file("x.csv", "score,uncertainty,label,weight\n0.9,0.1,1,3\n0.9,0.1,0,1\n");
  EXPECT_EQ(json_of({"monitor", "b.json", "x.csv", "--max-weight", "4", "--json"})["figure"], 0.75);
  EXPECT_EQ(json_of({"monitor", "b.json", "x.csv", "--ignore-weight", "--json"})["figure"], 0.5);
  expect_refused({"monitor", "b.json", "x.csv", "--max-weight", "2"}, {"x.csv", "row 1", "is 3"});
  write_file("plain.csv", "score,uncertainty,label\n0.9,0.1,1\n");
  expect_refused({"monitor", "b.json", "plain.csv", "--max-weight", "2"}, {"plain.csv", "weight"});
}

TEST_F(MonitorVerb, SaysWhenLabelsComeForFlaggedRowsOnly) {
  write_file("recall.json", replaced(kBoundary, R"("maximize": "recall", "constraint": "precision", "bound": 0.9)",
                                     R"("maximize": "precision", "constraint": "recall", "bound": 0.5)"));
  std::string text = "score,uncertainty,label\n";
  for (int row = 0; row < 2000; ++row) text += row % 5 == 0 ? "0.9,0.1,1\n" : "0.1,0.1,\n";
  write_file("x.csv", text);
  EXPECT_THAT(output_of({"monitor", "recall.json", "x.csv"}),
              HasSubstr("labels come for 100.00% of flagged rows and 0.00% of the others"));
  EXPECT_THAT(output_of({"monitor", "b.json", "x.csv"}), Not(HasSubstr("note")));
}

// Two runs at once would each write what the other one has not counted.
TEST_F(MonitorVerb, NoticesAnotherRunOnTheSameState) {
  write_file("x.csv", day(1, 100, 0.9));
  write_file("y.csv", day(2, 100, 0.9));
  (void)output_of(command_of({"x.csv"}));
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const RunningProgram slow =
      start_limen(command_of({"-"}), "", streams() / "slow-out", streams() / "slow-err", ends[0]);
  ::close(ends[0]);
  // The pipe holds 64 KB: what is written is read, so the state has been read too, once twice as much has gone in.
  const std::string table = day(3, 8000, 0.9);
  ASSERT_GT(table.size(), std::size_t{2} << 16);
  ASSERT_EQ(::write(ends[1], table.data(), table.size()), static_cast<ssize_t>(table.size()));
  (void)output_of(command_of({"y.csv"}));
  const std::string state = file_text("s.json");
  ::close(ends[1]);
  EXPECT_EQ(slow.wait(), 2);
  EXPECT_THAT(file_text(streams() / "slow-err"), HasSubstr("s.json: changed while the tables were read"));
  EXPECT_EQ(file_text("s.json"), state);
}

// Fifty runs, each killed at a random moment and then run again: the state is, byte for byte, that of runs that nobody
// disturbed. Some are killed before they have written the state and some after, or the test would show nothing.
TEST_F(MonitorVerb, RunsThatAreKilledLoseNothingAndCountNothingTwice) {
  constexpr int kDays = 50;
  Words days;
  for (int number = 0; number < kDays; ++number) {
    days.push_back("day" + std::to_string(number));
    write_file(days.back(), day(number, 1500, number < 30 ? 0.92 : 0.82, 0.6));
  }
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& name : days)
    (void)run({"monitor", "b.json", name, "--id", "id", "--time", "day", "--state", "calm.json"});
  const std::chrono::duration<double> each = (std::chrono::steady_clock::now() - start) / kDays;
  std::mt19937_64 random(4);
  int killed = 0;
  int before_writing = 0;
  for (const std::string& name : days) {
    const std::string state = killed > 0 || std::filesystem::exists("s.json") ? file_text("s.json") : "";
    const RunningProgram program = start_limen(command_of({name}), "/dev/null", streams() / "out", streams() / "err");
    std::this_thread::sleep_for(each * std::uniform_real_distribution<double>(0, 1.3)(random));
    ::kill(program.id(), SIGKILL);
    killed += program.wait() == -SIGKILL ? 1 : 0;
    if (!std::filesystem::exists("s.json")) {
      ++before_writing;
    } else {
      before_writing += file_text("s.json") == state ? 1 : 0;
    }
    (void)run(command_of({name}));
  }
  EXPECT_EQ(file_text("s.json"), file_text("calm.json"));
  EXPECT_EQ(run({"monitor", "b.json", "--state", "s.json"}).exit_code, 3);
  EXPECT_GT(killed, 5);
  EXPECT_GT(before_writing, 2);
  // A run that is killed between giving the new state a name and renaming it, a few microseconds, leaves a file.
  EXPECT_LE(std::ranges::count_if(file_names(),
                                  [](const std::string& name) { return name.find(".tmp") != std::string::npos; }),
            2);
}

}  // namespace
}  // namespace limen::cli::test
