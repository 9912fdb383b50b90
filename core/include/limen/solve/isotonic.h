// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "limen/count/grid.h"

namespace limen {

struct IsotonicOptions {
  /// Non-decreasing fit when true, non-increasing otherwise.
  bool increasing = true;
  /// Fitted values are clipped to be at least this. Unset: no clipping.
  std::optional<double> lower_bound = std::nullopt;
  /// Fitted values are clipped to be at most this. Unset: no clipping.
  std::optional<double> upper_bound = std::nullopt;
};

struct IsotonicFit {
  std::vector<double> fitted;          ///< same length and order as y
  std::vector<std::size_t> block_end;  ///< one past the last index of each pooled block
};

/// Weighted least-squares monotone fit of y, in index order, by pool-adjacent-violators.
///
/// y: finite. weight: empty (all ones) or same length, each > 0 and finite.
/// Equal neighbours stay separate blocks. Empty y gives an empty fit.
/// O(n) time and memory; deterministic. Throws InvalidInput.
/// Best & Chakravarti (1990), Mathematical Programming 47.
[[nodiscard]] IsotonicFit fit_isotonic(std::span<const double> y, std::span<const double> weight = {},
                                       const IsotonicOptions& options = {});

/// A run of neighbouring bins with one pooled positivity rate.
struct Block {
  std::size_t end = 0;  ///< one past the last bin of the block; the block before it ends where it starts
  Counts counts;
};

/// Isotonic regression of one level in exact integers: the bins, from the highest score down, pooled so that the
/// rates positives / rows strictly fall or stay equal from block to block.
///
/// Seen as cumulative counts this is the upper concave hull of the points (rows, positives) of all prefixes: the
/// prefixes that end a block are its vertices (collinear vertices are kept). No block ends in an empty bin; a
/// level without rows has no blocks. O(bins).
[[nodiscard]] std::vector<Block> concave_blocks(std::span<const Bin> level);

/// True when the rate of `a` is strictly higher than the rate of `b`; both have rows > 0. Exact.
[[nodiscard]] bool higher_rate(const Counts& a, const Counts& b);

}  // namespace limen
