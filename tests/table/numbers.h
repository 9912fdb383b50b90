// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "limen/table/predictions.h"

namespace limen::test {

/// The values of a column in double precision.
inline std::vector<double> numbers(const table::RealColumn& column) {
  return column.span().visit([](auto values) { return std::vector<double>(values.begin(), values.end()); });
}

/// Adds the values of a column in double precision.
inline void add_numbers(std::vector<double>& into, const table::RealColumn& column) {
  column.span().visit([&](auto values) { into.insert(into.end(), values.begin(), values.end()); });
}

}  // namespace limen::test
