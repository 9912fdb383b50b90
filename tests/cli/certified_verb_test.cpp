// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Scores uniform, positivity equal to the score; a customer has four rows, a day has a sixth of all.
class Certified : public CliTest {
 protected:
  Certified() {
    write_rows("h.csv", 6000, 1);
    write_rows("t.csv", 6000, 2);
  }
  void write_rows(const std::string& name, int rows, unsigned seed) {
    std::mt19937 random(seed);
    std::string text = "score,uncertainty,label,customer,weight2\n";
    const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
    for (int row = 0; row < rows; ++row) {
      const double score = uniform();
      text += std::to_string(score) + "," + std::to_string(uniform()) + "," + (uniform() < score ? "1" : "0") + ",c" +
              std::to_string(row / 4) + "," + std::to_string(0.5 + uniform()) + "\n";
    }
    write_file(name, text);
  }
  [[nodiscard]] static Words fit_with(const Words& more) {
    Words words = {"fit", "h.csv", "--precision", "0.8"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Certified, FitWritesTheGuaranteeAndEvaluateChecksIt) {
  const auto done = run(fit_with({"--confidence", "0.95", "-o", "b.json"}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("certified with 95% confidence: precision >= 0.8"), HasSubstr("tested on"),
                              HasSubstr("without a promise"), HasSubstr("rows drawn like the hold-out")));
  const Json boundary = Json::parse(file_text("b.json"));
  const Json guarantee = boundary["guarantee"];
  EXPECT_EQ(guarantee["constraint"], "precision");
  EXPECT_EQ(guarantee["bound"], 0.8);
  EXPECT_EQ(guarantee["confidence"], 0.95);
  EXPECT_LE(guarantee["p_value"].get<double>(), 0.05);
  EXPECT_EQ(guarantee["rows"].get<int>() + guarantee["learning_rows"].get<int>(), 6000);
  EXPECT_EQ(boundary["expected"]["by"], "tested rows");

  const auto judged = run({"evaluate", "b.json", "t.csv"});
  EXPECT_THAT(judged.out, HasSubstr("are consistent with it"));
  const Json report = json_of({"evaluate", "b.json", "t.csv", "--json"});
  EXPECT_EQ(report[0]["guarantee"]["consistent"], true);
  // Rows whose labels were turned round are not.
  std::string turned = file_text("t.csv");
  for (std::size_t at = turned.find('\n'); at != std::string::npos; at = turned.find('\n', at + 1)) {
    const std::size_t label = turned.find(",c", at);
    if (label == std::string::npos) break;
    turned[label - 1] = turned[label - 1] == '1' ? '0' : '1';
  }
  write_file("bad.csv", turned);
  EXPECT_THAT(run({"evaluate", "b.json", "bad.csv"}).out, HasSubstr("NOT consistent"));
  // A guarantee that the file's own figures contradict is refused.
  std::string forged = file_text("b.json");
  forged.replace(forged.find("\"confidence\": 0.95"), 18, "\"confidence\": 0.9999");
  write_file("forged.json", forged);
  const auto refused = run({"evaluate", "forged.json", "t.csv"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("guarantees nothing"));
}

TEST_F(Certified, BatchesGiveTheSameFile) {
  EXPECT_EQ(run(fit_with({"--confidence", "0.9", "-o", "memory.json"})).exit_code, 0);
  const auto batched = run(fit_with({"--confidence", "0.9", "--max-memory", "40KB", "-o", "batches.json"}));
  EXPECT_EQ(batched.exit_code, 0) << batched.err;
  EXPECT_THAT(batched.err, HasSubstr("in batches"));
  EXPECT_EQ(file_text("memory.json"), file_text("batches.json"));
}

TEST_F(Certified, GroupsAreTestedAsGroups) {
  const auto done = run(fit_with({"--confidence", "0.9", "--group", "customer", "--json"}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const Json boundary = Json::parse(done.out);
  EXPECT_EQ(boundary["guarantee"]["test"], "betting");
  EXPECT_THAT(boundary["guarantee"]["valid_for"].get<std::string>(), HasSubstr("groups"));
  EXPECT_EQ(run(fit_with({"--confidence", "0.9", "--group", "nobody"})).exit_code, 2);
  const auto weighted = run(fit_with({"--confidence", "0.9", "--weight", "weight2", "--json"}));
  EXPECT_EQ(Json::parse(weighted.out)["guarantee"]["test"], "betting");
}

TEST_F(Certified, WhatCannotBeCertifiedExitsWithThreeAndSaysWhatCan) {
  const auto done = run({"fit", "h.csv", "--precision", "0.9999", "--confidence", "0.95", "-o", "n.json"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("cannot be certified"), HasSubstr("come nearest to a bound of 0.9")));
  EXPECT_FALSE(std::filesystem::exists("n.json"));
  const auto json = run({"fit", "h.csv", "--precision", "0.9999", "--confidence", "0.95", "--json"});
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_EQ(Json::parse(json.out)["status"], "not certifiable");
}

TEST_F(Certified, WrongUseIsRefused) {
  for (const char* confidence : {"0", "1", "95", "-0.5", "nan", "abc"}) {
    EXPECT_EQ(run(fit_with({"--confidence", confidence})).exit_code, 2) << confidence;
  }
  const Words confident = {"--confidence", "0.9"};
  for (const Words& more : std::vector<Words>{
           {"--bins", "10"}, {"--monotone", "up"}, {"--method", "mist"}, {"--levels", "auto"}, {"--bootstrap", "10"}}) {
    Words words = fit_with(confident);
    words.insert(words.end(), more.begin(), more.end());
    const auto refused = run(words);
    EXPECT_EQ(refused.exit_code, 2) << more[0];
    EXPECT_FALSE(refused.err.empty());
  }
  EXPECT_EQ(run({"fit", "h.csv", "--fbeta", "1", "--confidence", "0.9"}).exit_code, 2);
  EXPECT_EQ(run({"fit", "h.csv", "--precision", "0.8", "--group", "customer"}).exit_code, 2);
}

TEST_F(Certified, OtherBoundsAndTinyTables) {
  EXPECT_EQ(run({"fit", "h.csv", "--recall", "0.8", "--confidence", "0.9"}).exit_code, 0);
  EXPECT_EQ(run({"fit", "h.csv", "--fpr", "0.1", "--confidence", "0.9"}).exit_code, 0);
  EXPECT_EQ(run({"fit", "h.csv", "--flag-rate", "0.1", "--confidence", "0.9"}).exit_code, 0);
  write_file("tiny.csv", "score,uncertainty,label\n0.9,0.1,1\n0.1,0.1,0\n");
  EXPECT_EQ(run({"fit", "tiny.csv", "--precision", "0.8", "--confidence", "0.9"}).exit_code, 3);
  write_file("one.csv", "score,uncertainty,label\n0.9,0.1,1\n");
  EXPECT_EQ(run({"fit", "one.csv", "--precision", "0.8", "--confidence", "0.9"}).exit_code, 2);
}

}  // namespace
}  // namespace limen::cli::test
