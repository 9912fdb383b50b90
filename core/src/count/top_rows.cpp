// SPDX-License-Identifier: MIT
#include "limen/count/top_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <string>

#include "count/batch_rows.h"
#include "count/distinct_bins.h"
#include "count/quantiles.h"
#include "count/strided_sample.h"
#include "limen/base/error.h"

namespace limen {
namespace {

std::vector<double> score_sample(const Samples& samples) {
  detail::StridedSample<double> sample;
  sample.add(samples.size(), [&](std::size_t row) { return samples.score[row]; });
  return sample.values();
}

double score_at_share(std::vector<double> scores, double share) {
  const auto size = static_cast<double>(scores.size());
  // A little less, because the share is rounded.
  const auto rank = static_cast<std::size_t>(std::clamp(std::ceil(share * size - 1e-6) - 1, 0.0, size - 1));
  std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(rank), scores.end(), std::greater<>());
  return scores[rank];
}

/// The edges between equal shares of uncertainties, of which every n-th is kept.
class TopEdges {
 public:
  void add(const Samples& samples, double score) {
    samples.score.visit([&](auto scores) {
      samples.uncertainty.visit([&](auto uncertainty) {
        for (std::size_t row = 0; row < scores.size(); ++row) {
          if (static_cast<double>(scores[row]) < score) continue;
          sample_.add(1, [&](std::size_t) { return detail::ordered_key(static_cast<double>(uncertainty[row])); });
        }
      });
    });
  }
  [[nodiscard]] std::vector<double> edges(int levels) const {
    std::vector<std::uint64_t> keys = sample_.values();
    detail::sort_keys(std::span(keys));
    std::vector<double> edges;
    for (const auto& cut : detail::sorted_cuts(std::span<const std::uint64_t>(keys), levels)) {
      edges.push_back(detail::edge_of(cut));
    }
    return edges;
  }

 private:
  detail::StridedSample<std::uint64_t> sample_;
};

void check_levels(int levels) {
  if (levels < 1 || levels > 1000) {
    throw InvalidInput("top_edges", "levels is " + std::to_string(levels) + ", must be 1 to 1000");
  }
}

/// More rows than these are counted in bins.
constexpr std::size_t kMostDistinct = std::size_t{1} << 19;

/// The scores of a sample that cut those from `score` on into about 4096 bins of equally many rows, rising.
template <typename Real>
std::vector<detail::KeyOf<Real>> score_cuts(const std::vector<double>& sample, double score) {
  constexpr std::size_t kBins = 4096;
  std::vector<double> top = {score};
  std::ranges::copy_if(sample, std::back_inserter(top), [score](double value) { return value > score; });
  std::ranges::sort(top);
  std::vector<detail::KeyOf<Real>> cuts;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const auto key = detail::ordered_key(static_cast<Real>(top[bin * top.size() / kBins]));
    if (cuts.empty() || cuts.back() < key) cuts.push_back(key);
  }
  return cuts;
}

/// The rows from the first cut on by level and cut: a pass without a sort. counts: of every level, below and from
/// there.
template <typename Rows, typename Key>
Grid count_top_in_bins(const Rows& rows, Range<double> scores, std::vector<double> edges,
                       const std::vector<Key>& cuts) {
  const std::size_t num_levels = edges.size() + 1;
  const std::size_t width = cuts.size() + 1;
  const std::vector<Counts> counts =
      detail::count_cells(rows, width * num_levels, [&cuts, width](std::size_t level, Key key) {
        return width * level + static_cast<std::size_t>(std::ranges::upper_bound(cuts, key) - cuts.begin());
      });
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Grid grid;
  grid.edges = std::move(edges);
  for (std::size_t level = 0; level < num_levels; ++level) {
    auto& bins = grid.levels.emplace_back();
    double highest = scores.high;
    for (std::size_t cut = cuts.size(); cut-- > 0;) {
      const auto threshold = static_cast<double>(detail::value_of_key(cuts[cut]));
      const Counts& in_bin = counts[width * level + cut + 1];
      if (in_bin.rows > 0) bins.push_back({threshold, in_bin, highest});
      highest = std::nextafter(threshold, -kInfinity);
    }
    if (counts[width * level].rows > 0) bins.push_back({scores.low, counts[width * level], highest});
  }
  return grid;
}

