// SPDX-License-Identifier: MIT
#include "limen/base/uninitialized_vector.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace limen::detail {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kLargePage = std::size_t{1} << 21;
/// Below this the pages at the ends, which stay small or are wasted, outweigh the gain.
constexpr std::size_t kLarge = 4 * kLargePage;

}  // namespace

void* allocate_column(std::size_t bytes) {
  if (bytes < kLarge) return ::operator new (bytes, std::align_val_t{kCacheLine});
  void* const memory = ::operator new (bytes, std::align_val_t{kLargePage});
#ifdef __linux__
  (void)::madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);  // advice: may be ignored
#endif
  return memory;
}

void free_column(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLarge) {
    ::operator delete (memory, std::align_val_t{kCacheLine});
  } else {
    ::operator delete (memory, std::align_val_t{kLargePage});
  }
}

}  // namespace limen::detail
