// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "limen/table/predictions.h"
#include "read_limits.h"

namespace limen::table::detail {

/// for_each_batch with limits of the caller's choice: the tests make them small.
void for_each_batch(const TableFiles& files, const PredictionOptions& options, const Limits& limits,
                    const std::function<void(const Predictions&)>& visit);

}  // namespace limen::table::detail
