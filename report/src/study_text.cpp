// SPDX-License-Identifier: MIT
#include "study_text.h"

#include <cmath>
#include <cstdio>

#include "limen/base/text.h"

namespace limen::report {
namespace {

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string ratio_text(double value) { return formatted("%.4f", value); }

// + 0.0 turns a rounded -0 into 0.
std::string percent_text(double share) { return formatted("%.1f%%", std::round(1000 * share) / 10 + 0.0); }

std::string constraint_name(const Objective& objective) {
  switch (objective.goal) {
    case Goal::kRecall:
      return "recall";
    case Goal::kFalsePositiveRate:
      return "false-positive rate";
    case Goal::kFlagRate:
      return "flagged share";
    default:
      return "precision";
  }
}

std::string bound_text(const Objective& objective) {
  const std::string bound = number_text(objective.bound.to_double());
  switch (objective.goal) {
    case Goal::kRecall:
    case Goal::kPrecision:
      return constraint_name(objective) + " " + bound + (objective.bound.num < objective.bound.den ? " or more" : "");
    default:
      return "a " + constraint_name(objective) + " of " + bound + " or less";
  }
}

std::string maximized_name(const Objective& objective) {
  return objective.goal == Goal::kRecall ? "precision" : "recall";
}

}  // namespace limen::report
