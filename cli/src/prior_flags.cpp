// SPDX-License-Identifier: MIT
#include "prior_flags.h"

#include <algorithm>

#include "limen/base/text.h"

namespace limen::cli {

void add_prior_flags(FlagGroup& group, PriorFlags& flags) {
  const BiasParameters defaults;
  const auto number = [&](const char* flag, std::string& to, double by_default, const std::string& help) {
    group.add(flag, to, "X", help)->default_str(number_text(by_default));
  };
  number("--xi", flags.xi, defaults.xi, "Positive share of the global prior, between 0 and 1");
  number("--prior-strength", flags.prior_strength, defaults.prior_strength,
         "Strength of the global prior in rows, 1e-9 to 1e9");
  number("--omega", flags.omega, defaults.omega, "Positive share of the model's prior, 0 to 1");
  number("--model-strength", flags.model_strength, defaults.model_strength,
         "Strength of the model's prior in rows, 0 to 1e9");
}

void set_priors(BiasParameters& parameters, const PriorFlags& flags) {
  const auto set = [](double& value, const std::string& text, const char* flag) {
    if (!text.empty()) value = real_of(text, flag);
  };
  set(parameters.xi, flags.xi, "--xi");
  set(parameters.prior_strength, flags.prior_strength, "--prior-strength");
  set(parameters.omega, flags.omega, "--omega");
  set(parameters.model_strength, flags.model_strength, "--model-strength");
}

double real_of(const std::string& text, const char* flag) {
  const NumberField field = limen::parse_number(text);
  if (field.status != FieldStatus::kOk) throw InvalidInput(flag, limen::quoted(text) + " is not a number");
  return field.value;
}

std::string flag_of_field(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace limen::cli
