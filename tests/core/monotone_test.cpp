// SPDX-License-Identifier: MIT
#include "limen/solve/monotone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <map>
#include <random>

#include "limen/base/error.h"
#include "reference/brute_force.h"
#include "reference/monotone_reference.h"
#include "support/random_grid.h"

namespace limen {
namespace {

using test::monotone_by_greedy;
using testing::ElementsAre;
using testing::Optional;

constexpr Direction kDirections[] = {Direction::kUp, Direction::kDown};

std::string print(const Grid& grid, const Objective& objective, Direction direction) {
  std::string text = describe(objective) + (direction == Direction::kUp ? ", up\n" : ", down\n");
  for (const auto& level : grid.levels) {
    for (const Bin& bin : level) {
      text += std::to_string(bin.threshold) + ".." + std::to_string(bin.highest) + ": " +
              std::to_string(bin.counts.positives) + "/" + std::to_string(bin.counts.rows) + "  ";
    }
    text += "\n";
  }
  return text;
}

/// The same counts with scores from twenty values, so that levels share some and not others; a third of the bins hold
/// more than one score.
void scatter_scores(Grid& grid, std::mt19937_64& random) {
  for (auto& bins : grid.levels) {
    std::vector<double> values(20);
    for (std::size_t value = 0; value < values.size(); ++value) values[value] = 0.05 * static_cast<double>(20 - value);
    while (values.size() > 2 * bins.size()) {
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    }
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      bins[bin].threshold = values[2 * bin + 1];
      bins[bin].highest = values[random() % 3 == 0 ? 2 * bin : 2 * bin + 1];
    }
  }
}

/// The thresholds are monotone and flag the bins that are taken, and no others.
void check_thresholds(const Grid& grid, const std::vector<std::int32_t>& taken, Direction direction) {
  const auto thresholds = monotone_thresholds(grid, taken, direction);
  ASSERT_EQ(thresholds.size(), grid.num_levels());
  const auto number = [](const std::optional<double>& threshold) {
    return threshold.value_or(std::numeric_limits<double>::infinity());
  };
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const double threshold = number(thresholds[level]);
    if (level > 0 && direction == Direction::kUp) {
      EXPECT_LE(number(thresholds[level - 1]), threshold);
    }
    if (level > 0 && direction == Direction::kDown) {
      EXPECT_GE(number(thresholds[level - 1]), threshold);
    }
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      const Bin& scores = grid.levels[level][bin];
      if (scores.counts.rows == 0) continue;
      const bool flagged = bin < static_cast<std::size_t>(taken[level]);
      EXPECT_EQ(scores.threshold >= threshold, flagged);
      EXPECT_EQ(scores.highest >= threshold, flagged);
    }
  }
}

// Precision >= 2/3. Alone, level 0 would flag 0.9 and 0.5 (4 of 5), level 1 only 0.8 (2 of 3), together 6 of 8.
//   level 0:  0.9 2/2   0.5 2/3   0.2 0/4
//   level 1:  0.8 2/3   0.6 0/3   0.4 2/2   0.1 0/9
// All of level 1 down to 0.4 makes 8 of 13, too few. `up` allows 0.5 and 0.8. `down` needs level 1 at level 0's
// threshold or below: 0.9 alone with 0.8 flags 4 of 5, and with 0.4 it flags 6 of 10, below 2/3.
TEST(SolveMonotone, KeepsTheOrderOfThresholdsWhereTheFreeOptimumDoesNot) {
  const Grid grid = grid_from_bins({1}, {{{0.9, {2, 2}}, {0.5, {3, 2}}, {0.2, {4, 0}}},
                                         {{0.8, {3, 2}}, {0.6, {3, 0}}, {0.4, {2, 2}}, {0.1, {9, 0}}}});
  const Objective objective = max_recall_at_precision({2, 3});
  EXPECT_THAT(solve_exact({grid, objective}).taken, ElementsAre(2, 1));
  const Solution up = solve_monotone({grid, objective}, Direction::kUp);
  EXPECT_THAT(up.taken, ElementsAre(2, 1));
  const Solution down = solve_monotone({grid, objective}, Direction::kDown);
  EXPECT_EQ(down.status, SolveStatus::kOptimal);
  EXPECT_THAT(down.taken, ElementsAre(1, 1));
  EXPECT_EQ(down.flagged, (Counts{5, 4}));
  EXPECT_EQ(down.gap, 0);
}

