// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "arrow_files.h"
#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::array;
using test::NamedArrays;
using ::testing::ElementsAre;

std::vector<std::string> shown(const limen::Column& column) {
  std::vector<std::string> texts;
  if (const NumberValues* values = std::get_if<NumberValues>(&column.values)) {
    for (const double value : *values)
      texts.push_back(std::isnan(value) ? "." : "#" + std::to_string(value).substr(0, 4));
    return texts;
  }
  const TextValues& text = std::get<TextValues>(column.values);
  for (const std::int32_t code : text.code) {
    texts.push_back(code == TextValues::kMissing ? "." : text.distinct.at(static_cast<std::size_t>(code)));
  }
  return texts;
}

class ArrowFrames : public ::testing::TestWithParam<const char*> {
 protected:
  std::string write(const NamedArrays& columns) {
    const std::string path = folder_.path(std::string("in.") + GetParam());
    if (std::string(GetParam()) == "parquet") {
      test::write_parquet(path, *test::table(columns), {.chunk_rows = 2});
    } else {
      test::write_ipc(path, *test::table(columns), {.chunk_rows = 2});
    }
    return path;
  }
  std::vector<std::string> column(const NamedArrays& columns, const FrameReadOptions& options = {}) {
    std::vector<std::string> values;
    for_each_frame({write(columns)}, options, [&](const Frame& frame) {
      for (const std::string& value : shown(frame.columns.at(0))) values.push_back(value);
    });
    return values;
  }
  std::string refusal(const NamedArrays& columns, const FrameReadOptions& options = {}) {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { column(columns, options); }));
  }

  test::TemporaryFolder folder_;
};

TEST_P(ArrowFrames, ReadsEachType) {
  const auto read = [&](const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
    return column({{"v", array(type, json)}});
  };
  EXPECT_THAT(read(arrow::int16(), "[1, null, 3]"), ElementsAre("#1.00", ".", "#3.00"));
  EXPECT_THAT(read(arrow::float32(), "[0.5, NaN, Inf]"), ElementsAre("#0.50", ".", "."));
  EXPECT_THAT(read(arrow::boolean(), "[true, false, null]"), ElementsAre("#1.00", "#0.00", "."));
  EXPECT_THAT(read(arrow::decimal128(5, 2), R"(["1.25", null])"), ElementsAre("#1.25", "."));
  EXPECT_THAT(read(arrow::utf8(), R"(["a", "", null, "a"])"), ElementsAre("a", ".", ".", "a"));
  EXPECT_THAT(read(arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["u", "v", null, "u"])"),
              ElementsAre("u", "v", ".", "u"));
  EXPECT_THAT(read(arrow::date32(), "[0, -1, null]"), ElementsAre("1970-01-01", "1969-12-31", "."));
  EXPECT_THAT(read(arrow::timestamp(arrow::TimeUnit::MILLI), "[979477500250, -1]"),
              ElementsAre("2001-01-14 13:05:00", "1969-12-31 23:59:59"));
  EXPECT_THAT(read(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[0]"), ElementsAre("1970-01-01 00:00:00"));
}

TEST_P(ArrowFrames, ReadsAColumnAsTextOrNumberWhenTold) {
  EXPECT_THAT(column({{"v", array(arrow::int32(), "[7, null]")}}, {.text_columns = {"v"}}), ElementsAre("7", "."));
  EXPECT_THAT(column({{"v", array(arrow::utf8(), R"(["7", "?", "NA", "2.5"])")}},
                     {.read = {.missing = {"?"}}, .number_columns = {"v"}}),
              ElementsAre("#7.00", ".", ".", "#2.50"));
  EXPECT_EQ(refusal({{"v", array(arrow::utf8(), R"(["7", "8", "x"])")}}, {.number_columns = {"v"}}),
            std::string("in.") + GetParam() + ": row 3: column \"v\": \"x\" is not a number");
  EXPECT_EQ(refusal({{"v", array(arrow::list(arrow::field("element", arrow::int8())), "[[1]]")}}),
            std::string("in.") + GetParam() +
                ": column \"v\": has type list<element: int8>, must be a number, text or a time");
}

TEST_P(ArrowFrames, DescribesAndPicksColumnsAndDropsRows) {
  const NamedArrays columns = {{"a", array(arrow::int8(), "[1, 2, 3]")},
                               {"b", array(arrow::utf8(), R"(["x", null, "z"])")},
                               {"c", array(arrow::float64(), "[null, 0.5, 0.25]")}};
  EXPECT_THAT(describe_columns({write(columns)}),
              ElementsAre(ColumnInfo{"a", ColumnKind::kNumber}, ColumnInfo{"b", ColumnKind::kText},
                          ColumnInfo{"c", ColumnKind::kNumber}));
  EXPECT_THAT(column(columns, {.columns = {"c", "a"}}), ElementsAre(".", "#0.50", "#0.25"));
  EXPECT_THAT(column(columns, {.columns = {"a", "c", "b"}, .missing_rule = MissingRule::kDrop}), ElementsAre("#3.00"));
  EXPECT_EQ(refusal(columns, {.columns = {"a", "b"}, .missing_rule = MissingRule::kRefuse}),
            std::string("in.") + GetParam() + ": row 2: column \"b\": the value is missing");
}

TEST_P(ArrowFrames, AppendsColumnsToSomeOfTheInputs) {
  const std::string input = write({{"a", array(arrow::int8(), "[1, 2, 3]")},
                                   {"b", array(arrow::utf8(), R"(["x", "y", "z"])")},
                                   {"c", array(arrow::float64(), "[4, null, 8]")}});
  const auto half = [](const Frame& frame, std::span<AddedValues> added, std::span<std::uint8_t>) {
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      std::get<std::vector<double>>(added[0])[row] = std::get<NumberValues>(frame.columns[0].values)[row] / 2;
    }
  };
  const AppendColumnsOptions options = {.read = {.columns = {"c"}}, .keep = {{"b"}}};
  append_columns({input}, folder_.path("out.csv"), options, {{"half", AddedType::kDouble}}, half);
  EXPECT_EQ(folder_.read("out.csv"), "b,half\nx,2\ny,\nz,4\n");
  append_columns({input}, folder_.path("out.parquet"), {.read = {.columns = {"c"}}}, {{"half", AddedType::kDouble}},
                 half);
  std::vector<std::string> values;
  for_each_frame({folder_.path("out.parquet")}, {.columns = {"half"}},
                 [&](const Frame& frame) { values = shown(frame.columns[0]); });
  EXPECT_THAT(values, ElementsAre("#2.00", ".", "#4.00"));
}

INSTANTIATE_TEST_SUITE_P(Formats, ArrowFrames, ::testing::Values("parquet", "arrow"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace limen::table
