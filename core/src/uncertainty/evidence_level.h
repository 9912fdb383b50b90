// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "limen/base/random.h"

namespace limen::detail {

/// Extends a hash of codes by one more.
[[nodiscard]] inline std::uint64_t hash_step(std::uint64_t hash, std::uint32_t code) {
  return mix(hash + kGoldenRatio + code);
}

/// Combinations of codes and what was counted of each, in an open-addressing hash table with linear probing. Cells are
/// told apart by their codes, not by their hashes.
class EvidenceCells {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  explicit EvidenceCells(std::size_t num_keys) : num_keys_(num_keys) {}

  [[nodiscard]] std::size_t size() const { return count.size(); }
  [[nodiscard]] const std::uint32_t* codes(std::size_t cell) const { return codes_.data() + cell * num_keys_; }

  /// The cell of these codes, kNone when there is none.
  [[nodiscard]] std::uint32_t find(const std::uint32_t* codes, std::uint64_t hash) const;
  /// The same, a new one of zero counts when there is none. Throws std::length_error beyond 2^32 - 1 cells.
  std::uint32_t find_or_add(const std::uint32_t* codes, std::uint64_t hash);

  std::vector<double> count;
  std::vector<double> positives;
  std::vector<double> rate;  ///< empty until it is known

 private:
  [[nodiscard]] std::size_t place_of(const std::uint32_t* codes, std::uint64_t hash) const;
  void grow();

  std::size_t num_keys_;
  std::vector<std::uint32_t> slots_;  // cell or kNone; a power of two, at most two thirds used
  std::vector<std::uint32_t> codes_;  // num_keys_ for each cell
};

/// The cells of the first num_keys keys, in shards by the hash of their codes.
class EvidenceLevel {
 public:
  static constexpr std::size_t kShards = 64;
  explicit EvidenceLevel(std::size_t num_keys) : num_keys_(num_keys), shards_(kShards, EvidenceCells(num_keys)) {}

  [[nodiscard]] std::size_t num_keys() const { return num_keys_; }
  [[nodiscard]] static std::size_t shard_of(std::uint64_t hash) { return hash >> 58; }
  [[nodiscard]] EvidenceCells& shard(std::size_t index) { return shards_[index]; }
  [[nodiscard]] const EvidenceCells& shard(std::size_t index) const { return shards_[index]; }
  [[nodiscard]] std::uint64_t hash(const std::uint32_t* codes) const {
    std::uint64_t hash = 0;
    for (std::size_t key = 0; key < num_keys_; ++key) hash = hash_step(hash, codes[key]);
    return hash;
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t cells = 0;
    for (const EvidenceCells& shard : shards_) cells += shard.size();
    return cells;
  }

 private:
  std::size_t num_keys_;
  std::vector<EvidenceCells> shards_;
};

}  // namespace limen::detail
