// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/builder.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "columns.h"
#include "csv_rows.h"
#include "decode.h"

namespace limen::table::detail {

/// Copies fields of records, as text or as typed columns.
class RowCopier {
 public:
  /// Both must outlive this object.
  RowCopier(const ColumnNames& names, const Copying& copying);

  void add(const CsvRow& row);
  /// What was added since the last call; null when nothing is copied.
  [[nodiscard]] std::shared_ptr<arrow::RecordBatch> finish();
  /// The first text since then that is not UTF-8, which typed columns must be.
  [[nodiscard]] const std::optional<BadValue>& bad() const { return bad_; }

 private:
  void add_typed(const CsvRow& row);

  const ColumnNames& names_;
  const Copying& copying_;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::size_t num_rows_ = 0;
  std::optional<BadValue> bad_;
  std::string scratch_;
};

/// The copied fields of a record, between separators of the output: as they are written, quoted only where the other
/// separator makes that needed. May use `scratch` to hold them.
[[nodiscard]] std::string_view copied_text(const CsvRow& row, const ColumnNames& names, const Copying& copying,
                                           std::string& scratch);

/// Adds a field as it is written, or a name, to a line; in quotes only where the separator makes that needed.
void add_field(std::string_view field, char separator, std::string& line);

/// What all values of a column so far could be.
struct TypeCandidates {
  bool has_values = false;
  bool may_be_int64 = true;
  bool may_be_double = true;
  bool may_be_bool = true;

  void add(std::string_view text);
  /// int64, double or bool when every value is written as such and missing ones are empty, else string.
  [[nodiscard]] std::shared_ptr<arrow::DataType> type() const;
};

}  // namespace limen::table::detail
