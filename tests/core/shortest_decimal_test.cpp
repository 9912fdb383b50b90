// SPDX-License-Identifier: MIT
#include "limen/count/shortest_decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace limen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Significant digits of the shortest text of a number.
int digits_of(double value) {
  std::array<char, 64> text{};
  const char* end =
      std::to_chars(text.data(), text.data() + text.size(), std::abs(value), std::chars_format::scientific).ptr;
  int digits = 0;
  for (const char* c = text.data(); c != end && *c != 'e'; ++c) digits += *c != '.' ? 1 : 0;
  return value == 0 ? 0 : digits;
}

/// What a cut between two values must keep, also after rounding to single precision.
void check_cut(double below, double at, double t) {
  ASSERT_LT(below, t);
  ASSERT_LE(t, at);
  ASSERT_FALSE(t == 0 && std::signbit(t));
  const auto below_float = static_cast<float>(below);
  const auto at_float = static_cast<float>(at);
  if (!(below_float < at_float)) return;
  ASSERT_LT(static_cast<double>(below_float), t);
  ASSERT_LE(t, static_cast<double>(at_float));
  ASSERT_LT(below_float, static_cast<float>(t));
  ASSERT_LE(static_cast<float>(t), at_float);
}

TEST(ShortestBetween, TakesTheFewestDigitsAndThenTheMiddle) {
  EXPECT_EQ(shortest_between(0.8123, 0.8178), 0.815);  // 0.813 to 0.817 have three digits
  EXPECT_EQ(shortest_between(0.79, 0.86), 0.8);        // one digit, though not in the middle
  EXPECT_EQ(shortest_between(0.1, 0.9), 0.5);
  EXPECT_EQ(shortest_between(0.5, 0.6), 0.6);  // the lower end is out
  EXPECT_EQ(shortest_between(97, 101), 100);
  EXPECT_EQ(shortest_between(9.5, 9.99), 9.7);
  EXPECT_EQ(shortest_between(123456, 123460), 123460);
  EXPECT_EQ(shortest_between(123456, 123459), 123458);  // 123457.5, rounded to even
  EXPECT_EQ(shortest_between(-0.86, -0.79), -0.8);
  EXPECT_EQ(shortest_between(-0.6, -0.5), -0.5);
  EXPECT_EQ(shortest_between(-3, 8), 0);
  EXPECT_EQ(shortest_between(-3, 0), 0);
  EXPECT_EQ(shortest_between(0, 8), 4);
  EXPECT_EQ(shortest_between(1e-300, 3e-300), 2e-300);
  EXPECT_EQ(shortest_between(0, 5e-324), 5e-324);
  EXPECT_EQ(shortest_between(1e300, 3e300), 2e300);
  EXPECT_EQ(shortest_between(-1.7e308, 1.7e308), 0);
}

TEST(ShortestBetween, OfAdjacentDoublesIsTheUpperOne) {
  for (const double value : {1.0, 0.1, -0.3, 1e300, 1e-310, -1e-310, 0.0}) {
    const double above = std::nextafter(value, kInfinity);
    EXPECT_EQ(shortest_between(value, above), above);
    check_cut(value, above, shortest_between(value, above));
  }
}

TEST(ShortestBetween, IsAsShortAsTheShortestNumberThatSearchFinds) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  int checked = 0;
  for (int instance = 0; instance < 3000; ++instance) {
    const double below = uniform(random);
    const double at = below + uniform(random) * std::pow(10, -static_cast<int>(random() % 6));
    if (!(static_cast<float>(below) < static_cast<float>(at))) continue;
    const double t = shortest_between(below, at);
    check_cut(below, at, t);
    // The largest multiple of every power of ten up to `at`: if any is inside, this one is.
    for (int places = -1; places < 8; ++places) {
      const double power = std::pow(10, places);
      const double inside = std::floor(at * power) / power;
      if (!(inside > below + 1e-7 && inside < at - 1e-7)) continue;
      EXPECT_LE(digits_of(t), digits_of(inside)) << below << " " << at << " " << t << " " << inside;
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(ShortestBetween, CutsBetweenNeighboursOfAnyKindInBothPrecisions) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto draw = [&](int kind) -> double {
    switch (kind) {
      case 0:
        return uniform(random);
      case 1:
        return static_cast<double>(static_cast<float>(uniform(random)));
      case 2:
        return 2 * uniform(random) - 1;
      case 3:
        return std::ldexp(2 * uniform(random) - 1, static_cast<int>(random() % 2098) - 1074);
      case 4:
        return static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 100;
      case 5:
        return static_cast<double>(std::ldexp(static_cast<float>(uniform(random)), -140));
      default:
        return (1 - 1e-9 * uniform(random)) * 1.7e308;
    }
  };
  int same_float = 0;
  int other_float = 0;
  for (int instance = 0; instance < 200'000; ++instance) {
    const int kind = instance % 7;
    double below = draw(kind);
    double at = draw(kind);
    // Every third pair is close: a few doubles, or a few floats, apart.
    if (instance % 3 == 1) {
      at = below;
      for (std::uint64_t step = 0; step <= random() % 4; ++step) at = std::nextafter(at, kInfinity);
    } else if (instance % 3 == 2) {
      const auto near = std::nextafter(static_cast<float>(below), std::numeric_limits<float>::infinity());
      at = static_cast<double>(near) + (uniform(random) - 0.5) * (static_cast<double>(near) - below);
    }
    if (at < below) std::swap(below, at);
    if (!(below < at) || !std::isfinite(below) || !std::isfinite(at)) continue;
    ++(static_cast<float>(below) < static_cast<float>(at) ? other_float : same_float);
    SCOPED_TRACE(std::to_string(instance));
    const double t = shortest_between(below, at);
    check_cut(below, at, t);
    if (HasFatalFailure()) return;
    ASSERT_LE(digits_of(t), 17);
  }
  EXPECT_GT(same_float, 10'000);
  EXPECT_GT(other_float, 100'000);
}

TEST(ShortestAtMost, IsAFewDigitsAtOrALittleBelow) {
  EXPECT_EQ(shortest_at_most(0.2), 0.2);
  EXPECT_EQ(shortest_at_most(1), 1);
  EXPECT_EQ(shortest_at_most(0), 0);
  EXPECT_EQ(shortest_at_most(0.81234), 0.81);
  EXPECT_EQ(shortest_at_most(-0.81234), -0.82);
  EXPECT_EQ(shortest_at_most(5e-324), 5e-324);
  EXPECT_EQ(shortest_at_most(-1.79e308), -1.79e308);
  EXPECT_FALSE(std::signbit(shortest_at_most(-0.0)));
  std::mt19937_64 random(3);
  for (int instance = 0; instance < 10'000; ++instance) {
    const double at = std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 400) - 200);
    const double t = shortest_at_most(at);
    ASSERT_LE(t, at);
    ASSERT_LE(static_cast<float>(t), static_cast<float>(at));
    ASSERT_GE(t, at - std::abs(at) / 100);
    ASSERT_LE(digits_of(t), 4);
  }
}

}  // namespace
}  // namespace limen
