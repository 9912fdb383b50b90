// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace limen {

/// Whose SQL is written: how names, texts and numbers are quoted, and what types are called.
enum class SqlDialect { kAnsi, kSpark, kDuckdb, kPostgres, kBigquery, kSnowflake, kTrino };
[[nodiscard]] std::string_view to_string(SqlDialect dialect);
/// Throws InvalidInput that lists the names.
[[nodiscard]] SqlDialect parse_sql_dialect(std::string_view name);

/// A name in the dialect's quotes, whatever is in it. Throws InvalidInput for one that is empty, has a NUL or is not
/// UTF-8, and for Spark one with ${, which it replaces.
[[nodiscard]] std::string quote_sql_name(std::string_view name, SqlDialect dialect);

}  // namespace limen
