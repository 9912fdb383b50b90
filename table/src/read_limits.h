// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace limen::table::detail {

/// Sizes that bound memory; the tests make them small.
struct Limits {
  /// Bytes of text that one thread parses at a time; at least 16 are.
  std::size_t chunk_bytes = std::size_t{1} << 18;
  /// A longer record of text is refused.
  std::size_t max_record_bytes = std::size_t{64} << 20;
  /// Chunks of text after which a batch may end.
  std::size_t chunks_per_run = 64;
  /// Values of Parquet columns that one thread decodes at a time; larger row groups are decoded page by page.
  std::uint64_t unit_values = 12'000'000;
  /// Rows that a batch of predictions has at least.
  std::size_t batch_rows = 1'000'000;
};

/// A thread holds a chunk of text and the values parsed from it, about four times the chunk, and two chunks per thread
/// are under way; a batch is held twice, with about 25 bytes a row.
[[nodiscard]] inline Limits limits_for(std::optional<std::uint64_t> max_bytes) {
  Limits limits;
  if (!max_bytes) return limits;
  const auto share = [&](std::uint64_t bytes, std::uint64_t low, std::uint64_t high) {
    return static_cast<std::size_t>(std::clamp(bytes, low, high));
  };
  limits.batch_rows = share(*max_bytes / 2 / 50, 1 << 14, limits.batch_rows);
  limits.chunks_per_run = share(*max_bytes / 4 / limits.chunk_bytes, 2, limits.chunks_per_run);
  limits.unit_values = share(*max_bytes / 8 / 16, 1 << 16, limits.unit_values);
  return limits;
}

}  // namespace limen::table::detail
