// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limen/count/sql_dialect.h"
#include "limen/solve/boundary.h"

namespace limen {

/// What is written.
enum class SqlPart {
  kDecision,  ///< an expression: 1 or 0, as the column that `limen apply` adds
  kLevel,     ///< an expression: the uncertainty level, in its segment; -1: a segment that is never flagged unseen
  kReason,    ///< an expression: the level and the threshold that was met or missed, as a text
  kReview,    ///< an expression: 1 where a row goes to a person, else 0; for boundaries with a review
  kQuery,     ///< a SELECT of all columns of a table and of these
};
[[nodiscard]] std::string_view to_string(SqlPart part);
/// Throws InvalidInput that lists the names.
[[nodiscard]] SqlPart parse_sql_part(std::string_view name);

struct SqlOptions {
  SqlDialect dialect = SqlDialect::kAnsi;
  SqlPart part = SqlPart::kDecision;
  // Names of the columns, as they are: quoted, so that an engine does not fold their case. Unset: the boundary's.
  std::optional<std::string> score = std::nullopt;
  std::optional<std::string> uncertainty = std::nullopt;
  std::optional<std::string> segment = std::nullopt;  ///< only for a boundary with segments
  std::vector<std::string> table = {};                ///< for kQuery: {"table"}, {"schema", "table"}, ...
};

/// The boundary's rule as SQL that decides every row as `decide` does, bit for bit: columns are cast to double, which
/// is exact for single precision, and numbers are written so that the engine reads the same doubles.
///
/// Where `decide` refuses a row (a score, uncertainty or segment that is missing, a number that is NaN or infinite) the
/// expressions are NULL; the level looks at uncertainty and segment alone. A boundary whose segments have no
/// uncertainty levels looks at no uncertainty. Up to 8 levels are a plain CASE, more a balanced tree of them.
///
/// Names and texts may be anything but empty or with a NUL: they are quoted and escaped for the dialect. Throws
/// InvalidInput: a name that cannot be quoted, a segment column for a boundary without segments, a review of a boundary
/// that has none, a query without a table.
[[nodiscard]] std::string to_sql(const Boundary& boundary, const SqlOptions& options = {});

}  // namespace limen
