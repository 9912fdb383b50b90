// SPDX-License-Identifier: MIT
#include "lanes.h"

#include <gtest/gtest.h>

#include <boost/math/quadrature/tanh_sinh.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "limen/uncertainty/beta.h"

namespace {

namespace lanes = limen::train;

std::vector<double> grid(double from, double to, int steps) {
  std::vector<double> values;
  for (int at = 0; at <= steps; ++at) values.push_back(from * std::pow(to / from, static_cast<double>(at) / steps));
  return values;
}

double entropy(double a, double b) {
  const auto term = [](double x, double n) {
    return lanes::entropy_term(lanes::prepare_gamma(lanes::splat(x), true), n)[0];
  };
  return term(a, 1) + term(b, 1) - term(a + b, 2) + lanes::kHalfLogTwoPi + 0.5;
}

TEST(Lanes, LogarithmAndExponentialAreAccurateToAFewUnits) {
  for (const double x : grid(1e-150, 1e150, 20000)) {
    EXPECT_NEAR(lanes::log(lanes::splat(x))[1], std::log(x), 3e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (double x = -700; x <= 700; x += 0.137) {
    EXPECT_NEAR(lanes::exp(lanes::splat(x))[2] / std::exp(x), 1, 1e-15) << x;
  }
}

TEST(Lanes, NaNStaysNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(lanes::log(lanes::splat(nan))[0]));
  EXPECT_TRUE(std::isnan(lanes::exp(lanes::splat(nan))[0]));
}

TEST(Lanes, GammaFunctionsAgreeWithBoost) {
  for (const double x : grid(1e-3, 1e14, 4000)) {
    const lanes::Gamma g = lanes::prepare_gamma(lanes::splat(x), true);
    // digamma crosses 0 near 1.46 and is compared absolutely there.
    const double digamma = boost::math::digamma(x);
    EXPECT_NEAR(lanes::digamma(g)[0], digamma, 2e-14 * std::max(1.0, std::abs(digamma))) << x;
    EXPECT_NEAR(lanes::trigamma(g)[0] / boost::math::trigamma(x), 1, 1e-13) << x;
    if (x < 1e3) {
      EXPECT_NEAR(lanes::scaled_trigamma(g)[0], x * boost::math::trigamma(x) - 1, 1e-12 * std::max(1.0, 1 / x)) << x;
      EXPECT_NEAR(lanes::digamma_above_log(g)[0], boost::math::digamma(x + 1) - std::log(x),
                  2e-14 * std::max(1.0, 1 / x))
          << x;
    } else {
      EXPECT_NEAR(lanes::scaled_trigamma(g)[0] * 2 * x, 1 + 1 / (3 * x), 1e-6 / x + 1e-15) << x;
      EXPECT_NEAR(lanes::digamma_above_log(g)[0] * 2 * x, 1 - 1 / (6 * x), 1e-6 / x + 1e-15) << x;
    }
  }
}

TEST(Lanes, MixesSmallAndLargeArguments) {
  const lanes::Lanes x = {0.5, 9.999, 10.0, 1e9};
  const lanes::Gamma g = lanes::prepare_gamma(x, true);
  for (int lane = 0; lane < lanes::kLanes; ++lane) {
    EXPECT_NEAR(lanes::digamma(g)[lane], boost::math::digamma(x[lane]), 1e-14 * 21);
  }
}

TEST(Lanes, BetaEntropyAgreesWithQuadratureAndWithTheCore) {
  boost::math::quadrature::tanh_sinh<double> integrator;
  for (const double a : {0.3, 1.0, 2.5, 9.0, 15.0, 200.0}) {
    for (const double b : {0.4, 1.0, 3.0, 11.0, 150.0}) {
      const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
      // -ln density, weighed by the density; near 1 the integrator hands over 1 - p, near 0 it hands over -p.
      const auto value = [&](double p, double complement) {
        const double rest = complement > 0 ? complement : 1 - p;
        if (p <= 0 || rest <= 0) return 0.0;
        const double log_density = (a - 1) * std::log(p) + (b - 1) * std::log(rest) - log_beta;
        return log_density < -700 ? 0.0 : -log_density * std::exp(log_density);
      };
      EXPECT_NEAR(entropy(a, b), integrator.integrate(value, 0.0, 1.0), 1e-8) << a << " " << b;
    }
  }
  for (const double a : grid(1e-2, 1e12, 60)) {
    for (const double b : grid(1e-2, 1e12, 60)) {
      const double core = limen::beta_entropy(a, b);
      EXPECT_NEAR(entropy(a, b), core, 1e-12 * std::max(1.0, std::abs(core))) << a << " " << b;
    }
  }
}

}  // namespace
