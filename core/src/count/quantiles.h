// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "count/engine.h"
#include "limen/base/error.h"
#include "limen/count/shortest_decimal.h"

namespace limen::detail {

/// Ranks (from 0) at which `rows` sorted rows are cut into equal levels; increasing, without repeats.
[[nodiscard]] std::vector<std::size_t> quantile_ranks(std::size_t rows, int levels);

/// A cut between two neighbouring observed values, as keys: `below` < `at`. What was not seen yet is unset.
template <typename Key>
struct Cut {
  Key least;  ///< the cut is at the smallest key that is not below this one
  std::optional<Key> below = std::nullopt;
  std::optional<Key> at = std::nullopt;
};

/// The edge between two levels, of few digits: rows at or above it are in the upper one.
template <typename Key>
double edge_of(const Cut<Key>& cut) {
  return shortest_between(static_cast<double>(value_of_key(*cut.below)), static_cast<double>(value_of_key(*cut.at)));
}

/// Keys from low to high, all of which are looked at because a rank is among them.
template <typename Key>
struct Stretch {
  Key low;
  Key high;
  std::size_t before;  ///< rows with smaller keys
  std::size_t rows;

  [[nodiscard]] bool single_valued() const { return low == high; }
};

/// The cut for a rank, given the sorted keys of the stretch that holds it. A run of equal values around the rank goes
/// to the side that moves fewer rows, to the upper one when both move as many, but never is the lowest side empty.
template <typename Key>
Cut<Key> cut_at(std::size_t rank, const Stretch<Key>& stretch, std::span<const Key> sorted) {
  const Key value = stretch.single_valued() ? stretch.low : sorted[rank - stretch.before];
  std::size_t run_begin = stretch.before;
  std::size_t run_end = stretch.before + stretch.rows;
  std::optional<Key> previous;
  std::optional<Key> next;
  if (!stretch.single_valued()) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    run_begin = stretch.before + static_cast<std::size_t>(first - sorted.begin());
    run_end = stretch.before + static_cast<std::size_t>(last - sorted.begin());
    if (first != sorted.begin()) previous = *std::prev(first);
    if (last != sorted.end()) next = *last;
  }
  const bool run_goes_down = run_begin == 0 || run_end - rank < rank - run_begin;
  if (run_goes_down) return {.least = static_cast<Key>(value + 1), .below = value, .at = next};
  return {.least = value, .below = previous, .at = value};
}

/// Leaves out cuts that have no rows on one side (the last run of equal values went to the lower side), and all but one
/// of those at one place.
template <typename Key>
void drop_needless(std::vector<Cut<Key>>& cuts) {
  std::erase_if(cuts, [](const Cut<Key>& cut) { return !cut.at || !cut.below; });
  cuts.erase(std::unique(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.at == b.at; }),
             cuts.end());
}

/// The cuts of `levels` equal shares of sorted keys.
template <typename Key>
std::vector<Cut<Key>> sorted_cuts(std::span<const Key> sorted, int levels) {
  std::vector<Cut<Key>> cuts;
  if (sorted.empty() || sorted.front() == sorted.back()) return cuts;
  const Stretch<Key> all{sorted.front(), sorted.back(), 0, sorted.size()};
  for (const std::size_t rank : quantile_ranks(sorted.size(), levels)) cuts.push_back(cut_at(rank, all, sorted));
  drop_needless(cuts);
  return cuts;
}

