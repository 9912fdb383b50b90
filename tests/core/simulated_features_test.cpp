// SPDX-License-Identifier: MIT
#include "limen/theory/simulated_features.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

namespace limen {
namespace {

Simulation four_regions() {
  Simulation simulation;
  for (const auto& [positives, negatives, dropped] : {std::array{2, 1, 0}, {0, 0, 0}, {1, 0, 4}, {0, 3, 0}}) {
    Region region;
    region.train_positives = positives;
    region.train_negatives = negatives;
    region.dropped_negatives = dropped;
    simulation.regions.push_back(region);
  }
  simulation.holdout = {.region = {0, 1, 2, 0, 1, 3, 3}, .label = {1, 0, 0, 1, 1, 1, 0}};
  simulation.test = {.region = {3, 3, 3, 3, 3, 3}, .label = {0, 0, 0, 0, 0, 1}};
  return simulation;
}

const NumberValues& numbers(const Frame& frame, std::size_t column) {
  return std::get<NumberValues>(frame.columns[column].values);
}

TEST(SimulatedFeatures, TrainingHasEveryRowOfEveryRegionPositivesFirst) {
  const Frame frame = simulated_frame(four_regions(), SimulatedTable::kTrain, 7);
  ASSERT_EQ(frame.columns.size(), 4U);
  const auto& region = std::get<TextValues>(frame.columns[0].values);
  EXPECT_EQ(region.code, (std::vector<std::int32_t>{0, 0, 0, 2, 2, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(region.distinct[2], "r2");
  EXPECT_EQ(numbers(frame, 3), (NumberValues{1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(SimulatedFeatures, OtherTablesHaveTheirRowsInOrder) {
  const Simulation simulation = four_regions();
  const Frame frame = simulated_frame(simulation, SimulatedTable::kHoldout, 7);
  EXPECT_EQ(std::get<TextValues>(frame.columns[0].values).code, simulation.holdout.region);
  EXPECT_EQ(numbers(frame, 3), (NumberValues{1, 0, 0, 1, 1, 1, 0}));
}

// Made by another program from the formula: seed 7, region 3, row 5 of the hold-out and of the test table.
TEST(SimulatedFeatures, PlacesAreThoseOfTheFormula) {
  const Simulation simulation = four_regions();
  const Frame holdout = simulated_frame(simulation, SimulatedTable::kHoldout, 7);
  EXPECT_EQ(numbers(holdout, 1)[5], 0.25406);
  EXPECT_EQ(numbers(holdout, 2)[5], 0.10933);
  const Frame test = simulated_frame(simulation, SimulatedTable::kTest, 7);
  EXPECT_EQ(numbers(test, 1)[5], 0.24236);
  EXPECT_EQ(numbers(test, 2)[5], 0.10448);
  for (const double x : numbers(test, 1)) EXPECT_LE(std::abs(x - 0.24236), 0.02001);  // one region, one place
}

}  // namespace
}  // namespace limen
