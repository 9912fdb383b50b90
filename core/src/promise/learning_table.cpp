// SPDX-License-Identifier: MIT
#include "promise/learning_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "count/counting.h"
#include "count/decimal_tree.h"
#include "limen/base/error.h"
#include "limen/count/levels.h"
#include "limen/count/shortest_decimal.h"

namespace limen::detail {
namespace {

std::vector<double> together(std::vector<double> cuts, const std::vector<double>& more) {
  cuts.insert(cuts.end(), more.begin(), more.end());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

/// Cuts of the score between which lies at most a share of the rows above.
std::vector<double> score_cuts(const CountedRows& rows, std::int64_t resolution) {
  return tree_cuts(rows, CountedColumn::kScore, {}, [resolution](const TreeNode& node) {
    return node.rows[0] > std::max<std::int64_t>(1, node.above[0] / resolution);
  });
}

ScoreCounts count_between(const CountedRows& rows, std::vector<double> cuts) {
  ScoreCounts scores{std::move(cuts), {}};
  scores.counts.resize(scores.cuts.size() + 1);
  for (const CountCell& cell : ask(rows, {.value_cuts = scores.cuts, .extremes = false})) {
    scores.counts[cell.bucket] = cell.counts;
  }
  return scores;
}

}  // namespace

std::int64_t draw_binomial(std::int64_t n, double p, CounterRandom& random) {
  if (p <= 0 || n == 0) return 0;
  if (p >= 1) return n;
  constexpr std::int64_t kFew = 32;
  if (n <= kFew) {
    std::int64_t drawn = 0;
    for (std::int64_t row = 0; row < n; ++row) drawn += random.uniform() < p ? 1 : 0;
    return drawn;
  }
  // Inversion, from the mode outwards: some standard deviations of steps.
  const auto size = static_cast<double>(n);
  const auto mode = static_cast<std::int64_t>((size + 1) * p);
  const auto k = static_cast<double>(mode);
  const double odds = p / (1 - p);
  const double at_mode = std::exp(std::lgamma(size + 1) - std::lgamma(k + 1) - std::lgamma(size - k + 1) +
                                  k * std::log(p) + (size - k) * std::log1p(-p));
  double left = random.uniform() - at_mode;
  double below = at_mode;
  double above = at_mode;
  for (std::int64_t low = mode, high = mode; left > 0 && (below > 0 || above > 0);) {
    below = low > 0 ? below * static_cast<double>(low) / (static_cast<double>(n - low + 1) * odds) : 0;
    if (low > 0 && (left -= below) <= 0) return low - 1;
    low = std::max<std::int64_t>(low - 1, 0);
    above = high < n ? above * static_cast<double>(n - high) * odds / static_cast<double>(high + 1) : 0;
    if (high < n && (left -= above) <= 0) return high + 1;
    high = std::min(high + 1, n);
  }
  return mode;  // also what is left by rounding
}

std::int64_t draw_hypergeometric(std::int64_t part, std::int64_t n, std::int64_t k, CounterRandom& random) {
  std::int64_t inside = 0;
  for (std::int64_t row = 0; row < k; ++row) {
    const auto place = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n - row)));
    inside += place < part - inside ? 1 : 0;
  }
  return inside;
}

ScoreCounts fine_scores(const CountedRows& rows, const std::vector<double>& more) {
  constexpr std::int64_t kEvery = std::int64_t{1} << 16;
  constexpr std::int64_t kResolution = 512;
  if (rows.total.rows > kEvery) return count_between(rows, together(score_cuts(rows, kResolution), more));
  const std::vector<CountCell> values = ask(rows, {.spans = {{0, rows.score.low, rows.score.high}}});
  ScoreCounts scores;
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < values.size(); ++at) {
    // Between two values there may be a cut already.
    if (at > 0) {
      const double below = values[at - 1].least;
      const auto after = std::upper_bound(more.begin(), more.end(), values[at].least);
      const bool given = after != more.begin() && *std::prev(after) > below;
      scores.cuts.push_back(given ? *std::prev(after) : shortest_between(below, values[at].least));
    }
    scores.counts.push_back(values[at].counts);
    sum += values[at].counts.rows;
  }
  if (sum != rows.total.rows) {
    throw InvalidInput("certify", "the rows changed from one question to the next", Cause::kFileChanged);
  }
  return scores;
}

