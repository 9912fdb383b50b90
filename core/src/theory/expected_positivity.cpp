// SPDX-License-Identifier: MIT
// The mean of Q(r) ~ r^(a-1) (1-r)^(b-1) (1 + (tau-1) r)^(-n) with a + b = T + n, T the prior's strength.
//
// In the logit t of r, with p = r = 1 / (1 + e^-t) and q = tau e^t / (1 + tau e^t), the positivity in training,
//   Q(r) dr ~ e^h(t) dt,  h(t) = a t - T ln(1 + e^t) - n ln(1 + tau e^t).
// h is strictly concave, h'' = -(T p (1-p) + n q (1-q)), so there is one mode; but with a or b near 0 the tails e^(a t)
// and e^(-b t) are nearly flat. Both are cured by parts. The integral of a derivative is 0; of p e^h and of
// (1-p) e^h:
//   b * integral of p e^h     = integral of p (1-p) e^h (T + 1 + n g),      g = (1-q) / (1-p) = 1 / (1 + (tau-1) r),
//   a * integral of (1-p) e^h = integral of p (1-p) e^h (T + 1 + n tau g),
// since q / p = tau g. So with M the mean of g under the density p (1-p) e^h, which is Q with a + 1, b + 1 and T + 2,
//   mean r / mean (1-r) = a (T + 1 + n M) / (b (T + 1 + n tau M)):
// one integral whose tails fall at least like e^-|t|, and no difference anywhere.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "limen/theory/bias.h"

