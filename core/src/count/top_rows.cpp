// SPDX-License-Identifier: MIT
#include "limen/count/top_rows.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "count/batch_quantiles.h"
#include "count/batch_rows.h"
#include "count/counting.h"
#include "count/decimal_tree.h"
#include "count/distinct_bins.h"
#include "count/quantiles.h"
#include "limen/base/error.h"
#include "limen/count/binning.h"
#include "limen/count/levels.h"

namespace limen {
namespace {

/// The value of a rank, from 0 for the highest. map: of all values. A pass to count, one to collect; one more for every
/// bucket that has more than `most` rows.
template <typename Rows>
double value_at_rank(const Rows& rows, const detail::KeyMap<detail::KeyOf<typename Rows::Real>>& map, std::size_t rank,
                     std::size_t most) {
  using Key = detail::KeyOf<typename Rows::Real>;
  Key low = 0;
  Key high = 0;
  std::size_t size = 0;
  const auto find = [&](const std::vector<Counts>& counts, const auto& ranges) {
    for (std::size_t bucket = counts.size(); bucket-- > 0;) {
      size = static_cast<std::size_t>(counts[bucket].rows);
      if (rank < size) {
        low = ranges.low(bucket);
        high = ranges.high(bucket);
        return;
      }
      rank -= size;
    }
    throw InvalidInput("top_score", "the rows changed from one pass to the next", Cause::kFileChanged);
  };
  find(detail::count_cells(rows, map.num_buckets(),
                           [finder = map.finder()](std::size_t, Key key) { return finder.bucket_of(key); }),
       map);
  while (size > most && low < high) {
    const detail::EqualRanges<Key> ranges(low, high, 1024);
    find(
        detail::count_cells(rows, ranges.size(),
                            [&](std::size_t, Key key) { return ranges.holds(key) ? ranges.at(key) : detail::kNoCell; }),
        ranges);
  }
  if (low == high) return static_cast<double>(detail::value_of_key(low));
  auto inside = detail::collect(rows, {detail::value_of_key(low), detail::value_of_key(high)},
                                [] { return [](std::size_t, Key) { return true; }; });
  if (rank >= inside.size()) {
    throw InvalidInput("top_score", "the rows changed from one pass to the next", Cause::kFileChanged);
  }
  const auto at = inside.value.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(inside.value.begin(), at, inside.value.end(), std::greater<>());
  return static_cast<double>(*at);
}

std::size_t rank_of(std::int64_t rows, std::size_t size) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(rows - 1, 0, static_cast<std::int64_t>(size) - 1));
}

constexpr std::size_t kScoreBuckets = 4096;

/// Uncertainties of the rows that reach a score; in no order.
std::vector<double> top_uncertainties(const Samples& samples, double score) {
  tbb::enumerable_thread_specific<std::vector<double>> parts;
  samples.score.visit([&](auto scores) {
    samples.uncertainty.visit([&](auto uncertainty) {
      using Real = typename decltype(scores)::value_type;
      const Real least = round_up_to<Real>(score);
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, scores.size(), detail::kBlockRows), [&](const auto& range) {
        std::vector<double>& part = parts.local();
        for (std::size_t row = range.begin(); row < range.end(); ++row) {
          if (scores[row] >= least) part.push_back(static_cast<double>(uncertainty[row]));
        }
      });
    });
  });
  std::vector<double> together;
  for (const std::vector<double>& part : parts) together.insert(together.end(), part.begin(), part.end());
  return together;
}

void check_levels(int levels) {
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("top_edges", "levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
}

/// More rows than these are counted in bins.
constexpr std::size_t kMostDistinct = std::size_t{1} << 16;

/// Cuts of few digits, from `score` on, between about equally many of the num_top rows that reach it.
std::vector<double> score_cuts(const CountedRows& rows, double score, std::int64_t num_top) {
  constexpr std::int64_t kBins = 1024;
  const std::int64_t most = num_top / kBins;
  std::vector<double> cuts = detail::tree_cuts(rows, CountedColumn::kScore, {}, [&](const detail::TreeNode& node) {
    return node.high > score && node.rows[0] > most && (node.low >= score || node.above[0] < num_top);
  });
  std::erase_if(cuts, [score](double cut) { return cut <= score; });
  cuts.insert(cuts.begin(), score);
  return cuts;
}

/// A grid of bins between cuts, each as if its rows filled it. counts_of(level, bucket): the bucket is the number of
/// cuts at or below the score.
template <typename CountsOf>
Grid binned(std::vector<double> edges, const std::vector<double>& cuts, Range<double> scores,
            const CountsOf& counts_of) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Grid grid;
  grid.edges = std::move(edges);
  for (std::size_t level = 0; level <= grid.edges.size(); ++level) {
    auto& bins = grid.levels.emplace_back();
    double highest = scores.high;
    for (std::size_t cut = cuts.size(); cut-- > 0;) {
      const Counts in_bin = counts_of(level, cut + 1);
      if (in_bin.rows > 0) bins.push_back({cuts[cut], in_bin, highest});
      highest = std::nextafter(cuts[cut], -kInfinity);
    }
    const Counts below = counts_of(level, 0);
    if (below.rows > 0) bins.push_back({scores.low, below, highest});
  }
  return grid;
}

