// SPDX-License-Identifier: MIT
#include "count/levels.h"

#include <array>

#include "limen/base/multiversion.h"

namespace limen::detail {
namespace {

constexpr std::size_t kBlock = 1024;

/// Counts in integers as wide as the data, so that compares and adds vectorise, and narrows at the end.
template <typename Real, typename Mask>
[[gnu::always_inline]] inline void count_in_block(const Real* uncertainty, std::size_t size, const Real* edges,
                                                  std::size_t num_edges, std::uint8_t* level) {
  std::array<Mask, kBlock> wide;
  for (std::size_t row = 0; row < size; ++row) wide[row] = 0;
  for (std::size_t edge = 0; edge < num_edges; ++edge) {
    const Real at = edges[edge];
    for (std::size_t row = 0; row < size; ++row) wide[row] += uncertainty[row] >= at ? 1 : 0;
  }
  for (std::size_t row = 0; row < size; ++row) level[row] = static_cast<std::uint8_t>(wide[row]);
}

}  // namespace

LIMEN_MULTIVERSION void count_edges(const float* uncertainty, std::size_t size, const float* edges,
                                    std::size_t num_edges, std::uint8_t* level) {
  count_in_block<float, std::int32_t>(uncertainty, size, edges, num_edges, level);
}

LIMEN_MULTIVERSION void count_edges(const double* uncertainty, std::size_t size, const double* edges,
                                    std::size_t num_edges, std::uint8_t* level) {
  count_in_block<double, std::int64_t>(uncertainty, size, edges, num_edges, level);
}

}  // namespace limen::detail
