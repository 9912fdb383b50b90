// SPDX-License-Identifier: MIT
#include "limen/selective.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "detail/levels.h"
#include "detail/order_statistics.h"
#include "detail/relaxation.h"
#include "limen/error.h"
#include "limen/isotonic.h"

namespace limen {
namespace {

using detail::Knapsack;
using detail::Linear;
using detail::Relaxation;
using detail::Wide;

constexpr std::size_t kBlock = 1024;

template <typename Real>
using KeyOf = decltype(detail::ordered_key(Real{}));

template <typename Real>
Real value_of_key(KeyOf<Real> key) {
  constexpr KeyOf<Real> kSign = KeyOf<Real>{1} << (8 * sizeof(Real) - 1);
  return std::bit_cast<Real>((key & kSign) != 0 ? key ^ kSign : ~key);
}

/// Rows of one level whose key is in [low, high].
template <typename Key>
struct Bucket {
  Key low;
  Key high;
  Counts counts;
};

/// The buckets of one level from the highest score down. Those from `open_begin` to `open_end` may still hold the end
/// of an optimal boundary; the others are closed: only their ends matter.
template <typename Key>
struct Level {
  std::vector<Bucket<Key>> buckets;
  std::size_t open_begin = 0;
  std::size_t open_end = 0;

  [[nodiscard]] std::int64_t open_rows() const {
    std::int64_t rows = 0;
    for (std::size_t bucket = open_begin; bucket < open_end; ++bucket) rows += buckets[bucket].counts.rows;
    return rows;
  }
  /// Every open bucket is a single value: nothing is left to find out.
  [[nodiscard]] bool resolved() const {
    return std::all_of(buckets.begin() + static_cast<std::ptrdiff_t>(open_begin),
                       buckets.begin() + static_cast<std::ptrdiff_t>(open_end),
                       [](const Bucket<Key>& bucket) { return bucket.low == bucket.high; });
  }
};

template <typename Real>
std::vector<std::uint8_t> levels_of(std::span<const Real> uncertainty, const std::vector<double>& edges) {
  std::vector<Real> rounded;
  for (const double edge : edges) rounded.push_back(detail::round_to<Real>(edge));
  std::vector<std::uint8_t> level(uncertainty.size());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, uncertainty.size(), 16 * kBlock), [&](const auto& range) {
    for (std::size_t begin = range.begin(); begin < range.end(); begin += kBlock) {
      detail::count_edges(uncertainty.data() + begin, std::min(kBlock, range.end() - begin), rounded.data(),
                          rounded.size(), level.data() + begin);
    }
  });
  return level;
}

/// Splits the open range of every level into equal ranges of keys and counts them, one pass over the rows.
template <typename Real>
void split_open_ranges(std::span<const Real> score, std::span<const std::uint8_t> label,
                       const std::vector<std::uint8_t>& level, std::vector<Level<KeyOf<Real>>>& levels) {
  using Key = KeyOf<Real>;
  // All counters of a thread stay in the second-level cache.
  const std::size_t num_buckets = std::clamp<std::size_t>(std::bit_floor(std::size_t{32768} / levels.size()), 64, 8192);
  struct Window {
    Key low = 0;   // of the open range
    Key span = 0;  // high - low
    int shift = 0;
  };
  std::vector<Window> windows(levels.size());
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const Level<Key>& open = levels[at];
    if (open.open_begin == open.open_end) {
      windows[at].low = std::numeric_limits<Key>::max();
      continue;
    }
    Window& window = windows[at];
    window.low = open.buckets[open.open_end - 1].low;
    window.span = open.buckets[open.open_begin].high - window.low;
    while ((window.span >> window.shift) >= num_buckets) ++window.shift;
  }
  // One counter: rows in the low half, positives in the high half; a thread sees fewer than 2^32 rows between flushes.
  tbb::enumerable_thread_specific<std::vector<std::uint64_t>> partial(
      [&] { return std::vector<std::uint64_t>(levels.size() * num_buckets, 0); });
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, score.size(), 64 * kBlock), [&](const auto& range) {
    std::uint64_t* counts = partial.local().data();
    for (std::size_t row = range.begin(); row < range.end(); ++row) {
      const Window& window = windows[level[row]];
      const Key offset = static_cast<Key>(detail::ordered_key(score[row]) - window.low);
      if (offset > window.span) continue;
      counts[level[row] * num_buckets + static_cast<std::size_t>(offset >> window.shift)] +=
          1 + (std::uint64_t{label[row]} << 32);
    }
  });
  std::vector<std::uint64_t> rows(levels.size() * num_buckets, 0);
  std::vector<std::uint64_t> positives(levels.size() * num_buckets, 0);
  for (const std::vector<std::uint64_t>& part : partial) {
    for (std::size_t at = 0; at < part.size(); ++at) {
      rows[at] += part[at] & 0xFFFF'FFFFU;
      positives[at] += part[at] >> 32;
    }
  }
  for (std::size_t at = 0; at < levels.size(); ++at) {
    Level<Key>& open = levels[at];
    if (open.open_begin == open.open_end) continue;
    const Window& window = windows[at];
    std::vector<Bucket<Key>> split;
    for (std::size_t bucket = num_buckets; bucket-- > 0;) {
      const std::size_t cell = at * num_buckets + bucket;
      if (rows[cell] == 0) continue;
      const Key low = static_cast<Key>(window.low + (static_cast<Key>(bucket) << window.shift));
      const Key width = static_cast<Key>((Key{1} << window.shift) - 1);
      split.push_back({low,
                       std::min<Key>(static_cast<Key>(low + width), static_cast<Key>(window.low + window.span)),
                       {static_cast<std::int64_t>(rows[cell]), static_cast<std::int64_t>(positives[cell])}});
    }
    const auto begin = open.buckets.begin() + static_cast<std::ptrdiff_t>(open.open_begin);
    const auto end = open.buckets.begin() + static_cast<std::ptrdiff_t>(open.open_end);
    const auto tail = open.buckets.erase(begin, end);
    open.buckets.insert(tail, split.begin(), split.end());
    open.open_end = open.open_begin + split.size();
  }
}

