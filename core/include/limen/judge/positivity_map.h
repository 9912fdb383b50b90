// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/promise/intervals.h"

namespace limen {

struct PositivityMapOptions {
  /// Uncertainty levels, 1 to 1000, as uncertainty_edges makes them; not looked at where `edges` are given.
  int levels = 3;
  /// Edges between the levels, increasing: those of a boundary or of a calibration.
  std::optional<std::vector<double>> edges = std::nullopt;
  /// Score bins inside each level, 1 to 10,000.
  int bins = 10;
  /// Edges between score bins, increasing, the same in all levels: in place of `bins`, `binning` and `balanced`. At
  /// most 9,999. A score is in the bin of the number of edges that are not above it.
  std::optional<std::vector<double>> score_edges = std::nullopt;
  /// equi-weight: quantiles of uncertainty, then of the score inside each level, as in the paper; equi-span: equal
  /// intervals of both ranges.
  Binning binning = Binning::kEquiWeight;
  /// Quantiles of the score in which each class of a level counts for one half, so that rare positives spread over the
  /// bins. Equi-weight only; a level of one class is cut by rows.
  bool balanced = false;
  double confidence = 0.95;  ///< of Wilson's intervals, between 0 and 1
};

/// Throws InvalidInput naming field, value and range.
void validate(const PositivityMapOptions& options);

/// Rows of one level and one score bin.
struct PositivityCell {
  std::int32_t level = 0;  ///< from 0, uncertainty upwards
  std::int32_t bin = 0;    ///< from 0, score upwards
  double low = 0;          ///< smallest and largest score
  double high = 0;
  double mean_score = 0;
  double rows = 0;  ///< or their weight
  double positives = 0;
  Interval rate = {};  ///< Wilson's interval of the share of positives

  [[nodiscard]] double positivity() const { return positives / rows; }
};

/// The share of positives by score bin and level: the paper's first figure.
struct PositivityMap {
  std::vector<double> uncertainty_edges;
  int bins = 0;
  double confidence = 0.95;
  bool weighted = false;
  std::vector<PositivityCell> cells;  ///< by level, inside it by bin; cells without rows are left out
};

/// Of labelled rows. Equal scores are never in different bins: of L bins of a level of n rows a score is in that of the
/// middle of its rows, floor(L (rows below + half of its rows) / n), in exact arithmetic. Ties can leave bins empty;
/// bins of the same number of different levels hold the same ranks, not the same scores. With weights ranks are sums of
/// weights, and intervals have the mean number of rows behind a weight. O(n log n), parallel; the same for any thread
/// count. Throws InvalidInput, also when there are no rows.
[[nodiscard]] PositivityMap positivity_map(const Samples& samples, const PositivityMapOptions& options = {});

/// Of rows that were counted, a bin of the grid for every distinct score (count_distinct); `levels` and `edges` are not
/// looked at. O(bins of the grid).
[[nodiscard]] PositivityMap positivity_map(const Grid& distinct, const PositivityMapOptions& options = {});

}  // namespace limen