// Level 1 has no score above 0.3 and flags nothing; with `down` its threshold must be no higher than that of level 0,
// and any number between 0.3 and 0.9 is.
TEST(SolveMonotone, LetsALevelFlagNothingWithAFiniteThreshold) {
  const Grid grid = grid_from_bins({1}, {{{0.9, {4, 4}}, {0.2, {4, 0}}}, {{0.3, {4, 0}}}});
  const Solution solution = solve_monotone({grid, max_recall_at_precision({1, 1})}, Direction::kDown);
  EXPECT_THAT(solution.taken, ElementsAre(1, 0));
  EXPECT_THAT(monotone_thresholds(grid, solution.taken, Direction::kDown), ElementsAre(Optional(0.6), Optional(0.6)));
  EXPECT_THAT(monotone_thresholds(grid, solution.taken, Direction::kUp), ElementsAre(Optional(0.5), std::nullopt));
}

// Level 0 begins with 1/2 and level 1 with 3/4 at a lower score. `up` can flag level 0 without level 1 but not level 1
// without the two bins of level 0 above 0.6: 1/2, 1/4 or 4/8. `down` can take level 1 alone: 3/4.
TEST(SolveMonotone, SaysWhatPrecisionIsAttainableWhenTheBoundIsNot) {
  const Grid grid = grid_from_bins({1}, {{{0.9, {2, 1}}, {0.7, {2, 0}}}, {{0.6, {4, 3}}}});
  const Objective objective = max_recall_at_precision({9, 10});
  const Solution up = solve_monotone({grid, objective}, Direction::kUp);
  EXPECT_EQ(up.status, SolveStatus::kInfeasible);
  EXPECT_THAT(up.taken, ElementsAre(0, 0));
  EXPECT_THAT(up.best_attainable, Optional(0.5));
  EXPECT_THAT(solve_monotone({grid, objective}, Direction::kDown).best_attainable, Optional(0.75));
  const Grid negatives = make_grid({{0}, {0}}, {{3}, {4}});
  EXPECT_THAT(solve_monotone({negatives, objective}, Direction::kUp).best_attainable, Optional(0.0));
  const Grid nothing = make_grid({{}, {0}}, {{}, {0}});
  EXPECT_EQ(solve_monotone({nothing, objective}, Direction::kUp).status, SolveStatus::kInfeasible);
  EXPECT_EQ(solve_monotone({nothing, objective}, Direction::kUp).best_attainable, std::nullopt);
}

