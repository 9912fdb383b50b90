// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace limen::detail {

/// A key with something that stays with it when keys are sorted.
struct KeyWithUnits {
  std::uint64_t units;
  std::uint64_t key;
};

/// Sorts in place, ascending, with the widest vectors of the processor (Highway's vqsort); entries with equal keys may
/// change places. One thread; O(n log n).
void sort_keys(std::span<std::uint32_t> keys);
void sort_keys(std::span<std::uint64_t> keys);
void sort_keys(std::span<KeyWithUnits> keys);

}  // namespace limen::detail
