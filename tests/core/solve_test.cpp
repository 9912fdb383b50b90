// SPDX-License-Identifier: MIT
#include "limen/solve/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "limen/base/error.h"
#include "limen/solve/chain.h"
#include "reference/brute_force.h"
#include "support/random_grid.h"

namespace limen {
namespace {

using test::brute_force;
using test::BruteForce;
using testing::ElementsAre;

constexpr Method kMethods[] = {Method::kSt,     Method::kHr,     Method::kGmt,  Method::kMist,
                               Method::kEwDpmt, Method::kVwDpmt, Method::kExact};

/// How much better `a` is than `b` for the objective, both values of it.
double advantage(const Objective& objective, double a, double b) {
  return objective.goal == Goal::kCost ? b - a : a - b;
}

std::string print(const Grid& grid, const Objective& objective) {
  std::string text = describe(objective) + " (bound " + to_string(objective.bound) + ")\n";
  for (const auto& level : grid.levels) {
    for (const Bin& bin : level) {
      text += std::to_string(bin.counts.positives) + "/" + std::to_string(bin.counts.rows) + " ";
    }
    text += "\n";
  }
  return text;
}

/// A certificate must hold on its own: counts re-added, feasibility re-checked, value on the right side of the bound.
void check_certificate(const Grid& grid, const Objective& objective, const Solution& solution) {
  const Totals totals = totals_of(grid);
  ASSERT_EQ(solution.taken.size(), grid.num_levels());
  if (solution.status == SolveStatus::kInfeasible) return;
  EXPECT_EQ(solution.flagged, flagged_counts(grid, solution.taken));
  EXPECT_TRUE(is_feasible(objective, totals, solution.flagged));
  EXPECT_EQ(solution.value, objective_value(objective, totals, solution.flagged));
  EXPECT_GE(advantage(objective, solution.bound, solution.value), 0);
  EXPECT_EQ(solution.gap == 0, solution.status == SolveStatus::kOptimal);
}

// Two levels, sigma = 2/3, bins from the highest score down:
//   level 0:  3/3  1/2  1/3          prefixes (rows, positives): (3,3) (5,4) (8,5)
//   level 1:  2/3  2/2               prefixes: (3,2) (5,4)
// weight = 2 * rows - 3 * positives <= 0:  level 0: 0, -3, -2, 1;  level 1: 0, 0, -2.
// Taking everything has weight 1 - 2 = -1 <= 0: 9 of 13, precision 0.692 >= 0.667. Nothing can have more positives.
TEST(SolveExact, TakesEverythingWhereTheBoundAllows) {
  const Grid grid = make_grid({{3, 1, 1}, {2, 2}}, {{3, 2, 3}, {3, 2}});
  const Solution solution = solve_exact({grid, max_recall_at_precision({2, 3})});
  EXPECT_EQ(solution.status, SolveStatus::kOptimal);
  EXPECT_THAT(solution.taken, ElementsAre(3, 2));
  EXPECT_EQ(solution.flagged, (Counts{13, 9}));
  EXPECT_EQ(solution.gap, 0);
}

// sigma = 3/4 on the same grid: weight = 3 * rows - 4 * positives: level 0: 0, -3, -1, 4;  level 1: 0, 1, -1.
// (5,4)+(5,4) has weight -2: 8 of 10. (8,5)+(5,4) has weight 3: out. So 8 true positives.
TEST(SolveExact, StopsWhereTheNextBinWouldBreakTheBound) {
  const Grid grid = make_grid({{3, 1, 1}, {2, 2}}, {{3, 2, 3}, {3, 2}});
  const Solution solution = solve_exact({grid, max_recall_at_precision({3, 4})});
  EXPECT_EQ(solution.status, SolveStatus::kOptimal);
  EXPECT_THAT(solution.taken, ElementsAre(2, 2));
  EXPECT_EQ(solution.flagged, (Counts{10, 8}));
}

TEST(SolveExact, SaysWhatPrecisionIsAttainableWhenTheBoundIsNot) {
  const Grid grid = make_grid({{1, 1}, {2, 0}}, {{2, 2}, {3, 2}});
  for (const Method method : kMethods) {
    const Solution solution = solve(method, grid, max_recall_at_precision({9, 10}));
    EXPECT_EQ(solution.status, SolveStatus::kInfeasible) << to_string(method);
    EXPECT_THAT(solution.taken, ElementsAre(0, 0));
    // ST and HR reach less: a single cut takes 1/2 and 2/3 together, 3 of 5; HR takes 2/3 first.
    EXPECT_DOUBLE_EQ(solution.best_attainable.value(), method == Method::kSt ? 3.0 / 5 : 2.0 / 3) << to_string(method);
  }
}

TEST(SolveExact, DecidesABoundThatFloatingPointWouldMiss) {
  // 9 of 10 is exactly 0.9, but 0.9 * 10 > 9 in some roundings and 0.9 is no double. 899,999,999 of a billion is not.
  EXPECT_EQ(solve_exact({make_grid({{9}}, {{10}}), max_recall_at_precision(parse_rational("0.9"))}).flagged.positives,
            9);
  const Grid close = make_grid({{899'999'999}}, {{1'000'000'000}});
  EXPECT_EQ(solve_exact({close, max_recall_at_precision(parse_rational("0.9"))}).status, SolveStatus::kInfeasible);
  EXPECT_EQ(solve_exact({close, max_recall_at_precision(parse_rational("0.899999999"))}).status, SolveStatus::kOptimal);
}

TEST(SolveExact, EqualsBruteForceForEveryObjectiveOnManyRandomGrids) {
  constexpr int kGridsPerShape = 1000;  // of twelve shapes: 12,000 grids, 72,000 problems
  std::map<SolveStatus, int> seen;
  int with_cut_block = 0;
  std::mt19937_64 random(20240);
  for (const std::string& shape : test::grid_shapes()) {
    for (int instance = 0; instance < kGridsPerShape; ++instance) {
      const test::RandomGrid sample = test::make_random_grid(shape, random);
      const Grid& grid = sample.grid;
      for (const Objective& objective : test::random_objectives(random)) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + "\n" + print(grid, objective));
        const auto expected = brute_force(grid, objective);
        const Solution exact = solve_exact({grid, objective});
        ++seen[exact.status];
        check_certificate(grid, objective, exact);
        if (!expected) {
          ASSERT_EQ(exact.status, SolveStatus::kInfeasible);
          continue;
        }
        ASSERT_EQ(exact.status, SolveStatus::kOptimal);
        ASSERT_EQ(exact.flagged, expected->flagged);
        ASSERT_EQ(exact.taken, expected->taken);
        // Bound of the relaxation >= exact >= every other method.
        const double relaxed = Problem(grid, objective).relaxation_bound();
        ASSERT_GE(advantage(objective, relaxed, exact.value), -1e-12);
        if (relaxed != exact.value) ++with_cut_block;
        for (const Method method : kMethods) {
          if (method == Method::kVwDpmt && sample.weighted) continue;
          SCOPED_TRACE(std::string(to_string(method)));
          const Solution other = solve(method, grid, objective);
          check_certificate(grid, objective, other);
          if (other.status == SolveStatus::kInfeasible) {
            ASSERT_NE(method, Method::kVwDpmt);
            continue;
          }
          ASSERT_FALSE(is_better(objective, totals_of(grid), other.flagged, exact.flagged));
          if (method == Method::kVwDpmt) {
            ASSERT_EQ(other.taken, exact.taken);
          }
          if (method == Method::kEwDpmt && sample.equal_bins) {
            ASSERT_EQ(other.flagged, exact.flagged);
          }
        }
      }
    }
  }
  // The test means little unless it reached all outcomes and the search, not only the greedy part.
  EXPECT_GT(seen[SolveStatus::kOptimal], 40'000);
  EXPECT_GT(seen[SolveStatus::kInfeasible], 1'000);
  EXPECT_EQ(seen[SolveStatus::kFeasible], 0);
  EXPECT_GT(with_cut_block, 5'000);
}

/// A grid of many levels and bins, too large for brute force.
Grid make_large_grid(std::size_t num_levels, std::size_t num_bins, std::int64_t max_rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::int64_t>> rows(num_levels);
  std::vector<std::vector<std::int64_t>> positives(num_levels);
  for (std::size_t level = 0; level < num_levels; ++level) {
    for (std::size_t bin = 0; bin < num_bins; ++bin) {
      const auto n = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(max_rows));
      const double rate = 0.95 - 0.9 * static_cast<double>(bin) / static_cast<double>(num_bins) -
                          0.05 * static_cast<double>(level) / static_cast<double>(num_levels);
      std::binomial_distribution<std::int64_t> positive(n, std::max(0.0, rate));
      rows[level].push_back(n);
      positives[level].push_back(positive(random));
    }
  }
  return make_grid(positives, rows);
}

TEST(SolveExact, AgreesWithTheDynamicProgrammesOnLargerGrids) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Grid unequal = make_large_grid(5, 40, 30, seed);
    const Grid equal = [&] {
      std::vector<std::vector<std::int64_t>> positives(6);
      std::vector<std::vector<std::int64_t>> rows(6);
      std::mt19937_64 random(seed);
      for (std::size_t level = 0; level < 6; ++level) {
        for (int bin = 0; bin < 50; ++bin) {
          rows[level].push_back(20);
          positives[level].push_back(static_cast<std::int64_t>(random() % 21));
        }
      }
      return make_grid(positives, rows);
    }();
    for (const char* bound : {"0.6", "0.75", "0.8"}) {
      const Objective objective = max_recall_at_precision(parse_rational(bound));
      EXPECT_EQ(solve_vw_dpmt({unequal, objective}).taken, solve_exact({unequal, objective}).taken);
      EXPECT_EQ(solve_ew_dpmt({equal, objective}).flagged, solve_exact({equal, objective}).flagged);
      EXPECT_EQ(solve_vw_dpmt({equal, objective}).taken, solve_exact({equal, objective}).taken);
    }
    for (const Objective& objective : {max_precision_at_recall({3, 5}), max_recall_at_false_positive_rate({1, 7}),
                                       max_recall_at_flag_rate({2, 9}), max_f_beta({1, 2}), min_cost({2, 1}, {3, 1})}) {
      EXPECT_EQ(solve_vw_dpmt({unequal, objective}).flagged, solve_exact({unequal, objective}).flagged)
          << describe(objective);
    }
  }
}

TEST(SolveExact, SaysSoWhenTheStateLimitEndsTheSearch) {
  const Grid grid = make_large_grid(6, 60, 50, 7);
  // The bound is reached only with many partial solutions: a limit of one forces the honest way out.
  int limited = 0;
  for (std::int64_t bound = 60; bound < 95; ++bound) {
    const Objective objective = max_recall_at_precision({bound, 100});
    const Solution exact = solve_exact({grid, objective});
    const Solution limit = solve_exact({grid, objective}, {.max_states = 0});
    check_certificate(grid, objective, limit);
    EXPECT_LE(limit.value, exact.value);
    EXPECT_GE(limit.bound, exact.value);
    limited += limit.status == SolveStatus::kFeasible ? 1 : 0;
  }
  EXPECT_GT(limited, 0);
}

// The hardness proof's construction: level 0 has n = T rows of rate 2 sigma, level i has a_i rows of rate 2 epsilon.
// A boundary with precision >= sigma and recall >= eta exists iff some subset of the a_i adds up to T. Everything is
// multiplied by 2 (T + 1) * 2 to be whole: sigma = 1/2, epsilon = 1 / (8 (T + 1)) < sigma / (2 (T + 1)).
TEST(SolveExact, SolvesSubsetSumThroughTheHardnessConstruction) {
  std::mt19937_64 random(42);
  int solvable = 0;
  int unsolvable = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const std::size_t num_items = 3 + random() % 8;
    std::vector<std::int64_t> items;
    std::int64_t sum = 0;
    for (std::size_t item = 0; item < num_items; ++item) {
      items.push_back(static_cast<std::int64_t>(1 + random() % 60));
      sum += items.back();
    }
    const std::int64_t target = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(sum));
    const std::int64_t scale = 4 * (target + 1);
    std::vector<std::vector<std::int64_t>> rows = {{target * scale}};
    std::vector<std::vector<std::int64_t>> positives = {{target * scale}};  // 2 sigma T
    for (const std::int64_t item : items) {
      rows.push_back({item * scale});
      positives.push_back({item});  // 2 epsilon a = a / (4 (T + 1)), scaled
    }
    const std::int64_t wanted = target * scale + target;  // 2 (sigma + epsilon) T, scaled

    std::vector<bool> reachable(static_cast<std::size_t>(sum) + 1, false);
    reachable[0] = true;
    for (const std::int64_t item : items) {
      for (std::int64_t total = sum; total >= item; --total) {
        if (reachable[static_cast<std::size_t>(total - item)]) reachable[static_cast<std::size_t>(total)] = true;
      }
    }
    const bool expected = reachable[static_cast<std::size_t>(target)];
    const Solution solution = solve_exact({make_grid(positives, rows), max_recall_at_precision({1, 2})});
    ASSERT_EQ(solution.status, SolveStatus::kOptimal);
    EXPECT_EQ(solution.flagged.positives >= wanted, expected) << "instance " << instance;
    (expected ? solvable : unsolvable) += 1;
  }
  EXPECT_GT(solvable, 30);
  EXPECT_GT(unsolvable, 30);
}

TEST(SolveMist, GapIsAtMostTheGroupOfEqualRatesAtWhichItStops) {
  std::mt19937_64 random(5);
  int with_gap = 0;
  for (int instance = 0; instance < 5000; ++instance) {
    const auto& shapes = test::grid_shapes();
    const Grid grid = test::make_random_grid(shapes[random() % shapes.size()], random).grid;
    const Objective objective = max_recall_at_precision(test::random_bound(random));
    const Solution mist = solve_mist({grid, objective});
    if (mist.status == SolveStatus::kInfeasible) continue;
    const Chain chain = hull_chain(grid);
    std::int64_t group = 0;  // positives of the group after the stop
    for (std::size_t step = 0; step < chain.size(); ++step) {
      if (chain[step].flagged.rows <= mist.flagged.rows) continue;
      group = chain[step].flagged.positives - mist.flagged.positives;
      if (chain[step].group_end) break;
    }
    EXPECT_LE(mist.gap, static_cast<double>(group)) << print(grid, objective);
    with_gap += mist.gap > 0 ? 1 : 0;
  }
  EXPECT_GT(with_gap, 150);
}

TEST(SolveGmt, TakesTheLargestFeasiblePrefixOfEachLevelAlone) {
  // Level 0: 2/2, 0/1, 1/1 -> all of it has 3/4. Level 1: 1/2 alone is below 3/4.
  const Grid grid = make_grid({{2, 0, 1}, {1}}, {{2, 1, 1}, {2}});
  const Solution solution = solve_gmt({grid, max_recall_at_precision({3, 4})});
  EXPECT_THAT(solution.taken, ElementsAre(3, 0));
  EXPECT_EQ(solution.flagged, (Counts{4, 3}));
}

TEST(SolveSt, CutsAllLevelsAtOneScore) {
  Grid grid = make_grid({{2, 0}, {1, 3}}, {{2, 4}, {1, 4}});
  // Thresholds 0, -1 in both levels: one threshold takes both first bins, or everything.
  EXPECT_THAT(solve_st({grid, max_recall_at_precision({9, 10})}).taken, ElementsAre(1, 1));
  EXPECT_THAT(solve_st({grid, max_recall_at_precision({1, 2})}).taken, ElementsAre(2, 2));
}

TEST(SolveHr, LowersTheThresholdAsUncertaintyRises) {
  Grid grid = make_grid({{1, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {1, 1, 1}});
  grid.levels[0] = {{0.9, {2, 2}}, {0.5, {2, 1}}, {0.1, {2, 0}}};
  grid.levels[1] = {{0.9, {2, 2}}, {0.5, {2, 1}}, {0.1, {2, 0}}};
  grid.scaled_uncertainty = {0, 0.45};
  // Order of threshold + scaled uncertainty: 1.35 (level 1), 0.95 (level 1), 0.9 (level 0), 0.55, 0.5, 0.1.
  const Solution solution = solve_hr({grid, max_recall_at_precision({5, 6})});
  EXPECT_THAT(solution.taken, ElementsAre(1, 2));
  EXPECT_EQ(solution.flagged, (Counts{6, 5}));
}

TEST(SolveEwDpmt, JudgesUnequalBinsByTheirTrueCounts) {
  // Average bin: 18 rows. Sizes: level 0 has 10 rows -> 1, 28 -> 2; level 1 has 26 -> 1. For size 1 the programme
  // prefers the 14 positives of level 1 to the 9 of level 0, for size 2 the 24 of level 0: 14 of 26 and 24 of 28 are
  // below the bound of 0.87. Neither may be returned; 9 of 10 remains, because prefixes that no feasible boundary can
  // have are left out.
  const Grid grid = make_grid({{9, 15}, {14}}, {{10, 18}, {26}});
  const Objective objective = max_recall_at_precision({87, 100});
  EXPECT_EQ(solve_ew_dpmt({grid, objective}).flagged, (Counts{10, 9}));
}

TEST(SolveEwDpmt, CountsATieHeavyBinAsSeveral) {
  // One bin of level 1 holds ten ordinary bins. Counted as one bin it would crowd out everything else of its size.
  std::vector<std::int64_t> positives(20, 9);
  std::vector<std::int64_t> rows(20, 10);
  const Grid grid = make_grid({positives, {60}}, {rows, {100}});
  const Solution solution = solve_ew_dpmt({grid, max_recall_at_precision({9, 10})});
  EXPECT_EQ(solution.flagged, (Counts{200, 180}));
}

TEST(SolveVwDpmt, RefusesWeights) {
  Grid grid = make_grid({{1}}, {{2}});
  grid.unit = 0.5;
  EXPECT_THROW(solve_vw_dpmt({grid, max_recall_at_precision({1, 2})}), InvalidInput);
}

TEST(Solve, RefusesBoundsOutsideZeroToOne) {
  const Grid grid = make_grid({{1}}, {{2}});
  for (const Method method : kMethods) {
    try {
      (void)solve(method, grid, max_recall_at_precision({3, 2}));
      FAIL() << to_string(method);
    } catch (const InvalidInput& error) {
      EXPECT_STREQ(error.what(), "objective: precision bound is 1.5, must be between 0 and 1");
    }
  }
}

TEST(Solve, HandlesALevelWithoutBinsAndAGridWithoutRows) {
  const Grid grid = make_grid({{}, {2, 1}}, {{}, {2, 3}});
  const Grid empty = make_grid({{}, {}}, {{}, {}});
  for (const Method method : kMethods) {
    EXPECT_EQ(solve(method, grid, max_recall_at_precision({1, 1})).flagged, (Counts{2, 2})) << to_string(method);
    EXPECT_EQ(solve(method, empty, max_recall_at_precision({1, 2})).status, SolveStatus::kInfeasible);
    EXPECT_EQ(solve(method, empty, max_recall_at_flag_rate({1, 2})).flagged, (Counts{0, 0}));
  }
}

TEST(ParseMethod, NamesEveryMethodAndRefusesOthers) {
  for (const Method method : kMethods) EXPECT_EQ(parse_method(to_string(method)), method);
  try {
    (void)parse_method("dp");
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(),
                 "method \"dp\" is not one of st, hr, gmt, mist, ew-dpmt, vw-dpmt, smooth, exact, joint, auto");
  }
}

}  // namespace
}  // namespace limen
