// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "limen/solve/problem.h"

namespace limen::detail {

/// A range of prefixes of one level: j = first .. last bins.
struct PrefixRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The prefixes of each level that an optimal boundary can have, by dominance. Under a bound on precision it is never
/// better to stop before the prefix of least weight (the paper's lemma of the contiguous high-precision region, and a
/// little more); under any bound, a prefix that all other levels together cannot make up for is out. All prefixes for
/// goals without a bound on what is flagged. O(bins).
[[nodiscard]] std::vector<PrefixRange> useful_prefixes(const Problem& problem);

}  // namespace limen::detail
