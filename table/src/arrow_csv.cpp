// SPDX-License-Identifier: MIT
#include "arrow_csv.h"

#include <arrow/builder.h>
#include <arrow/table_builder.h>
#include <arrow/util/utf8.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "arrow_status.h"
#include "csv_frame.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

constexpr std::int64_t kBatchRows = 65'536;
constexpr std::size_t kBatchBytes = std::size_t{32} << 20;

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

// What all values of a column so far could be.
struct Candidates {
  bool has_values = false;
  bool may_be_int64 = true;
  bool may_be_double = true;
  bool may_be_bool = true;

  void add(std::string_view text) {
    if (text.empty()) return;
    has_values = true;
    if (may_be_int64) may_be_int64 = parse_integer(text).has_value() && !is_code(text) && text != "-0";
    if (may_be_double) {
      may_be_double = text == trimmed(text) && !is_code(text) && parse_number(text).status == FieldStatus::kOk;
    }
    if (may_be_bool) may_be_bool = parse_bool(text).has_value();
  }

  [[nodiscard]] std::shared_ptr<arrow::DataType> type() const {
    if (!has_values) return arrow::utf8();
    if (may_be_int64) return arrow::int64();
    if (may_be_double) return arrow::float64();
    return may_be_bool ? arrow::boolean() : arrow::utf8();
  }
};

arrow::Status add_value(arrow::ArrayBuilder& builder, std::string_view text) {
  if (builder.type()->id() == arrow::Type::STRING) return static_cast<arrow::StringBuilder&>(builder).Append(text);
  if (text.empty()) return builder.AppendNull();
  switch (builder.type()->id()) {
    case arrow::Type::INT64:
      return static_cast<arrow::Int64Builder&>(builder).Append(parse_integer(text).value());
    case arrow::Type::BOOL:
      return static_cast<arrow::BooleanBuilder&>(builder).Append(parse_bool(text).value());
    default:
      return static_cast<arrow::DoubleBuilder&>(builder).Append(parse_number(text).value);
  }
}

// A column that must be a number, and whose missing values leave no trace, is double whatever it looks like.
bool must_be_number(const AppendPlan& plan, const std::string& name) {
  return plan.rules.rule != MissingRule::kKeep && std::ranges::any_of(plan.wanted, [&](const WantedColumn& column) {
           return column.kind == ColumnKind::kNumber && trimmed(column.name) == name;
         });
}

}  // namespace

std::shared_ptr<arrow::Schema> infer_schema(const std::vector<Input>& inputs, const AppendPlan& plan) {
  std::optional<ColumnNames> first;
  std::vector<Candidates> candidates;
  for (const Input& input : inputs) {
    if (!is_text(input.format) || is_stdin(input)) continue;
    CsvTable table(input);
    const std::vector<std::size_t> kept = plan.kept_in(table.names());
    const ColumnNames names = plan.kept_names(table.names());
    if (!first) first = names;
    require_same_columns(*first, names);
    candidates.resize(kept.size());
    std::string scratch;
    while (const CsvRow* row = table.next()) {
      for (std::size_t column = 0; column < candidates.size(); ++column) {
        candidates[column].add(unquoted(row->fields[kept[column]], scratch));
      }
    }
  }
  if (!first) return nullptr;
  arrow::FieldVector fields;
  for (std::size_t column = 0; column < candidates.size(); ++column) {
    const std::string& name = first->names[column];
    fields.push_back(arrow::field(name, must_be_number(plan, name) ? arrow::float64() : candidates[column].type()));
  }
  return arrow::schema(fields);
}

CsvBatches::CsvBatches(const Input& input, const AppendPlan& plan, const Progress& progress,
                       std::shared_ptr<arrow::Schema> schema)
    : plan_(plan),
      table_(input, {}, progress),
      wanted_(plan.wanted_in(names())),
      kept_(plan.kept_in(names())),
      schema_(std::move(schema)) {
  if (schema_) return;
  arrow::FieldVector fields;
  for (const std::string& name : plan.kept_names(names()).names) {
    fields.push_back(arrow::field(name, must_be_number(plan, name) ? arrow::float64() : arrow::utf8()));
  }
  schema_ = arrow::schema(fields);
}

std::optional<FrameRows> CsvBatches::next() {
  const auto builder =
      value_or_refuse(arrow::RecordBatchBuilder::Make(schema_, arrow::default_memory_pool()), names().table, "text");
  CsvFrameParser parser(names(), wanted_, plan_.rules);
  FrameBuilder frame(wanted_);
  FrameRows rows;
  std::string scratch;
  std::size_t bytes = 0;
  while (static_cast<std::int64_t>(frame.frame().num_rows) < kBatchRows && bytes < kBatchBytes) {
    const CsvRow* row = table_.next();
    if (row == nullptr) break;
    bytes += row->text.size();
    if (!parser.add(*row, frame)) {
      ++rows.rows_dropped;
      continue;
    }
    for (std::size_t column = 0; column < kept_.size(); ++column) {
      arrow::ArrayBuilder& field = *builder->GetField(static_cast<int>(column));
      const std::string_view text = unquoted(row->fields[kept_[column]], scratch);
      if (field.type()->id() == arrow::Type::STRING && !arrow::util::ValidateUTF8(text)) {
        table_.values().refuse_value(*row, {names().names[kept_[column]], kept_[column]},
                                     quoted(text) + " is not UTF-8 (save the file as UTF-8)");
      }
      const bool is_string = field.type()->id() == arrow::Type::STRING;
      refuse_unless_ok(add_value(field, is_string ? text : trimmed(text)), names().table, "text");
    }
  }
  if (frame.frame().num_rows == 0 && rows.rows_dropped == 0) return std::nullopt;
  rows.batch = value_or_refuse(builder->Flush(), names().table, "text");
  rows.frame = frame.take();
  return rows;
}

}  // namespace limen::table::detail
