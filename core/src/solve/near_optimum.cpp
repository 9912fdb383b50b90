// SPDX-License-Identifier: MIT
#include "limen/solve/near_optimum.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "count/batch_rows.h"
#include "count/counting.h"
#include "count/distinct_bins.h"
#include "count/engine.h"
#include "limen/base/error.h"
#include "limen/solve/problem.h"
#include "limen/solve/relaxation.h"
#include "limen/solve/solve.h"

namespace limen {
namespace {

using detail::CollectedRows;
using detail::KeyMap;
using detail::KeyOf;
using detail::kNoCell;
using detail::value_of_key;
using detail::Wide;

/// Rows of one level whose key is in [low, high].
template <typename Key>
struct Bucket {
  Key low;
  Key high;
  Counts counts;
};

/// The buckets of one level that hold rows, from the highest score down. Those from `open_begin` to `open_end` may
/// still hold the end of an optimal boundary; the others are closed: only their ends matter.
template <typename Key>
struct LevelBuckets {
  std::vector<Bucket<Key>> buckets;
  std::size_t open_begin = 0;
  std::size_t open_end = 0;

  /// Whether a boundary may end inside this bucket. Bound and worth of a boundary must agree on this.
  [[nodiscard]] bool is_divisible(std::size_t bucket) const {
    return bucket >= open_begin && bucket < open_end && buckets[bucket].low != buckets[bucket].high;
  }
  /// Rows of the open buckets; none when each of these is a single value, so that nothing is left to find out.
  [[nodiscard]] std::size_t open_rows() const {
    std::int64_t rows = 0;
    bool divisible = false;
    for (std::size_t bucket = open_begin; bucket < open_end; ++bucket) {
      rows += buckets[bucket].counts.rows;
      divisible |= is_divisible(bucket);
    }
    return divisible ? static_cast<std::size_t>(rows) : 0;
  }
};

template <typename Key>
using Levels = std::vector<LevelBuckets<Key>>;

template <typename Key>
std::size_t open_rows(const Levels<Key>& levels) {
  std::size_t rows = 0;
  for (const LevelBuckets<Key>& level : levels) rows += level.open_rows();
  return rows;
}

/// Counts all rows in buckets of about equal depth, the same for every level: one pass.
template <typename Rows>
Levels<KeyOf<typename Rows::Real>> count_in_buckets(const Rows& rows, std::size_t num_levels,
                                                    const KeyMap<KeyOf<typename Rows::Real>>& map) {
  using Key = KeyOf<typename Rows::Real>;
  const std::size_t num_buckets = map.num_buckets();
  const std::vector<Counts> counts = detail::count_cells(
      rows, num_levels * num_buckets, [num_buckets, finder = map.finder()](std::size_t level, Key key) {
        return level * num_buckets + finder.bucket_of(key);
      });
  Levels<Key> levels(num_levels);
  for (std::size_t at = 0; at < num_levels; ++at) {
    for (std::size_t bucket = num_buckets; bucket-- > 0;) {
      const Counts& cell = counts[at * num_buckets + bucket];
      if (cell.rows > 0) levels[at].buckets.push_back({map.low(bucket), map.high(bucket), cell});
    }
    levels[at].open_end = levels[at].buckets.size();
  }
  return levels;
}

/// Buckets of several levels, cut at the same keys, as those of one.
template <typename Key>
LevelBuckets<Key> in_one_level(const Levels<Key>& levels) {
  std::vector<Bucket<Key>> buckets;
  for (const auto& level : levels) buckets.insert(buckets.end(), level.buckets.begin(), level.buckets.end());
  std::sort(buckets.begin(), buckets.end(), [](const auto& a, const auto& b) { return a.low > b.low; });
  LevelBuckets<Key> together;
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

/// The same rows without their levels.
template <typename Rows>
struct InOneLevel {
  using Real = typename Rows::Real;
  const Rows& rows;

  template <typename Visit>
  void scan(const Visit& visit) const {
    static constexpr std::array<std::uint16_t, detail::kBlockRows> kNoLevel{};
    rows.scan([&](const detail::Block<Real>& block) {
      visit(detail::Block<Real>{block.value, block.label, kNoLevel.data(), block.size});
    });
  }
};

/// The open keys of every level, if they are not single values each, and what lies next below them.
template <typename Key>
class OpenRanges {
 public:
  explicit OpenRanges(const Levels<Key>& levels) : ranges_(levels.size()) {
    for (std::size_t at = 0; at < levels.size(); ++at) {
      const LevelBuckets<Key>& level = levels[at];
      if (level.open_begin == level.open_end) continue;
      OpenRange& range = ranges_[at];
      range.low = level.buckets[level.open_end - 1].low;
      if (level.open_rows() > 0) range.span = static_cast<Key>(level.buckets[level.open_begin].high - range.low + 1);
      lowest_ =
          std::min(lowest_, level.open_end < level.buckets.size() ? level.buckets[level.open_end].low : range.low);
      highest_ = std::max(highest_, level.buckets[level.open_begin].high);
    }
  }
  /// The open keys of all levels and, for each, the bucket below them.
  [[nodiscard]] Key lowest() const { return lowest_; }
  [[nodiscard]] Key highest() const { return highest_; }
  [[nodiscard]] bool any() const { return lowest_ <= highest_; }
  [[nodiscard]] bool holds(std::size_t level, Key key) const {
    return static_cast<Key>(key - ranges_[level].low) < ranges_[level].span;
  }
  /// The key if it is below the open ones, else 0.
  [[nodiscard]] Key below_or_0(std::size_t level, Key key) const { return key < ranges_[level].low ? key : Key{0}; }

 private:
  struct OpenRange {
    Key low = 0;
    Key span = 0;  // number of open keys
  };
  std::vector<OpenRange> ranges_;
  Key lowest_ = std::numeric_limits<Key>::max();
  Key highest_ = 0;
};

/// Splits every open bucket into equal ranges of keys and counts them: one pass.
template <typename Rows>
void split_open_buckets(const Rows& rows, Levels<KeyOf<typename Rows::Real>>& levels) {
  using Key = KeyOf<typename Rows::Real>;
  std::size_t num_divisible = 0;
  for (const auto& level : levels) {
    for (std::size_t bucket = level.open_begin; bucket < level.open_end; ++bucket) {
      num_divisible += level.is_divisible(bucket) ? 1 : 0;
    }
  }
  // At least two parts each, so that at last every bucket is a single value.
  const std::size_t parts = std::clamp<std::size_t>((std::size_t{1} << 15) / num_divisible, 2, 1024);
  struct Divided {
    detail::EqualRanges<Key> ranges;
    std::size_t first_cell;
  };
  // By rising key; the largest keys lie together, because they are searched for every row.
  std::vector<std::vector<Divided>> divided(levels.size());
  std::vector<std::vector<Key>> highs(levels.size());
  std::size_t num_cells = 0;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    for (std::size_t bucket = levels[at].open_end; bucket-- > levels[at].open_begin;) {
      if (!levels[at].is_divisible(bucket)) continue;
      const Bucket<Key>& from = levels[at].buckets[bucket];
      divided[at].push_back({detail::EqualRanges<Key>(from.low, from.high, parts), num_cells});
      highs[at].push_back(from.high);
      num_cells += divided[at].back().ranges.size();
    }
  }
  const std::vector<Counts> counts = detail::count_cells(rows, num_cells, [&](std::size_t level, Key key) {
    const std::size_t at = detail::num_below(std::span<const Key>(highs[level]), key);
    if (at == highs[level].size()) return kNoCell;
    const Divided& one = divided[level][at];
    return one.ranges.holds(key) ? one.first_cell + one.ranges.at(key) : kNoCell;
  });
  for (std::size_t at = 0; at < levels.size(); ++at) {
    if (divided[at].empty()) continue;
    LevelBuckets<Key>& level = levels[at];
    std::vector<Bucket<Key>> buckets(level.buckets.begin(),
                                     level.buckets.begin() + static_cast<std::ptrdiff_t>(level.open_begin));
    auto next = divided[at].rbegin();
    for (std::size_t bucket = level.open_begin; bucket < level.open_end; ++bucket) {
      if (!level.is_divisible(bucket)) {
        buckets.push_back(level.buckets[bucket]);
        continue;
      }
      for (std::size_t part = next->ranges.size(); part-- > 0;) {
        const Counts& cell = counts[next->first_cell + part];
        if (cell.rows > 0) buckets.push_back({next->ranges.low(part), next->ranges.high(part), cell});
      }
      ++next;
    }
    const std::size_t open_end = buckets.size();
    buckets.insert(buckets.end(), level.buckets.begin() + static_cast<std::ptrdiff_t>(level.open_end),
                   level.buckets.end());
    level.buckets = std::move(buckets);
    level.open_end = open_end;
  }
}

/// The grid whose bins are the buckets; optimistic: every open bucket's positives come before its negatives.
template <typename Key>
Grid bucket_grid(const Levels<Key>& levels, const std::vector<double>& edges, bool optimistic) {
  std::vector<std::vector<Bin>> bins(levels.size());
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const LevelBuckets<Key>& level = levels[at];
    double threshold = 0;  // only the order matters here
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      Counts counts = level.buckets[bucket].counts;
      if (optimistic && level.is_divisible(bucket)) {
        bins[at].push_back({--threshold, {counts.positives, counts.positives}});
        counts = {counts.rows - counts.positives, 0};
      }
      bins[at].push_back({--threshold, counts});
    }
  }
  Grid grid;
  grid.edges = edges;
  grid.levels = std::move(bins);
  return grid;
}

