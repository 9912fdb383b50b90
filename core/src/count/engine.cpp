// SPDX-License-Identifier: MIT
#include "count/engine.h"

#include "limen/base/multiversion.h"
#include "limen/count/levels.h"

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

LIMEN_MULTIVERSION Range<float> range_of_block(const float* values, std::size_t size) {
  return range_in_lanes(values, size);
}

LIMEN_MULTIVERSION Range<double> range_of_block(const double* values, std::size_t size) {
  return range_in_lanes(values, size);
}

template <typename Real>
Range<Real> range_on_threads(std::span<const Real> values) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, values.size(), kBlockRows), Range<Real>{},
      [&](const tbb::blocked_range<std::size_t>& rows, Range<Real> range) {
        const Range<Real> block = range_of_block(values.data() + rows.begin(), rows.size());
        return Range<Real>{std::min(range.low, block.low), std::max(range.high, block.high)};
      },
      [](Range<Real> a, Range<Real> b) {
        return Range<Real>{std::min(a.low, b.low), std::max(a.high, b.high)};
      });
}

template <typename Real>
[[gnu::always_inline]] inline void mark_in_block(const Real* value, std::size_t size, Range<Real> range,
                                                 std::uint8_t* inside) {
  for (std::size_t row = 0; row < size; ++row) {
    inside[row] = static_cast<std::uint8_t>((value[row] >= range.low ? 1 : 0) & (value[row] <= range.high ? 1 : 0));
  }
}

template <typename Real>
UninitializedVector<std::uint16_t> levels_on_threads(std::span<const Real> uncertainty, std::span<const double> edges) {
  const LevelFinder<Real> finder(edges);
  UninitializedVector<std::uint16_t> level(uncertainty.size());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, uncertainty.size(), kBlockRows), [&](const auto& range) {
    finder.find(uncertainty.data() + range.begin(), range.size(), level.data() + range.begin());
  });
  return level;
}

}  // namespace

Range<float> range_of(std::span<const float> values) { return range_on_threads(values); }
Range<double> range_of(std::span<const double> values) { return range_on_threads(values); }

LIMEN_MULTIVERSION void mark_inside(const float* value, std::size_t size, Range<float> range, std::uint8_t* inside) {
  mark_in_block(value, size, range, inside);
}

LIMEN_MULTIVERSION void mark_inside(const double* value, std::size_t size, Range<double> range, std::uint8_t* inside) {
  mark_in_block(value, size, range, inside);
}

UninitializedVector<std::uint16_t> levels_of(std::span<const float> uncertainty, std::span<const double> edges) {
  return levels_on_threads(uncertainty, edges);
}
UninitializedVector<std::uint16_t> levels_of(std::span<const double> uncertainty, std::span<const double> edges) {
  return levels_on_threads(uncertainty, edges);
}

}  // namespace limen::detail
