// SPDX-License-Identifier: MIT
#include "detail/label_counter.h"

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::train::detail {

void LabelCounter::add(std::string_view value, std::size_t row, std::int64_t count) {
  const auto label = label_of(rule_, value);
  seen_.add(value, label);
  if (label) {
    count_[*label] += count;
    return;
  }
  if (rule_.kind == LabelKind::kCompare) {
    throw InvalidInput(Where{.place = "row " + std::to_string(row + 1), .column = column_, .function = "features"},
                       quoted(value) + " must be a number to be compared with \"" +
                           std::string(to_string(rule_.comparison)) + number_text(rule_.bound) + "\"",
                       Cause::kBadLabel);
  }
  if (!first_of_neither_) first_of_neither_ = {std::string(value), row};
}

LabelRule LabelCounter::finish() const {
  const Where where{.column = column_, .function = "features"};
  if (first_of_neither_ && seen_.values().size() > 2) {
    throw InvalidInput(
        Where{
            .place = "row " + std::to_string(first_of_neither_->second + 1), .column = column_, .function = "features"},
        quoted(first_of_neither_->first) + ", and there are more than two values (" + seen_.list() +
            "); say which one is positive, or a comparison such as \">0\"",
        Cause::kBadLabel);
  }
  if (first_of_neither_) {
    throw InvalidInput(
        where, "has the values " + seen_.list() + ", must be " + wanted_labels(rule_) + "; say which one is positive",
        Cause::kBadLabel);
  }
  require_positive_seen(rule_, seen_, where);
  if (count_[0] == 0 || count_[1] == 0) {
    throw InvalidInput(where,
                       std::string("has only ") + (count_[1] == 0 ? "negative" : "positive") + " rows (values " +
                           seen_.list() + "), two classes were needed",
                       Cause::kOneClass);
  }
  LabelRule rule = rule_;
  if (rule.kind == LabelKind::kEquals && seen_.values().size() == 2) {
    rule.negative = *seen_.values().begin() == rule.positive ? *seen_.values().rbegin() : *seen_.values().begin();
  }
  return rule;
}

}  // namespace limen::train::detail
