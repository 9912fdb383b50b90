// SPDX-License-Identifier: MIT
#include "limen/promise/betting.h"

#include <algorithm>
#include <cmath>

namespace limen {

BettingTest::BettingTest(const std::vector<double>& stakes, double worst) {
  constexpr std::array<double, kStakes> kTimes = {0.25, 0.5, 1, 2, 4};
  for (const double stake : stakes) {
    Capital capital;
    capital.product.fill(1);
    capital.log.fill(0);
    for (std::size_t at = 0; at < kStakes; ++at) {
      // Not all of the capital: one value must not end the test.
      capital.stake[at] = worst > 0 ? std::min(kTimes[at] * stake, 0.9 / worst) : kTimes[at] * stake;
    }
    capitals_.push_back(capital);
  }
}

void BettingTest::add(std::size_t sequence, double value) {
  Capital& capital = capitals_[sequence];
  for (std::size_t at = 0; at < kStakes; ++at) {
    capital.product[at] *= std::max(0.0, 1 + capital.stake[at] * value);
    if (capital.product[at] > 1e100 || capital.product[at] < 1e-100) {
      capital.log[at] += std::log(capital.product[at]);
      capital.product[at] = 1;
    }
  }
}

double BettingTest::p_value(std::size_t sequence) const {
  const Capital& capital = capitals_[sequence];
  double mean = 0;
  for (std::size_t at = 0; at < kStakes; ++at) {
    mean += std::exp(std::min(700.0, capital.log[at] + std::log(capital.product[at]))) / kStakes;
  }
  return mean > 1 ? 1 / mean : 1;
}

}  // namespace limen
