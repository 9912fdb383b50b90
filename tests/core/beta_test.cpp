// SPDX-License-Identifier: MIT
#include "limen/uncertainty/beta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "limen/base/error.h"

namespace limen {
namespace {

using Quadrature = boost::math::quadrature::tanh_sinh<double>;

// Oracle: with the unnormalised log density g, H = ln Z - E[g], Z the integral of exp(g). Z is integrated too, so no
// gamma function enters.
struct Moments {
  double mass = 0;
  double mean_log = 0;  // integral of g exp(g)
};

// alpha1, alpha0 > 1, at least one large: g relative to the mode, over 40 standard deviations to each side.
double entropy_around_mode(double alpha1, double alpha0) {
  const double sum = alpha1 + alpha0;
  const double mode = (alpha1 - 1) / (sum - 2);
  const double deviation = std::sqrt(alpha1 / sum * alpha0 / sum / (sum + 1));
  const double low = std::max(-mode, -40 * deviation);
  const double high = std::min(1 - mode, 40 * deviation);
  const auto log_density = [&](double offset) {
    return (alpha1 - 1) * std::log1p(offset / mode) + (alpha0 - 1) * std::log1p(-offset / (1 - mode));
  };
  Quadrature quadrature;
  Moments total;
  for (const auto& [from, to] : {std::pair{low, 0.}, std::pair{0., high}}) {
    total.mass += quadrature.integrate([&](double x) { return std::exp(log_density(x)); }, from, to);
    total.mean_log += quadrature.integrate(
        [&](double x) {
          const double g = log_density(x);
          return g < -700 ? 0. : g * std::exp(g);
        },
        from, to);
  }
  return std::log(total.mass) - total.mean_log / total.mass;
}

// Moderate and small alphas. Each half of (0, 1) is integrated in v = x^a, which removes the pole of x^(a-1) at its
// end: the integral of x^(a-1) h(x) over (0, 1/2) is 1/a times that of h(v^(1/a)) over (0, 2^-a).
double entropy_by_powers(double alpha1, double alpha0) {
  Quadrature quadrature;
  Moments total;
  const auto half = [&](double a, double b) {
    const double end = std::exp2(-a);
    total.mass += quadrature.integrate([&](double v) { return std::pow(1 - std::pow(v, 1 / a), b - 1); }, 0., end) / a;
    total.mean_log += quadrature.integrate(
                          [&](double v) {
                            const double log_x = std::log(v) / a;
                            const double log_rest = std::log1p(-std::exp(log_x));
                            return ((a - 1) * log_x + (b - 1) * log_rest) * std::exp((b - 1) * log_rest);
                          },
                          0., end) /
                      a;
  };
  half(alpha1, alpha0);
  half(alpha0, alpha1);
  return std::log(total.mass) - total.mean_log / total.mass;
}

TEST(BetaEntropy, OfTheUniformLawIsZero) { EXPECT_NEAR(beta_entropy(1, 1), 0, 1e-15); }

// Beta(2, 1) has density 2x: H = -(integral of 2x ln 2x) = 1/2 - ln 2. Beta(2, 2): B = 1/6, psi(4) - psi(2) = 1/2 +
// 1/3, H = -ln 6 + 2 (1/2 + 1/3) = 5/3 - ln 6. Beta(1/2, 1/2): H = ln(pi/4), since psi(1) - psi(1/2) = 2 ln 2 and B =
// pi.
TEST(BetaEntropy, EqualsValuesWorkedByHand) {
  EXPECT_NEAR(beta_entropy(2, 1), 0.5 - std::numbers::ln2, 1e-14);
  EXPECT_NEAR(beta_entropy(2, 2), 5. / 3 - std::log(6.), 1e-14);
  EXPECT_NEAR(beta_entropy(0.5, 0.5), std::log(std::numbers::pi / 4), 1e-14);
  // Beta(1, b): ln(1/b) + 1 - 1/b, on both sides of every change of formula.
  for (const double b : {0.25, 3., 9.5, 10.5, 18.9, 19.1, 1e3, 1e7, 1e9, 1e15}) {
    EXPECT_NEAR(beta_entropy(1, b), 1 - std::log(b) - 1 / b, 4e-14) << b;
  }
}

TEST(BetaEntropy, IsSymmetricToTheLastBit) {
  const double values[] = {1e-300, 1e-3, 0.3, 1, 2.5, 9.9, 10.1, 77, 12345.5, 1e9, 1e300};
  for (const double a : values) {
    for (const double b : values) EXPECT_EQ(beta_entropy(a, b), beta_entropy(b, a)) << a << ' ' << b;
  }
}

TEST(BetaEntropy, AgreesWithQuadratureForSmallAndModerateAlpha) {
  const double values[] = {1e-3, 0.01, 0.2, 0.7, 1, 1.5, 4, 9.99, 10.01, 15, 25};
  for (const double a : values) {
    for (const double b : values) {
      const double expected = entropy_by_powers(a, b);
      // The quadrature stops at a relative 1.5e-8 at worst and is far better on these integrands.
      EXPECT_NEAR(beta_entropy(a, b), expected, 1e-9 * std::max(1., std::abs(expected))) << a << ' ' << b;
    }
  }
}

TEST(BetaEntropy, AgreesWithQuadratureForLargeAlpha) {
  for (const double sum : {30., 1e3, 1e5, 1e7, 0.99e8, 1.01e8, 1e10}) {
    for (const double share : {0.5, 0.2, 0.9}) {
      const double a = share * sum;
      const double b = sum - a;
      EXPECT_NEAR(beta_entropy(a, b), entropy_around_mode(a, b), 1e-8) << a << ' ' << b;
    }
  }
}

// dH / d ln(sum) is at most 1 + 1 / min(a, b) in size: a jump between two formulas would show as more than that times
// the relative step, plus rounding.
TEST(BetaEntropy, HasNoJumpWhereFormulasChangeOrAtAHundredMillion) {
  for (const double share : {0.5, 0.01, 0.93}) {
    for (const double sum : {10 / share, 10 / (1 - share), 20., 1e8}) {
      const double below = beta_entropy(share * sum * (1 - 1e-12), (1 - share) * sum * (1 - 1e-12));
      const double above = beta_entropy(share * sum * (1 + 1e-12), (1 - share) * sum * (1 + 1e-12));
      EXPECT_NEAR(below, above, 2e-12 * (1 + 1 / (sum * std::min(share, 1 - share))) + 1e-13) << share << ' ' << sum;
    }
  }
}

// H minus the normal law's is -1/(3a) - 1/(3b) + 5/(6s) + O(1/min(a, b)^2): less than 1 / min(a, b).
TEST(BetaEntropy, ApproachesTheNormalLimit) {
  for (const double sum : {1e6, 0.9e8, 1.1e8, 1e12, 1e300}) {
    for (const double p : {0.5, 0.1, 0.999}) {
      const double normal = 0.5 * (std::log(2 * std::numbers::pi * std::numbers::e * p * (1 - p)) - std::log(sum));
      EXPECT_NEAR(beta_entropy(p * sum, (1 - p) * sum), normal, 1 / (sum * std::min(p, 1 - p)) + 1e-12)
          << sum << ' ' << p;
    }
  }
}

// As b grows, b x tends to a Gamma(a) variate: H -> a + ln Gamma(a) + (1 - a) psi(a) - ln b. The normal limit would be
// off by 0.19 here at any b. For a = 2: psi(2) = 1 - gamma.
TEST(BetaEntropy, OfOneSmallAndOneHugeAlphaIsTheGammaLimitNotTheNormalOne) {
  const double gamma_entropy = 2 - (1 - std::numbers::egamma);
  EXPECT_NEAR(beta_entropy(2, 1e12), gamma_entropy - std::log(1e12), 1e-10);
}

// For a = b = x -> 0 the law is two points: H = -1/x + ln(2/x) + 1 + O(x), since psi(x) ~ -1/x and B ~ 2/x.
TEST(BetaEntropy, OfVanishingAlphaIsDominatedByItsPoles) {
  for (const double x : {1e-6, 1e-9}) EXPECT_NEAR(beta_entropy(x, x), -1 / x + std::log(2 / x) + 1, 1e-5 + 1e-15 / x);
  EXPECT_NEAR(beta_entropy(1e-200, 1e-200) / -1e200, 1, 1e-14);
}

TEST(BetaEntropy, NeverGivesNan) {
  const double lowest = std::numeric_limits<double>::denorm_min();
  const double highest = std::numeric_limits<double>::max();
  EXPECT_EQ(beta_entropy(lowest, lowest), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(beta_entropy(lowest, highest), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(beta_entropy(highest, highest)));
  EXPECT_TRUE(std::isfinite(beta_entropy(1, highest)));
}

TEST(BetaEntropy, FallsAsEvidenceGrowsAtTheSameScore) {
  for (const double score : {0.5, 0.1, 0.85}) {
    // From here on both alphas are above 1 and the density has one mode.
    const double start = 2 / std::min(score, 1 - score);
    double last = 0;
    for (double sum = start; sum < 1e12; sum *= 1.1) {
      const double next = beta_entropy(sum * score, sum * (1 - score));
      EXPECT_LT(next, last) << score << ' ' << sum;
      last = next;
    }
  }
}

TEST(BetaEntropy, RejectsWhatIsNotAPositiveNumber) {
  const auto message = [](double a, double b) -> std::string {
    try {
      (void)beta_entropy(a, b);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message(0, 1), "beta_entropy: alpha1 is 0, must be > 0 and finite");
  EXPECT_EQ(message(1, -2.5), "beta_entropy: alpha0 is -2.5, must be > 0 and finite");
  EXPECT_EQ(message(1, std::numeric_limits<double>::infinity()), "beta_entropy: alpha0 is inf, must be > 0 and finite");
  EXPECT_EQ(message(std::numeric_limits<double>::quiet_NaN(), 1),
            "beta_entropy: alpha1 is nan, must be > 0 and finite");
}

}  // namespace
}  // namespace limen
