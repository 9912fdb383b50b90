// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "limen/count/batch_overview.h"
#include "limen/count/batches.h"
#include "limen/count/binning.h"
#include "limen/count/counted_rows.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/solve/objective.h"

namespace limen {

/// A grid on which solve_exact finds the same boundary, bit for bit, as on count_distinct(samples, edges), made without
/// sorting all scores: coarse bins where no optimal boundary can end, every distinct score where one can.
///
/// A pass counts rows into buckets of the score, per level. Any boundary that ends inside a bucket is at most as good
/// as one that takes the bucket's positives first; that gives a bound from the buckets alone, and with the best
/// boundary that ends between buckets, the buckets in which an optimum can still end. The rows of those are collected
/// and sorted. Two passes over the rows; more where very many rows are near the optimum. Memory: two bytes a row, plus
/// the rows collected. Few rows are sorted at once.
///
/// Where no boundary is feasible solve_exact says so on this grid too, but the precision it names as the best
/// attainable is only one that is attained.
///
/// ranges: as validate(samples) gives them. Unset where count_distinct is the way: rows with weights, kRecall with a
/// bound of 0, kFBeta with a beta of more than three digits. Throws InvalidInput when there are no rows.
[[nodiscard]] std::optional<Grid> count_near_optimum(const Samples& samples, const SampleRanges& ranges,
                                                     const std::vector<double>& edges, const Objective& objective);

struct NearOptimumGrids {
  Grid boundary;  ///< as count_near_optimum gives for the edges
  Grid single;    ///< as it gives for no edges: for the best single threshold
};

/// Both from the same passes over the rows.
[[nodiscard]] std::optional<NearOptimumGrids> count_near_optimum_and_single(const Samples& samples,
                                                                            const SampleRanges& ranges,
                                                                            const std::vector<double>& edges,
                                                                            const Objective& objective);

/// The same for rows in batches, whose edges are those of the overview. most_rows: how many rows may be kept in memory
/// at a time (about 20 bytes each).
[[nodiscard]] std::optional<Grid> count_near_optimum(const SampleBatches& batches, const BatchOverview& overview,
                                                     const Objective& objective,
                                                     std::size_t most_rows = std::size_t{1} << 22);
[[nodiscard]] std::optional<NearOptimumGrids> count_near_optimum_and_single(const SampleBatches& batches,
                                                                            const BatchOverview& overview,
                                                                            const Objective& objective,
                                                                            std::size_t most_rows = std::size_t{1}
                                                                                                    << 22);

/// The same for rows that are counted where they are. About five questions for a billion rows; the last asks for the
/// distinct scores of at most some ten thousand rows near the optimum.
[[nodiscard]] std::optional<Grid> count_near_optimum(const CountedRows& rows, const std::vector<double>& edges,
                                                     const Objective& objective);

}  // namespace limen
