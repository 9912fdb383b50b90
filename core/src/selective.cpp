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
#include "detail/uncertainty_ranks.h"
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

/// A piece of the rows: `size` scores, labels and levels.
template <typename Real>
struct Piece {
  const Real* score;
  const std::uint8_t* label;
  const std::uint8_t* level;
  std::size_t size;
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

/// Calls `visit` with pieces of the rows, from several threads at once.
template <typename Real, typename Visit>
void scan_pieces(std::span<const Real> score, std::span<const std::uint8_t> label,
                 const std::vector<std::uint8_t>& level, const Visit& visit) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, score.size(), 64 * kBlock), [&](const auto& range) {
    const std::size_t begin = range.begin();
    visit(Piece<Real>{score.data() + begin, label.data() + begin, level.data() + begin, range.size()});
  });
}

/// Rows in memory; their levels are worked out once.
template <typename RealType>
struct RowsInMemory {
  using Real = RealType;
  static constexpr std::size_t kCounters = std::size_t{1} << 15;  // of a thread: they stay in the second-level cache
  std::span<const Real> score;
  std::span<const std::uint8_t> label;
  std::vector<std::uint8_t> level;

  template <typename Visit>
  void scan(const Visit& visit) const {
    scan_pieces(score, label, level, visit);
  }
};

/// Rows that come in batches, anew at every scan. Both precisions are read in double.
struct RowsInBatches {
  using Real = double;
  static constexpr std::size_t kCounters = std::size_t{1} << 19;  // a pass reads files again: better fewer of them
  const SampleBatches& batches;
  const std::vector<double>& edges;

  template <typename Visit>
  void scan(const Visit& visit) const {
    std::vector<double> wide;
    batches([&](const Samples& samples) {
      const std::vector<std::uint8_t> level =
          samples.uncertainty.visit([&](auto uncertainty) { return levels_of(uncertainty, edges); });
      samples.score.visit([&](auto score) {
        wide.assign(score.begin(), score.end());
        scan_pieces(std::span<const double>(wide), samples.label, level, visit);
      });
    });
  }
};

