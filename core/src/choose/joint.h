// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "choose/score_table.h"
#include "limen/solve/objective.h"

namespace limen::detail {

/// joint_edges on a table: where each of the levels put together ends, at most `levels` of them.
[[nodiscard]] std::vector<std::size_t> joint_partition(const ScoreTable& table, const Objective& objective, int levels);

}  // namespace limen::detail
