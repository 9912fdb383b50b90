// SPDX-License-Identifier: MIT
#include "parquet_plain.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "arrow_values.h"

namespace limen::table::detail {
namespace {

constexpr std::size_t kRows = 16'384;  // at a time: they are still in the cache when they are checked

// Reads values to `place` of their first row, and calls `put` with that row and their number, until there are no more.
// False when `put` says so, when a value is missing, or with another number of rows.
template <typename Type, typename Place, typename Put>
bool read_each(parquet::ColumnReader& column, std::size_t rows, const Place& place, const Put& put) {
  auto& typed = static_cast<parquet::TypedColumnReader<Type>&>(column);
  std::array<std::int16_t, kRows> is_there{};
  std::size_t row = 0;
  while (row < rows && typed.HasNext()) {
    std::int64_t filled = 0;
    const std::int64_t seen = typed.ReadBatch(static_cast<std::int64_t>(std::min(kRows, rows - row)), is_there.data(),
                                              nullptr, place(row), &filled);
    if (seen <= 0 || filled != seen || !put(row, static_cast<std::size_t>(filled))) return false;
    row += static_cast<std::size_t>(filled);
  }
  return row == rows && !typed.HasNext();
}

template <typename Type, typename Value>
bool read_numbers(parquet::ColumnReader& column, std::span<Value> values) {
  return read_each<Type>(
      column, values.size(), [&](std::size_t row) { return values.data() + row; },
      [&](std::size_t row, std::size_t count) {
        return all_finite(std::span<const Value>(values.subspan(row, count)));
      });
}

template <typename Type>
bool read_labels(parquet::ColumnReader& column, std::span<std::uint8_t> labels) {
  using Value = typename Type::c_type;
  std::array<Value, kRows> values{};
  return read_each<Type>(
      column, labels.size(), [&](std::size_t) { return values.data(); },
      [&](std::size_t row, std::size_t count) {
        std::conditional_t<std::is_same_v<Value, bool>, unsigned char, Value> bits = 0;
        for (std::size_t index = 0; index < count; ++index) {
          bits |= values[index];
          labels[row + index] = static_cast<std::uint8_t>(values[index]);
        }
        return bits == 0 || bits == 1;
      });
}

// No lists, no groups, and no decimals, dates or the like, whose numbers mean something else.
bool is_plain(const parquet::ColumnReader& column) {
  const parquet::ColumnDescriptor& type = *column.descr();
  const std::shared_ptr<const parquet::LogicalType>& meaning = type.logical_type();
  return type.max_repetition_level() == 0 && type.max_definition_level() <= 1 &&
         (!meaning || meaning->is_none() || meaning->is_int());
}

}  // namespace

bool read_plain(parquet::ColumnReader& column, std::span<float> values) {
  return is_plain(column) && column.type() == parquet::Type::FLOAT && read_numbers<parquet::FloatType>(column, values);
}

bool read_plain(parquet::ColumnReader& column, std::span<double> values) {
  return is_plain(column) && column.type() == parquet::Type::DOUBLE &&
         read_numbers<parquet::DoubleType>(column, values);
}

bool read_plain(parquet::ColumnReader& column, std::span<std::uint8_t> labels) {
  if (!is_plain(column)) return false;
  switch (column.type()) {
    case parquet::Type::BOOLEAN:
      return read_labels<parquet::BooleanType>(column, labels);
    case parquet::Type::INT32:
      return read_labels<parquet::Int32Type>(column, labels);
    case parquet::Type::INT64:
      return read_labels<parquet::Int64Type>(column, labels);
    default:
      return false;
  }
}

}  // namespace limen::table::detail