/// Splits the open range of every level into equal ranges of keys and counts them, one pass over the rows.
template <typename Rows>
void split_open_ranges(const Rows& rows_of, std::vector<Level<KeyOf<typename Rows::Real>>>& levels) {
  using Real = typename Rows::Real;
  using Key = KeyOf<Real>;
  const std::size_t num_buckets =
      std::clamp<std::size_t>(std::bit_floor(Rows::kCounters / levels.size()), 1024, std::size_t{1} << 16);
  struct Window {
    Key low = 0;   // of the open range
    Key span = 0;  // high - low
    int shift = 0;
  };
  std::vector<Window> windows(levels.size());
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const Level<Key>& open = levels[at];
    if (open.open_begin == open.open_end) {
      windows[at].low = std::numeric_limits<Key>::max();  // only a NaN has this key
      continue;
    }
    Window& window = windows[at];
    window.low = open.buckets[open.open_end - 1].low;
    window.span = open.buckets[open.open_begin].high - window.low;
    while ((window.span >> window.shift) >= num_buckets) ++window.shift;
  }
  // One counter: rows in the low half, positives in the high half, moved on before either can overflow.
  struct Counters {
    std::vector<std::uint64_t> packed;
    std::vector<std::uint64_t> rows;
    std::vector<std::uint64_t> positives;
    std::size_t since_moved = 0;

    void move_on() {
      for (std::size_t at = 0; at < packed.size(); ++at) {
        rows[at] += packed[at] & 0xFFFF'FFFFU;
        positives[at] += packed[at] >> 32;
      }
      std::fill(packed.begin(), packed.end(), 0);
      since_moved = 0;
    }
  };
  const std::size_t num_cells = levels.size() * num_buckets;
  tbb::enumerable_thread_specific<Counters> partial([&] {
    return Counters{std::vector<std::uint64_t>(num_cells, 0), std::vector<std::uint64_t>(num_cells, 0),
                    std::vector<std::uint64_t>(num_cells, 0), 0};
  });
  rows_of.scan([&](const Piece<Real>& piece) {
    Counters& counters = partial.local();
    if (counters.since_moved > (std::size_t{1} << 31)) counters.move_on();
    counters.since_moved += piece.size;
    std::uint64_t* counts = counters.packed.data();
    for (std::size_t row = 0; row < piece.size; ++row) {
      const std::size_t level = piece.level[row];
      const Window& window = windows[level];
      const Key offset = static_cast<Key>(detail::ordered_key(piece.score[row]) - window.low);
      if (offset > window.span) continue;
      counts[level * num_buckets + static_cast<std::size_t>(offset >> window.shift)] +=
          1 + (std::uint64_t{piece.label[row]} << 32);
    }
  });
  std::vector<std::uint64_t> rows(num_cells, 0);
  std::vector<std::uint64_t> positives(num_cells, 0);
  for (Counters& part : partial) {
    part.move_on();
    for (std::size_t at = 0; at < num_cells; ++at) {
      rows[at] += part.rows[at];
      positives[at] += part.positives[at];
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

/// Closes the buckets in which no optimal boundary can end.
template <typename Key>
void close_buckets(std::vector<Level<Key>>& levels, const std::vector<double>& edges, const Objective& objective) {
  const Grid coarse = grid_of(levels, edges, false);
  const Totals totals = totals_of(coarse);
  // Where no boundary between buckets meets a precision bound, its flagged counts are 0: as good as any feasible one at
  // worst.
  const Solution incumbent = solve_exact(coarse, objective, {.max_states = 100'000});
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
}

/// Keys of rows with how many of each there are, kept short: equal keys are pooled whenever the list has doubled.
template <typename Key>
class KeyCounts {
 public:
  void add(Key key, std::uint8_t label) {
    entries_.push_back({key, {1, label}});
    if (entries_.size() >= pool_at_) pool();
  }
  void add(const KeyCounts& other) { entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end()); }
  /// From the highest key down, each once.
  const std::vector<std::pair<Key, Counts>>& pooled() {
    pool();
    return entries_;
  }

 private:
  void pool() {
    tbb::parallel_sort(entries_.begin(), entries_.end(),
                       [](const auto& a, const auto& b) { return a.first > b.first; });
    std::size_t kept = 0;
    for (const auto& entry : entries_) {
      if (kept > 0 && entries_[kept - 1].first == entry.first) {
        entries_[kept - 1].second += entry.second;
      } else {
        entries_[kept++] = entry;
      }
    }
    entries_.resize(kept);
    pool_at_ = std::max(std::size_t{1} << 22, 2 * kept);
  }

  std::vector<std::pair<Key, Counts>> entries_;
  std::size_t pool_at_ = std::size_t{1} << 22;
};

/// The final grid: closed buckets as they are, the rows of the open ones collected and sorted.
template <typename Rows>
Grid resolve(const Rows& rows_of, const std::vector<Level<KeyOf<typename Rows::Real>>>& levels,
             const std::vector<double>& edges) {
  using Real = typename Rows::Real;
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
  using Collected = std::vector<KeyCounts<Key>>;  // one per level
  tbb::enumerable_thread_specific<Collected> partial([&] { return Collected(levels.size()); });
  if (collect) {
    rows_of.scan([&](const Piece<Real>& piece) {
      Collected& collected = partial.local();
      for (std::size_t row = 0; row < piece.size; ++row) {
        const Window& window = windows[piece.level[row]];
        const Key key = detail::ordered_key(piece.score[row]);
        if (static_cast<Key>(key - window.low) <= window.span) collected[piece.level[row]].add(key, piece.label[row]);
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
    const auto add_buckets = [&](std::size_t begin, std::size_t end) {
      for (std::size_t bucket = begin; bucket < end; ++bucket)
        add(from.buckets[bucket].low, from.buckets[bucket].counts);
    };
    add_buckets(0, from.open_begin);
    if (from.resolved()) {
      add_buckets(from.open_begin, from.open_end);
    } else {
      KeyCounts<Key> keys;
      for (const Collected& collected : partial) keys.add(collected[at]);
      for (const auto& [key, counts] : keys.pooled()) add(key, counts);
    }
    add_buckets(from.open_end, from.buckets.size());
  });
  const Counts total = total_counts(grid);
  grid.positives_low = total.positives;
  grid.negatives_low = total.rows - total.positives;
  grid.rows_low = total.rows;
  return grid;
}

template <typename Rows>
Grid select(const Rows& rows_of, std::size_t num_rows, detail::Range<typename Rows::Real> range,
            const std::vector<double>& edges, const Objective& objective) {
  using Key = KeyOf<typename Rows::Real>;
  std::vector<Level<Key>> levels(edges.size() + 1);
  for (Level<Key>& whole : levels) {
    whole.buckets = {{detail::ordered_key(range.low), detail::ordered_key(range.high), {}}};
    whole.open_end = 1;
  }
  const auto few = static_cast<std::int64_t>(std::max<std::size_t>(num_rows / 32, std::size_t{1} << 12));
  // Each pass takes at least ten bits off the width of every open range, so that after a few all are single values.
  constexpr int kMostPasses = 8;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    split_open_ranges(rows_of, levels);
    close_buckets(levels, edges, objective);
    std::int64_t now_open = 0;
    bool resolved = true;
    for (const Level<Key>& at : levels) {
      now_open += at.open_rows();
      resolved = resolved && at.resolved();
    }
    // While many rows are open, another pass costs less than collecting and sorting them.
    if (resolved || now_open <= few) break;
  }
  return resolve(rows_of, levels, edges);
}

bool is_selectable(const Objective& objective, const std::vector<double>& edges) {
  return objective.goal != Goal::kRecall && objective.goal != Goal::kFBeta && edges.size() <= 254;
}

}  // namespace

std::optional<Grid> count_selected(const Samples& samples, const std::vector<double>& edges,
                                   const Objective& objective) {
  if (samples.size() == 0) throw InvalidInput("count_selected: there are no rows");
  if (!samples.weight.empty() || !is_selectable(objective, edges)) return std::nullopt;
  return samples.score.visit([&](auto score) -> std::optional<Grid> {
    using Real = typename decltype(score)::value_type;
    RowsInMemory<Real> rows{score, samples.label, {}};
    rows.level = samples.uncertainty.visit([&](auto uncertainty) { return levels_of(uncertainty, edges); });
    return select(rows, score.size(), detail::range_of(score), edges, objective);
  });
}

BatchOverview look_through(const SampleBatches& batches, int levels) {
  BatchOverview overview;
  detail::Range<double> scores;
  detail::UncertaintyRanks ranks;
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
    ranks.count(samples.uncertainty);
  });
  overview.lowest_score = scores.low;
  overview.highest_score = scores.high;
  if (levels > 1 && overview.rows > 0) {
    ranks.want(detail::quantile_ranks(overview.rows, levels));
    batches([&](const Samples& samples) { ranks.collect(samples.uncertainty); });
    overview.edges = ranks.edges();
  }
  return overview;
}

std::optional<Grid> count_selected(const SampleBatches& batches, const BatchOverview& overview,
                                   const Objective& objective) {
  if (overview.rows == 0) throw InvalidInput("count_selected: there are no rows");
  if (!is_selectable(objective, overview.edges)) return std::nullopt;
  return select(RowsInBatches{batches, overview.edges}, overview.rows, {overview.lowest_score, overview.highest_score},
                overview.edges, objective);
}

}  // namespace limen
