// SPDX-License-Identifier: MIT
// Hashes and seeded numbers that depend on nothing but their arguments: not on threads, on the order of reading or on
// the standard library. Splits, undersampling, weights and hashed categories are the same everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace limen {

/// 2^64 divided by the golden ratio, odd: the increment of splitmix64 (Steele, Lea, Flood 2014).
inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;

/// The finaliser of splitmix64: a bijection in which every bit of the input reaches every bit of the output.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

/// The upper 53 bits of a word as a number in [0, 1), a multiple of 2^-53.
[[nodiscard]] constexpr double unit_interval(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/// What a row is hashed for; each use is independent of the others.
enum class RowUse : std::uint64_t {
  kSplit = 1,
  kUndersample = 2,
  kQuantiles = 3,
  kCertify = 4,
  kLawRows = 5,
  kLawFolds = 6,
  kRateFolds = 7,
  kCalibrate = 8
};

/// The random numbers of rows: a function of seed, use and row alone.
class RowHash {
 public:
  RowHash(std::uint64_t seed, RowUse use)
      : key_(mix(mix(seed + kGoldenRatio) + kGoldenRatio * static_cast<std::uint64_t>(use))) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t row) const { return mix(key_ + (row + 1) * kGoldenRatio); }
  [[nodiscard]] double uniform(std::uint64_t row) const { return unit_interval((*this)(row)); }

 private:
  std::uint64_t key_;
};

/// FNV-1a over the bytes, then mix. Part of the model format: hashed categories depend on it.
[[nodiscard]] constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mix(hash);
}

/// The bucket of a hash, 0 to num_buckets - 1: floor(high 32 bits of the hash * num_buckets / 2^32).
[[nodiscard]] constexpr std::int32_t hash_bucket(std::uint64_t hash, std::int32_t num_buckets) {
  return static_cast<std::int32_t>(((hash >> 32) * static_cast<std::uint64_t>(num_buckets)) >> 32);
}

/// The generator splitmix64. Streams of one seed are independent for our purposes.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : state_(mix(seed + kGoldenRatio) ^ mix(~stream)) {}

  std::uint64_t next() { return mix(state_ += kGoldenRatio); }
  /// In (0, 1), never an end.
  double uniform() { return (static_cast<double>(next() >> 12U) + 0.5) * 0x1p-52; }
  /// 0 to size - 1; size: 1 to 2^52.
  std::uint64_t below(std::uint64_t size) {
    return std::min(size - 1, static_cast<std::uint64_t>(uniform() * static_cast<double>(size)));
  }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::uint64_t state_;
};

}  // namespace limen
