// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limen/base/random.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"
#include "limen/solve/boundary.h"

namespace limen {

/// A sequence of nested boundaries on the same uncertainty levels, from the smallest to the largest: what a
/// certification goes through (certify.h).
///
///     level 0   0.93  0.91  0.90  0.90 ...      thresholds[level][step] never rise with the step,
///     level 1   inf   0.97  0.95  0.92 ...      infinity: nothing of this level yet
struct Walk {
  std::vector<double> edges;
  std::vector<std::vector<double>> thresholds;

  [[nodiscard]] std::size_t num_levels() const { return thresholds.size(); }
  [[nodiscard]] std::size_t num_steps() const { return thresholds.empty() ? 0 : thresholds.front().size(); }
  [[nodiscard]] Rule rule(std::size_t step) const;
};

/// The first step of the walk that flags a row of this level and score; num_steps() where none does.
[[nodiscard]] std::size_t first_step(const Walk& walk, std::size_t level, double score);

/// Which rows learn and which are tested: a function of the seed and of the row's number, or of its group.
struct LearningSplit {
  std::uint64_t seed = 0;
  double share = 0;  ///< of rows (or groups) that learn

  /// id: the row's number from 0, or the hash of its group.
  [[nodiscard]] bool learns(std::uint64_t id) const { return RowHash(seed, RowUse::kCertify).uniform(id) < share; }
};

/// Rows counted by level and by the first step that flags them.
class WalkCounts {
 public:
  explicit WalkCounts(const Walk& walk)
      : num_levels_(walk.num_levels()), num_steps_(walk.num_steps()), cells_(num_levels_ * (num_steps_ + 1)) {}

  [[nodiscard]] Counts& at(std::size_t level, std::size_t step) { return cells_[level * (num_steps_ + 1) + step]; }
  WalkCounts& operator+=(const WalkCounts& other);

  [[nodiscard]] Counts total() const;
  [[nodiscard]] Counts total(std::size_t level) const;
  /// Of a level, by the boundary of this step.
  [[nodiscard]] Counts flagged(std::size_t level, std::size_t step) const;
  /// Of all levels, by each of the boundaries in turn.
  [[nodiscard]] std::vector<Counts> flagged() const;

 private:
  std::size_t num_levels_;
  std::size_t num_steps_;
  std::vector<Counts> cells_;
};

/// Rows that learned, and rows that did not.
struct SplitCounts {
  WalkCounts learning;
  WalkCounts tested;
};

/// Adds the rows of a batch, the first of which has the number `first_row`; group: empty, or one id a row. Parallel;
/// integer sums, so that the result does not depend on threads. Rows must be valid (validate(Samples)).
void count_walk(const Walk& walk, const Samples& rows, std::uint64_t first_row, std::span<const std::uint64_t> group,
                const LearningSplit& split, SplitCounts& counts);

}  // namespace limen