/// The grid whose bins are the buckets; optimistic: every open bucket's positives come before its negatives.
template <typename Key>
Grid grid_of(const std::vector<Level<Key>>& levels, const std::vector<double>& edges, bool optimistic) {
  Grid grid;
  grid.edges = edges;
  grid.levels.resize(levels.size());
  Counts total;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const Level<Key>& level = levels[at];
    double threshold = 0;  // only the order matters here
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      const Bucket<Key>& from = level.buckets[bucket];
      Counts counts = from.counts;
      total += counts;
      const bool open = bucket >= level.open_begin && bucket < level.open_end && from.low != from.high;
      if (optimistic && open) {
        grid.levels[at].push_back({--threshold, {counts.positives, counts.positives}});
        counts = {counts.rows - counts.positives, 0};
      }
      grid.levels[at].push_back({--threshold, counts});
    }
  }
  grid.positives_low = total.positives;
  grid.negatives_low = total.rows - total.positives;
  grid.rows_low = total.rows;
  return grid;
}

/// Closes the buckets in which no optimal boundary can end. False when no feasible boundary is in sight.
template <typename Key>
bool close_buckets(std::vector<Level<Key>>& levels, const std::vector<double>& edges, const Objective& objective) {
  const Grid coarse = grid_of(levels, edges, false);
  const Totals totals = totals_of(coarse);
  const Solution incumbent = solve_exact(coarse, objective, {.max_states = 100'000});
  if (incumbent.status == SolveStatus::kInfeasible) return false;
  const Knapsack knapsack = detail::make_knapsack(objective, totals);

  // The relaxation of the optimistic grid prices every prefix: direction(prefix), scaled by kappa, is its worth, and
  // bound - profit of any boundary is at least the sum of what its prefixes are worth less than the best of their
  // level.
  const Grid optimistic = grid_of(levels, edges, true);
  const Chain chain = hull_chain(optimistic);
  const Relaxation relaxation = detail::relax(chain, knapsack);
  const Counts vertex = detail::counts_after(chain, relaxation.vertex);
  Linear direction = knapsack.profit;
  double kappa = 1;
  double gap = static_cast<double>(knapsack.profit(vertex) - knapsack.profit(incumbent.flagged));
  if (!relaxation.integral) {
    const double cut_weight = static_cast<double>(knapsack.weight(relaxation.cut));
    direction = {-Wide{relaxation.cut.positives}, Wide{relaxation.cut.rows}};
    kappa = static_cast<double>(knapsack.profit.positives * knapsack.weight.rows -
                                knapsack.weight.positives * knapsack.profit.rows) /
            cut_weight;
    const double mu = static_cast<double>(knapsack.profit(relaxation.cut)) / cut_weight;
    gap += mu * static_cast<double>(knapsack.capacity - knapsack.weight(vertex));
  }
  // Rounding errors are of relative size 1e-15, but of the parts, which can be larger than their difference.
  const double limit = gap + 1e-9 * (std::abs(gap) + static_cast<double>(totals.all.positives) * 1e-3 + 1);

  for (Level<Key>& level : levels) {
    Wide best = 0;
    Counts prefix;
    std::vector<Wide> corner(level.buckets.size());  // the most that a boundary ending in this bucket is worth
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      const Counts& counts = level.buckets[bucket].counts;
      const bool open = bucket >= level.open_begin && bucket < level.open_end;
      prefix += counts;
      corner[bucket] = direction(prefix);
      if (open) {
        corner[bucket] = std::max(corner[bucket], direction(prefix - Counts{counts.rows - counts.positives, 0}));
      }
      best = std::max(best, corner[bucket]);
    }
    const auto survives = [&](std::size_t bucket) {
      return kappa * static_cast<double>(best - corner[bucket]) <= limit;
    };
    while (level.open_begin < level.open_end && !survives(level.open_begin)) ++level.open_begin;
    while (level.open_begin < level.open_end && !survives(level.open_end - 1)) --level.open_end;
  }
  return true;
}

/// The final grid: closed buckets as they are, the rows of the open ones collected and sorted.
template <typename Real>
Grid resolve(std::span<const Real> score, std::span<const std::uint8_t> label, const std::vector<std::uint8_t>& level,
             const std::vector<Level<KeyOf<Real>>>& levels, const std::vector<double>& edges) {
  using Key = KeyOf<Real>;
  struct Window {
    Key low = std::numeric_limits<Key>::max();
    Key span = 0;
  };
  std::vector<Window> windows(levels.size());
  bool collect = false;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const Level<Key>& open = levels[at];
    if (open.open_begin == open.open_end || open.resolved()) continue;
    windows[at].low = open.buckets[open.open_end - 1].low;
    windows[at].span = open.buckets[open.open_begin].high - windows[at].low;
    collect = true;
  }
  using Sides = std::vector<std::array<std::vector<Key>, 2>>;  // keys by level and class
  tbb::enumerable_thread_specific<Sides> partial([&] { return Sides(levels.size()); });
  if (collect) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, score.size(), 64 * kBlock), [&](const auto& range) {
      Sides& sides = partial.local();
      for (std::size_t row = range.begin(); row < range.end(); ++row) {
        const Window& window = windows[level[row]];
        const Key key = detail::ordered_key(score[row]);
        if (static_cast<Key>(key - window.low) <= window.span && key >= window.low) {
          sides[level[row]][label[row]].push_back(key);
        }
      }
    });
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
    for (std::size_t bucket = 0; bucket < from.open_begin; ++bucket)
      add(from.buckets[bucket].low, from.buckets[bucket].counts);
    if (from.resolved()) {
      for (std::size_t bucket = from.open_begin; bucket < from.open_end; ++bucket) {
        add(from.buckets[bucket].low, from.buckets[bucket].counts);
      }
    } else {
      std::array<std::vector<Key>, 2> keys;
      for (const Sides& sides : partial) {
        for (const std::size_t side : {0, 1}) {
          keys[side].insert(keys[side].end(), sides[at][side].begin(), sides[at][side].end());
        }
      }
      for (auto& side : keys) tbb::parallel_sort(side.begin(), side.end(), std::greater<Key>());
      std::size_t negative = 0;
      std::size_t positive = 0;
      while (negative < keys[0].size() || positive < keys[1].size()) {
        const Key key = std::max(negative < keys[0].size() ? keys[0][negative] : Key{0},
                                 positive < keys[1].size() ? keys[1][positive] : Key{0});
        Counts counts;
        for (; positive < keys[1].size() && keys[1][positive] == key; ++positive) counts += {1, 1};
        for (; negative < keys[0].size() && keys[0][negative] == key; ++negative) ++counts.rows;
        add(key, counts);
      }
    }
    for (std::size_t bucket = from.open_end; bucket < from.buckets.size(); ++bucket) {
      add(from.buckets[bucket].low, from.buckets[bucket].counts);
    }
  });
  const Counts total = total_counts(grid);
  grid.positives_low = total.positives;
  grid.negatives_low = total.rows - total.positives;
  grid.rows_low = total.rows;
  return grid;
}

