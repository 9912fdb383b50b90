// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "limen/base/random.h"
#include "limen/train/feature_rows.h"

namespace limen::train {

/// Rows of a batch that share a stream of dropout: whoever trains on the batch, in one piece or in chunks, leaves out
/// the same units.
inline constexpr std::size_t kChunkRows = 128;

/// Which units of one chunk of rows are left out: each with probability `rate` (to 1 / 65536), the others scaled up so
/// that the expectation stays. A layer asks for its own stream.
struct Dropout {
  bool on = false;  ///< false: nothing is left out, whatever the rate
  double rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t chunk = 0;
  /// One mask for all rows of the chunk: what is then computed of a row does not depend on its place among others.
  bool same_for_all_rows = false;

  [[nodiscard]] bool active() const { return on && threshold() > 0; }
  [[nodiscard]] std::uint32_t threshold() const { return static_cast<std::uint32_t>(rate * 65536); }
  [[nodiscard]] float scale() const { return 1.0F / (1.0F - static_cast<float>(threshold()) * 0x1p-16F); }

  /// Writes 0 or scale() per unit of rows x width.
  void fill(std::uint64_t layer, float* mask, std::size_t rows, std::size_t width) const {
    const std::size_t size = same_for_all_rows ? width : rows * width;
    CounterRandom random(seed, chunk * 64 + layer);
    const float factors[2] = {scale(), 0.0F};
    const std::uint32_t limit = threshold();
    for (std::size_t at = 0; at < size;) {
      std::uint64_t bits = random.next();
      for (int part = 0; part < 4 && at < size; ++part, bits >>= 16U) {
        mask[at++] = factors[(bits & 0xffffU) < limit ? 1 : 0];
      }
    }
    for (std::size_t row = 1; same_for_all_rows && row < rows; ++row) std::copy_n(mask, width, mask + row * width);
  }
};

/// Tokens of features without knots become, with probability `rate`, those of values that training has not seen.
/// tokens: rows x features.
void drop_tokens(const FeatureShape& shape, double rate, std::uint64_t seed, std::span<std::int32_t> tokens);

}  // namespace limen::train
