// SPDX-License-Identifier: MIT
#include "csv_table.h"

#include <algorithm>

#include "fields.h"

namespace limen::table::detail {

void CsvValues::refuse_length(const CsvRow& row) const {
  names_.refuse("line " + std::to_string(row.line) + " has " + std::to_string(row.fields.size()) +
                (row.fields.size() == 1 ? " field" : " fields") + ", the header has " +
                std::to_string(names_.names.size()));
}

std::nullopt_t CsvValues::refuse_or_drop_number(const CsvRow& row, const Column& column, std::string_view text,
                                                FieldStatus status) const {
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
  const LabelField field = parse_label(text);
  if (field.status == FieldStatus::kOk) return field.value;
  if (field.status == FieldStatus::kBad && !drop_missing_) refuse_value(row, column, quoted(text).append(kBadLabel));
  return refuse_or_drop(row, column, text, false);
}

std::nullopt_t CsvValues::refuse_or_drop(const CsvRow& row, const Column& column, std::string_view text,
                                         bool is_not_finite) const {
  if (drop_missing_) return std::nullopt;
  std::string what = is_not_finite           ? quoted(text) + " is not finite "
                     : trimmed(text).empty() ? "the value is missing "
                                             : quoted(text) + " is a missing value ";
  refuse_value(row, column, what.append(kDropHint));
}

void CsvValues::refuse_value(const CsvRow& row, const Column& column, const std::string& what) const {
  const char* const field = row.fields[column.index].data();
  const auto line = row.line + static_cast<std::uint64_t>(std::count(row.text.data(), field, '\n'));
  names_.refuse("line " + std::to_string(line) + ", column " + quoted(column.name) + ": " + what);
}

CsvTable::CsvTable(const Input& input, const ReadOptions& options, const CsvLimits& limits)
    : file_(input.path),
      rows_(file_, separator_of(input.format), limits, options.progress),
      names_{.table = input.name, .names = {}, .separator = separator_of(input.format)},
      values_(names_, options.drop_missing) {
  const CsvRow* header = rows_.next();
  if (header == nullptr) names_.refuse("is empty");
  std::string scratch;
  for (const std::string_view field : header->fields) names_.names.emplace_back(trimmed(unquoted(field, scratch)));
  header_text_ = header->text;
  has_crlf_ = rows_.ended_with_crlf();
}

const CsvRow* CsvTable::next() {
  const CsvRow* row = rows_.next();
  if (row != nullptr) values_.check_length(*row);
  return row;
}

}  // namespace limen::table::detail
