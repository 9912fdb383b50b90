// SPDX-License-Identifier: MIT
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <string>

#include "limen/base/rational.h"

namespace limen::test {

using BigInt = boost::multiprecision::cpp_int;
using BigFraction = boost::multiprecision::cpp_rational;

/// A fraction in numbers of any size: nothing overflows and nothing is rounded.
inline BigFraction big(const Rational& value) { return BigFraction(BigInt(value.num), BigInt(value.den)); }

/// The fraction that "1.25e-3" stands for, of the form that printf's %e makes.
inline BigFraction big_decimal(const std::string& text) {
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, e);
  int exponent = std::stoi(text.substr(e + 1));
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= static_cast<int>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));  // a leading 0 would mean octal
  BigFraction value{BigInt(digits)};
  for (; exponent < 0; ++exponent) value /= 10;
  for (; exponent > 0; --exponent) value *= 10;
  return value;
}

}  // namespace limen::test
