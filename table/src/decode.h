// SPDX-License-Identifier: MIT
// The one way from what a file holds to checked values, whatever its format.
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "columns.h"
#include "limen/base/error.h"

namespace limen::table::detail {

/// A column as a file has it.
struct RawColumn {
  std::shared_ptr<arrow::Array> array = nullptr;
  std::vector<std::string_view> texts = {};  ///< when there is no array; empty for missing ones. Somebody holds them.
};

/// Rows as a file has them.
struct RawRows {
  std::size_t size = 0;
  std::vector<RawColumn> columns = {};                   ///< one for each wanted column
  std::shared_ptr<arrow::RecordBatch> copied = nullptr;  ///< null when nothing is copied
  std::vector<std::uint64_t> places = {};                ///< line or row of each; only when asked for
};

/// A value that is refused.
struct BadValue {
  std::size_t row = 0;     ///< from 0, of the rows that were decoded together
  std::size_t column = 0;  ///< its place among those of the file
  std::string problem = {};
  Cause cause = Cause::kOther;
};

/// Appends the rows to the columns of a batch, but for those that are dropped. Columns are of types that check_type()
/// lets pass. A value that is to be refused makes the batch useless: the first one is returned, rows before columns.
[[nodiscard]] std::optional<BadValue> decode_rows(const RawRows& rows, const Selection& selection,
                                                  const std::string& table, Batch& into);

[[noreturn]] void refuse_value(const ColumnNames& names, const std::string& place, const BadValue& bad);

/// Refuses a column whose type has no meaning as what is wanted.
void check_type(const ColumnNames& names, const Wanted& column, const std::shared_ptr<arrow::DataType>& type);

/// null, bool, integer, floating or decimal.
[[nodiscard]] bool is_plain_number(const arrow::DataType& type);
/// The type of the values of a dictionary, or the type itself.
[[nodiscard]] const std::shared_ptr<arrow::DataType>& value_type(const std::shared_ptr<arrow::DataType>& type);
/// The values of a dictionary, or the array itself.
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> plain_array(const std::shared_ptr<arrow::Array>& array);
/// The values of a column as text shows them.
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::StringArray>> as_text(const std::shared_ptr<arrow::Array>& array);

/// Whether all values are finite.
[[nodiscard]] bool all_finite(std::span<const float> values);
[[nodiscard]] bool all_finite(std::span<const double> values);

/// The rows whose flag is set; also of a batch without columns. `table` is named when Arrow fails.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> filtered(const std::shared_ptr<arrow::RecordBatch>& rows,
                                                           const std::vector<bool>& keep, const std::string& table);

}  // namespace limen::table::detail
