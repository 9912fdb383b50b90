// SPDX-License-Identifier: MIT
#include "limen/promise/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "limen/count/binning.h"
#include "limen/fit.h"
#include "limen/judge/frontier.h"
#include "limen/solve/solve.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;

std::int64_t num_bins(const Grid& grid) {
  std::size_t bins = 0;
  for (const auto& level : grid.levels) bins += level.size();
  return static_cast<std::int64_t>(bins);
}

// ---- count_common_bins

TEST(CountCommonBins, KeepsEveryScoreOfFewRows) {
  std::mt19937_64 random(1);
  for (const char* shape : {"continuous", "heavy_ties", "equal_scores"}) {
    const SampleTable table = make_random_samples(shape, 400, random);
    const std::vector<double> edges = uncertainty_edges(table.samples().uncertainty, 3);
    const Grid common = count_common_bins(table.samples(), edges, 500);
    const Grid distinct = count_distinct(table.samples(), edges);
    ASSERT_EQ(common.num_levels(), distinct.num_levels());
    for (std::size_t level = 0; level < common.num_levels(); ++level) {
      ASSERT_EQ(common.levels[level].size(), distinct.levels[level].size()) << shape;
      for (std::size_t bin = 0; bin < common.levels[level].size(); ++bin) {
        EXPECT_EQ(common.levels[level][bin].threshold, distinct.levels[level][bin].threshold);
        EXPECT_EQ(common.levels[level][bin].counts, distinct.levels[level][bin].counts);
      }
    }
  }
}

