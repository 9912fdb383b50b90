// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limen/table/read_options.h"
#include "limen/table/table_files.h"

namespace limen::table {

/// One score bin of one uncertainty level, counted elsewhere.
struct CountedBin {
  std::int64_t level = 0;
  double score = 0;
  std::int64_t positives = 0;
  std::int64_t rows = 0;
  std::optional<double> uncertainty = std::nullopt;  ///< lower edge of the level
};

struct CountOptions {
  ReadOptions read = {};
  std::string score = "score";
  /// Used when the table has it.
  std::string uncertainty = "uncertainty";
};

/// Reads a table of counts, in any format: columns `level`, `positives` and `rows`, whole numbers from 0 to 2^53 with
/// positives <= rows, and those that the options name, finite. Rows are neither sorted nor merged. Throws like
/// read_predictions.
[[nodiscard]] std::vector<CountedBin> read_counts(const TableFiles& files, const CountOptions& options = {});

}  // namespace limen::table
