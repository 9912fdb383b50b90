// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <optional>
#include <string>

#include "limen/table/format.h"

namespace limen::table::detail {

/// Writes record batches into a file of any format, which appears whole on commit(), or not at all. Throws like
/// OutputFile, and InvalidInput when the format cannot hold a column.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  virtual void write(const arrow::RecordBatch& batch) = 0;
  virtual void commit() = 0;
};

/// How lines of text that are copied from text begin and end.
struct CopiedLines {
  std::string header = {};    ///< of the columns that are copied
  std::string line_end = {};  ///< of every line
  bool has_fields = true;     ///< the first column holds copied fields, joined and quoted already
};

/// lines: only for text.
[[nodiscard]] std::unique_ptr<TableWriter> open_writer(const std::string& path, const NamedFormat& format,
                                                       const std::shared_ptr<arrow::Schema>& schema,
                                                       const std::optional<CopiedLines>& lines = std::nullopt);

}  // namespace limen::table::detail
