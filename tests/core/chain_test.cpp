// SPDX-License-Identifier: MIT
#include "limen/solve/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "limen/solve/isotonic.h"
#include "limen/solve/solve.h"
#include "support/boundaries.h"
#include "support/random_grid.h"

namespace limen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Method kMethods[] = {Method::kSt, Method::kHr, Method::kGmt, Method::kMist};

std::vector<std::pair<int, int>> steps_of(const Chain& chain) {
  std::vector<std::pair<int, int>> steps;
  for (const ChainStep& step : chain) steps.emplace_back(step.level, step.taken);
  return steps;
}

std::vector<bool> ends_of(const Chain& chain) {
  std::vector<bool> ends;
  for (const ChainStep& step : chain) ends.push_back(step.group_end);
  return ends;
}

/// The boundaries at which the chain may stop, the empty one first.
std::vector<std::vector<std::int32_t>> stops_of(const Chain& chain, std::size_t num_levels) {
  std::vector<std::vector<std::int32_t>> stops = {taken_after(chain, 0, num_levels)};
  for (std::size_t step = 0; step < chain.size(); ++step) {
    if (chain[step].group_end) stops.push_back(taken_after(chain, step + 1, num_levels));
  }
  return stops;
}

/// Calls `check(grid)` for random grids of every shape, with thresholds that levels share or not.
template <typename Check>
void on_random_grids(int per_shape, std::uint64_t seed, Check check) {
  for (const std::string& shape : test::grid_shapes()) {
    std::mt19937_64 random(seed);
    for (int instance = 0; instance < per_shape; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      Grid grid = test::make_random_grid(shape, random).grid;
      test::draw_thresholds(grid, random);
      check(grid, random);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Level 0: 0.9 (2/2), 0.5 (0/2). Level 1: 0.9 (1/2), 0.7 (1/1).
Grid two_levels() {
  Grid grid = make_grid({{2, 0}, {1, 1}}, {{2, 2}, {2, 1}});
  grid.levels[0][0] = {0.9, grid.levels[0][0].counts};
  grid.levels[0][1] = {0.5, grid.levels[0][1].counts};
  grid.levels[1][0] = {0.9, grid.levels[1][0].counts};
  grid.levels[1][1] = {0.7, grid.levels[1][1].counts};
  return grid;
}

TEST(ScoreChain, JoinsBinsByFallingScoreAndEqualScoresTogether) {
  const Chain chain = score_chain(two_levels());
  EXPECT_THAT(steps_of(chain), ElementsAre(std::pair(0, 1), std::pair(1, 1), std::pair(1, 2), std::pair(0, 2)));
  EXPECT_THAT(ends_of(chain), ElementsAre(false, true, true, true));
  EXPECT_EQ(chain[1].flagged, (Counts{4, 3}));
  EXPECT_EQ(chain[3].flagged, (Counts{7, 4}));
}

// Blocks: level 0: 2/2, 0/2. Level 1: 1/2 and 1/1 pool to 2/3. Order 1, 2/3, 0.
TEST(HullChain, JoinsPooledBlocksByFallingRate) {
  const Chain chain = hull_chain(two_levels());
  EXPECT_THAT(steps_of(chain), ElementsAre(std::pair(0, 1), std::pair(1, 2), std::pair(0, 2)));
  EXPECT_THAT(ends_of(chain), ElementsAre(true, true, true));
}

// Keys with scaled uncertainty 0 and 0.3: level 0: 0.9, 0.5; level 1: 1.2, 1.0.
TEST(RecalibratedChain, AddsTheScaledUncertaintyToTheScore) {
  Grid grid = two_levels();
  grid.scaled_uncertainty = {0, 0.3};
  EXPECT_THAT(steps_of(recalibrated_chain(grid)),
              ElementsAre(std::pair(1, 1), std::pair(1, 2), std::pair(0, 1), std::pair(0, 2)));
  // None given: level / (K - 1), here 0 and 1.
  grid.scaled_uncertainty = {};
  EXPECT_THAT(steps_of(recalibrated_chain(grid)),
              ElementsAre(std::pair(1, 1), std::pair(1, 2), std::pair(0, 1), std::pair(0, 2)));
  // One level alone is not divided by zero.
  EXPECT_THAT(steps_of(recalibrated_chain(make_grid({{1, 0}}, {{1, 1}}))),
              ElementsAre(std::pair(0, 1), std::pair(0, 2)));
}

// Level 0: prefixes 2/2, 2/4 (no gain). Level 1: 1/2, 2/3: the longer one is more precise, so the shorter is never
// taken.
TEST(GreedyChain, TakesEachLevelsLongestPrefixAsTheBoundFalls) {
  const Chain chain = greedy_chain(two_levels());
  EXPECT_THAT(steps_of(chain), ElementsAre(std::pair(0, 1), std::pair(1, 2)));
  EXPECT_EQ(chain[1].flagged, (Counts{5, 4}));
}

TEST(ChainOf, GivesEveryMethodItsChain) {
  const Grid grid = two_levels();
  EXPECT_EQ(steps_of(chain_of(Method::kSt, grid)), steps_of(score_chain(grid)));
  EXPECT_EQ(steps_of(chain_of(Method::kHr, grid)), steps_of(recalibrated_chain(grid)));
  EXPECT_EQ(steps_of(chain_of(Method::kGmt, grid)), steps_of(greedy_chain(grid)));
  for (const Method method : {Method::kMist, Method::kEwDpmt, Method::kVwDpmt, Method::kExact}) {
    EXPECT_EQ(steps_of(chain_of(method, grid)), steps_of(hull_chain(grid)));
  }
}

TEST(Chain, IsEmptyForAGridWithoutBins) {
  const Grid grid = make_grid({{}, {}}, {{}, {}});
  for (const Method method : kMethods) EXPECT_THAT(chain_of(method, grid), IsEmpty()) << to_string(method);
}

TEST(Chain, IsNestedAndCountsWhatItFlags) {
  std::size_t groups = 0;
  std::size_t steps = 0;
  on_random_grids(100, 1, [&](const Grid& grid, auto&) {
    for (const Method method : kMethods) {
      SCOPED_TRACE(std::string(to_string(method)));
      const Chain chain = chain_of(method, grid);
      std::vector<std::int32_t> taken(grid.num_levels(), 0);
      for (std::size_t step = 0; step < chain.size(); ++step) {
        std::int32_t& here = taken[static_cast<std::size_t>(chain[step].level)];
        ASSERT_GT(chain[step].taken, here);
        here = chain[step].taken;
        ASSERT_EQ(chain[step].flagged, flagged_counts(grid, taken));
        ASSERT_EQ(taken_after(chain, step + 1, grid.num_levels()), taken);
        groups += chain[step].group_end ? 1 : 0;
      }
      if (!chain.empty()) {
        ASSERT_TRUE(chain.back().group_end);
      }
      steps += chain.size();
    }
  });
  EXPECT_GT(groups, 10'000U);
  EXPECT_GT(steps, groups + 1'000);
}

/// The boundaries that a threshold on `key_of(level, bin)` makes, highest first.
template <typename KeyOf>
std::vector<std::vector<std::int32_t>> boundaries_of_a_threshold(const Grid& grid, KeyOf key_of) {
  std::set<double, std::greater<>> keys;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (const Bin& bin : grid.levels[level]) keys.insert(key_of(level, bin));
  }
  std::vector<std::vector<std::int32_t>> boundaries = {std::vector<std::int32_t>(grid.num_levels(), 0)};
  for (const double key : keys) {
    std::vector<std::int32_t> taken;
    for (std::size_t level = 0; level < grid.num_levels(); ++level) {
      const auto& bins = grid.levels[level];
      taken.push_back(static_cast<std::int32_t>(
          std::count_if(bins.begin(), bins.end(), [&](const Bin& bin) { return key_of(level, bin) >= key; })));
    }
    boundaries.push_back(taken);
  }
  return boundaries;
}

TEST(ScoreChain, StopsExactlyAtTheThresholdsOnAllScores) {
  on_random_grids(100, 2, [](const Grid& grid, auto&) {
    const auto expected = boundaries_of_a_threshold(grid, [](std::size_t, const Bin& bin) { return bin.threshold; });
    ASSERT_EQ(stops_of(score_chain(grid), grid.num_levels()), expected);
  });
}

TEST(RecalibratedChain, StopsExactlyAtTheThresholdsOnScorePlusUncertainty) {
  on_random_grids(100, 3, [](Grid& grid, std::mt19937_64& random) {
    for (std::size_t level = 0; level < grid.num_levels(); ++level) {
      grid.scaled_uncertainty.push_back(static_cast<double>(random() % 5) / 4);
    }
    const auto expected = boundaries_of_a_threshold(
        grid, [&](std::size_t level, const Bin& bin) { return bin.threshold + grid.scaled_uncertainty[level]; });
    ASSERT_EQ(stops_of(recalibrated_chain(grid), grid.num_levels()), expected);
  });
}

// Every step of the hull chain, not only those that end a group, is a boundary with the most positives of all
// boundaries of as many rows or fewer.
TEST(HullChain, HasTheMostPositivesForItsRowsOfAllBoundaries) {
  int compared = 0;
  on_random_grids(60, 4, [&](const Grid& grid, auto&) {
    std::map<std::int64_t, std::int64_t> most;  // rows -> most positives of a boundary with exactly these rows
    test::for_each_boundary(grid, [&](const std::vector<std::int32_t>& taken) {
      const Counts flagged = flagged_counts(grid, taken);
      auto& best = most[flagged.rows];
      best = std::max(best, flagged.positives);
    });
    const Chain chain = hull_chain(grid);
    for (const ChainStep& step : chain) {
      for (const auto& [rows, positives] : most) {
        if (rows > step.flagged.rows) break;
        ASSERT_LE(positives, step.flagged.positives);
        ++compared;
      }
    }
    // It ends with all rows: nothing can be added.
    if (!chain.empty()) {
      ASSERT_EQ(chain.back().flagged, total_counts(grid));
    }
    // Rates never rise; a group ends where the next rate is strictly lower.
    for (std::size_t step = 0; step + 1 < chain.size(); ++step) {
      const Counts block = chain[step].flagged - (step == 0 ? Counts{} : chain[step - 1].flagged);
      const Counts next = chain[step + 1].flagged - chain[step].flagged;
      ASSERT_FALSE(higher_rate(next, block));
      ASSERT_EQ(chain[step].group_end, higher_rate(block, next));
    }
  });
  EXPECT_GT(compared, 50'000);
}

TEST(GreedyChain, StopsExactlyWhereTheGreedyMethodDoes) {
  int bounds_tried = 0;
  int stops_reached = 0;
  on_random_grids(60, 5, [&](const Grid& grid, std::mt19937_64& random) {
    // Bounds at which a level can change its mind: the precision of each of its prefixes. And others.
    std::vector<Rational> bounds = {{0, 1}, {1, 1}};
    for (const auto& level : grid.levels) {
      Counts prefix;
      for (const Bin& bin : level) {
        prefix += bin.counts;
        if (prefix.rows == 0) continue;
        const std::int64_t divisor = std::gcd(prefix.positives, prefix.rows);
        bounds.push_back({prefix.positives / divisor, prefix.rows / divisor});
        bounds.push_back(test::random_bound(random));
      }
    }
    const Chain chain = greedy_chain(grid);
    const auto stops = stops_of(chain, grid.num_levels());
    std::set<std::vector<std::int32_t>> reached;
    for (const Rational& bound : bounds) {
      const Solution gmt = solve_gmt({grid, max_recall_at_precision(bound)});
      const std::vector<std::int32_t> taken = gmt.taken;
      ASSERT_THAT(stops, testing::Contains(taken)) << to_string(bound);
      reached.insert(taken);
      ++bounds_tried;
      // The last step is the one whose own level still has precision >= bound.
      std::size_t steps = 0;
      for (std::size_t step = 0; step < chain.size(); ++step) {
        const auto& bins = grid.levels[static_cast<std::size_t>(chain[step].level)];
        const Counts prefix = total_counts(std::span(bins).first(static_cast<std::size_t>(chain[step].taken)));
        if (!is_feasible(max_recall_at_precision(bound), totals_of(grid), prefix)) break;
        steps = step + 1;
      }
      ASSERT_EQ(taken_after(chain, steps, grid.num_levels()), taken) << to_string(bound);
    }
    for (std::size_t stop = 1; stop < stops.size(); ++stop) {
      ASSERT_TRUE(reached.contains(stops[stop])) << "stop " << stop;
      ++stops_reached;
    }
  });
  EXPECT_GT(bounds_tried, 5'000);
  EXPECT_GT(stops_reached, 1'500);
}

TEST(Recount, KeepsTheStepsAndCountsOtherRows) {
  on_random_grids(60, 6, [](const Grid& grid, std::mt19937_64& random) {
    Grid counted = grid;
    for (auto& level : counted.levels) {
      for (Bin& bin : level) {
        const auto rows = static_cast<std::int64_t>(random() % 20);
        bin.counts = {rows, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows + 1))};
      }
    }
    for (const Method method : kMethods) {
      const Chain chain = chain_of(method, grid);
      const Chain again = recount(chain, counted);
      ASSERT_EQ(steps_of(again), steps_of(chain));
      ASSERT_EQ(ends_of(again), ends_of(chain));
      for (std::size_t step = 0; step < chain.size(); ++step) {
        ASSERT_EQ(again[step].flagged, flagged_counts(counted, taken_after(chain, step + 1, grid.num_levels())));
      }
      // Its own grid changes nothing.
      const Chain same = recount(chain, grid);
      for (std::size_t step = 0; step < chain.size(); ++step) ASSERT_EQ(same[step].flagged, chain[step].flagged);
    }
  });
}

TEST(BestPrefix, IsTheBestFeasibleStop) {
  int none = 0;
  int inner = 0;
  on_random_grids(60, 7, [&](const Grid& grid, std::mt19937_64& random) {
    const Totals totals = totals_of(grid);
    for (const Objective& objective : test::random_objectives(random)) {
      const Chain chain = chain_of(kMethods[random() % std::size(kMethods)], grid);
      const auto best = best_prefix(chain, objective, totals);
      std::optional<Counts> chosen;
      if (best) {
        chosen = *best == 0 ? Counts{} : chain[*best - 1].flagged;
        ASSERT_TRUE(*best == 0 || chain[*best - 1].group_end);
        ASSERT_TRUE(is_feasible(objective, totals, *chosen));
      }
      for (const auto& taken : stops_of(chain, grid.num_levels())) {
        const Counts flagged = flagged_counts(grid, taken);
        if (!is_feasible(objective, totals, flagged)) continue;
        ASSERT_TRUE(chosen.has_value());
        ASSERT_FALSE(is_better(objective, totals, flagged, *chosen));
      }
      none += best ? 0 : 1;
      inner += best && *best > 0 && *best < chain.size() ? 1 : 0;
    }
  });
  EXPECT_GT(none, 200);
  EXPECT_GT(inner, 500);
}

TEST(TakenAfter, CountsBinsPerLevel) {
  const Chain chain = score_chain(two_levels());
  EXPECT_THAT(taken_after(chain, 0, 2), ElementsAre(0, 0));
  EXPECT_THAT(taken_after(chain, 2, 2), ElementsAre(1, 1));
  EXPECT_THAT(taken_after(chain, 3, 3), ElementsAre(1, 2, 0));
  EXPECT_THAT(taken_after(chain, 4, 2), ElementsAre(2, 2));
}

}  // namespace
}  // namespace limen
