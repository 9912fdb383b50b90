// SPDX-License-Identifier: MIT
#include "limen/report/table_text.h"

#include <string_view>

#include "limen/base/error.h"

namespace limen::report {
namespace {

void validate(const TextTable& table, const char* function) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.rows[row].size() != table.header.size()) {
      throw InvalidInput(function, "row " + std::to_string(row) + " has " + std::to_string(table.rows[row].size()) +
                                       " cells, the header " + std::to_string(table.header.size()));
    }
  }
}

std::string escape_markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[') out += '\\';
    out += c;
  }
  return out;
}

std::string escape_csv(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string escape_latex(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '\n':
      case '\r':
        out += ' ';
        break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

template <class Escape>
std::string line(const std::vector<std::string>& cells, std::string_view before, std::string_view between,
                 std::string_view after, Escape escape) {
  std::string out(before);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cell > 0) out += between;
    out += escape(cells[cell]);
  }
  return out.append(after);
}

}  // namespace

std::string markdown(const TextTable& table) {
  validate(table, "markdown");
  std::string out = line(table.header, "| ", " | ", " |\n", escape_markdown) + "|";
  for (std::size_t cell = 0; cell < table.header.size(); ++cell) out += "---|";
  out += '\n';
  for (const auto& row : table.rows) out += line(row, "| ", " | ", " |\n", escape_markdown);
  return out;
}

std::string csv(const TextTable& table) {
  validate(table, "csv");
  std::string out = line(table.header, "", ",", "\n", escape_csv);
  for (const auto& row : table.rows) out += line(row, "", ",", "\n", escape_csv);
  return out;
}

std::string latex(const TextTable& table) {
  validate(table, "latex");
  std::string out = "\\begin{tabular}{" + std::string(table.header.size(), 'l') + "}\n\\toprule\n" +
                    line(table.header, "", " & ", " \\\\\n", escape_latex) + "\\midrule\n";
  for (const auto& row : table.rows) out += line(row, "", " & ", " \\\\\n", escape_latex);
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace limen::report
