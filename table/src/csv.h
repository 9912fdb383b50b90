// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "csv_blocks.h"
#include "input.h"
#include "limen/table/predictions.h"
#include "row_source.h"

namespace limen::table::detail {

/// The rows of a CSV or TSV file, its blocks parsed on all cores.
[[nodiscard]] std::unique_ptr<RowSource> open_csv(const Input& input, const ReadOptions& options,
                                                  const CsvLimits& limits = {});

/// estimate_rows for one file.
[[nodiscard]] std::optional<std::uint64_t> estimate_csv_rows(const Input& input);

}  // namespace limen::table::detail