std::vector<Counts> LearningTable::draw(const std::vector<Counts>& from, double share, std::uint64_t seed,
                                        std::uint64_t use) {
  std::vector<Counts> drawn(from.size());
  for (std::size_t cell = 0; cell < from.size(); ++cell) {
    if (from[cell].rows == 0) continue;
    CounterRandom random(mix(seed) + use, cell);
    const std::int64_t positives = draw_binomial(from[cell].positives, share, random);
    drawn[cell] = {positives + draw_binomial(from[cell].rows - from[cell].positives, share, random), positives};
  }
  return drawn;
}

Grid LearningTable::grid(const std::vector<Counts>& rows, const std::vector<double>& edges) const {
  Grid grid;
  grid.edges = edges;
  grid.levels.resize(edges.size() + 1);
  for (std::size_t at = scores(); at-- > 0;) {
    std::vector<Counts> sums(grid.levels.size());
    for (std::size_t from = 0; from < uncertainties(); ++from) {
      const std::size_t level = from == 0 ? 0 : level_of(edges, uncertainty_cuts[from - 1]);
      sums[level] += rows[from * scores() + at];
    }
    const double highest =
        at == score_cuts.size() ? score.high : std::nextafter(score_cuts[at], -std::numeric_limits<double>::infinity());
    for (std::size_t level = 0; level < sums.size(); ++level) {
      if (sums[level].rows > 0) grid.levels[level].push_back({low_score(at), sums[level], highest});
    }
  }
  return grid;
}

LearningTable learning_table(const CountedRows& rows, const std::vector<double>& more_scores,
                             const std::vector<double>& more_uncertainties) {
  constexpr std::int64_t kResolution = 128;
  LearningTable table;
  table.score = rows.score;
  table.score_cuts = together(score_cuts(rows, kResolution), more_scores);
  // The highest rows: those of the scores from a cut on.
  const ScoreCounts scores = count_between(rows, table.score_cuts);
  std::vector<double> group_cuts;
  for (const std::int64_t share : {8, 64}) {
    std::int64_t above = 0;
    for (std::size_t at = scores.cuts.size(); at-- > 0;) {
      above += scores.counts[at + 1].rows;
      if (above < rows.total.rows / share) continue;
      if (group_cuts.empty() || group_cuts.back() < scores.cuts[at]) group_cuts.push_back(scores.cuts[at]);
      break;
    }
  }
  std::vector<std::int64_t> highest(group_cuts.size() + 1, 0);  // rows from each group on
  for (std::size_t at = 0; at < scores.counts.size(); ++at) {
    const std::size_t group = at == 0 ? 0 : level_of(group_cuts, scores.cuts[at - 1]);
    for (std::size_t from = 0; from <= group; ++from) highest[from] += scores.counts[at].rows;
  }
  constexpr std::int64_t kShare = 64;
  constexpr std::int64_t kFew = 16;
  table.uncertainty_cuts = together(tree_cuts(rows, CountedColumn::kUncertainty, group_cuts,
                                              [&](const TreeNode& node) {
                                                std::int64_t inside = 0;
                                                for (std::size_t group = node.rows.size(); group-- > 0;) {
                                                  inside += node.rows[group];
                                                  if (inside > std::max(kFew, highest[group] / kShare)) return true;
                                                }
                                                return false;
                                              }),
                                    more_uncertainties);
  table.cells.resize(table.scores() * table.uncertainties());
  const CountQuery query{.group_cuts = table.uncertainty_cuts, .value_cuts = table.score_cuts, .extremes = false};
  for (const CountCell& cell : ask(rows, query)) table.cells[cell.group * table.scores() + cell.bucket] = cell.counts;
  return table;
}

}  // namespace limen::detail
