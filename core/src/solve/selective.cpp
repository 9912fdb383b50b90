// SPDX-License-Identifier: MIT
#include "limen/solve/selective.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "count/score_buckets.h"
#include "count/strided_sample.h"
#include "count/uncertainty_ranks.h"
#include "limen/base/error.h"
#include "limen/solve/solve.h"

namespace limen {
namespace {

using detail::Bucket;
using detail::CopiedRows;
using detail::KeyOf;
using detail::kNoCell;
using detail::Level;
using detail::RowsInMemory;
using detail::value_of_key;
using detail::Wide;

/// Rows that come in batches, anew at every scan. Both precisions are read in double.
struct RowsInBatches {
  using Real = double;
  const SampleBatches& batches;
  const std::vector<double>& edges;

  template <typename Visit>
  void scan(const Visit& visit) const {
    std::vector<double> wide;
    batches([&](const Samples& samples) {
      const UninitializedVector<std::uint8_t> level =
          samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, edges); });
      samples.score.visit([&](auto score) {
        wide.assign(score.begin(), score.end());
        detail::scan_pieces(std::span<const double>(wide), samples.label, level, visit);
      });
    });
  }
};

/// The same rows without their levels.
template <typename Rows>
struct InOneLevel {
  using Real = typename Rows::Real;
  const Rows& rows_of;

  template <typename Visit>
  void scan(const Visit& visit) const {
    rows_of.scan([&](const detail::Piece<Real>& piece) {
      const std::vector<std::uint8_t> level(piece.size, 0);
      visit(detail::Piece<Real>{piece.score, piece.label, level.data(), piece.size});
    });
  }
};

/// Buckets of several levels, cut at the same keys, as those of one.
template <typename Key>
Level<Key> in_one_level(const std::vector<Level<Key>>& levels) {
  std::vector<Bucket<Key>> buckets;
  for (const Level<Key>& level : levels) buckets.insert(buckets.end(), level.buckets.begin(), level.buckets.end());
  std::sort(buckets.begin(), buckets.end(), [](const auto& a, const auto& b) { return a.low > b.low; });
  Level<Key> together;
  for (const Bucket<Key>& bucket : buckets) {
    if (!together.buckets.empty() && together.buckets.back().low == bucket.low) {
      together.buckets.back().counts += bucket.counts;
    } else {
      together.buckets.push_back(bucket);
    }
  }
  together.open_end = together.buckets.size();
  return together;
}

/// The keys of the open ranges of all levels that are not resolved.
template <typename Key>
class OpenRanges {
 public:
  explicit OpenRanges(const std::vector<Level<Key>>& levels) : ranges_(levels.size()) {
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const Level<Key>& level = levels[at];
      if (level.resolved()) continue;
      ranges_[at].low = level.buckets[level.open_end - 1].low;
      ranges_[at].span = level.buckets[level.open_begin].high - ranges_[at].low;
      lowest_ = std::min(lowest_, ranges_[at].low);
      highest_ = std::max(highest_, level.buckets[level.open_begin].high);
    }
  }
  [[nodiscard]] bool any() const { return lowest_ <= highest_; }
  /// Over all levels.
  [[nodiscard]] Key lowest() const { return lowest_; }
  [[nodiscard]] Key highest() const { return highest_; }
  [[nodiscard]] bool holds(std::size_t level, Key key) const {
    return static_cast<Key>(key - ranges_[level].low) <= ranges_[level].span;
  }
  [[nodiscard]] Key low(std::size_t level) const { return ranges_[level].low; }
  [[nodiscard]] Key span(std::size_t level) const { return ranges_[level].span; }

 private:
  struct OpenRange {
    Key low = std::numeric_limits<Key>::max();  // only a NaN has this key
    Key span = 0;
  };
  std::vector<OpenRange> ranges_;
  Key lowest_ = std::numeric_limits<Key>::max();
  Key highest_ = 0;
};

