// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "limen/base/rational.h"
#include "limen/count/grid.h"
#include "limen/solve/objective.h"

namespace limen::test {

/// Named shapes of small grids, each a corner that a boundary solver can get wrong.
inline const std::vector<std::string>& grid_shapes() {
  static const std::vector<std::string> shapes = {"uniform",      "equal_bins",    "empty_bins", "empty_levels",
                                                  "all_positive", "none_positive", "few_values", "staircase",
                                                  "one_level",    "one_bin",       "weighted",   "lumpy"};
  return shapes;
}

struct RandomGrid {
  Grid grid;
  std::string shape;
  bool equal_bins = false;
  bool weighted = false;
};

/// A random grid of at most 4 levels and 5 bins of the named shape.
inline RandomGrid make_random_grid(const std::string& shape, std::mt19937_64& random) {
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  };
  std::int64_t num_levels = 1 + below(4);
  std::int64_t num_bins = 1 + below(5);
  if (shape == "one_level") num_levels = 1;
  if (shape == "one_bin") num_bins = 1;
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(num_levels));
  std::vector<std::vector<std::int64_t>> positives(static_cast<std::size_t>(num_levels));
  const std::int64_t equal = 1 + below(12);
  for (std::size_t level = 0; level < rows.size(); ++level) {
    const bool empty_level = shape == "empty_levels" && below(2) == 0;
    for (std::int64_t bin = 0; bin < num_bins; ++bin) {
      std::int64_t n = 1 + below(12);
      if (shape == "equal_bins") n = equal;
      if (shape == "empty_bins" && below(2) == 0) n = 0;
      if (shape == "few_values") n = 1 + below(2);
      if (shape == "weighted") n = below(std::int64_t{1} << (1 + below(48)));
      if (shape == "lumpy") n = below(4) == 0 ? 100 + below(100) : below(4);
      if (empty_level) n = 0;
      std::int64_t p = below(n + 1);
      if (shape == "all_positive") p = n;
      if (shape == "none_positive") p = 0;
      if (shape == "staircase") p = n * (num_bins - bin) / (num_bins + 1 + static_cast<std::int64_t>(level));
      rows[level].push_back(n);
      positives[level].push_back(p);
    }
  }
  RandomGrid result{make_grid(positives, rows), shape, shape == "equal_bins", shape == "weighted"};
  if (result.weighted) {
    // Totals rounded down by a few units, as weights that are no multiples of the unit make them.
    result.grid.unit = 0.25;
    const Counts sum = total_counts(result.grid);
    const std::int64_t negatives = sum.rows - sum.positives;
    RowTotals totals;
    totals.positives_low = sum.positives - std::min(sum.positives, below(3));
    totals.negatives_low = negatives - std::min(negatives, below(3));
    result.grid.totals = totals;
  }
  return result;
}

/// Small fractions and the two ends, each often.
inline Rational random_bound(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return {0, 1};
    case 1:
      return {1, 1};
    case 2:
      return parse_rational("0.9");
    default: {
      const auto den = static_cast<std::int64_t>(1 + random() % 20);
      const auto num = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(den + 1));
      const std::int64_t divisor = std::gcd(num, den);
      return {num / divisor, den / divisor};
    }
  }
}

/// One objective of every goal, with random numbers.
inline std::vector<Objective> random_objectives(std::mt19937_64& random) {
  const auto small = [&] { return Rational{static_cast<std::int64_t>(1 + random() % 5), 1}; };
  Rational beta{static_cast<std::int64_t>(1 + random() % 4), 2};
  if (beta.num % 2 == 0) beta = {beta.num / 2, 1};
  return {max_recall_at_precision(random_bound(random)),
          max_precision_at_recall(random_bound(random)),
          max_recall_at_false_positive_rate(random_bound(random)),
          max_recall_at_flag_rate(random_bound(random)),
          min_cost(small(), small()),
          max_f_beta(beta)};
}

}  // namespace limen::test
