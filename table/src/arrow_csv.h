// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/record_batch.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "csv_table.h"
#include "input.h"
#include "limen/table/predictions.h"

namespace limen::table::detail {

/// Rows of a table with the two columns to decide on; only those that are to be kept.
struct UndecidedRows {
  std::shared_ptr<arrow::RecordBatch> batch;
  RealColumn score;
  RealColumn uncertainty;
  std::size_t rows_dropped = 0;
};

/// The types that fit the columns of all the files: double for the score and the uncertainty; otherwise int64, double
/// or bool when every value is written as such and missing ones are empty; else string. Reads the files once, except
/// for stdin, whose columns are strings.
[[nodiscard]] std::shared_ptr<arrow::Schema> infer_schema(const std::vector<Input>& inputs, const ReadOptions& options);

/// The rows of a CSV or TSV file as record batches.
class CsvBatches {
 public:
  CsvBatches(const Input& input, const ReadOptions& options, std::shared_ptr<arrow::Schema> schema);

  [[nodiscard]] const ColumnNames& names() const { return table_.names(); }
  [[nodiscard]] const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Unset after the last rows.
  [[nodiscard]] std::optional<UndecidedRows> next();

 private:
  CsvTable table_;
  Column score_;
  Column uncertainty_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace limen::table::detail
