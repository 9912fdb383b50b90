// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/chain.h"
#include "limen/solve/isotonic.h"
#include "limen/solve/objective.h"
#include "limen/solve/relaxation.h"

namespace limen {

/// A grid and what is wanted of its boundary: what every solver is given. Whatever several of them need is worked out
/// here, once: totals and knapsack at once, hulls and bound when they are first asked for. Safe to share between
/// threads. The grid must outlive it.
class Problem {
 public:
  /// Validates both. Throws InvalidInput.
  Problem(const Grid& grid, const Objective& objective);

  [[nodiscard]] const Grid& grid() const { return grid_; }
  [[nodiscard]] const Objective& objective() const { return objective_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::size_t num_levels() const { return grid_.num_levels(); }

  /// The objective as one knapsack. Unset for kRecall and kFBeta.
  [[nodiscard]] const std::optional<Knapsack>& knapsack() const { return knapsack_; }

  /// concave_blocks of every level.
  [[nodiscard]] const std::vector<std::vector<Block>>& hulls() const { return hull().blocks; }
  /// hull_chain of the grid.
  [[nodiscard]] const Chain& hull_chain() const { return hull().chain; }
  /// Proven bound on the objective value over all boundaries of the grid, from the linear relaxation.
  [[nodiscard]] double relaxation_bound() const;

  // The functions of objective.h for this objective and these totals.
  [[nodiscard]] bool is_feasible(const Counts& flagged) const {
    return limen::is_feasible(objective_, totals_, flagged);
  }
  [[nodiscard]] bool is_better(const Counts& a, const Counts& b) const {
    return limen::is_better(objective_, totals_, a, b);
  }
  [[nodiscard]] double value(const Counts& flagged) const { return objective_value(objective_, totals_, flagged); }

 private:
  struct Hull {
    std::vector<std::vector<Block>> blocks;
    Chain chain;
  };
  [[nodiscard]] const Hull& hull() const;

  const Grid& grid_;
  Objective objective_;
  Totals totals_;
  std::optional<Knapsack> knapsack_;
  mutable std::once_flag hull_made_;
  mutable Hull hull_;
};

}  // namespace limen
