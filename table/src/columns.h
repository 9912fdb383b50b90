// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limen/table/predictions.h"

namespace limen::table::detail {

struct Column {
  std::string name;
  std::size_t index = 0;
};

/// Names of a table's columns, and the refusals that concern them. Blanks around a name do not count.
struct ColumnNames {
  std::string table;  ///< the file as messages show it
  std::vector<std::string> names;
  char separator = '\0';   ///< of text, for a guess why a column is absent
  bool has_header = true;  ///< of text

  [[nodiscard]] bool has(std::string_view name) const;
  /// Unset when there is no such column; refuses a name that several columns have.
  [[nodiscard]] std::optional<Column> find(std::string_view name) const;
  /// `option` sets the name; empty when none does.
  [[nodiscard]] Column require(std::string_view name, std::string_view option) const;
  /// The same, and names the column nearest to one that is absent.
  [[nodiscard]] Column require(std::string_view name) const;
  /// Throws InvalidInput that starts with the table.
  [[noreturn]] void refuse(const std::string& what) const;
};

/// Columns of labelled predictions.
struct LabelledColumns {
  Column score;
  Column uncertainty;
  Column label;
  std::optional<Column> weight;
};

[[nodiscard]] LabelledColumns find_labelled(const ColumnNames& names, const PredictionColumns& wanted);

/// Refuses a second table whose columns have other names, or another order, than those of the first.
void require_same_columns(const ColumnNames& first, const ColumnNames& other);

/// End of a message about a value that drop_missing would leave out.
inline constexpr std::string_view kDropHint = "(drop such rows with --drop-missing)";
/// What a label must be.
inline constexpr std::string_view kBadLabel =
    " is neither 0/1 nor true/false (rename the column with --label, or drop such rows with --drop-missing)";
inline constexpr std::string_view kNegativeWeight = " is negative, a weight is at least 0 ";

}  // namespace limen::table::detail
