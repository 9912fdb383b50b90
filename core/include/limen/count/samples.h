// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "limen/base/real_span.h"

namespace limen {

/// Labelled predictions, one entry per row; views of memory that the caller keeps alive.
struct Samples {
  RealSpan score;                       ///< finite; higher means more likely positive
  RealSpan uncertainty;                 ///< finite; higher means less certain
  std::span<const std::uint8_t> label;  ///< 0 or 1
  std::span<const double> weight;       ///< empty (every row counts once) or one value of 0 to 1e290 per row

  [[nodiscard]] std::size_t size() const { return label.size(); }
};

/// Smallest and largest of some values; of none: low > high.
template <typename Real>
struct Range {
  Real low = std::numeric_limits<Real>::infinity();
  Real high = -std::numeric_limits<Real>::infinity();

  void add(Range other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
};

/// Throws InvalidInput that names the function, the column, the row (from 0) and the value when one is NaN or infinite.
Range<double> finite_range(RealSpan column, const char* function, const char* name);

struct SampleRanges {
  Range<double> score;
  Range<double> uncertainty;
};

/// Checks lengths, finiteness, label values and weights, in parallel; does not ask for both classes.
/// Throws InvalidInput that names the function, the column, the row (from 0) and the value.
SampleRanges validate(const Samples& samples);

}  // namespace limen
