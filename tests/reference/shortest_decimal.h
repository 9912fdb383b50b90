// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace limen::test {

/// The decimal of the fewest digits that reads back as `value`, by trying one digit more until it does.
inline std::string shortest_decimal(double value) {
  char text[64];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

}  // namespace limen::test
