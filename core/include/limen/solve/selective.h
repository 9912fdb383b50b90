// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/solve/objective.h"

namespace limen {

/// A grid on which solve_exact finds the same boundary, bit for bit, as on count_distinct(samples, edges), made without
/// sorting the scores: coarse bins where no optimal boundary can end, every distinct score where one can.
///
/// A parallel pass counts rows into score buckets per level. Any boundary that ends inside a bucket is at most as good
/// as one that takes the bucket's positives first; that gives a bound from the buckets alone, and with the best
/// boundary that ends between buckets, the buckets in which an optimum can still end. Those are split again, or
/// copied out and sorted. Two passes over the data as a rule; memory: one byte a row plus the rows
/// collected.
///
/// Where no boundary is feasible solve_exact says so on this grid too, but the precision it names as the best
/// attainable is only one that is attained.
///
/// Unset where count_distinct is the way: rows with weights, goals kRecall and kFBeta, more than 255 levels. Throws
/// InvalidInput when there are no rows.
[[nodiscard]] std::optional<Grid> count_selected(const Samples& samples, const std::vector<double>& edges,
                                                 const Objective& objective);

struct SelectedGrids {
  Grid boundary;  ///< as count_selected gives for the edges
  Grid single;    ///< as it gives for no edges: for the best single threshold
};

/// Both from the same passes over the rows.
[[nodiscard]] std::optional<SelectedGrids> count_selected_and_single(const Samples& samples,
                                                                     const std::vector<double>& edges,
                                                                     const Objective& objective);

/// merge_bins(count_distinct(samples, edges), bins) for equal shares, bit for bit, without sorting all scores: counts
/// in fine buckets, and sorts only those in which a bin can end. It lacks `scaled_uncertainty`. Two passes; memory: one
/// byte a row plus the rows collected. Unset where count_distinct is the way: rows with weights, few rows, more than
/// 255 levels, or bins of so few rows that most are near an end.
[[nodiscard]] std::optional<Grid> count_quantile_bins(const Samples& samples, const std::vector<double>& edges,
                                                      std::int64_t bins);

/// Rows that are too many for memory: calls its argument with batch after batch. Every call must bring the same rows.
using SampleBatches = std::function<void(const std::function<void(const Samples&)>&)>;

/// What the first passes over the batches tell.
struct BatchOverview {
  std::size_t rows = 0;
  std::size_t positives = 0;
  double lowest_score = 0;
  double highest_score = 0;
  std::vector<double> score_sample;  ///< every n-th score
  std::vector<double> edges;         ///< as uncertainty_edges (equi-weight) gives for all rows together
};

/// One pass as a rule; with more than one level two or three where the first rows are not like the rest. Checks the
/// rows; throws InvalidInput, also for rows with weights.
[[nodiscard]] BatchOverview look_through(const SampleBatches& batches, int levels);

/// count_selected on rows in batches: two more passes as a rule. Memory does not grow with the rows, but with the
/// distinct scores near the optimum. Unset for the goals that count_selected leaves to a sort.
[[nodiscard]] std::optional<Grid> count_selected(const SampleBatches& batches, const BatchOverview& overview,
                                                 const Objective& objective);
[[nodiscard]] std::optional<SelectedGrids> count_selected_and_single(const SampleBatches& batches,
                                                                     const BatchOverview& overview,
                                                                     const Objective& objective);

}  // namespace limen
