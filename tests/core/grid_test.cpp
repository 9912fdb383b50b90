// SPDX-License-Identifier: MIT
#include "limen/count/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "limen/base/error.h"
#include "support/random_grid.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;
using testing::ElementsAre;

constexpr std::int64_t kMaxUnits = std::int64_t{1} << 53;

// Level 0: 3/3 1/2, level 1: nothing, level 2: 0/4. Together 4 of 9.
Grid small_grid() { return make_grid({{3, 1}, {}, {0}}, {{3, 2}, {}, {4}}); }

TEST(Counts, AddAndSubtractBothNumbers) {
  const Counts a{5, 2};
  const Counts b{3, 1};
  EXPECT_EQ(a + b, (Counts{8, 3}));
  EXPECT_EQ(a - b, (Counts{2, 1}));
  EXPECT_EQ((a + b) - b, a);
}

TEST(MakeGrid, LaysOutLevelsBinsEdgesAndTotals) {
  const Grid grid = small_grid();
  ASSERT_EQ(grid.num_levels(), 3U);
  EXPECT_THAT(grid.edges, ElementsAre(1, 2));
  ASSERT_EQ(grid.levels[0].size(), 2U);
  EXPECT_GT(grid.levels[0][0].threshold, grid.levels[0][1].threshold);
  EXPECT_EQ(grid.levels[0][0].counts, (Counts{3, 3}));
  EXPECT_EQ(grid.levels[0][1].counts, (Counts{2, 1}));
  EXPECT_TRUE(grid.levels[1].empty());
  EXPECT_EQ(grid.levels[2][0].counts, (Counts{4, 0}));
  EXPECT_EQ(grid.unit, 1);
  EXPECT_FALSE(grid.totals.has_value());
  EXPECT_TRUE(grid.scaled_uncertainty.empty());
}

TEST(MakeGrid, RefusesTablesOfDifferentShape) {
  EXPECT_EQ(refusal_of([] { (void)make_grid({{1}}, {{1}, {1}}); }), "make_grid: positives has 1 levels, rows has 2");
  EXPECT_EQ(refusal_of([] {
              (void)make_grid({{1}, {1, 2}}, {{1}, {2}});
            }),
            "make_grid: level 1 has unequal numbers of bins");
  EXPECT_EQ(refusal_of([] { (void)make_grid({}, {}); }), "grid: has no levels");
}

TEST(MakeGrid, RefusesCountsThatAreNoCounts) {
  EXPECT_EQ(refusal_of([] {
              (void)make_grid({{1, 3}}, {{1, 2}});
            }),
            "grid: level 0, bin 1 has 3 positives among 2 rows");
  EXPECT_EQ(refusal_of([] { (void)make_grid({{-1}}, {{2}}); }), "grid: level 0, bin 0 has -1 positives among 2 rows");
  EXPECT_EQ(refusal_of([] { (void)make_grid({{0}}, {{-2}}); }), "grid: level 0, bin 0 has 0 positives among -2 rows");
}

TEST(MakeGrid, TakesTwoToThe53RowsAndNotOneMore) {
  EXPECT_EQ(total_counts(make_grid({{1, 0}}, {{kMaxUnits - 1, 1}})).rows, kMaxUnits);
  EXPECT_EQ(refusal_of([] {
              (void)make_grid({{1, 0}}, {{kMaxUnits, 1}});
            }),
            "grid: holds more than 2^53 rows or weight units");
  EXPECT_EQ(refusal_of([] {
              (void)make_grid({{0}, {1}}, {{1}, {kMaxUnits}});
            }),
            "grid: holds more than 2^53 rows or weight units");
}

TEST(TotalCounts, AddsAllBinsOfALevelOrOfTheGrid) {
  const Grid grid = small_grid();
  EXPECT_EQ(total_counts(grid.levels[0]), (Counts{5, 4}));
  EXPECT_EQ(total_counts(grid.levels[1]), (Counts{0, 0}));
  EXPECT_EQ(total_counts(grid), (Counts{9, 4}));
}

TEST(FlaggedCounts, AddsTheHighestBinsOfEveryLevel) {
  const Grid grid = small_grid();
  const auto flagged = [&](std::vector<std::int32_t> taken) { return flagged_counts(grid, taken); };
  EXPECT_EQ(flagged({0, 0, 0}), (Counts{0, 0}));
  EXPECT_EQ(flagged({1, 0, 0}), (Counts{3, 3}));
  EXPECT_EQ(flagged({1, 0, 1}), (Counts{7, 3}));
  EXPECT_EQ(flagged({2, 0, 1}), (Counts{9, 4}));
}

