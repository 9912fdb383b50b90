// SPDX-License-Identifier: MIT
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrow_files.h"
#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/counts.h"
#include "limen/table/predictions.h"
#include "numbers.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::array;
using test::NamedArrays;
using ::testing::UnorderedElementsAre;

constexpr std::array<const char*, 4> kExtensions = {"csv", "tsv", "parquet", "arrow"};

// Decision: whether the score is positive. Level: the uncertainty, rounded down.
void decide_by_sign(const DecisionBatch& batch) {
  for (std::size_t row = 0; row < batch.score.size(); ++row) {
    batch.decision[row] = batch.score[row] > 0 ? 1 : 0;
    batch.level[row] = static_cast<std::int32_t>(batch.uncertainty[row]);
  }
}

std::string with_tabs(std::string text) {
  for (char& c : text) c = c == ',' ? '\t' : c;
  return text;
}

class ArrowAppend : public ::testing::Test {
 protected:
  // Writes a Parquet or Arrow IPC file by its extension.
  std::string write(const std::string& name, const NamedArrays& columns, std::int64_t chunk_rows = 1 << 20) {
    if (name.ends_with("parquet")) {
      test::write_parquet(folder_.path(name), *test::table(columns), {.chunk_rows = chunk_rows});
    } else {
      test::write_ipc(folder_.path(name), *test::table(columns), {.chunk_rows = chunk_rows});
    }
    return folder_.path(name);
  }

  // All columns of a Parquet or Arrow IPC file.
  std::shared_ptr<arrow::Table> read(const std::string& name) {
    const auto file = test::require(arrow::io::ReadableFile::Open(folder_.path(name)));
    if (name.ends_with("arrow")) {
      return test::require(test::require(arrow::ipc::RecordBatchFileReader::Open(file))->ToTable());
    }
    parquet::arrow::FileReaderBuilder builder;
    test::require(builder.Open(file));
    return test::require(test::require(builder.Build())->ReadTable());
  }

  void expect_columns(const std::string& name, const NamedArrays& expected) {
    const std::shared_ptr<arrow::Table> rows = read(name);
    ASSERT_EQ(rows->num_columns(), static_cast<int>(expected.size())) << name;
    for (int column = 0; column < rows->num_columns(); ++column) {
      const auto& [column_name, values] = expected[static_cast<std::size_t>(column)];
      EXPECT_EQ(rows->field(column)->name(), column_name);
      EXPECT_TRUE(rows->column(column)->Equals(arrow::ChunkedArray(values)))
          << name << ", " << column_name << ": " << rows->column(column)->ToString();
    }
  }

  std::string refusal(const std::string& input, const std::string& output, const AppendDecisionsOptions& options = {}) {
    return folder_.without_folder(test::message_of<InvalidInput>(
        [&] { append_decisions({input}, folder_.path(output), options, decide_by_sign); }));
  }

  test::TemporaryFolder folder_;
};

// One table, written in each format, copied into each: text comes out as text, types as types.
TEST_F(ArrowAppend, EveryPairOfFormatsCarriesTheOtherColumnsAlong) {
  const std::string text =
      "id,score,uncertainty,note,flag,code\n"
      "1,0.5,1.5,a,true,007\n"
      ",-0.25,2,\"b\"\"c\",,10\n"
      "3,7,0.125,\"line\nbreak\",false,08\n";
  const NamedArrays columns = {{"id", array(arrow::int64(), "[1, null, 3]")},
                               {"score", array(arrow::float64(), "[0.5, -0.25, 7]")},
                               {"uncertainty", array(arrow::float64(), "[1.5, 2, 0.125]")},
                               {"note", array(arrow::utf8(), R"(["a", "b\"c", "line\nbreak"])")},
                               {"flag", array(arrow::boolean(), "[true, null, false]")},
                               {"code", array(arrow::utf8(), R"(["007", "10", "08"])")}};
  const std::string expected_text =
      "id,score,uncertainty,note,flag,code,decision,level\n"
      "1,0.5,1.5,a,true,007,1,1\n"
      ",-0.25,2,\"b\"\"c\",,10,0,2\n"
      "3,7,0.125,\"line\nbreak\",false,08,1,0\n";
  NamedArrays expected = columns;
  expected.emplace_back("decision", array(arrow::uint8(), "[1, 0, 1]"));
  expected.emplace_back("level", array(arrow::int32(), "[1, 2, 0]"));
  folder_.write("in.csv", text);
  folder_.write("in.tsv", with_tabs(text));
  write("in.parquet", columns, 2);
  write("in.arrow", columns, 2);
  for (const std::string from : kExtensions) {
    for (const std::string to : kExtensions) {
      SCOPED_TRACE(from + " -> " + to);
      const RowCounts result =
          append_decisions({folder_.path("in." + from)}, folder_.path("out." + to), {}, decide_by_sign);
      EXPECT_EQ(result.rows, 3u);
      if (to == "csv") {
        EXPECT_EQ(folder_.read("out.csv"), expected_text);
      } else if (to == "tsv") {
        EXPECT_EQ(folder_.read("out.tsv"), with_tabs(expected_text));
      } else {
        expect_columns("out." + to, expected);
      }
    }
  }
}