/// A knapsack in which the boundaries that are at least as good as `incumbent` have at least its profit.
Knapsack knapsack_above(const Problem& problem, const Counts& incumbent) {
  if (problem.knapsack()) return *problem.knapsack();
  return problem.objective().goal == Goal::kRecall
             ? make_recall_knapsack(problem.objective(), problem.totals(), incumbent)
             : make_f_beta_knapsack(problem.objective(), problem.totals(), incumbent);
}

/// Closes the buckets in which no optimal boundary can end.
template <typename Key>
void close_buckets(Levels<Key>& levels, const std::vector<double>& edges, const Objective& objective) {
  const Grid coarse = bucket_grid(levels, edges, false);
  const Problem problem(coarse, objective);
  // Where no boundary between buckets meets a precision bound, its flagged counts are 0: as good as any feasible one at
  // worst.
  const Solution incumbent = solve_exact(problem, {.max_states = 20'000});
  const Knapsack knapsack = knapsack_above(problem, incumbent.flagged);

  // The relaxation of the optimistic grid prices every prefix, and bound - profit of any boundary is at least the sum
  // of the losses of its prefixes.
  const Chain chain = hull_chain(bucket_grid(levels, edges, true));
  const Relaxation relaxation = relax(chain, knapsack);
  const Prices prices = prices_of(chain, knapsack, relaxation);
  const Counts vertex = counts_after(chain, relaxation.vertex);
  const double ahead = static_cast<double>(knapsack.profit(vertex) - knapsack.profit(incumbent.flagged));
  // Rounding errors are of relative size 1e-15, but of the parts, which can be larger than their sum.
  const double all = static_cast<double>(knapsack.profit.positives * problem.totals().all.positives);
  const double limit = prices.gap + ahead + 1e-9 * (std::abs(prices.gap) + std::abs(ahead) + all * 1e-3 + 1);

  for (LevelBuckets<Key>& level : levels) {
    Wide best = 0;
    Counts prefix;
    std::vector<Wide> corner(level.buckets.size());  // the most that a boundary ending in this bucket is worth
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      const Counts& counts = level.buckets[bucket].counts;
      prefix += counts;
      corner[bucket] = prices.direction(prefix);
      if (level.is_divisible(bucket)) {
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

/// How many open rows are worth another pass, and how many there is room for.
struct OpenLimit {
  std::size_t few;
  std::size_t most;
};

/// Splits what is open, and closes what can be, until few rows are open, or until splitting closes less than half of
/// them and there is room for all.
template <typename Rows>
void narrow_to(const OpenLimit& limit, const Rows& rows, Levels<KeyOf<typename Rows::Real>>& levels,
               const std::vector<double>& edges, const Objective& objective) {
  for (std::size_t open = open_rows(levels); open > limit.few;) {
    split_open_buckets(rows, levels);
    close_buckets(levels, edges, objective);
    const std::size_t before = std::exchange(open, open_rows(levels));
    if (open > before / 2 && open <= limit.most) return;
  }
}

/// Largest key below the open range of every level, among the rows that were looked at; 0, which is no number's key,
/// where there is none.
template <typename Key>
using KeysBelow = std::vector<Key>;

/// The final grid: closed buckets as they are, the rows of the open ones sorted. below: of the rows that are not among
/// the collected ones.
template <typename Real>
Grid sorted_grid(const CollectedRows<Real>& rows, const Levels<KeyOf<Real>>& levels, KeysBelow<KeyOf<Real>> below,
                 const std::vector<double>& edges, bool by_level) {
  using Key = KeyOf<Real>;
  const OpenRanges<Key> open(levels);
  const auto level_at = [&](std::size_t row) { return by_level ? rows.level[row] : std::uint16_t{0}; };
  UninitializedVector<std::uint32_t> chosen(rows.size() + 1);
  std::size_t num_chosen = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t level = level_at(row);
    const Key key = detail::ordered_key(rows.value[row]);
    below[level] = std::max(below[level], open.below_or_0(level, key));
    chosen[num_chosen] = static_cast<std::uint32_t>(row);
    num_chosen += open.holds(level, key) ? 1 : 0;
  }
  const auto sides = detail::sort_sides<Key>(
      num_chosen, levels.size(), [&](std::size_t at) { return detail::ordered_key(rows.value[chosen[at]]); },
      [&](std::size_t at) { return level_at(chosen[at]); }, [&](std::size_t at) { return rows.label[chosen[at]]; });
  std::vector<std::vector<Bin>> sorted = detail::distinct_bins(sides);
  std::vector<std::vector<Bin>> bins(levels.size());
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const LevelBuckets<Key>& from = levels[at];
    const auto add_buckets = [&](std::size_t begin, std::size_t end) {
      for (std::size_t bucket = begin; bucket < end; ++bucket) {
        const Bucket<Key>& closed = from.buckets[bucket];
        bins[at].push_back({static_cast<double>(value_of_key(closed.low)), closed.counts,
                            static_cast<double>(value_of_key(closed.high))});
      }
    };
    add_buckets(0, from.open_begin);
    if (from.open_rows() > 0) {
      const Counts counted = total_counts(sorted[at]);
      if (counted.rows != static_cast<std::int64_t>(from.open_rows())) {
        throw InvalidInput("fit_boundary", "the rows changed from one pass to the next", Cause::kFileChanged);
      }
      bins[at].insert(bins[at].end(), sorted[at].begin(), sorted[at].end());
    } else {
      add_buckets(from.open_begin, from.open_end);
    }
    add_buckets(from.open_end, from.buckets.size());
    // A threshold lies between two observed scores: the one next below the open range is the only one that can matter.
    if (from.open_begin < from.open_end && from.open_end < from.buckets.size() && below[at] != 0) {
      bins[at][bins[at].size() - (from.buckets.size() - from.open_end)].highest =
          static_cast<double>(value_of_key(below[at]));
    }
  }
  Grid grid;
  grid.edges = edges;
  grid.levels = std::move(bins);
  return grid;
}

/// sample: keys of some rows. Without `with_single` that grid is empty.
template <typename Rows>
NearOptimumGrids find_near_optimum(const Rows& rows, Range<double> range,
                                   std::span<const KeyOf<typename Rows::Real>> sample, const OpenLimit& limit,
                                   const std::vector<double>& edges, const Objective& objective, bool with_single) {
  using Real = typename Rows::Real;
  using Key = KeyOf<Real>;
  const std::size_t num_levels = edges.size() + 1;
  const KeyMap<Key> map(detail::ordered_key(static_cast<Real>(range.low)),
                        detail::ordered_key(static_cast<Real>(range.high)), sample,
                        std::clamp<std::size_t>((std::size_t{1} << 14) / num_levels, 512, 4096));
  Levels<Key> levels = count_in_buckets(rows, num_levels, map);
  Levels<Key> single;
  if (with_single) {
    single.push_back(in_one_level(levels));
    close_buckets(single, {}, objective);
    narrow_to(limit, InOneLevel<Rows>{rows}, single, {}, objective);
  }
  close_buckets(levels, edges, objective);
  narrow_to(limit, rows, levels, edges, objective);

  const OpenRanges<Key> open(levels);
  const OpenRanges<Key> open_single(single);
  struct Below {
    KeysBelow<Key> levels;
    KeysBelow<Key> single;
  };
  tbb::enumerable_thread_specific<Below> parts([&] { return Below{KeysBelow<Key>(num_levels), KeysBelow<Key>(1)}; });
  CollectedRows<Real> collected;
  if (open.any() || open_single.any()) {
    const Range<Real> wanted{value_of_key(std::min(open.lowest(), open_single.lowest())),
                             value_of_key(std::max(open.highest(), open_single.highest()))};
    if (with_single) {
      collected = detail::collect(rows, wanted, [&] {
        return [&, &highest = parts.local()](std::size_t level, Key key) {
          highest.levels[level] = std::max(highest.levels[level], open.below_or_0(level, key));
          highest.single[0] = std::max(highest.single[0], open_single.below_or_0(0, key));
          return open.holds(level, key) || open_single.holds(0, key);
        };
      });
    } else {
      collected = detail::collect(rows, wanted, [&] {
        return [&, &highest = parts.local()](std::size_t level, Key key) {
          highest.levels[level] = std::max(highest.levels[level], open.below_or_0(level, key));
          return open.holds(level, key);
        };
      });
    }
  }
  Below below{KeysBelow<Key>(num_levels), KeysBelow<Key>(1)};
  for (const Below& part : parts) {
    for (std::size_t at = 0; at < num_levels; ++at) below.levels[at] = std::max(below.levels[at], part.levels[at]);
    below.single[0] = std::max(below.single[0], part.single[0]);
  }
  // Among the collected rows another look is cheaper than sorting all of them, and solving on as many bins.
  const OpenLimit few{std::size_t{1} << 16, std::size_t{1} << 18};
  narrow_to(few, collected.rows(), levels, edges, objective);
  if (with_single) narrow_to(few, InOneLevel<detail::RowsInMemory<Real>>{collected.rows()}, single, {}, objective);
  NearOptimumGrids grids{sorted_grid(collected, levels, below.levels, edges, true), {}};
  if (with_single) grids.single = sorted_grid(collected, single, below.single, {}, false);
  return grids;
}

// ---- Rows that are counted where they are ----

using CountedLevels = Levels<std::uint64_t>;
using CountedBucket = Bucket<std::uint64_t>;

CountedBucket bucket_of(const CountCell& cell) {
  return {detail::ordered_key(cell.least), detail::ordered_key(cell.greatest), cell.counts};
}

/// Every open bucket in equal ranges of keys, the same cuts for all levels: one question. Of very many open buckets the
/// largest.
void split_open_buckets(const CountedRows& rows, const std::vector<double>& edges, CountedLevels& levels) {
  struct Wanted {
    std::size_t level;
    std::size_t bucket;
    std::int64_t rows;
  };
  std::vector<Wanted> wanted;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    for (std::size_t bucket = levels[at].open_begin; bucket < levels[at].open_end; ++bucket) {
      if (levels[at].is_divisible(bucket)) wanted.push_back({at, bucket, levels[at].buckets[bucket].counts.rows});
    }
  }
  constexpr std::size_t kMostSplit = detail::kMostCuts / 4;
  if (wanted.size() > kMostSplit) {
    std::ranges::stable_sort(wanted, std::ranges::greater{}, &Wanted::rows);
    wanted.resize(kMostSplit);
  }
  std::vector<std::vector<std::uint8_t>> is_split;
  for (const auto& level : levels) is_split.emplace_back(level.buckets.size(), 0);
  CountQuery query{.group_cuts = edges};
  for (const Wanted& one : wanted) {
    is_split[one.level][one.bucket] = 1;
    const CountedBucket& bucket = levels[one.level].buckets[one.bucket];
    const double low = value_of_key(bucket.low);
    const double high = value_of_key(bucket.high);
    const auto inside = detail::even_cuts(low, high, std::max<std::size_t>(2, detail::kMostCuts / wanted.size()));
    query.value_cuts.push_back(low);
    query.value_cuts.insert(query.value_cuts.end(), inside.begin(), inside.end());
    if (high < std::numeric_limits<double>::max()) query.value_cuts.push_back(detail::next_above(high));
  }
  std::ranges::sort(query.value_cuts);
  query.value_cuts.erase(std::unique(query.value_cuts.begin(), query.value_cuts.end()), query.value_cuts.end());
  const std::vector<CountCell> cells = detail::ask(rows, query);
  auto end = cells.rbegin();  // by level and falling score from here
  for (std::size_t at = levels.size(); at-- > 0;) {
    LevelBuckets<std::uint64_t>& level = levels[at];
    LevelBuckets<std::uint64_t> finer;
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      if (bucket == level.open_begin) finer.open_begin = finer.buckets.size();
      if (bucket == level.open_end) finer.open_end = finer.buckets.size();
      const CountedBucket& from = level.buckets[bucket];
      if (is_split[at][bucket] == 0) {
        finer.buckets.push_back(from);
        continue;
      }
      Counts sum;
      const double low = value_of_key(from.low);
      const double high = value_of_key(from.high);
      while (end != cells.rend() && end->group == at && end->least > high) ++end;
      for (; end != cells.rend() && end->group == at && end->least >= low; ++end) {
        finer.buckets.push_back(bucket_of(*end));
        sum += end->counts;
      }
      if (sum != from.counts) {
        throw InvalidInput("fit_boundary", "the rows changed from one question to the next", Cause::kFileChanged);
      }
    }
    if (level.open_begin == level.buckets.size()) finer.open_begin = finer.buckets.size();
    if (level.open_end == level.buckets.size()) finer.open_end = finer.buckets.size();
    while (end != cells.rend() && end->group == at) ++end;
    level = std::move(finer);
  }
}

Grid find_near_optimum(const CountedRows& rows, const std::vector<double>& edges, const Objective& objective) {
  CountedLevels levels(edges.size() + 1);
  const std::size_t few = detail::kMostValues;
  // Rows that are few are asked for value by value at once.
  const bool at_once = rows.total.rows <= static_cast<std::int64_t>(few);
  CountQuery first{.group_cuts = edges};
  if (at_once) {
    for (std::size_t at = 0; at < levels.size(); ++at) first.spans.push_back({at, rows.score.low, rows.score.high});
  } else {
    first.value_cuts = detail::even_cuts(rows.score.low, rows.score.high, detail::kMostCuts);
  }
  const std::vector<CountCell> cells = detail::ask(rows, first);
  for (auto cell = cells.rbegin(); cell != cells.rend(); ++cell)
    levels[cell->group].buckets.push_back(bucket_of(*cell));
  Counts sum;
  for (const CountCell& cell : cells) sum += cell.counts;
  if (sum != rows.total) {
    throw InvalidInput("fit_boundary",
                       "the counts contradict each other: the rows changed from one question to the next",
                       Cause::kFileChanged);
  }
  for (auto& level : levels) level.open_end = level.buckets.size();
  bool narrowed = at_once;
  if (!narrowed) close_buckets(levels, edges, objective);
  for (std::size_t open = open_rows(levels); !narrowed && open > few;) {
    split_open_buckets(rows, edges, levels);
    close_buckets(levels, edges, objective);
    const std::size_t before = std::exchange(open, open_rows(levels));
    narrowed = open > before / 2 && open <= 4 * few;
  }

  CountQuery query{.group_cuts = edges};
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const auto& level = levels[at];
    if (level.open_rows() == 0) continue;
    query.spans.push_back(
        {at, value_of_key(level.buckets[level.open_end - 1].low), value_of_key(level.buckets[level.open_begin].high)});
  }
  std::vector<std::vector<Bin>> distinct(levels.size());
  if (!query.spans.empty()) {
    const std::vector<CountCell> values = detail::ask(rows, query);
    for (auto cell = values.rbegin(); cell != values.rend(); ++cell) {
      distinct[cell->group].push_back({cell->least, cell->counts});
    }
  }
  Grid grid;
  grid.edges = edges;
  for (std::size_t at = 0; at < levels.size(); ++at) {
    const auto& level = levels[at];
    auto& bins = grid.levels.emplace_back();
    const bool divided = level.open_rows() > 0;
    if (divided && total_counts(distinct[at]).rows != static_cast<std::int64_t>(level.open_rows())) {
      throw InvalidInput("fit_boundary", "the rows changed from one question to the next", Cause::kFileChanged);
    }
    for (std::size_t bucket = 0; bucket < level.buckets.size(); ++bucket) {
      if (divided && bucket == level.open_begin) bins.insert(bins.end(), distinct[at].begin(), distinct[at].end());
      if (divided && bucket >= level.open_begin && bucket < level.open_end) continue;
      const CountedBucket& from = level.buckets[bucket];
      bins.push_back({value_of_key(from.low), from.counts, value_of_key(from.high)});
    }
  }
  return grid;
}

