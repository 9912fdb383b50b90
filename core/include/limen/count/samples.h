// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Checks lengths, finiteness, label values and weights, in parallel; does not ask for both classes.
/// Throws InvalidInput that names the function, the column, the row (from 0) and the value.
void validate(const Samples& samples);

/// Throws InvalidInput that names the function, the column, the row (from 0) and the value when one is NaN or infinite.
void check_finite(RealSpan column, const char* function, const char* name);

}  // namespace limen
