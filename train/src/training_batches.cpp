// SPDX-License-Identifier: MIT
#include "training_batches.h"

#include <algorithm>
#include <utility>

#include "limen/base/random.h"

namespace limen::train::detail {
namespace {

constexpr std::size_t kAhead = 4;

}  // namespace

std::vector<std::uint32_t> shuffled_rows(std::size_t num_rows, std::uint64_t seed) {
  std::vector<std::uint32_t> order(num_rows);
  for (std::size_t row = 0; row < num_rows; ++row) order[row] = static_cast<std::uint32_t>(row);
  // Fisher and Yates; the high half of the product is below `left`, evenly but for 2^-32.
  std::uint64_t state = seed;
  for (std::size_t left = num_rows; left > 1; --left) {
    state += kGoldenRatio;
    const std::uint64_t bits = mix(state);
    const auto other = static_cast<std::size_t>(((bits >> 32) * static_cast<std::uint64_t>(left)) >> 32);
    std::swap(order[left - 1], order[other]);
  }
  return order;
}

TrainingBatches::TrainingBatches(const FeatureShape& shape, const FeatureRows& rows, std::vector<std::uint32_t> order,
                                 std::size_t batch_rows, std::size_t first)
    : shape_(shape),
      rows_(rows),
      order_(std::move(order)),
      batch_rows_(batch_rows),
      num_batches_((order_.size() + batch_rows - 1) / batch_rows) {
  for (std::size_t slot = 0; slot < kAhead; ++slot) spare_.push_back(std::make_unique<TrainingBatch>());
  thread_ = std::thread([this, first] { run(first); });
}

TrainingBatches::~TrainingBatches() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TrainingBatches::gather(std::size_t batch, TrainingBatch& into) const {
  const std::size_t begin = batch * batch_rows_;
  const std::size_t size = std::min(batch_rows_, order_.size() - begin);
  const std::size_t num_numeric = shape_.num_numeric;
  const std::size_t num_categorical = shape_.num_categorical();
  into.numeric.resize(size * num_numeric);
  const std::size_t num_knots = shape_.knots.size();
  into.categorical.resize(size * num_categorical);
  into.fraction.resize(size * num_knots);
  into.label.resize(size);
  for (std::size_t at = 0; at < size; ++at) {
    const std::size_t row = order_[begin + at];
    std::copy_n(rows_.numeric.data() + row * num_numeric, num_numeric, into.numeric.data() + at * num_numeric);
    std::copy_n(rows_.categorical.data() + row * num_categorical, num_categorical,
                into.categorical.data() + at * num_categorical);
    std::copy_n(rows_.fraction.data() + row * num_knots, num_knots, into.fraction.data() + at * num_knots);
    into.label[at] = rows_.label[row];
  }
}

void TrainingBatches::run(std::size_t first) {
  for (std::size_t batch = first; batch < num_batches_; ++batch) {
    std::unique_ptr<TrainingBatch> slot;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !spare_.empty(); });
      if (stop_) return;
      slot = std::move(spare_.back());
      spare_.pop_back();
    }
    gather(batch, *slot);
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(slot));
    changed_.notify_all();
  }
  const std::lock_guard lock(mutex_);
  at_end_ = true;
  changed_.notify_all();
}

const TrainingBatch* TrainingBatches::next() {
  std::unique_lock lock(mutex_);
  if (in_use_) spare_.push_back(std::move(in_use_));
  changed_.notify_all();
  changed_.wait(lock, [&] { return at_end_ || !ready_.empty(); });
  if (ready_.empty()) return nullptr;
  in_use_ = std::move(ready_.front());
  ready_.pop_front();
  return in_use_.get();
}

}  // namespace limen::train::detail
