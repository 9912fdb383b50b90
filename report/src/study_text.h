// SPDX-License-Identifier: MIT
// Numbers and names as the sentences of a study write them.
#pragma once

#include <string>

#include "limen/solve/method.h"
#include "limen/solve/objective.h"

namespace limen::report {

/// "0.4521".
[[nodiscard]] std::string ratio_text(double value);
/// "10.2%", "-0.5%".
[[nodiscard]] std::string percent_text(double share);
/// "precision", "recall", "false-positive rate" or "flagged share": the figure that is bounded.
[[nodiscard]] std::string constraint_name(const Objective& objective);
/// "precision 0.3 or more", "a false-positive rate of 0.01 or less".
[[nodiscard]] std::string bound_text(const Objective& objective);
/// "recall", or "precision" where recall is bounded.
[[nodiscard]] std::string maximized_name(const Objective& objective);

}  // namespace limen::report
