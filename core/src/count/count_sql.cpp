// SPDX-License-Identifier: MIT
#include "limen/count/count_sql.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

#include "limen/base/error.h"

namespace limen {
namespace {

constexpr std::array<std::pair<std::string_view, SqlDialect>, 7> kDialects = {{{"ansi", SqlDialect::kAnsi},
                                                                               {"postgresql", SqlDialect::kPostgresql},
                                                                               {"duckdb", SqlDialect::kDuckdb},
                                                                               {"spark", SqlDialect::kSpark},
                                                                               {"mysql", SqlDialect::kMysql},
                                                                               {"bigquery", SqlDialect::kBigquery},
                                                                               {"snowflake", SqlDialect::kSnowflake}}};

std::string_view double_type(SqlDialect dialect) {
  switch (dialect) {
    case SqlDialect::kDuckdb:
    case SqlDialect::kSpark:
    case SqlDialect::kMysql:
      return "DOUBLE";
    case SqlDialect::kBigquery:
      return "FLOAT64";
    default:
      return "DOUBLE PRECISION";
  }
}

std::string_view text_type(SqlDialect dialect) {
  switch (dialect) {
    case SqlDialect::kMysql:
      return "CHAR";
    case SqlDialect::kSpark:
    case SqlDialect::kBigquery:
      return "STRING";
    default:
      return "VARCHAR";
  }
}

/// With an exponent: a number of double precision in every dialect, not a decimal one. Reads back exactly.
std::string number(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
  return {text.data(), end};
}

std::string quoted_text(std::string_view text, SqlDialect dialect) {
  const bool escapes = dialect == SqlDialect::kMysql || dialect == SqlDialect::kBigquery ||
                       dialect == SqlDialect::kSpark || dialect == SqlDialect::kSnowflake;
  std::string quoted = "'";
  for (const char c : text) {
    if (escapes && (c == '\'' || c == '\\')) {
      quoted += '\\';
    } else if (c == '\'') {
      quoted += '\'';
    }
    quoted += c;
  }
  return quoted + "'";
}

/// The number of cuts at or below an expression, by halving: log2 of them comparisons a row.
void search(std::span<const double> cuts, std::size_t first, const std::string& value, std::string& sql) {
  if (cuts.empty()) {
    sql += std::to_string(first);
    return;
  }
  const std::size_t half = cuts.size() / 2;
  sql += "CASE WHEN " + value + " < " + number(cuts[half]) + " THEN ";
  search(cuts.subspan(0, half), first, value, sql);
  sql += " ELSE ";
  search(cuts.subspan(half + 1), first + half + 1, value, sql);
  sql += " END";
}

std::string num_below(const std::vector<double>& cuts, const std::string& value, SqlDialect dialect) {
  std::string sql;
  if (dialect == SqlDialect::kPostgresql && cuts.size() > 8) {
    sql = "width_bucket(" + value + ", '{";
    for (std::size_t at = 0; at < cuts.size(); ++at) sql += (at > 0 ? "," : "") + number(cuts[at]);
    return sql + "}'::float8[])";
  }
  search(cuts, 0, value, sql);
  return sql;
}

bool is_query(std::string_view from) {
  const auto begin = std::find_if_not(from.begin(), from.end(), [](unsigned char c) { return std::isspace(c) != 0; });
  if (begin == from.end()) return false;
  if (*begin == '(') return true;
  std::string word;
  for (auto at = begin; at != from.end() && std::isalpha(static_cast<unsigned char>(*at)) != 0; ++at) {
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(*at)));
  }
  // A name such as select_rows is no query.
  const auto after = begin + static_cast<std::ptrdiff_t>(word.size());
  const bool ends = after != from.end() && (std::isspace(static_cast<unsigned char>(*after)) != 0 || *after == '(');
  return ends && (word == "SELECT" || word == "WITH" || word == "VALUES" || word == "FROM");
}

