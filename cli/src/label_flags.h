// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "limen/base/labels.h"

namespace limen::cli {

/// Flags that say which labels are positive, and what becomes of rows without one.
struct LabelFlags {
  std::string positive;
  std::string positive_if;
  bool drop_missing = false;
};
void add_label_flags(CLI::App& verb, LabelFlags& flags);

/// Throws InvalidInput when both ways to say what is positive are given.
[[nodiscard]] LabelRule label_rule(const LabelFlags& flags);

}  // namespace limen::cli
