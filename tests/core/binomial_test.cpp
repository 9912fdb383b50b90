// SPDX-License-Identifier: MIT
#include "limen/promise/binomial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "limen/promise/intervals.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;

/// P(X = successes), in extended precision.
long double point(std::int64_t successes, std::int64_t trials, double probability) {
  if (probability == 0 || probability == 1) return successes == (probability == 0 ? 0 : trials) ? 1 : 0;
  const auto log_factorial = [](std::int64_t n) { return std::lgamma(static_cast<long double>(n) + 1); };
  return std::exp(log_factorial(trials) - log_factorial(successes) - log_factorial(trials - successes) +
                  static_cast<long double>(successes) * std::log(static_cast<long double>(probability)) +
                  static_cast<long double>(trials - successes) * std::log1p(-static_cast<long double>(probability)));
}

TEST(BinomialTails, AreWhatDiceGive) {
  EXPECT_DOUBLE_EQ(binomial_upper_tail(3, 3, 0.5), 0.125);
  EXPECT_DOUBLE_EQ(binomial_upper_tail(2, 3, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(binomial_lower_tail(0, 3, 0.5), 0.125);
  EXPECT_DOUBLE_EQ(binomial_lower_tail(1, 3, 0.5), 0.5);
  // 29 hits of 29 at 0.9: 0.9^29 = 0.0471, the fewest that certify precision 0.9 at level 0.05.
  EXPECT_NEAR(binomial_upper_tail(29, 29, 0.9), std::pow(0.9, 29), 1e-16);
}

TEST(BinomialTails, AddUpTermByTerm) {
  for (const std::int64_t trials : {0, 1, 2, 7, 40, 300}) {
    for (const double probability : {0.0, 1e-9, 0.05, 0.5, 0.9, 0.999, 1.0}) {
      SCOPED_TRACE(std::to_string(trials) + " trials of " + std::to_string(probability));
      long double above = 0;
      for (std::int64_t successes = trials; successes >= 0; --successes) {
        above += point(successes, trials, probability);
        const double tail = binomial_upper_tail(successes, trials, probability);
        EXPECT_NEAR(tail, static_cast<double>(above), 1e-13 * (static_cast<double>(above) + 1e-300)) << successes;
        EXPECT_NEAR(binomial_lower_tail(successes - 1, trials, probability), 1 - tail, 1e-14) << successes;
      }
    }
  }
}

TEST(BinomialTails, AreSureOutsideOfTheCounts) {
  EXPECT_EQ(binomial_upper_tail(0, 10, 0.3), 1);
  EXPECT_EQ(binomial_upper_tail(-1, 10, 0.3), 1);
  EXPECT_EQ(binomial_upper_tail(11, 10, 0.3), 0);
  EXPECT_EQ(binomial_lower_tail(10, 10, 0.3), 1);
  EXPECT_EQ(binomial_lower_tail(11, 10, 0.3), 1);
  EXPECT_EQ(binomial_lower_tail(-1, 10, 0.3), 0);
  EXPECT_EQ(binomial_upper_tail(0, 0, 0.3), 1);
  EXPECT_EQ(binomial_upper_tail(1, 0, 0.3), 0);
  EXPECT_EQ(binomial_upper_tail(10, 10, 1), 1);
  EXPECT_EQ(binomial_upper_tail(1, 10, 0), 0);
}

// The references are integrals of the beta density with 50 digits (mpmath 1.3).
TEST(BinomialTails, AreTrustworthyNearALevelForVeryManyTrials) {
  const struct {
    std::int64_t successes, trials;
    double probability, tail, tolerance;
  } cases[] = {
      {915, 1000, 0.9, 0.0606937305179653704, 1e-14},
      {90156, 100000, 0.9, 0.0503462649979313685, 1e-13},
      {9700701, 10000000, 0.97, 0.0970134035596662501, 1e-12},
      {500036366, 1000000000, 0.5, 0.0107253517761959764, 1e-11},
      {9000049500, 10000000000, 0.9, 0.0494723895650772172, 1e-10},
      {900000495000, 1000000000000, 0.9, 0.0494715601933777685, 2e-9},
  };
  for (const auto& [successes, trials, probability, tail, tolerance] : cases) {
    EXPECT_NEAR(binomial_upper_tail(successes, trials, probability) / tail, 1, tolerance) << trials;
  }
}

TEST(BinomialTails, GiveAnAnswerAtTheLimitOfDoubles) {
  const std::int64_t trials = std::int64_t{1} << 53;
  EXPECT_NEAR(binomial_upper_tail(trials / 2, trials, 0.5), 0.5, 1e-3);
  EXPECT_NEAR(binomial_lower_tail(trials / 2, trials, 0.5), 0.5, 1e-3);
}

TEST(Rejecting, IsTheFirstCountWhoseTailIsAtMostTheLevel) {
  for (std::int64_t trials = 0; trials <= 120; ++trials) {
    for (const double probability : {0.0, 0.03, 0.5, 0.9, 1.0}) {
      for (const double level : {1e-6, 0.05, 0.5, 0.9}) {
        SCOPED_TRACE(std::to_string(trials) + " trials of " + std::to_string(probability));
        std::optional<std::int64_t> fewest;
        std::optional<std::int64_t> most;
        for (std::int64_t successes = 0; successes <= trials; ++successes) {
          if (!fewest && binomial_upper_tail(successes, trials, probability) <= level) fewest = successes;
          if (binomial_lower_tail(successes, trials, probability) <= level) most = successes;
        }
        EXPECT_EQ(fewest_rejecting(trials, probability, level), fewest);
        EXPECT_EQ(most_rejecting(trials, probability, level), most);
      }
    }
  }
  // 28 hits of 28 have probability 0.0523 at 0.9.
  EXPECT_EQ(fewest_rejecting(28, 0.9, 0.05), std::nullopt);
  EXPECT_EQ(fewest_rejecting(29, 0.9, 0.05), 29);
}

TEST(Rejecting, IsMirroredByTheOtherSide) {
  for (const std::int64_t trials : {1000, 123'457, 10'000'000, 1'000'000'000}) {
    const auto fewest = fewest_rejecting(trials, 0.75, 0.01);
    ASSERT_TRUE(fewest);
    EXPECT_EQ(most_rejecting(trials, 0.25, 0.01), trials - *fewest);
    EXPECT_LE(binomial_upper_tail(*fewest, trials, 0.75), 0.01);
    EXPECT_GT(binomial_upper_tail(*fewest - 1, trials, 0.75), 0.01);
  }
}

TEST(ProportionLimits, AreTheEndsOfATwoSidedIntervalOfHalfTheRisk) {
  for (const std::int64_t trials : {1, 2, 17, 1000, 1'000'000}) {
    for (const std::int64_t successes : {std::int64_t{0}, trials / 3, trials / 2, trials}) {
      const auto of = [](std::int64_t count) { return static_cast<double>(count); };
      const Interval both = proportion_interval(of(successes), of(trials), 0.9);
      EXPECT_NEAR(proportion_lower_limit(successes, trials, 0.95), both.low, 1e-14);
      EXPECT_NEAR(proportion_upper_limit(successes, trials, 0.95), both.high, 1e-14);
    }
  }
}

TEST(ProportionLimits, HaveExactEnds) {
  EXPECT_EQ(proportion_lower_limit(0, 50, 0.95), 0);
  EXPECT_EQ(proportion_upper_limit(50, 50, 0.95), 1);
  EXPECT_EQ(proportion_lower_limit(0, 0, 0.95), 0);
  EXPECT_EQ(proportion_upper_limit(0, 0, 0.95), 1);
  EXPECT_NEAR(proportion_lower_limit(50, 50, 0.95), std::pow(0.05, 1.0 / 50), 1e-14);
  EXPECT_NEAR(proportion_upper_limit(0, 50, 0.95), 1 - std::pow(0.05, 1.0 / 50), 1e-14);
}

// A bound below the limit is what the test rejects, and the other way round.
TEST(ProportionLimits, AgreeWithTheTest) {
  for (std::int64_t successes = 1; successes <= 60; ++successes) {
    const double limit = proportion_lower_limit(successes, 60, 0.95);
    EXPECT_LE(binomial_upper_tail(successes, 60, limit - 1e-9), 0.05);
    EXPECT_GT(binomial_upper_tail(successes, 60, limit + 1e-9), 0.05);
  }
}

TEST(Binomial, NamesWhatItRefuses) {
  const double nan = std::nan("");
  EXPECT_EQ(refusal_of([] { (void)binomial_upper_tail(1, -1, 0.5); }),
            "binomial_upper_tail: trials is -1, must be 0 to 2^53");
  EXPECT_EQ(refusal_of([] { (void)binomial_lower_tail(1, (std::int64_t{1} << 53) + 1, 0.5); }),
            "binomial_lower_tail: trials is 9007199254740993, must be 0 to 2^53");
  EXPECT_EQ(refusal_of([&] { (void)binomial_upper_tail(1, 2, nan); }),
            "binomial_upper_tail: probability is nan, must be 0 to 1");
  EXPECT_EQ(refusal_of([] { (void)binomial_upper_tail(1, 2, 1.5); }),
            "binomial_upper_tail: probability is 1.500000, must be 0 to 1");
  EXPECT_EQ(refusal_of([] { (void)fewest_rejecting(5, 0.5, 0); }),
            "fewest_rejecting: level is 0.000000, must be between 0 and 1");
  EXPECT_EQ(refusal_of([] { (void)most_rejecting(5, 0.5, 1); }),
            "most_rejecting: level is 1.000000, must be between 0 and 1");
  EXPECT_EQ(refusal_of([] { (void)proportion_lower_limit(3, 2, 0.9); }),
            "proportion_lower_limit: 3 successes among 2 trials");
  EXPECT_EQ(refusal_of([] { (void)proportion_upper_limit(1, 2, 95); }),
            "proportion_upper_limit: confidence is 95.000000, must be between 0 and 1");
}

}  // namespace
}  // namespace limen