/// Splits the open range of every level into equal ranges of keys and counts them, one pass over the rows.
template <typename Rows>
void split_open_ranges(const Rows& rows_of, std::vector<Level<KeyOf<typename Rows::Real>>>& levels) {
  using Key = KeyOf<typename Rows::Real>;
  // All counters of a thread stay in the second-level cache.
  const std::size_t num_buckets =
      std::clamp<std::size_t>(std::bit_floor((std::size_t{1} << 14) / levels.size()), 1024, std::size_t{1} << 13);
  const OpenRanges<Key> open(levels);
  std::vector<int> shift(levels.size(), 0);
  for (std::size_t at = 0; at < levels.size(); ++at) {
    while ((open.span(at) >> shift[at]) >= num_buckets) ++shift[at];
  }
  const std::vector<Counts> counts =
      detail::count_cells(rows_of, levels.size() * num_buckets, [&](std::size_t level, Key key) {
        return open.holds(level, key)
                   ? level * num_buckets +
                         static_cast<std::size_t>(static_cast<Key>(key - open.low(level)) >> shift[level])
                   : kNoCell;
      });
  for (std::size_t at = 0; at < levels.size(); ++at) {
    Level<Key>& level = levels[at];
    if (level.resolved()) continue;
    std::vector<Bucket<Key>> split;
    for (std::size_t bucket = num_buckets; bucket-- > 0;) {
      const Counts& cell = counts[at * num_buckets + bucket];
      if (cell.rows == 0) continue;
      const Key low = static_cast<Key>(open.low(at) + (static_cast<Key>(bucket) << shift[at]));
      const Key width = static_cast<Key>((Key{1} << shift[at]) - 1);
      split.push_back(
          {low, std::min<Key>(static_cast<Key>(low + width), static_cast<Key>(open.low(at) + open.span(at))), cell});
    }
    const auto begin = level.buckets.begin() + static_cast<std::ptrdiff_t>(level.open_begin);
    const auto end = level.buckets.begin() + static_cast<std::ptrdiff_t>(level.open_end);
    const auto tail = level.buckets.erase(begin, end);
    level.buckets.insert(tail, split.begin(), split.end());
    level.open_end = level.open_begin + split.size();
  }
}

/// Copies the rows of the open ranges, those of `single` (no level, or one of all rows) as well.
template <typename Rows>
CopiedRows<typename Rows::Real> copy_open_rows(const Rows& rows_of,
                                               const std::vector<Level<KeyOf<typename Rows::Real>>>& levels,
                                               const std::vector<Level<KeyOf<typename Rows::Real>>>& single) {
  using Real = typename Rows::Real;
  using Key = KeyOf<Real>;
  const OpenRanges<Key> open(levels);
  const OpenRanges<Key> open_single(single);
  if (!open.any() && !open_single.any()) return {};
  const detail::Range<Real> range{value_of_key<Real>(std::min(open.lowest(), open_single.lowest())),
                                  value_of_key<Real>(std::max(open.highest(), open_single.highest()))};
  if (!open_single.any()) {
    return detail::copy_rows(rows_of, range, [&](std::size_t level, Key key) { return open.holds(level, key); });
  }
  return detail::copy_rows(
      rows_of, range, [&](std::size_t level, Key key) { return open.holds(level, key) || open_single.holds(0, key); });
}

/// The grid whose bins are the buckets; optimistic: every open bucket's positives come before its negatives.
template <typename Key>
Grid grid_of(const std::vector<Level<Key>>& levels, const std::vector<double>& edges, bool optimistic) {
  Grid grid;
  grid.edges = edges;
  grid.levels.resize(levels.size());
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const Level<Key>& level = levels[at];
    double threshold = 0;  // only the order matters here
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      const Bucket<Key>& from = level.buckets[bucket];
      Counts counts = from.counts;
      if (optimistic && level.is_split_further(bucket)) {
        grid.levels[at].push_back({--threshold, {counts.positives, counts.positives}});
        counts = {counts.rows - counts.positives, 0};
      }
      grid.levels[at].push_back({--threshold, counts});
    }
  }
  return grid;
}