/// 1, 0, or NULL for anything else.
std::string label_value(const SqlRows& rows) {
  const std::string label = quote_sql_name(rows.label, rows.dialect);
  const std::string as_text = "CAST(" + label + " AS " + std::string(text_type(rows.dialect)) + ")";
  if (rows.positive) {
    return "CASE WHEN " + as_text + " = " + quoted_text(*rows.positive, rows.dialect) + " THEN 1 WHEN " + label +
           " IS NOT NULL THEN 0 END";
  }
  switch (rows.label_kind) {
    case SqlLabel::kBoolean:
      return "CASE WHEN " + label + " THEN 1 WHEN NOT " + label + " THEN 0 END";
    case SqlLabel::kText:
      return "CASE WHEN LOWER(" + as_text + ") IN ('1', 'true', 'yes') THEN 1 WHEN LOWER(" + as_text +
             ") IN ('0', 'false', 'no') THEN 0 END";
    default:
      return "CASE WHEN " + label + " = 1 THEN 1 WHEN " + label + " = 0 THEN 0 END";
  }
}

std::string as_double(const std::string& column, const SqlRows& rows) {
  return "CAST(" + quote_sql_name(column, rows.dialect) + " AS " + std::string(double_type(rows.dialect)) + ")";
}

std::string is_finite(const std::string& value) {
  // NaN is larger than any number, or fails every comparison.
  const std::string most = number(std::numeric_limits<double>::max());
  return value + " BETWEEN -" + most + " AND " + most;
}

constexpr std::string_view kComplete = "limen_y IS NOT NULL AND ";

/// Columns limen_s, limen_u, limen_y of the rows.
std::string plain_rows(const SqlRows& rows) {
  std::string sql = "SELECT " + as_double(rows.score, rows) + " AS limen_s, " + as_double(rows.uncertainty, rows) +
                    " AS limen_u, " + label_value(rows) + " AS limen_y, " + quote_sql_name(rows.label, rows.dialect) +
                    " AS limen_label FROM " + sql_source(rows);
  return sql;
}

std::string complete_rows(const SqlRows& rows) {
  std::string sql = "(" + plain_rows(rows) + ") AS limen_plain";
  if (!rows.drop_missing) return sql;
  return sql + " WHERE " + std::string(kComplete) + is_finite("limen_s") + " AND " + is_finite("limen_u");
}

}  // namespace

std::string_view to_string(SqlDialect dialect) {
  return std::find_if(kDialects.begin(), kDialects.end(), [&](const auto& entry) { return entry.second == dialect; })
      ->first;
}

