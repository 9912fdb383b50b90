// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "limen/base/real_span.h"

namespace limen {

/// What the members of an ensemble say together, one value for each row. Entropies are those of a yes or no, in nats.
struct EnsembleMeasures {
  std::vector<double> mean;                ///< of the members' probabilities
  std::vector<double> variance;            ///< of them, divided by their number
  std::vector<double> entropy;             ///< of the mean: all uncertainty
  std::vector<double> mutual_information;  ///< entropy less the members' mean entropy: their disagreement; >= 0
};

/// member: one or more, of equally many rows, each value a probability from 0 to 1. Members are added up in their
/// order, so that the result does not depend on threads. O(members * rows), parallel. Throws InvalidInput.
[[nodiscard]] EnsembleMeasures ensemble_measures(std::span<const RealSpan> member);

}  // namespace limen
