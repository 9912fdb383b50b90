// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <string>

#include "limen/table/predictions.h"

namespace limen::table::detail {

/// Writes record batches into a file of any format, which appears whole on commit(), or not at all; see OutputFile.
/// Throws IoError from the file, and InvalidInput when the format cannot hold a column.
class ArrowWriter {
 public:
  virtual ~ArrowWriter() = default;
  virtual void write(const arrow::RecordBatch& batch) = 0;
  virtual void commit() = 0;
};

[[nodiscard]] std::unique_ptr<ArrowWriter> open_writer(const std::string& path, Format format,
                                                       const std::shared_ptr<arrow::Schema>& schema);

}  // namespace limen::table::detail
