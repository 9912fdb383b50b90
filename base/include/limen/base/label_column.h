// SPDX-License-Identifier: MIT
// The label rule on a column of raw values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limen/base/error.h"
#include "limen/base/frame.h"
#include "limen/base/labels.h"

namespace limen {

/// What read_labels gives for a missing label.
inline constexpr std::uint8_t kMissingLabel = 2;

/// 1 for the rows without a label, 0 for the others. A number that is not finite is missing, and so is a text that
/// is_missing() of text.h knows.
[[nodiscard]] std::vector<std::uint8_t> missing_labels(const Column& column);

/// 1, 0 or kMissingLabel for each row; their values go to `seen`. where: the table, or the function where it is
/// not known. first_row: rows of the table before these. A value of neither class: InvalidInput (Cause::kBadLabel) with
/// row and column.
[[nodiscard]] std::vector<std::uint8_t> read_labels(const Column& column, const LabelRule& rule, const Where& where,
                                                    std::uint64_t first_row, LabelsSeen& seen);

/// The error of a missing label: Cause::kMissingValue. row: in the table, from 0.
[[noreturn]] void refuse_missing_label(const Where& where, const std::string& column, std::uint64_t row,
                                       const LabelRule& rule);

}  // namespace limen
