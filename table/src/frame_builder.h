// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.h"
#include "limen/base/frame.h"
#include "limen/base/text.h"
#include "limen/base/text_index.h"
#include "limen/table/frames.h"

namespace limen::table::detail {

/// A column to put into frames.
struct FrameColumn {
  Column column;  ///< its name, and its place in the file
  ColumnKind kind = ColumnKind::kNumber;
  /// End of the message about a value that is not a number.
  std::string number_hint = {};
};

/// How the values of all columns are read.
struct ValueRules {
  std::vector<std::string> missing = {};  ///< trimmed
  MissingRule rule = MissingRule::kKeep;

  [[nodiscard]] bool is_missing(std::string_view text) const {
    return text.empty() || std::ranges::find(missing, text) != missing.end();
  }
};

/// A frame that grows.
class FrameBuilder {
 public:
  explicit FrameBuilder(std::span<const FrameColumn> columns);

  [[nodiscard]] const Frame& frame() const { return frame_; }
  /// Hands over the frame and is empty again.
  [[nodiscard]] Frame take();

  /// The rows from `begin` to before `end` of a frame of the same columns.
  void append(const Frame& more, std::size_t begin, std::size_t end);
  void append(const Frame& more) { append(more, 0, more.num_rows); }
  void reserve(std::size_t rows);

  // A row is added by one call for each of its columns, then end_row() or drop_row().
  void add_number(std::size_t column, double value) { numbers(column).push_back(value); }
  /// `text` is not missing.
  void add_text(std::size_t column, std::string_view text) { codes(column).push_back(index_[column].add(text)); }
  void add_missing_text(std::size_t column) { codes(column).push_back(TextValues::kMissing); }
  void end_row() { ++frame_.num_rows; }
  void drop_row();

  /// For whole columns at once: the caller adds equally many values to all columns and tells how many.
  [[nodiscard]] NumberValues& numbers(std::size_t column) {
    return std::get<NumberValues>(frame_.columns[column].values);
  }
  [[nodiscard]] std::vector<std::int32_t>& codes(std::size_t column) {
    return std::get<TextValues>(frame_.columns[column].values).code;
  }
  [[nodiscard]] TextIndex& texts(std::size_t column) { return index_[column]; }
  void add_rows(std::size_t rows) { frame_.num_rows += rows; }
  /// Keeps those of the rows from `begin` on whose flag is set.
  void keep_rows(std::size_t begin, const std::vector<bool>& keep);

 private:
  Frame frame_;  // without the distinct texts
  std::vector<TextIndex> index_;
};

}  // namespace limen::table::detail
