// SPDX-License-Identifier: MIT
#include "count/engine.h"

#include "limen/base/multiversion.h"
#include "limen/count/levels.h"

namespace limen::detail {
namespace {

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