/// Finds the neighbours that are still unknown: one pass.
template <typename Rows>
void find_neighbours(const Rows& rows, std::vector<Cut<KeyOf<typename Rows::Real>>>& cuts) {
  using Key = KeyOf<typename Rows::Real>;
  struct Bounds {
    std::optional<Key> low;
    std::optional<Key> high;
  };
  // Of the keys between two neighbouring cuts.
  tbb::enumerable_thread_specific<std::vector<Bounds>> parts([&] { return std::vector<Bounds>(cuts.size() + 1); });
  rows.scan([&](const Block<typename Rows::Real>& block) {
    std::vector<Bounds>& part = parts.local();
    for (std::size_t row = 0; row < block.size; ++row) {
      const Key key = ordered_key(block.value[row]);
      const auto after =
          std::partition_point(cuts.begin(), cuts.end(), [key](const Cut<Key>& cut) { return cut.least <= key; });
      Bounds& bounds = part[static_cast<std::size_t>(after - cuts.begin())];
      if (!bounds.low || key < *bounds.low) bounds.low = key;
      if (!bounds.high || key > *bounds.high) bounds.high = key;
    }
  });
  std::vector<Bounds> gaps(cuts.size() + 1);
  for (const std::vector<Bounds>& part : parts) {
    for (std::size_t gap = 0; gap < gaps.size(); ++gap) {
      if (part[gap].low && (!gaps[gap].low || *part[gap].low < *gaps[gap].low)) gaps[gap].low = part[gap].low;
      if (part[gap].high && (!gaps[gap].high || *part[gap].high > *gaps[gap].high)) gaps[gap].high = part[gap].high;
    }
  }
  // A gap without rows lies between two cuts at one place.
  std::optional<Key> below;
  for (std::size_t cut = 0; cut < cuts.size(); ++cut) cuts[cut].below = below = gaps[cut].high ? gaps[cut].high : below;
  std::optional<Key> at;
  for (std::size_t cut = cuts.size(); cut-- > 0;) cuts[cut].at = at = gaps[cut + 1].low ? gaps[cut + 1].low : at;
}

/// How many buckets serve for `levels` equal shares: few, so that the counters stay in the cache and a bucket holds the
/// neighbours of a cut too.
inline std::size_t quantile_buckets(int levels) {
  return std::clamp<std::size_t>(8 * static_cast<std::size_t>(levels), 1024, std::size_t{1} << 13);
}

/// Buckets (1) that probably hold the cuts of `levels` equal shares, going by a sample: they lie at the same shares of
/// it, within a few standard errors.
template <typename Key>
std::vector<std::uint8_t> guess_buckets(const KeyMap<Key>& map, std::span<const Key> sample, int levels) {
  std::vector<std::size_t> seen(map.num_buckets(), 0);
  for (const Key key : sample) ++seen[map.bucket_of(key)];
  std::vector<std::uint8_t> guess(map.num_buckets(), 0);
  const std::vector<std::size_t> ranks = quantile_ranks(sample.size(), levels);
  const double margin = 1.75 * std::sqrt(static_cast<double>(sample.size())) + 1;  // three and a half standard errors
  std::size_t before = 0;
  auto rank = ranks.begin();
  for (std::size_t bucket = 0; bucket < guess.size(); ++bucket) {
    const auto begin = static_cast<double>(before);
    before += seen[bucket];
    while (rank != ranks.end() && static_cast<double>(*rank) + margin < begin) ++rank;
    guess[bucket] = rank != ranks.end() && static_cast<double>(*rank) - margin <= static_cast<double>(before) ? 1 : 0;
  }
  return guess;
}

