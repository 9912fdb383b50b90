// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limen/count/counted_rows.h"
#include "limen/count/sql_dialect.h"

namespace limen {

/// What the label column holds.
enum class SqlLabel { kNumber, kBoolean, kText };
[[nodiscard]] SqlLabel parse_sql_label(std::string_view name);

/// Where scored, labelled rows are.
struct SqlRows {
  /// A query (it begins with SELECT, WITH, VALUES, FROM or a bracket), which is taken as it is, or the name of a table,
  /// which is quoted, part by part between its dots.
  std::string from;
  std::string score = "score";
  std::string uncertainty = "uncertainty";
  std::string label = "label";
  SqlLabel label_kind = SqlLabel::kNumber;  ///< 0 and 1; a truth value; or true, false, yes, no, 1 and 0 as text
  std::optional<std::string> positive = std::nullopt;  ///< exactly this text is positive, any other label is not
  /// Rows with a missing or infinite number, or without a label, are left out of every count.
  bool drop_missing = false;
  SqlDialect dialect = SqlDialect::kAnsi;
};

/// What follows FROM.
[[nodiscard]] std::string sql_source(const SqlRows& rows);

/// No row at all: columns score, uncertainty and label. An engine refuses it where a column is missing or has a type
/// that no number can be made of, before anything is counted.
[[nodiscard]] std::string sql_probe(const SqlRows& rows);

/// One row: all_rows, labels that are neither class (wrong_labels), and of the rows that are complete rows, positives,
/// least_score, greatest_score, least_uncertainty, greatest_uncertainty.
[[nodiscard]] std::string sql_overview(const SqlRows& rows);

/// A row for every cell that holds rows: limen_group, limen_bucket, rows, positives, least, greatest (CountCell).
[[nodiscard]] std::string sql_of(const CountQuery& query, const SqlRows& rows);

}  // namespace limen
