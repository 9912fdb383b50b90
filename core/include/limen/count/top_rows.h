// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "limen/count/batch_overview.h"
#include "limen/count/batches.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"

namespace limen {

/// The score that `rows` rows reach (at least one, at most all), equal ones with it. Exact for up to 2^17 rows, else of
/// every n-th row, 2^16 or more of them. Scores must be finite.
[[nodiscard]] double top_score(const Samples& samples, std::int64_t rows);

/// The edges between `levels` equal shares of the uncertainties of the rows that reach a score: levels lie where the
/// decision is. As uncertainty_edges otherwise; of more than 2^17 such rows every n-th one counts. Uncertainties must
/// be finite. Throws InvalidInput.
[[nodiscard]] std::vector<double> top_edges(const Samples& samples, double score, int levels);

/// Every distinct score of the rows that reach a score, and in every level one bin for all rows below it. Of more than
/// 2^19 such rows about 4096 score bins, the same for all levels, each as if its rows filled it. Rows without
/// weights. ranges: as validate(samples) gives them.
[[nodiscard]] Grid count_top(const Samples& samples, const SampleRanges& ranges, std::vector<double> edges,
                             double score);

/// The same of rows in batches, with one pass each; count_top throws InvalidInput when more than `most_rows` rows, and
/// not more than 2^19, reach the score.
[[nodiscard]] double top_score(const BatchOverview& overview, std::int64_t rows);
[[nodiscard]] std::vector<double> top_edges(const SampleBatches& batches, const BatchOverview& overview, double score,
                                            int levels);
[[nodiscard]] Grid count_top(const SampleBatches& batches, const BatchOverview& overview, std::vector<double> edges,
                             double score, std::size_t most_rows);

}  // namespace limen
