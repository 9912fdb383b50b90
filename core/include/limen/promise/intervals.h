// SPDX-License-Identifier: MIT
#pragma once

namespace limen {

struct Interval {
  double low = 0;
  double high = 1;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Exact (Clopper-Pearson) two-sided interval for a proportion. With weights `successes` and `trials` may be fractions
/// (effective counts); trials == 0 gives [0, 1]. Throws InvalidInput unless 0 <= successes <= trials and
/// 0 < confidence < 1.
[[nodiscard]] Interval proportion_interval(double successes, double trials, double confidence = 0.95);

/// Wilson's (score) two-sided interval for a proportion: shorter than the exact one, right on average rather than
/// always; for tables and pictures. Holds the proportion itself. Fractions, no trials and refusals as above.
[[nodiscard]] Interval wilson_interval(double successes, double trials, double confidence = 0.95);

}  // namespace limen
