// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <string>

#include "detail/multiversion.h"
#include "detail/relaxation.h"
#include "limen/error.h"
#include "limen/solve.h"

namespace limen {
namespace {

using detail::Wide;

/// Unrolled bins per pass over a row of R: one load and one store of R(i, .) serve this many bins j.
constexpr std::size_t kTile = 8;

/// Low enough to lose every comparison, high enough not to overflow when a count is added.
template <typename Count>
constexpr Count kUnreachable = std::numeric_limits<Count>::min() / 2;

/// next[m] = max(next[m], gain[t] + previous[m - t]) for t = 0 .. kTile - 1 and m = 0 .. size - 1.
/// previous[-kTile + 1 .. size - 1] is readable.
LIMEN_MULTIVERSION void relax_tile(const std::int32_t* gain, const std::int32_t* previous, std::int32_t* next,
                                   std::size_t size) {
  for (std::size_t m = 0; m < size; ++m) {
    std::int32_t best = next[m];
    for (std::size_t t = 0; t < kTile; ++t)
      best = std::max(best, gain[t] + (previous + m)[-static_cast<std::ptrdiff_t>(t)]);
    next[m] = best;
  }
}

LIMEN_MULTIVERSION void relax_tile(const std::int64_t* gain, const std::int64_t* previous, std::int64_t* next,
                                   std::size_t size) {
  for (std::size_t m = 0; m < size; ++m) {
    std::int64_t best = next[m];
    for (std::size_t t = 0; t < kTile; ++t)
      best = std::max(best, gain[t] + (previous + m)[-static_cast<std::ptrdiff_t>(t)]);
    next[m] = best;
  }
}

/// R(i, .) of one level: R[m], m = 0 .. size of all bins up to this level, with kTile unreachable cells on either side.
template <typename Count>
class Row {
 public:
  explicit Row(std::size_t max_bins) : cells_(max_bins + 1 + 2 * kTile, kUnreachable<Count>), max_bins_(max_bins) {}
  [[nodiscard]] std::size_t max_bins() const { return max_bins_; }
  Count& operator[](std::size_t m) { return cells_[m + kTile]; }
  const Count& operator[](std::size_t m) const { return cells_[m + kTile]; }
  Count* data() { return cells_.data() + kTile; }
  [[nodiscard]] const Count* data() const { return cells_.data() + kTile; }

