// SPDX-License-Identifier: MIT
#include "arrow_frame.h"

#include <arrow/array.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "arrow_status.h"
#include "arrow_values.h"

namespace limen::table::detail {
namespace {

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

bool is_time(const arrow::DataType& type) {
  return type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::DATE64 || type.id() == arrow::Type::TIMESTAMP;
}

std::int64_t ticks_per_second(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DATE64) return 1'000;
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1'000;
    case arrow::TimeUnit::MICRO:
      return 1'000'000;
    default:
      return 1'000'000'000;
  }
}

// YYYY-MM-DD or YYYY-MM-DD HH:MM:SS.
std::string time_text(const arrow::Array& array, std::int64_t row) {
  using std::chrono::days;
  using std::chrono::seconds;
  constexpr std::int64_t kDaySeconds = 86'400;
  constexpr std::int64_t kMaxDay = 3'652'059 * 3;  // about the year 30,000: what lies beyond is no date
  const bool has_time = array.type_id() == arrow::Type::TIMESTAMP;
  std::int64_t second = 0;
  if (array.type_id() == arrow::Type::DATE32) {
    second = kDaySeconds * static_cast<const arrow::Date32Array&>(array).Value(row);
  } else {
    const std::int64_t ticks = has_time ? static_cast<const arrow::TimestampArray&>(array).Value(row)
                                        : static_cast<const arrow::Date64Array&>(array).Value(row);
    const std::int64_t scale = ticks_per_second(*array.type());
    second = ticks / scale - (ticks % scale < 0 ? 1 : 0);
  }
  const std::int64_t day = second / kDaySeconds - (second % kDaySeconds < 0 ? 1 : 0);
  if (day > kMaxDay || day < -kMaxDay) return "";
  const std::chrono::year_month_day date{std::chrono::sys_days(days(static_cast<int>(day)))};
  const auto clock = static_cast<int>(second - day * kDaySeconds);
  char text[48];
  const int length = has_time
                         ? std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d",
                                         static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                         static_cast<unsigned>(date.day()), clock / 3600, clock / 60 % 60, clock % 60)
                         : std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return {text, static_cast<std::size_t>(length)};
}

// Appends the code of each value; `text_at(row)` gives its text.
template <typename TextAt>
void append_codes(const arrow::Array& array, const ValueRules& rules, TextIndex& texts,
                  std::vector<std::int32_t>& codes, const TextAt& text_at) {
  for (std::int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) {
      codes.push_back(TextValues::kMissing);
      continue;
    }
    const auto& text = text_at(row);
    codes.push_back(rules.is_missing(text) ? TextValues::kMissing : texts.add(text));
  }
}

void append_texts(const arrow::Array& array, const ValueRules& rules, const ColumnNames& names, TextIndex& texts,
                  std::vector<std::int32_t>& codes) {
  if (array.type_id() == arrow::Type::DICTIONARY) {
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
    std::vector<std::int32_t> dictionary;
    append_texts(*encoded.dictionary(), rules, names, texts, dictionary);
    for (std::int64_t row = 0; row < array.length(); ++row) {
      const std::int64_t index = encoded.IsNull(row) ? -1 : encoded.GetValueIndex(row);
      const bool is_known = index >= 0 && index < static_cast<std::int64_t>(dictionary.size());
      codes.push_back(is_known ? dictionary[static_cast<std::size_t>(index)] : TextValues::kMissing);
    }
  } else if (holds_text(*array.type())) {
    append_codes(array, rules, texts, codes, [&](std::int64_t row) { return string_value(array, row); });
  } else if (is_time(*array.type())) {
    append_codes(array, rules, texts, codes, [&](std::int64_t row) { return time_text(array, row); });
  } else {
    const std::shared_ptr<arrow::StringArray> text = value_or_refuse(as_text(array), names.table, "text");
    append_codes(*text, rules, texts, codes, [&](std::int64_t row) { return text->GetView(row); });
  }
}

struct Place {
  const ColumnNames& names;
  const FrameColumn& column;
  std::uint64_t first_row;

