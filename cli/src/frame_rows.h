// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "limen/base/frame.h"

namespace limen::cli {

/// Some rows of a column, in this order.
[[nodiscard]] limen::Column taken_rows(const limen::Column& column, const std::vector<std::size_t>& rows);

}  // namespace limen::cli
