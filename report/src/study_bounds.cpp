// SPDX-License-Identifier: MIT
#include "study_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "limen/base/wide.h"

namespace limen::report {
namespace {

Rational fraction(std::int64_t num, std::int64_t den) {
  const std::int64_t common = std::gcd(num, den);
  return {num / common, den / common};
}

bool is_less(const Rational& a, const Rational& b) { return detail::Wide{a.num} * b.den < detail::Wide{b.num} * a.den; }

/// Multiples of the finest of some round steps that leaves at most 60 of them in [low, high].
std::vector<Rational> even_bounds(double low, double high) {
  constexpr std::int64_t kUnit = 10'000;
  constexpr std::int64_t kSteps[] = {1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500};
  constexpr double kMost = 60;
  const std::int64_t* step = std::begin(kSteps);
  while (step + 1 != std::end(kSteps) && (high - low) * kUnit / static_cast<double>(*step) > kMost) ++step;
  std::vector<Rational> bounds;
  const double units = static_cast<double>(kUnit) / static_cast<double>(*step);
  for (auto at = static_cast<std::int64_t>(std::ceil(low * units)); static_cast<double>(at) <= high * units; ++at) {
    bounds.push_back(fraction(at * *step, kUnit));
  }
  return bounds;
}

/// 0.0001, 0.00012, ... 0.4, 0.5.
std::vector<Rational> log_bounds(double low) {
  std::vector<Rational> bounds;
  for (const std::int64_t den : {1'000'000, 100'000, 10'000, 1'000}) {
    for (const std::int64_t num : {100, 120, 150, 200, 250, 300, 400, 500, 600, 800}) {
      const Rational bound = fraction(num, den);
      if (bound.to_double() >= low && bound.to_double() <= 0.5) bounds.push_back(bound);
    }
  }
  return bounds;
}

}  // namespace

std::vector<Rational> study_bounds(const Grid& single, const Objective& objective, const std::vector<Rational>& given,
                                   double highest) {
  std::vector<Rational> bounds = given;
  if (given.empty()) {
    const Counts total = total_counts(single);
    const double share = static_cast<double>(total.positives) / static_cast<double>(total.rows);
    switch (objective.goal) {
      case Goal::kPrecision:
        bounds = even_bounds(share, highest);
        break;
      case Goal::kRecall:
        bounds = even_bounds(0.02, 1);
        break;
      default:
        bounds = log_bounds(2 / static_cast<double>(total.rows));
    }
  }
  bounds.push_back(objective.bound);
  std::ranges::sort(bounds, is_less);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

}  // namespace limen::report
