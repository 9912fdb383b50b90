// SPDX-License-Identifier: MIT
#include "limen/solve/chain.h"

#include <algorithm>
#include <functional>

namespace limen {
namespace {

/// Bins of one level that join the flagged region together, with the key that orders them among those of all levels.
template <typename Key>
struct Segment {
  std::int32_t level;
  std::int32_t taken;
  Counts counts;
  Key key;
};

/// The segments of each level, one level after the other, put into one order by `before` on their keys, equal keys by
/// level. In each level they are in that order already; ends: where each level's segments end.
template <typename Key, typename Before>
Chain merge_levels(std::vector<Segment<Key>> segments, std::vector<std::size_t> ends, Before before) {
  const auto by_key = [&](const Segment<Key>& a, const Segment<Key>& b) { return before(a.key, b.key); };
  // Neighbours are merged two by two: log2(levels) passes, each in order of memory. Merging is stable, so that equal
  // keys stay in the order of their levels.
  std::vector<Segment<Key>> merged(ends.size() > 1 ? segments.size() : 0);
  while (ends.size() > 1) {
    std::vector<std::size_t> pair_ends;
    std::size_t begin = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t middle = ends[run];
      const std::size_t end = ends[std::min(run + 1, ends.size() - 1)];
      const auto at = [](auto& list, std::size_t place) { return list.begin() + static_cast<std::ptrdiff_t>(place); };
      std::merge(at(segments, begin), at(segments, middle), at(segments, middle), at(segments, end), at(merged, begin),
                 by_key);
      pair_ends.push_back(end);
      begin = end;
    }
    segments.swap(merged);
    ends = std::move(pair_ends);
  }
  Chain chain;
  chain.reserve(segments.size());
  Counts flagged;
  for (std::size_t segment = 0; segment < segments.size(); ++segment) {
    flagged += segments[segment].counts;
    const bool last = segment + 1 == segments.size() || before(segments[segment].key, segments[segment + 1].key);
    chain.push_back({segments[segment].level, segments[segment].taken, last, flagged});
  }
  return chain;
}

}  // namespace

Chain chain_by_key(const Grid& grid, const std::vector<std::vector<double>>& keys) {
  std::vector<Segment<double>> segments;
  std::vector<std::size_t> ends;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const auto& bins = grid.levels[level];
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      segments.push_back(
          {static_cast<std::int32_t>(level), static_cast<std::int32_t>(bin) + 1, bins[bin].counts, keys[level][bin]});
    }
    ends.push_back(segments.size());
  }
  return merge_levels(std::move(segments), std::move(ends), std::greater());
}

namespace {

template <typename KeyOf>
Chain chain_by_threshold(const Grid& grid, KeyOf key_of) {
  std::vector<std::vector<double>> keys(grid.num_levels());
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (const Bin& bin : grid.levels[level]) keys[level].push_back(key_of(level, bin.threshold));
  }
  return chain_by_key(grid, keys);
}

}  // namespace

Chain score_chain(const Grid& grid) {
  return chain_by_threshold(grid, [](std::size_t, double threshold) { return threshold; });
}

Chain recalibrated_chain(const Grid& grid) {
  const double top_level = std::max(1.0, static_cast<double>(grid.num_levels()) - 1);
  return chain_by_threshold(grid, [&](std::size_t level, double threshold) {
    return threshold +
           (grid.scaled_uncertainty.empty() ? static_cast<double>(level) / top_level : grid.scaled_uncertainty[level]);
  });
}

Chain hull_chain(const Grid& grid) {
  std::vector<std::vector<Block>> levels;
  for (const auto& bins : grid.levels) levels.push_back(concave_blocks(bins));
  return hull_chain(levels);
}

Chain hull_chain(std::span<const std::vector<Block>> levels) {
  std::vector<Segment<Counts>> segments;
  std::vector<std::size_t> ends;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const Block& block : levels[level]) {
      segments.push_back(
          {static_cast<std::int32_t>(level), static_cast<std::int32_t>(block.end), block.counts, block.counts});
    }
    ends.push_back(segments.size());
  }
  return merge_levels(std::move(segments), std::move(ends), higher_rate);
}

Chain greedy_chain(const Grid& grid) {
  std::vector<Segment<Counts>> segments;
  std::vector<std::size_t> ends;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    // With bound s the level takes its longest prefix of precision >= s that ends in a bin with positives. Such a
    // prefix is taken for some s iff every longer one has lower precision: the strict maxima seen from the far end.
    const auto& bins = grid.levels[level];
    std::vector<Segment<Counts>> stops;
    Counts prefix = total_counts(bins);
    for (std::size_t bin = bins.size(); bin-- > 0;) {
      if (bins[bin].counts.positives > 0 && (stops.empty() || higher_rate(prefix, stops.back().key))) {
        stops.push_back({static_cast<std::int32_t>(level), static_cast<std::int32_t>(bin + 1), {}, prefix});
      }
      prefix -= bins[bin].counts;
    }
    std::reverse(stops.begin(), stops.end());
    Counts before;
    for (auto& stop : stops) {
      stop.counts = stop.key - before;
      before = stop.key;
      segments.push_back(stop);
    }
    ends.push_back(segments.size());
  }
  return merge_levels(std::move(segments), std::move(ends), higher_rate);
}

Chain chain_of(Method method, const Grid& grid) {
  switch (method) {
    case Method::kSt:
      return score_chain(grid);
    case Method::kHr:
      return recalibrated_chain(grid);
    case Method::kGmt:
      return greedy_chain(grid);
    default:
      return hull_chain(grid);
  }
}

Chain recount(Chain chain, const Grid& counted) {
  std::vector<std::size_t> taken(counted.num_levels(), 0);
  Counts flagged;
  for (ChainStep& step : chain) {
    const auto level = static_cast<std::size_t>(step.level);
    for (; taken[level] < static_cast<std::size_t>(step.taken); ++taken[level]) {
      flagged += counted.levels[level][taken[level]].counts;
    }
    step.flagged = flagged;
  }
  return chain;
}

std::optional<std::size_t> best_prefix(const Chain& chain, const Objective& objective, const Totals& totals) {
  std::optional<std::size_t> best;
  Counts best_counts;
  const auto consider = [&](std::size_t steps, const Counts& flagged) {
    if (!is_feasible(objective, totals, flagged)) return;
    if (best && !is_better(objective, totals, flagged, best_counts)) return;
    best = steps;
    best_counts = flagged;
  };
  consider(0, {});
  for (std::size_t step = 0; step < chain.size(); ++step) {
    if (chain[step].group_end) consider(step + 1, chain[step].flagged);
  }
  return best;
}

Counts counts_after(const Chain& chain, std::size_t steps) { return steps == 0 ? Counts{} : chain[steps - 1].flagged; }

std::vector<std::int32_t> taken_after(const Chain& chain, std::size_t steps, std::size_t num_levels) {
  std::vector<std::int32_t> taken(num_levels, 0);
  for (std::size_t step = 0; step < steps; ++step)
    taken[static_cast<std::size_t>(chain[step].level)] = chain[step].taken;
  return taken;
}

}  // namespace limen
