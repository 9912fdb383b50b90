// SPDX-License-Identifier: MIT
#include "solve/ew_dpmt_kernel.h"

#include <algorithm>

#include "limen/base/multiversion.h"

namespace limen::detail {
namespace {

/// next[m] = max(next[m], pi[t] + previous[m - t]) for t = 0 .. kTile - 1 and m = 0 .. size - 1.
/// previous[-kTile + 1 .. size - 1] is readable.
template <typename Count>
[[gnu::always_inline]] inline void add_tile(const Count* pi, const Count* previous, Count* next, std::size_t size) {
  for (std::size_t m = 0; m < size; ++m) {
    Count best = next[m];
    for (std::size_t t = 0; t < kTile; ++t) {
      best = std::max(best, pi[t] + (previous + m)[-static_cast<std::ptrdiff_t>(t)]);
    }
    next[m] = best;
  }
}

LIMEN_MULTIVERSION void run_tile(const std::int32_t* pi, const std::int32_t* previous, std::int32_t* next,
                                 std::size_t size) {
  add_tile(pi, previous, next, size);
}

LIMEN_MULTIVERSION void run_tile(const std::int64_t* pi, const std::int64_t* previous, std::int64_t* next,
                                 std::size_t size) {
  add_tile(pi, previous, next, size);
}

}  // namespace

template <typename Count>
Row<Count> next_row(const Row<Count>& previous, std::vector<Count> pi) {
  Row<Count> next(previous.max_bins() + pi.size() - 1);
  while (pi.size() % kTile != 0) pi.push_back(kUnreachable<Count>);
  for (std::size_t j = 0; j < pi.size(); j += kTile) {
    // m - j runs as far as `previous` is padded, and no further than `next` reaches.
    const std::size_t size =
        std::min(previous.max_bins() + kTile, next.max_bins() + 1 - std::min(j, next.max_bins() + 1));
    run_tile(pi.data() + j, previous.data(), next.data() + j, size);
  }
  return next;
}

template Row<std::int32_t> next_row(const Row<std::int32_t>& previous, std::vector<std::int32_t> pi);
template Row<std::int64_t> next_row(const Row<std::int64_t>& previous, std::vector<std::int64_t> pi);

}  // namespace limen::detail
