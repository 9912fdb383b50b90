// SPDX-License-Identifier: MIT
#include "theory/samplers.h"

#include <cmath>

namespace limen::detail {
namespace {

// Marsaglia's polar method; the second value of the pair is thrown away, which keeps the generator the only state.
double sample_normal(Generator& generator) {
  for (;;) {
    const double x = 2 * generator.uniform() - 1;
    const double y = 2 * generator.uniform() - 1;
    const double radius = x * x + y * y;
    if (radius < 1 && radius > 0) return x * std::sqrt(-2 * std::log(radius) / radius);
  }
}

// Below this mean a sequential search is cheaper than a beta variate, and (1 - p)^n is far from underflow.
constexpr double kSearchMean = 16;

// Inversion by search from 0. 0 < p <= 0.5, n p < kSearchMean.
std::int64_t search_binomial(Generator& generator, std::int64_t n, double p) {
  const double odds = p / (1 - p);
  const double start = std::exp(static_cast<double>(n) * std::log1p(-p));
  for (;;) {
    double rest = generator.uniform();
    double mass = start;
    for (std::int64_t k = 0; k <= n; ++k) {
      if (rest < mass) return k;
      rest -= mass;
      mass *= odds * static_cast<double>(n - k) / static_cast<double>(k + 1);
      // Rounding left a remainder beyond all mass.
      if (mass == 0) break;
    }
  }
}

}  // namespace

// Marsaglia & Tsang (2000). shape >= 1.
double sample_gamma(Generator& generator, double shape) {
  const double d = shape - 1. / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = sample_normal(generator);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(generator.uniform()) < 0.5 * x * x + d * (1 - v + std::log(v))) return d * v;
  }
}

namespace {

// Logarithm of a gamma variate of any shape > 0: Gamma(a) = Gamma(a + 1) U^(1/a). The power itself underflows for small
// shapes, which would make a beta variate 0 / 0.
double sample_log_gamma(Generator& generator, double shape) {
  if (shape >= 1) return std::log(sample_gamma(generator, shape));
  const double boosted = std::log(sample_gamma(generator, shape + 1));
  return boosted + std::log(generator.uniform()) / shape;
}

}  // namespace

// May round to 0 or 1.
double sample_beta(Generator& generator, double a, double b) {
  if (a >= 1 && b >= 1) {
    const double x = sample_gamma(generator, a);
    return x / (x + sample_gamma(generator, b));
  }
  const double log_x = sample_log_gamma(generator, a);
  return 1 / (1 + std::exp(sample_log_gamma(generator, b) - log_x));
}

// The i-th smallest x of n uniforms is Beta(i, n + 1 - i). If x <= p, i of them lie below p and the n - i above x are
// uniform on (x, 1); otherwise the i - 1 below x are uniform on (0, x) and the others lie above p (Relles 1972). With i
// at the mean x is within a few standard deviations of p, so what is left has a mean of the order of the square root.
std::int64_t sample_binomial(Generator& generator, std::int64_t n, double p) {
  std::int64_t successes = 0;
  bool flipped = false;
  // Invariant: the result is `successes` plus a Binomial(n, p), or minus it when flipped.
  for (;;) {
    if (p > 0.5) {
      successes += flipped ? -n : n;
      flipped = !flipped;
      p = 1 - p;
    }
    if (n == 0 || p <= 0) return successes;
    const double mean = static_cast<double>(n) * p;
    if (mean < kSearchMean) {
      const std::int64_t found = search_binomial(generator, n, p);
      return flipped ? successes - found : successes + found;
    }
    const auto i = static_cast<std::int64_t>(mean);
    const double x = sample_beta(generator, static_cast<double>(i), static_cast<double>(n + 1 - i));
    if (x <= p) {
      successes += flipped ? -i : i;
      n -= i;
      p = (p - x) / (1 - x);
    } else {
      n = i - 1;
      p /= x;
    }
  }
}

// The m-th arrival of a unit-rate process is Gamma(m). If it comes after `mean`, the m - 1 before it are uniform;
// otherwise m have come and the process starts anew (Ahrens & Dieter 1974).
std::int64_t sample_poisson(Generator& generator, double mean) {
  std::int64_t arrived = 0;
  while (mean >= kSearchMean) {
    const auto m = static_cast<std::int64_t>(mean * 0.875);
    const double time = sample_gamma(generator, static_cast<double>(m));
    if (time > mean) return arrived + sample_binomial(generator, m - 1, mean / time);
    arrived += m;
    mean -= time;
  }
  // Arrivals one by one: products of uniforms stay above exp(-mean).
  const double floor = std::exp(-mean);
  for (double product = generator.uniform(); product > floor; product *= generator.uniform()) ++arrived;
  return arrived;
}

}  // namespace limen::detail
