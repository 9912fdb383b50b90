// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace limen {
namespace detail {

/// Memory for columns: in large pages where the system has them, because touching many megabytes for the first time in
/// small pages costs as much as reading a file into them. `bytes` must be the same for both.
[[nodiscard]] void* allocate_column(std::size_t bytes);
void free_column(void* memory, std::size_t bytes) noexcept;

}  // namespace detail

/// Leaves new elements of a vector as they are, where std::allocator makes them zero: whoever resizes it fills it. For
/// plain numbers.
template <typename Value>
struct UninitializedAllocator {
  using value_type = Value;

  UninitializedAllocator() = default;
  template <typename Other>
  UninitializedAllocator(const UninitializedAllocator<Other>&) noexcept {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] Value* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(Value)) throw std::bad_array_new_length();
    return static_cast<Value*>(detail::allocate_column(count * sizeof(Value)));
  }
  void deallocate(Value* values, std::size_t count) noexcept { detail::free_column(values, count * sizeof(Value)); }

  template <typename Other>
  void construct(Other* place) noexcept {
    ::new (static_cast<void*>(place)) Other;
  }
  template <typename Other, typename... Arguments>
  void construct(Other* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Other(std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const UninitializedAllocator&, const UninitializedAllocator&) { return true; }
};

template <typename Value>
using UninitializedVector = std::vector<Value, UninitializedAllocator<Value>>;

}  // namespace limen
