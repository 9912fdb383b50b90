// SPDX-License-Identifier: MIT
// What a row of a table is for, in the same way when a model is trained and when one of its parts is predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limen/base/frame.h"
#include "limen/train/feature_rows.h"
#include "limen/train/model.h"
#include "limen/train/split.h"

namespace limen::train {

/// The times by which a table was split. split: with a time column, which the frame must have; first_row: rows of the
/// table before these. Throws InvalidInput, as time_values does and for a frame without the column.
[[nodiscard]] std::vector<double> times_of_rows(const SplitUse& split, const Frame& frame, std::uint64_t first_row);

/// The parts of the rows of a table from `first_row` on; all are for training when it was not split. Throws like
/// times_of_rows when it was split by time.
[[nodiscard]] std::vector<Part> parts_of_rows(const std::optional<SplitUse>& split, const Frame& frame,
                                              std::uint64_t first_row);

/// Appends the rows of `from` whose `chosen` is not 0. Both are of this shape; labels are appended where `from` has
/// them. Throws InvalidInput when an array does not fit the number of rows.
void add_rows(const FeatureShape& shape, const FeatureRows& from, std::span<const std::uint8_t> chosen,
              FeatureRows& to);

}  // namespace limen::train