TEST(CountCommonBins, ResolvesWhatIsFlaggedAtAnyDepth) {
  std::mt19937_64 random(2);
  const SampleTable table = make_random_samples("continuous", 200'000, random);
  const Grid grid = count_common_bins(table.samples(), {0.3, 0.6}, 100);
  EXPECT_EQ(total_counts(grid), total_counts(count_distinct(table.samples(), {})));
  validate(grid);
  EXPECT_LT(num_bins(grid), 3 * 100 * (1 + std::log(200'000 / 100.0)) + 10);
  // A single threshold is one of the grid's cuts: levels have the same ones.
  const Grid one = count_common_bins(table.samples(), {}, 100);
  for (const auto& level : grid.levels) {
    for (const Bin& bin : level) {
      const auto same = std::ranges::find(one.levels[0], bin.threshold, &Bin::threshold);
      ASSERT_NE(same, one.levels[0].end());
      EXPECT_EQ(same->highest, bin.highest);
    }
  }
  std::int64_t above = 0;
  for (const Bin& bin : one.levels[0]) {
    EXPECT_LE(bin.counts.rows, std::max<std::int64_t>(1, above / 100 + 1));
    above += bin.counts.rows;
  }
}

// ---- resample

TEST(Resample, KeepsTheClassesAndIsAFunctionOfSeedAndReplicate) {
  std::mt19937_64 random(3);
  const SampleTable table = make_random_samples("heavy_ties", 5000, random);
  const Grid grid = count_common_bins(table.samples(), {0.2}, 500);
  for (std::uint64_t replicate = 0; replicate < 20; ++replicate) {
    const Grid drawn = resample(grid, 5, replicate).drawn;
    validate(drawn);
    EXPECT_EQ(total_counts(drawn), total_counts(grid));
    const Grid again = resample(grid, 5, replicate).drawn;
    for (std::size_t level = 0; level < grid.num_levels(); ++level) {
      for (std::size_t bin = 0; bin < drawn.levels[level].size(); ++bin) {
        EXPECT_EQ(drawn.levels[level][bin].counts, again.levels[level][bin].counts);
      }
    }
  }
}

// Cells of 1, 5, 60, 3000 and 100,000 rows of a class: means are the counts, variances n p (1 - p), covariances - n p
// q.
TEST(Resample, HasTheMomentsOfAMultinomialDraw) {
  const std::vector<std::int64_t> cells = {1, 5, 60, 3000, 100'000};
  std::int64_t total = 0;
  for (const std::int64_t cell : cells) total += cell;
  const Grid grid = make_grid({{0, 0, 0, 0, 0}}, {cells});
  constexpr int kRuns = 20'000;
  std::vector<double> sum(5, 0), square(5, 0);
  double product = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> drawn(5, 0);
    const Grid again = resample(grid, 9, static_cast<std::uint64_t>(run)).drawn;
    for (const Bin& bin : again.levels[0]) {
      const auto at = static_cast<std::size_t>(std::ranges::find(grid.levels[0], bin.threshold, &Bin::threshold) -
                                               grid.levels[0].begin());
      drawn[at] = static_cast<double>(bin.counts.rows);
    }
    for (std::size_t cell = 0; cell < 5; ++cell) {
      const double off = drawn[cell] - static_cast<double>(cells[cell]);
      sum[cell] += off;
      square[cell] += off * off;
    }
    product += (drawn[2] - 60) * (drawn[3] - 3000);
  }
  const auto size = static_cast<double>(total);
  for (std::size_t cell = 0; cell < 5; ++cell) {
    const double share = static_cast<double>(cells[cell]) / size;
    const double variance = size * share * (1 - share);
    EXPECT_NEAR(sum[cell] / kRuns, 0, 4 * std::sqrt(variance / kRuns)) << cell;
    // The variance of a square is about 2 variance^2, and variance + 2 variance^2 for small means.
    EXPECT_NEAR(square[cell] / kRuns, variance, 4 * std::sqrt((variance + 2 * variance * variance) / kRuns)) << cell;
  }
  const double covariance = -60.0 * 3000 / size;
  EXPECT_NEAR(product / kRuns, covariance, 4 * std::sqrt(60.0 * 3000 / kRuns));
}

// A row is left out of n draws with probability (1 - 1/n)^n; the number left out of 100 rows drawn 90 times is one of
// occupancy: mean 100 (0.99)^90, and a variance below that of independent rows.
TEST(Resample, LeavesOutAsManyRowsAsDrawingLeaves) {
  std::mt19937_64 random(12);
  constexpr int kRuns = 4000;
  for (const std::vector<std::int64_t>& cells :
       {std::vector<std::int64_t>{1, 1, 1, 2}, {40, 64, 30}, {65, 100, 3000}}) {
    std::vector<double> ours(cells.size(), 0), theirs(cells.size(), 0), square(cells.size(), 0), other(cells.size(), 0);
    std::int64_t total = 0;
    for (const std::int64_t cell : cells) total += cell;
    const Grid grid = make_grid({std::vector<std::int64_t>(cells.size(), 0)}, {cells});
    for (int run = 0; run < kRuns; ++run) {
      const Resample sample = resample(grid, 1, static_cast<std::uint64_t>(run));
      std::vector<bool> hit(static_cast<std::size_t>(total), false);
      for (std::int64_t draw = 0; draw < total; ++draw) hit[random() % static_cast<std::uint64_t>(total)] = true;
      std::size_t row = 0;
      for (std::size_t cell = 0; cell < cells.size(); ++cell) {
        const Counts& drawn = sample.drawn.levels[0][cell].counts;
        const Counts& left = sample.left_out.levels[0][cell].counts;
        ASSERT_GE(left.rows, std::max<std::int64_t>(0, cells[cell] - drawn.rows));
        ASSERT_LE(left.rows, drawn.rows > 0 ? cells[cell] - 1 : cells[cell]);
        double missed = 0;
        for (std::int64_t at = 0; at < cells[cell]; ++at, ++row) missed += hit[row] ? 0 : 1;
        const auto here = static_cast<double>(left.rows);
        ours[cell] += here / kRuns;
        square[cell] += here * here / kRuns;
        theirs[cell] += missed / kRuns;
        other[cell] += missed * missed / kRuns;
      }
    }
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      const double variance = other[cell] - theirs[cell] * theirs[cell];
      EXPECT_NEAR(ours[cell], theirs[cell], 5 * std::sqrt(2 * variance / kRuns)) << cells[cell];
      EXPECT_NEAR(square[cell] - ours[cell] * ours[cell], variance, 0.15 * variance) << cells[cell];
    }
  }
}

// ---- against the bootstrap of rows

struct RowBootstrap {
  std::vector<double> threshold, recall, gain, gain_left_out;
};

/// Rows drawn with replacement inside each class, counted and solved anew.
RowBootstrap bootstrap_rows(const SampleTable& table, const Boundary& boundary, int replicates) {
  std::mt19937_64 random(17);
  std::vector<std::size_t> of_class[2];
  for (std::size_t row = 0; row < table.size(); ++row) of_class[table.label[row]].push_back(row);
  RowBootstrap result;
  for (int replicate = 0; replicate < replicates; ++replicate) {
    SampleTable drawn;
    std::vector<bool> hit(table.size(), false);
    for (const auto& rows : of_class) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::size_t from = rows[random() % rows.size()];
        hit[from] = true;
        drawn.score.push_back(table.score[from]);
        drawn.uncertainty.push_back(table.uncertainty[from]);
        drawn.label.push_back(table.label[from]);
      }
    }
    const Grid grid = count_distinct(drawn.samples(), boundary.rule.uncertainty_edges);
    SampleTable others;
    for (std::size_t row = 0; row < table.size(); ++row) {
      if (hit[row]) continue;
      others.score.push_back(table.score[row]);
      others.uncertainty.push_back(table.uncertainty[row]);
      others.label.push_back(table.label[row]);
    }
    // The order learned on the rows that were drawn, followed on those that were not, stopping where it is best there.
    const Grid left_out = count_into(grid, count_distinct(others.samples(), boundary.rule.uncertainty_edges));
    const auto along = [&](const Chain& chain) {
      const Chain counted = recount(chain, left_out);
      const auto best = best_prefix(counted, boundary.objective, totals_of(left_out));
      return best ? static_cast<double>(counts_after(counted, *best).positives) : 0;
    };
    const double base = along(score_chain(grid));
    if (base > 0) result.gain_left_out.push_back(along(hull_chain(grid)) / base - 1);
    const Solution found = solve_exact({grid, boundary.objective});
    const Solution single = solve_st({grid, boundary.objective});
    if (found.status == SolveStatus::kInfeasible) continue;
    const auto threshold = make_rule(grid, found.taken).score_thresholds.back();
    result.threshold.push_back(threshold.value_or(2));
    result.recall.push_back(static_cast<double>(found.flagged.positives) / static_cast<double>(of_class[1].size()));
    if (single.flagged.positives > 0) {
      result.gain.push_back(
          static_cast<double>(found.flagged.positives) / static_cast<double>(single.flagged.positives) - 1);
    }
  }
  return result;
}

double quantile(std::vector<double> values, double probability) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::lround(probability * static_cast<double>(values.size() - 1)))];
}

