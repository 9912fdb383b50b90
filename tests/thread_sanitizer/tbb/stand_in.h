// SPDX-License-Identifier: MIT
//
// A stand-in for the parts of oneTBB that Limen uses, for builds under the thread sanitizer. The oneTBB of the system
// is not instrumented: the sanitizer does not see how it orders its threads and reports races where there are none.
// Here every loop starts threads and joins them, which the sanitizer sees.
//
// It is made to find races, not to be fast. Neighbouring pieces of a loop go to different threads, on any machine, and
// nothing but start and join orders the threads of a loop: a lock between them would hide their races.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace tbb {
namespace stand_in {

inline constexpr int kThreads = 4;
inline constexpr std::size_t kMostThreads = 64;

/// Gives numbers below kMostThreads to threads. A number is used again after its thread was joined.
class ThreadNumbers {
 public:
  std::size_t take() {
    const std::lock_guard lock(mutex_);
    const auto free = std::find(is_taken_.begin(), is_taken_.end(), false);
    if (free == is_taken_.end()) throw std::runtime_error("the stand-in for oneTBB has no thread left");
    *free = true;
    return static_cast<std::size_t>(free - is_taken_.begin());
  }
  void give_back(std::size_t number) {
    const std::lock_guard lock(mutex_);
    is_taken_[number] = false;
  }