TEST(FlaggedCounts, EqualsOneBinAtATimeOnRandomGrids) {
  std::mt19937_64 random(3);
  for (const std::string& shape : test::grid_shapes()) {
    for (int instance = 0; instance < 50; ++instance) {
      SCOPED_TRACE(shape + " instance " + std::to_string(instance));
      const Grid grid = test::make_random_grid(shape, random).grid;
      Counts expected;
      std::vector<std::int32_t> taken;
      for (const auto& level : grid.levels) {
        taken.push_back(static_cast<std::int32_t>(random() % (level.size() + 1)));
        for (std::size_t bin = 0; bin < static_cast<std::size_t>(taken.back()); ++bin) expected += level[bin].counts;
      }
      EXPECT_EQ(flagged_counts(grid, taken), expected);
    }
  }
}

TEST(FlaggedCounts, RefusesABoundaryOfAnotherGrid) {
  const Grid grid = small_grid();
  const auto refusal = [&](std::vector<std::int32_t> taken) {
    return refusal_of([&] { (void)flagged_counts(grid, taken); });
  };
  EXPECT_EQ(refusal({0, 0}), "flagged_counts: taken has 2 entries, the grid has 3 levels");
  EXPECT_EQ(refusal({3, 0, 0}), "flagged_counts: taken[0] is 3, the level has 2 bins");
  EXPECT_EQ(refusal({0, 1, 0}), "flagged_counts: taken[1] is 1, the level has 0 bins");
  EXPECT_EQ(refusal({0, 0, -1}), "flagged_counts: taken[2] is -1, the level has 1 bins");
}

TEST(ValidateGrid, AcceptsEveryRandomGrid) {
  std::mt19937_64 random(4);
  for (const std::string& shape : test::grid_shapes()) {
    const Grid grid = test::make_random_grid(shape, random).grid;
    EXPECT_EQ(refusal_of([&] { validate(grid); }), "(not refused)") << shape;
  }
}

TEST(ValidateGrid, NamesWhatIsWrong) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto refusal = [](auto change) {
    Grid grid = small_grid();
    change(grid);
    return refusal_of([&] { validate(grid); });
  };
  EXPECT_EQ(refusal([](Grid& grid) { grid.levels.clear(); }), "grid: has no levels");
  EXPECT_EQ(refusal([](Grid& grid) { grid.edges.pop_back(); }), "grid: 1 edges do not fit 3 levels");
  for (const double edge : {1.0, 0.5, kInfinity, std::nan("")}) {
    EXPECT_EQ(refusal([&](Grid& grid) { grid.edges[1] = edge; }), "grid: edges[1] is not finite or does not increase");
  }
  EXPECT_EQ(refusal([&](Grid& grid) { grid.edges[0] = -kInfinity; }),
            "grid: edges[0] is not finite or does not increase");
  EXPECT_EQ(refusal([](Grid& grid) {
              grid.scaled_uncertainty = {0, 1};
            }),
            "grid: scaled_uncertainty does not fit the number of levels");
  for (const double threshold : {0.0, 1.0}) {
    EXPECT_EQ(refusal([&](Grid& grid) { grid.levels[0][1].threshold = threshold; }),
              "grid: the threshold of level 0, bin 1 does not fall");
  }
  for (const double threshold : {kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_EQ(refusal([&](Grid& grid) { grid.levels[2][0].threshold = threshold; }),
              "grid: the threshold of level 2, bin 0 is not finite");
  }
  // Bin 1 holds the score -1, bin 0 the score 0.
  for (const double highest : {-1.5, 0.0, kInfinity, std::nan("")}) {
    EXPECT_EQ(refusal([&](Grid& grid) { grid.levels[0][1].highest = highest; }),
              "grid: the largest score of level 0, bin 1 is below its smallest, or not below those of the bin above");
  }
  for (const double unit : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_EQ(refusal([&](Grid& grid) { grid.unit = unit; }), "grid: its unit is not a positive number");
  }
  EXPECT_EQ(refusal([](Grid& grid) { grid.unit = 0.5; }), "grid: has weights (unit is not 1), but no totals");
  // 4 positives and 5 negatives.
  for (const RowTotals& totals :
       {RowTotals{5, 5, 9}, RowTotals{4, 6, 9}, RowTotals{-1, 5, 9}, RowTotals{4, -1, 9}, RowTotals{4, 5, -1}}) {
    EXPECT_EQ(refusal([&](Grid& grid) { grid.totals = totals; }),
              "grid: its totals are negative, or above the sums of its bins");
  }
  EXPECT_EQ(refusal([](Grid& grid) { grid.levels[2][0].counts.positives = 5; }),
            "grid: level 2, bin 0 has 5 positives among 4 rows");
}

