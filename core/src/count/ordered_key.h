// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

namespace limen::detail {

/// Unsigned integers in the order of the finite numbers they come from; -0 and +0 give the same key. Sorting and
/// counting work on keys: comparisons of integers vectorise, and differences of keys say how many numbers lie between.
inline std::uint32_t ordered_key(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
}
inline std::uint64_t ordered_key(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}

template <typename Real>
using KeyOf = decltype(ordered_key(Real{}));

/// The number that a key comes from; for zero the positive one.
inline float value_of_key(std::uint32_t key) {
  constexpr std::uint32_t kSign = 0x8000'0000U;
  return std::bit_cast<float>((key & kSign) != 0 ? key ^ kSign : ~key);
}
inline double value_of_key(std::uint64_t key) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return std::bit_cast<double>((key & kSign) != 0 ? key ^ kSign : ~key);
}

}  // namespace limen::detail
