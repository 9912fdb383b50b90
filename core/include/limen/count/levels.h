// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace limen {

/// Level of an uncertainty = number of edges <= it; edges increase. Every part of the product that asks for a level
/// asks here.
[[nodiscard]] inline std::size_t level_of(std::span<const double> edges, double uncertainty) {
  return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), uncertainty) - edges.begin());
}

/// The smallest number of type Real not below `value`: for any x of that type, x >= value in double precision is
/// x >= this in its own. Real: float or double.
template <typename Real>
[[nodiscard]] Real round_up_to(double value);

/// level_of for many rows, in their own precision (float or double). Made once for some edges; O(1) a row for edges
/// that are not extremely uneven, O(log edges) else.
///
/// A histogram of equal spans says how many edges lie below a row's span; only those inside it are compared. The number
/// of a span never falls as the uncertainty grows, so that this is exact whatever its rounding errors.
template <typename Real>
class LevelFinder {
 public:
  /// edges: increasing, finite, fewer than 65536.
  explicit LevelFinder(std::span<const double> edges);

  [[nodiscard]] std::size_t num_levels() const { return edges_.size(); }

  /// level[row] for `size` rows; for a number that is not finite, some level. Level: std::uint8_t (up to 255 edges),
  /// std::uint16_t or std::int32_t.
  template <typename Level>
  void find(const Real* uncertainty, std::size_t size, Level* level) const;

 private:
  static constexpr std::size_t kSpans = 4096;
  static constexpr std::size_t kMostSteps = 6;

  std::vector<Real> edges_;           ///< and a NaN at the end, which nothing reaches
  std::vector<std::uint16_t> below_;  ///< edges in the spans below each
  std::size_t steps_ = 0;             ///< the most edges in one span
  Real low_ = 0;
  Real scale_ = 0;
};

}  // namespace limen
