// SPDX-License-Identifier: MIT
// Bad values and odd tables over all that promises something: fit --confidence, reviews, plan, monitor, evaluate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

class PromiseBadInput : public CliTest {
 protected:
  PromiseBadInput() { write_file("good.csv", rows(600, 1)); }

  [[nodiscard]] static std::string rows(int size, unsigned seed) {
    std::mt19937 random(seed);
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
    std::string text = "score,uncertainty,label\n";
    for (int row = 0; row < size; ++row) {
      const double score = uniform();
      text += std::to_string(score) + "," + std::to_string(uniform()) + "," + (uniform() < score ? "1" : "0") + "\n";
    }
    return text;
  }

  /// One line on stderr, nothing on stdout, no file written.
  void refuse(const Words& arguments, int exit_code = 2) {
    expect_refused(arguments, {}, {}, exit_code);
    ++refused_;
  }
  int refused_ = 0;
};

const std::vector<Words> kObjectives = {
    {"--precision", "0.8"}, {"--recall", "0.8"}, {"--fpr", "0.1"}, {"--flag-rate", "0.1"}};

Words join(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(PromiseBadInput, ConfidencesThatAreNone) {
  for (const Words& objective : kObjectives) {
    for (const char* confidence : {"0", "1", "95", "-0.1", "nan", "inf", "abc", "", "1e400", "0.9.5"}) {
      refuse(join({"fit", "good.csv", "-o", "b.json", "--confidence", confidence}, objective));
    }
  }
  EXPECT_EQ(refused_, 40);
}

TEST_F(PromiseBadInput, TablesThatCannotBeCertifiedFrom) {
  const std::string header = "score,uncertainty,label\n";
  const std::vector<std::pair<const char*, std::string>> tables = {
      {"empty.csv", header},
      {"nothing.csv", ""},
      {"positive.csv", header + "0.5,0.1,1\n0.6,0.1,1\n"},
      {"negative.csv", header + "0.5,0.1,0\n0.6,0.1,0\n"},
      {"one.csv", header + "0.5,0.1,1\n"},
      {"nan.csv", header + "0.5,0.1,1\nnan,0.1,0\n"},
      {"missing.csv", header + "0.5,0.1,1\n0.4,0.1,\n"},
      {"text.csv", header + "0.5,0.1,1\nhigh,0.1,0\n"},
      {"label.csv", header + "0.5,0.1,1\n0.4,0.1,2\n"},
      {"weight.csv", "score,uncertainty,label,weight\n0.5,0.1,1,1\n0.4,0.1,0,-1\n"}};
  for (const auto& [name, text] : tables) {
    write_file(name, text);
    for (const Words& objective : kObjectives) {
      refuse(join({"fit", name, "--confidence", "0.9", "-o", "b.json"}, objective));
    }
  }
  EXPECT_EQ(refused_, 40);
}

TEST_F(PromiseBadInput, TooFewOrTooEqualRowsAreNotCertified) {
  const std::string header = "score,uncertainty,label\n";
  std::string equal = header;
  std::string never = header;
  for (int row = 0; row < 300; ++row) {
    equal += row % 2 == 0 ? "0.5,0.5,1\n" : "0.5,0.5,0\n";
    never += std::to_string(row) + ",0.5," + (row == 0 ? "1" : "0") + "\n";
  }
  write_file("two.csv", header + "0.9,0.1,1\n0.1,0.1,0\n");
  write_file("twenty.csv", rows(20, 3));
  write_file("equal.csv", equal);
  write_file("never.csv", never);  // the only positive has the lowest score
  for (const char* table : {"two.csv", "twenty.csv", "equal.csv", "never.csv"}) {
    for (const char* method : {"auto", "st", "smooth", "exact", "joint"}) {
      refuse({"fit", table, "--precision", "0.97", "--confidence", "0.95", "--method", method, "-o", "b.json"}, 3);
    }
  }
  EXPECT_EQ(refused_, 20);
}

TEST_F(PromiseBadInput, ReviewsThatAreNone) {
  for (const char* flag : {"--review-rate", "--review-recall"}) {
    for (const char* value : {"-0.1", "1.5", "5", "5%", "nan", "abc", "inf", ""}) {
      refuse({"fit", "good.csv", "--precision", "0.8", flag, value, "-o", "b.json"});
    }
  }
  for (const char* value : {"-1", "nan", "abc"}) {
    refuse({"fit", "good.csv", "--cost-fp", "1", "--cost-fn", "5", "--review-cost", value, "-o", "b.json"});
  }
  refuse({"fit", "good.csv", "--precision", "0.8", "--review-cost", "1", "-o", "b.json"});
  EXPECT_EQ(refused_, 20);
}

TEST_F(PromiseBadInput, PlansThatAreNone) {
  const Words assumed = {"plan", "--precision", "0.8", "--expect-precision", "0.9", "--flag-rate", "0.1"};
  ASSERT_EQ(run(assumed).exit_code, 0);
  for (const char* flag : {"--confidence", "--power"}) {
    for (const char* value : {"0", "1", "95", "-1", "nan", "abc"}) refuse(join(assumed, {flag, value}));
  }
  for (const char* value : {"1", "-0.1", "2", "nan", "abc"}) refuse(join(assumed, {"--learning-share", value}));
  for (const char* value : {"0", "-0.1", "1.5", "nan", "abc"}) {
    refuse({"plan", "--precision", "0.8", "--expect-precision", "0.9", "--flag-rate", value});
  }
  for (const char* value : {"-0.1", "1.5", "nan", "abc", ""}) {
    refuse({"plan", "--precision", "0.8", "--expect-precision", value, "--flag-rate", "0.1"});
    refuse({"plan", "--precision", value, "--expect-precision", "0.9", "--flag-rate", "0.1"});
  }
  refuse({"plan"});
  refuse({"plan", "--precision", "0.8"});
  refuse({"plan", "--precision", "0.8", "--recall", "0.8", "--expect-precision", "0.9", "--flag-rate", "0.1"});
  refuse({"plan", "nowhere.csv", "--precision", "0.8"});
  refuse({"plan", "good.csv", "--precision", "0.8", "--more", "-1"});
  refuse({"plan", "good.csv", "--precision", "0.8", "--within", "1.5"});
  // The figure is not better than the bound: no number of rows will do.
  for (const char* expected : {"0.8", "0.5", "0"}) {
    refuse({"plan", "--precision", "0.8", "--expect-precision", expected, "--flag-rate", "0.1"}, 3);
  }
  EXPECT_EQ(refused_, 41);
}

TEST_F(PromiseBadInput, MonitorsThatAreNone) {
  ASSERT_EQ(run({"fit", "good.csv", "--precision", "0.6", "-o", "b.json"}).exit_code, 0);
  ASSERT_EQ(run({"fit", "good.csv", "--fbeta", "1", "-o", "f.json"}).exit_code, 0);
  ASSERT_EQ(run({"fit", "good.csv", "--precision", "0.7", "-o", "other.json"}).exit_code, 0);
  ASSERT_EQ(run({"monitor", "other.json", "good.csv", "--state", "s.json"}).exit_code, 0);
  write_file("garbage.json", "{");
  write_file("truncated.json", file_text("s.json").substr(0, file_text("s.json").size() / 2));
  write_file("bare.csv", "score\n0.5\n");
  write_file("text.csv", "score,uncertainty,label\nx,0.1,1\n");
  for (const char* value : {"0", "1", "5", "-1", "nan", "abc", ""}) {
    refuse({"monitor", "b.json", "good.csv", "--alpha", value});
    if (std::string(value) != "1") refuse({"monitor", "b.json", "good.csv", "--tolerance", value});
  }
  for (const char* state : {"s.json", "garbage.json", "truncated.json", "b.json", "good.csv"}) {
    refuse({"monitor", "b.json", "good.csv", "--state", state});
  }
  for (const char* table : {"bare.csv", "text.csv"}) refuse({"monitor", "b.json", table});
  refuse({"monitor", "f.json", "good.csv"});
  refuse({"monitor", "good.csv", "good.csv"});
  refuse({"monitor", "b.json", "nowhere.csv"});
  refuse({"monitor", "nowhere.json", "good.csv"});
  refuse({"monitor", "b.json", "good.csv", "--id", "nobody"});
  refuse({"monitor", "b.json", "good.csv", "--time", "never"});
  EXPECT_EQ(refused_, 26);
}

TEST_F(PromiseBadInput, GuaranteesThatContradictThemselves) {
  ASSERT_EQ(run({"fit", "good.csv", "--precision", "0.6", "--confidence", "0.9", "-o", "b.json"}).exit_code, 0);
  const Json good = Json::parse(file_text("b.json"));
  ASSERT_TRUE(good["guarantee"].is_object());
  const auto judge = [&](const Json& boundary) {
    write_file("bad.json", boundary.dump());
    refuse({"evaluate", "bad.json", "good.csv"});
  };
  for (const auto& [key, value] : good["guarantee"].items()) {
    Json without = good;
    without["guarantee"].erase(key);
    judge(without);
    Json wrong = good;
    wrong["guarantee"][key] = value.is_string() ? Json(-1) : Json("x");
    judge(wrong);
  }
  const std::vector<std::pair<const char*, Json>> values = {
      {"confidence", 2},     {"confidence", 0},      {"confidence", 0.9999999},
      {"p_value", 0.9},      {"p_value", -0.1},      {"rows", -1},
      {"rows", 1},           {"positives", -1},      {"flagged", -1},
      {"flagged", 1e9},      {"true_positives", -1}, {"true_positives", 100000},
      {"learning_rows", -1}, {"seed", -1},           {"seed", 0.5},
      {"bound", 0.7},        {"test", "hope"},       {"constraint", "recall"},
      {"constraint", ""}};
  for (const auto& [key, value] : values) {
    Json boundary = good;
    boundary["guarantee"][key] = value;
    judge(boundary);
  }
  EXPECT_EQ(refused_, 43);
}

TEST_F(PromiseBadInput, AYearOfEmptyDaysIsWatched) {
  ASSERT_EQ(run({"fit", "good.csv", "--precision", "0.6", "--confidence", "0.9", "-o", "b.json"}).exit_code, 0);
  write_file("day.csv", "score,uncertainty,label\n");
  for (int day = 0; day < 30; ++day) {
    const RunResult result = run({"monitor", "b.json", "day.csv", "--state", "s.json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, ::testing::HasSubstr("not enough yet"));
  }
}

}  // namespace
}  // namespace limen::cli::test