TEST(SolveMonotone, EqualsBruteForceForEveryObjectiveOnManyRandomGrids) {
  constexpr int kGridsPerShape = 300;  // of twelve shapes, two directions, six objectives: 43,200 problems
  std::map<SolveStatus, int> seen;
  int coupled = 0;  // the free optimum is not monotone
  int with_gap = 0;
  std::mt19937_64 random(31415);
  for (const std::string& shape : test::grid_shapes()) {
    for (int instance = 0; instance < kGridsPerShape; ++instance) {
      Grid grid = test::make_random_grid(shape, random).grid;
      if (instance % 4 != 0) scatter_scores(grid, random);
      for (const Objective& objective : test::random_objectives(random)) {
        for (const Direction direction : kDirections) {
          SCOPED_TRACE(shape + " instance " + std::to_string(instance) + "\n" + print(grid, objective, direction));
          const auto accept = [&](const auto& taken) { return monotone_by_greedy(grid, taken, direction); };
          const auto expected = test::brute_force(grid, objective, accept);
          const Problem problem(grid, objective);
          const Solution solution = solve_monotone(problem, direction);
          ++seen[solution.status];
          if (!expected) {
            ASSERT_EQ(solution.status, SolveStatus::kInfeasible);
            if (objective.goal != Goal::kPrecision) continue;
            // The best precision of all, as the objective that asks for no recall has it.
            Grid unweighted = grid;
            unweighted.unit = 1;
            unweighted.totals.reset();
            const auto best = test::brute_force(unweighted, max_precision_at_recall({0, 1}), accept);
            const Counts total = total_counts(grid);
            if (best) {
              const double precision =
                  static_cast<double>(best->flagged.positives) / static_cast<double>(best->flagged.rows);
              ASSERT_THAT(solution.best_attainable, Optional(precision));
            } else {
              ASSERT_EQ(solution.best_attainable, total.rows > 0 ? std::optional(0.0) : std::nullopt);
            }
            continue;
          }
          ASSERT_EQ(solution.status, SolveStatus::kOptimal);
          ASSERT_EQ(solution.flagged, expected->flagged);
          ASSERT_EQ(solution.taken, expected->taken);
          ASSERT_EQ(solution.flagged, flagged_counts(grid, solution.taken));
          ASSERT_EQ(solution.value, problem.value(solution.flagged));
          ASSERT_EQ(solution.gap, 0);
          ASSERT_TRUE(is_monotone(grid, solution.taken, direction));
          ASSERT_NO_FATAL_FAILURE(check_thresholds(grid, solution.taken, direction));
          const Solution free = solve_exact(problem);
          ASSERT_FALSE(problem.is_better(solution.flagged, free.flagged));
          ASSERT_EQ(is_monotone(grid, free.taken, direction), accept(free.taken));
          if (!accept(free.taken)) {
            ++coupled;
            ASSERT_THROW((void)monotone_thresholds(grid, free.taken, direction), InvalidInput);
          } else {
            ASSERT_EQ(solution.taken, free.taken);
          }
          with_gap += problem.is_better(free.flagged, solution.flagged) ? 1 : 0;
        }
      }
    }
  }
  // The test means little unless it reached all outcomes and the condition made a difference.
  EXPECT_GT(seen[SolveStatus::kOptimal], 30'000);
  EXPECT_GT(seen[SolveStatus::kInfeasible], 1'000);
  EXPECT_EQ(seen[SolveStatus::kFeasible], 0);
  EXPECT_GT(coupled, 5'000);
  EXPECT_GT(with_gap, 3'000);
}

/// Distinct scores of single rows, drawn so that the levels overlap and higher levels are noisier.
Grid make_large_grid(std::size_t num_levels, std::size_t num_scores, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<std::vector<Bin>> levels(num_levels);
  std::vector<double> edges;
  for (std::size_t level = 0; level < num_levels; ++level) {
    if (level > 0) edges.push_back(static_cast<double>(level));
    const double noise = 0.8 * static_cast<double>(level) / static_cast<double>(num_levels);
    for (std::size_t row = 0; row < num_scores; ++row) {
      const double score = unit(random);
      const double rate = (1 - noise) * score + noise * 0.4 * unit(random);
      levels[level].push_back({score, {1, unit(random) < rate ? 1 : 0}});
    }
  }
  return grid_from_bins(std::move(edges), std::move(levels));
}

const std::vector<Objective>& large_objectives() {
  static const std::vector<Objective> objectives = {
      max_recall_at_precision({4, 5}),  max_precision_at_recall({1, 2}), max_recall_at_false_positive_rate({1, 50}),
      max_recall_at_flag_rate({1, 10}), min_cost({3, 1}, {1, 1}),        max_f_beta({1, 2})};
  return objectives;
}

TEST(SolveMonotone, ProvesOptimaOfLargerGrids) {
  const Grid grid = make_large_grid(5, 2000, 3);
  for (const Objective& objective : large_objectives()) {
    const Problem problem(grid, objective);
    const Solution free = solve_exact(problem);
    const Solution single = solve_st(problem);
    for (const Direction direction : kDirections) {
      SCOPED_TRACE(describe(objective) + (direction == Direction::kUp ? ", up" : ", down"));
      const Solution solution = solve_monotone(problem, direction);
      EXPECT_EQ(solution.status, SolveStatus::kOptimal);
      EXPECT_TRUE(problem.is_feasible(solution.flagged));
      EXPECT_FALSE(problem.is_better(solution.flagged, free.flagged));
      EXPECT_FALSE(problem.is_better(single.flagged, solution.flagged));
      EXPECT_TRUE(monotone_by_greedy(grid, solution.taken, direction));
      check_thresholds(grid, solution.taken, direction);
    }
  }
}

TEST(SolveMonotone, GivesTheSameForAnyNumberOfThreads) {
  const Grid grid = make_large_grid(4, 3000, 4);
  for (const Objective& objective : large_objectives()) {
    for (const Direction direction : kDirections) {
      const Problem problem(grid, objective);
      std::vector<std::vector<std::int32_t>> taken;
      for (const std::size_t num_threads : {1, 4}) {
        const tbb::global_control control(tbb::global_control::max_allowed_parallelism, num_threads);
        taken.push_back(solve_monotone(problem, direction).taken);
      }
      EXPECT_EQ(taken[0], taken[1]) << describe(objective);
    }
  }
}

TEST(SolveMonotone, EqualsTheExactSolverOnOneLevel) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Grid grid = make_large_grid(1, 500, seed);
    for (const Objective& objective : large_objectives()) {
      const Problem problem(grid, objective);
      for (const Direction direction : kDirections) {
        EXPECT_EQ(solve_monotone(problem, direction).taken, solve_exact(problem).taken) << describe(objective);
      }
    }
  }
}

// All rows above 0.5 are positive, so that every prefix of them is on the first side of the hull. A search through all
// sums of such prefixes took 20 seconds on 3,000 scores. Nothing can be better than what the bound allows, and the free
// optimum is not.
TEST(SolveMonotone, FindsItsWayAlongALongSideOfTheHull) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const std::uint64_t most_rows : {1, 4}) {
    std::vector<std::vector<Bin>> levels(4);
    for (auto& bins : levels) {
      for (int bin = 0; bin < 150; ++bin) {
        const double score = unit(random);
        const auto rows = static_cast<std::int64_t>(most_rows / 2 + 1 + random() % most_rows);
        bins.push_back({score, {rows, score > 0.5 ? rows : 0}});
      }
    }
    const Grid grid = grid_from_bins({1, 2, 3}, levels);
    for (const Objective& objective : {max_recall_at_flag_rate({1, 4}), max_recall_at_flag_rate({1, 3}),
                                       max_precision_at_recall({1, 3}), max_precision_at_recall({3, 4})}) {
      const Problem problem(grid, objective);
      for (const Direction direction : kDirections) {
        SCOPED_TRACE(describe(objective) + (direction == Direction::kUp ? ", up" : ", down"));
        const Solution solution = solve_monotone(problem, direction);
        EXPECT_EQ(solution.status, SolveStatus::kOptimal);
        EXPECT_EQ(solution.flagged, solve_exact(problem).flagged);
        EXPECT_TRUE(monotone_by_greedy(grid, solution.taken, direction));
      }
    }
  }
}