SqlDialect parse_sql_dialect(std::string_view name) {
  std::string known;
  for (const auto& [text, dialect] : kDialects) {
    if (text == name) return dialect;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw InvalidInput("sql", "dialect is \"" + std::string(name) + "\", must be one of " + known);
}

SqlLabel parse_sql_label(std::string_view name) {
  if (name == "number") return SqlLabel::kNumber;
  if (name == "boolean") return SqlLabel::kBoolean;
  if (name == "text") return SqlLabel::kText;
  throw InvalidInput("sql", "labels are \"" + std::string(name) + "\", must be number, boolean or text");
}

std::string quote_sql_name(std::string_view name, SqlDialect dialect) {
  if (name.empty()) throw InvalidInput("sql", "a name is empty");
  if (name.find('\0') != std::string_view::npos) throw InvalidInput("sql", "a name has a zero byte");
  const bool backticks =
      dialect == SqlDialect::kSpark || dialect == SqlDialect::kMysql || dialect == SqlDialect::kBigquery;
  const char quote = backticks ? '`' : '"';
  std::string quoted(1, quote);
  for (const char c : name) {
    // BigQuery has no doubled quotes, but escapes.
    if (dialect == SqlDialect::kBigquery && (c == quote || c == '\\')) {
      quoted += '\\';
    } else if (c == quote) {
      quoted += quote;
    }
    quoted += c;
  }
  return quoted + quote;
}

std::string sql_source(const SqlRows& rows) {
  std::string_view from = rows.from;
  while (!from.empty() && (std::isspace(static_cast<unsigned char>(from.back())) != 0 || from.back() == ';')) {
    from.remove_suffix(1);
  }
  if (from.empty()) throw InvalidInput("sql", "there is neither a query nor the name of a table");
  if (is_query(from)) return "(" + std::string(from) + "\n) AS limen_source";
  std::string name;
  for (std::size_t begin = 0; begin <= from.size();) {
    const std::size_t dot = std::min(from.find('.', begin), from.size());
    name += (begin > 0 ? "." : "") + quote_sql_name(from.substr(begin, dot - begin), rows.dialect);
    begin = dot + 1;
  }
  return name + " AS limen_source";
}

std::string sql_probe(const SqlRows& rows) {
  return "SELECT " + as_double(rows.score, rows) + " AS score, " + as_double(rows.uncertainty, rows) +
         " AS uncertainty, " + quote_sql_name(rows.label, rows.dialect) + " AS label FROM " + sql_source(rows) +
         " WHERE 1 = 0";
}

std::string sql_overview(const SqlRows& rows) {
  const std::string complete = std::string(kComplete) + is_finite("limen_s") + " AND " + is_finite("limen_u");
  const auto of = [&](std::string_view function, std::string_view column, std::string_view name) {
    return ", " + std::string(function) + "(CASE WHEN " + complete + " THEN " + std::string(column) + " END) AS " +
           std::string(name);
  };
  return "SELECT COUNT(*) AS all_rows, COUNT(CASE WHEN limen_label IS NOT NULL AND limen_y IS NULL THEN 1 END) AS "
         "wrong_labels" +
         of("COUNT", "1", "complete_rows") + of("SUM", "limen_y", "positives") + of("MIN", "limen_s", "least_score") +
         of("MAX", "limen_s", "greatest_score") + of("MIN", "limen_u", "least_uncertainty") +
         of("MAX", "limen_u", "greatest_uncertainty") + " FROM (" + plain_rows(rows) + ") AS limen_plain";
}

std::string sql_of(const CountQuery& query, const SqlRows& rows) {
  const bool by_score = query.value == CountedColumn::kScore;
  const std::string value = by_score ? "limen_s" : "limen_u";
  const std::string other = by_score ? "limen_u" : "limen_s";
  const bool distinct = !query.spans.empty();
  const std::string group = num_below(query.group_cuts, other, rows.dialect);
  std::string sql = "SELECT limen_group, ";
  sql += distinct ? "0 AS limen_bucket" : "limen_bucket";
  sql += ", COUNT(*) AS limen_rows, SUM(limen_y) AS limen_positives, ";
  sql += query.extremes || distinct ? "MIN(limen_x) AS limen_least, MAX(limen_x) AS limen_greatest"
                                    : "0 AS limen_least, 0 AS limen_greatest";
  // Adding 0 makes 0 of -0, which some engines keep apart from it.
  sql += "\nFROM (SELECT " + group + " AS limen_group, ";
  if (!distinct) sql += num_below(query.value_cuts, value, rows.dialect) + " AS limen_bucket, ";
  sql += value + " + 0.0e0 AS limen_x, limen_y\nFROM " + complete_rows(rows) + ") AS limen_cells\n";
  if (distinct) {
    sql += "WHERE ";
    for (std::size_t at = 0; at < query.spans.size(); ++at) {
      const CountQuery::Span& span = query.spans[at];
      sql += (at > 0 ? " OR " : "") + std::string("(limen_group = ") + std::to_string(span.group) +
             " AND limen_x BETWEEN " + number(span.low) + " AND " + number(span.high) + ")";
    }
    sql += "\n";
  }
  return sql + "GROUP BY limen_group, " + (distinct ? "limen_x" : "limen_bucket");
}

}  // namespace limen
