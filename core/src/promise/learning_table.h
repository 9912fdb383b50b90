// SPDX-License-Identifier: MIT
// Rows counted in cells, and which rows of a cell learn.
//
// Rows of one cell and label are interchangeable for whoever sees only counts: that each of n rows learns with
// probability p is that a binomial number of them does. So which rows learn is drawn from counts, with a seed: no row
// has to be known, and their order does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/base/random.h"
#include "limen/count/counted_rows.h"
#include "limen/count/grid.h"

namespace limen::detail {

/// How many of n rows are drawn when each is with probability p: binomial.
[[nodiscard]] std::int64_t draw_binomial(std::int64_t n, double p, CounterRandom& random);

/// How many of the k rows drawn from n are among the first `part` of them: hypergeometric.
[[nodiscard]] std::int64_t draw_hypergeometric(std::int64_t part, std::int64_t n, std::int64_t k,
                                               CounterRandom& random);

/// Counts between cuts of the score, from the lowest scores up.
struct ScoreCounts {
  std::vector<double> cuts;    ///< increasing
  std::vector<Counts> counts;  ///< one more than cuts
};

/// Every distinct score of up to 2^16 rows: cut between two of them, at few digits. Of more rows cuts of the decimal
/// tree, so that no two have more than a 512th of the rows above them between them, unless they are equal.
/// more: further cuts, increasing, of which the highest between two scores is enough.
[[nodiscard]] ScoreCounts fine_scores(const CountedRows& rows, const std::vector<double>& more);

/// Rows by score and uncertainty, in cells between cuts of the decimal tree, which only counts without labels say how
/// far to go down: at most a 128th of the rows above between two cuts of the score, and of the highest 64th, eighth and
/// all of the rows at most a 64th, or 16, between two of the uncertainty, unless they are equal.
struct LearningTable {
  std::vector<double> score_cuts;
  std::vector<double> uncertainty_cuts;
  std::vector<Counts> cells;  ///< uncertainty * scores() + score, both from the lowest up
  Range<double> score;        ///< of all rows

  [[nodiscard]] std::size_t scores() const { return score_cuts.size() + 1; }
  [[nodiscard]] std::size_t uncertainties() const { return uncertainty_cuts.size() + 1; }
  /// The smallest score that a cell may have.
  [[nodiscard]] double low_score(std::size_t at) const { return at == 0 ? score.low : score_cuts[at - 1]; }

  /// The rows of each cell that are drawn with probability `share` from `from`, the rows of the same cells.
  [[nodiscard]] static std::vector<Counts> draw(const std::vector<Counts>& from, double share, std::uint64_t seed,
                                                std::uint64_t use);

  /// Some of the rows, given by cell, on levels between these edges, each a cut of the uncertainty.
  [[nodiscard]] Grid grid(const std::vector<Counts>& rows, const std::vector<double>& edges) const;
};

/// more_scores, more_uncertainties: further cuts.
[[nodiscard]] LearningTable learning_table(const CountedRows& rows, const std::vector<double>& more_scores,
                                           const std::vector<double>& more_uncertainties);

}  // namespace limen::detail
