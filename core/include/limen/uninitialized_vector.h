// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace limen {

/// Leaves new elements of a vector as they are, where std::allocator makes them zero: whoever resizes it fills it.
template <typename Value>
struct UninitializedAllocator : std::allocator<Value> {
  template <typename Other>
  struct rebind {
    using other = UninitializedAllocator<Other>;
  };
  template <typename Other>
  void construct(Other* place) noexcept {
    ::new (static_cast<void*>(place)) Other;
  }
  template <typename Other, typename... Arguments>
  void construct(Other* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Other(std::forward<Arguments>(arguments)...);
  }
};

template <typename Value>
using UninitializedVector = std::vector<Value, UninitializedAllocator<Value>>;

}  // namespace limen
