// SPDX-License-Identifier: MIT
#include "count/quantiles.h"

#include "limen/base/wide.h"

namespace limen::detail {

std::vector<std::size_t> quantile_ranks(std::size_t rows, int levels) {
  std::vector<std::size_t> ranks;
  for (int level = 1; level < levels; ++level) {
    const auto rank = static_cast<std::size_t>(Wide{static_cast<std::int64_t>(rows)} * level / levels);
    if (ranks.empty() || rank > ranks.back()) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace limen::detail
