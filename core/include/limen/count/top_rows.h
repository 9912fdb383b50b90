// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/count/batch_overview.h"
#include "limen/count/batches.h"
#include "limen/count/counted_rows.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"

namespace limen {

/// The score that `rows` rows reach (at least one, at most all), equal ones with it. Scores must be finite.
[[nodiscard]] double top_score(const Samples& samples, std::int64_t rows);

/// The edges between `levels` equal shares of the uncertainties of the rows that reach a score: levels lie where the
/// decision is. As uncertainty_edges otherwise. Uncertainties must be finite. Throws InvalidInput.
[[nodiscard]] std::vector<double> top_edges(const Samples& samples, double score, int levels);

/// Every distinct score of the rows that reach a score, and in every level one bin for all rows below it. Of more than
/// 2^16 such rows some thousand score bins, the same for all levels, cut at numbers of few digits (decimal_tree.h),
/// each with at most a 1024th of these rows unless they are equal, and as if its rows filled it. Rows without weights.
/// ranges: as validate(samples) gives them.
[[nodiscard]] Grid count_top(const Samples& samples, const SampleRanges& ranges, std::vector<double> edges,
                             double score);

/// The same of rows in batches, with one pass each, two for top_score, and some for cuts between many rows; count_top
/// throws InvalidInput when more than `most_rows` rows, and not more than 2^16, reach the score.
[[nodiscard]] double top_score(const SampleBatches& batches, const BatchOverview& overview, std::int64_t rows,
                               std::size_t most_rows);
[[nodiscard]] std::vector<double> top_edges(const SampleBatches& batches, const BatchOverview& overview, double score,
                                            int levels, std::size_t most_rows);
[[nodiscard]] Grid count_top(const SampleBatches& batches, const BatchOverview& overview, std::vector<double> edges,
                             double score, std::size_t most_rows);

/// The same of rows that are counted where they are. quantile_edges: of the rows that reach the score, or of all.
[[nodiscard]] double top_score(const CountedRows& rows, std::int64_t top);
[[nodiscard]] std::vector<double> quantile_edges(const CountedRows& rows, std::optional<double> score, int levels);
[[nodiscard]] Grid count_top(const CountedRows& rows, std::vector<double> edges, double score);

}  // namespace limen
