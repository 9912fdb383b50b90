// SPDX-License-Identifier: MIT
// Four rows at a time: elementary and gamma functions on vectors of doubles, for kernels.cpp alone.
#pragma once

#include <cstdint>

namespace limen::train {
namespace {

using Lanes = double __attribute__((vector_size(32)));
using LaneMask = std::int64_t __attribute__((vector_size(32)));  // of a comparison: 0 or -1
using LaneBits = std::uint64_t __attribute__((vector_size(32)));
constexpr int kLanes = 4;

inline Lanes splat(double value) { return Lanes{value, value, value, value}; }

inline Lanes sqrt(Lanes x) {
  Lanes root = {};
  for (int lane = 0; lane < kLanes; ++lane) root[lane] = __builtin_sqrt(x[lane]);
  return root;
}

inline bool any(LaneMask mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }
inline double sum(Lanes x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// x normal and positive; NaN and infinity give NaN. x = 2^k m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s),
// s = (m - 1) / (m + 1), by its series in s^2 < 0.0295: the first term left out is below 1e-17.
inline Lanes log(Lanes x) {
  constexpr std::uint64_t kHalfRoot = 0x3fe6a09e667f3bcdU;  // sqrt(1/2)
  const LaneBits bits = __builtin_bit_cast(LaneBits, x);
  // The exponent plus 1024: never negative, so that the shift may be logical.
  const LaneBits exponent = (bits - kHalfRoot + (std::uint64_t{1024} << 52U)) >> 52U;
  const Lanes m = __builtin_bit_cast(Lanes, bits - ((exponent - 1024) << 52U));
  // An integer below 2^52 becomes a double by way of the mantissa of 2^52.
  const Lanes k = __builtin_bit_cast(Lanes, exponent | 0x4330000000000000U) - (0x1p52 + 1024);
  const Lanes f = m - 1;
  const Lanes s = f / (m + 1);
  const Lanes z = s * s;
  const Lanes series =
      z * (1. / 3 +
           z * (1. / 5 +
                z * (1. / 7 + z * (1. / 9 + z * (1. / 11 + z * (1. / 13 + z * (1. / 15 + z * (1. / 17 + z / 19))))))));
  // ln 2 in two parts, the first with zeros behind: k times it is exact.
  return k * 0x1.62e42fefa38p-1 + (2 * s + (2 * s * series + k * 0x1.ef35793c7673p-45)) + (x - x);
}

// |x| <= 700. x = n ln 2 + r, |r| <= 0.347: Taylor's series of e^r; the first term left out is below 2e-17.
inline Lanes exp(Lanes x) {
  constexpr double kRound = 0x1.8p52;
  const Lanes shifted = x * 0x1.71547652b82fep0 + kRound;
  const Lanes n = shifted - kRound;
  const Lanes r = (x - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;
  Lanes term = splat(1. / 6227020800);
  constexpr double kInverse[] = {
      1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720,
      1. / 120,       1. / 24,       1. / 6,       1. / 2,      1.,         1.};
  for (const double inverse : kInverse) term = term * r + inverse;
  const LaneBits power = (__builtin_bit_cast(LaneBits, shifted) << 52U) + (std::uint64_t{1023} << 52U);
  return term * __builtin_bit_cast(Lanes, power);
}

// What ln Gamma, psi and psi' of x > 0 have in common. Below 10 the recurrence moves x to y = x + 10, where Stirling's
// series hold to 1e-15: psi(x) = psi(y) - sum 1 / (x + i), and so on.
struct Gamma {
  Lanes x, y, inverse, log_y;
  LaneMask small;
  Lanes sum_inverse, sum_square, log_product;  // 0 where x >= 10
};

inline Gamma prepare_gamma(Lanes x, bool with_product) {
  Gamma g = {x, x, {}, {}, x < 10.0, {}, {}, {}};
  if (any(g.small)) {
    const Lanes low = g.small ? x : splat(1);
    Lanes product = low;
    Lanes inverse = 1 / low;
    g.sum_inverse = inverse;
    g.sum_square = inverse * inverse;
    for (int step = 1; step < 10; ++step) {
      const Lanes term = low + step;
      inverse = 1 / term;
      product *= term;
      g.sum_inverse += inverse;
      g.sum_square += inverse * inverse;
    }
    const Lanes zero = {};
    g.sum_inverse = g.small ? g.sum_inverse : zero;
    g.sum_square = g.small ? g.sum_square : zero;
    if (with_product) g.log_product = g.small ? log(product) : zero;
    g.y = g.small ? x + 10 : x;
  }
  g.inverse = 1 / g.y;
  g.log_y = log(g.y);
  return g;
}

// y t(y), with t in psi(y) = ln y - 1 / (2 y) - t(y).
inline Lanes digamma_remainder(const Gamma& g) {
  const Lanes z = g.inverse * g.inverse;
  return g.inverse * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760))))));
}

inline Lanes digamma(const Gamma& g) { return g.log_y - g.inverse * (0.5 + digamma_remainder(g)) - g.sum_inverse; }

// y psi'(y) - 1.
inline Lanes trigamma_remainder(const Gamma& g) {
  const Lanes z = g.inverse * g.inverse;
  return 0.5 * g.inverse +
         z * (1. / 6 - z * (1. / 30 - z * (1. / 42 - z * (1. / 30 - z * (5. / 66 - z * (691. / 2730))))));
}

inline Lanes trigamma(const Gamma& g) { return g.inverse * (1 + trigamma_remainder(g)) + g.sum_square; }

// x psi'(x) - 1 without cancellation for large x.
inline Lanes scaled_trigamma(const Gamma& g) {
  const Lanes large = trigamma_remainder(g);
  return g.small ? g.x * trigamma(g) - 1 : large;
}

constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// r(y) in ln Gamma(y) = (y - 0.5) ln y - y + 0.5 ln(2 pi) + r(y).
inline Lanes log_gamma_remainder(const Gamma& g) {
  const Lanes z = g.inverse * g.inverse;
  return g.inverse *
         (1. / 12 - z * (1. / 360 - z * (1. / 1260 - z * (1. / 1680 - z * (1. / 1188 - z * (691. / 360360))))));
}

// ln Gamma(x) - (x - n) psi(x) + x - 0.5 ln(2 pi) - 0.5, n = 1 or 2, with what is of the order of x ln x cancelled:
// the entropy of Beta(a, b) is term(a, 1) + term(b, 1) - term(a + b, 2) + 0.5 ln(2 pi) + 0.5.
inline Lanes entropy_term(const Gamma& g, double n) {
  const Lanes remainder = digamma_remainder(g);
  const Lanes large =
      (n - 0.5) * g.log_y + log_gamma_remainder(g) + (1 - n * g.inverse) * remainder - 0.5 * n * g.inverse;
  if (!any(g.small)) return large;
  const Lanes log_gamma = (g.y - 0.5) * g.log_y - g.y + kHalfLogTwoPi + log_gamma_remainder(g) - g.log_product;
  const Lanes direct = log_gamma - (g.x - n) * digamma(g) + g.x - kHalfLogTwoPi - 0.5;
  return g.small ? direct : large;
}

// psi(x + 1) - ln x, positive and about 1 / (2 x).
inline Lanes digamma_above_log(const Gamma& g) {
  const Lanes large = g.inverse * (0.5 - digamma_remainder(g));
  if (!any(g.small)) return large;
  return g.small ? digamma(g) + 1 / g.x - log(g.x) : large;
}

}  // namespace
}  // namespace limen::train
