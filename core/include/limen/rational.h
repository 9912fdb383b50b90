// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace limen {

/// An exact non-negative fraction in lowest terms. Bounds such as "precision >= 0.9" are kept as 9/10, so that
/// feasibility is a comparison of integers.
struct Rational {
  std::int64_t num = 0;  ///< >= 0
  std::int64_t den = 1;  ///< > 0

  friend bool operator==(const Rational&, const Rational&) = default;
  [[nodiscard]] double to_double() const { return static_cast<double>(num) / static_cast<double>(den); }
};

/// The fraction a decimal text stands for: "0.9" is 9/10, "2.5e-1" is 1/4, "3" is 3/1.
/// Refuses signs, text that is no number, and numbers of more than 17 significant digits or beyond 10^-17 .. 10^17.
/// Throws InvalidInput.
[[nodiscard]] Rational parse_rational(std::string_view text);

/// The fraction of the shortest decimal that reads back as `value`: 0.9 gives 9/10, not the binary neighbour of it.
/// value: finite, >= 0. Throws InvalidInput.
[[nodiscard]] Rational decimal_rational(double value);

/// "9/10".
[[nodiscard]] std::string to_string(const Rational& value);

}  // namespace limen
