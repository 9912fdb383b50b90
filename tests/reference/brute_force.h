// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/objective.h"

namespace limen::test {

/// The best boundary by trying every one, written from the definitions and nothing else.
struct BruteForce {
  std::vector<std::int32_t> taken;
  Counts flagged;
};

__extension__ using Int = __int128;

/// A fraction with a positive denominator, compared by cross-multiplication. Test grids are small enough for 128 bits.
struct Fraction {
  Int num;
  Int den;
};
inline int compare(const Fraction& a, const Fraction& b) {
  const Int left = a.num * b.den;
  const Int right = b.num * a.den;
  return (left > right) - (left < right);
}

inline bool meets(const Objective& objective, const Grid& grid, const Counts& total, const Counts& flagged) {
  const Int n = flagged.rows;
  const Int tp = flagged.positives;
  const Int num = objective.bound.num;
  const Int den = objective.bound.den;
  const Int all_positives = grid.totals ? grid.totals->positives_low : total.positives;
  const Int all_negatives = grid.totals ? grid.totals->negatives_low : total.rows - total.positives;
  switch (objective.goal) {
    case Goal::kPrecision:
      return n == 0 ? num == 0 : tp * den >= num * n;
    case Goal::kRecall:
      return tp > 0 && (Int{total.positives} - tp) * den <= (den - num) * all_positives;
    case Goal::kFalsePositiveRate:
      return (n - tp) * den <= num * all_negatives;
    case Goal::kFlagRate:
      return n * den <= num * (all_positives + all_negatives);
    case Goal::kCost:
    case Goal::kFBeta:
      return true;
  }
  return false;
}

/// What is maximised.
inline Fraction gain(const Objective& objective, const Counts& total, const Counts& flagged) {
  const Int n = flagged.rows;
  const Int tp = flagged.positives;
  const Int p = total.positives;
  switch (objective.goal) {
    case Goal::kPrecision:
    case Goal::kFalsePositiveRate:
    case Goal::kFlagRate:
      return {tp, 1};
    case Goal::kRecall:
      return {tp, n};
    case Goal::kCost:
      return {-(objective.false_positive_cost.num * objective.false_negative_cost.den * (n - tp) +
                objective.false_negative_cost.num * objective.false_positive_cost.den * (p - tp)),
              1};
    case Goal::kFBeta: {
      const Int b_num = Int{objective.beta.num} * objective.beta.num;
      const Int b_den = Int{objective.beta.den} * objective.beta.den;
      const Int den = b_den * n + b_num * p;
      return den == 0 ? Fraction{0, 1} : Fraction{tp, den};
    }
  }
  return {0, 1};
}

/// Equal values go to fewer rows, then to more rows at the first level that differs, then to fewer bins. Only
/// boundaries that accept(taken) is true of.
template <typename Accept>
std::optional<BruteForce> brute_force(const Grid& grid, const Objective& objective, Accept accept) {
  const Counts total = total_counts(grid);
  std::optional<BruteForce> best;
  std::vector<std::int64_t> best_rows;
  std::vector<std::int32_t> taken(grid.num_levels(), 0);
  for (;;) {
    Counts flagged;
    std::vector<std::int64_t> rows;
    for (std::size_t level = 0; level < grid.num_levels(); ++level) {
      std::int64_t level_rows = 0;
      for (std::int32_t bin = 0; bin < taken[level]; ++bin) {
        flagged += grid.levels[level][static_cast<std::size_t>(bin)].counts;
        level_rows += grid.levels[level][static_cast<std::size_t>(bin)].counts.rows;
      }
      rows.push_back(level_rows);
    }
    if (meets(objective, grid, total, flagged) && accept(taken)) {
      int order = 1;  // of this boundary against the best so far
      if (best) {
        order = compare(gain(objective, total, flagged), gain(objective, total, best->flagged));
        if (order == 0) order = (flagged.rows < best->flagged.rows) - (flagged.rows > best->flagged.rows);
        if (order == 0 && rows != best_rows) order = rows > best_rows ? 1 : -1;
        // Boundaries are tried from fewer bins to more at each level, so the first of equals stays.
      }
      if (order > 0) {
        best = BruteForce{taken, flagged};
        best_rows = rows;
      }
    }
    std::size_t level = 0;
    while (level < grid.num_levels() && taken[level] == static_cast<std::int32_t>(grid.levels[level].size())) {
      taken[level++] = 0;
    }
    if (level == grid.num_levels()) return best;
    ++taken[level];
  }
}

inline std::optional<BruteForce> brute_force(const Grid& grid, const Objective& objective) {
  return brute_force(grid, objective, [](const std::vector<std::int32_t>&) { return true; });
}

}  // namespace limen::test
