// SPDX-License-Identifier: MIT
#include "limen/theory/simulate.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

#include "limen/base/error.h"
#include "limen/base/random.h"
#include "limen/uncertainty/beta.h"

namespace limen {
namespace {

// xoshiro256++ 1.0 (Blackman & Vigna), seeded by splitmix64 as its authors advise.
class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t stream) {
    // The stream enters after a full mix of the seed, so that neighbouring seeds do not share streams.
    std::uint64_t mixer = mix(seed + kGoldenRatio) ^ stream;
    for (std::uint64_t& word : state_) word = mix(mixer += kGoldenRatio);
  }

  std::uint64_t bits() {
    const std::uint64_t result = rotate_left(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  // In the open interval (0, 1): 52 bits and a half are exact in a double.
  double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

  // In 0 .. count - 1, without bias (Lemire 2019). count: 1 to 2^31.
  std::uint32_t below(std::uint32_t count) {
    const std::uint32_t threshold = (0U - count) % count;
    for (;;) {
      const std::uint64_t product = (bits() >> 32) * count;
      if (static_cast<std::uint32_t>(product) >= threshold) return static_cast<std::uint32_t>(product >> 32);
    }
  }

 private:
  static std::uint64_t rotate_left(std::uint64_t word, int count) { return (word << count) | (word >> (64 - count)); }

  std::uint64_t state_[4];
};

// Marsaglia's polar method; the second value of the pair is thrown away, which keeps the generator the only state.
double sample_normal(Generator& generator) {
  for (;;) {
    const double x = 2 * generator.uniform() - 1;
    const double y = 2 * generator.uniform() - 1;
    const double radius = x * x + y * y;
    if (radius < 1 && radius > 0) return x * std::sqrt(-2 * std::log(radius) / radius);
  }
}

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

// Logarithm of a gamma variate of any shape > 0: Gamma(a) = Gamma(a + 1) U^(1/a). The power itself underflows for small
// shapes, which would make a beta variate 0 / 0.
double sample_log_gamma(Generator& generator, double shape) {
  if (shape >= 1) return std::log(sample_gamma(generator, shape));
  const double boosted = std::log(sample_gamma(generator, shape + 1));
  return boosted + std::log(generator.uniform()) / shape;
}

// May round to 0 or 1.
double sample_beta(Generator& generator, double a, double b) {
  if (a >= 1 && b >= 1) {
    const double x = sample_gamma(generator, a);
    return x / (x + sample_gamma(generator, b));
  }
  const double log_x = sample_log_gamma(generator, a);
  return 1 / (1 + std::exp(sample_log_gamma(generator, b) - log_x));
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

std::int64_t sample_evidence(Generator& generator, const SimulationOptions& options) {
  const double rows = options.evidence_scale * std::pow(generator.uniform(), -1 / options.evidence_tail);
  const auto limit = static_cast<double>(options.evidence_limit);
  return rows < limit ? static_cast<std::int64_t>(rows) : options.evidence_limit;
}

// Negatives thrown away, one in every draw with probability q = (1 - s)(1 - 1 / tau), until `kept` draws are kept: a
// Poisson count whose mean is Gamma(kept) q / (1 - q). Independent of the labels of the draws kept.
std::int64_t sample_dropped(Generator& generator, std::int64_t kept, double positivity, double tau) {
  if (tau <= 1 || kept == 0) return 0;
  // q / (1 - q), multiplied by tau above and below: 1 - q cancels badly for a large tau.
  const double odds = (1 - positivity) * (tau - 1) / (tau * positivity + (1 - positivity));
  return sample_poisson(generator, sample_gamma(generator, static_cast<double>(kept)) * odds);
}

Region sample_region(Generator& generator, const SimulationOptions& options) {
  Region region;
  const double s = sample_beta(generator, options.prior_positive, options.prior_negative);
  const std::int64_t evidence = sample_evidence(generator, options);
  // tau s / ((tau - 1) s + 1) without the cancellation at s near 1 and tau near 0.
  const double train_positivity = options.tau * s / (options.tau * s + (1 - s));
  region.true_positivity = s;
  region.train_positives = sample_binomial(generator, evidence, train_positivity);
  region.train_negatives = evidence - region.train_positives;
  region.dropped_negatives = sample_dropped(generator, evidence, s, options.tau);
  const double alpha1 = options.model_prior_positive + static_cast<double>(region.train_positives);
  const double alpha0 = options.model_prior_negative + static_cast<double>(region.train_negatives);
  region.score = alpha1 / (alpha1 + alpha0);
  region.uncertainty = beta_entropy(alpha1, alpha0);
  return region;
}

SimulatedRows sample_rows(Generator& generator, const std::vector<Region>& regions, std::int64_t num_rows) {
  SimulatedRows rows;
  rows.region.reserve(static_cast<std::size_t>(num_rows));
  rows.label.reserve(static_cast<std::size_t>(num_rows));
  const auto num_regions = static_cast<std::uint32_t>(regions.size());
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const std::uint32_t region = generator.below(num_regions);
    rows.region.push_back(static_cast<std::int32_t>(region));
    rows.label.push_back(generator.uniform() < regions[region].true_positivity ? 1 : 0);
  }
  return rows;
}

template <typename Number>
[[noreturn]] void fail(const char* name, Number value, const char* needed) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  throw InvalidInput(Where{.function = "simulate", .field = name},
                     "is " + std::string(digits, end) + ", must be " + needed);
}

// Wide enough for any use, narrow enough that no sampler leaves the range of double or int64.
void check_range(const char* name, double value) {
  if (!(value > 0)) fail(name, value, "> 0");
  if (value < 1e-9 || value > 1e9) fail(name, value, "1e-9 to 1e9");
}

}  // namespace

void validate(const SimulationOptions& options) {
  check_range("prior_positive", options.prior_positive);
  check_range("prior_negative", options.prior_negative);
  check_range("model_prior_positive", options.model_prior_positive);
  check_range("model_prior_negative", options.model_prior_negative);
  check_range("tau", options.tau);
  if (options.regions < 1 || options.regions > std::int64_t{1} << 31) fail("regions", options.regions, "1 to 2^31");
  check_range("evidence_scale", options.evidence_scale);
  check_range("evidence_tail", options.evidence_tail);
  if (options.evidence_limit < 0 || options.evidence_limit > 1'000'000'000) {
    fail("evidence_limit", options.evidence_limit, "0 to 1e9");
  }
  if (options.holdout_rows < 0) fail("holdout_rows", options.holdout_rows, "0 or more");
  if (options.test_rows < 0) fail("test_rows", options.test_rows, "0 or more");
}

Simulation simulate(const SimulationOptions& options) {
  validate(options);
  Simulation result;
  Generator region_stream(options.seed, 0);
  result.regions.reserve(static_cast<std::size_t>(options.regions));
  for (std::int64_t index = 0; index < options.regions; ++index) {
    result.regions.push_back(sample_region(region_stream, options));
  }
  Generator holdout_stream(options.seed, 1);
  result.holdout = sample_rows(holdout_stream, result.regions, options.holdout_rows);
  Generator test_stream(options.seed, 2);
  result.test = sample_rows(test_stream, result.regions, options.test_rows);
  return result;
}

}  // namespace limen
