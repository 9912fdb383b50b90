// SPDX-License-Identifier: MIT
#include "csv_table.h"

#include <algorithm>

#include "limen/base/labels.h"
#include "limen/base/text.h"

namespace limen::table::detail {

void CsvValues::refuse_length(const CsvRow& row) const {
  names_.refuse("line " + std::to_string(row.line) + " has " + std::to_string(row.fields.size()) +
                (row.fields.size() == 1 ? " field" : " fields") +
                (names_.has_header ? ", the header has " : ", the first line has ") +
                std::to_string(names_.names.size()));
}

std::nullopt_t CsvValues::refuse_or_drop_number(const CsvRow& row, const Column& column, std::string_view text,
                                                FieldStatus status) {
  if (status == FieldStatus::kBad) refuse_value(row, column, quoted(text) + " is not a number");
  return refuse_or_drop(row, column, text, status == FieldStatus::kNotFinite);
}

std::optional<double> CsvValues::weight(const CsvRow& row, const Column& column) {
  const std::optional<double> value = number(row, column);
  if (!value || *value >= 0) return value;
  if (drop_missing_) return std::nullopt;
  const std::string_view text = unquoted(row.fields[column.index], scratch_);
  refuse_value(row, column, quoted(text).append(kNegativeWeight).append(kDropHint));
}

std::optional<std::uint8_t> CsvValues::label(const CsvRow& row, const Column& column) {
  const std::string_view text = unquoted(row.fields[column.index], scratch_);
  const bool missing = is_missing(trimmed(text));
  if (!missing) {
    if (const auto label = label_of(LabelRule{}, text)) return label;
    if (!drop_missing_) refuse_value(row, column, quoted(text).append(kBadLabel));
  }
  return refuse_or_drop(row, column, text, false);
}

std::nullopt_t CsvValues::refuse_or_drop(const CsvRow& row, const Column& column, std::string_view text,
                                         bool is_not_finite) {
  if (drop_missing_) return std::nullopt;
  if (!is_not_finite) refuse_missing(row, column);
  refuse_value(row, column, (quoted(text) + " is not finite ").append(kDropHint));
}

void CsvValues::refuse_missing(const CsvRow& row, const Column& column) {
  const std::string_view text = unquoted(row.fields[column.index], scratch_);
  const std::string what = trimmed(text).empty() ? "the value is missing " : quoted(text) + " is a missing value ";
  refuse_value(row, column, what + std::string(kDropHint));
}

void CsvValues::refuse_value(const CsvRow& row, const Column& column, const std::string& what) const {
  const char* const field = row.fields[column.index].data();
  const auto line = row.line + static_cast<std::uint64_t>(std::count(row.text.data(), field, '\n'));
  names_.refuse("line " + std::to_string(line) + ", column " + quoted(column.name) + ": " + what);
}

CsvTable::CsvTable(const Input& input, const CsvLimits& limits, const Progress& progress, bool drop_missing)
    : file_(input.path),
      rows_(file_, separator_of(input), limits, progress),
      names_{.table = input.name, .names = {}, .separator = separator_of(input), .has_header = input.layout.has_header},
      values_(names_, drop_missing) {
  const TextLayout& layout = input.layout;
  const CsvRow* const first = rows_.next();
  if (first == nullptr) names_.refuse("is empty");
  if (!layout.names.empty()) {
    if (layout.names.size() != first->fields.size()) {
      names_.refuse("the first line has " + std::to_string(first->fields.size()) + " fields, but " +
                    std::to_string(layout.names.size()) + " names of columns are given");
    }
    for (const std::string& name : layout.names) names_.names.emplace_back(trimmed(name));
  } else if (layout.has_header) {
    std::string scratch;
    for (const std::string_view field : first->fields) names_.names.emplace_back(trimmed(unquoted(field, scratch)));
    header_text_ = first->text;
    for (const std::string_view field : first->fields) {
      header_fields_.push_back(std::string_view(header_text_)
                                   .substr(static_cast<std::size_t>(field.data() - first->text.data()), field.size()));
    }
  } else {
    for (std::size_t field = 1; field <= first->fields.size(); ++field) {
      names_.names.push_back("column" + std::to_string(field));
    }
  }
  has_crlf_ = rows_.ended_with_crlf();
  if (!layout.has_header) rows_.unread();
}

const CsvRow* CsvTable::next() {
  const CsvRow* row = rows_.next();
  if (row != nullptr) values_.check_length(*row);
  return row;
}

}  // namespace limen::table::detail
