// SPDX-License-Identifier: MIT
#include "limen/base/labels.h"

#include <array>
#include <cmath>
#include <vector>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
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

std::optional<std::uint8_t> standard_label(double value) {
  if (value == 0) return std::uint8_t{0};
  if (value == 1) return std::uint8_t{1};
  return std::nullopt;
}

std::optional<std::uint8_t> standard_label(std::string_view text) {
  if (text == "0") return std::uint8_t{0};
  if (text == "1") return std::uint8_t{1};
  constexpr std::array<std::string_view, 2> kWords[] = {{"false", "no"}, {"true", "yes"}};
  for (std::uint8_t label = 0; label < 2; ++label) {
    for (const std::string_view word : kWords[label]) {
      if (equals_ignoring_case(text, word)) return label;
    }
  }
  const NumberField number = parse_number(text);
  return number.status == FieldStatus::kOk ? standard_label(number.value) : std::nullopt;
}

std::optional<std::uint8_t> equal_label(const LabelRule& rule, std::string_view value) {
  if (value == rule.positive) return std::uint8_t{1};
  if (rule.negative && value != *rule.negative) return std::nullopt;
  return std::uint8_t{0};
}

}  // namespace

LabelRule positive_value(std::string_view value) {
  if (trimmed(value).empty())
    throw InvalidInput("labels", "the positive value is empty, must be a value of the column");
  return {.kind = LabelKind::kEquals, .positive = label_value(value)};
}

LabelRule positive_if(std::string_view comparison) {
  const std::string_view text = trimmed(comparison);
  for (const ComparisonName& name : kComparisons) {
    if (!text.starts_with(name.text)) continue;
    const NumberField number = parse_number(text.substr(name.text.size()));
    if (number.status != FieldStatus::kOk) break;
    return {.kind = LabelKind::kCompare, .comparison = name.comparison, .bound = number.value};
  }
  throw InvalidInput("labels", quoted(comparison) + " is not a comparison with a number such as >30 or <=0.5");
}

std::string label_value(std::string_view text) {
  text = trimmed(text);
  const NumberField number = parse_number(text);
  return number.status == FieldStatus::kOk ? number_text(number.value) : std::string(text);
}

std::optional<std::uint8_t> label_of(const LabelRule& rule, std::string_view text) {
  text = trimmed(text);
  switch (rule.kind) {
    case LabelKind::kStandard:
      return standard_label(text);
    case LabelKind::kEquals:
      return equal_label(rule, label_value(text));
    case LabelKind::kCompare: {
      const NumberField number = parse_number(text);
      if (number.status != FieldStatus::kOk) return std::nullopt;
      return static_cast<std::uint8_t>(holds(rule.comparison, number.value, rule.bound) ? 1 : 0);
    }
  }
  return std::nullopt;
}

std::optional<std::uint8_t> label_of(const LabelRule& rule, double value) {
  switch (rule.kind) {
    case LabelKind::kStandard:
      return standard_label(value);
    case LabelKind::kEquals:
      return equal_label(rule, number_text(value));
    case LabelKind::kCompare:
      return static_cast<std::uint8_t>(holds(rule.comparison, value, rule.bound) ? 1 : 0);
  }
  return std::nullopt;
}

std::string wanted_labels(const LabelRule& rule) {
  if (rule.kind == LabelKind::kCompare) return "a number";
  if (rule.kind == LabelKind::kStandard) return "0/1, true/false or yes/no";
  return quoted(rule.positive) + " or " + (rule.negative ? quoted(*rule.negative) : "another value");
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

void LabelsSeen::add(std::string_view value, std::optional<std::uint8_t> label) {
  any_positive_ |= label == std::uint8_t{1};
  any_negative_ |= label == std::uint8_t{0};
  if (values_.size() < kMostValues) values_.emplace(value);
}

void LabelsSeen::merge(const LabelsSeen& other) {
  any_positive_ |= other.any_positive_;
  any_negative_ |= other.any_negative_;
  for (const std::string& value : other.values_) {
    if (values_.size() < kMostValues) values_.insert(value);
  }
}

std::string LabelsSeen::list() const {
  std::string text;
  std::size_t left = kMostValues - 1;
  for (const std::string& value : values_) {
    if (left-- == 0) return text + " and more";
    text += (text.empty() ? "" : ", ") + quoted(value);
  }
  return text;
}

void require_positive_seen(const LabelRule& rule, const LabelsSeen& seen, const Where& where) {
  if (rule.kind != LabelKind::kEquals || seen.any_positive()) return;
  const std::vector<std::string> values(seen.values().begin(), seen.values().end());
  throw InvalidInput(where,
                     "the positive value " + quoted(rule.positive) + " does not occur" +
                         (values.empty() ? "" : "; there are " + seen.list()) + did_you_mean(rule.positive, values),
                     Cause::kPositiveNotFound);
}

}  // namespace limen