/// The num_top rows that reach a score by level and cut, of which there are too many for a bin each.
Grid count_top_in_bins(const CountedRows& rows, std::vector<double> edges, double score, std::int64_t num_top) {
  const CountQuery query{.group_cuts = edges, .value_cuts = score_cuts(rows, score, num_top), .extremes = false};
  const std::size_t width = query.value_cuts.size() + 1;
  std::vector<Counts> counts(width * (edges.size() + 1));
  for (const CountCell& cell : detail::ask(rows, query)) counts[width * cell.group + cell.bucket] = cell.counts;
  return binned(std::move(edges), query.value_cuts, rows.score,
                [&](std::size_t level, std::size_t bucket) { return counts[width * level + bucket]; });
}

/// scores: the range of all scores. counted(): the same rows, for cuts between many of them.
template <typename Rows, typename Counted>
Grid count_top(const Rows& rows, Range<double> scores, std::vector<double> edges, double score, std::size_t most_rows,
               const Counted& counted) {
  using Real = typename Rows::Real;
  using Key = detail::KeyOf<Real>;
  const std::size_t num_levels = edges.size() + 1;
  // All rows of every level, and those that reach the score.
  const Key least = detail::ordered_key(round_up_to<Real>(score));
  const std::vector<Counts> counts = detail::count_cells(
      rows, 2 * num_levels, [least](std::size_t level, Key key) { return 2 * level + (key >= least ? 1 : 0); });
  std::size_t num_top = 0;
  for (std::size_t level = 0; level < num_levels; ++level)
    num_top += static_cast<std::size_t>(counts[2 * level + 1].rows);
  if (num_top > kMostDistinct) {
    return count_top_in_bins(counted(), std::move(edges), score, static_cast<std::int64_t>(num_top));
  }
  if (num_top > most_rows) {
    throw InvalidInput(
        "count_top",
        std::to_string(num_top) + " rows are near the decision, and there is memory for " + std::to_string(most_rows),
        Cause::kTooLittleMemory);
  }
  const auto top = detail::collect(rows, Range<Real>{round_up_to<Real>(score), static_cast<Real>(scores.high)},
                                   [] { return [](std::size_t, Key) { return true; }; });
  const auto sides = detail::sort_sides<Key>(
      top.size(), num_levels, [&](std::size_t row) { return detail::ordered_key(top.value[row]); },
      [&](std::size_t row) { return top.level[row]; }, [&](std::size_t row) { return top.label[row]; });
  Grid grid;
  grid.levels = detail::distinct_bins(sides);
  grid.edges = std::move(edges);
  const double below = std::nextafter(score, -std::numeric_limits<double>::infinity());
  for (std::size_t level = 0; level < num_levels; ++level) {
    if (counts[2 * level].rows > 0) grid.levels[level].push_back({scores.low, counts[2 * level], below});
  }
  return grid;
}

}  // namespace

double top_score(const Samples& samples, std::int64_t rows) {
  if (samples.size() == 0) throw InvalidInput("top_score", "there are no rows", Cause::kNoRows);
  const std::size_t rank = rank_of(rows, samples.size());
  return samples.score.visit([&](auto score) {
    using Real = typename decltype(score)::value_type;
    if (score.size() < detail::kFewRows) {
      std::vector<Real> copy(score.begin(), score.end());
      std::nth_element(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(rank), copy.end(), std::greater<>());
      return static_cast<double>(copy[rank]) + 0.0;
    }
    const auto sample = detail::sample_keys(score, detail::kFewRows);
    const Range<double> range = finite_range(samples.score, "top_score", "score");
    const detail::KeyMap<detail::KeyOf<Real>> map(detail::ordered_key(static_cast<Real>(range.low)),
                                                  detail::ordered_key(static_cast<Real>(range.high)), sample,
                                                  kScoreBuckets);
    return value_at_rank(detail::RowsInMemory<Real>{score}, map, rank, samples.size());
  });
}

double top_score(const SampleBatches& batches, const BatchOverview& overview, std::int64_t rows,
                 std::size_t most_rows) {
  if (overview.rows() == 0) throw InvalidInput("top_score", "there are no rows", Cause::kNoRows);
  const auto sample = detail::sample_keys(std::span<const double>(overview.score_sample), detail::kFewRows);
  const detail::KeyMap<std::uint64_t> map(detail::ordered_key(overview.lowest_score),
                                          detail::ordered_key(overview.highest_score), sample, kScoreBuckets);
  return value_at_rank(detail::RowsInBatches{.batches = batches, .fingerprint = overview.fingerprint}, map,
                       rank_of(rows, overview.rows()), most_rows);
}

