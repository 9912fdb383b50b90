// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "limen/base/error.h"

namespace limen::test {

/// The message with which `function` refuses its input. Other exceptions pass through and fail the test.
template <typename Function>
std::string refusal_of(Function&& function) {
  try {
    function();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "(not refused)";
}

}  // namespace limen::test
