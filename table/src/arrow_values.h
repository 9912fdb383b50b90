// SPDX-License-Identifier: MIT
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

#include "batch.h"
#include "columns.h"

namespace limen::table::detail {

/// Codes of a label column beside 0 and 1.
inline constexpr std::uint8_t kMissingLabel = 2;
inline constexpr std::uint8_t kBadLabel = 3;

/// null, bool, integer, floating or decimal.
[[nodiscard]] bool is_plain_number(const arrow::DataType& type);

/// Refuses a column whose type has no meaning as what is wanted.
void check_type(const ColumnNames& names, const Wanted& column, const std::shared_ptr<arrow::DataType>& type);

/// The values of a column of any type but a dictionary as text shows them.
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::StringArray>> as_text(const std::shared_ptr<arrow::Array>& array);
/// The type of the values of a dictionary, or the type itself.
[[nodiscard]] const std::shared_ptr<arrow::DataType>& value_type(const std::shared_ptr<arrow::DataType>& type);

/// Appends the values of a column whose type was checked. Reals: NaN for null, integers and decimals are rounded.
/// Labels: 0, 1 or one of the codes above. Texts: TextValues::kMissing for null. A text that is to be a number and is
/// none becomes NaN; first_bad, when it is unset, is set to its row.
void append_values(const std::shared_ptr<arrow::Array>& array, const Wanted& column, const ValueRules& rules,
                   const std::string& table, Batch& batch, Values& values, std::optional<std::size_t>& first_bad);
void append_texts(const std::shared_ptr<arrow::Array>& array, const ValueRules& rules, const std::string& table,
                  Texts& texts);

/// Whether all values are finite.
[[nodiscard]] bool all_finite(std::span<const float> values);
[[nodiscard]] bool all_finite(std::span<const double> values);

/// A value as the file has it; empty for null.
[[nodiscard]] std::string shown_value(const arrow::Array& array, std::int64_t row);

}  // namespace limen::table::detail
