// SPDX-License-Identifier: MIT
//
// EW-DPMT, the paper's dynamic programme for bins of equal size. With p(i, j) positives in the bin of level i = 1 .. K
// and column j = 1 .. L, columns counting the score upwards, as printed:
//   pi(i, j) = sum of p(i, j') over j' = L-j+1 .. L                positives of the j highest bins (a prefix sum)
//   R(1, m)  = pi(1, m)
//   R(i, m)  = max over 0 <= j <= L of [ pi(i, j) + R(i-1, m-j) ]  most positives of a boundary over levels 1 .. i with
//                                                                  exactly m bins flagged
//   m*       = argmax of R(K, m) over 0 <= m <= KL with (KL / (m N)) R(K, m) >= sigma;  N: samples in all
//   b*       = the boundary behind R(K, m*)
//
// Here:
// - Bins run from the highest score down, so that pi(i, j) sums the first j of them.
// - The programme starts from R(0, 0) = 0 instead of R(1, .), and the boundary is traced back through the rows of R
//   instead of being stored in each of its cells.
// - Bins of real data are only nearly equal (equal scores stay together). The size of a prefix is then its samples in
//   average bins, rounded, and a boundary counts only if its true counts meet the objective.
// - Levels have only the prefixes that can matter (prefix_ranges.h), and the maximum over j is vectorised
//   (ew_dpmt_kernel.h).

#include <algorithm>
#include <string>

#include "limen/base/error.h"
#include "limen/solve/solve.h"
#include "solve/certificate.h"
#include "solve/ew_dpmt_kernel.h"
#include "solve/prefix_ranges.h"

namespace limen {
namespace {

using detail::kUnreachable;
using detail::PrefixRange;
using detail::Row;
using detail::Wide;

/// pi(i, .) of one level by size, the size of a prefix being a whole number of nominal bins.
template <typename Count>
struct Prefixes {
  std::size_t first_size = 0;       ///< sizes are counted from here
  std::vector<Count> pi;            ///< most positives of a prefix of this size; kUnreachable where there is none
  std::vector<std::int32_t> taken;  ///< the bins of that prefix
};

template <typename Count>
Prefixes<Count> measure_prefixes(std::span<const Bin> bins, const PrefixRange& range, const Counts& total,
                                 std::size_t num_bins) {
  // Size of a prefix = rows / (total rows / number of bins), rounded; equal bins give exactly j.
  // A division of 128 bits costs ten times one of 64, and is rarely needed.
  const bool fits_64_bits = total.rows < (std::int64_t{1} << 60) / static_cast<std::int64_t>(num_bins);
  const auto size_of = [&](std::int64_t rows) {
    if (fits_64_bits) {
      return static_cast<std::size_t>((2 * rows * static_cast<std::int64_t>(num_bins) + total.rows) / (2 * total.rows));
    }
    return static_cast<std::size_t>((2 * Wide{rows} * static_cast<std::int64_t>(num_bins) + total.rows) /
                                    (2 * Wide{total.rows}));
  };
  Prefixes<Count> prefixes;
  prefixes.pi.reserve(range.last - range.first + 2 + detail::kTile);
  prefixes.taken.reserve(range.last - range.first + 2);
  Counts prefix = total_counts(bins.first(range.first));
  prefixes.first_size = size_of(prefix.rows);
  for (std::size_t j = range.first;; ++j) {
    const std::size_t size = size_of(prefix.rows) - prefixes.first_size;
    if (size >= prefixes.pi.size()) {
      prefixes.pi.resize(size + 1, kUnreachable<Count>);
      prefixes.taken.resize(size + 1, 0);
    }
    if (static_cast<Count>(prefix.positives) > prefixes.pi[size]) {
      prefixes.pi[size] = static_cast<Count>(prefix.positives);
      prefixes.taken[size] = static_cast<std::int32_t>(j);
    }
    if (j == range.last) return prefixes;
    prefix += bins[j].counts;
  }
}

/// Bins with rows, and whether they all hold equally many.
struct BinSizes {
  std::size_t num_bins = 0;
  bool equal = true;
};

BinSizes measure_bins(const Grid& grid) {
  BinSizes sizes;
  std::int64_t rows = 0;
  for (const auto& bins : grid.levels) {
    for (const Bin& bin : bins) {
      if (bin.counts.rows == 0) continue;
      ++sizes.num_bins;
      if (rows == 0) rows = bin.counts.rows;
      sizes.equal = sizes.equal && bin.counts.rows == rows;
    }
  }
  return sizes;
}

/// R(0, .) .. R(K, .) and the prefixes that they were made from.
template <typename Count>
struct Programme {
  std::vector<Prefixes<Count>> prefixes;
  std::vector<Row<Count>> rows;
  std::size_t first_size = 0;  ///< sum over the levels: m is counted from here

