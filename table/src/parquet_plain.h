// SPDX-License-Identifier: MIT
#pragma once

#include <parquet/column_reader.h>

#include <cstdint>
#include <span>

namespace limen::table::detail {

/// Reads a column of a row group straight into its place, without an array in between. False when it is not that plain:
/// another type, lists, values that are missing or not finite, labels that are neither 0 nor 1, another number of rows.
/// What the place holds is then of no use, and the way over arrays tells what is the matter. Fitting 40 million rows
/// takes 1.3 s of processor time with it, 2.3 s without.
[[nodiscard]] bool read_plain(parquet::ColumnReader& column, std::span<float> values);
[[nodiscard]] bool read_plain(parquet::ColumnReader& column, std::span<double> values);
/// Of a column of bool or whole numbers.
[[nodiscard]] bool read_plain(parquet::ColumnReader& column, std::span<std::uint8_t> labels);

}  // namespace limen::table::detail
