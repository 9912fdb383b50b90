// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>

#include "limen/base/frame.h"
#include "limen/theory/simulate.h"

namespace limen {

enum class SimulatedTable { kTrain, kHoldout, kTest };

/// What a model that does not know the process sees of a row: the region's name, and its place on a map with a little
/// noise of the row's own.
struct SimulatedFeatures {
  std::int64_t region = 0;  ///< named r0, r1 ...
  double x1 = 0;            ///< with five digits behind the point, as the tables have them
  double x2 = 0;
  std::uint8_t label = 0;
};

/// The rows of one table, in order. Those of training come region by region, positives first, at their natural rate:
/// negatives that undersampling dropped are among them. seed: that of the simulation.
void for_each_simulated_row(const Simulation& simulation, SimulatedTable table, std::uint64_t seed,
                            const std::function<void(const SimulatedFeatures&)>& visit);

/// The same as a frame: region (text), x1, x2, label (0 or 1).
[[nodiscard]] Frame simulated_frame(const Simulation& simulation, SimulatedTable table, std::uint64_t seed);

}  // namespace limen
