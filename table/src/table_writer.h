// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/array.h>
#include <arrow/buffer_builder.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

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

/// Values to write; NaN is null. Numbers stay where they are and must outlive the array.
template <typename Value>
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> array_of(const std::vector<Value>& values) {
  if constexpr (std::is_same_v<Value, std::string>) {
    arrow::StringBuilder builder;
    ARROW_RETURN_NOT_OK(builder.AppendValues(values));
    return builder.Finish();
  } else {
    std::shared_ptr<arrow::Buffer> present;
    if (std::ranges::any_of(values, [](Value value) { return std::isnan(static_cast<double>(value)); })) {
      arrow::TypedBufferBuilder<bool> bits;
      for (const Value value : values) ARROW_RETURN_NOT_OK(bits.Append(!std::isnan(static_cast<double>(value))));
      ARROW_ASSIGN_OR_RAISE(present, bits.Finish());
    }
    return arrow::MakeArray(arrow::ArrayData::Make(arrow::CTypeTraits<Value>::type_singleton(),
                                                   static_cast<std::int64_t>(values.size()),
                                                   {present, arrow::Buffer::Wrap(values)}));
  }
}

}  // namespace limen::table::detail