TEST(SolveMonotone, SaysSoWhenTheStateLimitEndsTheSearch) {
  const Grid grid = make_large_grid(5, 300, 5);
  int limited = 0;
  for (std::int64_t bound = 60; bound < 95; ++bound) {
    for (const Objective& objective : {max_recall_at_precision({bound, 100}), max_precision_at_recall({bound, 100})}) {
      for (const Direction direction : kDirections) {
        const Problem problem(grid, objective);
        const Solution exact = solve_monotone(problem, direction);
        const Solution limit = solve_monotone(problem, direction, {.max_states = 0});
        ASSERT_EQ(exact.status, SolveStatus::kOptimal);
        EXPECT_TRUE(problem.is_feasible(limit.flagged));
        EXPECT_TRUE(is_monotone(grid, limit.taken, direction));
        EXPECT_LE(limit.value, exact.value);
        EXPECT_GE(limit.bound, exact.value);
        limited += limit.status == SolveStatus::kFeasible ? 1 : 0;
      }
    }
  }
  EXPECT_GT(limited, 10);
}

TEST(SolveMonotone, TakesBetasAndWeightsOfManyDigits) {
  // Heights of nearly 2^120: prices of 20 digits times 2^52 rows.
  const std::int64_t unit = std::int64_t{1} << 48;
  const Grid grid = grid_from_bins({1}, {{{0.9, {3 * unit, 3 * unit}}, {0.5, {3 * unit, unit}}},
                                         {{0.8, {3 * unit, 2 * unit}}, {0.4, {3 * unit, 2 * unit}}}});
  for (const Objective& objective : {max_f_beta({9'999'999'999, 9'999'999'998}),
                                     min_cost({9'999'999'999, 9'999'999'998}, {9'999'999'997, 9'999'999'996})}) {
    for (const Direction direction : kDirections) {
      // 3/3, then 2/3 and 2/3 of level 1: 7 of 9 with cost 3 and 2 units of FP and 1 of FN. Down allows it, up does
      // not.
      const Solution solution = solve_monotone({grid, objective}, direction);
      if (direction == Direction::kDown) {
        EXPECT_THAT(solution.taken, ElementsAre(1, 2));
      }
      EXPECT_EQ(solution.status, SolveStatus::kOptimal);
      EXPECT_TRUE(monotone_by_greedy(grid, solution.taken, direction));
    }
  }
}

TEST(MonotoneThresholds, ShareADecimalWhereTheirRangesLeaveNothingElse) {
  // Ranges: (0.2, 0.8], (0.3, 0.5]. Alone they are cut at 0.5 and 0.4.
  const Grid grid = grid_from_bins({1}, {{{0.8, {1, 1}}, {0.2, {1, 0}}}, {{0.5, {1, 1}}, {0.3, {1, 0}}}});
  const std::vector<std::int32_t> taken = {1, 1};
  EXPECT_THAT(monotone_thresholds(grid, taken, Direction::kDown), ElementsAre(Optional(0.5), Optional(0.4)));
  const auto up = monotone_thresholds(grid, taken, Direction::kUp);
  EXPECT_THAT(up, ElementsAre(Optional(0.4), Optional(0.4)));
}

TEST(MonotoneThresholds, RefusesBoundariesThatAreNotMonotone) {
  const Grid grid = grid_from_bins({1}, {{{0.8, {1, 1}}, {0.6, {1, 0}}}, {{0.5, {1, 1}}, {0.3, {1, 0}}}});
  EXPECT_FALSE(is_monotone(grid, std::vector<std::int32_t>{1, 1}, Direction::kUp));
  EXPECT_THROW((void)monotone_thresholds(grid, std::vector<std::int32_t>{1, 1}, Direction::kUp), InvalidInput);
  EXPECT_THROW((void)is_monotone(grid, std::vector<std::int32_t>{1}, Direction::kUp), InvalidInput);
  EXPECT_THROW((void)is_monotone(grid, std::vector<std::int32_t>{1, 3}, Direction::kUp), InvalidInput);
}

}  // namespace
}  // namespace limen