// The totals of such a table do not fit into 64 bits: it has to be refused before anything is added.
TEST(MakeGrid, RefusesCountsWhoseSumOverflows) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal_of([] {
              (void)make_grid({{0, 0}}, {{kLargest, kLargest}});
            }),
            "grid: holds more than 2^53 rows or weight units");
}

}  // namespace
}  // namespace limen

namespace limen {
namespace {

Grid grid_of(std::vector<std::vector<Bin>> levels) {
  std::vector<double> edges;
  for (std::size_t level = 1; level < levels.size(); ++level) edges.push_back(static_cast<double>(level));
  return grid_from_bins(std::move(edges), std::move(levels));
}

// Level 0 in three parts: 0.9 twice, once as -0 and 0.
TEST(GridFromBins, SortsBinsAndAddsThoseOfEqualScore) {
  const Grid grid = grid_of({{{-0.0, {1, 0}}, {0.9, {2, 1}}, {0.5, {3, 0}}, {0.9, {1, 1}}, {0.0, {2, 1}}}, {}});
  ASSERT_EQ(grid.levels[0].size(), 3U);
  EXPECT_EQ(grid.levels[0][0].threshold, 0.9);
  EXPECT_EQ(grid.levels[0][0].counts, (Counts{3, 2}));
  EXPECT_EQ(grid.levels[0][1].threshold, 0.5);
  EXPECT_EQ(grid.levels[0][2].counts, (Counts{3, 1}));
  EXPECT_FALSE(std::signbit(grid.levels[0][2].threshold));
  EXPECT_TRUE(grid.levels[1].empty());
}

// Added first, the two bins of equal score would be -2 rows: a grid that looks small.
TEST(GridFromBins, RefusesBinsOfEqualScoreWhoseSumOverflows) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal_of([] {
              (void)grid_of({{{0.5, {kLargest, 0}}, {0.5, {kLargest, 0}}}});
            }),
            "grid: holds more than 2^53 rows or weight units");
}

TEST(GridFromBins, OfWeightsNeedsTheirTotals) {
  const std::vector<std::vector<Bin>> levels = {{{0.5, {4, 1}}}};
  EXPECT_EQ(refusal_of([&] { (void)grid_from_bins({}, levels, 0.5); }),
            "grid: has weights (unit is not 1), but no totals");
  const Grid grid = grid_from_bins({}, levels, 0.5, RowTotals{1, 2, 3});
  EXPECT_EQ(grid.unit, 0.5);
  EXPECT_EQ(grid.totals->num_rows, 3);
}

// Bins 0.2 .. 0.31, 0.4 .. 0.45, 0.52 .. 0.9: the cuts lie in the gaps, 0.5 and 0.4 in one digit.
TEST(ScoreCut, LiesBetweenTheLargestScoreBelowAndTheSmallestAbove) {
  const Grid grid = grid_of({{{0.52, {1, 1}, 0.9}, {0.4, {1, 1}, 0.45}, {0.2, {1, 1}, 0.31}}});
  EXPECT_EQ(score_cut(grid.levels[0], 1), 0.5);
  EXPECT_EQ(score_cut(grid.levels[0], 2), 0.4);
  EXPECT_EQ(score_cut(grid.levels[0], 3), 0.2);
}

// Nothing is known about where the rows of a bin end: the cut has to be where the bin begins.
TEST(ScoreCut, OfFullBinsIsWhereTheyBegin) {
  Grid grid = grid_of({{{0.52, {1, 1}}, {0.4, {1, 1}}, {0.2, {1, 1}}}});
  EXPECT_EQ(score_cut(grid.levels[0], 1), 0.5);
  assume_full_bins(grid);
  EXPECT_NO_THROW(validate(grid));
  EXPECT_EQ(score_cut(grid.levels[0], 1), 0.52);
  EXPECT_EQ(score_cut(grid.levels[0], 2), 0.4);
}

