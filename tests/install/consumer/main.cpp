// SPDX-License-Identifier: MIT
#include <cstdio>

#include "limen/solve/solve.h"

int main() {
  const limen::Grid grid = limen::make_grid({{9}}, {{10}});
  const auto solution = limen::solve_exact({grid, limen::max_recall_at_precision(limen::parse_rational("0.9"))});
  std::printf("%ld of %ld\n", static_cast<long>(solution.flagged.positives), static_cast<long>(solution.flagged.rows));
}
