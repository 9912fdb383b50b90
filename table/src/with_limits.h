// SPDX-License-Identifier: MIT
// Functions of the public headers with limits of the caller's choice: the tests make them small.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "limen/table/append.h"
#include "limen/table/predictions.h"
#include "read_limits.h"

namespace limen::table::detail {

void for_each_batch(const TableFiles& files, const PredictionOptions& options, const Limits& limits,
                    const std::function<void(const Predictions&)>& visit);
RowCounts append_columns(const TableFiles& inputs, const std::string& output, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added, const FillColumns& fill, const Limits& limits);

}  // namespace limen::table::detail
