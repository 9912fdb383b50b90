// SPDX-License-Identifier: MIT
#include "detail/label_rule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "detail/text.h"
#include "limen/base/error.h"

namespace limen::train::detail {
namespace {

struct ComparisonName {
  std::string_view text;
  Comparison comparison;
};
// Longer signs first: ">=" begins with ">".
constexpr ComparisonName kComparisons[] = {{">=", Comparison::kGreaterEqual}, {"<=", Comparison::kLessEqual},
                                           {"==", Comparison::kEqual},        {"!=", Comparison::kNotEqual},
                                           {">", Comparison::kGreater},       {"<", Comparison::kLess}};

bool holds(Comparison comparison, double value, double bound) {
  switch (comparison) {
    case Comparison::kGreater:
      return value > bound;
    case Comparison::kGreaterEqual:
      return value >= bound;
    case Comparison::kLess:
      return value < bound;
    case Comparison::kLessEqual:
      return value <= bound;
    case Comparison::kEqual:
      return value == bound;
    case Comparison::kNotEqual:
      return value != bound;
  }
  return false;
}

std::optional<std::uint8_t> standard_label(std::string_view value) {
  constexpr std::array<std::string_view, 3> kClasses[] = {{"0", "false", "no"}, {"1", "true", "yes"}};
  if (value.size() > 5) return std::nullopt;
  std::string lower(value);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::uint8_t label = 0; label < 2; ++label) {
    if (std::find(kClasses[label].begin(), kClasses[label].end(), lower) != kClasses[label].end()) return label;
  }
  return std::nullopt;
}

}  // namespace

std::string label_value(std::string_view text) {
  const auto number = parse_number(text);
  return number && std::isfinite(*number) ? number_text(*number) : std::string(text);
}

std::string_view to_string(Comparison comparison) {
  for (const ComparisonName& name : kComparisons) {
    if (name.comparison == comparison) return name.text;
  }
  return "";
}

std::optional<Comparison> parse_comparison(std::string_view text) {
  for (const ComparisonName& name : kComparisons) {
    if (name.text == text) return name.comparison;
  }
  return std::nullopt;
}

LabelRule parse_label_rule(const std::optional<std::string>& positive) {
  if (!positive) return {};
  for (const ComparisonName& name : kComparisons) {
    if (positive->compare(0, name.text.size(), name.text) != 0) continue;
    std::string_view number = std::string_view(*positive).substr(name.text.size());
    while (!number.empty() && number.front() == ' ') number.remove_prefix(1);
    const auto bound = parse_number(number);
    if (!bound || !std::isfinite(*bound)) {
      throw InvalidInput("features: positive is " + quoted(*positive) + ", behind " + std::string(name.text) +
                         " must be a number");
    }
    return {.kind = LabelKind::kCompare, .comparison = name.comparison, .bound = *bound};
  }
  if (positive->empty()) throw InvalidInput("features: positive is empty, must be a value or a comparison such as >30");
  return {.kind = LabelKind::kEquals, .positive = label_value(*positive)};
}

std::optional<std::uint8_t> label_of(const LabelRule& rule, std::string_view value) {
  switch (rule.kind) {
    case LabelKind::kStandard:
      return standard_label(value);
    case LabelKind::kEquals:
      if (value == rule.positive) return std::uint8_t{1};
      if (rule.negative && value != *rule.negative) return std::nullopt;
      return std::uint8_t{0};
    case LabelKind::kCompare: {
      const auto number = parse_number(value);
      if (!number || std::isnan(*number)) return std::nullopt;
      return static_cast<std::uint8_t>(holds(rule.comparison, *number, rule.bound) ? 1 : 0);
    }
  }
  return std::nullopt;
}

std::string wanted_labels(const LabelRule& rule) {
  if (rule.kind == LabelKind::kCompare) return "a number";
  if (rule.kind == LabelKind::kStandard) return "0/1, true/false or yes/no";
  return quoted(rule.positive) + " or " + (rule.negative ? quoted(*rule.negative) : "another value");
}

void LabelCounter::add(std::string_view value, std::size_t row, std::int64_t count) {
  if (values_.size() < kMostValues) values_.insert(value, text_hash(value));
  if (const auto label = label_of(rule_, value)) {
    count_[*label] += count;
    return;
  }
  if (rule_.kind == LabelKind::kCompare) {
    throw InvalidInput("features: label " + quoted(column_) + " row " + std::to_string(row + 1) + " is " +
                       quoted(value) + ", must be a number to be compared with \"" +
                       std::string(to_string(rule_.comparison)) + number_text(rule_.bound) + "\"");
  }
  if (!first_of_neither_) first_of_neither_ = {std::string(value), row};
}

void LabelCounter::add_missing(std::size_t row) const {
  throw InvalidInput("features: label " + quoted(column_) + " row " + std::to_string(row + 1) +
                     " is missing, must be " + wanted_labels(rule_) + "; leave such rows out");
}

std::string LabelCounter::values_text() const {
  std::vector<std::string> values = values_.texts();
  const bool more = values.size() == kMostValues;
  if (more) values.pop_back();
  std::sort(values.begin(), values.end());
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + quoted(value);
  return more ? text + " and more" : text;
}

LabelRule LabelCounter::finish() const {
  const std::string label = "features: label " + quoted(column_);
  if (first_of_neither_ && values_.size() > 2) {
    throw InvalidInput(label + " row " + std::to_string(first_of_neither_->second + 1) + " is " +
                       quoted(first_of_neither_->first) + ", and there are more than two values (" + values_text() +
                       "); set `positive` to one of them or to a comparison such as \">0\"");
  }
  if (first_of_neither_) {
    throw InvalidInput(label + " has the values " + values_text() + ", must be " + wanted_labels(rule_) +
                       "; set `positive` to one of them");
  }
  if (count_[0] == 0 || count_[1] == 0) {
    throw InvalidInput(label + " has only " + (count_[1] == 0 ? "negative" : "positive") + " rows (values " +
                       values_text() + "), two classes were needed");
  }
  LabelRule rule = rule_;
  if (rule.kind == LabelKind::kEquals && values_.size() == 2) {
    rule.negative = values_.texts()[values_.texts()[0] == rule.positive ? 1 : 0];
  }
  return rule;
}

}  // namespace limen::train::detail
