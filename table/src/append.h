// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "columns.h"
#include "csv_blocks.h"
#include "frame_builder.h"
#include "input.h"
#include "limen/table/frames.h"

namespace limen::table::detail {

/// A column that the added ones are made from.
struct WantedColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  /// The option that names it, for the message when it is absent; empty: the nearest name is shown.
  std::string option = {};
};

/// What to do with each input of append().
struct AppendPlan {
  std::vector<WantedColumn> wanted = {};
  ValueRules rules = {};
  std::optional<std::vector<std::string>> keep = std::nullopt;  ///< unset: all
  std::vector<AddedColumn> added = {};
  Progress progress = nullptr;

  /// The wanted columns in a file.
  [[nodiscard]] std::vector<FrameColumn> wanted_in(const ColumnNames& names) const;
  /// The places in a file of the columns to copy, in its order.
  [[nodiscard]] std::vector<std::size_t> kept_in(const ColumnNames& names) const;
  /// The names of the columns to copy. Refuses one that is also added.
  [[nodiscard]] ColumnNames kept_names(const ColumnNames& names) const;
};

/// Calls `fill` for the rows of a frame and gives what it filled in, and which rows to keep. A column that it left too
/// short or too long is a mistake of the caller: std::logic_error.
struct FilledRows {
  std::vector<AddedValues> values = {};
  std::vector<std::uint8_t> keep = {};
};
[[nodiscard]] FilledRows filled_rows(const AppendPlan& plan, const Frame& frame, const FillColumns& fill);

/// append_columns, once it is known what to read.
AppendResult append(const std::vector<Input>& inputs, const std::string& output, std::optional<Format> output_format,
                    const AppendPlan& plan, const FillColumns& fill);

/// append() from text to text.
AppendResult append_csv(const std::vector<Input>& inputs, const std::string& output, char separator,
                        const AppendPlan& plan, const FillColumns& fill, const CsvLimits& limits = {});

/// append() between any formats. Throws InvalidInput in a build without Arrow.
AppendResult append_arrow(const std::vector<Input>& inputs, const std::string& output, Format output_format,
                          const AppendPlan& plan, const FillColumns& fill);

}  // namespace limen::table::detail
