// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "limen/table/predictions.h"

namespace limen::table::detail {

/// Codes of a label column beside 0 and 1.
inline constexpr std::uint8_t kMissingLabel = 2;
inline constexpr std::uint8_t kBadLabelValue = 3;

/// null, bool, integer, floating or decimal; and string or binary.
[[nodiscard]] bool is_plain_number(const arrow::DataType& type);
[[nodiscard]] bool holds_text(const arrow::DataType& type);
/// The type itself, or that of the values of a dictionary.
[[nodiscard]] const arrow::DataType& value_type(const arrow::DataType& type);
[[noreturn]] void refuse_type(const ColumnNames& names, const Column& column, const arrow::DataType& type,
                              const char* wanted);

/// A value of a column that holds text.
[[nodiscard]] std::string_view string_value(const arrow::Array& array, std::int64_t row);
/// The values of a column of any other type but a dictionary as text shows them.
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::StringArray>> as_text(const arrow::Array& array);

/// Refuses a column whose type has no plain meaning as a number, or as a label.
void check_number_type(const ColumnNames& names, const Column& column, const arrow::DataType& type);
void check_label_type(const ColumnNames& names, const Column& column, const arrow::DataType& type);

/// Appends the values of a column whose type was checked, NaN for null. Integers and decimals are rounded to double.
void append_numbers(const arrow::Array& array, std::vector<double>& values);
/// Puts them into a column that is long enough, from row `begin` on: float32 into a single-precision column, any number
/// into a double-precision one.
void put_numbers(const arrow::Array& array, RealColumn& column, std::size_t begin);
/// Appends 0, 1 or one of the codes above.
void append_labels(const arrow::Array& array, std::vector<std::uint8_t>& labels);

/// No rows, in the precision of the type.
[[nodiscard]] RealColumn empty_column(const arrow::DataType& type);

/// Whether `size` values from `begin` on are finite.
[[nodiscard]] bool all_finite(RealSpan values, std::size_t begin, std::size_t size);

/// What is wrong with a value that is null or, as a number, not finite; with the hint at drop_missing.
[[nodiscard]] std::string bad_value(const arrow::Array& array, std::int64_t row);
/// A value as a message shows it, between quotes.
[[nodiscard]] std::string shown_value(const arrow::Array& array, std::int64_t row);

}  // namespace limen::table::detail
