// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limen/count/samples.h"
#include "limen/solve/boundary.h"

namespace limen::test {

/// Level = number of edges <= uncertainty; positive iff the level's threshold is set and score >= threshold.
struct Decision {
  std::int32_t level = 0;
  std::uint8_t positive = 0;
};

inline Decision decide_row(const Rule& rule, double score, double uncertainty) {
  Decision decision;
  for (const double edge : rule.uncertainty_edges) {
    if (edge <= uncertainty) ++decision.level;
  }
  const auto& threshold = rule.score_thresholds[static_cast<std::size_t>(decision.level)];
  decision.positive = threshold.has_value() && score >= *threshold ? 1 : 0;
  return decision;
}

}  // namespace limen::test
