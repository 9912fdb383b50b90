// SPDX-License-Identifier: MIT
#include "limen/count/shortest_decimal.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

namespace limen {
namespace {

/// The values t with low < t <= high.
struct Cut {
  double low;
  double high;
  [[nodiscard]] bool holds(double t) const { return low < t && t <= high; }
};

/// The cuts that are safe in single precision as well, where there are any.
Cut safe_cut(double below, double at) {
  const auto below_float = static_cast<float>(below);
  const auto at_float = static_cast<float>(at);
  if (!(below_float < at_float)) return {below, at};
  // Up to the middle between two floats, numbers are rounded to the lower one. (A middle that is rounded up is left out
  // as well, unless it is all there is: then high is returned in the end.)
  const float next = std::nextafter(below_float, std::numeric_limits<float>::infinity());
  // Numbers are rounded to infinity from where a float of one binary digit more than the largest would be.
  const auto widened = [](float value) { return std::clamp(static_cast<double>(value), -0x1p128, 0x1p128); };
  const double middle = widened(below_float) / 2 + widened(next) / 2;
  return {std::max({below, static_cast<double>(below_float), middle}), std::min(at, static_cast<double>(at_float))};
}

constexpr auto kPowersOfTen = [] {
  std::array<double, 23> powers{};
  powers[0] = 1;
  for (std::size_t exponent = 1; exponent < powers.size(); ++exponent) powers[exponent] = powers[exponent - 1] * 10;
  return powers;
}();

/// mantissa * 10^exponent, correctly rounded: by one operation on exact numbers where that is possible, else as text.
double decimal(double mantissa, int exponent) {
  constexpr double kExact = 9007199254740992.0;  // 2^53; and 10^22 is the largest exact power
  if (std::abs(mantissa) <= kExact && exponent >= -22 && exponent <= 22) {
    return exponent < 0 ? mantissa / kPowersOfTen[static_cast<std::size_t>(-exponent)]
                        : mantissa * kPowersOfTen[static_cast<std::size_t>(exponent)];
  }
  std::array<char, 64> text{};
  char* end = std::to_chars(text.data(), text.data() + text.size(), mantissa, std::chars_format::fixed, 0).ptr;
  *end++ = 'e';
  end = std::to_chars(end, text.data() + text.size(), exponent).ptr;
  double value = std::numeric_limits<double>::infinity();
  std::from_chars(text.data(), end, value);
  return value;
}

/// value / 10^exponent, nearly.
double scaled(double value, int exponent) {
  if (exponent >= -22 && exponent <= 0) return value * kPowersOfTen[static_cast<std::size_t>(-exponent)];
  if (exponent < -300) return value * 1e300 * std::pow(10.0, -exponent - 300);
  return exponent < 0 ? value * std::pow(10.0, -exponent) : value / std::pow(10.0, exponent);
}

}  // namespace

double shortest_between(double below, double at) {
  assert(below < at);
  const Cut cut = safe_cut(below, at);
  if (cut.holds(0)) return 0;
  const double middle = cut.low / 2 + cut.high / 2;
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(middle))));
  // The multiples of 10^exponent on either side of the middle; if any multiple is inside, one of them is.
  constexpr int kMostDigits = 17;
  for (int digits = 1; digits <= kMostDigits && middle != 0; ++digits) {
    const int exponent = magnitude - digits + 1;
    const double place = scaled(middle, exponent);
    const double nearest = std::nearbyint(place);
    const double t = decimal(nearest, exponent);
    if (cut.holds(t)) return t;
    const double other = decimal(nearest > place ? nearest - 1 : nearest + 1, exponent);
    if (cut.holds(other)) return other;
  }
  return cut.high;
}

double shortest_at_most(double at) {
  const double below = at - std::abs(at) / 100;
  return below < at && std::isfinite(below) ? shortest_between(below, at) : at + 0.0;
}

}  // namespace limen