TEST_F(ArrowAppend, KeepsEveryTypeFromParquetToParquet) {
  const auto list = arrow::list(arrow::field("element", arrow::int8()));
  const NamedArrays columns = {{"score", array(arrow::float32(), "[0.1, 2]")},
                               {"uncertainty", array(arrow::int16(), "[1, 2]")},
                               {"when", array(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), "[1, null]")},
                               {"price", array(arrow::decimal128(10, 2), R"(["1.25", "-3.50"])")},
                               {"tags", array(list, "[[1, 2], null]")},
                               {"pair", array(arrow::struct_({arrow::field("x", arrow::utf8())}), R"([["a"], ["b"]])")},
                               {"kind", array(arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["u", "v"])")},
                               {"bytes", array(arrow::binary(), R"(["\u0001", ""])")}};
  NamedArrays expected = columns;
  expected.emplace_back("decision", array(arrow::uint8(), "[1, 1]"));
  expected.emplace_back("level", array(arrow::int32(), "[1, 2]"));
  const std::string input = write("in.parquet", columns);
  append_decisions({input}, folder_.path("out.parquet"), {}, decide_by_sign);
  expect_columns("out.parquet", expected);
  // Arrow files take no dictionary that changes from batch to batch: the values are written instead.
  append_decisions({input}, folder_.path("out.arrow"), {}, decide_by_sign);
  expected[6].second = array(arrow::utf8(), R"(["u", "v"])");
  expect_columns("out.arrow", expected);
  EXPECT_EQ(refusal(input, "out.csv"),
            "out.csv: column \"tags\": has type list<element: int8>, which text cannot hold (write Parquet)");
}

TEST_F(ArrowAppend, DropsAndRefusesRowsByNumber) {
  const NamedArrays columns = {{"id", array(arrow::int8(), "[1, 2, 3, 4]")},
                               {"score", array(arrow::float32(), "[1, NaN, 3, 4]")},
                               {"uncertainty", array(arrow::int8(), "[1, 2, 3, null]")}};
  for (const std::string name : {"in.parquet", "in.arrow"}) {
    const std::string input = write(name, columns, 2);
    EXPECT_EQ(refusal(input, "out.csv"), name + ": row 2: column \"score\": \"nan\" is a missing value");
    const RowCounts result = append_decisions({input}, folder_.path("out.csv"), {.drop_missing = true}, decide_by_sign);
    EXPECT_EQ(result.rows, 2u);
    EXPECT_EQ(result.rows_dropped, 2u);
    EXPECT_EQ(folder_.read("out.csv"), "id,score,uncertainty,decision,level\n1,1,1,1,1\n3,3,3,1,3\n");
  }
}

TEST_F(ArrowAppend, ReadsTextOfAParquetFileAsTheNumbersItStandsFor) {
  const std::string good = write("good.parquet", {{"score", array(arrow::utf8(), R"([" 0.5", "-1"])")},
                                                  {"uncertainty", array(arrow::int8(), "[1, 2]")}});
  append_decisions({good}, folder_.path("out.csv"), {}, decide_by_sign);
  EXPECT_EQ(folder_.read("out.csv"), "score,uncertainty,decision,level\n 0.5,1,1,1\n-1,2,0,2\n");
  const std::string bad = write("bad.parquet", {{"score", array(arrow::utf8(), R"(["0.5", "x"])")},
                                                {"uncertainty", array(arrow::int8(), "[1, 2]")}});
  EXPECT_EQ(refusal(bad, "out.csv"), "bad.parquet: row 2: column \"score\": \"x\" is not a number");
}

TEST_F(ArrowAppend, SeveralInputsMustHaveTheSameTypes) {
  const auto file = [&](const std::string& name, const std::shared_ptr<arrow::DataType>& type) {
    return write(name, {{"score", array(arrow::float32(), "[1]")},
                        {"uncertainty", array(arrow::float32(), "[2]")},
                        {"id", array(type, "[3]")}});
  };
  const std::string a = file("a.parquet", arrow::int32());
  const std::string b = file("b.arrow", arrow::int32());
  const std::string c = file("c.parquet", arrow::int64());
  EXPECT_EQ(append_decisions({a, b}, folder_.path("out.parquet"), {}, decide_by_sign).rows, 2u);
  EXPECT_EQ(folder_.without_folder(test::message_of<InvalidInput>([&] {
    append_decisions({a, c}, folder_.path("out.parquet"), {}, decide_by_sign);
  })),
            "c.parquet: column \"id\": has type int64, in a.parquet it has type int32");
  EXPECT_EQ(read("out.parquet")->num_rows(), 2);
}

