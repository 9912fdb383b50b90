// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace limen {

/// Bad input: the message names the function, the value and what was needed.
class InvalidInput : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// File trouble: the message names the path and, where there is one, the line.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace limen
