// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "experiment/config.h"

namespace limen::cli::experiment {

/// Values of the parameters ${NAME}.
using Parameters = std::map<std::string, std::string>;

/// Reads a config and those that it includes. is_small: with what their "small" members say. Throws InvalidInput that
/// names file, key, value and range; also for a parameter that is not given, or that no text asks for.
[[nodiscard]] Experiment read_experiment(const std::string& path, const Parameters& parameters, bool is_small);

}  // namespace limen::cli::experiment
