// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "limen/train/feature_rows.h"
#include "network.h"

namespace limen::train::detail {

/// Row numbers in an order that depends on the seed alone.
[[nodiscard]] std::vector<std::uint32_t> shuffled_rows(std::size_t num_rows, std::uint64_t seed);

/// Rows of a batch, copied together.
struct TrainingBatch {
  std::vector<float> numeric = {};
  std::vector<std::int32_t> categorical = {};
  std::vector<float> fraction = {};
  std::vector<std::uint8_t> label = {};

  [[nodiscard]] BatchView view() const { return {label.size(), numeric, categorical, fraction, label}; }
};

/// The batches of an epoch from batch `first` on, put together by a thread of its own, a few ahead of the one in use.
class TrainingBatches {
 public:
  TrainingBatches(const FeatureShape& shape, const FeatureRows& rows, std::vector<std::uint32_t> order,
                  std::size_t batch_rows, std::size_t first);
  ~TrainingBatches();
  TrainingBatches(const TrainingBatches&) = delete;
  TrainingBatches& operator=(const TrainingBatches&) = delete;

  /// Null after the last one. The batch is good until the next call.
  [[nodiscard]] const TrainingBatch* next();

 private:
  void gather(std::size_t batch, TrainingBatch& into) const;
  void run(std::size_t first);

  const FeatureShape& shape_;
  const FeatureRows& rows_;
  std::vector<std::uint32_t> order_;
  std::size_t batch_rows_;
  std::size_t num_batches_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<TrainingBatch>> ready_;
  std::vector<std::unique_ptr<TrainingBatch>> spare_;
  std::unique_ptr<TrainingBatch> in_use_;
  bool at_end_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace limen::train::detail
