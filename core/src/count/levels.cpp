// SPDX-License-Identifier: MIT
#include "limen/count/levels.h"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "limen/base/multiversion.h"

namespace limen {
namespace {

/// Rows whose counters stay in the first-level cache.
constexpr std::size_t kBlock = 1024;

/// Up to so many edges it is faster to compare every row with every edge, many rows at a time.
constexpr std::size_t kFewEdges = 12;

/// Counts in integers as wide as the data, so that compares and adds vectorise.
template <typename Real, typename Wide>
[[gnu::always_inline]] inline void count_edges(const Real* uncertainty, std::size_t size, const Real* edges,
                                               std::size_t num_edges, Wide* level) {
  for (std::size_t row = 0; row < size; ++row) level[row] = 0;
  for (std::size_t edge = 0; edge < num_edges; ++edge) {
    const Real at = edges[edge];
    for (std::size_t row = 0; row < size; ++row) level[row] += uncertainty[row] >= at ? 1 : 0;
  }
}

LIMEN_MULTIVERSION void compare_all(const float* uncertainty, std::size_t size, const float* edges,
                                    std::size_t num_edges, std::int32_t* level) {
  count_edges(uncertainty, size, edges, num_edges, level);
}

LIMEN_MULTIVERSION void compare_all(const double* uncertainty, std::size_t size, const double* edges,
                                    std::size_t num_edges, std::int64_t* level) {
  count_edges(uncertainty, size, edges, num_edges, level);
}

}  // namespace

template <>
double round_up_to<double>(double value) {
  return value;
}

template <>
float round_up_to<float>(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                              : nearest;
}

template <typename Real>
LevelFinder<Real>::LevelFinder(std::span<const double> edges) : below_(kSpans, 0) {
  for (const double edge : edges) edges_.push_back(round_up_to<Real>(edge));
  if (!edges_.empty()) {
    low_ = edges_.front();
    // A range that overflows puts all edges into one span.
    scale_ = edges_.back() > low_ ? Real{kSpans - 1} / (edges_.back() - low_) : Real{0};
    if (!std::isfinite(scale_)) scale_ = 0;
  }
  std::array<std::size_t, kSpans> inside{};
  for (const Real edge : edges_) ++inside[static_cast<std::size_t>(span_of(edge))];
  std::size_t below = 0;
  for (std::size_t span = 0; span < kSpans; ++span) {
    below_[span] = static_cast<std::uint16_t>(below);
    below += inside[span];
    steps_ = std::max(steps_, inside[span]);
  }
  edges_.push_back(std::numeric_limits<Real>::quiet_NaN());
}

template <typename Real>
template <typename Level>
void LevelFinder<Real>::find(const Real* uncertainty, std::size_t size, Level* level) const {
  const std::size_t num_edges = edges_.size() - 1;
  if (num_edges > kFewEdges) {
    for (std::size_t row = 0; row < size; ++row) level[row] = static_cast<Level>((*this)(uncertainty[row]));
    return;
  }
  std::array<std::conditional_t<std::is_same_v<Real, float>, std::int32_t, std::int64_t>, kBlock> wide;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t block = std::min(kBlock, size - begin);
    compare_all(uncertainty + begin, block, edges_.data(), num_edges, wide.data());
    for (std::size_t row = 0; row < block; ++row) level[begin + row] = static_cast<Level>(wide[row]);
  }
}

template class LevelFinder<float>;
template class LevelFinder<double>;
template void LevelFinder<float>::find(const float*, std::size_t, std::uint8_t*) const;
template void LevelFinder<float>::find(const float*, std::size_t, std::uint16_t*) const;
template void LevelFinder<float>::find(const float*, std::size_t, std::int32_t*) const;
template void LevelFinder<double>::find(const double*, std::size_t, std::uint8_t*) const;
template void LevelFinder<double>::find(const double*, std::size_t, std::uint16_t*) const;
template void LevelFinder<double>::find(const double*, std::size_t, std::int32_t*) const;

}  // namespace limen
