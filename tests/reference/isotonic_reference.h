// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "limen/count/grid.h"

namespace limen::test {

/// Weighted isotonic regression by the min-max formula, value by value:
/// fitted[i] = max over a <= i of min over b >= i of the weighted mean of y[a..b]. O(n^2).
inline std::vector<double> isotonic_by_min_max(const std::vector<double>& y, const std::vector<double>& weight) {
  const std::size_t n = y.size();
  std::vector<long double> sum(n + 1, 0);
  std::vector<long double> weights(n + 1, 0);
  for (std::size_t row = 0; row < n; ++row) {
    sum[row + 1] = sum[row] + static_cast<long double>(y[row]) * weight[row];
    weights[row + 1] = weights[row] + weight[row];
  }
  std::vector<double> fitted(n, -std::numeric_limits<double>::infinity());
  for (std::size_t a = 0; a < n; ++a) {
    long double least = std::numeric_limits<long double>::infinity();  // over b >= row of the mean of y[a..b]
    for (std::size_t row = n; row-- > a;) {
      least = std::min(least, (sum[row + 1] - sum[a]) / (weights[row + 1] - weights[a]));
      fitted[row] = std::max(fitted[row], static_cast<double>(least));
    }
  }
  return fitted;
}

/// Prefixes of the level (as numbers of bins) on the upper concave hull of all its prefixes as points (rows,
/// positives), those on a straight side included: no two other prefixes have a line between them that passes above. Of
/// prefixes at the same point the shortest; not the empty one. O(n^3).
inline std::vector<std::size_t> hull_prefixes(const std::vector<Bin>& level) {
  __extension__ using Int = __int128;
  std::vector<Counts> point = {{}};
  for (const Bin& bin : level) point.push_back(point.back() + bin.counts);
  std::vector<std::size_t> prefixes;
  for (std::size_t at = 1; at < point.size(); ++at) {
    bool on_hull = point[at].rows > point[at - 1].rows;
    for (std::size_t left = 0; left < at && on_hull; ++left) {
      for (std::size_t right = at + 1; right < point.size() && on_hull; ++right) {
        const Counts to_right = point[right] - point[left];
        const Counts to_here = point[at] - point[left];
        on_hull = Int{to_here.positives} * to_right.rows >= Int{to_right.positives} * to_here.rows;
      }
    }
    if (on_hull) prefixes.push_back(at);
  }
  return prefixes;
}

}  // namespace limen::test
