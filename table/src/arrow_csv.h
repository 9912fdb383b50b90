// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/record_batch.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "append.h"
#include "csv_table.h"
#include "input.h"

namespace limen::table::detail {

/// Rows of a table that are kept: their copied columns, and the wanted ones.
struct FrameRows {
  std::shared_ptr<arrow::RecordBatch> batch;
  Frame frame = {};
  std::size_t rows_dropped = 0;
};

/// The types that fit the copied columns of all the text files: double for a column that must be a number; otherwise
/// int64, double or bool when every value is written as such and missing ones are empty; else string. Reads the files
/// once, except for stdin, whose columns are strings. Null when there is no such file.
[[nodiscard]] std::shared_ptr<arrow::Schema> infer_schema(const std::vector<Input>& inputs, const AppendPlan& plan);

/// The rows of a CSV or TSV file as record batches.
class CsvBatches {
 public:
  CsvBatches(const Input& input, const AppendPlan& plan, const Progress& progress,
             std::shared_ptr<arrow::Schema> schema);

  [[nodiscard]] const ColumnNames& names() const { return table_.names(); }
  [[nodiscard]] const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Unset after the last rows.
  [[nodiscard]] std::optional<FrameRows> next();

 private:
  const AppendPlan& plan_;
  CsvTable table_;
  std::vector<FrameColumn> wanted_;
  std::vector<std::size_t> kept_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace limen::table::detail
