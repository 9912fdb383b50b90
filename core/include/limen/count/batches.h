// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "limen/count/samples.h"

namespace limen {

/// Rows that are too many for memory: calls its argument with batch after batch, anew for every pass. Every pass must
/// bring the same rows, in any order and in batches of any size; a pass that does not is refused with InvalidInput
/// (Cause::kFileChanged). Rows are checked in every pass, as by validate(Samples). Weights are refused.
using SampleBatches = std::function<void(const std::function<void(const Samples&)>&)>;

/// What a pass over the rows brought, whatever their order: two passes over the same rows have the same one.
struct BatchFingerprint {
  std::uint64_t rows = 0;
  std::uint64_t positives = 0;
  std::uint64_t hash = 0;  ///< sum over the rows of a hash of score, uncertainty and label

  friend bool operator==(const BatchFingerprint&, const BatchFingerprint&) = default;
};

/// What the first passes over the batches tell.
struct BatchOverview {
  BatchFingerprint fingerprint;
  double lowest_score = 0;
  double highest_score = 0;
  std::vector<double> score_sample;  ///< every n-th score
  std::vector<double> edges;         ///< as uncertainty_edges (equi-weight) gives for all rows together

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(fingerprint.rows); }
};

/// One pass for one level, else three; a fourth where equal uncertainties hide the neighbours of an edge, and more
/// where very many rows crowd around one. Memory: at most `most_rows` rows at a time are kept beside the caller's batch
/// (about 10 bytes each), and counters of 4 MB a thread. levels: 1 to 1000. Throws InvalidInput.
[[nodiscard]] BatchOverview summarize_batches(const SampleBatches& batches, int levels,
                                              std::size_t most_rows = std::size_t{1} << 21);

}  // namespace limen
