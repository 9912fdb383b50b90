// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace limen {

/// Tests, for each of several sequences of values z_1, z_2, ..., whether their mean is above 0: by betting on it.
///
/// Null: the values are independent, none is below -worst, and their mean is at most 0. Then for every stake L with
/// 0 <= L <= 1 / worst the capital prod (1 + L z_i) is never negative and has a mean of at most 1, and so has the mean
/// of several such capitals. By Markov's inequality it reaches 1 / level with probability `level` at most: its inverse
/// is a p-value, for values of any distribution, weights and sums over groups included. Where values are 0/1 the
/// binomial test is sharper.
class BettingTest {
 public:
  /// stakes[sequence]: around which the stakes of that sequence lie (a quarter to four times as much), best about
  /// sqrt(2 log(1 / level) / sum z^2); must not depend on the values to be tested.
  BettingTest(const std::vector<double>& stakes, double worst);

  void add(std::size_t sequence, double value);
  /// At most 1. Does not depend on the order of the values, but for rounding.
  [[nodiscard]] double p_value(std::size_t sequence) const;

 private:
  static constexpr std::size_t kStakes = 5;
  struct Capital {
    std::array<double, kStakes> stake;
    std::array<double, kStakes> product;  // since the logarithm was taken last
    std::array<double, kStakes> log;
  };
  std::vector<Capital> capitals_;
};

}  // namespace limen
