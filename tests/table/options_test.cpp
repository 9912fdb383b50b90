// SPDX-License-Identifier: MIT
// What is the same for every consumer: how labels and missing values are read, and what names of outputs say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "limen/table/predictions.h"
#include "limen/table/write_table.h"
#include "numbers.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::numbers;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TableOptions : public ::testing::Test {
 protected:
  // The table as text and as Parquet gives the same labels, or the same cause.
  std::vector<std::uint8_t> labels(const std::string& values, const PredictionOptions& options = {}) {
    const std::string csv = folder_.write("t.csv", "score,uncertainty,label\n" + values);
    append_columns(csv, folder_.path("t.parquet"), {}, {}, [](const Frame&, auto, auto) {});
    const auto read = [&](const std::string& path) {
      const Predictions rows = read_predictions(path, options);
      return std::vector<std::uint8_t>(rows.label.begin(), rows.label.end());
    };
    const std::vector<std::uint8_t> found = read(csv);
    EXPECT_EQ(read(folder_.path("t.parquet")), found);
    return found;
  }
  Cause refusal(const std::string& values, const PredictionOptions& options = {}) {
    const std::string csv = folder_.write("t.csv", "score,uncertainty,label\n" + values);
    append_columns(csv, folder_.path("t.parquet"), {}, {}, [](const Frame&, auto, auto) {});
    const auto read = [&](const std::string& path) {
      try {
        (void)read_predictions(path, options);
      } catch (const InvalidInput& error) {
        return error.cause();
      }
      ADD_FAILURE() << "nothing was thrown";
      return Cause::kOther;
    };
    const Cause cause = read(csv);
    EXPECT_EQ(read(folder_.path("t.parquet")), cause);
    return cause;
  }

  test::TemporaryFolder folder_;
};

TEST_F(TableOptions, LabelsFollowTheOneRule) {
  EXPECT_THAT(labels("1,1,yes\n1,1,No\n"), ElementsAre(1, 0));
  EXPECT_THAT(labels("1,1,high\n1,1,low\n1,1,mid\n", {.labels = positive_value("high")}), ElementsAre(1, 0, 0));
  EXPECT_THAT(labels("1,1,>50K\n1,1,<=50K\n", {.labels = positive_value(">50K")}), ElementsAre(1, 0));
  EXPECT_THAT(labels("1,1,31\n1,1,30\n", {.labels = positive_if(">30")}), ElementsAre(1, 0));
  EXPECT_THAT(labels("1,1,2\n1,1,1\n", {.labels = positive_value("2.0")}), ElementsAre(1, 0));
  EXPECT_THAT(labels("1,1,true\n1,1,false\n", {.labels = positive_value("false")}), ElementsAre(0, 1));
}

TEST_F(TableOptions, MissingLabelsAreNeverNegatives) {
  EXPECT_EQ(refusal("1,1,high\n1,1,NA\n", {.labels = positive_value("high")}), Cause::kMissingValue);
  EXPECT_EQ(refusal("1,1,high\n1,1,?\n", {.read = {.missing = {"?"}}, .labels = positive_value("high")}),
            Cause::kMissingValue);
  EXPECT_THAT(labels("1,1,high\n1,1,NA\n1,1,low\n", {.labels = positive_value("high"), .drop_missing = true}),
              ElementsAre(1, 0));
  EXPECT_EQ(refusal("1,1,1\n1,1,x\n"), Cause::kBadLabel);
}

TEST_F(TableOptions, APositiveValueMustOccur) {
  EXPECT_EQ(refusal("1,1,high\n1,1,low\n", {.labels = positive_value("hgih")}), Cause::kPositiveNotFound);
  const std::string path = folder_.write("t.csv", "score,uncertainty,label\n1,1,high\n");
  EXPECT_THROW(for_each_batch(path, {.labels = positive_value("low")}, [](const Predictions&) {}), InvalidInput);
}

TEST_F(TableOptions, WordsForMissingCountInNumbersToo) {
  const std::string path = folder_.write("t.csv", "score;uncertainty;label\n-9;1;1\n0.5;1;0\n");
  const PredictionOptions options = {.read = {.separator = ';', .missing = {" -9 "}}, .drop_missing = true};
  EXPECT_THAT(numbers(read_predictions(path, options).score), ElementsAre(0.5));
}

