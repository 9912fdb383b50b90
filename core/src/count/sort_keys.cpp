// SPDX-License-Identifier: MIT
#include "count/sort_keys.h"

#include <hwy/contrib/sort/vqsort.h>

#include <cstddef>
#include <type_traits>

namespace limen::detail {
namespace {

static_assert(sizeof(KeyWithUnits) == sizeof(hwy::K64V64) && offsetof(KeyWithUnits, key) == offsetof(hwy::K64V64, key));

template <typename Key>
void sort(Key* keys, std::size_t size) {
  // A sorter has scratch memory that two threads must not share.
  hwy::Sorter sorter;
  sorter(keys, size, hwy::SortAscending());
}

}  // namespace

void sort_keys(std::span<std::uint32_t> keys) { sort(keys.data(), keys.size()); }
void sort_keys(std::span<std::uint64_t> keys) { sort(keys.data(), keys.size()); }
void sort_keys(std::span<KeyWithUnits> keys) { sort(reinterpret_cast<hwy::K64V64*>(keys.data()), keys.size()); }

}  // namespace limen::detail
