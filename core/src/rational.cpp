// SPDX-License-Identifier: MIT
#include "limen/rational.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "limen/error.h"

namespace limen {
namespace {

[[noreturn]] void refuse(std::string_view text, const char* needed) {
  throw InvalidInput("parse_rational: \"" + std::string(text.substr(0, 40)) + "\" is not " + needed);
}

constexpr int kMaxDigits = 17;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int step = 0; step < exponent; ++step) power *= 10;
  return power;
}

}  // namespace

Rational parse_rational(std::string_view text) {
  std::int64_t digits = 0;  // all significant digits read as one integer
  int num_significant = 0;
  int exponent = 0;  // value = digits * 10^exponent
  bool seen_digit = false;
  bool seen_point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !seen_point) {
      seen_point = true;
    } else if (is_digit(c)) {
      seen_digit = true;
      if (num_significant > 0 || c != '0') ++num_significant;
      if (num_significant > kMaxDigits) refuse(text, "a decimal number of at most 17 significant digits");
      digits = 10 * digits + (c - '0');
      if (seen_point) --exponent;
    } else {
      break;
    }
  }
  if (!seen_digit) refuse(text, "a non-negative decimal number");
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') refuse(text, "a non-negative decimal number");
    ++at;
    if (at < text.size() && text[at] == '+') ++at;
    int written = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), written);
    if (error != std::errc() || end != text.data() + text.size() || std::abs(written) > 1000) {
      refuse(text, "a non-negative decimal number");
    }
    exponent += written;
  }
  while (digits != 0 && digits % 10 == 0) {
    digits /= 10;
    ++exponent;
    --num_significant;
  }
  if (digits == 0) return {0, 1};
  if (exponent < -kMaxDigits || exponent + num_significant > kMaxDigits) refuse(text, "between 1e-17 and 1e17");
  Rational result{digits, 1};
  if (exponent >= 0) {
    result.num *= power_of_ten(exponent);
  } else {
    result.den = power_of_ten(-exponent);
  }
  const std::int64_t divisor = std::gcd(result.num, result.den);
  return {result.num / divisor, result.den / divisor};
}

Rational decimal_rational(double value) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  (void)error;  // the shortest form of a double has at most 24 characters
  return parse_rational({buffer.data(), end});
}

std::string to_string(const Rational& value) { return std::to_string(value.num) + "/" + std::to_string(value.den); }

}  // namespace limen