double top_score(const CountedRows& rows, std::int64_t top) {
  const auto size = static_cast<std::size_t>(rows.total.rows);
  if (size == 0) throw InvalidInput("top_score", "there are no rows", Cause::kNoRows);
  return detail::runs_at(rows, CountedColumn::kScore, std::nullopt, {size - 1 - rank_of(top, size)}).front().value;
}

std::vector<double> top_edges(const Samples& samples, double score, int levels) {
  check_levels(levels);
  if (levels == 1) return {};
  const std::vector<double> top = top_uncertainties(samples, score);
  return uncertainty_edges(std::span<const double>(top), levels);
}

std::vector<double> top_edges(const SampleBatches& batches, const BatchOverview& overview, double score, int levels,
                              std::size_t most_rows) {
  check_levels(levels);
  if (levels == 1) return {};
  return detail::batch_edges(batches, overview.fingerprint, score, levels, most_rows);
}

std::vector<double> quantile_edges(const CountedRows& rows, std::optional<double> score, int levels) {
  check_levels(levels);
  std::int64_t size = rows.total.rows;
  if (score) {
    size = 0;
    for (const CountCell& cell : detail::ask(rows, {.value_cuts = {*score}})) {
      if (cell.bucket == 1) size += cell.counts.rows;
    }
  }
  if (levels == 1 || size == 0) return {};
  const std::vector<std::size_t> ranks = detail::quantile_ranks(static_cast<std::size_t>(size), levels);
  std::vector<detail::Cut<std::uint64_t>> cuts;
  const auto runs = detail::runs_at(rows, CountedColumn::kUncertainty, score, ranks);
  const auto key_of = [](const std::optional<double>& value) {
    return value ? std::optional(detail::ordered_key(*value)) : std::nullopt;
  };
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    // As detail::cut_at.
    const detail::ValueRun& run = runs[at];
    const std::uint64_t key = detail::ordered_key(run.value);
    const bool run_goes_down = run.begin == 0 || run.end - ranks[at] < ranks[at] - run.begin;
    if (run_goes_down) {
      cuts.push_back({.least = key + 1, .below = key, .at = key_of(run.next)});
    } else {
      cuts.push_back({.least = key, .below = key_of(run.previous), .at = key});
    }
  }
  detail::drop_needless(cuts);
  std::vector<double> edges;
  for (const auto& cut : cuts) edges.push_back(detail::edge_of(cut));
  return edges;
}

Grid count_top(const Samples& samples, const SampleRanges& ranges, std::vector<double> edges, double score) {
  if (!samples.weight.empty()) throw InvalidInput("count_top", "rows with weights are not counted here");
  const auto level = samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, edges); });
  return samples.score.visit([&](auto scores) {
    using Real = typename decltype(scores)::value_type;
    return count_top(detail::RowsInMemory<Real>{scores, samples.label, level}, ranges.score, std::move(edges), score,
                     samples.size(), [&] { return counted(samples); });
  });
}

Grid count_top(const SampleBatches& batches, const BatchOverview& overview, std::vector<double> edges, double score,
               std::size_t most_rows) {
  const std::vector<double> for_rows = edges;
  const detail::RowsInBatches rows{.batches = batches, .fingerprint = overview.fingerprint, .edges = for_rows};
  return count_top(rows, {overview.lowest_score, overview.highest_score}, std::move(edges), score, most_rows,
                   [&] { return counted(batches); });
}

Grid count_top(const CountedRows& rows, std::vector<double> edges, double score) {
  CountQuery query{.group_cuts = edges, .value_cuts = {score}, .extremes = false};
  const std::vector<CountCell> sides = detail::ask(rows, query);
  std::int64_t num_top = 0;
  for (const CountCell& cell : sides) num_top += cell.bucket == 1 ? cell.counts.rows : 0;
  const std::size_t num_levels = edges.size() + 1;
  if (num_top > static_cast<std::int64_t>(kMostDistinct)) {
    return count_top_in_bins(rows, std::move(edges), score, num_top);
  }
  query.value_cuts.clear();
  for (std::size_t level = 0; level < num_levels; ++level) query.spans.push_back({level, score, rows.score.high});
  const std::vector<CountCell> values = detail::ask(rows, query);
  Grid grid;
  grid.edges = std::move(edges);
  grid.levels.resize(num_levels);
  std::int64_t counted_top = 0;
  for (auto cell = values.rbegin(); cell != values.rend(); ++cell) {
    grid.levels[cell->group].push_back({cell->least, cell->counts});
    counted_top += cell->counts.rows;
  }
  if (counted_top != num_top) {
    throw InvalidInput("count_top", "the rows changed from one question to the next", Cause::kFileChanged);
  }
  const double below = std::nextafter(score, -std::numeric_limits<double>::infinity());
  for (const CountCell& cell : sides) {
    if (cell.bucket == 0) grid.levels[cell.group].push_back({rows.score.low, cell.counts, below});
  }
  return grid;
}

}  // namespace limen
