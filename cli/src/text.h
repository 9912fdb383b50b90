// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limen/promise/intervals.h"

namespace limen::cli {

/// Fit for a terminal: line breaks become blanks, other control characters and bytes that are not UTF-8 are escaped.
[[nodiscard]] std::string one_line(std::string_view text);

/// 1234567 -> "1,234,567"; fractions (weights) get two digits, numbers of more than 15 digits an exponent.
[[nodiscard]] std::string count_text(double value);

/// "1 row", "2 rows".
[[nodiscard]] std::string plural_text(double count, std::string_view noun);
template <typename Count>
[[nodiscard]] std::string plural_text(Count count, std::string_view noun) {
  return plural_text(static_cast<double>(count), noun);
}

/// 0.12345 -> "0.1235".
[[nodiscard]] std::string ratio_text(double value);

/// Relative change in percent with sign: (1.1, 1) -> "+10.0%"; "-" when the base is 0.
[[nodiscard]] std::string gain_text(double value, double base);

/// Both ends in percent with sign: "+1.2% .. +3.4%".
[[nodiscard]] std::string percent_range_text(const Interval& interval);

/// A table with a header row, columns padded; the first column to the left, the others to the right.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view indent = "  ");

}  // namespace limen::cli
