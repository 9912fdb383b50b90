// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "limen/train/feature_rows.h"
#include "network.h"

namespace limen::train::detail {

/// What a network says about all rows.
[[nodiscard]] inline NetworkOutput predict_rows(const Network& network, const FeatureRows& rows, std::uint64_t seed) {
  return network.predict({rows.num_rows, rows.numeric, rows.categorical, rows.fraction, {}}, seed);
}

/// What the members of an ensemble say together: the mean probability, its entropy, the variance between members, and
/// how much of the entropy their disagreement explains. Members with evidence: the geometric mean of it, the entropy of
/// the Beta of the mean probability with that evidence, and to variance and mutual information the mean of the members'
/// own is added.
[[nodiscard]] NetworkOutput combine(std::span<const NetworkOutput> members);

}  // namespace limen::train::detail
