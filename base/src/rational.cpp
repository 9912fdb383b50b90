// SPDX-License-Identifier: MIT
#include "limen/base/rational.h"

#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "limen/base/error.h"
#include "limen/base/wide.h"

namespace limen {
namespace {

[[noreturn]] void refuse(std::string_view text, const char* needed) {
  throw InvalidInput("parse_rational", "\"" + std::string(text.substr(0, 40)) + "\" is not " + needed);
}

constexpr const char* kNumber = "a non-negative decimal number";
constexpr int kMaxDigits = 18;  // 10^18 is the largest power of ten in 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int step = 0; step < exponent; ++step) power *= 10;
  return power;
}

/// The number after 'e', cut off far beyond every accepted size.
int parse_exponent(std::string_view text, std::string_view digits) {
  bool negative = false;
  if (!digits.empty() && (digits[0] == '+' || digits[0] == '-')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.empty()) refuse(text, kNumber);
  int value = 0;
  for (const char c : digits) {
    if (!is_digit(c)) refuse(text, kNumber);
    value = std::min(100'000, 10 * value + (c - '0'));
  }
  return negative ? -value : value;
}

}  // namespace

Rational parse_rational(std::string_view text) {
  // The digits from the first to the last that is not 0, and the power of ten of the last one.
  std::string digits;
  int exponent = 0;
  int pending_zeros = 0;
  bool seen_digit = false;
  bool seen_point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !seen_point) {
      seen_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    seen_digit = true;
    if (seen_point) --exponent;
    if (c == '0') {
      if (!digits.empty()) ++pending_zeros;
      continue;
    }
    digits.append(static_cast<std::size_t>(pending_zeros), '0');
    pending_zeros = 0;
    digits.push_back(c);
    if (digits.size() > static_cast<std::size_t>(kMaxDigits)) {
      refuse(text, "a decimal number of at most 18 significant digits");
    }
  }
  if (!seen_digit) refuse(text, kNumber);
  exponent += pending_zeros;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') refuse(text, kNumber);
    exponent += parse_exponent(text, text.substr(at + 1));
  }
  if (digits.empty()) return {0, 1};
  if (exponent < -kMaxDigits || exponent + static_cast<int>(digits.size()) > kMaxDigits) {
    refuse(text, "a number below 1e18 of at most 18 digits after the point");
  }
  Rational result;
  std::from_chars(digits.data(), digits.data() + digits.size(), result.num);
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
  // + 0.0 turns -0 into 0.
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value + 0.0);
  (void)error;  // the shortest form of a double has at most 24 characters
  return parse_rational({buffer.data(), end});
}

double Rational::to_double() const {
  if (den <= 0) return static_cast<double>(num) / static_cast<double>(den);  // not a Rational; for messages only
  // A decimal fraction is written out and read by the library, which rounds once.
  for (int digits = 0; digits <= kMaxDigits; ++digits) {
    const std::int64_t power = power_of_ten(digits);
    if (power % den != 0) continue;
    const detail::Wide scaled = detail::Wide{num} * (power / den);
    if (scaled > INT64_MAX) break;
    const std::string text = std::to_string(static_cast<std::int64_t>(scaled)) + "e-" + std::to_string(digits);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  return static_cast<double>(static_cast<long double>(num) / static_cast<long double>(den));
}

std::string to_string(const Rational& value) { return std::to_string(value.num) + "/" + std::to_string(value.den); }

}  // namespace limen
