// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "limen/base/labels.h"

namespace limen::train::detail {

/// Meets the labels of training rows.
class LabelCounter {
 public:
  LabelCounter(std::string column, LabelRule rule) : column_(std::move(column)), rule_(std::move(rule)) {}

  [[nodiscard]] const LabelRule& rule() const { return rule_; }
  /// row: the first one of the value among `count` rows; from 0, in the file. value: from label_value.
  void add(std::string_view value, std::size_t row, std::int64_t count);

  /// The rule, with the negative value where there is one. Throws InvalidInput unless there are two classes.
  [[nodiscard]] LabelRule finish() const;
  [[nodiscard]] std::int64_t num_positive() const { return count_[1]; }

 private:
  std::string column_;
  LabelRule rule_;
  LabelsSeen seen_;
  std::int64_t count_[2] = {0, 0};
  std::optional<std::pair<std::string, std::size_t>> first_of_neither_;
};

}  // namespace limen::train::detail
