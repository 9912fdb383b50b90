// SPDX-License-Identifier: MIT
#include "limen/uncertainty/beta.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <charconv>
#include <cmath>
#include <string>

#include "limen/base/error.h"

namespace limen {
namespace {

// Stirling's series start here: the first term left out is below 1e-15.
constexpr double kStirlingFrom = 10;
// 0.5 ln(2 pi).
constexpr double kHalfLogTwoPi = 0.91893853320467274178;

void check(const char* name, double value) {
  if (value > 0 && std::isfinite(value)) return;
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  throw InvalidInput("beta_entropy",
                     std::string(name) + " is " + std::string(digits, end) + ", must be > 0 and finite");
}

// r(x) in ln Gamma(x) = (x - 0.5) ln x - x + 0.5 ln(2 pi) + r(x).
double log_gamma_remainder(double x) {
  const double y = 1 / x;
  const double z = y * y;
  return y * (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188 - z * (691. / 360360))))));
}

// x t(x) with t(x) in psi(x) = ln x - 1 / (2 x) - t(x).
double scaled_digamma_remainder(double x) {
  const double y = 1 / x;
  const double z = y * y;
  return y * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760))))));
}

// With s = a + b and both expansions put in, everything of the order of a ln a cancels:
//   H = f(a) + f(b) - g(s) + 0.5 ln(2 pi e),
//   f(x) = 0.5 ln x + r(x) + (x - 1) t(x) - 1 / (2 x),
//   g(x) = 1.5 ln x + r(x) + (x - 2) t(x) - 1 / x.
// Below the series' range f is the same function written with ln Gamma(1 + x) and psi(1 + x), which are smooth at 0.
double shape_term(double x) {
  if (x >= kStirlingFrom) {
    return 0.5 * std::log(x) + log_gamma_remainder(x) + (1 - 1 / x) * scaled_digamma_remainder(x) - 0.5 / x;
  }
  return boost::math::lgamma(1 + x) - (x - 1) * boost::math::digamma(1 + x) - std::log(x) + x + 0.5 - kHalfLogTwoPi -
         1 / x;
}

// g(low + high), also where the sum overflows.
double sum_term(double low, double high) {
  const double log_sum = std::log(high) + std::log1p(low / high);
  const double sum = low + high;
  return 1.5 * log_sum + log_gamma_remainder(sum) + (1 - 2 / sum) * scaled_digamma_remainder(sum) - 1 / sum;
}

// The definition, shifted by one as above. -1/a - 1/b + 2/s is written as one product: its parts may overflow to
// infinities of both signs.
double small_entropy(double a, double b) {
  using boost::math::digamma;
  using boost::math::lgamma;
  const double s = a + b;
  const double log_beta = (lgamma(1 + a) + lgamma(1 + b)) - lgamma(1 + s) + std::log(s) - (std::log(a) + std::log(b));
  const double digammas = (s - 2) * digamma(1 + s) - ((a - 1) * digamma(1 + a) + (b - 1) * digamma(1 + b));
  return log_beta + digammas + 1 - (a / b + b / a) / s;
}

}  // namespace

double beta_entropy(double alpha1, double alpha0) {
  check("alpha1", alpha1);
  check("alpha0", alpha0);
  const auto [low, high] = std::minmax(alpha1, alpha0);
  if (low + high < 2 * kStirlingFrom) return small_entropy(low, high);
  return shape_term(low) + shape_term(high) - sum_term(low, high) + kHalfLogTwoPi + 0.5;
}

}  // namespace limen