 private:
  std::vector<Count> cells_;
  std::size_t max_bins_;
};

/// pi(i, .) of one level by size: the prefixes of this level, each as large as a whole number of nominal bins.
template <typename Count>
struct Prefixes {
  std::vector<Count> pi;            ///< most positives of a prefix of this size; kUnreachable where there is none
  std::vector<std::int32_t> taken;  ///< the bins of that prefix
};

template <typename Count>
Prefixes<Count> measure_prefixes(std::span<const Bin> bins, const Counts& total, std::size_t num_bins) {
  // Size of a prefix = rows / (total rows / number of bins), rounded; equal bins give exactly j.
  const auto size_of = [&](std::int64_t rows) {
    return static_cast<std::size_t>((2 * Wide{rows} * static_cast<std::int64_t>(num_bins) + total.rows) /
                                    (2 * Wide{total.rows}));
  };
  Prefixes<Count> prefixes{{0}, {0}};
  Counts prefix;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    prefix += bins[bin].counts;
    const std::size_t size = size_of(prefix.rows);
    if (size >= prefixes.pi.size()) {
      prefixes.pi.resize(size + 1, kUnreachable<Count>);
      prefixes.taken.resize(size + 1, 0);
    }
    if (static_cast<Count>(prefix.positives) > prefixes.pi[size]) {
      prefixes.pi[size] = static_cast<Count>(prefix.positives);
      prefixes.taken[size] = static_cast<std::int32_t>(bin + 1);
    }
  }
  return prefixes;
}

template <typename Count>
Row<Count> next_row(const Row<Count>& previous, std::vector<Count> pi) {
  const std::size_t num_bins = pi.size() - 1;
  Row<Count> next(previous.max_bins() + num_bins);
  while (pi.size() % kTile != 0) pi.push_back(kUnreachable<Count>);
  // R(i, m) = max_j [ pi(i, j) + R(i-1, m-j) ], kTile values of j at a time; m runs as far as previous is padded.
  for (std::size_t j = 0; j < pi.size(); j += kTile) {
    const std::size_t size =
        std::min(previous.max_bins() + kTile, next.max_bins() + 1 - std::min(j, next.max_bins() + 1));
    relax_tile(pi.data() + j, previous.data(), next.data() + j, size);
  }
  return next;
}

template <typename Count>
Solution solve_with(const Grid& grid, const Objective& objective) {
  const double bound = relaxation_bound(grid, objective);
  const Totals totals = totals_of(grid);
  std::size_t num_bins = 0;
  for (const auto& bins : grid.levels) {
    for (const Bin& bin : bins) num_bins += bin.counts.rows > 0 ? 1 : 0;
  }
  if (num_bins == 0) return detail::certify(grid, objective, std::vector<std::int32_t>(grid.num_levels(), 0), bound);
  std::vector<Prefixes<Count>> prefixes;
  std::vector<Row<Count>> rows;
  rows.emplace_back(0);
  rows[0][0] = 0;
  for (const auto& bins : grid.levels) {
    prefixes.push_back(measure_prefixes<Count>(bins, totals.all, num_bins));
    rows.push_back(next_row(rows.back(), prefixes.back().pi));
  }
  const Row<Count>& last = rows.back();

  // The boundary behind R(K, m): from the last level down, the smallest j that attains the maximum, so that ties go to
  // the lower levels.
  const auto trace = [&](std::size_t m) {
    std::vector<std::int32_t> taken(grid.num_levels(), 0);
    for (std::size_t level = grid.num_levels(); level-- > 0;) {
      const Row<Count>& before = rows[level];
      const std::vector<Count>& pi = prefixes[level].pi;
      std::size_t j = m > before.max_bins() ? m - before.max_bins() : 0;
      while (pi[j] < 0 || before[m - j] < 0 || pi[j] + before[m - j] != rows[level + 1][m]) ++j;
      taken[level] = prefixes[level].taken[j];
      m -= j;
    }
    return taken;
  };

  // Sizes are rounded, by half a bin a level at most: an m whose R(K, m) would not do even with the fewest rows that
  // leaves is passed over, any other boundary is judged by its true counts.
  const auto fewest_rows = [&](std::size_t m) {
    const Wide halves = 2 * Wide{static_cast<std::int64_t>(m)} - static_cast<std::int64_t>(grid.num_levels());
    return std::max<std::int64_t>(
        0, static_cast<std::int64_t>(halves * totals.all.rows / (2 * static_cast<std::int64_t>(num_bins))));
  };

  std::optional<Counts> best;
  std::vector<std::int32_t> best_taken(grid.num_levels(), 0);
  for (std::size_t m = last.max_bins() + 1; m-- > 0;) {
    if (last[m] < 0) continue;  // no boundary has this size
    const std::int64_t positives = last[m];
    const Counts optimistic{std::max(fewest_rows(m), positives), positives};
    if (!is_feasible(objective, totals, optimistic)) continue;
    if (best && !is_better(objective, totals, optimistic, *best)) continue;
    std::vector<std::int32_t> taken = trace(m);
    const Counts flagged = flagged_counts(grid, taken);
    if (!is_feasible(objective, totals, flagged)) continue;
    if (best && !is_better(objective, totals, flagged, *best)) continue;
    best = flagged;
    best_taken = std::move(taken);
  }
  if (!best) return detail::infeasible_solution(grid, objective);
  return detail::certify(grid, objective, std::move(best_taken), bound);
}

}  // namespace

Solution solve_ew_dpmt(const Grid& grid, const Objective& objective) {
  validate(grid);
  validate(objective);
  std::size_t num_bins = 0;
  for (const auto& bins : grid.levels) num_bins += bins.size();
  constexpr std::size_t kMaxCells = std::size_t{1} << 31;
  if (num_bins * grid.num_levels() > kMaxCells) {
    throw InvalidInput("ew-dpmt: " + std::to_string(num_bins) +
                       " bins are too many for its table; use fewer bins, or method exact");
  }
  if (total_counts(grid).positives < -std::int64_t{kUnreachable<std::int32_t>}) {
    return solve_with<std::int32_t>(grid, objective);
  }
  return solve_with<std::int64_t>(grid, objective);
}

}  // namespace limen
