// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace limen::table::detail {

/// Runs `work` on all cores over the items that `produce` gives until it gives null, and `consume` over the same items
/// in the same order. `produce` and `consume` each run one call at a time, on any thread. At most twice as many items
/// as there are threads exist at a time.
///
/// The first exception in the order of the items is thrown to the caller, from whichever function it comes: what was
/// produced before a failing produce() is consumed first.
template <typename Item, typename Produce, typename Work, typename Consume>
void run_ordered(Produce&& produce, Work&& work, Consume&& consume) {
  struct Slot {
    std::unique_ptr<Item> item;
    std::exception_ptr error;
  };
  using SlotPointer = std::shared_ptr<Slot>;
  bool at_end = false;
  std::exception_ptr first_error;
  std::atomic<bool> failed = false;
  // No exception leaves a stage: a cancelled TBB pipeline leaks the items in it. After a failure it runs empty.
  const auto attempt = [&failed](Slot& slot, const auto& action) {
    try {
      if (!slot.error && !failed) action();
    } catch (...) {
      slot.error = std::current_exception();
    }
  };
  const auto first = [&](tbb::flow_control& control) -> SlotPointer {
    auto slot = std::make_shared<Slot>();
    if (!at_end) attempt(*slot, [&] { slot->item = produce(); });
    at_end = slot->item == nullptr;
    if (!at_end || slot->error) return slot;
    control.stop();
    return nullptr;
  };
  const auto second = [&](SlotPointer slot) {
    attempt(*slot, [&] { work(*slot->item); });
    return slot;
  };
  const auto third = [&](const SlotPointer& slot) {
    if (failed) return;
    attempt(*slot, [&] { consume(*slot->item); });
    first_error = slot->error;
    failed = slot->error != nullptr;
  };
  const auto max_items = 2 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  tbb::parallel_pipeline(max_items, tbb::make_filter<void, SlotPointer>(tbb::filter_mode::serial_in_order, first) &
                                        tbb::make_filter<SlotPointer, SlotPointer>(tbb::filter_mode::parallel, second) &
                                        tbb::make_filter<SlotPointer, void>(tbb::filter_mode::serial_in_order, third));
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace limen::table::detail
