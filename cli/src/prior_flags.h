// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "flags.h"
#include "limen/base/error.h"
#include "limen/theory/bias.h"

namespace limen::cli {

/// The priors of the theory, the same flags in every verb that speaks of them. Empty: the default.
struct PriorFlags {
  std::string xi, prior_strength, omega, model_strength;
};
void add_prior_flags(FlagGroup& group, PriorFlags& flags);
/// Sets what was given. Throws InvalidInput for what is no number; ranges are for validate to check.
void set_priors(BiasParameters& parameters, const PriorFlags& flags);

/// A finite number; the flag is named in errors.
[[nodiscard]] double real_of(const std::string& text, const char* flag);

/// The flag of a field: --prior-strength for prior_strength.
[[nodiscard]] std::string flag_of_field(std::string name);

/// Calls `function`; what it refuses is named by its flag.
template <typename Function>
auto in_flags(Function&& function) {
  try {
    return function();
  } catch (const InvalidInput& error) {
    if (error.where().field.empty()) throw;
    throw InvalidInput(Where{.field = flag_of_field(error.where().field)}, error.problem());
  }
}

}  // namespace limen::cli
