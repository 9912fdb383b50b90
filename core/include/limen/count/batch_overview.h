// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "limen/count/batches.h"

namespace limen {

/// What the first passes over the batches tell.
struct BatchOverview {
  BatchFingerprint fingerprint;
  double lowest_score = 0;
  double highest_score = 0;
  std::vector<double> score_sample;  ///< every n-th score
  std::vector<double> edges;         ///< as uncertainty_edges (equi-weight) gives for all rows together

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(fingerprint.rows); }
};

/// One pass as a rule. Another where the first rows are unlike the others, so that the rows around an edge have to be
/// collected, one where equal uncertainties hide the neighbours of an edge, and more where very many rows crowd around
/// one. Memory: at most `most_rows` rows at a time are kept beside the caller's batch
/// (about 10 bytes each), and counters of 4 MB a thread. levels: 1 to 1000. Throws InvalidInput.
[[nodiscard]] BatchOverview summarize_batches(const SampleBatches& batches, int levels,
                                              std::size_t most_rows = std::size_t{1} << 21);

}  // namespace limen