/// Closes the buckets in which no optimal boundary can end.
template <typename Key>
void close_buckets(std::vector<Level<Key>>& levels, const std::vector<double>& edges, const Objective& objective) {
  const Grid coarse = grid_of(levels, edges, false);
  const Problem problem(coarse, objective);
  // Where no boundary between buckets meets a precision bound, its flagged counts are 0: as good as any feasible one at
  // worst.
  const Solution incumbent = solve_exact(problem, {.max_states = 100'000});
  const Knapsack& knapsack = *problem.knapsack();

  // The relaxation of the optimistic grid prices every prefix, and bound - profit of any boundary is at least the sum
  // of the losses of its prefixes.
  const Chain chain = hull_chain(grid_of(levels, edges, true));
  const Relaxation relaxation = relax(chain, knapsack);
  const Prices prices = prices_of(chain, knapsack, relaxation);
  const Counts vertex = counts_after(chain, relaxation.vertex);
  const double gap = prices.gap + static_cast<double>(knapsack.profit(vertex) - knapsack.profit(incumbent.flagged));
  // Rounding errors are of relative size 1e-15, but of the parts, which can be larger than their difference.
  const double limit = gap + 1e-9 * (std::abs(gap) + static_cast<double>(problem.totals().all.positives) * 1e-3 + 1);

  for (Level<Key>& level : levels) {
    Wide best = 0;
    Counts prefix;
    std::vector<Wide> corner(level.buckets.size());  // the most that a boundary ending in this bucket is worth
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      const Counts& counts = level.buckets[bucket].counts;
      const bool open = level.is_split_further(bucket);
      prefix += counts;
      corner[bucket] = prices.direction(prefix);
      if (open) {
        corner[bucket] = std::max(corner[bucket], prices.direction(prefix - Counts{counts.rows - counts.positives, 0}));
      }
      best = std::max(best, corner[bucket]);
    }
    const auto survives = [&](std::size_t bucket) {
      return prices.kappa * static_cast<double>(best - corner[bucket]) <= limit;
    };
    while (level.open_begin < level.open_end && !survives(level.open_begin)) ++level.open_begin;
    while (level.open_begin < level.open_end && !survives(level.open_end - 1)) --level.open_end;
  }
}

/// The final grid: closed buckets as they are, the rows of the open ones sorted.
template <typename Real>
Grid resolve(const CopiedRows<Real>& rows, const std::vector<Level<KeyOf<Real>>>& levels,
             const std::vector<double>& edges) {
  using Key = KeyOf<Real>;
  const OpenRanges<Key> open(levels);
  using LabelledKey = std::pair<Key, std::uint8_t>;
  std::vector<std::vector<LabelledKey>> keys(levels.size());
  for (std::size_t row = 0; row < rows.score.size(); ++row) {
    const Key key = detail::ordered_key(rows.score[row]);
    if (open.holds(rows.level[row], key)) keys[rows.level[row]].emplace_back(key, rows.label[row]);
  }
  Grid grid;
  grid.edges = edges;
  grid.levels.resize(levels.size());
  tbb::parallel_for(std::size_t{0}, levels.size(), [&](std::size_t at) {
    const Level<Key>& from = levels[at];
    std::vector<Bin>& bins = grid.levels[at];
    const auto add = [&](Key key, const Counts& counts) {
      bins.push_back({static_cast<double>(value_of_key<Real>(key)), counts});
    };
    const auto add_buckets = [&](std::size_t begin, std::size_t end) {
      for (std::size_t bucket = begin; bucket < end; ++bucket) {
        add(from.buckets[bucket].low, from.buckets[bucket].counts);
        bins.back().highest = static_cast<double>(value_of_key<Real>(from.buckets[bucket].high));
      }
    };
    add_buckets(0, from.open_begin);
    if (from.resolved()) {
      add_buckets(from.open_begin, from.open_end);
    } else {
      tbb::parallel_sort(keys[at].begin(), keys[at].end(), std::greater<LabelledKey>());
      for (std::size_t row = 0; row < keys[at].size();) {
        const Key key = keys[at][row].first;
        Counts counts;
        for (; row < keys[at].size() && keys[at][row].first == key; ++row) counts += {1, keys[at][row].second};
        add(key, counts);
      }
    }
    add_buckets(from.open_end, from.buckets.size());
  });
  return grid;
}

template <typename Key>
std::size_t open_rows(const std::vector<Level<Key>>& levels) {
  std::int64_t rows = 0;
  for (const Level<Key>& level : levels) rows += level.resolved() ? 0 : level.open_rows();
  return static_cast<std::size_t>(rows);
}

/// Splits and closes until at most `few` rows are open, or at most `bearable` and a pass closes less than half of them.
template <typename Rows>
void narrow(const Rows& rows_of, std::size_t few, std::size_t bearable,
            std::vector<Level<KeyOf<typename Rows::Real>>>& levels, const std::vector<double>& edges,
            const Objective& objective) {
  // Each pass takes at least ten bits off the width of every open range, so that after a few all are single values.
  constexpr int kMostPasses = 8;
  std::size_t open = open_rows(levels);
  for (int pass = 0; pass < kMostPasses && open > few; ++pass) {
    split_open_ranges(rows_of, levels);
    close_buckets(levels, edges, objective);
    const std::size_t still_open = open_rows(levels);
    if (still_open <= bearable && still_open > open / 2) return;
    open = still_open;
  }
}

/// Sorting so few rows, and solving on as many bins, is cheaper than looking for the buckets that matter among them.
constexpr std::size_t kFewToSort = std::size_t{1} << 16;
/// And so many where looking closes few of them.
constexpr std::size_t kBearableToSort = std::size_t{1} << 18;

/// sample: keys of some rows. few_to_copy: rows that there is memory for. Without `with_single` that grid is empty.
template <typename Rows>
SelectedGrids select(const Rows& rows_of, detail::Range<typename Rows::Real> range,
                     const std::vector<KeyOf<typename Rows::Real>>& sample, std::size_t few_to_copy,
                     const std::vector<double>& edges, const Objective& objective, bool with_single) {
  using Key = KeyOf<typename Rows::Real>;
  const std::size_t num_levels = edges.size() + 1;
  const std::size_t num_buckets =
      std::clamp<std::size_t>((std::size_t{1} << 14) / num_levels, 512, std::size_t{1} << 12);
  const detail::KeyMap<Key> map(detail::ordered_key(range.low), detail::ordered_key(range.high), sample, num_buckets);
  std::vector<Level<Key>> levels = detail::count_in_buckets(rows_of, num_levels, map);
  std::vector<Level<Key>> single;
  if (with_single) {
    single.push_back(in_one_level(levels));
    close_buckets(single, {}, objective);
    narrow(InOneLevel<Rows>{rows_of}, few_to_copy, few_to_copy, single, {}, objective);
  }
  close_buckets(levels, edges, objective);
  narrow(rows_of, few_to_copy, few_to_copy, levels, edges, objective);

  // From here on only the copied rows are looked at.
  CopiedRows<typename Rows::Real> copied = copy_open_rows(rows_of, levels, single);
  narrow(copied, kFewToSort, kBearableToSort, levels, edges, objective);
  SelectedGrids selected{resolve(copied, levels, edges), {}};
  if (with_single) {
    std::fill(copied.level.begin(), copied.level.end(), std::uint8_t{0});
    narrow(copied, kFewToSort, kBearableToSort, single, {}, objective);
    selected.single = resolve(copied, single, {});
  }
  return selected;
}

constexpr std::size_t kSampleSize = detail::StridedSample<double>::kMost;
/// Of rows in batches, as many are copied as take about 40 MB; for a single threshold beside, as many again.
constexpr std::size_t kMostCopied = std::size_t{1} << 22;

bool is_selectable(const Objective& objective, const std::vector<double>& edges) {
  return objective.goal != Goal::kRecall && objective.goal != Goal::kFBeta && edges.size() <= 254;
}

std::optional<SelectedGrids> select(const Samples& samples, const std::vector<double>& edges,
                                    const Objective& objective, bool with_single) {
  if (samples.size() == 0) throw InvalidInput("count_selected: there are no rows");
  if (!samples.weight.empty() || !is_selectable(objective, edges)) return std::nullopt;
  return samples.score.visit([&](auto score) {
    using Real = typename decltype(score)::value_type;
    RowsInMemory<Real> rows{score, samples.label, {}};
    rows.level = samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, edges); });
    const auto sample = detail::sample_keys(score, kSampleSize);
    return select(rows, detail::range_of(score), sample, score.size() / 5, edges, objective, with_single);
  });
}

