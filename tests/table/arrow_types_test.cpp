// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "arrow_files.h"
#include "limen/base/error.h"
#include "limen/table/append.h"
#include "limen/table/predictions.h"
#include "numbers.h"
#include "support/temporary_folder.h"

namespace limen::table {
namespace {

using test::array;
using test::NamedArrays;
using test::numbers;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ArrowTypes : public ::testing::Test {
 protected:
  // The same table as Parquet and as Arrow IPC gives the same result; the rows of the first are returned.
  Predictions read(const NamedArrays& columns, const PredictionOptions& options = {}) {
    test::write_parquet(folder_.path("preds.parquet"), *test::table(columns));
    test::write_ipc(folder_.path("preds.arrow"), *test::table(columns));
    Predictions rows = read_predictions(folder_.path("preds.parquet"), options);
    const Predictions other = read_predictions(folder_.path("preds.arrow"), options);
    EXPECT_EQ(numbers(rows.score), numbers(other.score));
    EXPECT_EQ(numbers(rows.uncertainty), numbers(other.uncertainty));
    EXPECT_EQ(rows.label, other.label);
    EXPECT_EQ(rows.weight, other.weight);
    EXPECT_EQ(rows.rows_dropped, other.rows_dropped);
    return rows;
  }

  std::string refusal(const NamedArrays& columns, const PredictionOptions& options = {}) {
    test::write_parquet(folder_.path("preds.parquet"), *test::table(columns));
    test::write_ipc(folder_.path("preds.arrow"), *test::table(columns));
    const auto message = [&](const std::string& name) {
      return folder_.without_folder(
          test::message_of<InvalidInput>([&] { (void)read_predictions(folder_.path(name), options); }));
    };
    const std::string parquet = message("preds.parquet");
    EXPECT_EQ(message("preds.arrow"), "preds.arrow" + parquet.substr(std::string("preds.parquet").size()));
    return parquet;
  }

  // Three rows of which one column is given.
  static NamedArrays with(const std::string& name, std::shared_ptr<arrow::Array> values) {
    NamedArrays columns = {{"score", array(arrow::float64(), "[1, 2, 3]")},
                           {"uncertainty", array(arrow::float64(), "[4, 5, 6]")},
                           {"label", array(arrow::int64(), "[0, 1, 0]")}};
    for (auto& [column, old] : columns) {
      if (column == name) old = values;
    }
    if (name == "weight") columns.emplace_back(name, values);
    return columns;
  }

  test::TemporaryFolder folder_;
};

TEST_F(ArrowTypes, ReadsEachTypeOfNumber) {
  const std::vector<std::shared_ptr<arrow::DataType>> types = {arrow::int8(),
                                                               arrow::uint8(),
                                                               arrow::int16(),
                                                               arrow::uint16(),
                                                               arrow::int32(),
                                                               arrow::uint32(),
                                                               arrow::int64(),
                                                               arrow::uint64(),
                                                               arrow::float16(),
                                                               arrow::float32(),
                                                               arrow::float64(),
                                                               arrow::int8(),
                                                               arrow::dictionary(arrow::int8(), arrow::float64()),
                                                               arrow::dictionary(arrow::int32(), arrow::int16())};
  for (const auto& type : types) {
    SCOPED_TRACE(type->ToString());
    EXPECT_THAT(numbers(read(with("score", array(type, "[7, 0, 100]"))).score), ElementsAre(7, 0, 100));
    EXPECT_THAT(read(with("weight", array(type, "[7, 0, 100]"))).weight, ElementsAre(7, 0, 100));
  }
  for (const auto& type : {arrow::decimal128(12, 3), arrow::decimal256(50, 3), arrow::smallest_decimal(7, 3)}) {
    SCOPED_TRACE(type->ToString());
    EXPECT_THAT(numbers(read(with("uncertainty", array(type, R"(["0.123", "-7.000", "1234.567"])"))).uncertainty),
                ElementsAre(0.123, -7, 1234.567));
  }
  EXPECT_THAT(numbers(read(with("score", array(arrow::boolean(), "[true, false, true]"))).score), ElementsAre(1, 0, 1));
}

TEST_F(ArrowTypes, KeepsSinglePrecisionAndWidensTheRest) {
  const Predictions rows = read(with("score", array(arrow::float32(), "[0.1, -2.5, 3e38]")));
  EXPECT_TRUE(rows.score.is_single());
  EXPECT_FALSE(rows.uncertainty.is_single());
  EXPECT_THAT(numbers(rows.score), ElementsAre(0.1f, -2.5f, 3e38f));
  EXPECT_FALSE(read(with("score", array(arrow::float16(), "[1, 2, 3]"))).score.is_single());
}

// Shortest single-precision digits, such as 0.1 for the float nearest to it, would read back as another number.
TEST_F(ArrowTypes, SinglePrecisionGoesThroughCsvUnchanged) {
  const Predictions rows = read({{"score", array(arrow::float32(), "[0.1, 0.7, 16777217]")},
                                 {"uncertainty", array(arrow::float32(), "[0.3, 1e-20, -2.5]")},
                                 {"label", array(arrow::boolean(), "[true, false, true]")}});
  append_decisions(folder_.path("preds.parquet"), folder_.path("preds.csv"), {}, [](const DecisionBatch&) {});
  const Predictions csv = read_predictions(folder_.path("preds.csv"));
  EXPECT_EQ(numbers(csv.score), numbers(rows.score));
  EXPECT_EQ(numbers(csv.uncertainty), numbers(rows.uncertainty));
}

TEST_F(ArrowTypes, ReadsEachTypeOfLabel) {
  const auto numeric = {arrow::int8(),    arrow::uint8(),   arrow::int16(),  arrow::uint16(),
                        arrow::int32(),   arrow::uint32(),  arrow::int64(),  arrow::uint64(),
                        arrow::float16(), arrow::float32(), arrow::float64()};
  for (const auto& type : numeric) {
    EXPECT_THAT(read(with("label", array(type, "[1, 0, 1]"))).label, ElementsAre(1, 0, 1)) << type->ToString();
  }
  EXPECT_THAT(read(with("label", array(arrow::boolean(), "[true, false, true]"))).label, ElementsAre(1, 0, 1));
  EXPECT_THAT(read(with("label", array(arrow::decimal128(5, 1), R"(["1.0", "0.0", "1.0"])"))).label,
              ElementsAre(1, 0, 1));
  for (const auto& type :
       {arrow::utf8(), arrow::large_utf8(), arrow::binary(), arrow::dictionary(arrow::int8(), arrow::utf8())}) {
    SCOPED_TRACE(type->ToString());
    EXPECT_THAT(read(with("label", array(type, R"(["1", "False", "TRUE"])"))).label, ElementsAre(1, 0, 1));
  }
}

TEST_F(ArrowTypes, RefusesATypeWithoutAPlainMeaning) {
  EXPECT_EQ(refusal(with("score", array(arrow::utf8(), R"(["1", "2", "3"])"))),
            "preds.parquet: column \"score\": has type string, must be a number");
  EXPECT_EQ(refusal(with("uncertainty", array(arrow::timestamp(arrow::TimeUnit::MICRO), "[1, 2, 3]"))),
            "preds.parquet: column \"uncertainty\": has type timestamp[us], must be a number");
  EXPECT_EQ(refusal(with("weight", array(arrow::list(arrow::field("element", arrow::float64())), "[[1], [2], [3]]"))),
            "preds.parquet: column \"weight\": has type list<element: double>, must be a number");
  EXPECT_EQ(refusal(with("label", array(arrow::date32(), "[1, 2, 3]"))),
            "preds.parquet: column \"label\": has type date32[day], must be a number, boolean or text");
  EXPECT_EQ(refusal(with("label", array(arrow::struct_({arrow::field("x", arrow::int8())}), "[[1], [2], [3]]"))),
            "preds.parquet: column \"label\": has type struct<x: int8>, must be a number, boolean or text");
  EXPECT_EQ(refusal(with("score", array(arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["1", "2", "3"])"))),
            "preds.parquet: column \"score\": has type dictionary<values=string, indices=int32, ordered=0>, must be a "
            "number");
}

TEST_F(ArrowTypes, RefusesABadValueByRowAndColumn) {
  const std::string hint = "";
  for (const auto& type : {arrow::float32(), arrow::float64(), arrow::int16(), arrow::decimal128(5, 0),
                           arrow::dictionary(arrow::int8(), arrow::int32())}) {
    const bool is_decimal = type->id() == arrow::Type::DECIMAL128;
    EXPECT_EQ(refusal(with("uncertainty", array(type, is_decimal ? R"(["1", null, "2"])" : "[1, null, 2]"))),
              "preds.parquet: row 2: column \"uncertainty\": the value is missing" + hint)
        << type->ToString();
  }
  EXPECT_EQ(refusal(with("score", array(arrow::null(), "[null, null, null]"))),
            "preds.parquet: row 1: column \"score\": the value is missing" + hint);
  EXPECT_EQ(refusal(with("score", array(arrow::float32(), "[1, NaN, Inf]"))),
            "preds.parquet: row 2: column \"score\": \"nan\" is a missing value" + hint);
  EXPECT_EQ(refusal(with("score", array(arrow::float64(), "[1, 2, -Inf]"))),
            "preds.parquet: row 3: column \"score\": \"-inf\" is not finite" + hint);
  EXPECT_EQ(refusal(with("weight", array(arrow::int8(), "[1, 0, -3]"))),
            "preds.parquet: row 3: column \"weight\": \"-3\" is negative, a weight is at least 0" + hint);
  const std::string label_hint = " is not 0/1, true/false or yes/no";
  EXPECT_EQ(refusal(with("label", array(arrow::int32(), "[1, 2, 0]"))),
            "preds.parquet: row 2: column \"label\": \"2\"" + label_hint);
  EXPECT_EQ(refusal(with("label", array(arrow::float32(), "[1, 0, 0.5]"))),
            "preds.parquet: row 3: column \"label\": \"0.5\"" + label_hint);
  EXPECT_EQ(refusal(with("label", array(arrow::utf8(), R"(["y", "1", "0"])"))),
            "preds.parquet: row 1: column \"label\": \"y\"" + label_hint);
  EXPECT_EQ(refusal(with("label", array(arrow::utf8(), R"(["1", "NA", "0"])"))),
            "preds.parquet: row 2: column \"label\": \"NA\" is a missing value" + hint);
  EXPECT_EQ(refusal(with("label", array(arrow::utf8(), R"(["1", "", "0"])"))),
            "preds.parquet: row 2: column \"label\": the value is missing" + hint);
  EXPECT_EQ(refusal(with("label", array(arrow::boolean(), "[true, false, null]"))),
            "preds.parquet: row 3: column \"label\": the value is missing" + hint);
  EXPECT_EQ(refusal(with("label", array(arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["1", "maybe", "0"])"))),
            "preds.parquet: row 2: column \"label\": \"maybe\"" + label_hint);
}

TEST_F(ArrowTypes, DropMissingLeavesOutAndCountsEachKindOfRow) {
  const Predictions rows = read({{"score", array(arrow::float32(), "[null, NaN, Inf, 1, 2, 3, 4, 5]")},
                                 {"uncertainty", array(arrow::int8(), "[1, 1, 1, null, 1, 1, 1, 6]")},
                                 {"label", array(arrow::utf8(), R"(["1", "1", "1", "1", "2", null, "0", "1"])")},
                                 {"weight", array(arrow::float64(), "[1, 1, 1, 1, 1, 1, -1, 7]")}},
                                {.drop_missing = true});
  EXPECT_THAT(numbers(rows.score), ElementsAre(5));
  EXPECT_THAT(numbers(rows.uncertainty), ElementsAre(6));
  EXPECT_THAT(rows.label, ElementsAre(1));
  EXPECT_THAT(rows.weight, ElementsAre(7));
  EXPECT_EQ(rows.rows_dropped, 7u);
}

TEST_F(ArrowTypes, RefusesTablesWithoutRowsOrColumns) {
  const auto none = array(arrow::float64(), "[]");
  EXPECT_EQ(refusal({{"score", none}, {"uncertainty", none}, {"label", none}}), "preds.parquet: has no rows");
  EXPECT_EQ(refusal(with("score", array(arrow::null(), "[null, null, null]")), {.drop_missing = true}),
            "preds.parquet: no rows are left: all 3 have a missing or bad value");
  EXPECT_EQ(refusal({{"score", none}, {"label", none}}),
            "preds.parquet: column \"uncertainty\": there is no such column; the columns are: score, label");
  EXPECT_EQ(refusal({{"score", none}, {"label", none}, {"score", none}, {"uncertainty", none}}),
            "preds.parquet: has 2 columns \"score\" (rename all but one)");
}

TEST_F(ArrowTypes, FindsItsColumnsAmongNestedOnesAndInAnyOrder) {
  const auto nested = arrow::struct_({arrow::field("score", arrow::int8()), arrow::field("b", arrow::utf8())});
  const Predictions rows = read({{"n", array(nested, R"([[1, "x"], [2, "y"]])")},
                                 {"label", array(arrow::boolean(), "[true, false]")},
                                 {"l", array(arrow::list(arrow::int8()), "[[1, 2], []]")},
                                 {"p", array(arrow::float32(), "[0.5, 0.25]")}},
                                {.columns = {.score = "p", .uncertainty = " p "}});
  EXPECT_THAT(numbers(rows.score), ElementsAre(0.5, 0.25));
  EXPECT_THAT(numbers(rows.uncertainty), ElementsAre(0.5, 0.25));
  EXPECT_THAT(rows.label, ElementsAre(1, 0));
  EXPECT_THAT(rows.weight, IsEmpty());
}

// Many small row groups, one bad value far behind: the row is that of the whole file.
// A decimal whose digits are 0 or 1 is neither.
TEST_F(ArrowTypes, RefusesDecimalLabelsThatAreStoredAsWholeNumbers) {
  for (const int digits : {5, 15}) {
    const auto labels = array(arrow::decimal128(digits, 2), R"(["0.00", "0.01", "0.00"])");
    test::write_parquet(folder_.path("t.parquet"), *test::table(with("label", labels)), {.decimals_as_integers = true});
    EXPECT_EQ(folder_.without_folder(
                  test::message_of<InvalidInput>([&] { (void)read_predictions(folder_.path("t.parquet")); })),
              "t.parquet: row 2: column \"label\": \"0.01\" is not 0/1, true/false or yes/no");
  }
}

class ArrowRows : public ArrowTypes, public ::testing::WithParamInterface<std::shared_ptr<arrow::DataType>> {};

TEST_P(ArrowRows, AreCountedAcrossRowGroups) {
  std::string scores = "[0";
  for (int row = 1; row < 2000; ++row) scores.append(",").append(row == 1234 ? "null" : std::to_string(row));
  const auto score = array(GetParam(), scores + "]");
  const auto rows = test::table({{"score", score}, {"uncertainty", score}, {"label", array(arrow::boolean(), [] {
                                                                              std::string labels = "[true";
                                                                              for (int row = 1; row < 2000; ++row)
                                                                                labels += ",false";
                                                                              return labels + "]";
                                                                            }())}});
  for (const std::int64_t chunk : {7, 500, 5000}) {
    test::write_parquet(folder_.path("t.parquet"), *rows, {.chunk_rows = chunk});
    test::write_ipc(folder_.path("t.arrow"), *rows, {.chunk_rows = chunk, .compression = arrow::Compression::ZSTD});
    test::write_ipc(folder_.path("stream.arrow"), *rows, {.chunk_rows = chunk, .as_stream = true});
    for (const std::string name : {"t.parquet", "t.arrow", "stream.arrow"}) {
      EXPECT_EQ(
          folder_.without_folder(test::message_of<InvalidInput>([&] { (void)read_predictions(folder_.path(name)); })),
          name + ": row 1235: column \"score\": the value is missing");
      const Predictions kept = read_predictions(folder_.path(name), {.drop_missing = true});
      EXPECT_EQ(kept.label.size(), 1999u);
      EXPECT_EQ(kept.rows_dropped, 1u);
      EXPECT_EQ(numbers(kept.score)[1998], 1999);
    }
    EXPECT_EQ(estimate_rows({folder_.path("t.parquet")}), 2000u);
    EXPECT_EQ(estimate_rows({folder_.path("t.arrow")}), 2000u);
    EXPECT_EQ(estimate_rows({folder_.path("stream.arrow")}), std::nullopt);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ArrowRows, ::testing::Values(arrow::int32(), arrow::float32(), arrow::float64()),
                         [](const auto& type) { return type.param->name(); });

// Above 4 million rows a row group is decoded in batches; below, row groups are decoded at the same time.
TEST_F(ArrowTypes, ReadsOneLargeRowGroupAndManySmallOnesAlike) {
  constexpr std::int64_t kRows = (1 << 22) + 100'001;
  const auto values = std::make_shared<arrow::FloatArray>(kRows, [] {
    std::vector<float> numbers(kRows);
    for (std::size_t row = 0; row < numbers.size(); ++row) numbers[row] = static_cast<float>(row % 1000);
    return arrow::Buffer::FromVector(std::move(numbers));
  }());
  const auto labels = std::make_shared<arrow::UInt8Array>(
      kRows, arrow::Buffer::FromVector(std::vector<std::uint8_t>(static_cast<std::size_t>(kRows), 1)));
  const auto rows = test::table({{"score", values}, {"uncertainty", values}, {"label", labels}});
  test::write_parquet(folder_.path("large.parquet"), *rows, {.chunk_rows = kRows});
  test::write_parquet(folder_.path("small.parquet"), *rows, {.chunk_rows = 100'000});
  const Predictions large = read_predictions(folder_.path("large.parquet"));
  const Predictions small = read_predictions(folder_.path("small.parquet"));
  ASSERT_EQ(large.label.size(), static_cast<std::size_t>(kRows));
  EXPECT_TRUE(numbers(large.score) == numbers(small.score));
  EXPECT_TRUE(large.label == small.label);
  for (const std::string name : {"large.parquet", "small.parquet"}) {
    std::vector<double> all;
    std::size_t largest = 0;
    for_each_batch({folder_.path(name)}, {}, [&](const Predictions& batch) {
      test::add_numbers(all, batch.score);
      largest = std::max(largest, batch.label.size());
    });
    EXPECT_TRUE(all == numbers(large.score)) << name;
    EXPECT_GE(largest, 1'000'000u);
    EXPECT_LE(largest, 2'100'000u);
  }
}

TEST_F(ArrowTypes, SinglePrecisionIsKeptOnlyWhenAllFilesHaveIt) {
  const auto row = [&](const std::string& name, const std::shared_ptr<arrow::DataType>& type) {
    test::write_parquet(folder_.path(name), *test::table({{"score", array(type, "[0.1]")},
                                                          {"uncertainty", array(arrow::float32(), "[0.1]")},
                                                          {"label", array(arrow::int8(), "[1]")}}));
    return folder_.path(name);
  };
  const std::string single = row("a.parquet", arrow::float32());
  const std::string another = row("b.parquet", arrow::float32());
  const std::string wide = row("c.parquet", arrow::float64());
  const std::string text = folder_.write("d.csv", "score,uncertainty,label\n0.1,0.1,0\n");
  const Predictions same = read_predictions({single, another});
  EXPECT_TRUE(same.score.is_single() && same.uncertainty.is_single());
  const Predictions mixed = read_predictions({single, another, wide});
  EXPECT_TRUE(!mixed.score.is_single() && mixed.uncertainty.is_single());
  EXPECT_THAT(numbers(mixed.score), ElementsAre(0.1f, 0.1f, 0.1));
  const Predictions formats = read_predictions({single, text});
  EXPECT_TRUE(!formats.score.is_single() && !formats.uncertainty.is_single());
  for_each_batch({single, text}, {}, [](const Predictions& batch) { EXPECT_FALSE(batch.score.is_single()); });
}

}  // namespace
}  // namespace limen::table