template <typename Real>
std::optional<Grid> count_selected_in(std::span<const Real> score, const Samples& samples,
                                      const std::vector<double>& edges, const Objective& objective) {
  using Key = KeyOf<Real>;
  const auto range = detail::range_of(score);
  const std::vector<std::uint8_t> level =
      samples.uncertainty.visit([&](auto uncertainty) { return levels_of(uncertainty, edges); });
  std::vector<Level<Key>> levels(edges.size() + 1);
  for (Level<Key>& whole : levels) {
    whole.buckets = {{detail::ordered_key(range.low), detail::ordered_key(range.high), {}}};
    whole.open_end = 1;
  }
  const auto few = static_cast<std::int64_t>(std::max<std::size_t>(score.size() / 32, std::size_t{1} << 12));
  std::int64_t open_rows = static_cast<std::int64_t>(score.size());
  for (;;) {
    split_open_ranges(score, samples.label, level, levels);
    if (!close_buckets(levels, edges, objective)) return std::nullopt;
    std::int64_t now_open = 0;
    bool resolved = true;
    for (const Level<Key>& at : levels) {
      now_open += at.open_rows();
      resolved = resolved && at.resolved();
    }
    // Split again while that helps: sorting what is left costs more than another pass.
    if (resolved || now_open <= few || now_open > open_rows / 2) break;
    open_rows = now_open;
  }
  return resolve(score, samples.label, level, levels, edges);
}

}  // namespace

std::optional<Grid> count_selected(const Samples& samples, const std::vector<double>& edges,
                                   const Objective& objective) {
  if (samples.size() == 0) throw InvalidInput("count_selected: there are no rows");
  if (!samples.weight.empty() || objective.goal == Goal::kRecall || objective.goal == Goal::kFBeta ||
      edges.size() > 254) {
    return std::nullopt;
  }
  return samples.score.visit([&](auto score) { return count_selected_in(score, samples, edges, objective); });
}

}  // namespace limen
