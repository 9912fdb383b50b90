// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "column_kinds.h"
#include "limen/table/append.h"
#include "read_limits.h"

namespace limen::table::detail {

/// What append_columns and append_decisions ask for.
struct AppendPlan {
  ReadOptions read = {};
  std::vector<Wanted> wanted = {};  ///< without their places in a file
  MissingRule missing_rule = MissingRule::kKeep;
  std::optional<std::vector<std::string>> keep = std::nullopt;  ///< unset: all
  std::vector<AddedColumn> added = {};
  std::optional<Format> output_format = std::nullopt;
};

/// append_columns, once it is known what to read; the limits are for tests.
RowCounts append(const TableFiles& inputs, const std::string& output, const AppendPlan& plan, const FillColumns& fill,
                 const Limits& limits);

}  // namespace limen::table::detail
