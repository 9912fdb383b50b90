// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace limen::train {

/// Memory for tables that are read at random places: large blocks ask the kernel for pages of 2 MB, with which the
/// addresses of most rows are found without a walk through the page tables.
template <typename T>
struct LargePageAllocator {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21U;

  LargePageAllocator() = default;
  template <typename U>
  explicit LargePageAllocator(const LargePageAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (count > (static_cast<std::size_t>(-1) - kPage) / sizeof(T)) throw std::bad_alloc();
    const std::size_t size = count * sizeof(T);
    // An alignment of 64 keeps rows of 16 numbers within one line of the cache.
    const std::size_t alignment = size < kPage ? 64 : kPage;
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, whole);
    if (memory == nullptr) throw std::bad_alloc();
    // Advice only: without such pages everything works as before.
    if (alignment == kPage) (void)madvise(memory, whole, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*count*/) { std::free(memory); }
  bool operator==(const LargePageAllocator&) const = default;
};

template <typename T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace limen::train
