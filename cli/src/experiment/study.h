// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "experiment/config.h"
#include "experiment/scored.h"
#include "limen/judge/compare.h"

namespace limen::cli::experiment {

/// What comes out of one cell: figures that depend on the rows and options alone, and times, which do not.
struct CellResult {
  Json figures = Json::object();
  Json times = Json::object();
};

/// Everything that the part's study asks for, on the predictions with one of their uncertainties. Single-threaded.
/// Throws InvalidInput.
[[nodiscard]] CellResult study_pair(const Study& study, const ScoredPair& pair, const std::string& uncertainty);

/// The same for a cell without rows: curves of the theory and draws of its process.
[[nodiscard]] CellResult study_theory(const TheoryData& theory, std::int64_t seed);

/// The trials of a cell as figures hold them.
[[nodiscard]] Json trial_json(const Trial& trial);
[[nodiscard]] Trial trial_of(const Json& json);

}  // namespace limen::cli::experiment
