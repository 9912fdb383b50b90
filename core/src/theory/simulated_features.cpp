// SPDX-License-Identifier: MIT
#include "limen/theory/simulated_features.h"

#include <cmath>
#include <string>
#include <utility>

#include "limen/base/random.h"

namespace limen {
namespace {

/// A number in [0, 1) that depends on the seed and the two keys only.
double hashed_uniform(std::uint64_t seed, std::uint64_t key, std::uint64_t stream) {
  const std::uint64_t word = seed * kGoldenRatio + key * 0xbf58476d1ce4e5b9U + stream * 0x94d049bb133111ebU + 1;
  return unit_interval(mix(mix(word)));
}

/// Makes rows one after the other.
class RowMaker {
 public:
  RowMaker(SimulatedTable table, std::uint64_t seed) : seed_(seed), table_(static_cast<std::uint64_t>(table)) {}

  SimulatedFeatures next(std::int64_t region, std::uint8_t label) {
    const std::uint64_t own = table_ << 40U | num_rows_++;
    const auto coordinate = [&](std::uint64_t axis) {
      const double exact = hashed_uniform(seed_, static_cast<std::uint64_t>(region), axis) +
                           0.02 * (hashed_uniform(seed_, own, axis + 2) - 0.5);
      return std::round(exact * 1e5) / 1e5;
    };
    return {region, coordinate(1), coordinate(2), label};
  }

 private:
  std::uint64_t seed_;
  std::uint64_t table_;
  std::uint64_t num_rows_ = 0;
};

}  // namespace

void for_each_simulated_row(const Simulation& simulation, SimulatedTable table, std::uint64_t seed,
                            const std::function<void(const SimulatedFeatures&)>& visit) {
  RowMaker maker(table, seed);
  if (table != SimulatedTable::kTrain) {
    const SimulatedRows& rows = table == SimulatedTable::kHoldout ? simulation.holdout : simulation.test;
    for (std::size_t row = 0; row < rows.label.size(); ++row) visit(maker.next(rows.region[row], rows.label[row]));
    return;
  }
  std::int64_t name = 0;
  for (const Region& region : simulation.regions) {
    for (std::int64_t row = 0; row < region.train_positives; ++row) visit(maker.next(name, 1));
    const std::int64_t negatives = region.train_negatives + region.dropped_negatives;
    for (std::int64_t row = 0; row < negatives; ++row) visit(maker.next(name, 0));
    ++name;
  }
}

Frame simulated_frame(const Simulation& simulation, SimulatedTable table, std::uint64_t seed) {
  TextValues region;
  for (std::size_t name = 0; name < simulation.regions.size(); ++name) {
    region.distinct.push_back("r" + std::to_string(name));
  }
  NumberValues x1;
  NumberValues x2;
  NumberValues label;
  for_each_simulated_row(simulation, table, seed, [&](const SimulatedFeatures& row) {
    region.code.push_back(static_cast<std::int32_t>(row.region));
    x1.push_back(row.x1);
    x2.push_back(row.x2);
    label.push_back(row.label);
  });
  Frame frame;
  frame.num_rows = label.size();
  frame.columns.push_back({"region", std::move(region)});
  frame.columns.push_back({"x1", std::move(x1)});
  frame.columns.push_back({"x2", std::move(x2)});
  frame.columns.push_back({"label", std::move(label)});
  return frame;
}

}  // namespace limen
