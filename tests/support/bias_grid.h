// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <vector>

#include "limen/theory/bias.h"

namespace limen::test {

/// A point of the grid: what the posterior depends on.
struct BiasPoint {
  double train = 0;
  double evidence = 0;
  BiasParameters parameters;
};
inline std::ostream& operator<<(std::ostream& out, const BiasPoint& point) {
  return out << "train " << point.train << ", evidence " << point.evidence << ", tau " << point.parameters.tau
             << ", xi " << point.parameters.xi << ", strength " << point.parameters.prior_strength;
}

/// 3,888 points with all corners of the promised ranges, and beyond.
inline std::vector<BiasPoint> bias_grid() {
  std::vector<BiasPoint> points;
  for (const double tau : {0.01, 0.1, 0.5, 1., 1.001, 1.5, 3., 10., 1000.}) {
    for (const double evidence : {0.01, 0.3, 1., 7., 1e3, 1e7}) {
      for (const double strength : {1e-9, 0.1, 4., 1e3, 1e6, 1e9}) {
        for (const double xi : {1e-9, 0.25, 1 - 1e-9}) {
          for (const double train : {0., 1e-6, 0.5, 1.}) {
            points.push_back({train, evidence, {.tau = tau, .xi = xi, .prior_strength = strength}});
          }
        }
      }
    }
  }
  return points;
}

}  // namespace limen::test
