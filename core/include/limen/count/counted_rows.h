// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "limen/count/batches.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"

namespace limen {

enum class CountedColumn { kScore, kUncertainty };

/// A question about rows that are somewhere else: in a database, on a cluster. Its answer is a small table of counts.
///
/// Every row has a group, by the column that the question is not about, and inside it a bucket, by the column that it
/// is about:
///
///     group  = number of group_cuts <= the other column
///     bucket = number of value_cuts <= the value
///
/// Comparisons are those of double precision, so that -0 is 0.
struct CountQuery {
  CountedColumn value = CountedColumn::kScore;
  std::vector<double> group_cuts = {};  ///< increasing, finite
  std::vector<double> value_cuts = {};  ///< increasing, finite
  /// The smallest and the largest value of every cell are asked for too.
  bool extremes = true;
  struct Span {
    std::size_t group;
    double low;
    double high;
  };
  /// Not empty: only the rows of these groups with low <= value <= high count, and every distinct value is a cell of
  /// its own. Then there are no value_cuts.
  std::vector<Span> spans = {};
};

/// Rows of one group and bucket, or of one group and value.
struct CountCell {
  std::size_t group = 0;
  std::size_t bucket = 0;  ///< 0 where every distinct value is counted
  Counts counts;
  double least = 0;  ///< value; 0 where extremes were not asked for
  double greatest = 0;
};

/// Rows that are counted where they are. What a fit needs of them it asks, question by question; every answer has the
/// cells that hold rows, in any order. An answer that does not fit the ones before it is refused with InvalidInput
/// (Cause::kFileChanged). Rows have no weights.
struct CountedRows {
  Counts total;
  Range<double> score;
  Range<double> uncertainty;
  std::function<std::vector<CountCell>(const CountQuery&)> count;
};

/// Rows in memory or in batches, counted as questions ask. What `samples` and `batches` refer to must stay alive.
/// Throws InvalidInput for bad rows and for weights.
[[nodiscard]] CountedRows counted(const Samples& samples);
[[nodiscard]] CountedRows counted(const SampleBatches& batches);

}  // namespace limen
