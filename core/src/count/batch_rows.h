// SPDX-License-Identifier: MIT
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <vector>

#include "count/engine.h"
#include "limen/count/batches.h"

namespace limen::detail {

/// Adds a batch to a fingerprint. Checks the rows first: throws InvalidInput for bad ones and for weights.
void check_and_add(const Samples& samples, BatchFingerprint& fingerprint);

/// Throws InvalidInput unless a pass brought the rows of the first one.
void require_same_rows(const BatchFingerprint& first, const BatchFingerprint& now);

/// Rows in batches for the counting engine: scores with their levels, or uncertainties. Single precision is read in
/// double, in which its order and its values are the same.
struct RowsInBatches {
  using Real = double;
  enum class Values { kScores, kUncertainties };

  const SampleBatches& batches;
  const BatchFingerprint& fingerprint;
  Values values = Values::kScores;
  std::span<const double> edges = {};

  /// Calls visit(Block<double>), from several threads at once.
  template <typename Visit>
  void scan(const Visit& visit) const {
    BatchFingerprint now;
    batches([&](const Samples& samples) {
      check_and_add(samples, now);
      // Never beyond what was counted: the counters hold that many.
      if (now.rows > fingerprint.rows) require_same_rows(fingerprint, now);
      const auto level = samples.uncertainty.visit([&](auto uncertainty) { return levels_of(uncertainty, edges); });
      const RealSpan& column = values == Values::kScores ? samples.score : samples.uncertainty;
      column.visit([&](auto narrow) {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, narrow.size(), kBlockRows / 4), [&](const auto& range) {
          std::vector<double> wide(std::min(kBlockRows, range.size()));
          for (std::size_t begin = range.begin(); begin < range.end(); begin += wide.size()) {
            const std::size_t size = std::min(wide.size(), range.end() - begin);
            std::copy_n(narrow.data() + begin, size, wide.data());
            visit(Block<double>{wide.data(), samples.label.data() + begin, level.data() + begin, size});
          }
        });
      });
    });
    require_same_rows(fingerprint, now);
  }
};

}  // namespace limen::detail
