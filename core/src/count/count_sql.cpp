// SPDX-License-Identifier: MIT
#include "limen/count/count_sql.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "count/sql_words.h"
#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
namespace {

constexpr const char* kFunction = "sql";

detail::SqlWords words_of(const SqlRows& rows) { return {rows.dialect, kFunction}; }

/// The number of cuts at or below an expression, by halving: log2 of them comparisons a row.
void search(std::span<const double> cuts, std::size_t first, const std::string& value, const detail::SqlWords& words,
            std::string& sql) {
  if (cuts.empty()) {
    sql += std::to_string(first);
    return;
  }
  const std::size_t half = cuts.size() / 2;
  sql += "CASE WHEN " + value + " < " + words.number(cuts[half]) + " THEN ";
  search(cuts.subspan(0, half), first, value, words, sql);
  sql += " ELSE ";
  search(cuts.subspan(half + 1), first + half + 1, value, words, sql);
  sql += " END";
}

std::string num_below(const std::vector<double>& cuts, const std::string& value, const SqlRows& rows) {
  std::string sql;
  if (rows.dialect == SqlDialect::kPostgres && cuts.size() > 8) {
    sql = "width_bucket(" + value + ", '{";
    for (std::size_t at = 0; at < cuts.size(); ++at) sql += (at > 0 ? "," : "") + number_text(cuts[at]);
    return sql + "}'::float8[])";
  }
  search(cuts, 0, value, words_of(rows), sql);
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
  const detail::SqlWords words = words_of(rows);
  const std::string label = words.name(rows.label, "the label column");
  const std::string as_text = words.as_text(label);
  if (rows.positive) {
    return "CASE WHEN " + as_text + " = " + words.text(*rows.positive) + " THEN 1 WHEN " + label +
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

std::string as_double(const std::string& column, const char* what, const SqlRows& rows) {
  const detail::SqlWords words = words_of(rows);
  return words.as_number(words.name(column, what));
}

std::string is_complete(const SqlRows& rows) {
  const detail::SqlWords words = words_of(rows);
  return "limen_y IS NOT NULL AND " + words.is_finite("limen_s") + " AND " + words.is_finite("limen_u");
}

/// Columns limen_s, limen_u, limen_y of the rows.
std::string plain_rows(const SqlRows& rows) {
  std::string sql = "SELECT " + as_double(rows.score, "the score column", rows) + " AS limen_s, " +
                    as_double(rows.uncertainty, "the uncertainty column", rows) + " AS limen_u, " + label_value(rows) +
                    " AS limen_y, " + words_of(rows).name(rows.label, "the label column") + " AS limen_label FROM " +
                    sql_source(rows);
  return sql;
}

std::string complete_rows(const SqlRows& rows) {
  std::string sql = "(" + plain_rows(rows) + ") AS limen_plain";
  if (!rows.drop_missing) return sql;
  return sql + " WHERE " + is_complete(rows);
}

}  // namespace

SqlLabel parse_sql_label(std::string_view name) {
  if (name == "number") return SqlLabel::kNumber;
  if (name == "boolean") return SqlLabel::kBoolean;
  if (name == "text") return SqlLabel::kText;
  throw InvalidInput("sql", "labels are \"" + std::string(name) + "\", must be number, boolean or text");
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
    name += (begin > 0 ? "." : "") + words_of(rows).name(from.substr(begin, dot - begin), "the table");
    begin = dot + 1;
  }
  return name + " AS limen_source";
}

std::string sql_probe(const SqlRows& rows) {
  return "SELECT " + as_double(rows.score, "the score column", rows) + " AS score, " +
         as_double(rows.uncertainty, "the uncertainty column", rows) + " AS uncertainty, " +
         words_of(rows).name(rows.label, "the label column") + " AS label FROM " + sql_source(rows) + " WHERE 1 = 0";
}

std::string sql_overview(const SqlRows& rows) {
  const std::string complete = is_complete(rows);
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
  const std::string group = num_below(query.group_cuts, other, rows);
  std::string sql = "SELECT limen_group, ";
  sql += distinct ? "0 AS limen_bucket" : "limen_bucket";
  sql += ", COUNT(*) AS limen_rows, SUM(limen_y) AS limen_positives, ";
  sql += query.extremes || distinct ? "MIN(limen_x) AS limen_least, MAX(limen_x) AS limen_greatest"
                                    : "0 AS limen_least, 0 AS limen_greatest";
  // Adding 0 makes 0 of -0, which some engines keep apart from it.
  sql += "\nFROM (SELECT " + group + " AS limen_group, ";
  if (!distinct) sql += num_below(query.value_cuts, value, rows) + " AS limen_bucket, ";
  sql += value + " + " + words_of(rows).number(0) + " AS limen_x, limen_y\nFROM " + complete_rows(rows) +
         ") AS limen_cells\n";
  if (distinct) {
    sql += "WHERE ";
    for (std::size_t at = 0; at < query.spans.size(); ++at) {
      const CountQuery::Span& span = query.spans[at];
      sql += (at > 0 ? " OR " : "") + std::string("(limen_group = ") + std::to_string(span.group) +
             " AND limen_x BETWEEN " + words_of(rows).number(span.low) + " AND " + words_of(rows).number(span.high) +
             ")";
    }
    sql += "\n";
  }
  return sql + "GROUP BY limen_group, " + (distinct ? "limen_x" : "limen_bucket");
}

}  // namespace limen
