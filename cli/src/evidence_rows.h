// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/base/date_part.h"
#include "limen/base/frame.h"

namespace limen::cli {

/// A key of `evidence`: a column, or a part of one that holds dates ("date:hour").
struct KeySpec {
  std::string name;    ///< as given
  std::string column;  ///< without the part
  std::optional<DatePart> part = std::nullopt;
};
[[nodiscard]] std::vector<KeySpec> parse_keys(const std::vector<std::string>& names);

/// The columns that the keys need, each once.
[[nodiscard]] std::vector<std::string> columns_of(const std::vector<KeySpec>& keys);

/// The key columns of rows read with columns_of(keys), perhaps followed by others. A part of a date is text.
[[nodiscard]] Frame key_frame(const Frame& frame, const std::vector<KeySpec>& keys, const std::string& table);

/// Which labels are positive: those equal to a value, or on one side of a number (">30", ">=", "<", "<=").
class PositiveRule {
 public:
  /// Empty: 1 and true are positive, 0 and false negative, anything else is refused.
  explicit PositiveRule(const std::string& text);

  /// Whether the label is to be read as a number; else as text.
  [[nodiscard]] bool needs_number() const { return comparison_ != Comparison::kEqual; }

  static constexpr std::uint8_t kMissing = 2;
  /// 1, 0 or kMissing for each row. table: for messages.
  [[nodiscard]] std::vector<std::uint8_t> labels(const limen::Column& column, const std::string& table) const;

 private:
  enum class Comparison { kEqual, kGreater, kGreaterEqual, kLess, kLessEqual };
  [[nodiscard]] bool is_positive(const std::string& text, const limen::Column& column, const std::string& table) const;
  [[nodiscard]] bool is_positive(double value) const;

  std::string value_;
  Comparison comparison_ = Comparison::kEqual;
  std::optional<double> number_;
};

/// Weights of training rows whose negatives are kept at rate 1/tau: 0 for a row that is not kept. Which ones are kept
/// depends on the seed and on the row's number in the table only.
[[nodiscard]] std::vector<double> undersampled(std::span<const std::uint8_t> label, std::span<const double> weight,
                                               std::uint64_t first_row, double tau, std::uint64_t seed);

}  // namespace limen::cli
