// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace limen {

/// Real numbers; NaN is a missing value.
using NumberValues = std::vector<double>;

/// Text of few distinct values: row r holds distinct[code[r]], or nothing when code[r] is kMissing.
/// `distinct` holds each text once; its order, and texts that no row has, mean nothing.
struct TextValues {
  static constexpr std::int32_t kMissing = -1;
  std::vector<std::string> distinct = {};
  std::vector<std::int32_t> code = {};
};

struct Column {
  std::string name = {};
  std::variant<NumberValues, TextValues> values = {};
};

/// Rows of raw columns, as they stand in a user's file: what `table` reads, and what features and evidence are made
/// from. Every column has `num_rows` rows.
struct Frame {
  std::size_t num_rows = 0;
  std::vector<Column> columns = {};
};

}  // namespace limen