  /// The boundary behind R(K, m): from the last level down, the smallest j that attains the maximum, so that ties go to
  /// the lower levels.
  [[nodiscard]] std::vector<std::int32_t> boundary(std::size_t m) const {
    std::vector<std::int32_t> taken(prefixes.size(), 0);
    for (std::size_t level = prefixes.size(); level-- > 0;) {
      const Row<Count>& before = rows[level];
      const std::vector<Count>& pi = prefixes[level].pi;
      std::size_t j = m > before.max_bins() ? m - before.max_bins() : 0;
      while (pi[j] < 0 || before[m - j] < 0 || pi[j] + before[m - j] != rows[level + 1][m]) ++j;
      taken[level] = prefixes[level].taken[j];
      m -= j;
    }
    return taken;
  }
};

template <typename Count>
Programme<Count> run_programme(const Problem& problem, std::size_t num_bins) {
  const std::vector<PrefixRange> ranges = detail::useful_prefixes(problem);
  Programme<Count> programme;
  programme.rows.emplace_back(0);
  programme.rows[0][0] = 0;
  for (std::size_t level = 0; level < problem.num_levels(); ++level) {
    programme.prefixes.push_back(
        measure_prefixes<Count>(problem.grid().levels[level], ranges[level], problem.totals().all, num_bins));
    programme.first_size += programme.prefixes.back().first_size;
    // R(i, m) = max over j of [ pi(i, j) + R(i-1, m-j) ]
    programme.rows.push_back(detail::next_row(programme.rows.back(), programme.prefixes.back().pi));
  }
  return programme;
}

template <typename Count>
Solution solve_with(const Problem& problem) {
  const Grid& grid = problem.grid();
  const BinSizes sizes = measure_bins(grid);
  if (sizes.num_bins == 0) {
    return detail::with_certificate(problem, std::vector<std::int32_t>(grid.num_levels(), 0), problem.value({}));
  }
  const Programme<Count> programme = run_programme<Count>(problem, sizes.num_bins);

  // Sizes of unequal bins are rounded, by half a bin a level at most: an m whose R(K, m) would not do even with the
  // fewest rows that leaves is passed over, any other boundary is judged by its true counts.
  const Wide rounding = sizes.equal ? 0 : static_cast<std::int64_t>(grid.num_levels());
  const auto fewest_rows = [&](std::size_t m) {
    const Wide halves = 2 * Wide{static_cast<std::int64_t>(m + programme.first_size)} - rounding;
    const Wide rows = halves * problem.totals().all.rows / (2 * static_cast<std::int64_t>(sizes.num_bins));
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(rows));
  };

  // m* = argmax of R(K, m) over the m that meet the objective
  const Row<Count>& last = programme.rows.back();
  std::optional<Counts> best;
  std::vector<std::int32_t> best_taken(grid.num_levels(), 0);
  for (std::size_t m = last.max_bins() + 1; m-- > 0;) {
    if (last[m] < 0) continue;  // no boundary has this size
    const std::int64_t positives = last[m];
    const Counts optimistic{std::max(fewest_rows(m), positives), positives};
    if (!problem.is_feasible(optimistic) || (best && !problem.is_better(optimistic, *best))) continue;
    std::vector<std::int32_t> taken = programme.boundary(m);
    const Counts flagged = flagged_counts(grid, taken);
    if (!problem.is_feasible(flagged) || (best && !problem.is_better(flagged, *best))) continue;
    best = flagged;
    best_taken = std::move(taken);
  }
  if (!best) return detail::infeasible_solution(problem);
  // On equal bins the programme is exhaustive and its own proof.
  return detail::with_certificate(problem, std::move(best_taken),
                                  sizes.equal ? problem.value(*best) : problem.relaxation_bound());
}

}  // namespace

Solution solve_ew_dpmt(const Problem& problem) {
  std::size_t num_bins = 0;
  for (const auto& bins : problem.grid().levels) num_bins += bins.size();
  constexpr std::size_t kMaxCells = std::size_t{1} << 31;
  if (num_bins * problem.num_levels() > kMaxCells) {
    throw InvalidInput("ew-dpmt",
                       std::to_string(num_bins) + " bins are too many for its table; use fewer bins, or method exact");
  }
  const bool fits_32_bits = problem.totals().all.positives < -std::int64_t{kUnreachable<std::int32_t>};
  return fits_32_bits ? solve_with<std::int32_t>(problem) : solve_with<std::int64_t>(problem);
}

}  // namespace limen
