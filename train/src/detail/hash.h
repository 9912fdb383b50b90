// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace limen::train::detail {

/// The finaliser of splitmix64: a bijection in which every bit of the input reaches every bit of the output.
inline std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

/// What a row is hashed for; each use is independent of the others.
enum class RowUse : std::uint64_t { kSplit = 1, kUndersample = 2, kQuantiles = 3 };

/// The random numbers of rows: a function of seed, use and row alone, so that no order of reading matters.
class RowHash {
 public:
  RowHash(std::uint64_t seed, RowUse use)
      : key_(mix(mix(seed + 0x9e3779b97f4a7c15U) + 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(use))) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t row) const {
    return mix(key_ + (row + 1) * 0x9e3779b97f4a7c15U);
  }

  /// In [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform(std::uint64_t row) const { return static_cast<double>((*this)(row) >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_;
};

/// FNV-1a over the bytes, then mix. Part of the model format: hashed categories depend on it.
inline std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mix(hash);
}

/// The bucket of a hash, 0 to num_buckets - 1: floor(high 32 bits of the hash * num_buckets / 2^32).
inline std::int32_t hash_bucket(std::uint64_t hash, std::int32_t num_buckets) {
  return static_cast<std::int32_t>(((hash >> 32) * static_cast<std::uint64_t>(num_buckets)) >> 32);
}

}  // namespace limen::train::detail
