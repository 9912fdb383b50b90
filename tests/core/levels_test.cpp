// SPDX-License-Identifier: MIT
#include "limen/count/levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>

namespace limen {
namespace {

std::size_t by_definition(const std::vector<double>& edges, double uncertainty) {
  std::size_t level = 0;
  for (const double edge : edges) level += edge <= uncertainty ? 1 : 0;
  return level;
}

TEST(LevelOf, IsTheNumberOfEdgesAtOrBelow) {
  const std::vector<double> edges = {1, 2};
  EXPECT_EQ(level_of(edges, 0.9), 0U);
  EXPECT_EQ(level_of(edges, 1), 1U);
  EXPECT_EQ(level_of(edges, 1.9), 1U);
  EXPECT_EQ(level_of(edges, 2), 2U);
  EXPECT_EQ(level_of({}, 2), 0U);
}

TEST(RoundUpTo, NeverGoesBelow) {
  EXPECT_EQ(round_up_to<double>(0.1), 0.1);
  EXPECT_GE(static_cast<double>(round_up_to<float>(0.7)), 0.7);  // the nearest float is below
  EXPECT_LT(std::nextafter(round_up_to<float>(0.7), 0.0F), 0.7);
  EXPECT_EQ(round_up_to<float>(0.5), 0.5F);
}

/// Edges of a named shape, and values around them.
std::vector<double> make_edges(const std::string& shape, std::size_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::set<double> edges;
  while (edges.size() < count) {
    const double value = uniform(random);
    if (shape == "even") edges.insert(value);
    if (shape == "heavy_tail") edges.insert(std::exp(20 * value));
    if (shape == "crowded") edges.insert(edges.empty() ? 1e6 : value * 1e-3);
    if (shape == "whole_range") edges.insert((2 * value - 1) * 1.7e308);
    if (shape == "adjacent") edges.insert(edges.empty() ? 0.3 : std::nextafter(*edges.rbegin(), 1.0));
    if (shape == "tiny") edges.insert((2 * value - 1) * 1e-310);
  }
  return {edges.begin(), edges.end()};
}

template <typename Real>
void check_finder(const std::string& shape) {
  std::mt19937_64 random(5);
  for (const std::size_t count : {0, 1, 2, 7, 12, 13, 100, 254, 999}) {
    const std::vector<double> edges = make_edges(shape, count, random);
    SCOPED_TRACE(shape + ", " + std::to_string(count) + " edges");
    const LevelFinder<Real> finder(edges);
    std::vector<Real> values = {0, 1, -1, std::numeric_limits<Real>::max(), std::numeric_limits<Real>::lowest()};
    for (const double edge : edges) {
      const auto at = static_cast<Real>(edge);
      values.insert(values.end(), {at, std::nextafter(at, Real{-1}), std::nextafter(at, Real{1})});
    }
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int draw = 0; draw < 3000 && count > 0; ++draw) {
      values.push_back(static_cast<Real>(edges.front() + (edges.back() / 2 - edges.front() / 2) * 2 * uniform(random)));
    }
    std::erase_if(values, [](Real value) { return !std::isfinite(value); });
    std::vector<std::int32_t> level(values.size());
    std::vector<std::uint16_t> short_level(values.size());
    finder.find(values.data(), values.size(), level.data());
    finder.find(values.data(), values.size(), short_level.data());
    for (std::size_t row = 0; row < values.size(); ++row) {
      const std::size_t expected = by_definition(edges, static_cast<double>(values[row]));
      ASSERT_EQ(static_cast<std::size_t>(level[row]), expected) << values[row];
      ASSERT_EQ(short_level[row], expected) << values[row];
      ASSERT_EQ(level_of(edges, static_cast<double>(values[row])), expected);
    }
    for (const Real bad : {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity(),
                           -std::numeric_limits<Real>::infinity()}) {
      std::uint16_t some = 0;
      finder.find(&bad, 1, &some);
      ASSERT_LT(some, finder.num_levels());
    }
  }
}

TEST(LevelFinder, EqualsTheDefinitionInDoublePrecision) {
  for (const char* shape : {"even", "heavy_tail", "crowded", "whole_range", "adjacent", "tiny"})
    check_finder<double>(shape);
}

TEST(LevelFinder, EqualsTheDefinitionInSinglePrecision) {
  for (const char* shape : {"even", "heavy_tail", "crowded", "adjacent", "tiny"}) check_finder<float>(shape);
}

}  // namespace
}  // namespace limen