constexpr std::size_t kSampleSize = std::size_t{1} << 15;

/// Whether knapsack_above serves.
bool is_bounded_by_knapsack(const Objective& objective) {
  if (objective.goal == Goal::kRecall) return objective.bound.num > 0;
  return objective.goal != Goal::kFBeta || (objective.beta.num <= 1000 && objective.beta.den <= 1000);
}

std::optional<NearOptimumGrids> find_near_optimum(const Samples& samples, Range<double> scores,
                                                  const std::vector<double>& edges, const Objective& objective,
                                                  bool with_single) {
  if (samples.size() == 0) throw InvalidInput("count_near_optimum", "there are no rows", Cause::kNoRows);
  if (!samples.weight.empty() || !is_bounded_by_knapsack(objective)) return std::nullopt;
  if (samples.size() < detail::kFewRows) {
    return NearOptimumGrids{count_distinct(samples, edges), with_single ? count_distinct(samples, {}) : Grid{}};
  }
  return samples.score.visit([&](auto score) {
    using Real = typename decltype(score)::value_type;
    const auto level =
        samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, edges); });
    const auto sample = detail::sample_keys(score, kSampleSize);
    return find_near_optimum(detail::RowsInMemory<Real>{score, samples.label, level}, scores,
                             std::span<const KeyOf<Real>>(sample), {score.size() / 5, score.size()}, edges, objective,
                             with_single);
  });
}

