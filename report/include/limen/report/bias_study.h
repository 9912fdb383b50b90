// SPDX-License-Identifier: MIT
// Curves of the theory (theory/bias.h) by tau and evidence, as `limen bias` and reports show them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "limen/theory/bias.h"
#include "limen/theory/bias_simulation.h"

namespace limen::report {

struct BiasStudyOptions {
  BiasParameters parameters = {};  ///< but for tau
  std::vector<double> tau = {3};
  std::vector<double> evidence = {2, 10, 50, 1000};
  std::vector<double> scores = {};  ///< empty: `points` of them, evenly spaced from 0 to 1
  int points = 21;                  ///< at least 2; of a simulation, the most cells
  std::int64_t regions = 0;         ///< drawn by the generation process; 0: no simulation
  std::uint64_t seed = 0;           ///< of the regions
};

/// One tau at one evidence: its points by the theory, or its cells where the process was simulated.
struct BiasCurve {
  double tau = 0;
  double evidence = 0;
  EvidenceRatios ratios = {};
  ScoreRange range = {};
  BiasCurves points = {};
  std::vector<SimulatedBiasCell> cells = {};
};

struct BiasStudy {
  BiasStudyOptions options;  ///< with the scores
  std::vector<BiasCurve> curves;
};

/// Throws InvalidInput.
[[nodiscard]] BiasStudy compute_bias_study(BiasStudyOptions options);

/// What `limen bias --json` prints.
[[nodiscard]] nlohmann::ordered_json bias_json(const BiasStudy& study);

}  // namespace limen::report
