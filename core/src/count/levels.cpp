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

/// The span of each row, from 0 to `top`, also for a number that is not finite.
template <typename Real>
[[gnu::always_inline]] inline void spans_of(const Real* uncertainty, std::size_t size, Real low, Real scale, Real top,
                                            std::int32_t* span) {
  for (std::size_t row = 0; row < size; ++row) {
    const Real place = (uncertainty[row] - low) * scale;
    const Real not_below = place > 0 ? place : Real{0};
    span[row] = static_cast<std::int32_t>(not_below < top ? not_below : top);
  }
}

LIMEN_MULTIVERSION void find_spans(const float* uncertainty, std::size_t size, float low, float scale, float top,
                                   std::int32_t* span) {
  spans_of(uncertainty, size, low, scale, top, span);
}

LIMEN_MULTIVERSION void find_spans(const double* uncertainty, std::size_t size, double low, double scale, double top,
                                   std::int32_t* span) {
  spans_of(uncertainty, size, low, scale, top, span);
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
  std::vector<std::int32_t> span_of_edge(edges_.size());
  find_spans(edges_.data(), edges_.size(), low_, scale_, Real{kSpans - 1}, span_of_edge.data());
  for (const std::int32_t span : span_of_edge) ++inside[static_cast<std::size_t>(span)];
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
  std::array<std::conditional_t<std::is_same_v<Real, float>, std::int32_t, std::int64_t>, kBlock> count;
  std::array<std::int32_t, kBlock> span;
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t block = std::min(kBlock, size - begin);
    const Real* const values = uncertainty + begin;
    if (num_edges <= kFewEdges) {
      compare_all(values, block, edges_.data(), num_edges, count.data());
      for (std::size_t row = 0; row < block; ++row) level[begin + row] = static_cast<Level>(count[row]);
    } else if (steps_ <= kMostSteps) {
      find_spans(values, block, low_, scale_, Real{kSpans - 1}, span.data());
      for (std::size_t row = 0; row < block; ++row) {
        std::size_t at = below_[static_cast<std::size_t>(span[row])];
        for (std::size_t step = 0; step < steps_; ++step) at += values[row] >= edges_[at] ? 1 : 0;
        level[begin + row] = static_cast<Level>(at);
      }
    } else {
      // Uneven edges: a search among those of the row's span.
      find_spans(values, block, low_, scale_, Real{kSpans - 1}, span.data());
      for (std::size_t row = 0; row < block; ++row) {
        const auto at = static_cast<std::size_t>(span[row]);
        const Real* const first = edges_.data() + below_[at];
        const Real* const last = edges_.data() + (at + 1 < kSpans ? below_[at + 1] : num_edges);
        level[begin + row] = static_cast<Level>(std::upper_bound(first, last, values[row]) - edges_.data());
      }
    }
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
