// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/base/frame.h"
#include "limen/train/model.h"

namespace limen::cli {

/// The parts of the rows of a table from `first_row` on; all are for training when it was not split.
[[nodiscard]] std::vector<train::Part> parts_of_rows(const std::optional<train::SplitUse>& split, const Frame& frame,
                                                     std::uint64_t first_row);

/// The times by which a table was split; split: with a time column.
[[nodiscard]] std::vector<double> times_of_rows(const train::SplitUse& split, const Frame& frame,
                                                std::uint64_t first_row);

/// Appends the rows whose `chosen` is not 0.
void add_rows(const train::FeatureShape& shape, const train::FeatureRows& from, std::span<const std::uint8_t> chosen,
              train::FeatureRows& to);

}  // namespace limen::cli