namespace limen {
namespace {

// A probability and its complement, each to full precision.
struct Share {
  double yes = 0;
  double no = 0;
};
Share logistic(double t) {
  const double small = std::exp(-std::abs(t));
  const Share share = {1 / (1 + small), small / (1 + small)};
  return t >= 0 ? share : Share{share.no, share.yes};
}

double share_of(double positive, double negative) { return positive / (positive + negative); }

// The density of above in t: e^(a t) (1 + e^t)^-strength (1 + tau e^t)^-evidence, a + b = strength + evidence.
struct LogitDensity {
  double a = 0;
  double b = 0;
  double strength = 0;
  double evidence = 0;
  double log_tau = 0;
};

// h'(t) = a - T p - n q, written with the smaller tail so that nothing large cancels.
double slope(const LogitDensity& f, Share p, Share q) {
  return f.a <= f.b ? f.a - (f.strength * p.yes + f.evidence * q.yes) : f.strength * p.no + f.evidence * q.no - f.b;
}

// The mode, to within a small part of the density's width. With p or q alone at a / (a + b) the slope has opposite
// signs, which brackets it; Newton on the logarithm of the side with less mass, where the sum is nearly exponential.
double find_mode(const LogitDensity& f) {
  const double middle = std::log(f.a) - std::log(f.b);
  double low = middle - std::max(f.log_tau, 0.);
  double high = middle - std::min(f.log_tau, 0.);
  double t = 0.5 * (low + high);
  for (int step = 0; step < 100; ++step) {
    const Share p = logistic(t);
    const Share q = logistic(t + f.log_tau);
    const double rest = slope(f, p, q);
    (rest > 0 ? low : high) = t;
    const double curvature = f.strength * p.yes * p.no + f.evidence * q.yes * q.no;
    const double mass = f.a <= f.b ? f.a - rest : f.b + rest;
    const double target = f.a <= f.b ? f.a : f.b;
    const double newton = (f.a <= f.b ? 1 : -1) * std::log(target / mass) * mass / curvature;
    double next = t + newton;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const bool is_near = std::abs(next - t) * std::sqrt(curvature) < 1e-3 && std::abs(next - t) < 1e-3;
    t = next;
    if (is_near || low >= high) break;
  }
  return t;
}

// s d - ln(1 + s (e^d - 1)) for d = -x <= 0: what a share s adds to h(t + d) - h(t) beside the slope. 0 at x = 0 and
// -s (1-s) x^2 / 2 near it, where both terms are s x: h itself is not subtracted, its rounding would count n times.
// For d > 0 it is the same with the share's complement.
double fall(Share s, double x, double exp_x, double expm1_x) {
  const double change = s.yes * expm1_x;
  return -s.yes * x - (change > -0.5 ? std::log1p(change) : std::log(s.no + s.yes * exp_x));
}

// The mean of g = 1 / (1 + (tau - 1) r). The trapezoidal rule converges geometrically for analytic functions that fall
// off on both sides. Its error is that of the characteristic function of t at 2 pi / step, which for the narrowest such
// density is a Gamma function's: 1e-17 at 0.25 standard deviations for a = 1, and at 0.5 for a large.
double mean_of_g(const LogitDensity& f, double tau) {
  const double mode = find_mode(f);
  const Share p = logistic(mode);
  const Share q = logistic(mode + f.log_tau);
  const double rest = slope(f, p, q);
  const double step = 0.5 / std::sqrt(f.strength * p.yes * p.no + f.evidence * q.yes * q.no + 4);
  const auto g_at = [&](double t) {
    const double small = std::exp(-std::abs(t));
    return t >= 0 ? (small + 1) / (small + tau) : (1 + small) / (1 + tau * small);
  };
  double weights = 1;
  double weighted = g_at(mode);
  for (const double side : {-1., 1.}) {
    const Share p_side = side < 0 ? p : Share{p.no, p.yes};
    const Share q_side = side < 0 ? q : Share{q.no, q.yes};
    for (int point = 1;; ++point) {
      const double x = point * step;
      const double expm1_x = std::expm1(-x);
      const double exp_x = std::exp(-x);
      const double weight = std::exp(side * rest * x + f.strength * fall(p_side, x, exp_x, expm1_x) +
                                     f.evidence * fall(q_side, x, exp_x, expm1_x));
      const double value = weight * g_at(mode + side * x);
      weights += weight;
      weighted += value;
      // Both sequences are log-concave: once they are far below their sums they stay there and fall geometrically.
      if (weight < 1e-18 * weights && value < 1e-18 * weighted) break;
    }
  }
  return weighted / weights;
}

constexpr int kMostTerms = 1'000'000;

// For tau > 1, w = 1 - 1 / tau and c = a + b, by the two Pfaff transformations of the numerator and the denominator:
//   x, y = n, b:  mean r = sum u_j a / (c + j) / sum u_j,                 mean 1-r: (b + j) in place of a,
//   x, y = T, a:  mean r = sum u_j (T + j) (a + j) / (T tau (c + j)) / sum u_j,  1-r: (T + j) b / (T (c + j)),
//   u_j = (x)_j (y)_j / ((c)_j j!) w^j.
// The first is a mixture over j, the negatives that undersampling dropped: with them the posterior is Beta(a, b + j).
struct SeriesSums {
  double positive = 0;
  double negative = 0;
};
std::optional<SeriesSums> sum_series(double a, double b, double strength, double evidence, double tau) {
  const double w = 1 - 1 / tau;
  const double c = strength + evidence;
  const bool by_dropped = std::min(evidence, b) <= std::min(strength, a);
  const double x = by_dropped ? evidence : strength;
  const double y = by_dropped ? b : a;
  SeriesSums sums;
  double sum = 0;
  double term = 1;
  for (int j = 0; j < kMostTerms; ++j) {
    const double positive = by_dropped ? a / (c + j) : (strength + j) / (strength * tau) * ((a + j) / (c + j));
    const double negative = by_dropped ? (b + j) / (c + j) : (strength + j) / strength * (b / (c + j));
    sum += term;
    sums.positive += term * positive;
    sums.negative += term * negative;
    const double ratio = (x + j) / (c + j) * ((y + j) / (1. + j)) * w;
    // Later ratios of the three series lie between this one and w, but for the factor of the sums, which grows by
    // less than 2 / (j + 1) of itself.
    const double later = std::max(ratio, w) * (1 + 2. / (j + 1));
    if (later < 1) {
      const double left = term * later / (1 - later);
      if (left < 1e-17 * sum && left * positive < 1e-17 * sums.positive && left * negative < 1e-17 * sums.negative) {
        return sums;
      }
    }
    term *= ratio;
    if (term > 1e280) {
      term *= 1e-280;
      sum *= 1e-280;
      sums.positive *= 1e-280;
      sums.negative *= 1e-280;
    }
  }
  return std::nullopt;
}

}  // namespace

double expected_positivity_by_quadrature(const PositivityPosterior& posterior) {
  const auto [a, b, strength, evidence, tau] = posterior;
  const double g = mean_of_g({a + 1, b + 1, strength + 2, evidence, std::log(tau)}, tau);
  return share_of(a * (strength + 1 + evidence * g), b * (strength + 1 + evidence * tau * g));
}

std::optional<double> expected_positivity_by_series(const PositivityPosterior& posterior) {
  const auto [a, b, strength, evidence, tau] = posterior;
  if (tau >= 1) {
    const auto sums = sum_series(a, b, strength, evidence, tau);
    if (!sums) return std::nullopt;
    return share_of(sums->positive, sums->negative);
  }
  // The classes change places.
  const auto sums = sum_series(b, a, strength, evidence, 1 / tau);
  if (!sums) return std::nullopt;
  return share_of(sums->negative, sums->positive);
}

double expected_positivity(const PositivityPosterior& posterior) {
  if (posterior.tau == 1 || posterior.evidence == 0) return share_of(posterior.positives, posterior.negatives);
  return expected_positivity_by_quadrature(posterior);
}

}  // namespace limen
