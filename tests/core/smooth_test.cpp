// SPDX-License-Identifier: MIT
#include "limen/solve/smooth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "limen/count/binning.h"
#include "limen/count/top_rows.h"
#include "limen/fit.h"
#include "limen/solve/logistic.h"
#include "limen/solve/solve.h"
#include "support/boundaries.h"
#include "support/random_grid.h"

namespace limen {
namespace {

std::vector<LogisticCell> random_cells(std::size_t features, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<LogisticCell> cells(40);
  for (LogisticCell& cell : cells) {
    cell.features = {1};
    for (std::size_t at = 1; at < features; ++at) cell.features.push_back(normal(random));
    cell.rows = static_cast<double>(random() % 30);
    cell.positives = std::floor(cell.rows * 0.999 * static_cast<double>(random() % 1000) / 1000);
  }
  return cells;
}

// At the top of a concave function its gradient, written out here once more, is zero.
TEST(FitLogistic, EndsWhereTheGradientIsZero) {
  std::mt19937_64 random(1);
  for (int instance = 0; instance < 50; ++instance) {
    const std::vector<LogisticCell> cells = random_cells(4, random);
    const std::vector<double> centre = {0, 1, -1, 0};
    const std::vector<double> precision = {1e-6, 2, 0.5, 1};
    const LogisticFit fit = fit_logistic(cells, centre, precision);
    double log_likelihood = 0;
    std::vector<double> gradient(4);
    for (std::size_t at = 0; at < 4; ++at) gradient[at] = -precision[at] * (fit.coefficients[at] - centre[at]);
    for (const LogisticCell& cell : cells) {
      double x = 0;
      for (std::size_t at = 0; at < 4; ++at) x += fit.coefficients[at] * cell.features[at];
      const double rate = 1 / (1 + std::exp(-x));
      for (std::size_t at = 0; at < 4; ++at) {
        gradient[at] += (cell.positives - cell.rows * rate) * cell.features[at];
      }
      log_likelihood += cell.positives * std::log(rate) + (cell.rows - cell.positives) * std::log1p(-rate);
    }
    for (const double part : gradient) EXPECT_NEAR(part, 0, 1e-3);
    EXPECT_NEAR(fit.log_likelihood, log_likelihood, 1e-6 * std::abs(log_likelihood));
  }
}

TEST(FitLogistic, StaysFiniteOnSeparableRowsAndConstantFeatures) {
  const std::vector<LogisticCell> separable = {{{1, -1}, 10, 0}, {{1, 1}, 10, 10}};
  for (const double coefficient : fit_logistic(separable, {0, 0}, {0.1, 0.1}).coefficients) {
    EXPECT_TRUE(std::isfinite(coefficient));
  }
  EXPECT_GT(fit_logistic(separable, {0, 0}, {0.1, 0.1}).coefficients[1], 1);
  // A feature that never varies says what the constant says; the penalty shares it out.
  const std::vector<LogisticCell> constant = {{{1, 1}, 100, 50}, {{1, 1}, 100, 50}};
  EXPECT_NEAR(fit_logistic(constant, {0, 0}, {1, 1}).coefficients[0], 0, 1e-9);
  EXPECT_NEAR(fit_logistic({}, {0, 3}, {1, 1}).coefficients[1], 3, 1e-12);
}

// Nested: every bin of every level joins once, from the highest score down, and the counts add up.
TEST(SmoothChain, IsNestedOnEveryGrid) {
  for (const std::string& shape : test::grid_shapes()) {
    std::mt19937_64 random(7);
    for (int instance = 0; instance < 40; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      Grid grid = test::make_random_grid(shape, random).grid;
      test::draw_thresholds(grid, random);
      const std::int64_t near = 1 + static_cast<std::int64_t>(random() % 1000);
      const Chain chain = SmoothFit(grid, near).chain();
      std::vector<std::int32_t> taken(grid.num_levels(), 0);
      Counts flagged;
      for (const ChainStep& step : chain) {
        const auto level = static_cast<std::size_t>(step.level);
        ASSERT_EQ(step.taken, taken[level] + 1);
        taken[level] = step.taken;
        flagged += grid.levels[level][static_cast<std::size_t>(step.taken) - 1].counts;
        ASSERT_EQ(step.flagged, flagged);
      }
      ASSERT_EQ(flagged, total_counts(grid));
    }
  }
}

struct Rows {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, {}};
  }
};