/// How often values are at or below a limit.
double share_below(const std::vector<double>& values, double limit) {
  return static_cast<double>(std::ranges::count_if(values, [&](double value) { return value <= limit; })) /
         static_cast<double>(values.size());
}

// Both draw from the same distribution: the ends of the intervals on counts lie at the 2.5% and 97.5% points of the
// bootstrap of rows. 1,000 and 2,000 replicates: the standard error of such a share is about 0.006.
TEST(BootstrapFit, IsTheBootstrapOfRows) {
  std::mt19937_64 random(4);
  const SampleTable table = make_random_samples("continuous", 400, random);
  const FitResult fit =
      fit_boundary(table.samples(), max_recall_at_precision({7, 10}), {.method = Method::kExact, .levels = 2});
  ASSERT_TRUE(fit.boundary);
  const BootstrapFit found = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 2000, .seed = 3});
  const RowBootstrap rows = bootstrap_rows(table, *fit.boundary, 1000);
  ASSERT_TRUE(found.recall && found.gain);
  EXPECT_EQ(found.infeasible, 0);
  EXPECT_NEAR(share_below(rows.recall, found.recall->low), 0.025, 0.02);
  EXPECT_NEAR(share_below(rows.recall, found.recall->high), 0.975, 0.02);
  EXPECT_NEAR(share_below(rows.gain, found.gain->low), 0.025, 0.02);
  EXPECT_NEAR(share_below(rows.gain, found.gain->high), 0.975, 0.02);
  // Where rows that were not drawn end up between bins differs a little: the reference cuts between drawn scores.
  EXPECT_NEAR(share_below(rows.gain_left_out, found.gain_left_out->low), 0.025, 0.025);
  EXPECT_NEAR(share_below(rows.gain_left_out, found.gain_left_out->high), 0.975, 0.025);
  EXPECT_LT(found.gain_left_out->low, found.gain->low);
  EXPECT_NEAR(share_below(rows.threshold, found.thresholds.back().low.value()), 0.025, 0.02);
  EXPECT_NEAR(share_below(rows.threshold, found.thresholds.back().high.value_or(2)), 0.975, 0.02);
}

