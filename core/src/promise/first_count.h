// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace limen::detail {

/// The smallest count in [0, most] for which `holds`, which stays true once it is true; unset: none. Gallops from
/// `guess`, so that few counts are looked at when it is near.
template <typename Holds>
std::optional<std::int64_t> first_count(std::int64_t most, std::int64_t guess, const Holds& holds) {
  std::int64_t low = -1;  // does not hold here, and holds at `high` if that is at most `most`
  std::int64_t high = most + 1;
  for (std::int64_t at = std::clamp<std::int64_t>(guess, 0, most), step = 1; low < at && at < high; step *= 4) {
    const bool here = holds(at);
    (here ? high : low) = at;
    at += here ? -step : step;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  if (high > most) return std::nullopt;
  return high;
}

}  // namespace limen::detail
