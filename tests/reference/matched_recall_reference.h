// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "limen/count/grid.h"
#include "reference/wide_fraction.h"

namespace limen::test {

/// Most positives on the broken line through nothing and the stops, in their order, at which precision is still at
/// least the bound: on every piece the furthest point that keeps it, in fractions.
inline double most_at_precision(const std::vector<Counts>& stops, const Rational& bound) {
  BigFraction most = 0;
  Counts before;
  const auto surplus = [&](const Counts& flagged) { return flagged.positives - big(bound) * flagged.rows; };
  for (const Counts& stop : stops) {
    const BigFraction from = surplus(before);
    const BigFraction to = surplus(stop);
    if (to >= 0) {
      most = std::max(most, BigFraction(stop.positives));
    } else if (from >= 0) {
      const BigFraction share = from / (from - to);
      most = std::max(most, BigFraction(before.positives + share * (stop.positives - before.positives)));
    }
    before = stop;
  }
  return static_cast<double>(most);
}

}  // namespace limen::test
