// SPDX-License-Identifier: MIT
#include "evidence_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "limen/base/error.h"

namespace limen::cli {
namespace {

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return text;
}

const limen::Column& column_named(const Frame& frame, const std::string& name) {
  return *std::ranges::find(frame.columns, name, &limen::Column::name);
}

// The part of each text, as text: few distinct ones.
TextValues parts_of(const TextValues& dates, const KeySpec& key, const std::string& table) {
  TextValues parts;
  std::vector<std::int32_t> code_of_date;
  std::vector<int> values;
  for (const std::string& text : dates.distinct) {
    const std::optional<int> value = date_part(text, *key.part);
    if (!value) {
      throw InvalidInput(fmt::format("{}: column \"{}\": \"{}\" is not a date such as 2001-01-14 13:05", table,
                                     key.column, text.substr(0, 40)));
    }
    const auto found = std::ranges::find(values, *value);
    code_of_date.push_back(static_cast<std::int32_t>(found - values.begin()));
    if (found != values.end()) continue;
    values.push_back(*value);
    parts.distinct.push_back(std::to_string(*value));
  }
  parts.code.reserve(dates.code.size());
  for (const std::int32_t code : dates.code) {
    parts.code.push_back(code == TextValues::kMissing ? code : code_of_date[static_cast<std::size_t>(code)]);
  }
  return parts;
}

/// A number in [0, 1) that depends on the seed and the row only (splitmix64).
double hashed_uniform(std::uint64_t seed, std::uint64_t row) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15U + row + 1;
  for (int round = 0; round < 2; ++round) {
    x += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
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

PositiveRule::PositiveRule(const std::string& text) : value_(text) {
  constexpr std::pair<const char*, Comparison> kSigns[] = {{">=", Comparison::kGreaterEqual},
                                                           {"<=", Comparison::kLessEqual},
                                                           {">", Comparison::kGreater},
                                                           {"<", Comparison::kLess}};
  for (const auto& [sign, comparison] : kSigns) {
    if (!text.starts_with(sign)) continue;
    std::string number = text.substr(std::string(sign).size());
    number.erase(0, number.find_first_not_of(' '));
    number_ = number_of(number);
    // A class may be called ">50K".
    if (!number_) break;
    comparison_ = comparison;
    return;
  }
  number_ = number_of(text);
}

bool PositiveRule::is_positive(double value) const {
  switch (comparison_) {
    case Comparison::kGreater:
      return value > *number_;
    case Comparison::kGreaterEqual:
      return value >= *number_;
    case Comparison::kLess:
      return value < *number_;
    case Comparison::kLessEqual:
      return value <= *number_;
    default:
      return value == *number_;
  }
}

bool PositiveRule::is_positive(const std::string& text, const limen::Column& column, const std::string& table) const {
  const std::optional<double> number = number_of(text);
  if (!value_.empty()) return text == value_ || (number_ && number && *number == *number_);
  const std::string word = lower_case(text);
  if (word == "true" || number == 1.0) return true;
  if (word == "false" || number == 0.0) return false;
  throw InvalidInput(
      fmt::format("{}: column \"{}\": \"{}\" is neither 0/1 nor true/false (say which is positive with "
                  "--positive VALUE)",
                  table, column.name, text.substr(0, 40)));
}

std::vector<std::uint8_t> PositiveRule::labels(const limen::Column& column, const std::string& table) const {
  std::vector<std::uint8_t> labels;
  if (const NumberValues* values = std::get_if<NumberValues>(&column.values)) {
    labels.reserve(values->size());
    for (const double value : *values) {
      labels.push_back(std::isnan(value) ? kMissing : static_cast<std::uint8_t>(is_positive(value)));
    }
    return labels;
  }
  const TextValues& text = std::get<TextValues>(column.values);
  std::vector<std::uint8_t> label_of_text;
  for (const std::string& value : text.distinct) {
    label_of_text.push_back(static_cast<std::uint8_t>(is_positive(value, column, table)));
  }
  labels.reserve(text.code.size());
  for (const std::int32_t code : text.code) {
    labels.push_back(code == TextValues::kMissing ? kMissing : label_of_text[static_cast<std::size_t>(code)]);
  }
  return labels;
}

std::vector<double> undersampled(std::span<const std::uint8_t> label, std::span<const double> weight,
                                 std::uint64_t first_row, double tau, std::uint64_t seed) {
  std::vector<double> result(label.size());
  for (std::size_t row = 0; row < label.size(); ++row) {
    const bool is_kept = label[row] == 1 || (label[row] == 0 && hashed_uniform(seed, first_row + row) * tau < 1);
    if (is_kept) result[row] = weight.empty() ? 1 : weight[row];
  }
  return result;
}

}  // namespace limen::cli
