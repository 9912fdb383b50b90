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
  /// The nearest double; for a decimal fraction the one that its decimal text reads as.
  [[nodiscard]] double to_double() const;
};

/// The fraction a decimal text stands for: "0.9" is 9/10, "2.5e-1" is 1/4, "3" is 3/1.
/// Refuses signs, text that is no number, numbers of more than 18 significant digits, of more than 18 digits after the
/// point, or of 10^18 and more. Throws InvalidInput.
[[nodiscard]] Rational parse_rational(std::string_view text);

/// The fraction of the shortest decimal that reads back as `value`: 0.9 gives 9/10, not the binary neighbour of it.
/// value: finite, >= 0, with at most 18 digits after the point in that decimal. Throws InvalidInput (of
/// parse_rational).
[[nodiscard]] Rational decimal_rational(double value);

/// "9/10".
[[nodiscard]] std::string to_string(const Rational& value);

}  // namespace limen
