// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "columns.h"
#include "input.h"
#include "limen/table/predictions.h"
#include "row_source.h"

// What needs Apache Arrow, without its types. In a build without Arrow each of these, and open_gzip, throws
// InvalidInput that says so.
namespace limen::table::detail {

/// The rows of a Parquet or Arrow IPC file.
[[nodiscard]] std::unique_ptr<RowSource> open_arrow(const Input& input, const ReadOptions& options);

/// estimate_rows for one Parquet or Arrow IPC file.
[[nodiscard]] std::optional<std::uint64_t> estimate_arrow_rows(const Input& input);

/// Calls `row` with the number of each row, from 1, and its values in the columns that `choose` picks by their names,
/// NaN for missing ones.
void for_each_arrow_row(const Input& input, const std::function<std::vector<Column>(const ColumnNames&)>& choose,
                        const std::function<void(std::uint64_t, std::span<const double>)>& row);

}  // namespace limen::table::detail