TEST_F(ArrowAppend, LeavesNothingBehindWhenAnythingFails) {
  const std::string input = write(
      "in.parquet", {{"score", array(arrow::float32(), "[1, 2]")}, {"uncertainty", array(arrow::float32(), "[2, 3]")}});
  for (const std::string output : {"out.parquet", "out.arrow", "out.csv"}) {
    EXPECT_THROW(append_decisions({input}, folder_.path(output), {},
                                  [](const DecisionBatch&) { throw std::runtime_error("no"); }),
                 std::runtime_error);
  }
  EXPECT_THAT(folder_.names(), UnorderedElementsAre("in.parquet"));
  EXPECT_EQ(folder_.without_folder(test::message_of<IoError>(
                [&] { append_decisions({input}, folder_.path("none/out.parquet"), {}, decide_by_sign); })),
            "none/out.parquet: cannot be written: No such file or directory");
  EXPECT_EQ(test::message_of<IoError>(
                [&] { append_decisions({input}, "/dev/full", {.output_format = Format::kParquet}, decide_by_sign); }),
            "/dev/full: cannot be written: No space left on device");
  append_decisions({input}, input, {}, decide_by_sign);
  EXPECT_EQ(read("in.parquet")->num_columns(), 4);
}

TEST_F(ArrowAppend, ReadsCountsOfAnyFormat) {
  const NamedArrays columns = {{"level", array(arrow::int8(), "[0, 1]")},
                               {"score", array(arrow::float32(), "[0.5, 0.25]")},
                               {"positives", array(arrow::int64(), "[1, 2]")},
                               {"rows", array(arrow::uint32(), "[3, 4]")},
                               {"uncertainty", array(arrow::float64(), "[0, 0.1]")}};
  for (const std::string name : {"c.parquet", "c.arrow"}) {
    const std::vector<CountedBin> bins = read_counts(write(name, columns));
    ASSERT_EQ(bins.size(), 2u);
    EXPECT_EQ(bins[1].level, 1);
    EXPECT_EQ(bins[1].score, 0.25);
    EXPECT_EQ(bins[1].positives, 2);
    EXPECT_EQ(bins[1].rows, 4);
    EXPECT_EQ(bins[1].uncertainty, 0.1);
  }
  NamedArrays bad = columns;
  bad[2].second = array(arrow::int64(), "[1, 5]");
  const auto refused = [&] {
    return folder_.without_folder(test::message_of<InvalidInput>([&] { (void)read_counts(write("c.parquet", bad)); }));
  };
  EXPECT_EQ(refused(), "c.parquet: row 2: column \"positives\": there are 5 positives in 4 rows");
  bad[2].second = array(arrow::int64(), "[null, 5]");
  EXPECT_EQ(refused(), "c.parquet: row 1: column \"positives\": the value is missing or not finite");
  bad[2].second = array(arrow::utf8(), R"(["1", "2"])");
  EXPECT_EQ(refused(), "c.parquet: column \"positives\": has type string, must be a number");
}

// From CSV the batch that is copied had no columns, so no length, and all rows were lost.
TEST_F(ArrowAppend, NoCopiedColumnsAreNoReasonToLoseRows) {
  (void)folder_.write("x.csv", "a,b\n1,x\n2,y\n3,z\n");
  write("x.parquet", {{"a", array(arrow::float64(), "[1, 2, 3]")}, {"b", array(arrow::utf8(), R"(["x", "y", "z"])")}});
  for (const std::string input : {"x.csv", "x.parquet"}) {
    for (const bool all : {true, false}) {
      SCOPED_TRACE(input + (all ? ", all rows" : ", some rows"));
      AppendColumnsOptions options;
      options.read.columns = {"a"};
      options.keep = std::vector<std::string>();
      const RowCounts result =
          append_columns({folder_.path(input)}, folder_.path("y.parquet"), options, {{"double", AddedType::kDouble}},
                         [&](const Frame& frame, std::span<AddedValues> values, std::span<std::uint8_t> keep) {
                           const auto& numbers = std::get<NumberValues>(frame.columns[0].values);
                           for (std::size_t row = 0; row < frame.num_rows; ++row) {
                             std::get<std::vector<double>>(values[0])[row] = 2 * numbers[row];
                             keep[row] = all || numbers[row] > 1.5 ? 1 : 0;
                           }
                         });
      const std::shared_ptr<arrow::Table> written = read("y.parquet");
      EXPECT_EQ(result.rows, all ? 3U : 2U);
      ASSERT_EQ(written->num_columns(), 1);
      EXPECT_EQ(written->num_rows(), all ? 3 : 2);
      EXPECT_TRUE(written->column(0)->chunk(0)->Equals(array(arrow::float64(), all ? "[2, 4, 6]" : "[4, 6]")));
    }
  }
}

}  // namespace
}  // namespace limen::table
