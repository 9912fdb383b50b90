// SPDX-License-Identifier: MIT
#include "count/sql_words.h"

#include <algorithm>
#include <array>
#include <limits>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
namespace {

constexpr std::array<std::string_view, 7> kDialects = {"ansi",     "spark",     "duckdb", "postgres",
                                                       "bigquery", "snowflake", "trino"};

/// `text` between two marks, with every mark inside it doubled.
std::string doubled(std::string_view text, char mark) {
  std::string result(1, mark);
  for (const char c : text) {
    if (c == mark) result += mark;
    result += c;
  }
  return result + mark;
}

/// `text` between two marks, as the dialects take it whose texts have escapes with a backslash.
std::string backslashed(std::string_view text, char mark) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result(1, mark);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == mark || c == '\\') {
      result.append({'\\', c});
    } else if (byte < 0x20 || byte == 0x7f) {
      result.append("\\u00").append({kHex[byte >> 4U], kHex[byte & 15U]});
    } else {
      result += c;
    }
  }
  return result + mark;
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte != 0x7f && c != '\'' && c != '\\' && c != '$';
}

std::string hex(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result.append({kHex[byte >> 4U], kHex[byte & 15U]});
  }
  return result;
}

std::string_view real_type(SqlDialect dialect) {
  switch (dialect) {
    case SqlDialect::kAnsi:
    case SqlDialect::kPostgres:
      return "DOUBLE PRECISION";
    case SqlDialect::kBigquery:
      return "FLOAT64";
    default:
      return "DOUBLE";
  }
}

}  // namespace

std::string_view to_string(SqlDialect dialect) { return kDialects[static_cast<std::size_t>(dialect)]; }
SqlDialect parse_sql_dialect(std::string_view name) {
  return static_cast<SqlDialect>(detail::place_of(name, kDialects, "the dialect"));
}
std::string quote_sql_name(std::string_view name, SqlDialect dialect) {
  return detail::SqlWords(dialect, "sql").name(name, "the name");
}

namespace detail {

void check_text(std::string_view text, const char* what, const char* function) {
  if (text.empty()) throw InvalidInput(function, std::string(what) + " is empty");
  if (text.find('\0') != std::string_view::npos) {
    throw InvalidInput(function, std::string(what) + " " + quoted(text) + " has a NUL, which cannot be exported");
  }
  if (!is_utf8(text)) throw InvalidInput(function, std::string(what) + " " + quoted(text) + " is not UTF-8");
}

std::size_t place_of(std::string_view name, std::span<const std::string_view> names, const char* what) {
  const auto place = std::ranges::find(names, name);
  if (place != names.end()) return static_cast<std::size_t>(place - names.begin());
  std::string list;
  for (const std::string_view known : names) list.append(list.empty() ? "" : ", ").append(known);
  throw InvalidInput("sql", std::string(what) + " is " + quoted(name) + ", must be one of " + list);
}

std::string SqlWords::name(std::string_view name, const char* what) const {
  check_text(name, what, function_);
  switch (dialect_) {
    case SqlDialect::kSpark:
      // Spark puts values of its configuration and of the environment in place of these before it parses.
      if (name.find("${") != std::string_view::npos) {
        throw InvalidInput(function_, std::string(what) + " " + quoted(name) + " has ${, which Spark replaces");
      }
      return doubled(name, '`');
    case SqlDialect::kBigquery:
      return backslashed(name, '`');
    default:
      return doubled(name, '"');
  }
}

std::string SqlWords::text(std::string_view text) const {
  switch (dialect_) {
    case SqlDialect::kSpark:
      // What '' and \ mean depends on version and configuration; bytes do not.
      return std::ranges::all_of(text, is_plain) ? doubled(text, '\'') : "CAST(X'" + hex(text) + "' AS STRING)";
    case SqlDialect::kBigquery:
    case SqlDialect::kSnowflake:
      return backslashed(text, '\'');
    case SqlDialect::kPostgres: {
      if (text.find('\\') == std::string_view::npos) return doubled(text, '\'');
      // What \ means in '...' is a setting; in E'...' it is not.
      std::string escaped;
      for (const char c : text) escaped.append(c == '\\' ? 2 : 1, c);
      return "E" + doubled(escaped, '\'');
    }
    default:
      return doubled(text, '\'');
  }
}

std::string SqlWords::number(double value) const {
  const std::string digits = number_text(value);
  switch (dialect_) {
    case SqlDialect::kSpark:
      return digits + "D";
    case SqlDialect::kDuckdb:
    case SqlDialect::kBigquery:
    case SqlDialect::kTrino:
      return digits.find('e') == std::string::npos ? digits + "E0" : digits;
    default:
      return "CAST('" + digits + "' AS " + std::string(real_type(dialect_)) + ")";
  }
}

std::string SqlWords::as_number(const std::string& value) const {
  return "CAST(" + value + " AS " + std::string(real_type(dialect_)) + ")";
}

std::string SqlWords::as_text(const std::string& value) const {
  switch (dialect_) {
    case SqlDialect::kSpark:
    case SqlDialect::kBigquery:
      return "CAST(" + value + " AS STRING)";
    case SqlDialect::kPostgres:
      return "CAST(" + value + " AS TEXT) COLLATE \"C\"";
    case SqlDialect::kDuckdb:
      return "CAST(" + value + " AS VARCHAR) COLLATE \"C\"";
    default:
      return "CAST(" + value + " AS VARCHAR)";
  }
}

std::string SqlWords::is_finite(const std::string& value) const {
  constexpr double kMost = std::numeric_limits<double>::max();
  return value + " BETWEEN " + number(-kMost) + " AND " + number(kMost);
}

}  // namespace detail
}  // namespace limen
