// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <variant>

namespace limen {

/// A view of real numbers in single or double precision. Single precision is never widened in memory.
class RealSpan {
 public:
  RealSpan() = default;
  RealSpan(std::span<const float> values) : values_(values) {}   // NOLINT(google-explicit-constructor)
  RealSpan(std::span<const double> values) : values_(values) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] std::size_t size() const {
    return std::visit([](auto values) { return values.size(); }, values_);
  }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// The value at `row` in double precision (exact for both types).
  [[nodiscard]] double operator[](std::size_t row) const {
    return std::visit([row](auto values) { return static_cast<double>(values[row]); }, values_);
  }
  /// Calls `function` with the underlying std::span<const float> or std::span<const double>.
  template <typename Function>
  decltype(auto) visit(Function&& function) const {
    return std::visit(static_cast<Function&&>(function), values_);
  }

 private:
  std::variant<std::span<const double>, std::span<const float>> values_;
};

}  // namespace limen