/// Log odds of a positive: score's logit, and `effect` times the uncertainty, which runs from -1 to 1.
Rows make_rows(std::size_t size, double effect, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  Rows rows;
  for (std::size_t row = 0; row < size; ++row) {
    const double logit = 1.5 * normal(random) - 1;
    const double u = uniform(random);
    rows.score.push_back(1 / (1 + std::exp(-logit)));
    rows.uncertainty.push_back(u);
    rows.label.push_back((uniform(random) + 1) / 2 < 1 / (1 + std::exp(-logit - effect * u)) ? 1 : 0);
  }
  return rows;
}

Grid narrow_grid(const Rows& rows) {
  return count_distinct(rows.samples(), uncertainty_edges(rows.samples().uncertainty, 16));
}

TEST(SmoothModel, FindsTheLawThatMadeTheRows) {
  const Rows rows = make_rows(200'000, 0.8, 3);
  const Grid grid = narrow_grid(rows);
  const NearRows near(grid, score_chain(grid), 200'000, 64);
  EXPECT_NEAR(near.level_rank(0), -15.0 / 16, 0.01);
  EXPECT_NEAR(near.level_rank(15), 15.0 / 16, 0.01);
  const auto [a0, a1, b1, b2, c] = SmoothModel(near).coefficients();
  EXPECT_NEAR(b1, 0.8, 0.05);
  EXPECT_NEAR(b2, 0, 0.06);
  EXPECT_NEAR(a1, 1, 0.06);
  EXPECT_NEAR(c, 0, 0.04);
}

// The five numbers maximise the penalised likelihood: no small step in any of them is better.
TEST(SmoothModel, MaximisesTheLikelihoodOfItsCells) {
  const Rows rows = make_rows(3000, 1, 4);
  const Grid grid = narrow_grid(rows);
  const NearRows near(grid, score_chain(grid), 1500, 64);
  const auto likelihood = [&](std::array<double, 5> b) {
    double sum = -0.5 * (0.01 * b[0] * b[0] + (b[1] - 1) * (b[1] - 1) + b[2] * b[2] + b[3] * b[3] + b[4] * b[4]);
    for (const auto& stratum : near.cells()) {
      for (std::size_t level = 0; level < stratum.size(); ++level) {
        const auto& [counts, f] = stratum[level];
        const double w = near.level_rank(level);
        const double x = b[0] + b[1] * f + b[2] * w + b[3] * w * w + b[4] * f * w;
        sum += static_cast<double>(counts.positives) * x - static_cast<double>(counts.rows) * std::log1p(std::exp(x));
      }
    }
    return sum;
  };
  const std::array<double, 5> found = SmoothModel(near).coefficients();
  for (std::size_t at = 0; at < 5; ++at) {
    for (const double step : {-1e-3, 1e-3}) {
      std::array<double, 5> moved = found;
      moved[at] += step;
      EXPECT_LT(likelihood(moved), likelihood(found)) << at;
    }
  }
}

TEST(SolveSmooth, DependsOnTheOrderOfTheScoresAlone) {
  Rows rows = make_rows(2000, 1, 5);
  const Grid grid = narrow_grid(rows);
  const Solution solution = solve_smooth({grid, max_recall_at_precision({7, 10})});
  for (double& score : rows.score) score = 1000 * std::log(score);
  const Solution margins = solve_smooth({narrow_grid(rows), max_recall_at_precision({7, 10})});
  EXPECT_EQ(margins.taken, solution.taken);
  EXPECT_GT(solution.flagged.rows, 0);
}

TEST(SolveSmooth, IsTheSingleThresholdOnOneLevel) {
  const Rows rows = make_rows(2000, 1, 6);
  const Grid grid = count_distinct(rows.samples(), {});
  for (const Objective& objective : {max_recall_at_precision({7, 10}), max_f_beta({1, 1}), min_cost({1, 1}, {3, 1}),
                                     max_precision_at_recall({1, 2})}) {
    EXPECT_EQ(solve_smooth({grid, objective}).taken, solve_st({grid, objective}).taken);
  }
}

// The best of the stops that flag no more than asked, which is the last one or nearly so; all of them where only more
// would do.
TEST(SolveSmooth, FlagsNoMoreThanAsked) {
  const Grid grid = narrow_grid(make_rows(4000, 1, 6));
  const Problem problem(grid, max_recall_at_precision({7, 10}));
  const Solution all = solve_smooth(problem);
  const double share = 0.8 * static_cast<double>(all.flagged.rows) / static_cast<double>(total_counts(grid).rows);
  const Solution fewer = solve_smooth(problem, share);
  EXPECT_LE(static_cast<double>(fewer.flagged.rows), 0.8 * static_cast<double>(all.flagged.rows));
  EXPECT_GE(static_cast<double>(fewer.flagged.rows), 0.75 * static_cast<double>(all.flagged.rows));
  EXPECT_EQ(fewer.status, SolveStatus::kFeasible);
  const Problem needs_most(grid, max_precision_at_recall({9, 10}));
  EXPECT_EQ(solve_smooth(needs_most, 0.01).taken, solve_smooth(needs_most).taken);
}

// Thresholds follow the model, and decide the rows of the hold-out as the chain's stop does.
TEST(SmoothThresholds, DecideTheHoldoutAsTheSolutionSays) {
  for (const double effect : {-1.0, 0.0, 0.5, 3.0}) {
    const Rows rows = make_rows(3000, effect, 8);
    FitOptions options;
    options.method = Method::kSmooth;
    options.levels_from = LevelsFrom::kTop;
    const FitResult fit = fit_boundary(rows.samples(), max_recall_at_precision({3, 4}), options);
    ASSERT_TRUE(fit.boundary);
    ASSERT_EQ(fit.boundary->rule.score_thresholds.size(), 32U);
    std::int64_t flagged = 0;
    std::int64_t positives = 0;
    const auto decision = decide(fit.boundary->rule, rows.samples().score, rows.samples().uncertainty);
    for (std::size_t row = 0; row < decision.size(); ++row) {
      flagged += decision[row];
      positives += decision[row] & rows.label[row];
    }
    EXPECT_EQ(fit.solution.flagged, (Counts{flagged, positives}));
    if (effect < 0.5) continue;
    // A higher uncertainty is a sign of a positive here: it needs less of a score, smoothly.
    const auto& thresholds = fit.boundary->rule.score_thresholds;
    for (std::size_t level = 1; level < thresholds.size(); ++level) EXPECT_LE(thresholds[level], thresholds[level - 1]);
  }
}

TEST(SolveSmooth, TakesWhateverRowsThereAre) {
  const auto fit = [](const Rows& rows) {
    FitOptions options;
    options.method = Method::kSmooth;
    options.levels_from = LevelsFrom::kTop;
    return fit_boundary(rows.samples(), max_recall_at_precision({1, 2}), options).solution;
  };
  EXPECT_EQ(fit({{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, {0, 0, 1, 1, 1}}).flagged, (Counts{3, 3}));
  EXPECT_EQ(fit({{7, 7, 7, 7}, {1, 2, 3, 4}, {0, 1, 0, 1}}).flagged, (Counts{3, 2}));        // constant score
  EXPECT_EQ(fit({{1, 2, 3, 4}, {2, 2, 2, 2}, {0, 1, 0, 1}}).flagged, (Counts{3, 2}));        // constant uncertainty
  EXPECT_EQ(fit({{1, 1, 2, 2}, {0, 1, 0, 1}, {0, 0, 0, 1}}).status, SolveStatus::kOptimal);  // two values each
}

TEST(TopRows, CutsAndEdgesAreThoseOfTheHighestScores) {
  const Rows rows = make_rows(5000, 0, 9);
  std::vector<double> sorted = rows.score;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  EXPECT_EQ(top_score(rows.samples(), 1), sorted[0]);
  EXPECT_EQ(top_score(rows.samples(), 700), sorted[699]);
  EXPECT_EQ(top_score(rows.samples(), 5000), sorted[4999]);
  EXPECT_EQ(top_score(rows.samples(), 9999), sorted[4999]);
  Rows top;
  for (std::size_t row = 0; row < rows.score.size(); ++row) {
    if (rows.score[row] < sorted[699]) continue;
    top.score.push_back(rows.score[row]);
    top.uncertainty.push_back(rows.uncertainty[row]);
    top.label.push_back(rows.label[row]);
  }
  ASSERT_EQ(top.score.size(), 700U);
  EXPECT_EQ(top_edges(rows.samples(), sorted[699], 5), uncertainty_edges(top.samples().uncertainty, 5));
  EXPECT_TRUE(top_edges(rows.samples(), sorted[699], 1).empty());

  const std::vector<double> edges = top_edges(rows.samples(), sorted[699], 5);
  const Grid all = count_distinct(rows.samples(), edges);
  const Grid counted = count_top(rows.samples(), validate(rows.samples()), edges, sorted[699]);
  EXPECT_EQ(total_counts(counted), total_counts(all));
  for (std::size_t level = 0; level < 5; ++level) {
    const auto& bins = counted.levels[level];
    for (std::size_t bin = 0; bin + 1 < bins.size(); ++bin) {
      EXPECT_EQ(bins[bin].threshold, all.levels[level][bin].threshold);
      EXPECT_EQ(bins[bin].counts, all.levels[level][bin].counts);
    }
    EXPECT_LT(bins.back().highest, sorted[699]);
    EXPECT_EQ(total_counts(bins), total_counts(all.levels[level]));
  }
}

// Many rows are counted in bins that cut the scores, not the counts: what a boundary flags of the bins it flags of the
// rows, in memory and in batches.
TEST(TopRows, OfManyRowsAreCountedInBins) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<float> uniform(0, 1);
  const std::size_t size = (std::size_t{1} << 20) + 300'000;
  std::vector<float> score(size);
  std::vector<float> uncertainty(size);
  std::vector<std::uint8_t> label(size);
  for (std::size_t row = 0; row < size; ++row) {
    score[row] = std::round(uniform(random) * 100'000) / 100'000;
    uncertainty[row] = uniform(random);
    label[row] = uniform(random) < score[row] * (0.5F + 0.5F * uncertainty[row]) ? 1 : 0;
  }
  const Samples samples{std::span<const float>(score), std::span<const float>(uncertainty), label, {}};
  const double from = top_score(samples, (std::int64_t{1} << 20) + 100'000);
  const std::vector<double> edges = top_edges(samples, from, 4);
  const Grid grid = count_top(samples, validate(samples), edges, from);
  validate(grid);
  ASSERT_EQ(grid.num_levels(), 4U);
  EXPECT_EQ(total_counts(grid).rows, static_cast<std::int64_t>(size));
  for (const auto& bins : grid.levels) {
    EXPECT_GT(bins.size(), 1024U);
    EXPECT_LT(bins.size(), 2100U);
  }
  for (const std::size_t share : {10U, 3U, 2U}) {
    std::vector<std::int32_t> taken;
    for (const auto& bins : grid.levels) taken.push_back(static_cast<std::int32_t>(bins.size() / share));
    const Counts flagged = flagged_counts(grid, taken);
    const Confusion decided = evaluate(make_rule(grid, taken), samples).total;
    EXPECT_EQ(decided.flagged, static_cast<double>(flagged.rows));
    EXPECT_EQ(decided.true_positives, static_cast<double>(flagged.positives));
  }
  const SampleBatches batches = [&](const std::function<void(const Samples&)>& visit) {
    for (std::size_t begin = 0; begin < size; begin += 77'777) {
      const std::size_t rows = std::min<std::size_t>(77'777, size - begin);
      visit({std::span<const float>(score).subspan(begin, rows),
             std::span<const float>(uncertainty).subspan(begin, rows),
             std::span<const std::uint8_t>(label).subspan(begin, rows),
             {}});
    }
  };
  const BatchOverview overview = summarize_batches(batches, 1, 100'000);
  const Grid batched = count_top(batches, overview, edges, from, 100'000);
  ASSERT_EQ(batched.num_levels(), grid.num_levels());
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    ASSERT_EQ(batched.levels[level].size(), grid.levels[level].size());
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      EXPECT_EQ(batched.levels[level][bin].counts, grid.levels[level][bin].counts);
      EXPECT_EQ(batched.levels[level][bin].threshold, grid.levels[level][bin].threshold);
    }
  }
}

}  // namespace
}  // namespace limen