  [[noreturn]] void refuse(std::int64_t row, const std::string& what) const {
    names.refuse("row " + std::to_string(first_row + static_cast<std::uint64_t>(row) + 1) + ", column " +
                 quoted(column.column.name) + ": " + what);
  }
};

// The numbers that text stands for.
void append_parsed(const arrow::Array& array, const ValueRules& rules, const Place& place, NumberValues& values) {
  const std::size_t begin = values.size();
  TextIndex texts;
  std::vector<std::int32_t> codes;
  append_texts(array, rules, place.names, texts, codes);
  std::vector<NumberField> fields;
  for (const std::string& text : texts.texts()) fields.push_back(parse_number(text));
  values.resize(begin + codes.size(), kMissingNumber);
  for (std::size_t row = 0; row < codes.size(); ++row) {
    if (codes[row] == TextValues::kMissing) continue;
    const NumberField& field = fields[static_cast<std::size_t>(codes[row])];
    if (field.status == FieldStatus::kOk) values[begin + row] = field.value;
    if (field.status == FieldStatus::kBad) {
      place.refuse(static_cast<std::int64_t>(row), quoted(texts.texts()[static_cast<std::size_t>(codes[row])]) +
                                                       " is not a number" + place.column.number_hint);
    }
  }
}

}  // namespace

ColumnKind kind_of(const arrow::DataType& type) {
  return is_plain_number(type) ? ColumnKind::kNumber : ColumnKind::kText;
}

void check_frame_type(const ColumnNames& names, const FrameColumn& column, const arrow::DataType& type) {
  if (column.kind == ColumnKind::kNumber && column.number_hint.empty()) {
    check_number_type(names, column.column, type);
    return;
  }
  const arrow::DataType& plain = value_type(type);
  if (!is_plain_number(plain) && !holds_text(plain) && !is_time(plain) && !arrow::is_primitive(plain.id())) {
    refuse_type(names, column.column, type, "a number, text or a time");
  }
}

std::vector<bool> append_frame(const arrow::RecordBatch& batch, std::span<const FrameColumn> columns,
                               const ValueRules& rules, const ColumnNames& names, std::uint64_t first_row,
                               FrameBuilder& into) {
  const auto rows = static_cast<std::size_t>(batch.num_rows());
  const std::size_t begin = into.frame().num_rows;
  std::vector<bool> keep;
  const auto handle_missing = [&](const Place& place, const arrow::Array& array, std::size_t row) {
    const auto index = static_cast<std::int64_t>(row);
    if (rules.rule == MissingRule::kRefuse) place.refuse(index, bad_value(array, index));
    if (keep.empty()) keep.assign(rows, true);
    keep[row] = false;
  };
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const Place place = {.names = names, .column = columns[column], .first_row = first_row};
    const arrow::Array& array = *batch.column(static_cast<int>(columns[column].column.index));
    if (columns[column].kind == ColumnKind::kText) {
      std::vector<std::int32_t>& codes = into.codes(column);
      append_texts(array, rules, names, into.texts(column), codes);
      for (std::size_t row = 0; rules.rule != MissingRule::kKeep && row < rows; ++row) {
        if (codes[begin + row] == TextValues::kMissing) handle_missing(place, array, row);
      }
      continue;
    }
    NumberValues& values = into.numbers(column);
    if (is_plain_number(value_type(*array.type()))) {
      append_numbers(array, values);
    } else {
      append_parsed(array, rules, place, values);
    }
    if (all_finite(std::span<const double>(values), begin, values.size() - begin)) continue;
    for (std::size_t row = 0; row < rows; ++row) {
      double& value = values[begin + row];
      if (std::isfinite(value)) continue;
      if (rules.rule == MissingRule::kKeep) {
        value = kMissingNumber;
      } else {
        handle_missing(place, array, row);
      }
    }
  }
  into.add_rows(rows);
  if (!keep.empty()) into.keep_rows(begin, keep);
  return keep;
}

}  // namespace limen::table::detail
