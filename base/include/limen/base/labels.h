// SPDX-License-Identifier: MIT
// What is a positive label: the one rule of all verbs, of training and of the Python package.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "limen/base/error.h"

namespace limen {

enum class LabelKind {
  kStandard,  ///< 1, true, yes are positive, 0, false, no negative, in any case; 1.0 is 1
  kEquals,    ///< one value is positive, every other one negative
  kCompare,   ///< numbers for which a comparison holds are positive, other numbers negative
};
enum class Comparison { kGreater, kGreaterEqual, kLess, kLessEqual, kEqual, kNotEqual };

/// Which values of a label's column are positive. A missing value is neither positive nor negative, whatever the rule.
struct LabelRule {
  LabelKind kind = LabelKind::kStandard;
  std::string positive = {};  ///< kEquals: as label_value gives it
  /// kEquals: the only other value, where that is known; a third one is then of neither class.
  std::optional<std::string> negative = std::nullopt;
  Comparison comparison = Comparison::kGreater;  ///< kCompare
  double bound = 0;                              ///< kCompare; finite

  friend bool operator==(const LabelRule&, const LabelRule&) = default;
};

/// Exactly this value is positive, such as "yes", "2" or ">50K": it is never read as a comparison. Throws InvalidInput
/// for an empty text.
[[nodiscard]] LabelRule positive_value(std::string_view value);

/// Numbers for which the comparison holds are positive: ">30", ">= 0.5", "<0", "<=1", "==2", "!=0". Throws InvalidInput
/// for other texts.
[[nodiscard]] LabelRule positive_if(std::string_view comparison);

/// The text by which equal labels are told: without the blanks around it, numbers by number_text, so that 1, 1.0 and
/// "1" are one value.
[[nodiscard]] std::string label_value(std::string_view text);

/// 1, 0, or nothing for a value of neither class. text: not missing.
[[nodiscard]] std::optional<std::uint8_t> label_of(const LabelRule& rule, std::string_view text);
/// value: finite.
[[nodiscard]] std::optional<std::uint8_t> label_of(const LabelRule& rule, double value);

/// What values must be, for messages: "0/1, true/false or yes/no".
[[nodiscard]] std::string wanted_labels(const LabelRule& rule);

[[nodiscard]] std::string_view to_string(Comparison comparison);
/// ">", ">=", "<", "<=", "==", "!="; unset for other texts.
[[nodiscard]] std::optional<Comparison> parse_comparison(std::string_view text);

/// The distinct values of a column of labels, for messages, and whether the positive one was among them: a value that
/// does not occur is a mistake, not "no positives". Only the first few are remembered. Those of parts of a table may be
/// merged.
class LabelsSeen {
 public:
  static constexpr std::size_t kMostValues = 12;

  /// label: what label_of said.
  void add(std::string_view value, std::optional<std::uint8_t> label);
  void merge(const LabelsSeen& other);

  [[nodiscard]] const std::set<std::string>& values() const { return values_; }
  [[nodiscard]] bool any_positive() const { return any_positive_; }
  [[nodiscard]] bool any_negative() const { return any_negative_; }
  /// "a", "b" and more.
  [[nodiscard]] std::string list() const;

 private:
  std::set<std::string> values_;
  bool any_positive_ = false;
  bool any_negative_ = false;
};

/// Throws InvalidInput (Cause::kPositiveNotFound) when the rule names a positive value and it was not seen. where: the
/// table, or the function where it is not known, and the column.
void require_positive_seen(const LabelRule& rule, const LabelsSeen& seen, const Where& where);

}  // namespace limen
