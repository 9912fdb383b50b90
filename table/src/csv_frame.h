// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csv_table.h"
#include "frame_builder.h"

namespace limen::table::detail {

/// Reads the wanted values of records into a frame and refuses bad ones by file, line and column.
class CsvFrameParser {
 public:
  /// All of them must outlive this object.
  CsvFrameParser(const ColumnNames& names, std::span<const FrameColumn> columns, const ValueRules& rules)
      : values_(names, rules.rule == MissingRule::kDrop), columns_(columns), rules_(rules) {}

  /// Adds the values of a record; false when its row is left out.
  bool add(const CsvRow& row, FrameBuilder& into);

 private:
  [[nodiscard]] double number(const CsvRow& row, const FrameColumn& column);
  [[nodiscard]] std::string_view text(std::string_view field);

  CsvValues values_;
  std::span<const FrameColumn> columns_;
  const ValueRules& rules_;
  std::string scratch_;
};

/// What the values of columns seen so far could be.
struct SeenKind {
  bool has_values = false;
  bool has_text = false;

  void add(std::string_view field, const ValueRules& rules, std::string& scratch);
};

}  // namespace limen::table::detail
