// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/multiversion.h"
#include "limen/solve/solve.h"
#include "solve/relaxation.h"

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

/// A range of prefixes of one level, j = first .. last bins.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Ranges of the prefixes that can be part of a boundary of weight <= capacity, weight = per_row * rows +
/// per_positive * positives. Int: wide enough for the weight of all rows.
template <typename Int>
std::vector<Range> ranges_within(const Grid& grid, Int per_row, Int per_positive, Int capacity) {
  std::vector<Range> ranges(grid.num_levels());
  Int least_sum = 0;
  std::vector<Int> least(grid.num_levels(), 0);
  std::size_t num_prefixes = 0;
  for (const auto& bins : grid.levels) num_prefixes += bins.size();
  std::vector<Int> weights(num_prefixes);  // of all prefixes but the empty ones, level after level
  Int* next = weights.data();
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    Int weight = 0;
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      const Counts& counts = grid.levels[level][bin].counts;
      weight += per_row * counts.rows + per_positive * counts.positives;
      *next++ = weight;
      if (weight < least[level]) {
        least[level] = weight;
        ranges[level].first = bin + 1;
      }
    }
    least_sum += least[level];
  }
  const Int* weight = weights.data();
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const Int allowed = capacity - (least_sum - least[level]);
    std::size_t last = grid.levels[level].size();
    while (last > ranges[level].first && weight[last - 1] > allowed) --last;
    ranges[level].last = last;
    weight += grid.levels[level].size();
  }
  return ranges;
}

/// The prefixes of each level that an optimal boundary can have. Under a bound on precision it is never better to stop
/// before the prefix of least weight (the paper's lemma of the contiguous high-precision region, and a little more);
/// under any bound, a prefix that all other levels together cannot make up for is out.
std::vector<Range> useful_ranges(const Grid& grid, const Objective& objective, const Totals& totals) {
  if (objective.goal != Goal::kPrecision && objective.goal != Goal::kFalsePositiveRate &&
      objective.goal != Goal::kFlagRate) {
    std::vector<Range> ranges;
    for (const auto& bins : grid.levels) ranges.push_back({0, bins.size()});
    return ranges;
  }
  const detail::Knapsack knapsack = detail::make_knapsack(objective, totals);
  const Wide per_row = knapsack.weight.rows;
  const Wide per_positive = knapsack.weight.positives;
  constexpr Wide kNarrow = Wide{1} << 61;
  if ((per_row - per_positive) * totals.all.rows < kNarrow && knapsack.capacity < kNarrow) {
    return ranges_within(grid, static_cast<std::int64_t>(per_row), static_cast<std::int64_t>(per_positive),
                         static_cast<std::int64_t>(knapsack.capacity));
  }
  return ranges_within(grid, per_row, per_positive, knapsack.capacity);
}

/// pi(i, .) of one level by size, the size of a prefix being a whole number of nominal bins.
template <typename Count>
struct Prefixes {
  std::size_t first_size = 0;       ///< sizes are counted from here
  std::vector<Count> pi;            ///< most positives of a prefix of this size; kUnreachable where there is none
  std::vector<std::int32_t> taken;  ///< the bins of that prefix
};

template <typename Count>
Prefixes<Count> measure_prefixes(std::span<const Bin> bins, const Range& range, const Counts& total,
                                 std::size_t num_bins) {
  // Size of a prefix = rows / (total rows / number of bins), rounded; equal bins give exactly j.
  // A division of 128 bits costs ten times one of 64, and is rarely needed.
  const bool narrow = total.rows < (std::int64_t{1} << 60) / static_cast<std::int64_t>(num_bins);
  const auto size_of = [&](std::int64_t rows) {
    if (narrow) {
      return static_cast<std::size_t>((2 * rows * static_cast<std::int64_t>(num_bins) + total.rows) / (2 * total.rows));
    }
    return static_cast<std::size_t>((2 * Wide{rows} * static_cast<std::int64_t>(num_bins) + total.rows) /
                                    (2 * Wide{total.rows}));
  };
  Prefixes<Count> prefixes;
  prefixes.pi.reserve(range.last - range.first + 2 + kTile);
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

template <typename Count>
Solution solve_with(const Grid& grid, const Objective& objective, const Totals& totals) {
  const BinSizes sizes = measure_bins(grid);
  const std::size_t num_bins = sizes.num_bins;
  if (num_bins == 0) {
    return detail::certify(grid, objective, std::vector<std::int32_t>(grid.num_levels(), 0),
                           objective_value(objective, totals, {}));
  }
  const std::vector<Range> ranges = useful_ranges(grid, objective, totals);
  std::vector<Prefixes<Count>> prefixes;
  std::vector<Row<Count>> rows;
  rows.emplace_back(0);
  rows[0][0] = 0;
  std::size_t first_size = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    prefixes.push_back(measure_prefixes<Count>(grid.levels[level], ranges[level], totals.all, num_bins));
    rows.push_back(next_row(rows.back(), prefixes.back().pi));
    first_size += prefixes.back().first_size;
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

  // Sizes of unequal bins are rounded, by half a bin a level at most: an m whose R(K, m) would not do even with the
  // fewest rows that leaves is passed over, any other boundary is judged by its true counts.
  const Wide rounding = sizes.equal ? 0 : static_cast<std::int64_t>(grid.num_levels());
  const auto fewest_rows = [&](std::size_t m) {
    const Wide halves = 2 * Wide{static_cast<std::int64_t>(m + first_size)} - rounding;
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
  // On equal bins the programme is exhaustive and its own proof.
  const double bound = sizes.equal ? objective_value(objective, totals, *best) : relaxation_bound(grid, objective);
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
  const Totals totals = totals_of(grid);
  if (totals.all.positives < -std::int64_t{kUnreachable<std::int32_t>}) {
    return solve_with<std::int32_t>(grid, objective, totals);
  }
  return solve_with<std::int64_t>(grid, objective, totals);
}

}  // namespace limen
