// SPDX-License-Identifier: MIT
#include "limen/judge/frontier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "limen/base/error.h"
#include "reference/matched_recall_reference.h"
#include "reference/wide_fraction.h"
#include "support/boundaries.h"
#include "support/random_grid.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::big;
using test::BigFraction;
using test::refusal_of;
using testing::IsEmpty;

constexpr Method kMethods[] = {Method::kSt, Method::kHr, Method::kGmt, Method::kMist};

BigFraction precision_of(const Counts& flagged) { return BigFraction(flagged.positives, flagged.rows); }

/// Non-dominated stops by comparing all pairs: no other stop has as many positives or more, as high a precision or
/// higher, and one of the two strictly. Stops without positives are out; equal ones count once.
std::vector<Counts> pareto_by_pairs(const Chain& chain) {
  std::vector<Counts> stops;
  for (const ChainStep& step : chain) {
    const bool known = std::find(stops.begin(), stops.end(), step.flagged) != stops.end();
    if (step.group_end && step.flagged.positives > 0 && !known) stops.push_back(step.flagged);
  }
  std::vector<Counts> frontier;
  for (const Counts& stop : stops) {
    const bool beaten = std::any_of(stops.begin(), stops.end(), [&](const Counts& other) {
      return other != stop && other.positives >= stop.positives && precision_of(other) >= precision_of(stop);
    });
    if (!beaten) frontier.push_back(stop);
  }
  return frontier;
}

/// A chain of one level with the given cumulative counts; every step may be a stop.
Chain make_chain(const std::vector<Counts>& flagged) {
  Chain chain;
  for (const Counts& counts : flagged) chain.push_back({0, static_cast<std::int32_t>(chain.size()) + 1, true, counts});
  return chain;
}

std::vector<Counts> counts_of(const std::vector<FrontierPoint>& frontier) {
  std::vector<Counts> counts;
  for (const FrontierPoint& point : frontier) counts.push_back(point.flagged);
  return counts;
}

// Stops: 1/2 (beaten by 3/4: more precise and more positives), 3/4, 3/5 (as many positives, less precise), 4/8 (more
// positives), 4/9 (no more of them).
TEST(ParetoFrontier, LeavesOutStopsThatAnotherBeats) {
  const Chain chain = make_chain({{2, 1}, {4, 3}, {5, 3}, {8, 4}, {9, 4}});
  const auto frontier = pareto_frontier(chain, {10, 5});
  EXPECT_EQ(counts_of(frontier), (std::vector<Counts>{{4, 3}, {8, 4}}));
  EXPECT_DOUBLE_EQ(frontier[0].precision, 0.75);
  EXPECT_DOUBLE_EQ(frontier[0].recall, 0.6);
  EXPECT_DOUBLE_EQ(frontier[1].precision, 0.5);
  EXPECT_DOUBLE_EQ(frontier[1].recall, 0.8);
}

TEST(ParetoFrontier, HandlesTheEdges) {
  EXPECT_THAT(pareto_frontier({}, {10, 5}), IsEmpty());
  // Nothing but false positives.
  EXPECT_THAT(pareto_frontier(make_chain({{1, 0}, {3, 0}}), {10, 5}), IsEmpty());
  // Steps inside a group are no stops.
  Chain chain = make_chain({{1, 1}, {3, 2}});
  chain[0].group_end = false;
  EXPECT_EQ(counts_of(pareto_frontier(chain, {10, 5})), (std::vector<Counts>{{3, 2}}));
  // Equal precision: the one with more positives. Equal counts: one point.
  EXPECT_EQ(counts_of(pareto_frontier(make_chain({{2, 1}, {4, 2}}), {10, 5})), (std::vector<Counts>{{4, 2}}));
  EXPECT_EQ(counts_of(pareto_frontier(make_chain({{2, 1}, {2, 1}}), {10, 5})), (std::vector<Counts>{{2, 1}}));
}

