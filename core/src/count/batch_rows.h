// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "count/engine.h"
#include "limen/count/batches.h"

namespace limen::detail {

/// Adds a batch to a fingerprint. Checks the rows first: throws InvalidInput for bad ones and for weights.
SampleRanges check_and_add(const Samples& samples, BatchFingerprint& fingerprint);

/// Throws InvalidInput unless a pass brought the rows of the first one.
void require_same_rows(const BatchFingerprint& first, const BatchFingerprint& now);

/// The uncertainties of the rows that reach a score.
void uncertainties_from(const Samples& samples, double score, std::vector<double>& top);

/// One batch for the counting engine. Single precision is read in double, in which its order and its values are the
/// same. label and level may be empty: all 0.
struct RowsOfBatch {
  using Real = double;

  const RealSpan& value;
  std::span<const std::uint8_t> label = {};
  std::span<const std::uint16_t> level = {};

  /// Calls visit(Block<double>), from several threads at once.
  template <typename Visit>
  void scan(const Visit& visit) const {
    value.visit([&](auto narrow) {
      if constexpr (std::is_same_v<typename decltype(narrow)::value_type, double>) {
        RowsInMemory<double>{narrow, label, level}.scan(visit);
      } else {
        RowsInMemory<float>{narrow, label, level}.scan([&](const Block<float>& block) {
          constexpr std::size_t kStep = 4096;
          std::array<double, kStep> wide;
          for (std::size_t begin = 0; begin < block.size; begin += kStep) {
            const std::size_t size = std::min(kStep, block.size - begin);
            std::copy_n(block.value + begin, size, wide.data());
            visit(Block<double>{wide.data(), block.label + begin, block.level + begin, size});
          }
        });
      }
    });
  }
};

/// Rows in batches for the counting engine: scores with their levels, or uncertainties.
struct RowsInBatches {
  using Real = double;
  enum class Values { kScores, kUncertainties };

  const SampleBatches& batches;
  const BatchFingerprint& fingerprint;
  Values values = Values::kScores;
  std::span<const double> edges = {};
  double score_from = -std::numeric_limits<double>::infinity();  ///< kUncertainties: of the rows that reach this

  /// Calls visit(Block<double>), from several threads at once.
  template <typename Visit>
  void scan(const Visit& visit) const {
    BatchFingerprint now;
    batches([&](const Samples& samples) {
      check_and_add(samples, now);
      // Never beyond what was counted: the counters hold that many.
      if (now.rows > fingerprint.rows) require_same_rows(fingerprint, now);
      if (values == Values::kUncertainties && score_from > -std::numeric_limits<double>::infinity()) {
        std::vector<double> top;
        uncertainties_from(samples, score_from, top);
        RowsInMemory<double>{top}.scan(visit);
        return;
      }
      if (values == Values::kUncertainties) {
        RowsOfBatch{samples.uncertainty}.scan(visit);
        return;
      }
      const auto level = samples.uncertainty.visit([&](auto uncertainty) { return levels_of(uncertainty, edges); });
      RowsOfBatch{samples.score, samples.label, level}.scan(visit);
    });
    require_same_rows(fingerprint, now);
  }
};

}  // namespace limen::detail
