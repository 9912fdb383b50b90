// SPDX-License-Identifier: MIT
#include "limen/promise/intervals.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <string>

#include "limen/base/error.h"

namespace limen {

namespace {

void check(const char* function, double successes, double trials, double confidence) {
  if (!(confidence > 0 && confidence < 1)) {
    throw InvalidInput(function, "confidence is " + std::to_string(confidence) + ", must be between 0 and 1");
  }
  if (!(successes >= 0 && successes <= trials && std::isfinite(trials))) {
    throw InvalidInput(function, std::to_string(successes) + " successes among " + std::to_string(trials) + " trials");
  }
}

}  // namespace

Interval proportion_interval(double successes, double trials, double confidence) {
  check("proportion_interval", successes, trials, confidence);
  if (trials == 0) return {0, 1};
  const double tail = (1 - confidence) / 2;
  using Beta = boost::math::beta_distribution<double>;
  Interval interval;
  if (successes > 0) interval.low = boost::math::quantile(Beta(successes, trials - successes + 1), tail);
  if (successes < trials) {
    interval.high = boost::math::quantile(boost::math::complement(Beta(successes + 1, trials - successes), tail));
  }
  return interval;
}

Interval wilson_interval(double successes, double trials, double confidence) {
  check("wilson_interval", successes, trials, confidence);
  if (trials == 0) return {0, 1};
  const double z = boost::math::quantile(boost::math::normal(), (1 + confidence) / 2);
  const double rate = successes / trials;
  const double spread = z * z / trials;
  const double middle = (rate + spread / 2) / (1 + spread);
  const double half = z / (1 + spread) * std::sqrt(rate * (1 - rate) / trials + spread / (4 * trials));
  // Rounding must not leave out a rate of 0 or 1.
  return {std::clamp(middle - half, 0.0, rate), std::clamp(middle + half, rate, 1.0)};
}

}  // namespace limen
