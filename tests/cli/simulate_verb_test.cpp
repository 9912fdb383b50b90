// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Row {
  double score;
  double uncertainty;
  int label;
  std::string region;
  double true_positivity;
};

std::vector<Row> rows_of(const std::string& path) {
  std::istringstream lines(file_text(path));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "score,uncertainty,label,region,true_positivity");
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> field(5);
    for (std::string& text : field) std::getline(fields, text, ',');
    rows.push_back({std::stod(field[0]), std::stod(field[1]), std::stoi(field[2]), field[3], std::stod(field[4])});
  }
  return rows;
}

class Simulate : public CliTest {};

TEST_F(Simulate, WritesHoldoutAndTestByThePapersProcess) {
  const std::string text =
      output_of({"simulate", "-o", "demo/new", "--holdout-rows", "20000", "--test-rows", "1000", "--regions", "2000"});
  EXPECT_THAT(text, AllOf(HasSubstr("demo/new/holdout.csv: 20,000 rows"), HasSubstr("demo/new/test.csv: 1,000 rows")));
  EXPECT_THAT(file_names(), ElementsAre("demo", "demo/new", "demo/new/holdout.csv", "demo/new/test.csv"));
  const std::vector<Row> holdout = rows_of("demo/new/holdout.csv");
  const std::vector<Row> test = rows_of("demo/new/test.csv");
  ASSERT_EQ(holdout.size(), 20'000u);
  ASSERT_EQ(test.size(), 1'000u);
  double labels = 0;
  double scores = 0;
  std::map<std::string, Row> regions;
  for (const auto* table : {&holdout, &test}) {
    for (const Row& row : *table) {
      const Row& known = regions.emplace(row.region, row).first->second;
      EXPECT_EQ(row.score, known.score);
      EXPECT_EQ(row.uncertainty, known.uncertainty);
      EXPECT_EQ(row.true_positivity, known.true_positivity);
      ASSERT_TRUE(row.score > 0 && row.score < 1 && (row.label == 0 || row.label == 1));
    }
  }
  for (const Row& row : holdout) {
    labels += row.label;
    scores += row.score;
  }
  // Beta(1, 3) has mean 1/4 and deviation 0.19: 2,000 regions give 0.0043, 20,000 labels 0.003 more; five deviations.
  EXPECT_NEAR(labels / 20'000, 0.25, 0.027);
  // Undersampling with tau = 3 lifts a positivity s to 3 s / (2 s + 1), on average far above the label rate.
  EXPECT_GT(scores / 20'000, 0.35);
}

TEST_F(Simulate, TheSeedDecidesTheFiles) {
  const auto simulated = [&](const char* folder, const char* seed) {
    EXPECT_EQ(run({"simulate", "-o", folder, "--holdout-rows", "500", "--test-rows", "500", "--seed", seed}).exit_code,
              0);
    return file_text(std::string(folder) + "/holdout.csv") + file_text(std::string(folder) + "/test.csv");
  };
  const std::string first = simulated("a", "7");
  EXPECT_EQ(simulated("b", "7"), first);
  EXPECT_EQ(simulated("a", "7"), first);
  EXPECT_NE(simulated("c", "8"), first);
  EXPECT_NE(file_text("a/holdout.csv"), file_text("a/test.csv"));
}

TEST_F(Simulate, FeatureTablesGoWithThePredictions) {
  const Json report = json_of({"simulate", "-o", "d", "--features", "--json", "--regions", "50", "--holdout-rows",
                               "300", "--test-rows", "200", "--evidence-limit", "40"});
  ASSERT_EQ(report.size(), 5u);
  for (const Json& entry : report) {
    const std::string text = file_text(entry["file"].get<std::string>());
    EXPECT_EQ(entry["rows"], std::ranges::count(text, '\n') - 1) << entry["file"];
  }
  EXPECT_EQ(report[0], Json::parse(R"({"file": "d/holdout.csv", "rows": 300})"));
  EXPECT_EQ(report[1], Json::parse(R"({"file": "d/test.csv", "rows": 200})"));
  EXPECT_THAT(file_names(), ElementsAre("d", "d/features_holdout.csv", "d/features_test.csv", "d/features_train.csv",
                                        "d/holdout.csv", "d/test.csv"));
  // Row by row the features are of the region and label of the prediction.
  std::istringstream features(file_text("d/features_holdout.csv"));
  std::string line;
  std::getline(features, line);
  EXPECT_EQ(line, "region,x1,x2,label");
  for (const Row& row : rows_of("d/holdout.csv")) {
    std::getline(features, line);
    EXPECT_EQ(line.substr(0, line.find(',')), row.region);
    EXPECT_EQ(line.substr(line.rfind(',') + 1), std::to_string(row.label));
  }
}

TEST_F(Simulate, ItsTablesCanBeFittedAndTheBoundaryBeatsOneThreshold) {
  ASSERT_EQ(run({"simulate", "-o", "."}).exit_code, 0);
  const auto recall = [&](const char* method) {
    return json_of({"fit", "holdout.csv", "--precision", "0.7", "--bins", "all", "--method", method,
                    "--json"})["holdout"]["recall"]
        .get<double>();
  };
  EXPECT_GT(recall("exact"), recall("st"));
}

}  // namespace
}  // namespace limen::cli::test