 private:
  std::mutex mutex_;
  std::array<bool, kMostThreads> is_taken_ = {};
};
inline ThreadNumbers thread_numbers;

struct OwnNumber {
  std::size_t value = thread_numbers.take();
  ~OwnNumber() { thread_numbers.give_back(value); }
};

/// Set on threads of a loop, whose numbers belong to the thread that started them.
inline thread_local std::optional<std::size_t> given_number;

inline std::size_t thread_number() {
  if (given_number) return *given_number;
  thread_local const OwnNumber own;
  return own.value;
}

/// Threads of a loop that this thread starts.
inline thread_local int concurrency = kThreads;

struct ScopedConcurrency {
  int before;
  explicit ScopedConcurrency(int now) : before(std::exchange(concurrency, now)) {}
  ~ScopedConcurrency() { concurrency = before; }
};

/// Calls body(share) for shares 0 to num_threads - 1, each on a thread of its own, the first on this one. An exception
/// is thrown to the caller after all have ended. Loops inside have half as many threads.
template <typename Body>
void run_threads(std::size_t num_threads, const Body& body) {
  if (num_threads == 0) return;
  const int inner = num_threads == 1 ? concurrency : std::max(1, concurrency / 2);
  std::vector<std::exception_ptr> errors(num_threads);
  const auto run = [&](std::size_t share) {
    const ScopedConcurrency scope(inner);
    try {
      body(share);
    } catch (...) {
      errors[share] = std::current_exception();
    }
  };
  {
    std::deque<OwnNumber> numbers;
    std::vector<std::jthread> threads;
    for (std::size_t share = 1; share < num_threads; ++share) {
      threads.emplace_back([&run, share, number = numbers.emplace_back().value] {
        given_number = number;
        run(share);
      });
    }
    run(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

inline std::size_t threads_for(std::size_t num_pieces) {
  return std::min(num_pieces, static_cast<std::size_t>(concurrency));
}

/// Calls body(piece) for pieces 0 to num_pieces - 1. After an exception no further piece is begun.
template <typename Body>
void for_each_piece(std::size_t num_pieces, const Body& body) {
  const std::size_t num_threads = threads_for(num_pieces);
  std::atomic<bool> failed = false;
  run_threads(num_threads, [&](std::size_t share) {
    try {
      for (std::size_t piece = share; piece < num_pieces; piece += num_threads) {
        if (failed.load(std::memory_order_relaxed)) return;
        body(piece);
      }
    } catch (...) {
      failed.store(true, std::memory_order_relaxed);
      throw;
    }
  });
}

}  // namespace stand_in

namespace info {
inline int default_concurrency() { return stand_in::kThreads; }
}  // namespace info

namespace this_task_arena {
inline int max_concurrency() { return stand_in::concurrency; }
template <typename Body>
decltype(auto) isolate(const Body& body) {
  return body();
}
}  // namespace this_task_arena

class task_arena {
 public:
  static constexpr int automatic = -1;
  explicit task_arena(int concurrency = automatic)
      : concurrency_(concurrency == automatic ? stand_in::kThreads : concurrency) {}
  template <typename Body>
  decltype(auto) execute(const Body& body) {
    const stand_in::ScopedConcurrency scope(concurrency_);
    return body();
  }

 private:
  int concurrency_;
};

template <typename Value>
class blocked_range {
 public:
  blocked_range(Value begin, Value end, std::size_t grain = 1) : begin_(begin), end_(end), grain_(grain) {}
  [[nodiscard]] Value begin() const { return begin_; }
  [[nodiscard]] Value end() const { return end_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

  [[nodiscard]] std::size_t num_pieces() const { return begin_ < end_ ? (size() + grain_ - 1) / grain_ : 0; }
  [[nodiscard]] blocked_range piece(std::size_t index) const {
    const std::size_t first = index * grain_;
    return {static_cast<Value>(begin_ + first), static_cast<Value>(begin_ + std::min(first + grain_, size())), grain_};
  }

 private:
  Value begin_;
  Value end_;
  std::size_t grain_;
};

struct simple_partitioner {};

template <std::integral Index, typename Body>
void parallel_for(Index first, Index last, const Body& body) {
  const std::size_t size = first < last ? static_cast<std::size_t>(last - first) : 0;
  stand_in::for_each_piece(size, [&](std::size_t at) { body(static_cast<Index>(first + static_cast<Index>(at))); });
}
template <typename Value, typename Body>
void parallel_for(const blocked_range<Value>& range, const Body& body, simple_partitioner /*unused*/ = {}) {
  stand_in::for_each_piece(range.num_pieces(), [&](std::size_t at) { body(range.piece(at)); });
}

/// Neighbouring pieces make one part, and parts are joined in order: `join` need not be commutative.
template <typename Value, typename Result, typename Body, typename Join>
Result parallel_reduce(const blocked_range<Value>& range, const Result& identity, const Body& body, const Join& join) {
  const std::size_t num_pieces = range.num_pieces();
  const std::size_t num_threads = stand_in::threads_for(num_pieces);
  std::deque<Result> parts(num_threads, identity);
  stand_in::run_threads(num_threads, [&](std::size_t share) {
    const std::size_t end = num_pieces * (share + 1) / num_threads;
    for (std::size_t piece = num_pieces * share / num_threads; piece < end; ++piece) {
      parts[share] = body(range.piece(piece), std::move(parts[share]));
    }
  });
  Result result = identity;
  for (Result& part : parts) result = join(std::move(result), std::move(part));
  return result;
}

template <typename Iterator, typename Less = std::less<>>
void parallel_sort(Iterator begin, Iterator end, const Less& less = {}) {
  const auto size = static_cast<std::size_t>(end - begin);
  const std::size_t num_parts = stand_in::threads_for(size);
  const auto part = [&](std::size_t at) { return begin + static_cast<std::ptrdiff_t>(size * at / num_parts); };
  stand_in::for_each_piece(num_parts, [&](std::size_t at) { std::sort(part(at), part(at + 1), less); });
  for (std::size_t at = 1; at < num_parts; ++at) std::inplace_merge(begin, part(at), part(at + 1), less);
}

template <typename Value>
class enumerable_thread_specific {
 public:
  enumerable_thread_specific() : make_([] { return Value(); }) {}
  template <std::invocable Make>
  explicit enumerable_thread_specific(Make make) : make_(std::move(make)) {}
  explicit enumerable_thread_specific(const Value& exemplar) : make_([exemplar] { return exemplar; }) {}

  Value& local() {
    Value*& own = of_thread_[stand_in::thread_number()];
    if (own == nullptr) {
      Value made = make_();
      const std::lock_guard lock(mutex_);
      own = &values_.emplace_back(std::move(made));
    }
    return *own;
  }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::function<Value()> make_;
  std::mutex mutex_;
  std::deque<Value> values_;
  std::array<Value*, stand_in::kMostThreads> of_thread_ = {};
};

}  // namespace tbb
