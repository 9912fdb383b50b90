// SPDX-License-Identifier: MIT
// The random numbers of the generation process, shared by what simulates it. Every sampler is exact up to rounding, in
// expected time at most O(log log n), and depends on nothing but the generator: no <random> distributions.
#pragma once

#include <cstdint>

#include "limen/base/random.h"

namespace limen::detail {

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

// shape >= 1.
[[nodiscard]] double sample_gamma(Generator& generator, double shape);

// Any a, b > 0. May round to 0 or 1.
[[nodiscard]] double sample_beta(Generator& generator, double a, double b);

[[nodiscard]] std::int64_t sample_binomial(Generator& generator, std::int64_t n, double p);

[[nodiscard]] std::int64_t sample_poisson(Generator& generator, double mean);

// The share of positives among training rows of a region whose true positivity is s, 0 to 1: tau s / ((tau - 1) s + 1),
// written without its cancellation at s near 1 and tau near 0.
[[nodiscard]] inline double undersampled_positivity(double s, double tau) { return tau * s / (tau * s + (1 - s)); }

}  // namespace limen::detail