TEST(AddCounts, AddsEqualScoresAndKeepsTheOthersInOrder) {
  const Grid a = grid_of({{{0.9, {2, 1}}, {0.5, {3, 0}}}, {}});
  const Grid b = grid_of({{{0.9, {1, 1}}, {0.7, {4, 2}}, {0.1, {1, 0}}}, {{0.3, {1, 1}}}});
  const Grid sum = add_counts(a, b);
  ASSERT_EQ(sum.levels[0].size(), 4U);
  EXPECT_EQ(sum.levels[0][0].counts, (Counts{3, 2}));
  EXPECT_EQ(sum.levels[0][1].threshold, 0.7);
  EXPECT_EQ(sum.levels[0][2].counts, (Counts{3, 0}));
  EXPECT_EQ(sum.levels[0][3].threshold, 0.1);
  EXPECT_EQ(sum.levels[1].size(), 1U);
  EXPECT_EQ(total_counts(sum), total_counts(a) + total_counts(b));
  EXPECT_FALSE(sum.totals.has_value());
  EXPECT_NO_THROW(validate(sum));
}

TEST(AddCounts, AddsTheTotalsAndTheRangesOfBins) {
  const Grid a = grid_from_bins({}, {{{0.5, {4, 2}, 0.6}}}, 0.5, RowTotals{1, 2, 3});
  const Grid b = grid_from_bins({}, {{{0.5, {2, 1}, 0.7}}}, 0.5, RowTotals{1, 1, 2});
  const Grid sum = add_counts(a, b);
  EXPECT_EQ(sum.totals, (RowTotals{2, 3, 5}));
  EXPECT_EQ(sum.unit, 0.5);
  ASSERT_EQ(sum.levels[0].size(), 1U);
  EXPECT_EQ(sum.levels[0][0].highest, 0.7);
}

TEST(AddCounts, RefusesBinsThatOverlap) {
  const Grid a = grid_of({{{0.5, {4, 2}, 0.8}}});
  const Grid b = grid_of({{{0.7, {2, 1}, 0.9}}});
  EXPECT_EQ(refusal_of([&] { (void)add_counts(a, b); }),
            "grid: the largest score of level 0, bin 1 is below its smallest, or not below those of the bin above");
}

TEST(AddCounts, RefusesOtherEdges) {
  Grid a = grid_of({{{0.9, {2, 1}}}, {}});
  Grid b = a;
  b.edges[0] = 7;
  EXPECT_THROW((void)add_counts(a, b), InvalidInput);
}

// Three levels of distinct scores with the edges 1 and 2; without the edge 1 the first two are one.
TEST(MergeLevels, PutsNeighboursTogether) {
  const Grid grid =
      grid_from_bins({1, 2}, {{{0.9, {2, 1}}, {0.5, {3, 0}}}, {{0.9, {1, 1}}, {0.7, {4, 2}}}, {{0.6, {5, 5}}}});
  const Grid merged = *merge_levels(grid, {2});
  ASSERT_EQ(merged.num_levels(), 2U);
  ASSERT_EQ(merged.levels[0].size(), 3U);
  EXPECT_EQ(merged.levels[0][0].counts, (Counts{3, 2}));
  EXPECT_EQ(merged.levels[0][1].counts, (Counts{4, 2}));
  EXPECT_EQ(merged.levels[0][2].counts, (Counts{3, 0}));
  EXPECT_EQ(merged.levels[1][0].counts, (Counts{5, 5}));
  EXPECT_EQ(merge_levels(grid, {})->levels[0].size(), 4U);
  EXPECT_EQ(merge_levels(grid, {1, 2})->levels[1].size(), 2U);
}

TEST(MergeLevels, LeavesBinsApartThatOverlap) {
  Grid grid = grid_from_bins({1}, {{{0.9, {2, 1}}, {0.5, {3, 0}}}, {{0.8, {1, 1}}, {0.5, {4, 2}}}});
  EXPECT_TRUE(merge_levels(grid, {}));
  assume_full_bins(grid);  // 0.5 up to 0.9 in one level, up to 0.8 in the other
  EXPECT_FALSE(merge_levels(grid, {}));
  Grid aligned = grid_from_bins({1}, {{{0.8, {2, 1}}, {0.5, {3, 0}}}, {{0.8, {1, 1}}, {0.5, {4, 2}}}});
  assume_full_bins(aligned);
  EXPECT_TRUE(merge_levels(aligned, {}));
}

}  // namespace
}  // namespace limen
