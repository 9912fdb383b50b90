// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "limen/base/error.h"

namespace limen {

/// Calls what knows rows and columns but not the table they are of: its errors get the table's name, unless they have
/// one.
template <typename Call>
auto in_table(const std::string& table, const Call& call) {
  try {
    return call();
  } catch (const InvalidInput& error) {
    if (!error.where().source.empty()) throw;
    throw InvalidInput(Where{.source = table, .place = error.where().place, .column = error.where().column},
                       error.problem(), error.cause());
  }
}

}  // namespace limen
