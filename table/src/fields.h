// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace limen::table::detail {

enum class FieldStatus {
  kOk,
  kMissing,    ///< empty, or NA, N/A, null, none, nan in any case
  kNotFinite,  ///< an infinity, a signed nan, or beyond the range of double
  kBad,        ///< not a number; for a label, not one of the two classes
};

struct NumberField {
  FieldStatus status;
  double value;  ///< only with kOk
};

struct LabelField {
  FieldStatus status;
  std::uint8_t value;  ///< only with kOk
};

/// `text` without the blanks and tabs around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Reads the whole of `text`, trimmed, as a decimal number, a leading '+' allowed, in any locale. A value too small for
/// double is rounded to zero.
[[nodiscard]] NumberField parse_number(std::string_view text);

/// Reads 0, 1, true or false, in any case, or a number that equals 0 or 1.
[[nodiscard]] LabelField parse_label(std::string_view text);

/// `text` fit for one line of a message: control characters and bytes that are not UTF-8 as \n, \t, \r or \xNN, and at
/// most `max_characters`, the last three of them dots when something was cut off.
[[nodiscard]] std::string escaped(std::string_view text, std::size_t max_characters = std::string_view::npos);

/// escaped(text, 40) between double quotes.
[[nodiscard]] std::string quoted(std::string_view text);

/// A path as messages show it; `stream` stands for "-".
[[nodiscard]] std::string shown_path(std::string_view path, std::string_view stream);

}  // namespace limen::table::detail