/// The cuts of `levels` equal shares of the rows' values; cuts that would leave a level empty, or coincide, are left
/// out. counter: has all rows.
///
/// Values were counted in buckets of about equal depth; those of the buckets that hold a rank are sorted. No pass more
/// when the counter has kept these, else one; one more where equal values hide a cut's neighbours. While the buckets
/// that hold a rank have more than `most_collected` rows, they are split first.
template <typename Rows>
std::vector<Cut<KeyOf<typename Rows::Real>>> quantile_cuts(const Rows& rows,
                                                           KeyCounter<KeyOf<typename Rows::Real>>& counter,
                                                           std::size_t num_rows, int levels,
                                                           std::size_t most_collected) {
  using Key = KeyOf<typename Rows::Real>;
  const std::vector<std::size_t> ranks = quantile_ranks(num_rows, levels);
  const KeyMap<Key>& map = counter.map();

  // The stretches that hold a rank, made from buckets in rising order.
  std::vector<Stretch<Key>> stretches;
  const auto take_if_wanted = [&](std::vector<Stretch<Key>>& taken, Key low, Key high, std::size_t before,
                                  std::size_t count) {
    const auto rank = std::lower_bound(ranks.begin(), ranks.end(), before);
    if (rank != ranks.end() && *rank < before + count) taken.push_back({low, high, before, count});
  };
  const std::vector<Counts> counts = counter.counts();
  std::size_t before = 0;
  for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
    const auto count = static_cast<std::size_t>(counts[bucket].rows);
    take_if_wanted(stretches, map.low(bucket), map.high(bucket), before, count);
    before += count;
  }

  // For every bucket of the map the first of its stretches, or of those of later buckets.
  std::vector<std::uint32_t> first(map.num_buckets() + 1);
  const auto index_stretches = [&] {
    std::uint32_t stretch = 0;
    for (std::size_t bucket = 0; bucket < map.num_buckets(); ++bucket) {
      while (stretch < stretches.size() && stretches[stretch].low < map.low(bucket)) ++stretch;
      first[bucket] = stretch;
    }
    first.back() = static_cast<std::uint32_t>(stretches.size());
  };
  const auto stretch_of = [&](Key key) {
    const std::size_t bucket = map.bucket_of(key);
    for (std::uint32_t at = first[bucket]; at < first[bucket + 1]; ++at) {
      if (key <= stretches[at].high) return key >= stretches[at].low ? std::size_t{at} : kNoCell;
    }
    return kNoCell;
  };
  const auto rows_to_collect = [&] {
    std::size_t sum = 0;
    for (const Stretch<Key>& stretch : stretches) sum += stretch.single_valued() ? 0 : stretch.rows;
    return sum;
  };
  index_stretches();
  while (rows_to_collect() > most_collected) {
    std::vector<EqualRanges<Key>> ranges;
    std::vector<std::size_t> first_cell = {0};
    for (const Stretch<Key>& stretch : stretches) {
      ranges.emplace_back(stretch.low, stretch.high, std::size_t{1024});
      first_cell.push_back(first_cell.back() + ranges.back().size());
    }
    const std::vector<Counts> split = count_cells(rows, first_cell.back(), [&](std::size_t /*level*/, Key key) {
      const std::size_t stretch = stretch_of(key);
      return stretch == kNoCell ? kNoCell : first_cell[stretch] + ranges[stretch].at(key);
    });
    std::vector<Stretch<Key>> narrower;
    for (std::size_t at = 0; at < stretches.size(); ++at) {
      std::size_t rows_before = stretches[at].before;
      for (std::size_t range = 0; range < ranges[at].size(); ++range) {
        const auto count = static_cast<std::size_t>(split[first_cell[at] + range].rows);
        take_if_wanted(narrower, ranges[at].low(range), ranges[at].high(range), rows_before, count);
        rows_before += count;
      }
    }
    stretches = std::move(narrower);
    index_stretches();
  }

  UninitializedVector<Key> sorted = counter.take_keys();
  const auto is_wanted = [&](Key key) {
    const std::size_t at = stretch_of(key);
    return at != kNoCell && !stretches[at].single_valued();
  };
  const bool guessed = std::all_of(stretches.begin(), stretches.end(), [&](const Stretch<Key>& stretch) {
    return stretch.single_valued() || counter.keeps(map.bucket_of(stretch.low));
  });
  if (guessed) {
    std::erase_if(sorted, [&](Key key) { return !is_wanted(key); });
  } else {
    sorted = {};
    const auto collected = collect(rows, {value_of_key(stretches.front().low), value_of_key(stretches.back().high)},
                                   [&] { return [&](std::size_t /*level*/, Key key) { return is_wanted(key); }; });
    for (const auto value : collected.value) sorted.push_back(ordered_key(value));
  }
  if (sorted.size() != rows_to_collect()) {
    throw InvalidInput("fit_boundary", "the rows changed from one pass to the next", Cause::kFileChanged);
  }
  sort_keys(std::span(sorted));

  std::vector<Cut<Key>> cuts;
  std::size_t stretch = 0;
  std::size_t offset = 0;  // of the stretch's keys in `sorted`
  for (const std::size_t rank : ranks) {
    while (rank >= stretches[stretch].before + stretches[stretch].rows) {
      if (!stretches[stretch].single_valued()) offset += stretches[stretch].rows;
      ++stretch;
    }
    const std::size_t size = stretches[stretch].single_valued() ? 0 : stretches[stretch].rows;
    const Cut<Key> cut = cut_at(rank, stretches[stretch], std::span<const Key>(sorted).subspan(offset, size));
    if (cuts.empty() || cut.least > cuts.back().least) cuts.push_back(cut);
  }
  if (std::any_of(cuts.begin(), cuts.end(), [](const Cut<Key>& cut) { return !cut.below || !cut.at; })) {
    find_neighbours(rows, cuts);
  }
  drop_needless(cuts);
  return cuts;
}

}  // namespace limen::detail
