// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace limen {

enum class FieldStatus {
  kOk,
  kMissing,    ///< empty, or NA, N/A, null, none, nan in any case
  kNotFinite,  ///< an infinity, a signed nan, or beyond the range of double
  kBad,        ///< not a number
};

struct NumberField {
  FieldStatus status;
  double value;  ///< only with kOk
};

/// `text` without the blanks and tabs around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Reads the whole of `text`, trimmed, as a decimal number, a leading '+' allowed, in any locale. A value too small for
/// double is rounded to zero.
[[nodiscard]] NumberField parse_number(std::string_view text);

/// Whether `text` is lower-case `lower` but for the case of its letters A to Z.
[[nodiscard]] bool equals_ignoring_case(std::string_view text, std::string_view lower);

/// Whether `text`, trimmed already, stands for a missing value: empty, NA, N/A, null, none, nan in any case.
[[nodiscard]] bool is_missing(std::string_view text);

/// The shortest decimal text that reads back as the same double; whole numbers below 2^53 without point or exponent,
/// and -0 as 0, so that 7, 7.0 and the text "7" are one value.
[[nodiscard]] std::string number_text(double value);

/// A count with commas: "131,072". Rounded to a whole number.
[[nodiscard]] std::string count_text(double count);

/// Whether `text` is UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. Control characters may be in it.
[[nodiscard]] bool is_utf8(std::string_view text);

/// `text` fit for one line of a message: control characters and bytes that are not UTF-8 as \n, \t, \r or \xNN, and at
/// most `max_characters`, the last three of them dots when something was cut off.
[[nodiscard]] std::string escaped(std::string_view text, std::size_t max_characters = std::string_view::npos);

/// escaped(text, 40) between double quotes.
[[nodiscard]] std::string quoted(std::string_view text);

/// "; did you mean "age"?", or nothing when no candidate is near.
[[nodiscard]] std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// A path as messages show it; `stream` stands for "-".
[[nodiscard]] std::string shown_path(std::string_view path, std::string_view stream);

}  // namespace limen