std::optional<SelectedGrids> select(const SampleBatches& batches, const BatchOverview& overview,
                                    const Objective& objective, bool with_single) {
  if (overview.rows == 0) throw InvalidInput("count_selected: there are no rows");
  if (!is_selectable(objective, overview.edges)) return std::nullopt;
  const auto sample = detail::sample_keys(std::span<const double>(overview.score_sample), kSampleSize);
  return select(RowsInBatches{batches, overview.edges}, {overview.lowest_score, overview.highest_score}, sample,
                kMostCopied, overview.edges, objective, with_single);
}

std::optional<Grid> boundary_of(std::optional<SelectedGrids> selected) {
  return selected ? std::optional(std::move(selected->boundary)) : std::nullopt;
}

}  // namespace

std::optional<Grid> count_selected(const Samples& samples, const std::vector<double>& edges,
                                   const Objective& objective) {
  return boundary_of(select(samples, edges, objective, false));
}

std::optional<SelectedGrids> count_selected_and_single(const Samples& samples, const std::vector<double>& edges,
                                                       const Objective& objective) {
  return select(samples, edges, objective, true);
}

BatchOverview look_through(const SampleBatches& batches, int levels) {
  BatchOverview overview;
  detail::Range<double> scores;
  detail::UncertaintyRanks ranks(levels);
  detail::StridedSample<double> sample;
  batches([&](const Samples& samples) {
    validate(samples);
    if (!samples.weight.empty()) throw InvalidInput("fit_boundary: rows in batches cannot have weights");
    overview.rows += samples.size();
    for (const std::uint8_t label : samples.label) overview.positives += label;
    samples.score.visit([&](auto score) {
      const auto range = detail::range_of(score);
      scores.low = std::min(scores.low, static_cast<double>(range.low));
      scores.high = std::max(scores.high, static_cast<double>(range.high));
    });
    sample.add(samples.size(), [&](std::size_t row) { return samples.score[row]; });
    if (levels > 1) ranks.add(samples.uncertainty);
  });
  overview.lowest_score = scores.low;
  overview.highest_score = scores.high;
  overview.score_sample = sample.values();
  if (levels > 1 && overview.rows > 0) {
    while (!ranks.end_pass()) {
      batches([&](const Samples& samples) { ranks.add(samples.uncertainty); });
    }
    overview.edges = ranks.edges();
  }
  return overview;
}

std::optional<Grid> count_selected(const SampleBatches& batches, const BatchOverview& overview,
                                   const Objective& objective) {
  return boundary_of(select(batches, overview, objective, false));
}

std::optional<SelectedGrids> count_selected_and_single(const SampleBatches& batches, const BatchOverview& overview,
                                                       const Objective& objective) {
  return select(batches, overview, objective, true);
}

}  // namespace limen
