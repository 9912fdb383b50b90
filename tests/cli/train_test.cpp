// SPDX-License-Identifier: MIT
// Verbs train and predict, from a table to a boundary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "cli_fixture.h"

namespace limen::cli::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Rows of customers; about a quarter of them bought. `day` rises; some ages are missing.
std::string customers(int rows, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  std::string text = "id,day,age,income,city,plan,bought\n";
  for (int row = 0; row < rows; ++row) {
    const int age = 18 + below(60);
    const int city = below(8);
    const int plan = below(3);
    const double income = std::exp(below(400) / 100.0);
    const bool bought = age + 10 * (city % 3) + 8 * plan + below(30) > 85;
    char line[128];
    std::snprintf(line, sizeof line, "%d,2024-%02d-%02d,%s,%.2f,city%d,%d,%d\n", row, 1 + row * 12 / rows,
                  1 + row * 300 / rows % 25, below(20) == 0 ? "" : std::to_string(age).c_str(), income, city, plan,
                  bought ? 1 : 0);
    text += line;
  }
  return text;
}

using Table = std::vector<std::vector<std::string>>;

/// Lines and fields; the first one is the header.
Table table_of(const std::string& text) {
  Table table;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    table.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) table.back().push_back(field);
  }
  return table;
}

/// The numbers below the header: the writers of CSV and of Arrow write the same number in other digits.
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  const char* at = text.c_str() + text.find('\n') + 1;
  while (*at != '\0') {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    at = end == at ? at + std::strlen(at) : end + 1;
  }
  return numbers;
}

