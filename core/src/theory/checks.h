// SPDX-License-Identifier: MIT
// Refusals of numbers out of range, in one form for the room.
#pragma once

#include <charconv>
#include <string>

#include "limen/base/error.h"

namespace limen::detail {

// Throws InvalidInput: "function: name is value, must be needed".
template <typename Number>
[[noreturn]] void refuse(const char* function, std::string name, Number value, const char* needed) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  throw InvalidInput(Where{.function = function, .field = std::move(name)},
                     "is " + std::string(digits, end) + ", must be " + needed);
}

// Wide enough for any use, narrow enough that nothing in this room leaves the range of double or int64.
inline void check_range(const char* function, const char* name, double value) {
  if (!(value > 0)) refuse(function, name, value, "> 0");
  if (value < 1e-9 || value > 1e9) refuse(function, name, value, "1e-9 to 1e9");
}

}  // namespace limen::detail
