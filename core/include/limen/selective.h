// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "limen/grid.h"
#include "limen/objective.h"
#include "limen/samples.h"

namespace limen {

/// A grid on which solve_exact finds the same boundary, bit for bit, as on count_distinct(samples, edges), made without
/// sorting the scores: coarse bins where no optimal boundary can end, every distinct score where one can.
///
/// A parallel pass counts rows into score buckets per level. Any boundary that ends inside a bucket is at most as good
/// as one that takes the bucket's positives first; that gives a bound from the buckets alone, and with the best
/// boundary that ends between buckets, the buckets in which an optimum can still end. Those are split again, or
/// collected and sorted when few rows are left. About three passes over the data; memory: one byte a row plus the rows
/// collected.
///
/// Unset where it has nothing to offer and count_distinct is the way: rows with weights, goals kRecall and kFBeta, more
/// than 255 levels, or no feasible boundary in sight. Throws InvalidInput when there are no rows.
[[nodiscard]] std::optional<Grid> count_selected(const Samples& samples, const std::vector<double>& edges,
                                                 const Objective& objective);

}  // namespace limen
