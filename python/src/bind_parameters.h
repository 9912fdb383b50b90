// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

#include "limen/theory/bias.h"

namespace limen::python {

/// tau, xi, prior_strength, omega, model_strength.
using Parameters = std::tuple<double, double, double, double, double>;

[[nodiscard]] inline BiasParameters parameters_of(const Parameters& given) {
  const auto [tau, xi, prior_strength, omega, model_strength] = given;
  return {.tau = tau, .xi = xi, .prior_strength = prior_strength, .omega = omega, .model_strength = model_strength};
}

}  // namespace limen::python
