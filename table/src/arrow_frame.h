// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>
#include <span>
#include <vector>

#include "frame_builder.h"

namespace limen::table::detail {

/// The kind of a column by its type; text for types that frames cannot hold.
[[nodiscard]] ColumnKind kind_of(const arrow::DataType& type);

/// Refuses a column whose type cannot be read as its kind.
void check_frame_type(const ColumnNames& names, const FrameColumn& column, const arrow::DataType& type);

/// Appends the columns of a batch, whose first row has this number in the file, from 0. `columns` have their places in
/// the batch and were checked. The flags of the rows to keep, empty when all are: the frame has only those.
[[nodiscard]] std::vector<bool> append_frame(const arrow::RecordBatch& batch, std::span<const FrameColumn> columns,
                                             const ValueRules& rules, const ColumnNames& names, std::uint64_t first_row,
                                             FrameBuilder& into);

}  // namespace limen::table::detail