Grid other_counts(Grid grid, std::mt19937_64& random) {
  for (auto& level : grid.levels) {
    for (Bin& bin : level) {
      const auto rows = static_cast<std::int64_t>(random() % 6);
      bin.counts = {rows, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows + 1))};
    }
  }
  return grid;
}

TEST(ParetoFrontier, EqualsComparingAllPairsOfStops) {
  std::size_t points = 0;
  std::size_t left_out = 0;
  for (const std::string& shape : test::grid_shapes()) {
    std::mt19937_64 random(1);
    for (int instance = 0; instance < 60; ++instance) {
      Grid grid = test::make_random_grid(shape, random).grid;
      test::draw_thresholds(grid, random);
      const Grid counted = other_counts(grid, random);
      for (const Method method : kMethods) {
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " " + std::string(to_string(method)));
        const Chain own = chain_of(method, grid);
        // On the rows of another table precision is in no order along the chain.
        for (const auto& [chain, total] :
             {std::pair(own, total_counts(grid)), std::pair(recount(own, counted), total_counts(counted))}) {
          const auto frontier = pareto_frontier(chain, total);
          ASSERT_EQ(counts_of(frontier), pareto_by_pairs(chain));
          for (std::size_t point = 0; point < frontier.size(); ++point) {
            const Counts& flagged = frontier[point].flagged;
            ASSERT_EQ(frontier[point].precision,
                      static_cast<double>(flagged.positives) / static_cast<double>(flagged.rows));
            ASSERT_EQ(frontier[point].recall,
                      static_cast<double>(flagged.positives) / static_cast<double>(total.positives));
            if (point > 0) {
              ASSERT_GT(flagged.rows, frontier[point - 1].flagged.rows);
            }
          }
          points += frontier.size();
          left_out += chain.size() - frontier.size();
        }
      }
    }
  }
  EXPECT_GT(points, 5'000U);
  EXPECT_GT(left_out, 10'000U);
}

TEST(RecallAtPrecision, IsTheBestStopThatReachesTheBoundExactly) {
  const auto frontier = pareto_frontier(make_chain({{10, 9}, {20, 16}, {40, 20}}), {100, 50});
  EXPECT_DOUBLE_EQ(recall_at_precision(frontier, {1, 1}), 0);
  EXPECT_DOUBLE_EQ(recall_at_precision(frontier, {9, 10}), 0.18);
  EXPECT_DOUBLE_EQ(recall_at_precision(frontier, parse_rational("0.90000000000000002")), 0);
  EXPECT_DOUBLE_EQ(recall_at_precision(frontier, {4, 5}), 0.32);
  EXPECT_DOUBLE_EQ(recall_at_precision(frontier, {1, 2}), 0.4);
  EXPECT_DOUBLE_EQ(recall_at_precision(frontier, {0, 1}), 0.4);
  EXPECT_EQ(recall_at_precision({}, {0, 1}), 0);
}

TEST(RecallAtPrecision, EqualsASearchOfAllStops) {
  int positive = 0;
  for (const std::string& shape : test::grid_shapes()) {
    std::mt19937_64 random(2);
    for (int instance = 0; instance < 60; ++instance) {
      const Grid grid = test::make_random_grid(shape, random).grid;
      const Grid counted = other_counts(grid, random);
      const Counts total = total_counts(counted);
      for (const Method method : kMethods) {
        const Chain chain = recount(chain_of(method, grid), counted);
        const Rational bound = test::random_bound(random);
        double expected = 0;
        for (const ChainStep& step : chain) {
          if (!step.group_end || step.flagged.positives == 0 || precision_of(step.flagged) < big(bound)) continue;
          expected =
              std::max(expected, static_cast<double>(step.flagged.positives) / static_cast<double>(total.positives));
        }
        ASSERT_EQ(recall_at_precision(pareto_frontier(chain, total), bound), expected)
            << shape << " instance " << instance << " " << to_string(method) << " bound " << to_string(bound);
        positive += expected > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(positive, 1'000);
}

// Stops 4/4, 5/6, 5/9 of 10 positives. At 0.9 the second step is crossed where (4 + t) / (4 + 2t) = 0.9: t = 0.5, 4.5
// positives. At 5/6 it ends exactly; at 0.8 the third is crossed where 5 / (6 + 3t) = 0.8, with 5 positives.
TEST(MatchedRecall, InterpolatesInsideTheStepThatCrossesTheBound) {
  const Chain chain = make_chain({{4, 4}, {6, 5}, {9, 5}});
  EXPECT_DOUBLE_EQ(matched_recall(chain, 10, {1, 1}), 0.4);
  EXPECT_DOUBLE_EQ(matched_recall(chain, 10, {9, 10}), 0.45);
  EXPECT_DOUBLE_EQ(matched_recall(chain, 10, {5, 6}), 0.5);
  EXPECT_DOUBLE_EQ(matched_recall(chain, 10, {4, 5}), 0.5);
  EXPECT_DOUBLE_EQ(matched_recall(chain, 10, {0, 1}), 0.5);
}

TEST(MatchedRecall, HandlesTheEdges) {
  EXPECT_EQ(matched_recall({}, 10, {1, 2}), 0);
  EXPECT_EQ(matched_recall(make_chain({{4, 1}}), 10, {1, 2}), 0);  // never reached
  EXPECT_EQ(matched_recall(make_chain({{4, 0}}), 0, {0, 1}), 0);   // no positives at all
  // Reached again after having been lost: 1/1, 1/3, 4/6 at 2/3.
  EXPECT_DOUBLE_EQ(matched_recall(make_chain({{1, 1}, {3, 1}, {6, 4}}), 8, {2, 3}), 0.5);
  // A group is one step: 0/2 and 4/4 together are 4/6, all or a share of it.
  Chain chain = make_chain({{2, 2}, {4, 2}, {8, 6}});
  chain[1].group_end = false;
  EXPECT_DOUBLE_EQ(matched_recall(chain, 8, {3, 4}), 0.75);
  EXPECT_DOUBLE_EQ(matched_recall(chain, 8, {7, 8}), (2 + 4.0 / 5) / 8);  // (2 + 4t) / (2 + 6t) = 7/8: t = 1/5
}

TEST(MatchedRecall, EqualsExactInterpolationAndIsNeverBelowTheBestStop) {
  int interpolated = 0;
  for (const std::string& shape : test::grid_shapes()) {
    std::mt19937_64 random(4);
    for (int instance = 0; instance < 60; ++instance) {
      const Grid grid = test::make_random_grid(shape, random).grid;
      const Grid counted = other_counts(grid, random);
      const Counts total = total_counts(counted);
      for (const Method method : kMethods) {
        const Chain chain = recount(chain_of(method, grid), counted);
        // Any bound, or one just below the precision of a stop, which the next step crosses.
        Rational bound = test::random_bound(random);
        if (!chain.empty() && random() % 2 == 0) {
          const Counts stop = chain[random() % chain.size()].flagged;
          const std::int64_t divisor = std::gcd(stop.positives, stop.rows + 1);
          bound = {stop.positives / divisor, (stop.rows + 1) / divisor};
        }
        SCOPED_TRACE(shape + " instance " + std::to_string(instance) + " " + std::string(to_string(method)) +
                     " bound " + to_string(bound));
        std::vector<Counts> stops;
        for (const ChainStep& step : chain) {
          if (step.group_end) stops.push_back(step.flagged);
        }
        const double matched = matched_recall(chain, total.positives, bound);
        const double expected =
            total.positives == 0 ? 0 : test::most_at_precision(stops, bound) / static_cast<double>(total.positives);
        ASSERT_NEAR(matched, expected, 1e-12);
        const double best_stop = recall_at_precision(pareto_frontier(chain, total), bound);
        ASSERT_GE(matched, best_stop);
        interpolated += matched > best_stop ? 1 : 0;
      }
    }
  }
  EXPECT_GT(interpolated, 100);
}

TEST(ExactPoints, SolvesEveryBoundAndIsNeverBelowAChain) {
  std::mt19937_64 random(3);
  const std::vector<Rational> bounds = {{1, 2}, {3, 5}, {7, 10}, {4, 5}, {9, 10}, {1, 1}};
  int above = 0;
  for (int instance = 0; instance < 200; ++instance) {
    const Grid grid = test::make_random_grid("uniform", random).grid;
    const auto points = exact_points(grid, bounds);
    ASSERT_EQ(points.size(), bounds.size());
    const auto frontier = pareto_frontier(hull_chain(grid), total_counts(grid));
    for (std::size_t bound = 0; bound < bounds.size(); ++bound) {
      const Solution alone = solve_exact({grid, max_recall_at_precision(bounds[bound])});
      ASSERT_EQ(points[bound].status, alone.status);
      ASSERT_EQ(points[bound].taken, alone.taken);
      const double recall = static_cast<double>(points[bound].flagged.positives) /
                            static_cast<double>(std::max<std::int64_t>(1, total_counts(grid).positives));
      const double on_hull = recall_at_precision(frontier, bounds[bound]);
      ASSERT_GE(recall, on_hull) << instance;
      above += recall > on_hull ? 1 : 0;
    }
  }
  EXPECT_GT(above, 20);
}

TEST(ExactPoints, RefusesABoundOutsideZeroToOne) {
  const std::vector<Rational> bounds = {{1, 2}, {3, 2}};
  EXPECT_EQ(refusal_of([&] { (void)exact_points(make_grid({{1}}, {{2}}), bounds); }),
            "objective: precision bound is 1.5, must be between 0 and 1");
}

// Certain rows (uncertainty < 0.5) are positive down to 0.7, uncertain ones at 0.9 alone.
TEST(TraceFrontiers, GivesBothFamiliesAndTheOptimumAtEachBound) {
  const std::vector<double> score = {0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6};
  const std::vector<double> uncertainty = {0.1, 0.8, 0.1, 0.9, 0.2, 0.7, 0.2, 0.8};
  const std::vector<std::uint8_t> label = {1, 1, 1, 0, 1, 0, 0, 0};
  const Samples samples = {std::span(score), std::span(uncertainty), label, {}};
  const std::vector<Rational> bounds = {{1, 1}, {3, 4}};
  const Frontiers found = trace_frontiers(samples, bounds, {.levels = 2});
  EXPECT_EQ(found.num_levels, 2u);
  EXPECT_EQ(found.unit, 1);
  EXPECT_EQ(counts_of(found.hull), (std::vector<Counts>{{4, 4}}));
  EXPECT_EQ(counts_of(found.st), (std::vector<Counts>{{2, 2}, {4, 3}, {6, 4}}));
  ASSERT_EQ(found.exact.size(), 2u);
  EXPECT_EQ(found.exact[0]->flagged, (Counts{4, 4}));
  EXPECT_EQ(found.exact[0]->precision, 1);
  EXPECT_EQ(found.exact[0]->recall, 1);
  // One level: two dimensions are one, and nothing has all positives at full precision.
  const Frontiers flat = trace_frontiers(samples, bounds, {.levels = 1});
  EXPECT_EQ(flat.exact[0]->recall, 0.5);
  EXPECT_EQ(flat.exact[1]->recall, 0.75);
  const std::vector<std::uint8_t> reversed = {0, 0, 0, 1, 0, 1, 1, 1};
  const Frontiers upside_down = trace_frontiers({std::span(score), std::span(uncertainty), reversed, {}}, bounds);
  EXPECT_FALSE(upside_down.exact[0]);
}

TEST(TraceFrontiers, RefusesWhatItCannotTrace) {
  const std::vector<double> values = {0.1, 0.2};
  const std::vector<std::uint8_t> label = {1, 1};
  EXPECT_EQ(refusal_of([&] { (void)trace_frontiers({}, {}); }), "frontier: there are no rows");
  EXPECT_EQ(refusal_of([&] {
              (void)trace_frontiers({std::span(values), std::span(values), label, {}}, {});
            }),
            "frontier: only one class; both are needed");
}

}  // namespace
}  // namespace limen
