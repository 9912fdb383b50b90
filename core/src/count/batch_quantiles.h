// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "limen/count/batches.h"

namespace limen::detail {

/// The edges between `levels` equal shares of the uncertainties of the rows that reach a score: as top_edges.
[[nodiscard]] std::vector<double> batch_edges(const SampleBatches& batches, const BatchFingerprint& fingerprint,
                                              double score, int levels, std::size_t most_rows);

}  // namespace limen::detail
