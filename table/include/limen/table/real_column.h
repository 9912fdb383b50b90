// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "limen/base/uninitialized_vector.h"
#include "limen/count/samples.h"

namespace limen::table {

/// A column of real numbers in single or double precision.
class RealColumn {
 public:
  template <typename Real>
  using Vector = UninitializedVector<Real>;
  using Values = std::variant<Vector<double>, Vector<float>>;

  RealColumn() = default;
  RealColumn(const std::vector<double>& values)  // NOLINT(google-explicit-constructor)
      : values_(Vector<double>(values.begin(), values.end())) {}
  RealColumn(const std::vector<float>& values)  // NOLINT(google-explicit-constructor)
      : values_(Vector<float>(values.begin(), values.end())) {}
  explicit RealColumn(Values values) : values_(std::move(values)) {}

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool is_single() const { return std::holds_alternative<Vector<float>>(values_); }
  [[nodiscard]] RealSpan span() const;
  /// Adds rows. When the precisions differ, all values become double, which changes none of them.
  void append(RealSpan more);

 private:
  Values values_;
};

}  // namespace limen::table
