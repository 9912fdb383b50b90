// SPDX-License-Identifier: MIT
#include "csv_copy.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include <charconv>
#include <cstdint>
#include <optional>

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

// A value that fits the type. A number with a missing word where it must be a number is null.
arrow::Status add_value(arrow::ArrayBuilder& builder, std::string_view text) {
  switch (builder.type()->id()) {
    case arrow::Type::STRING:
      return static_cast<arrow::StringBuilder&>(builder).Append(text);
    case arrow::Type::INT64:
      if (const auto value = parse_integer(trimmed(text))) {
        return static_cast<arrow::Int64Builder&>(builder).Append(*value);
      }
      return builder.AppendNull();
    case arrow::Type::BOOL:
      if (const auto value = parse_bool(trimmed(text))) {
        return static_cast<arrow::BooleanBuilder&>(builder).Append(*value);
      }
      return builder.AppendNull();
    default:
      const NumberField number = parse_number(text);
      if (number.status != FieldStatus::kOk) return builder.AppendNull();
      return static_cast<arrow::DoubleBuilder&>(builder).Append(number.value);
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

RowCopier::RowCopier(const CsvFile& file, const Copying& copying) : file_(file), copying_(copying) {
  copies_whole_records_ =
      copying.separator == file.names().separator && copying.columns.size() == file.names().names.size();
  if (copying.to != Copying::To::kTyped) return;
  for (const std::shared_ptr<arrow::Field>& field : copying.schema->fields()) {
    builders_.push_back(value_or_refuse(arrow::MakeBuilder(field->type()), file.names().table, "text"));
  }
}

void RowCopier::add(const CsvRow& row, Batch& into) {
  if (copying_.to == Copying::To::kNothing) return;
  if (copying_.to == Copying::To::kTyped) {
    add_typed(row);
    return;
  }
  add_text(row, into.text);
  into.text_end.push_back(into.text.size());
}

void RowCopier::add_text(const CsvRow& row, std::string& into) const {
  if (copies_whole_records_) {
    into += row.text;
    return;
  }
  for (std::size_t field = 0; field < copying_.columns.size(); ++field) {
    if (field > 0) into += copying_.separator;
    add_field(row.fields[copying_.columns[field]], copying_.separator, into);
  }
}

void RowCopier::add_typed(const CsvRow& row) {
  for (std::size_t column = 0; column < builders_.size(); ++column) {
    const std::size_t index = copying_.columns[column];
    const std::string_view text = unquoted(row.fields[index], scratch_);
    if (builders_[column]->type()->id() == arrow::Type::STRING && !arrow::util::ValidateUTF8(text)) {
      file_.refuse_value(row, index, quoted(text) + " is not UTF-8 (save the file as UTF-8)", Cause::kOther);
    }
    refuse_unless_ok(add_value(*builders_[column], text), file_.names().table, "text");
  }
}

void RowCopier::finish(Batch& into) {
  if (copying_.to != Copying::To::kTyped || into.num_rows == 0) return;
  arrow::ArrayVector columns;
  for (const auto& builder : builders_) {
    columns.push_back(value_or_refuse(builder->Finish(), file_.names().table, "text"));
  }
  into.typed.push_back(
      arrow::RecordBatch::Make(copying_.schema, static_cast<std::int64_t>(into.num_rows), std::move(columns)));
}

void TypeFinder::Candidates::add(std::string_view text) {
  if (text.empty()) return;
  has_values = true;
  if (may_be_int64) may_be_int64 = parse_integer(text).has_value() && !is_code(text) && text != "-0";
  if (may_be_double) {
    may_be_double = text == trimmed(text) && !is_code(text) && parse_number(text).status == FieldStatus::kOk;
  }
  if (may_be_bool) may_be_bool = parse_bool(text).has_value();
}

void TypeFinder::add(CsvFile& file, const std::vector<std::size_t>& columns) {
  columns_.resize(columns.size());
  CsvPlace place = file.start();
  std::string scratch;
  std::uint64_t num_rows = 0;
  while (const std::optional<CsvBlock> block = file.next_block()) {
    CsvRows rows = file.rows(*block, place);
    while (const CsvRow* row = rows.next()) {
      file.check_length(*row);
      ++num_rows;
      for (std::size_t column = 0; column < columns.size(); ++column) {
        columns_[column].add(unquoted(row->fields[columns[column]], scratch));
      }
    }
    place = rows.place();
  }
  file.file().end(num_rows);
}

std::shared_ptr<arrow::DataType> TypeFinder::type(std::size_t column) const {
  const Candidates& candidates = columns_[column];
  if (!candidates.has_values) return arrow::utf8();
  if (candidates.may_be_int64) return arrow::int64();
  if (candidates.may_be_double) return arrow::float64();
  return candidates.may_be_bool ? arrow::boolean() : arrow::utf8();
}

}  // namespace limen::table::detail