// A hundred times more rows than cells: wide bins move the ends by no more than their width.
TEST(BootstrapFit, MovesLittleWithCoarserBins) {
  std::mt19937_64 random(5);
  const SampleTable table = make_random_samples("continuous", 30'000, random);
  const FitResult fit =
      fit_boundary(table.samples(), max_recall_at_precision({7, 10}), {.method = Method::kExact, .levels = 3});
  ASSERT_TRUE(fit.boundary);
  const BootstrapFit fine = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 200, .resolution = 1'000'000});
  const BootstrapFit coarse = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 200});
  EXPECT_NEAR(coarse.recall->low, fine.recall->low, 0.006);
  EXPECT_NEAR(coarse.recall->high, fine.recall->high, 0.006);
  EXPECT_NEAR(coarse.single.low.value(), fine.single.low.value(), 0.01);
  const double recall = fit.boundary->holdout.recall();
  EXPECT_LT(coarse.recall->low, recall);
  EXPECT_GT(coarse.recall->high, recall);
}

TEST(BootstrapFit, IsTheSameForAnyNumberOfThreadsAndEveryMethod) {
  std::mt19937_64 random(6);
  const SampleTable table = make_random_samples("heavy_ties", 1000, random);
  for (const Method method : {Method::kSt, Method::kExact, Method::kMist, Method::kSmooth, Method::kJoint}) {
    const FitResult fit = fit_boundary(table.samples(), max_recall_at_precision({6, 10}), {.method = method});
    ASSERT_TRUE(fit.boundary) << to_string(method);
    const BootstrapFit one = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 20, .num_threads = 1});
    const BootstrapFit all = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 20, .num_threads = 0});
    EXPECT_EQ(one, all) << to_string(method);
    EXPECT_EQ(one.thresholds.size(), fit.boundary->rule.score_thresholds.size());
    if (method == Method::kSt) {
      EXPECT_EQ(one.gain, (Interval{0, 0}));
    }
    const BootstrapFit other = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 20, .seed = 1});
    EXPECT_NE(one, other) << to_string(method);
  }
}

TEST(BootstrapFit, TakesOtherObjectivesAndMonotoneThresholds) {
  std::mt19937_64 random(7);
  const SampleTable table = make_random_samples("continuous", 1000, random);
  for (const Objective& objective : {max_precision_at_recall({1, 2}), max_recall_at_flag_rate({1, 10}),
                                     min_cost({1, 1}, {2, 1}), max_f_beta({1, 1})}) {
    const FitResult fit = fit_boundary(table.samples(), objective, {.monotone = Direction::kUp});
    ASSERT_TRUE(fit.boundary);
    const BootstrapFit found = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 30});
    ASSERT_TRUE(found.gain) << describe(objective);
    EXPECT_GE(found.gain->low, -0.05) << describe(objective);
    EXPECT_GE(found.gain->high, found.gain->low);
  }
}

