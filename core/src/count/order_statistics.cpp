// SPDX-License-Identifier: MIT
#include "count/order_statistics.h"

#include <array>

#include "limen/base/multiversion.h"

namespace limen::detail {
namespace {

/// One running range per lane: the compiler may not reorder comparisons of floating point numbers, and so would not
/// vectorise a single one.
template <typename Real>
[[gnu::always_inline]] inline Range<Real> range_in_lanes(const Real* values, std::size_t size) {
  constexpr std::size_t kLanes = 64 / sizeof(Real);
  std::array<Real, kLanes> low;
  std::array<Real, kLanes> high;
  low.fill(Range<Real>{}.low);
  high.fill(Range<Real>{}.high);
  std::size_t row = 0;
  for (; row + kLanes <= size; row += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Real value = values[row + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
    }
  }
  for (; row < size; ++row) {
    low[0] = std::min(low[0], values[row]);
    high[0] = std::max(high[0], values[row]);
  }
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

template <typename Real>
[[gnu::always_inline]] inline void mark_in_block(const Real* values, std::size_t size, Range<Real> range,
                                                 std::uint8_t* inside) {
  for (std::size_t row = 0; row < size; ++row) {
    inside[row] = static_cast<std::uint8_t>((values[row] >= range.low ? 1 : 0) & (values[row] <= range.high ? 1 : 0));
  }
}

}  // namespace

LIMEN_MULTIVERSION Range<float> range_of_block(const float* values, std::size_t size) {
  return range_in_lanes(values, size);
}

LIMEN_MULTIVERSION Range<double> range_of_block(const double* values, std::size_t size) {
  return range_in_lanes(values, size);
}

LIMEN_MULTIVERSION void mark_inside(const float* values, std::size_t size, Range<float> range, std::uint8_t* inside) {
  mark_in_block(values, size, range, inside);
}

LIMEN_MULTIVERSION void mark_inside(const double* values, std::size_t size, Range<double> range, std::uint8_t* inside) {
  mark_in_block(values, size, range, inside);
}

}  // namespace limen::detail
