// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace limen::detail {

/// Every n-th of values that come one after the other, at most 2^17 of them: n doubles whenever that many are there.
/// The same for any way in which the values are cut into batches.
template <typename Value>
class StridedSample {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 17;

  /// value_at(row) for the `size` next values.
  template <typename ValueAt>
  void add(std::size_t size, const ValueAt& value_at) {
    std::size_t row = skip_;
    for (; row < size; row += step_) {
      if (values_.size() == kMost) {
        for (std::size_t at = 0; at < kMost / 2; ++at) values_[at] = values_[2 * at];
        values_.resize(kMost / 2);
        step_ *= 2;
      }
      values_.push_back(value_at(row));
    }
    skip_ = row - size;
  }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_;
  std::size_t step_ = 1;
  std::size_t skip_ = 0;  // before the next one
};

}  // namespace limen::detail
