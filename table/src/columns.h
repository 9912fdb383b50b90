// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace limen::table::detail {

/// Names of a table's columns, and the refusals that concern them. Blanks around a name do not count.
struct ColumnNames {
  std::string table;  ///< the file as messages show it
  std::vector<std::string> names;
  char separator = '\0';   ///< of text, for a guess why a column is absent
  bool has_header = true;  ///< of text

  [[nodiscard]] bool has(std::string_view name) const;
  /// The place of a column. Unset when there is none; refuses a name that several columns have.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// Refuses a name that no column has, with the nearest one there is, or all of them.
  [[nodiscard]] std::size_t require(std::string_view name) const;
  /// Throws InvalidInput that names the table.
  [[noreturn]] void refuse(const std::string& what) const;
};

/// Refuses a second table whose columns have other names, or another order, than those of the first.
void require_same_columns(const ColumnNames& first, const ColumnNames& other);

}  // namespace limen::table::detail
