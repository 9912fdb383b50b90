// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "csv_rows.h"
#include "limen/table/predictions.h"

namespace limen::table::detail {

/// read_predictions for text with the given separator.
[[nodiscard]] Predictions read_csv(const std::string& path, char separator, const ReadOptions& options,
                                   const CsvLimits& limits = {});

/// append_decisions for text with the given separator.
AppendResult append_csv(const std::string& input, const std::string& output, char separator, const ReadOptions& options,
                        const std::function<void(const DecisionBatch&)>& decide, const CsvLimits& limits = {});

}  // namespace limen::table::detail
