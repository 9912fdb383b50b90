// SPDX-License-Identifier: MIT
#include "csv_copy.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <charconv>
#include <cstdint>
#include <utility>

#include "arrow_status.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Digits with a zero in front are a code, such as a post code, whose zeros count.
bool is_code(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

template <typename Builder, typename Value>
arrow::Status add_or_null(arrow::ArrayBuilder& builder, const std::optional<Value>& value) {
  return value ? static_cast<Builder&>(builder).Append(*value) : builder.AppendNull();
}

// A value that fits the type. Where it must be a number, a word for a missing one is null.
arrow::Status add_value(arrow::ArrayBuilder& builder, std::string_view text) {
  switch (builder.type()->id()) {
    case arrow::Type::STRING:
      return static_cast<arrow::StringBuilder&>(builder).Append(text);
    case arrow::Type::INT64:
      return add_or_null<arrow::Int64Builder>(builder, parse_integer(trimmed(text)));
    case arrow::Type::BOOL:
      return add_or_null<arrow::BooleanBuilder>(builder, parse_bool(trimmed(text)));
    default:
      const NumberField number = parse_number(text);
      return add_or_null<arrow::DoubleBuilder>(
          builder, number.status == FieldStatus::kOk ? std::optional(number.value) : std::nullopt);
  }
}

}  // namespace

void add_field(std::string_view field, char separator, std::string& line) {
  if (field.starts_with('"') || field.find(separator) == std::string_view::npos) {
    line += field;
    return;
  }
  line += '"';
  for (const char c : field) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

std::string_view copied_text(const CsvRow& row, const ColumnNames& names, const Copying& copying,
                             std::string& scratch) {
  if (copying.separator == names.separator && copying.columns.size() == names.names.size()) return row.text;
  scratch.clear();
  for (std::size_t field = 0; field < copying.columns.size(); ++field) {
    if (field > 0) scratch += copying.separator;
    add_field(row.fields[copying.columns[field]], copying.separator, scratch);
  }
  return scratch;
}

RowCopier::RowCopier(const ColumnNames& names, const Copying& copying) : names_(names), copying_(copying) {
  if (copying.to == Copying::To::kNothing) return;
  for (const std::shared_ptr<arrow::Field>& field : copying.schema->fields()) {
    builders_.push_back(value_or_refuse(arrow::MakeBuilder(field->type()), names.table, "text"));
  }
}

void RowCopier::add(const CsvRow& row) {
  if (copying_.to == Copying::To::kNothing) return;
  if (copying_.to == Copying::To::kTyped) {
    add_typed(row);
  } else if (!builders_.empty()) {
    refuse_unless_ok(add_value(*builders_[0], copied_text(row, names_, copying_, scratch_)), names_.table, "text");
  }
  ++num_rows_;
}

void RowCopier::add_typed(const CsvRow& row) {
  for (std::size_t column = 0; column < builders_.size(); ++column) {
    const std::size_t index = copying_.columns[column];
    const std::string_view text = unquoted(row.fields[index], scratch_);
    if (!bad_ && builders_[column]->type()->id() == arrow::Type::STRING && !arrow::util::ValidateUTF8(text)) {
      bad_ = {.row = num_rows_, .column = index, .problem = quoted(text) + " is not UTF-8 (save the file as UTF-8)"};
    }
    refuse_unless_ok(add_value(*builders_[column], text), names_.table, "text");
  }
}

std::shared_ptr<arrow::RecordBatch> RowCopier::finish() {
  if (copying_.to == Copying::To::kNothing) return nullptr;
  arrow::ArrayVector columns;
  for (const auto& builder : builders_) columns.push_back(value_or_refuse(builder->Finish(), names_.table, "text"));
  return arrow::RecordBatch::Make(copying_.schema, static_cast<std::int64_t>(std::exchange(num_rows_, 0)),
                                  std::move(columns));
}

void TypeCandidates::add(std::string_view text) {
  if (text.empty()) return;
  has_values = true;
  if (may_be_int64) may_be_int64 = parse_integer(text).has_value() && !is_code(text) && text != "-0";
  if (may_be_double) may_be_double = text == trimmed(text) && !is_code(text) && parse_number(text).status == FieldStatus::kOk;
  if (may_be_bool) may_be_bool = parse_bool(text).has_value();
}

std::shared_ptr<arrow::DataType> TypeCandidates::type() const {
  if (!has_values) return arrow::utf8();
  if (may_be_int64) return arrow::int64();
  if (may_be_double) return arrow::float64();
  return may_be_bool ? arrow::boolean() : arrow::utf8();
}

}  // namespace limen::table::detail
