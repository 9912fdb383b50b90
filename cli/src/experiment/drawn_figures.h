// SPDX-License-Identifier: MIT
// Figures that are of no data set: the theory's curves, and the paper's two diagrams.
#pragma once

#include <string>

#include "options.h"

namespace limen::cli::experiment {

/// curves: of study_theory. A curve is named by `what` and its member `key`.
[[nodiscard]] std::string theory_curves(const Json& curves, const std::string& title, const std::string& what,
                                        const char* key);

/// "dependencies" or "pipeline".
[[nodiscard]] std::string drawing(const std::string& name);

}  // namespace limen::cli::experiment