TEST_F(TableOptions, NamesSayFormatAndPacking) {
  const auto named = [](const std::string& path) {
    const auto format = format_of_name(path);
    return format ? std::pair(static_cast<int>(format->format), static_cast<int>(format->packing)) : std::pair(-1, -1);
  };
  EXPECT_EQ(named("a/b.CSV"), std::pair(0, 0));
  EXPECT_EQ(named("b.tsv.zst"), std::pair(1, 2));
  EXPECT_EQ(named("b.csv.gz"), std::pair(0, 1));
  EXPECT_EQ(named("b.pq"), std::pair(2, 0));
  EXPECT_EQ(named("b.feather"), std::pair(3, 0));
  for (const std::string path : {"b", "b.gz", ".csv", "a.csv/b", "b.xlsx", ""})
    EXPECT_EQ(named(path), std::pair(-1, -1));
  for (const std::string path : {"b", "b.gz", "b.xlsx", "b.parquet.gz"}) {
    try {
      (void)output_format(folder_.path(path));
      ADD_FAILURE() << path;
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.cause(), Cause::kUnknownFormat);
      EXPECT_THAT(error.what(), HasSubstr(".feather"));
    }
  }
  EXPECT_EQ(output_format("-", {}, Format::kTsv).format, Format::kTsv);
  EXPECT_EQ(output_format("/dev/null").format, Format::kCsv);
  EXPECT_EQ(output_format(folder_.path("b.gz"), Format::kTsv).packing, Packing::kGzip);
}

TEST_F(TableOptions, PackedOutputsReadBack) {
  std::string text = "score,uncertainty,label\n";
  for (int row = 0; row < 200'000; ++row) text += std::to_string(row % 977) + ",1,0\n";
  const std::string csv = folder_.write("t.csv", text);
  constexpr std::array<std::string_view, 4> kStarts = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh", "\x04\x22\x4d\x18"};
  const std::array<std::string, 4> names = {"o.csv.gz", "o.tsv.zst", "o.csv.bz2", "o.csv.lz4"};
  for (std::size_t name = 0; name < names.size(); ++name) {
    SCOPED_TRACE(names[name]);
    append_columns(csv, folder_.path(names[name]), {}, {}, [](const Frame&, auto, auto) {});
    EXPECT_TRUE(folder_.read(names[name]).starts_with(kStarts[name]));
    EXPECT_LT(folder_.read(names[name]).size(), text.size() / 4);
    EXPECT_EQ(numbers(read_predictions(folder_.path(names[name])).score), numbers(read_predictions(csv).score));
  }
}

TEST_F(TableOptions, EmptyTablesAreCopiedWithTheAddedColumns) {
  const std::string csv = folder_.write("t.csv", "score,uncertainty,label\n");
  for (const std::string name : {"o.csv", "o.parquet", "o.arrow"}) {
    const RowCounts counts = append_decisions(csv, folder_.path(name), {}, [](const DecisionBatch&) { FAIL(); });
    EXPECT_EQ(counts.rows, 0u);
    std::vector<std::string> columns;
    for (const ColumnInfo& column : describe_columns(folder_.path(name))) columns.push_back(column.name);
    EXPECT_THAT(columns, ElementsAre("score", "uncertainty", "label", "decision", "level")) << name;
  }
}

TEST_F(TableOptions, WriteTableWritesEachFormat) {
  const std::vector<WrittenColumn> columns = {
      {"family", std::vector<std::string>{"hull", "a,b"}},
      {"flagged", std::vector<std::int64_t>{3, -4}},
      {"recall", std::vector<double>{0.1, std::numeric_limits<double>::quiet_NaN()}}};
  write_table(folder_.path("t.csv"), columns);
  EXPECT_EQ(folder_.read("t.csv"), "family,flagged,recall\nhull,3,0.1\n\"a,b\",-4,\n");
  write_table(folder_.path("t.parquet"), columns);
  EXPECT_THAT(describe_columns(folder_.path("t.parquet")),
              ElementsAre(ColumnInfo{"family", ColumnKind::kText}, ColumnInfo{"flagged", ColumnKind::kNumber},
                          ColumnInfo{"recall", ColumnKind::kNumber}));
  EXPECT_THROW(write_table(folder_.path("t.doc"), columns), InvalidInput);
}

}  // namespace
}  // namespace limen::table
