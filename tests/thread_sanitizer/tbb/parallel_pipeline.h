// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "stand_in.h"

namespace tbb {

enum class filter_mode { parallel, serial_in_order };

class flow_control {
 public:
  void stop() { is_stopped = true; }
  bool is_stopped = false;
};

/// Stages with their modes. Only chains of a serial, a parallel and a serial stage can be run.
template <typename... Bodies>
struct filter {
  std::vector<filter_mode> modes;
  std::tuple<Bodies...> bodies;
};

template <typename In, typename Out, typename Body>
filter<Body> make_filter(filter_mode mode, const Body& body) {
  return {{mode}, {body}};
}

template <typename... Bodies, typename Body>
filter<Bodies..., Body> operator&(filter<Bodies...> chain, const filter<Body>& last) {
  chain.modes.push_back(last.modes.front());
  return {chain.modes, std::tuple_cat(chain.bodies, last.bodies)};
}

/// Every thread carries one item at a time through all stages. A serial stage orders its own calls alone.
template <typename First, typename Second, typename Third>
void parallel_pipeline(std::size_t most_items, const filter<First, Second, Third>& chain) {
  using enum filter_mode;
  if (chain.modes != std::vector{serial_in_order, parallel, serial_in_order}) {
    throw std::logic_error("the stand-in for oneTBB has no such pipeline");
  }
  const auto& [first, second, third] = chain.bodies;
  std::mutex first_mutex;
  std::size_t num_items = 0;
  flow_control control;
  std::mutex third_mutex;
  std::size_t num_done = 0;
  bool failed = false;
  std::condition_variable next_turn;
  stand_in::run_threads(stand_in::threads_for(most_items), [&, &first = first, &second = second, &third = third](auto) {
    try {
      while (true) {
        std::unique_lock first_lock(first_mutex);
        if (control.is_stopped) return;
        auto made = first(control);
        if (control.is_stopped) return;
        const std::size_t item = num_items++;
        first_lock.unlock();
        auto worked_on = second(std::move(made));
        std::unique_lock third_lock(third_mutex);
        next_turn.wait(third_lock, [&] { return failed || num_done == item; });
        if (failed) return;
        third(std::move(worked_on));
        ++num_done;
        next_turn.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(third_mutex);
      failed = true;
      next_turn.notify_all();
      throw;
    }
  });
}

}  // namespace tbb
