// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace limen::detail {

/// Threads of an arena: all cores for 0, never more than there are (oneTBB would print a warning).
inline int arena_size(int num_threads) {
  return num_threads == 0 ? tbb::task_arena::automatic : std::min(num_threads, tbb::info::default_concurrency());
}

}  // namespace limen::detail
