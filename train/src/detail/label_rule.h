// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "detail/text_index.h"
#include "limen/base/frame.h"

namespace limen::train::detail {

enum class LabelKind { kStandard, kEquals, kCompare };
enum class Comparison { kGreater, kGreaterEqual, kLess, kLessEqual, kEqual, kNotEqual };

/// Which values of a label's column are positive.
struct LabelRule {
  LabelKind kind = LabelKind::kStandard;
  /// kEquals: as label_value gives it.
  std::string positive = {};
  /// kEquals: the only other value, when training had just one; a third one is then refused.
  std::optional<std::string> negative = std::nullopt;
  Comparison comparison = Comparison::kGreater;  ///< kCompare
  double bound = 0;                              ///< kCompare; finite
};

/// The name that equal labels share: numbers, also those written in text, by number_text.
[[nodiscard]] std::string label_value(std::string_view text);

/// Reads FeatureOptions::positive. Throws InvalidInput for a comparison without a number.
[[nodiscard]] LabelRule parse_label_rule(const std::optional<std::string>& positive);

/// 1, 0, or nothing for a value of neither class. value: from label_value.
[[nodiscard]] std::optional<std::uint8_t> label_of(const LabelRule& rule, std::string_view value);

/// What values must be, for messages: "0/1, true/false or yes/no".
[[nodiscard]] std::string wanted_labels(const LabelRule& rule);

[[nodiscard]] std::string_view to_string(Comparison comparison);
[[nodiscard]] std::optional<Comparison> parse_comparison(std::string_view text);

/// Meets the labels of training rows.
class LabelCounter {
 public:
  LabelCounter(std::string column, LabelRule rule) : column_(std::move(column)), rule_(std::move(rule)) {}

  /// row: the first one of the value among `count` rows; from 0, in the file. value: from label_value.
  void add(std::string_view value, std::size_t row, std::int64_t count);
  [[noreturn]] void add_missing(std::size_t row) const;

  /// The rule, with the negative value where there is one. Throws InvalidInput unless there are two classes.
  [[nodiscard]] LabelRule finish() const;
  [[nodiscard]] std::int64_t num_positive() const { return count_[1]; }

 private:
  [[nodiscard]] std::string values_text() const;

  static constexpr std::size_t kMostValues = 12;  // listed in messages; more are not remembered
  std::string column_;
  LabelRule rule_;
  TextIndex values_;
  std::int64_t count_[2] = {0, 0};
  std::optional<std::pair<std::string, std::size_t>> first_of_neither_;
};

}  // namespace limen::train::detail
