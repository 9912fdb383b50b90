// SPDX-License-Identifier: MIT
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include "count/score_buckets.h"
#include "limen/base/wide.h"
#include "limen/solve/selective.h"

namespace limen {
namespace {

using detail::KeyOf;

/// Which buckets of a level, from the highest score down, can hold the end of one of `bins` equal shares: those with a
/// cut inside, the bucket before such a one (the cut may move up to its end), those that end at a cut, and the last.
template <typename Key>
std::vector<std::uint8_t> buckets_with_cuts(const detail::Level<Key>& level, std::int64_t bins) {
  const std::size_t num_buckets = level.buckets.size();
  std::vector<std::uint8_t> wanted(num_buckets, 0);
  detail::Wide total = 0;
  for (const auto& bucket : level.buckets) total += bucket.counts.rows;
  detail::Wide before = 0;
  for (std::size_t at = 0; at < num_buckets; ++at) {
    // The first cut beyond the rows before this bucket is part `first` of `bins`; it counts when it is not beyond its
    // end.
    const detail::Wide end = before + level.buckets[at].counts.rows;
    const detail::Wide first = before * bins / total + 1;
    if (first < bins && first * total <= end * bins) {
      wanted[at] = 1;
      if (at > 0) wanted[at - 1] = 1;
    }
    before = end;
  }
  if (num_buckets > 0) wanted.back() = 1;
  return wanted;
}

template <typename Real>
Grid count_around_cuts(const detail::RowsInMemory<Real>& rows, const std::vector<double>& edges, std::int64_t bins) {
  using Key = KeyOf<Real>;
  const std::size_t num_levels = edges.size() + 1;
  const detail::Range<Real> range = detail::range_of(rows.score);
  // About thirty buckets to a bin: then few rows are near a cut.
  const auto buckets = static_cast<std::size_t>(
      std::clamp<std::int64_t>(32 * bins, 1024, (std::int64_t{1} << 21) / static_cast<std::int64_t>(num_levels)));
  const detail::KeyMap<Key> map(detail::ordered_key(range.low), detail::ordered_key(range.high),
                                detail::sample_keys(rows.score, std::size_t{1} << 18), buckets);
  const auto levels = detail::count_in_buckets(rows, num_levels, map);
  std::vector<std::vector<std::uint8_t>> wanted(num_levels);
  std::vector<std::uint8_t> wanted_cells(num_levels * map.num_buckets(), 0);
  for (std::size_t at = 0; at < num_levels; ++at) {
    wanted[at] = buckets_with_cuts(levels[at], bins);
    for (std::size_t bucket = 0; bucket < wanted[at].size(); ++bucket) {
      if (wanted[at][bucket] != 0)
        wanted_cells[at * map.num_buckets() + map.bucket_of(levels[at].buckets[bucket].low)] = 1;
    }
  }
  const auto copied = detail::copy_rows(rows, range, [&](std::size_t level, Key key) {
    return wanted_cells[level * map.num_buckets() + map.bucket_of(key)] != 0;
  });
  using LabelledKey = std::pair<Key, std::uint8_t>;
  std::vector<std::vector<LabelledKey>> keys(num_levels);
  for (std::size_t row = 0; row < copied.score.size(); ++row) {
    keys[copied.level[row]].emplace_back(detail::ordered_key(copied.score[row]), copied.label[row]);
  }
  Grid grid;
  grid.edges = edges;
  grid.levels.resize(num_levels);
  tbb::parallel_for(std::size_t{0}, num_levels, [&](std::size_t at) {
    tbb::parallel_sort(keys[at].begin(), keys[at].end(), std::greater<LabelledKey>());
    auto next = keys[at].begin();
    for (std::size_t bucket = 0; bucket < wanted[at].size(); ++bucket) {
      const auto& from = levels[at].buckets[bucket];
      if (wanted[at][bucket] == 0) {
        grid.levels[at].push_back({static_cast<double>(detail::value_of_key<Real>(from.low)), from.counts,
                                   static_cast<double>(detail::value_of_key<Real>(from.high))});
        continue;
      }
      while (next != keys[at].end() && next->first >= from.low) {
        const Key key = next->first;
        Counts counts;
        for (; next != keys[at].end() && next->first == key; ++next) counts += {1, next->second};
        grid.levels[at].push_back({static_cast<double>(detail::value_of_key<Real>(key)), counts});
      }
    }
  });
  return grid;
}

}  // namespace

std::optional<Grid> count_quantile_bins(const Samples& samples, const std::vector<double>& edges, std::int64_t bins) {
  // Below, sorting is as fast; above, most rows are near a cut.
  constexpr std::size_t kFewRows = std::size_t{1} << 17;
  const auto rows_per_bin =
      static_cast<std::int64_t>(samples.size()) / static_cast<std::int64_t>(edges.size() + 1) / bins;
  if (!samples.weight.empty() || edges.size() > 254 || samples.size() < kFewRows || rows_per_bin < 64)
    return std::nullopt;
  const Grid around_cuts = samples.score.visit([&](auto score) {
    using Real = typename decltype(score)::value_type;
    detail::RowsInMemory<Real> rows{score, samples.label, {}};
    rows.level = samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, edges); });
    return count_around_cuts(rows, edges, bins);
  });
  return merge_bins(around_cuts, bins, Binning::kEquiWeight);
}

}  // namespace limen
