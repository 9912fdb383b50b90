// SPDX-License-Identifier: MIT
#include "csv_frame.h"

#include <limits>
#include <optional>

namespace limen::table::detail {
namespace {

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

bool CsvFrameParser::add(const CsvRow& row, FrameBuilder& into) {
  values_.check_length(row);
  bool is_whole = true;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const FrameColumn& wanted = columns_[column];
    if (wanted.kind == ColumnKind::kNumber) {
      const double value = number(row, wanted);
      is_whole = is_whole && !std::isnan(value);
      into.add_number(column, value);
      continue;
    }
    const std::string_view value = text(row.fields[wanted.column.index]);
    if (!rules_.is_missing(value)) {
      into.add_text(column, value);
      continue;
    }
    if (rules_.rule == MissingRule::kRefuse) values_.refuse_missing(row, wanted.column);
    is_whole = false;
    into.add_missing_text(column);
  }
  if (!is_whole && rules_.rule == MissingRule::kDrop) {
    into.drop_row();
    return false;
  }
  into.end_row();
  return true;
}

// NaN for a value that is missing and not refused.
double CsvFrameParser::number(const CsvRow& row, const FrameColumn& column) {
  const std::string_view text = unquoted(row.fields[column.column.index], scratch_);
  const NumberField field = parse_number(text);
  if (field.status == FieldStatus::kOk && rules_.missing.empty()) return field.value;
  if (rules_.is_missing(trimmed(text)) || field.status == FieldStatus::kMissing) {
    if (rules_.rule == MissingRule::kRefuse) values_.refuse_missing(row, column.column);
    return kMissingNumber;
  }
  if (field.status == FieldStatus::kOk) return field.value;
  if (field.status == FieldStatus::kNotFinite && rules_.rule == MissingRule::kKeep) return kMissingNumber;
  if (field.status == FieldStatus::kBad) {
    values_.refuse_value(row, column.column, quoted(text) + " is not a number" + column.number_hint);
  }
  return values_.number(row, column.column).value_or(kMissingNumber);
}

// Blanks inside quotes count.
std::string_view CsvFrameParser::text(std::string_view field) {
  return field.starts_with('"') ? without_quotes(field, scratch_) : trimmed(field);
}

void SeenKind::add(std::string_view field, const ValueRules& rules, std::string& scratch) {
  if (has_text) return;
  const std::string_view text = trimmed(unquoted(field, scratch));
  if (rules.is_missing(text)) return;
  const FieldStatus status = parse_number(text).status;
  if (status == FieldStatus::kMissing) return;
  has_values = true;
  has_text = status == FieldStatus::kBad;
}

}  // namespace limen::table::detail
