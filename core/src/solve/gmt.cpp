// SPDX-License-Identifier: MIT
//
// GMT, greedy multiple thresholds. With p(i, j) positives and n(i, j) samples in the bin of level i and column j,
// columns counting the score upwards, as printed:
//   pi(i, 0) = nu(i, 0) = 0,   pi(i, j) = pi(i, j-1) + p(i, L-j+1),   nu(i, j) = nu(i, j-1) + n(i, L-j+1)
//   for i = 1 .. K:
//     j* = argmax of pi(i, j) over 0 <= j <= L with pi(i, j) / nu(i, j) >= sigma
//     b(i) = j*                  -- erratum: b(i) = L - j*, the j* highest bins being positive
//
// Here bins run from the highest score down, j is `taken`, and (nu, pi)(i, j) are the Counts of a prefix. sigma may be
// any objective, which each level then meets on its own rows.

#include <algorithm>

#include "limen/solve/solve.h"
#include "solve/certificate.h"

namespace limen {
namespace {

/// The level's own totals. The rounding slack of weighted totals is charged to every level in full, so that levels that
/// each meet a constraint meet it together.
Totals level_totals(const Counts& level, const Totals& totals) {
  const auto reduced = [](std::int64_t own, std::int64_t sum, std::int64_t low) {
    return std::max<std::int64_t>(0, own - (sum - low));
  };
  return {level, reduced(level.positives, totals.all.positives, totals.positives_low),
          reduced(level.rows - level.positives, totals.all.rows - totals.all.positives, totals.negatives_low),
          reduced(level.rows, totals.all.rows, totals.rows_low)};
}

/// j*, the smallest of equally good ones.
std::int32_t best_of_level(std::span<const Bin> bins, const Objective& objective, const Totals& totals) {
  if (totals.all.positives == 0) return 0;
  std::int32_t best = 0;
  Counts best_counts;
  bool found = is_feasible(objective, totals, best_counts);
  Counts prefix;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    prefix += bins[bin].counts;
    if (!is_feasible(objective, totals, prefix)) continue;
    if (found && !is_better(objective, totals, prefix, best_counts)) continue;
    found = true;
    best = static_cast<std::int32_t>(bin + 1);
    best_counts = prefix;
  }
  return best;
}

}  // namespace

Solution solve_gmt(const Problem& problem) {
  std::vector<std::int32_t> taken;
  for (const auto& bins : problem.grid().levels) {
    taken.push_back(best_of_level(bins, problem.objective(), level_totals(total_counts(bins), problem.totals())));
  }
  return detail::with_certificate(problem, std::move(taken), problem.relaxation_bound());
}

}  // namespace limen
