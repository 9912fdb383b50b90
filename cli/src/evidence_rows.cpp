// SPDX-License-Identifier: MIT
#include "evidence_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::cli {
namespace {

const limen::Column& column_named(const Frame& frame, const std::string& name) {
  return *std::ranges::find(frame.columns, name, &limen::Column::name);
}

// The part of each text, as text: few distinct ones.
TextValues parts_of(const TextValues& dates, const KeySpec& key, const std::string& table) {
  TextValues parts;
  std::vector<std::int32_t> code_of_date;
  std::vector<int> values;
  for (const std::string& text : dates.distinct) {
    const std::optional<Date> date = parse_loose_date(text);
    if (!date) {
      throw InvalidInput(Where{.source = table, .column = key.column},
                         limen::quoted(text) + " is not a date such as 2001-01-14 13:05");
    }
    const int value = part_of(*date, *key.part);
    const auto found = std::ranges::find(values, value);
    code_of_date.push_back(static_cast<std::int32_t>(found - values.begin()));
    if (found != values.end()) continue;
    values.push_back(value);
    parts.distinct.push_back(std::to_string(value));
  }
  parts.code.reserve(dates.code.size());
  for (const std::int32_t code : dates.code) {
    parts.code.push_back(code == TextValues::kMissing ? code : code_of_date[static_cast<std::size_t>(code)]);
  }
  return parts;
}

}  // namespace

std::vector<KeySpec> parse_keys(const std::vector<std::string>& names) {
  std::vector<KeySpec> keys;
  for (const std::string& name : names) {
    if (name.empty()) throw InvalidInput("--keys: a name is empty");
    if (std::ranges::count(names, name) > 1) throw InvalidInput(fmt::format("--keys: \"{}\" is given twice", name));
    KeySpec key = {.name = name, .column = name};
    if (const std::size_t colon = name.rfind(':'); colon != std::string::npos) {
      key.part = parse_date_part(name.substr(colon + 1));
      key.column = name.substr(0, colon);
      if (!key.part || key.column.empty()) {
        throw InvalidInput(
            fmt::format("--keys: \"{}\": behind the colon stands year, month, day, hour or weekday", name));
      }
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> columns_of(const std::vector<KeySpec>& keys) {
  std::vector<std::string> columns;
  for (const KeySpec& key : keys) {
    if (std::ranges::find(columns, key.column) == columns.end()) columns.push_back(key.column);
  }
  return columns;
}

Frame key_frame(const Frame& frame, const std::vector<KeySpec>& keys, const std::string& table) {
  Frame result;
  result.num_rows = frame.num_rows;
  for (const KeySpec& key : keys) {
    const limen::Column& column = column_named(frame, key.column);
    result.columns.push_back({.name = key.name, .values = column.values});
    if (key.part) result.columns.back().values = parts_of(std::get<TextValues>(column.values), key, table);
  }
  return result;
}

}  // namespace limen::cli
