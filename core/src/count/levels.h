// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace limen::detail {

/// The smallest number of type Real not below `value`: for any x of that type, x >= value in double precision is
/// x >= this in its own.
template <typename Real>
Real round_to(double value) {
  if constexpr (std::is_same_v<Real, double>) {
    return value;
  } else {
    const auto nearest = static_cast<Real>(value);
    return static_cast<double>(nearest) < value ? std::nextafter(nearest, std::numeric_limits<Real>::infinity())
                                                : nearest;
  }
}

/// level[row] = number of edges <= uncertainty[row], for up to 1024 rows and up to 255 edges.
void count_edges(const float* uncertainty, std::size_t size, const float* edges, std::size_t num_edges,
                 std::uint8_t* level);
void count_edges(const double* uncertainty, std::size_t size, const double* edges, std::size_t num_edges,
                 std::uint8_t* level);

}  // namespace limen::detail
