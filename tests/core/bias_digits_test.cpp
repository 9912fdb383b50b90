// SPDX-License-Identifier: MIT
// Expected positivities against integrals and hypergeometric functions in fifty digits, apart from bias_test because
// these take long.
#include <gtest/gtest.h>

#include <optional>

#include "limen/theory/bias.h"
#include "reference/positivity_reference.h"
#include "support/bias_grid.h"

namespace limen {
namespace {

// Every eleventh point, and all where the series in double gave up.
TEST(ExpectedPositivity, IsThatOfFiftyDigits) {
  int by_pfaff = 0;
  int by_integrals = 0;
  int by_both = 0;
  int beyond_series = 0;
  int number = 0;
  for (const test::BiasPoint& point : test::bias_grid()) {
    const PositivityPosterior posterior = posterior_given_train(point.train, point.evidence, point.parameters);
    const bool has_series = expected_positivity_by_series(posterior).has_value();
    if (number++ % 11 != 0 && has_series) continue;
    const test::WidePosterior exact = test::wide_posterior(point.train, point.evidence, point.parameters);
    const bool has_integrals = exact.a >= 0.5 && exact.b >= 0.5;
    // What is too long for the series in double is so in any precision.
    const auto by_series = has_series || !has_integrals ? test::mean_by_pfaff(exact) : std::nullopt;
    ASSERT_TRUE(by_series || has_integrals) << point;
    const test::Wide mean = has_integrals ? test::mean_by_integrals(exact) : *by_series;
    by_pfaff += by_series ? 1 : 0;
    by_integrals += has_integrals ? 1 : 0;
    beyond_series += has_series ? 0 : 1;
    if (by_series && has_integrals) {
      ++by_both;
      EXPECT_LT(abs(*by_series - mean) / mean, 1e-20) << point;
    }
    // Positives and negatives are rounded on the way in; the mean follows each at most in proportion.
    const double found = expected_positivity_by_quadrature(posterior);
    EXPECT_LT(abs(found - mean) / mean, 1e-14) << point;
  }
  EXPECT_GT(by_pfaff, 300);
  EXPECT_GT(by_integrals, 200);
  EXPECT_GT(by_both, 150);
  EXPECT_GT(beyond_series, 20);
}

}  // namespace
}  // namespace limen
