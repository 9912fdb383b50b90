// SPDX-License-Identifier: MIT
#include "label_flags.h"

#include <fmt/format.h>

#include "limen/base/error.h"

namespace limen::cli {

void add_label_flags(CLI::App& verb, LabelFlags& flags) {
  verb.add_option("--positive", flags.positive,
                  "The label of positives, exactly, such as \">50K\"; default: 1, true or yes")
      ->type_name("VALUE");
  verb.add_option("--positive-if", flags.positive_if,
                  "Labels are numbers, positive where a comparison such as \">30\" holds")
      ->type_name("TEST");
  verb.add_flag("--drop-missing", flags.drop_missing, "Leave out rows without a label, and say how many");
}

LabelRule label_rule(const LabelFlags& flags) {
  if (!flags.positive.empty() && !flags.positive_if.empty()) {
    throw InvalidInput("--positive and --positive-if: give one of them");
  }
  if (!flags.positive_if.empty()) {
    try {
      return positive_if(flags.positive_if);
    } catch (const InvalidInput& error) {
      throw InvalidInput("--positive-if", error.problem());
    }
  }
  return flags.positive.empty() ? LabelRule() : positive_value(flags.positive);
}

}  // namespace limen::cli
