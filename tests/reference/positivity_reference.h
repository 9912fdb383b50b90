// SPDX-License-Identifier: MIT
// The mean of Q(r) ~ r^(a-1) (1-r)^(b-1) (1 + (tau-1) r)^(-n) in fifty digits, straight from the definitions.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <optional>

#include "limen/theory/bias.h"

namespace limen::test {

using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;

/// The posterior of a train positivity without rounding: a + b = strength + n holds exactly.
struct WidePosterior {
  Wide a, b, strength, n, tau;
};
inline WidePosterior wide_posterior(double train_positivity, double evidence, const BiasParameters& parameters) {
  const Wide strength = parameters.prior_strength;
  const Wide n = evidence;
  return {parameters.xi * strength + n * train_positivity,
          (1 - Wide(parameters.xi)) * strength + n * (1 - Wide(train_positivity)), strength, n, parameters.tau};
}
/// The same with the classes changed.
inline WidePosterior swapped(const WidePosterior& q) { return {q.b, q.a, q.strength, q.n, 1 / q.tau}; }

/// 2F1(x, y; c; z) by its own series, z in (-1, 1), until terms are below 1e-40 of the sum; unset after `most_terms`.
/// For z < 0 and large x, y the terms cancel, fifty digits allow for 1e20.
inline std::optional<Wide> hypergeometric(const Wide& x, const Wide& y, const Wide& c, const Wide& z,
                                          int most_terms = 400'000) {
  Wide sum = 0;
  Wide term = 1;
  for (int j = 0; j < most_terms; ++j) {
    sum += term;
    const Wide ratio = (x + j) * (y + j) / ((c + j) * (j + 1)) * z;
    term *= ratio;
    const Wide size = abs(ratio);
    if (size < 1 && abs(term) < abs(sum) * 1e-40 * (1 - std::max(size, abs(z)))) return sum;
  }
  return std::nullopt;
}

/// a / (a+b) 2F1(n, a+1; a+b+1; 1-tau) / 2F1(n, a; a+b; 1-tau) as it stands. 0 < tau < 2.
inline std::optional<Wide> mean_by_hypergeometric(const WidePosterior& q) {
  const Wide c = q.strength + q.n;
  const auto above = hypergeometric(q.n, q.a + 1, c + 1, 1 - q.tau);
  const auto below = hypergeometric(q.n, q.a, c, 1 - q.tau);
  if (!above || !below) return std::nullopt;
  return q.a / c * *above / *below;
}

/// The same after (1-z)^-a or (1-z)^-n is taken out of both (Pfaff), which leaves (tau-1) / tau as the argument. The
/// transformation with the smaller parameters is taken. For tau < 1 the classes change places.
inline std::optional<Wide> mean_by_pfaff(const WidePosterior& q) {
  if (q.tau < 1) {
    const auto mean = mean_by_pfaff(swapped(q));
    if (!mean) return std::nullopt;
    return 1 - *mean;
  }
  const Wide c = q.strength + q.n;
  const Wide w = (q.tau - 1) / q.tau;
  const bool by_evidence = std::min(q.n, q.b) < std::min(q.strength, q.a);
  const auto below = by_evidence ? hypergeometric(q.n, q.b, c, w) : hypergeometric(q.strength, q.a, c, w);
  if (!below) return std::nullopt;
  const auto above =
      by_evidence ? hypergeometric(q.n, q.b, c + 1, w) : hypergeometric(q.strength + 1, q.a + 1, c + 1, w);
  if (!above) return std::nullopt;
  return q.a / c * *above / *below / (by_evidence ? Wide(1) : q.tau);
}

/// Two integrals over the logit of r by the trapezoidal rule. For a, b >= 0.5: the tails are e^(a t) and e^(-b t).
inline Wide mean_by_integrals(const WidePosterior& posterior) {
  const auto& [a, b, strength, n, tau] = posterior;
  const auto positivity = [](const Wide& t) { return Wide(1 / (1 + exp(Wide(-t)))); };
  const auto slope = [&](const Wide& t) {
    const Wide p = positivity(t);
    return Wide(a - (strength * p + n * tau * p / (tau * p + 1 - p)));
  };
  const auto height = [&](const Wide& t) {
    return Wide(a * t - strength * log(1 + exp(t)) - n * log(1 + tau * exp(t)));
  };
  Wide low = -2000;
  Wide high = 2000;
  for (int step = 0; step < 80; ++step) {
    const Wide middle = (low + high) / 2;
    (slope(middle) > 0 ? low : high) = middle;
  }
  const Wide mode = low;
  const Wide p = positivity(mode);
  const Wide q = tau * p / (tau * p + 1 - p);
  const Wide step = Wide(0.25) / sqrt(Wide(strength * p * (1 - p) + n * q * (1 - q) + 4));
  const Wide top = height(mode);
  Wide whole = 1;
  Wide mean = p;
  for (const int side : {-1, 1}) {
    for (int point = 1;; ++point) {
      const Wide t = mode + side * point * step;
      const Wide weight = exp(Wide(height(t) - top));
      const Wide value = weight * positivity(t);
      whole += weight;
      mean += value;
      if (weight < whole * 1e-24 && value < mean * 1e-24) break;
    }
  }
  return mean / whole;
}

}  // namespace limen::test
