// SPDX-License-Identifier: MIT
#include "limen/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "limen/base/nearest_name.h"

namespace limen {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// A number of at most 15 digits with a point and without sign and exponent, such as 0.9731; empty for any other text.
// The digits as an integer and the power of ten are both exact in double, so their quotient is the correctly rounded
// value, the same as that of from_chars (Clinger 1990). Tables with rows such as 0.9731,0.052,1 are read 1.2 times as
// fast as with from_chars alone.
std::optional<double> parse_short_decimal(std::string_view text) {
  constexpr std::size_t kMaxDigits = 15;
  constexpr std::array<double, kMaxDigits + 1> kPowersOfTen = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (text.size() < 2 || text.size() > kMaxDigits + 1) return std::nullopt;
  std::int64_t digits = 0;
  std::size_t point = text.size();
  for (std::size_t at = 0; at < text.size(); ++at) {
    const unsigned digit = static_cast<unsigned char>(text[at]) - unsigned{'0'};
    if (digit <= 9) {
      digits = 10 * digits + digit;
    } else if (text[at] == '.' && point == text.size()) {
      point = at;
    } else {
      return std::nullopt;
    }
  }
  if (point == text.size()) return std::nullopt;
  return static_cast<double>(digits) / kPowersOfTen[text.size() - point - 1];
}

// For a decimal number that from_chars found out of range: whether it is too near to zero rather than too far from it.
// That is the sign of the power of ten of its first digit that is not zero.
bool is_tiny(std::string_view number) {
  const std::size_t exponent_mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, exponent_mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t leading = digits.find_first_of("123456789");
  if (leading == std::string_view::npos) return true;
  const std::int64_t power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading);
  if (exponent_mark == number.size()) return power < 0;
  std::string_view exponent_text = number.substr(exponent_mark + 1);
  const bool negative = exponent_text.starts_with('-');
  if (negative || exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  std::int32_t exponent = 0;
  const auto end = exponent_text.data() + exponent_text.size();
  if (std::from_chars(exponent_text.data(), end, exponent).ec != std::errc()) return negative;
  return power + (negative ? -exponent : exponent) < 0;
}

// Length of the UTF-8 sequence at the front of `text`, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length > text.size()) return 0;
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool no_character = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

// The same, 0 also for a control character or a line break.
std::size_t printable_length(std::string_view text) {
  const std::size_t length = sequence_length(text);
  const auto byte = [text](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  if (length == 1) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const bool control = length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0;
  const bool line_break = length == 3 && byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9);
  return control || line_break ? 0 : length;
}

std::string escape(char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

}  // namespace

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords = {"", "na", "n/a", "null", "none", "nan"};
  return text.size() <= 4 &&
         std::ranges::any_of(kWords, [text](std::string_view word) { return equals_ignoring_case(text, word); });
}

std::string number_text(double value) {
  std::array<char, 32> buffer;
  char* const end = buffer.data() + buffer.size();
  if (value == std::floor(value) && std::abs(value) < 0x1p53) {
    return {buffer.data(), std::to_chars(buffer.data(), end, static_cast<std::int64_t>(value)).ptr};
  }
  return {buffer.data(), std::to_chars(buffer.data(), end, value).ptr};
}

std::string count_text(double count) {
  std::string text = number_text(std::round(count));
  if (text.find('e') != text.npos) return text;
  const std::size_t first_digit = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = text.size(); at > first_digit + 3; text.insert(at, 1, ',')) at -= 3;
  return text;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "; did you mean " + quoted(nearest) + "?";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

NumberField parse_number(std::string_view text) {
  if (const std::optional<double> value = parse_short_decimal(text)) return {FieldStatus::kOk, *value};
  text = trimmed(text);
  std::string_view number = text;
  if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
  const char* const end = number.data() + number.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) {
    return {is_missing(text) ? FieldStatus::kMissing : FieldStatus::kBad, 0};
  }
  if (error == std::errc::result_out_of_range) {
    return {is_tiny(number) ? FieldStatus::kOk : FieldStatus::kNotFinite, 0};
  }
  if (std::isfinite(value)) return {FieldStatus::kOk, value};
  return {is_missing(text) ? FieldStatus::kMissing : FieldStatus::kNotFinite, 0};
}

std::string escaped(std::string_view text, std::size_t max_characters) {
  constexpr std::size_t kDots = 3;
  std::string line;
  std::size_t characters = 0;
  std::size_t cut = 0;  // bytes of `line` to keep before the dots
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    const std::string piece = length > 0 ? std::string(text.substr(0, length)) : escape(text.front());
    const std::size_t width = length > 0 ? 1 : piece.size();
    if (max_characters - characters < width) return line.substr(0, cut) + "...";
    text.remove_prefix(std::max<std::size_t>(length, 1));
    line += piece;
    characters += width;
    if (characters + kDots <= max_characters) cut = line.size();
  }
  return line;
}

std::string shown_path(std::string_view path, std::string_view stream) {
  if (path == "-") return std::string(stream);
  return path.empty() ? "\"\"" : escaped(path);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMaxCharacters = 40;
  return '"' + escaped(text, kMaxCharacters) + '"';
}

}  // namespace limen
