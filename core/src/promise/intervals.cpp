// SPDX-License-Identifier: MIT
#include "limen/promise/intervals.h"

#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <string>

#include "limen/base/error.h"

namespace limen {

Interval proportion_interval(double successes, double trials, double confidence) {
  if (!(confidence > 0 && confidence < 1)) {
    throw InvalidInput("proportion_interval",
                       "confidence is " + std::to_string(confidence) + ", must be between 0 and 1");
  }
  if (!(successes >= 0 && successes <= trials && std::isfinite(trials))) {
    throw InvalidInput("proportion_interval",
                       std::to_string(successes) + " successes among " + std::to_string(trials) + " trials");
  }
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

}  // namespace limen