// Two positives at the top of many negatives: a resample without the negative between them meets precision 0.9 ...
TEST(BootstrapFit, CountsResamplesThatNoBoundaryMeets) {
  SampleTable table;
  for (int row = 0; row < 40; ++row) {
    table.score.push_back(40 - row);
    table.uncertainty.push_back(row % 2);
    table.label.push_back(row == 0 || row == 2 ? 1 : 0);
  }
  const FitResult fit = fit_boundary(table.samples(), max_recall_at_precision({9, 10}), {.levels = 1});
  ASSERT_TRUE(fit.boundary);
  const BootstrapFit found = bootstrap_fit(table.samples(), *fit.boundary, {.replicates = 400});
  // ... and one without the first positive (chance 1/4) does so only where the second one is still ahead of row 1.
  EXPECT_GT(found.infeasible, 0);
  EXPECT_LT(found.infeasible, 150);
  EXPECT_EQ(found.thresholds.size(), 1U);
}

// ---- bootstrap_frontier

TEST(BootstrapFrontier, IsTheExactOptimumOnResamples) {
  std::mt19937_64 random(8);
  const SampleTable table = make_random_samples("continuous", 800, random);
  const std::vector<Rational> bounds = {{6, 10}, {7, 10}, {999, 1000}};
  const std::vector<double> edges = uncertainty_edges(table.samples().uncertainty, 3);
  const auto bands = bootstrap_frontier(table.samples(), edges, bounds, {.replicates = 81, .resolution = 1000});
  ASSERT_EQ(bands.size(), 3U);
  const Grid grid = count_common_bins(table.samples(), edges, 1000);
  const double positives = static_cast<double>(total_counts(grid).positives);
  for (std::size_t at = 0; at < 2; ++at) {
    std::vector<double> recall, single;
    for (std::uint64_t replicate = 0; replicate < 81; ++replicate) {
      const Grid drawn = resample(grid, 0, replicate).drawn;
      recall.push_back(
          static_cast<double>(solve_exact({drawn, max_recall_at_precision(bounds[at])}).flagged.positives) / positives);
      single.push_back(static_cast<double>(solve_st({drawn, max_recall_at_precision(bounds[at])}).flagged.positives) /
                       positives);
    }
    EXPECT_NEAR(bands[at].recall.low, quantile(recall, 0.025), 1e-12);
    EXPECT_NEAR(bands[at].recall.high, quantile(recall, 0.975), 1e-12);
    EXPECT_NEAR(bands[at].single.high, quantile(single, 0.975), 1e-12);
    EXPECT_GE(bands[at].gain->low, 0);
    EXPECT_LE(bands[at].single.low, bands[at].recall.low);
  }
  EXPECT_EQ(bands, bootstrap_frontier(table.samples(), edges, bounds,
                                      {.replicates = 81, .resolution = 1000, .num_threads = 1}));
}

TEST(Bootstrap, NamesWhatItRefuses) {
  std::mt19937_64 random(9);
  SampleTable table = make_random_samples("continuous", 100, random);
  const Boundary boundary = *fit_boundary(table.samples(), max_recall_at_precision({1, 2})).boundary;
  const auto refusal = [&](const BootstrapOptions& options) {
    return refusal_of([&] { (void)bootstrap_fit(table.samples(), boundary, options); });
  };
  EXPECT_EQ(refusal({.replicates = 1}), "bootstrap: replicates is 1, must be 2 to 1000000");
  EXPECT_EQ(refusal({.confidence = 1}), "bootstrap: confidence is 1, must be between 0 and 1");
  EXPECT_EQ(refusal({.confidence = 0.0}), "bootstrap: confidence is 0, must be between 0 and 1");
  EXPECT_EQ(refusal({.resolution = 5}), "bootstrap: resolution is 5, must be 10 to 1000000");
  EXPECT_EQ(refusal({.num_threads = -1}), "bootstrap: num_threads is -1, must be 0 or more");
  table.weight.assign(table.size(), 1);
  EXPECT_EQ(refusal({}), "bootstrap: rows have weights, but the bootstrap draws rows; use it without weights");
  table.weight.clear();
  table.label.assign(table.size(), 0);
  EXPECT_EQ(refusal({}), "bootstrap: only one class; both are needed");
}

}  // namespace
}  // namespace limen
