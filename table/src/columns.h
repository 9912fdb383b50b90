// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "limen/table/read_options.h"

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

/// The kinds of the columns of several files, by name: as the options say, else text when some file holds text in it.
class ColumnKinds {
 public:
  /// Throws InvalidInput for a column that is to be both.
  explicit ColumnKinds(const FrameReadOptions& options);

  /// Whether the options say the kinds of all these columns.
  [[nodiscard]] bool are_fixed(const std::vector<std::string>& names) const;
  /// kinds: of the columns of a file, unset for those without values.
  void add(const ColumnNames& names, const std::vector<std::optional<ColumnKind>>& kinds);
  [[nodiscard]] ColumnKind of(std::string_view name) const;
  /// A column of a file, to be read as its kind.
  [[nodiscard]] Wanted wanted(const ColumnNames& names, std::string_view name) const;

 private:
  std::map<std::string, ColumnKind, std::less<>> fixed_;
  std::set<std::string, std::less<>> text_;  // those that some file holds text in
};

}  // namespace limen::table::detail
