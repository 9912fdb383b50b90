// SPDX-License-Identifier: MIT
// Seeded numbers that do not depend on threads, on the library's own generators or on the standard library's
// distributions: the same weights and the same dropout everywhere.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace limen::train {

/// splitmix64 (Steele, Lea, Flood 2014). Streams of one seed are independent for our purposes.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed + kStep) ^ mix(~stream)) {}

  std::uint64_t next() { return mix(state_ += kStep); }
  /// In (0, 1), never an end.
  double uniform() { return (static_cast<double>(next() >> 12U) + 0.5) * 0x1p-52; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;
  static std::uint64_t mix(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31U);
  }
  std::uint64_t state_;
};

/// Which units of one chunk of rows are left out: each with probability `rate` (to 1 / 65536), the others scaled up so
/// that the expectation stays. A layer asks for its own stream.
struct Dropout {
  double rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t chunk = 0;

  [[nodiscard]] bool active() const { return threshold() > 0; }
  [[nodiscard]] std::uint32_t threshold() const { return static_cast<std::uint32_t>(rate * 65536); }
  [[nodiscard]] float scale() const { return 1.0F / (1.0F - static_cast<float>(threshold()) * 0x1p-16F); }

  /// Writes 0 or scale() per unit.
  void fill(std::uint64_t layer, float* mask, std::size_t size) const {
    CounterRandom random(seed, chunk * 64 + layer);
    const float factors[2] = {scale(), 0.0F};
    const std::uint32_t limit = threshold();
    for (std::size_t at = 0; at < size;) {
      std::uint64_t bits = random.next();
      for (int part = 0; part < 4 && at < size; ++part, bits >>= 16U) {
        mask[at++] = factors[(bits & 0xffffU) < limit ? 1 : 0];
      }
    }
  }
};

}  // namespace limen::train
