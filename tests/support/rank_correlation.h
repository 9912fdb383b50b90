// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace limen::test {

/// Ranks with the mean rank for ties.
inline std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return values[at]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t at = begin; at < end; ++at) result[order[at]] = static_cast<double>(begin + end) / 2;
    begin = end;
  }
  return result;
}

/// Spearman's.
inline double rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> a = ranks(x);
  const std::vector<double> b = ranks(y);
  const double mean = static_cast<double>(x.size()) / 2;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t at = 0; at < a.size(); ++at) {
    ab += (a[at] - mean) * (b[at] - mean);
    aa += (a[at] - mean) * (a[at] - mean);
    bb += (b[at] - mean) * (b[at] - mean);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace limen::test