/// scores: the range of all scores; sample: of them.
template <typename Rows>
Grid count_top(const Rows& rows, Range<double> scores, const std::vector<double>& sample, std::vector<double> edges,
               double score, std::size_t most_rows) {
  using Real = typename Rows::Real;
  using Key = detail::KeyOf<Real>;
  const std::size_t num_levels = edges.size() + 1;
  // All rows of every level, and those that reach the score.
  const Key least = detail::ordered_key(static_cast<Real>(score));
  const std::vector<Counts> counts = detail::count_cells(
      rows, 2 * num_levels, [least](std::size_t level, Key key) { return 2 * level + (key >= least ? 1 : 0); });
  std::size_t num_top = 0;
  for (std::size_t level = 0; level < num_levels; ++level)
    num_top += static_cast<std::size_t>(counts[2 * level + 1].rows);
  if (num_top > kMostDistinct) {
    return count_top_in_bins(rows, scores, std::move(edges), score_cuts<Real>(sample, score));
  }
  if (num_top > most_rows) {
    throw InvalidInput(
        "count_top",
        std::to_string(num_top) + " rows are near the decision, and there is memory for " + std::to_string(most_rows),
        Cause::kTooLittleMemory);
  }
  const auto top = detail::collect(rows, Range<Real>{static_cast<Real>(score), static_cast<Real>(scores.high)},
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
  return score_at_share(score_sample(samples), static_cast<double>(rows) / static_cast<double>(samples.size()));
}

double top_score(const BatchOverview& overview, std::int64_t rows) {
  if (overview.rows() == 0) throw InvalidInput("top_score", "there are no rows", Cause::kNoRows);
  return score_at_share(overview.score_sample, static_cast<double>(rows) / static_cast<double>(overview.rows()));
}

std::vector<double> top_edges(const Samples& samples, double score, int levels) {
  check_levels(levels);
  if (levels == 1) return {};
  TopEdges top;
  top.add(samples, score);
  return top.edges(levels);
}

std::vector<double> top_edges(const SampleBatches& batches, const BatchOverview& overview, double score, int levels) {
  check_levels(levels);
  if (levels == 1) return {};
  TopEdges top;
  BatchFingerprint now;
  batches([&](const Samples& samples) {
    detail::check_and_add(samples, now);
    top.add(samples, score);
  });
  detail::require_same_rows(overview.fingerprint, now);
  return top.edges(levels);
}

Grid count_top(const Samples& samples, const SampleRanges& ranges, std::vector<double> edges, double score) {
  if (!samples.weight.empty()) throw InvalidInput("count_top", "rows with weights are not counted here");
  const auto level = samples.uncertainty.visit([&](auto uncertainty) { return detail::levels_of(uncertainty, edges); });
  return samples.score.visit([&](auto scores) {
    using Real = typename decltype(scores)::value_type;
    return count_top(detail::RowsInMemory<Real>{scores, samples.label, level}, ranges.score, score_sample(samples),
                     std::move(edges), score, samples.size());
  });
}

Grid count_top(const SampleBatches& batches, const BatchOverview& overview, std::vector<double> edges, double score,
               std::size_t most_rows) {
  const std::vector<double> for_rows = edges;
  const detail::RowsInBatches rows{.batches = batches, .fingerprint = overview.fingerprint, .edges = for_rows};
  return count_top(rows, {overview.lowest_score, overview.highest_score}, overview.score_sample, std::move(edges),
                   score, most_rows);
}

}  // namespace limen