std::size_t lines_of(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

class Train : public CliTest {
 protected:
  Train() { write_file("data.csv", customers(2000)); }

  /// Small and quick, where `more` does not say otherwise.
  static Words train(const std::string& data, const std::string& model, const Words& more = {}) {
    Words words = {"train", data, "-o", model};
    const std::vector<std::pair<std::string, std::string>> defaults = {
        {"--label", "bought"}, {"--drop", "id"},   {"--hidden", "16"},         {"--epochs", "2"},
        {"--batch", "128"},    {"--threads", "1"}, {"--learning-rate", "0.01"}};
    for (const auto& [flag, value] : defaults) {
      if (std::ranges::find(more, flag) == more.end()) words.insert(words.end(), {flag, value});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void expect_trained(const Words& arguments) const {
    const RunResult result = run(arguments);
    ASSERT_EQ(result.exit_code, 0) << command(arguments) << "\n" << result.err;
  }

  [[nodiscard]] std::string predicted(const Words& more, std::string_view input = {}) const {
    Words words = {"predict", "model", "-o", "-"};
    words.insert(words.end(), more.begin(), more.end());
    return output_of(words, input);
  }
};

TEST_F(Train, TrainsPredictsAndFits) {
  const RunResult trained = run(train("data.csv", "model", {"--split", "0.6,0.2,0.2", "--epochs", "6"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("written to model; next: limen predict model DATA -o PRED\n"));
  EXPECT_THAT(trained.out, HasSubstr("natpn on mlp: learned from "));
  EXPECT_THAT(trained.err, HasSubstr("epoch 1: loss "));
  EXPECT_THAT(file_names(), ElementsAre("data.csv", "model", "model/model.json", "model/training.jsonl",
                                        "model/weights.safetensors"));
  const RunResult holdout = run({"predict", "model", "data.csv", "--part", "holdout", "-o", "holdout.csv"});
  EXPECT_EQ(holdout.exit_code, 0) << holdout.err;
  EXPECT_THAT(holdout.out, HasSubstr(" positive), score and uncertainty (entropy), written to holdout.csv\n"));
  EXPECT_EQ(table_of(file_text("holdout.csv"))[0], (Words{"label", "score", "uncertainty"}));
  EXPECT_EQ(run({"predict", "model", "data.csv", "--part", "test", "-o", "test.parquet"}).exit_code, 0);
  // A Parquet file without copied columns had no rows, and its parts were refused.
  EXPECT_EQ(json_of({"predict", "model", "data.csv", "-o", "all.parquet", "--json"})["rows"], 2000);
  const Json all = json_of({"fit", "all.parquet", "--precision", "0.01", "--json", "-o", "all.json"});
  EXPECT_EQ(all["holdout"]["rows"], 2000) << all["holdout"];
  const Json fitted = json_of({"fit", "holdout.csv", "--precision", "0.7", "--levels", "3", "--json", "-o", "b.json"});
  // The labels can be told from age, city and plan but for noise: a score that says nothing finds a quarter.
  EXPECT_GT(fitted["holdout"]["recall"], 0.3);
  EXPECT_EQ(run({"evaluate", "b.json", "test.parquet"}).exit_code, 0);
  // The log has a line per epoch, as model.json has.
  const Json card = Json::parse(file_text("model/model.json"));
  EXPECT_EQ(lines_of(file_text("model/training.jsonl")), card["history"].size());
  // A report shows how it learned.
  const Json study = json_of({"report", "holdout.csv", "--precision", "0.7", "--bounds", "0.6", "--methods", "st",
                              "--model", "model", "--json"});
  ASSERT_EQ(study["training"].size(), 1U);
  const Json& epochs = study["training"][0]["epochs"];
  ASSERT_EQ(epochs.size(), card["history"].size());
  EXPECT_EQ(epochs.back()["train_loss"], card["history"].back()["loss"]);
  EXPECT_EQ(epochs.back()["valid_loss"], card["history"].back()["log_loss"]);
  const auto selected = study["training"][0]["selected"].get<std::size_t>();
  EXPECT_EQ(card["history"][selected - 1]["is_best"], true);
  EXPECT_GT(card["metrics"]["roc_auc"], 0.75);
}

TEST_F(Train, NumbersHaveKnotsUnlessToldOtherwise) {
  // income takes up to 400 values, age 60.
  const RunResult trained = run(train("data.csv", "model"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("age: numeric, 60 knots, with missing indicator"));
  EXPECT_THAT(file_text("model/model.json"), HasSubstr("\"knots\""));
  const RunResult without = run(train("data.csv", "plain", {"--numeric-knots", "0"}));
  ASSERT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.out, HasSubstr("age: numeric, with missing indicator"));
  EXPECT_NE(output_of({"predict", "plain", "data.csv", "-o", "-"}), predicted({"data.csv"}));
  const RunResult refused = run(train("data.csv", "other", {"--numeric-knots", "1025"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err, "limen: features: numeric_knots is 1025, must be 0 to 1,024\n");
}

TEST_F(Train, PartsAreDisjointAndComplete) {
  for (const Words& split : {Words{"--split", "0.5,0.3,0.2"}, Words{"--split", "0.5,0.3,0.2", "--split-by-time", "day"},
                             Words{"--split", "0.7,0.3"}}) {
    SCOPED_TRACE(command(split));
    Words flags = split;
    flags.insert(flags.end(), {"--overwrite", "--epochs", "1"});
    expect_trained(train("data.csv", "model", flags));
    std::set<int> seen;
    std::vector<std::size_t> sizes;
    std::string last_day;
    for (const std::string part : {"train", "holdout", "test"}) {
      const Table rows = table_of(predicted({"data.csv", "--part", part, "--keep", "id,day"}));
      sizes.push_back(rows.size() - 1);
      const std::string before = last_day;
      for (std::size_t row = 1; row < rows.size(); ++row) {
        EXPECT_TRUE(seen.insert(std::stoi(rows[row][0])).second) << rows[row][0];
        if (split.size() == 4) {
          EXPECT_GT(rows[row][1], before);
          last_day = std::max(last_day, rows[row][1]);
        }
      }
    }
    EXPECT_EQ(seen.size(), 2000U);
    const bool two = split.back() == "0.7,0.3";
    EXPECT_NEAR(static_cast<double>(sizes[0]), two ? 1400 : 1000, 110);
    EXPECT_NEAR(static_cast<double>(sizes[1]), 600, 100);
    EXPECT_EQ(sizes[2] == 0, two);
  }
}

TEST_F(Train, PartsNeedASplit) {
  expect_trained(train("data.csv", "model", {"--epochs", "1"}));
  expect_refused({"predict", "model", "data.csv", "--part", "test", "-o", "x.csv"}, {"model: was trained on all rows"});
  expect_refused(train("data.csv", "other", {"--split-by-time", "day"}), {"--split-by-time needs the shares"});
  expect_refused(train("data.csv", "other", {"--split", "0.5,0.2"}), {"split: shares add up to 0.7, must be 1"});
  expect_refused(train("data.csv", "other", {"--split", "0.5,0.5", "--split-by-time", "dya"}),
                 {"has no column \"dya\" (--split-by-time); did you mean \"day\"?"});
}

/// The lines of a table behind its header, and a table of lines.
std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return {lines.begin() + 1, lines.end()};
}
std::string table_text(const std::string& header, const std::vector<std::string>& rows) {
  std::string text = header + "\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

// Row numbers of a shuffled or shortened table mean other rows: training rows were given out as "test".
TEST_F(Train, PartsAreOfTheTableThatWasSplitOnly) {
  const std::string header = "id,day,age,income,city,plan,bought";
  const std::vector<std::string> rows = rows_of(file_text("data.csv"));
  for (const Words& split : {Words{"--split", "0.6,0.4"}, Words{"--split", "0.6,0.4", "--split-by-time", "day"}}) {
    Words flags = split;
    flags.insert(flags.end(), {"--epochs", "1", "--overwrite"});
    expect_trained(train("data.csv", "model", flags));
    const auto refused = [&](const std::vector<std::string>& changed, const std::string& why) {
      write_file("other.csv", table_text(header, changed));
      expect_refused({"predict", "model", "other.csv", "--part", "holdout", "-o", "x.csv"},
                     {"other.csv: is not the table that model was split on", why});
    };
    std::vector<std::string> changed = rows;
    std::shuffle(changed.begin(), changed.end(), std::mt19937(3));
    refused(changed, "another order");
    changed = rows;
    std::swap(changed[10], changed[11]);
    refused(changed, "another order");
    refused({rows.begin(), rows.end() - 1}, "it has 1,999 rows, that one had 2,000");
    changed = rows;
    changed[1234].back() = changed[1234].back() == '0' ? '1' : '0';
    refused(changed, "other values");
    EXPECT_EQ(run({"predict", "model", "other.csv", "-o", "all.csv"}).exit_code, 0);
    expect_refused({"predict", "model", "-", "--part", "holdout", "-o", "x.csv"}, {"--part", "stdin"}, "x");
    // Written anew, with quotes and Windows line ends, it is the same table.
    std::vector<std::string> same = rows;
    for (std::string& row : same) row = replaced(row, "city", "\"city") + "\r";
    for (std::string& row : same) row.insert(row.find("\"city") + 6, "\"");
    write_file("same.csv", table_text(header + "\r", same));
    EXPECT_EQ(replaced(predicted({"same.csv", "--part", "holdout"}), "\r", ""),
              predicted({"data.csv", "--part", "holdout"}));
    // The row number joins what was decided back: ids count from 0 here, rows from 1.
    const Table joined = table_of(predicted({"data.csv", "--part", "holdout", "--keep", "id", "--row-number"}));
    EXPECT_EQ(joined[0], (Words{"id", "row_number", "label", "score", "uncertainty"}));
    EXPECT_GT(joined.size(), 500U);
    for (std::size_t row = 1; row < joined.size(); ++row) {
      ASSERT_EQ(std::stoi(joined[row][1]), std::stoi(joined[row][0]) + 1);
    }
    Json card = Json::parse(file_text("model/model.json"));
    card["split"].erase("table");
    write_file("model/model.json", card.dump());
    expect_refused({"predict", "model", "data.csv", "--part", "holdout", "-o", "x.csv"}, {"older version"});
  }
}

// Random validation rows of a table in time choose the epoch that knows the future.
TEST_F(Train, ByTimeTheLatestTrainingRowsChooseTheEpoch) {
  expect_trained(train("data.csv", "model",
                       {"--split", "0.6,0.2,0.2", "--split-by-time", "day", "--epochs", "1", "--validation", "0.25"}));
  const Json card = Json::parse(file_text("model/model.json"));
  const double from = card["split"]["validation_from"];
  EXPECT_LT(from, card["split"]["holdout_from"].get<double>());
  const Table rows = table_of(predicted({"data.csv", "--part", "train", "--keep", "day"}));
  std::size_t latest = 0;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    std::tm parts = {};
    ASSERT_NE(::strptime(rows[row][0].c_str(), "%Y-%m-%d", &parts), nullptr);
    latest += static_cast<double>(::timegm(&parts)) >= from ? 1 : 0;
  }
  EXPECT_EQ(card["metrics"]["validation_rows"], latest);
  EXPECT_NEAR(static_cast<double>(latest), 0.25 * static_cast<double>(rows.size() - 1), 10);
  const double learned =
      card["metrics"]["training_negatives"].get<double>() + card["metrics"]["training_positives"].get<double>();
  EXPECT_EQ(learned + static_cast<double>(latest), static_cast<double>(rows.size() - 1));
}

// 0.00311324713 in one file, 0.00311324784 in another.
TEST_F(Train, ARowsPredictionDoesNotDependOnItsFileOrTheThreads) {
  const std::string header = "id,day,age,income,city,plan,bought";
  const std::vector<std::string> rows = rows_of(file_text("data.csv"));
  for (const std::string model : {"postnet", "natpn", "mc-dropout", "ensemble"}) {
    SCOPED_TRACE(model);
    const std::string members = model == "mc-dropout" ? "1" : "2";
    expect_trained(train("data.csv", "model",
                         {"--model", model, "--members", members, "--epochs", "1", "--overwrite", "--hidden", "128,64",
                          "--threads", "0"}));
    const std::vector<std::string> whole = rows_of(predicted({"data.csv", "--all-columns"}));
    ASSERT_EQ(whole.size(), 2000U);
    EXPECT_EQ(rows_of(predicted({"data.csv", "--all-columns", "--threads", "1"})), whole);
    EXPECT_EQ(rows_of(predicted({"data.csv", "--all-columns", "--threads", "2"})), whole);
    const auto predict_rows = [&](std::size_t begin, std::size_t end) {
      write_file("part.csv", table_text(header, {rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 rows.begin() + static_cast<std::ptrdiff_t>(end)}));
      const std::vector<std::string> part = rows_of(predicted({"part.csv", "--all-columns"}));
      for (std::size_t row = begin; row < end; ++row) ASSERT_EQ(part[row - begin], whole[row]) << row;
    };
    predict_rows(0, 1);
    predict_rows(777, 778);
    predict_rows(300, 307);
    predict_rows(1, 1001);
    std::vector<std::size_t> order(rows.size());
    for (std::size_t row = 0; row < order.size(); ++row) order[row] = row;
    std::shuffle(order.begin(), order.end(), std::mt19937(5));
    std::vector<std::string> shuffled;
    for (const std::size_t row : order) shuffled.push_back(rows[row]);
    write_file("shuffled.csv", table_text(header, shuffled));
    const std::vector<std::string> mixed = rows_of(predicted({"shuffled.csv", "--all-columns"}));
    for (std::size_t row = 0; row < order.size(); ++row) ASSERT_EQ(mixed[row], whole[order[row]]) << row;
  }
}

// `evidence` and `train` kept different negatives for the same seed: counts of a table's beginnings tell which rows are
// kept.
TEST_F(Train, KeepsTheNegativesThatEvidenceKeeps) {
  const std::string header = "id,day,age,income,city,plan,bought";
  const std::vector<std::string> rows = rows_of(file_text("data.csv"));
  for (const std::string seed : {"0", "7"}) {
    std::vector<std::uint64_t> kept;
    for (const std::ptrdiff_t size : {2000, 1700, 801, 800}) {
      write_file("part.csv", table_text(header, {rows.begin(), rows.begin() + size}));
      const Json trained = json_of(train(
          "part.csv", "model",
          {"--validation-data", "data.csv", "--tau", "4", "--seed", seed, "--epochs", "1", "--overwrite", "--json"}));
      const Json counted = json_of({"evidence", "part.csv", "part.csv", "--keys", "id", "--categorical", "id",
                                    "--label", "bought", "--tau", "4", "--seed", seed, "-o", "e.csv", "--json"});
      EXPECT_EQ(trained["training_rows"], counted["training_rows"]) << size << " rows, seed " << seed;
      kept.push_back(counted["training_rows"]);
    }
    EXPECT_GT(kept[0], kept[1] + 30);
    EXPECT_LT(kept[0], 1500U);
  }
}

// Rows whose label was NA were learned from as negatives.
TEST_F(Train, MissingLabelsAreAnErrorOrAreDropped) {
  std::vector<std::string> rows = rows_of(file_text("data.csv"));
  for (const std::size_t row : {100U, 500U, 1900U}) rows[row] = rows[row].substr(0, rows[row].rfind(',')) + ",NA";
  rows[600] = rows[600].substr(0, rows[600].rfind(',')) + ",";
  write_file("gaps.csv", table_text("id,day,age,income,city,plan,bought", rows));
  for (const Words& more : {Words{}, Words{"--positive", "1"}, Words{"--positive-if", ">0"}}) {
    expect_refused(train("gaps.csv", "model", more), {"gaps.csv: row 101: column \"bought\": the label is missing"});
  }
  const RunResult trained = run(train("gaps.csv", "model", {"--positive", "1", "--drop-missing", "--json"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("gaps.csv: left out 4 rows without a label\n"));
  const Json report = Json::parse(trained.out);
  EXPECT_EQ(report["training_rows"].get<int>() + report["validation_rows"].get<int>(), 1996);
  expect_refused({"predict", "model", "gaps.csv", "-o", "x.csv"},
                 {"gaps.csv: row 101: column \"bought\": the label is missing"});
  const RunResult result = run({"predict", "model", "gaps.csv", "--drop-missing", "-o", "p.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "gaps.csv: left out 4 rows without a label\n");
  EXPECT_EQ(lines_of(file_text("p.csv")), 1997U);
}

TEST_F(Train, APositiveValueIsTakenAsItStands) {
  std::string text = replaced(file_text("data.csv"), ",0\n", ", <=50K\n");
  text = replaced(text, ",1\n", ", >50K\n");
  write_file("adult.csv", text);
  expect_trained(train("adult.csv", "model", {"--positive", ">50K", "--epochs", "1"}));
  EXPECT_THAT(predicted({"adult.csv"}), HasSubstr("\n1,"));
  expect_refused(train("adult.csv", "other", {"--positive", ">50k"}),
                 {"adult.csv: column \"bought\": the positive value \">50k\" does not occur", "\"<=50K\", \">50K\"",
                  "did you mean \">50K\"?"});
  expect_refused(train("adult.csv", "other", {"--positive-if", ">50K"}),
                 {"--positive-if: \">50K\" is not a comparison"});
  expect_trained(train("data.csv", "number", {"--positive-if", "<0.5", "--epochs", "1"}));
}

TEST_F(Train, IdentifiersAndColumnsWithoutANameAreNoFeatures) {
  const RunResult noted = run(train("data.csv", "model", {"--drop", "day", "--epochs", "1"}));
  ASSERT_EQ(noted.exit_code, 0) << noted.err;
  EXPECT_THAT(noted.err,
              HasSubstr("data.csv: column \"id\" is left out: every row has a whole number of its own there"));
  EXPECT_THAT(noted.out, HasSubstr("id: not used; left out: every row has a whole number of its own"));
  EXPECT_THAT(file_text("model/model.json"), HasSubstr("as an identifier"));
  const RunResult asked = run(train("data.csv", "asked", {"--drop", "day", "--epochs", "1", "--numeric", "id"}));
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_THAT(asked.err, Not(HasSubstr("left out")));
  EXPECT_THAT(asked.out, HasSubstr("id: numeric"));
  write_file("index.csv", replaced(file_text("data.csv"), "id,day", ",day"));
  expect_refused(train("index.csv", "other", {"--drop", "day"}), {"index.csv: column 1 has no name", "--names"});
  expect_trained(train("index.csv", "other",
                       {"--drop", "day", "--epochs", "1", "--names", "row,day,age,income,city,plan,bought"}));
}

// A link to a device took all memory, and a pipe made the program wait for ever.
TEST_F(Train, AModelIsReadFromRegularFilesOnly) {
  expect_trained(train("data.csv", "model", {"--epochs", "1"}));
  std::filesystem::remove("model/weights.safetensors");
  std::filesystem::create_symlink("/dev/zero", "model/weights.safetensors");
  const RunResult device = run({"predict", "model", "data.csv", "-o", "x.csv"});
  EXPECT_EQ(device.exit_code, 2);
  EXPECT_EQ(device.err, "limen: model/weights.safetensors: is not a regular file\n");
}

TEST_F(Train, CsvAndParquetGiveTheSame) {
  for (const std::string model : {"postnet", "mc-dropout"}) {
    SCOPED_TRACE(model);
    const Words flags = {"--model", model, "--overwrite", "--split", "0.6,0.4"};
    expect_trained(train("data.csv", "model", flags));
    ASSERT_EQ(run({"predict", "model", "data.csv", "--keep-all", "-o", "data.parquet"}).exit_code, 0);
    const std::string from_csv = predicted({"data.csv", "--output-format", "csv"});
    EXPECT_EQ(lines_of(from_csv), 2001U);
    EXPECT_EQ(numbers_of(from_csv).size(), 6000U);
    EXPECT_EQ(numbers_of(predicted({"data.parquet", "--output-format", "csv"})), numbers_of(from_csv));
    EXPECT_EQ(numbers_of(predicted({"data.csv", "--part", "holdout"})),
              numbers_of(predicted({"data.parquet", "--part", "holdout", "--output-format", "csv"})));
    // Trained from Parquet: the same columns, so the same weights.
    Words again = flags;
    again.insert(again.end(), {"--drop", "id,label,score,uncertainty"});
    expect_trained(train("data.parquet", "again", again));
    EXPECT_TRUE(file_text("again/weights.safetensors") == file_text("model/weights.safetensors"));
  }
}

// Batches of the reader have at least 65,536 rows, and those of CSV are not those of Parquet.
TEST_F(Train, BatchesOfTheTableDoNotMatter) {
  expect_trained(train("data.csv", "model", {"--model", "mc-dropout", "--epochs", "1", "--passes", "2"}));
  const std::string text = customers(150'000, 3);
  write_file("large.csv", text);
  ASSERT_EQ(run({"predict", "model", "large.csv", "--keep-all", "-o", "large.parquet"}).exit_code, 0);
  const std::string whole = predicted({"large.csv"});
  EXPECT_EQ(lines_of(whole), 150'001U);
  EXPECT_TRUE(numbers_of(predicted({"large.parquet", "--output-format", "csv"})) == numbers_of(whole));
  // In two files, as one table.
  const std::size_t middle = text.find("\n", text.size() / 3) + 1;
  write_file("first.csv", text.substr(0, middle));
  write_file("second.csv", text.substr(0, text.find('\n') + 1) + text.substr(middle));
  EXPECT_TRUE(predicted({"first.csv", "second.csv"}) == whole);
}

TEST_F(Train, StdinIsPredictedAsAFileIs) {
  expect_trained(train("data.csv", "model"));
  const Table file = table_of(predicted({"data.csv"}));
  const Table stream = table_of(predicted({"-", "--format", "csv"}, file_text("data.csv")));
  ASSERT_EQ(stream.size(), file.size());
  EXPECT_EQ(stream[0], (Words{"score", "uncertainty"}));  // the label is not looked for
  for (std::size_t row = 1; row < file.size(); ++row) {
    EXPECT_EQ(stream[row], (Words{file[row][1], file[row][2]})) << row;
  }
  EXPECT_EQ(run(train("-", "other"), "x").exit_code, 2);
}

TEST_F(Train, ColumnsAreThoseThatWereAskedFor) {
  expect_trained(train("data.csv", "model"));
  const auto header = [&](const Words& more) {
    Words words = {"data.csv"};
    words.insert(words.end(), more.begin(), more.end());
    return table_of(predicted(words))[0];
  };
  EXPECT_EQ(header({"--all-columns"}),
            (Words{"label", "score", "uncertainty", "entropy", "evidence", "variance", "mutual_information"}));
  EXPECT_EQ(header({"--keep", "city,id"}), (Words{"id", "city", "label", "score", "uncertainty"}));
  EXPECT_EQ(header({"--keep-all"}),
            (Words{"id", "day", "age", "income", "city", "plan", "bought", "label", "score", "uncertainty"}));
  // Each kind is the column of its name; evidence is its negative logarithm.
  write_file("few.csv", customers(60, 8));
  const Table all = table_of(predicted({"few.csv", "--all-columns"}));
  const std::vector<std::pair<std::string, std::size_t>> kinds = {
      {"entropy", 3}, {"evidence", 4}, {"variance", 5}, {"mutual-information", 6}};
  for (const auto& [kind, column] : kinds) {
    SCOPED_TRACE(kind);
    const Table rows = table_of(predicted({"few.csv", "--uncertainty", kind}));
    for (std::size_t row = 1; row < 50; ++row) {
      const double value = std::stod(all[row][column]);
      // Printed to 17 digits.
      const double expected = kind == "evidence" ? -std::log(value) : value;
      EXPECT_NEAR(std::stod(rows[row][2]), expected, 1e-12 * std::abs(expected));
      EXPECT_EQ(rows[row][1], all[row][1]);
    }
  }
  expect_refused({"predict", "model", "data.csv", "--keep", "score", "-o", "x.csv"}, {"\"score\""});
  expect_refused({"predict", "model", "data.csv", "--keep", "ciyt", "-o", "x.csv"}, {"\"ciyt\"", "\"city\""});
  expect_refused({"predict", "model", "data.csv", "--uncertainty", "doubt", "-o", "x.csv"}, {"--uncertainty"});
  expect_trained(train("data.csv", "model", {"--overwrite", "--model", "ensemble", "--members", "2"}));
  EXPECT_EQ(header({"--all-columns"}),
            (Words{"label", "score", "uncertainty", "entropy", "variance", "mutual_information"}));
  expect_refused({"predict", "model", "data.csv", "--uncertainty", "evidence", "-o", "x.csv"},
                 {"evidence is of postnet and natpn models"});
}

TEST_F(Train, TauKeepsAShareOfTheNegatives) {
  const auto counts = [&](const std::string& tau) {
    expect_trained(train("data.csv", "model", {"--overwrite", "--epochs", "1", "--tau", tau}));
    const Json metrics = Json::parse(file_text("model/model.json"))["metrics"];
    return std::pair(metrics["training_negatives"].get<double>(), metrics["training_positives"].get<double>());
  };
  const auto [negatives, positives] = counts("1");
  const auto [kept, same_positives] = counts("4");
  EXPECT_EQ(positives, same_positives);
  // Five standard deviations of a binomial count.
  EXPECT_NEAR(kept, negatives / 4, 5 * std::sqrt(negatives * 0.25 * 0.75));
  expect_refused(train("data.csv", "other", {"--tau", "0.5"}), {"tau is 0.5"});
}

TEST_F(Train, SaysWhatIsWrongWithTheTable) {
  const std::string text = file_text("data.csv");
  const auto refused = [&](const std::string& data, const Words& more, const Words& named) {
    write_file("bad.csv", data);
    expect_refused(train("bad.csv", "other", more), named);
  };
  expect_refused(train("none.csv", "other"), {"none.csv"});
  expect_refused({"train", "data.csv", "-o", "other", "--label", "bougth"},
                 {"data.csv: has no column \"bougth\" (--label); did you mean \"bought\"?"});
  expect_refused({"train", "data.csv", "-o", "other"}, {"--label COLUMN"});
  expect_refused(train("data.csv", "other", {"--drop", "cty"}), {"\"cty\" (--drop); did you mean \"city\"?"});
  expect_refused(train("data.csv", "other", {"--numeric", "city"}), {"city"});
  expect_refused(train("data.csv", "other", {"--label", "city"}), {"city"});
  refused("", {}, {"bad.csv"});
  refused("id,day,age,income,city,plan,bought\n", {}, {"bad.csv"});
  // One class.
  std::string one_class = "id,age,bought\n";
  for (int row = 0; row < 100; ++row) one_class += std::to_string(row) + "," + std::to_string(row % 7) + ",0\n";
  refused(one_class, {}, {"limen: bad.csv: column \"bought\": has only negative rows"});
  // A label that is missing, or of neither class.
  refused(text + "7,2024-01-01,30,1,city1,0,\n", {}, {"bought", "2001"});
  refused(text + "7,2024-01-01,30,1,city1,0,2\n", {},
          {"bad.csv: row 2001: column \"bought\": \"2\" is of neither class, must be 0/1"});
  // Nothing to learn from.
  refused("id,same,bought\n1,5,0\n2,5,1\n3,5,0\n4,5,1\n", {},
          {"no column can be used", "\"same\" left out: every row has 5"});
  // Numbers that are none.
  refused(replaced(text, ",city1,", ",city1,x"), {"--numeric", "plan"}, {"plan", "x"});
  // Options that cannot be.
  expect_refused(train("data.csv", "other", {"--epochs", "0"}), {"epochs is 0"});
  expect_refused(train("data.csv", "other", {"--latent", "0"}), {"latent is 0"});
  expect_refused(train("data.csv", "other", {"--validation", "1"}), {"--validation"});
  expect_refused(train("data.csv", "other", {"--device", "abacus"}), {"abacus"});
  expect_refused(train("data.csv", "other", {"--network", "abacus"}), {"--network"});
  expect_refused(train("data.csv", "other", {"--prior", "1"}), {"--prior"});
  expect_refused(train("data.csv", "other", {"--model", "oracle"}), {"--model"});
  expect_refused(train("data.csv", "data.csv"), {"data.csv: exists and is not a folder"});
}

TEST_F(Train, ColumnsThatSayNothingAreLeftOutWithANote) {
  Table rows = table_of(file_text("data.csv"));
  std::string text = "constant,missing,id,age,plan,bought\n";
  for (std::size_t row = 1; row < rows.size(); ++row) {
    text += "7,," + rows[row][0] + "," + rows[row][2] + "," + rows[row][5] + "," + rows[row][6] + "\n";
  }
  write_file("odd.csv", text);
  const std::string out = output_of(train("odd.csv", "model"));
  EXPECT_THAT(out, HasSubstr("\nconstant: "));
  EXPECT_THAT(out, HasSubstr("\nmissing: "));
  // They are not needed later.
  write_file("few.csv", "plan,age\n1,40\n2,\n");
  EXPECT_EQ(lines_of(predicted({"few.csv"})), 3U);
}

TEST_F(Train, PredictsWhatTrainingHadNot) {
  expect_trained(train("data.csv", "model"));
  write_file("new.csv", "plan,city,income,age,day\n1,atlantis,1e300,-5,2031-01-01\n9,,,,2024-02-03\n");
  const Table rows = table_of(predicted({"new.csv"}));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], (Words{"score", "uncertainty"}));  // no label there
  for (std::size_t row = 1; row < 3; ++row) {
    EXPECT_GE(std::stod(rows[row][0]), 0);
    EXPECT_LE(std::stod(rows[row][0]), 1);
    EXPECT_TRUE(std::isfinite(std::stod(rows[row][1])));
  }
  write_file("none.csv", "plan,city,income,age,day\n");
  EXPECT_EQ(run({"predict", "model", "none.csv", "-o", "x.csv"}).exit_code, 0);
  EXPECT_EQ(file_text("x.csv"), "score,uncertainty\n");
}

TEST_F(Train, TablesThatAreNotTheModelsAreRefused) {
  expect_trained(train("data.csv", "model"));
  const auto refused = [&](const std::string& data, const Words& named) {
    write_file("bad.csv", data);
    expect_refused({"predict", "model", "bad.csv", "-o", "x.csv"}, named);
  };
  refused("plan,town,income,age,day\n1,a,1,1,2024-01-01\n", {"bad.csv: has no column \"city\", which the model needs"});
  refused("plan,cty,income,age,day\n1,a,1,1,2024-01-01\n", {"\"city\"", "did you mean \"cty\"?"});
  refused("plan,city,income,age,day\n1,a,1,old,2024-01-01\n", {"bad.csv", "age", "old"});
  refused("plan,city,income,age,day\n1,a,1,30,2024-01-01\n1,a,1,30,tomorrow\n", {"day", "2", "tomorrow"});
  refused("plan,city,income,age,day,bought\n1,a,1,30,2024-01-01,maybe\n", {"bought", "maybe"});
  expect_refused({"predict", "nowhere", "data.csv", "-o", "x.csv"}, {"nowhere/model.json: cannot be read"});
  expect_refused({"predict", "data.csv", "data.csv", "-o", "x.csv"}, {"data.csv/model.json: cannot be read"});
  std::string weights = file_text("model/weights.safetensors");
  weights.back() = static_cast<char>(weights.back() ^ 1);
  write_file("model/weights.safetensors", weights);
  expect_refused({"predict", "model", "data.csv", "-o", "x.csv"}, {"model: weights.safetensors: does not belong"});
}

TEST_F(Train, ManyCategoriesAreHashed) {
  std::mt19937 random(4);
  std::string text = "user,age,bought\n";
  for (int row = 0; row < 200'000; ++row) {
    const auto age = random() % 50;
    text += "user" + std::to_string(row) + "," + std::to_string(age) + "," + (age > 30 ? "1" : "0") + "\n";
  }
  write_file("users.csv", text);
  const std::string out = output_of({"train", "users.csv", "-o", "model", "--label", "bought", "--epochs", "1",
                                     "--hidden", "8", "--max-vocabulary", "1000"});
  EXPECT_THAT(out, HasSubstr("hash"));
  write_file("new.csv", "user,age\nsomebody,40\n");
  EXPECT_EQ(lines_of(predicted({"new.csv"})), 2U);
}

TEST_F(Train, AnOlderModelStaysUntilTheNewOneIsBegun) {
  expect_trained(train("data.csv", "model", {"--epochs", "1"}));
  const std::string old = file_text("model/model.json");
  expect_refused(train("data.csv", "model"), {"model: holds a model already; give another folder, --resume or"});
  // Mistakes were found only after the older model had been removed.
  expect_refused(train("data.csv", "model", {"--overwrite", "--label", "nothing"}), {"nothing"});
  expect_refused(train("data.csv", "model", {"--overwrite", "--latent", "0"}), {"latent"});
  expect_refused(train("data.csv", "model", {"--resume"}), {"model: there is no checkpoint to resume from; its"});
  expect_refused(train("data.csv", "other", {"--resume"}), {"other: there is no checkpoint to resume from"});
  EXPECT_EQ(file_text("model/model.json"), old);
  expect_trained(train("data.csv", "model", {"--overwrite", "--seed", "7"}));
  EXPECT_NE(file_text("model/model.json"), old);
}

TEST_F(Train, ALostLossEndsWithCodeOne) {
  const RunResult result = run(train("data.csv", "model", {"--learning-rate", "1e30", "--clip", "0"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("limen: model: training stopped in epoch "));
  EXPECT_THAT(result.err, HasSubstr("Try a learning rate of 0.001, gradients clipped at 1"));
}

TEST_F(Train, JsonIsAllThatItPrints) {
  const RunResult result = run(train("data.csv", "model", {"--json"}));
  EXPECT_EQ(result.err, "");
  const Json report = Json::parse(result.out);
  EXPECT_EQ(report["rows"], 2000);
  EXPECT_EQ(report["training_rows"].get<int>() + report["validation_rows"].get<int>(), 2000);
  EXPECT_EQ(report["epochs"], 3 + 2 + 5);  // of the densities at first, of all, of the densities in the end
  const Json counts = json_of({"predict", "model", "data.csv", "-o", "p.csv", "--json"});
  EXPECT_EQ(counts["rows"], 2000);
  EXPECT_EQ(counts["uncertainty"], "entropy");
  EXPECT_GT(counts["positives"], 200);
}

TEST_F(Train, OtherRowsMayChooseTheEpoch) {
  write_file("validation.csv", customers(500, 9));
  const Json report = json_of(train("data.csv", "model", {"--json", "--validation-data", "validation.csv"}));
  EXPECT_EQ(report["training_rows"], 2000);
  EXPECT_EQ(report["validation_rows"], 500);
  write_file("validation.csv", "id,day,age,income,city,plan,bought\n1,2024-01-01,40,2,city1,1,1\n");
  expect_refused(train("data.csv", "other", {"--validation-data", "validation.csv"}),
                 {"validation rows: all 1 are positive"});
}

// model.json but for what depends on the clock.
Json timeless(const std::string& text) {
  Json card = Json::parse(text);
  for (Json& epoch : card["history"]) {
    epoch.erase("seconds");
    epoch.erase("rows_per_second");
  }
  return card;
}

TEST_F(Train, KilledAnywhereItGoesOnToTheSameModel) {
  write_file("data.csv", customers(40'000, 5));
  const Words flags = {"--epochs", "8",          "--hidden",  "64,32",   "--checkpoint-seconds",
                       "0.05",     "--patience", "100",       "--split", "0.8,0.2",
                       "--model",  "ensemble",   "--members", "2",       "--dropout",
                       "0.1"};
  const auto start = std::chrono::steady_clock::now();
  expect_trained(train("data.csv", "whole", flags));
  // Kills come at any moment of a run, however slow the machine is.
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
  std::mt19937 random(6);
  std::uniform_real_distribution<double> share(0.2, 0.9);
  int kills = 0;
  int resumed = 0;
  bool done = false;
  for (int run_number = 0; run_number < 60 && !(done && kills == 10); ++run_number) {
    if (done) std::filesystem::remove_all("broken");  // finished before the tenth kill: once more
    Words words = train("data.csv", "broken", flags);
    const bool has_checkpoint = std::filesystem::exists("broken/checkpoint.safetensors");
    if (has_checkpoint) words.emplace_back("--resume");
    resumed += has_checkpoint ? 1 : 0;
    write_file(streams() / "in", "");
    const RunningProgram program = start_limen(words, streams() / "in", streams() / "out", streams() / "err");
    if (kills < 10) {
      std::this_thread::sleep_for(share(random) * whole);
      ::kill(program.id(), SIGKILL);
    }
    const int ended = program.wait();
    ASSERT_THAT(ended, AnyOf(0, -SIGKILL)) << file_text(streams() / "err");
    kills += ended == -SIGKILL ? 1 : 0;
    // Killed behind the last act: then all is there.
    done = ended == 0 ||
           (std::filesystem::exists("broken/model.json") && !std::filesystem::exists("broken/checkpoint.safetensors"));
    if (!done) continue;
    EXPECT_TRUE(file_text("broken/weights.safetensors") == file_text("whole/weights.safetensors"));
    EXPECT_EQ(timeless(file_text("broken/model.json")), timeless(file_text("whole/model.json")));
    EXPECT_EQ(lines_of(file_text("broken/training.jsonl")), 16U);
    // What a killed run was writing is removed by the next one.
    for (const std::string& name : file_names()) EXPECT_THAT(name, Not(HasSubstr(".part")));
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(kills, 10);
  EXPECT_GE(resumed, 3);
}

TEST_F(Train, EitherNetworkPredictsTheModelOfTheOther) {
  expect_trained(train("data.csv", "model", {"--split", "0.6,0.4"}));
  expect_trained(train("data.csv", "plain", {"--split", "0.6,0.4", "--network", "plain"}));
  EXPECT_THAT(file_text("plain/model.json"), HasSubstr("\"network\": \"plain\""));
  const auto numbers = [&](const char* model, const char* network) {
    const std::string text =
        output_of({"predict", model, "data.csv", "--part", "holdout", "--network", network, "-o", "-"});
    EXPECT_EQ(table_of(text)[0], (Words{"label", "score", "uncertainty"}));
    return numbers_of(text);
  };
  const std::vector<double> reference = numbers("model", "fused");
  ASSERT_GT(reference.size(), 2000U);
  // A model is predicted by the other network to single precision; trained by the other one, rounding has gone through
  // some hundred steps of Adam.
  const std::vector<std::tuple<const char*, const char*, double>> others = {
      {"model", "plain", 1e-4}, {"plain", "fused", 0.05}, {"plain", "plain", 0.05}};
  for (const auto& [model, network, tolerance] : others) {
    SCOPED_TRACE(std::string(model) + " by " + network);
    const std::vector<double> got = numbers(model, network);
    ASSERT_EQ(got.size(), reference.size());
    for (std::size_t at = 0; at < got.size(); ++at) EXPECT_NEAR(got[at], reference[at], tolerance) << at;
    EXPECT_NE(got, reference);
  }
}

TEST_F(Train, ComputesOnTheProcessorUnlessThereIsAnotherDevice) {
  expect_refused(train("data.csv", "other", {"--device", "cuda", "--network", "fused"}), {"must be plain on cuda"});
  const RunResult cuda = run(train("data.csv", "model", {"--device", "cuda"}));
  if (cuda.exit_code == 0) GTEST_SKIP() << "there is a CUDA device";
  expect_refused(train("data.csv", "other", {"--device", "cuda"}), {"device \"cuda\": ", "compute on cpu"});
  expect_trained(train("data.csv", "model"));
  expect_refused({"predict", "model", "data.csv", "--device", "cuda", "-o", "x.csv"}, {"compute on cpu"});
  expect_refused({"predict", "model", "data.csv", "--device", "abacus", "-o", "x.csv"}, {"--device"});
}

TEST_F(Train, ACheckpointGoesOnWithTheOtherNetwork) {
  write_file("data.csv", customers(20'000, 5));
  const Words flags = {"--epochs", "3", "--warm-up", "1", "--fine-tune", "1", "--checkpoint-seconds", "0.02"};
  write_file(streams() / "in", "");
  Words slow = flags;
  slow.insert(slow.end(), {"--network", "plain"});
  const RunningProgram program =
      start_limen(train("data.csv", "model", slow), streams() / "in", streams() / "out", streams() / "err");
  for (int step = 0; step < 3000 && !std::filesystem::exists("model/checkpoint.safetensors"); ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(program.id(), SIGKILL);
  ASSERT_EQ(program.wait(), -SIGKILL);
  Words rest = flags;
  rest.insert(rest.end(), {"--resume", "--network", "fused"});
  expect_trained(train("data.csv", "model", rest));
  EXPECT_THAT(file_text("model/model.json"), HasSubstr("\"network\": \"fused\""));
  EXPECT_FALSE(std::filesystem::exists("model/checkpoint.safetensors"));
}

TEST_F(Train, ACheckpointOfOtherFlagsIsRefused) {
  write_file("data.csv", customers(20'000, 5));
  const Words flags = {"--epochs", "50", "--patience", "100", "--checkpoint-seconds", "0.02"};
  write_file(streams() / "in", "");
  const RunningProgram program =
      start_limen(train("data.csv", "model", flags), streams() / "in", streams() / "out", streams() / "err");
  for (int step = 0; step < 1000 && !std::filesystem::exists("model/checkpoint.safetensors"); ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(program.id(), SIGKILL);
  ASSERT_EQ(program.wait(), -SIGKILL);
  for (const std::string& name : file_names()) {
    if (name.find(".part") != std::string::npos) std::filesystem::remove(name);
  }
  Words other = flags;
  other.insert(other.end(), {"--resume", "--seed", "3"});
  expect_refused(train("data.csv", "model", other), {"model: the checkpoint is of other data or other options"});
  expect_refused(train("data.csv", "model", flags), {"model: holds a model already"});
  std::string bytes = file_text("model/checkpoint.safetensors");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 16);
  write_file("model/checkpoint.safetensors", bytes);
  other = flags;
  other.emplace_back("--resume");
  expect_refused(train("data.csv", "model", other), {"model: the checkpoint is damaged"});
}

// The features were fitted on other rows than the network was, or a part was taken of other rows than were checked.
TEST_F(Train, ATableThatChangesBetweenPassesIsRefused) {
  const std::string rows = customers(500);
  Words words = train("t1.csv", "other");
  words.insert(words.begin() + 2, "t2.csv");
  expect_change_noticed(words, rows);
  expect_trained(train("data.csv", "model"));
  expect_change_noticed({"predict", "model", "t1.csv", "t2.csv", "-o", "out.csv"}, rows);
  EXPECT_FALSE(std::filesystem::exists("out.csv"));
}

/// Rows of the data sets that schemas describe, as their files have them.
std::string rows_of_schema(const std::string& name) {
  std::mt19937 random(3);
  const auto below = [&](unsigned limit) { return std::to_string(random() % limit); };
  std::string text;
  if (name == "criteo-x1") {
    text = "label";
    for (int at = 1; at <= 13; ++at) text += ",I" + std::to_string(at);
    for (int at = 1; at <= 26; ++at) text += ",C" + std::to_string(at);
    text += "\n";
  } else if (name == "avazu-x1") {
    text = "label";
    for (int at = 1; at <= 22; ++at) text += ",feat_" + std::to_string(at);
    text += "\n";
  } else if (name == "avazu") {
    text =
        "id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,app_category,device_id,"
        "device_ip,device_model,device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21\n";
  }
  for (int row = 0; row < 300; ++row) {
    const unsigned group = static_cast<unsigned>(random() % 2);
    const std::string label = random() % 4 < 1 + 2 * group ? "1" : "0";
    const std::string separator = name == "criteo" ? "\t" : ",";
    std::vector<std::string> fields;
    if (name == "avazu") {
      fields = {std::to_string(1000 + row), label, "1410210" + below(9), "g" + std::to_string(group)};
      for (int at = 0; at < 20; ++at) fields.push_back(below(5));
    } else {
      fields = {label};
      for (int at = 0; name != "avazu-x1" && at < 13; ++at)
        fields.push_back(name == "criteo" ? below(100) : "0." + below(1000));
      fields.push_back(std::to_string(group));
      for (int at = 1; at < (name == "avazu-x1" ? 22 : 26); ++at) fields.push_back(below(6));
    }
    for (std::size_t at = 0; at < fields.size(); ++at) text += (at > 0 ? separator : "") + fields[at];
    text += "\n";
  }
  return text;
}

TEST_F(Train, EachSchemaIsTrainedOnWithThePresetOfThePaper) {
  for (const auto& [schema, preset] : std::vector<std::pair<std::string, std::string>>{{"criteo", "paper-criteo"},
                                                                                       {"criteo-x1", "paper-criteo"},
                                                                                       {"avazu", "paper-avazu"},
                                                                                       {"avazu-x1", "paper-avazu"}}) {
    write_file("rows.csv", rows_of_schema(schema));
    const RunResult trained = run({"train", "rows.csv", "--schema", schema, "--preset", preset, "--epochs", "2",
                                   "--batch", "64", "--min-count", "1", "-o", schema});
    ASSERT_EQ(trained.exit_code, 0) << schema << trained.err;
    const Json card = Json::parse(file_text(schema + "/model.json"));
    EXPECT_EQ(card["model"]["encoder"], "sam");
    EXPECT_EQ(card["model"]["sam"], "3a");
    EXPECT_EQ(card["model"]["embedding"], 10);
    EXPECT_EQ(card["model"]["flows"], 6);
    EXPECT_EQ(card["model"]["hidden"], Json::array());
    EXPECT_EQ(card["model"]["blocks"], preset == "paper-criteo" ? 5 : 4);
    EXPECT_EQ(card["training"]["embedding_l2"], preset == "paper-criteo" ? 1e-5 : 0.01);
    EXPECT_EQ(card["training"]["schedule"], "plateau");
    EXPECT_EQ(card["training"]["batch"], 64);  // a flag wins over the preset
    const RunResult predicted = run({"predict", schema, "rows.csv", "-o", "p.csv"});
    EXPECT_EQ(predicted.exit_code, 0) << schema << predicted.err;
    EXPECT_EQ(lines_of(file_text("p.csv")), 301U);
  }
}

TEST_F(Train, AnUnknownPresetIsRefusedByName) {
  const RunResult refused = run(train("data.csv", "model", {"--preset", "paper-amazon"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("paper-ecom"));
}

}  // namespace
}  // namespace limen::cli::test