std::optional<NearOptimumGrids> find_near_optimum(const SampleBatches& batches, const BatchOverview& overview,
                                                  const Objective& objective, std::size_t most_rows, bool with_single) {
  if (overview.rows() == 0) throw InvalidInput("count_near_optimum", "there are no rows", Cause::kNoRows);
  if (!is_bounded_by_knapsack(objective)) return std::nullopt;
  const auto sample = detail::sample_keys(std::span<const double>(overview.score_sample), kSampleSize);
  const detail::RowsInBatches rows{.batches = batches, .fingerprint = overview.fingerprint, .edges = overview.edges};
  return find_near_optimum(rows, {overview.lowest_score, overview.highest_score},
                           std::span<const std::uint64_t>(sample), {most_rows, most_rows}, overview.edges, objective,
                           with_single);
}

std::optional<Grid> boundary_of(std::optional<NearOptimumGrids> grids) {
  return grids ? std::optional(std::move(grids->boundary)) : std::nullopt;
}

}  // namespace

std::optional<Grid> count_near_optimum(const Samples& samples, const SampleRanges& ranges,
                                       const std::vector<double>& edges, const Objective& objective) {
  return boundary_of(find_near_optimum(samples, ranges.score, edges, objective, false));
}

std::optional<NearOptimumGrids> count_near_optimum_and_single(const Samples& samples, const SampleRanges& ranges,
                                                              const std::vector<double>& edges,
                                                              const Objective& objective) {
  return find_near_optimum(samples, ranges.score, edges, objective, true);
}

std::optional<Grid> count_near_optimum(const SampleBatches& batches, const BatchOverview& overview,
                                       const Objective& objective, std::size_t most_rows) {
  return boundary_of(find_near_optimum(batches, overview, objective, most_rows, false));
}

std::optional<NearOptimumGrids> count_near_optimum_and_single(const SampleBatches& batches,
                                                              const BatchOverview& overview, const Objective& objective,
                                                              std::size_t most_rows) {
  return find_near_optimum(batches, overview, objective, most_rows, true);
}

std::optional<Grid> count_near_optimum(const CountedRows& rows, const std::vector<double>& edges,
                                       const Objective& objective) {
  if (rows.total.rows == 0) throw InvalidInput("count_near_optimum", "there are no rows", Cause::kNoRows);
  if (!is_bounded_by_knapsack(objective)) return std::nullopt;
  return find_near_optimum(rows, edges, objective);
}

}  // namespace limen
