// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace limen::train::detail {

/// In quotation marks for a message: at most 60 bytes, control characters replaced.
[[nodiscard]] std::string quoted(std::string_view text);

/// The shortest decimal text that reads back as the same double; whole numbers below 2^53 without point or exponent,
/// and -0 as 0, so that 7, 7.0 and the text "7" are one value.
[[nodiscard]] std::string number_text(double value);

/// A count with commas: "131,072". Rounded to a whole number.
[[nodiscard]] std::string count_text(double count);

/// The number that the whole text is. "nan" and "inf" are numbers too, blanks around it and a leading + are not.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// "; did you mean "age"?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace limen::train::detail
