// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "limen/choose/choose.h"
#include "limen/count/samples.h"
#include "limen/judge/metrics.h"
#include "limen/solve/objective.h"

namespace limen {

/// The values of one column.
struct ColumnSummary {
  Range<double> range;
  std::int64_t distinct = 0;
  double most_common = 0;        ///< a value that occurs most often, the largest of several
  double most_common_share = 0;  ///< of the rows, or of their weight
};

/// Rows of neighbouring scores: a line of a reliability table.
struct ReliabilityBin {
  double low = 0;  ///< smallest and largest score
  double high = 0;
  double mean_score = 0;
  double rows = 0;  ///< or their weight
  double positives = 0;
  Interval rate = {};  ///< exact interval of the rate of positives, 95%
};

/// What a user should know of a table of predictions before deciding on it.
struct Inspection {
  std::int64_t rows = 0;
  bool weighted = false;
  double weight = 0;     ///< rows without weights
  double positives = 0;  ///< by weight
  ColumnSummary score;
  ColumnSummary uncertainty;
  double average_precision = 0;
  double roc_auc = 0;
  std::vector<ReliabilityBin> reliability;  ///< about equal shares of the rows, from the lowest scores up
  Choice choice;                            ///< whether uncertainty informs near the decision, and what it could bring
};

/// objective: says where the decision is. Both classes are needed. O(n log n). Throws InvalidInput.
[[nodiscard]] Inspection inspect(const Samples& samples, const Objective& objective, int num_threads = 0);

}  // namespace limen
