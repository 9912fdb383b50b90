// SPDX-License-Identifier: MIT
// Scores of rows counted in buckets of their ordered keys, per level: what the fits without a full sort share.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "count/key_map.h"
#include "count/order_statistics.h"
#include "limen/base/uninitialized_vector.h"
#include "limen/count/grid.h"
#include "limen/count/levels.h"

namespace limen::detail {

inline constexpr std::size_t kBlock = 1024;

template <typename Real>
using KeyOf = decltype(ordered_key(Real{}));

template <typename Real>
Real value_of_key(KeyOf<Real> key) {
  constexpr KeyOf<Real> kSign = KeyOf<Real>{1} << (8 * sizeof(Real) - 1);
  return std::bit_cast<Real>((key & kSign) != 0 ? key ^ kSign : ~key);
}

/// Rows of one level whose key is in [low, high].
template <typename Key>
struct Bucket {
  Key low;
  Key high;
  Counts counts;
};

/// The buckets of one level from the highest score down. Those from `open_begin` to `open_end` may still hold the end
/// of an optimal boundary; the others are closed: only their ends matter.
template <typename Key>
struct Level {
  std::vector<Bucket<Key>> buckets;
  std::size_t open_begin = 0;
  std::size_t open_end = 0;

  [[nodiscard]] std::int64_t open_rows() const {
    std::int64_t rows = 0;
    for (std::size_t bucket = open_begin; bucket < open_end; ++bucket) rows += buckets[bucket].counts.rows;
    return rows;
  }
  /// Whether a boundary may end inside this bucket. Bound and worth of a boundary must agree on this.
  [[nodiscard]] bool is_split_further(std::size_t bucket) const {
    return bucket >= open_begin && bucket < open_end && buckets[bucket].low != buckets[bucket].high;
  }
  /// Every open bucket is a single value: nothing is left to find out.
  [[nodiscard]] bool resolved() const {
    return std::all_of(buckets.begin() + static_cast<std::ptrdiff_t>(open_begin),
                       buckets.begin() + static_cast<std::ptrdiff_t>(open_end),
                       [](const Bucket<Key>& bucket) { return bucket.low == bucket.high; });
  }
};

/// A piece of the rows: `size` scores, labels and levels.
template <typename Real>
struct Piece {
  const Real* score;
  const std::uint8_t* label;
  const std::uint8_t* level;
  std::size_t size;
};

template <typename Real>
UninitializedVector<std::uint8_t> levels_of(std::span<const Real> uncertainty, const std::vector<double>& edges) {
  const LevelFinder<Real> finder(edges);
  UninitializedVector<std::uint8_t> level(uncertainty.size());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, uncertainty.size(), 16 * kBlock), [&](const auto& range) {
    finder.find(uncertainty.data() + range.begin(), range.size(), level.data() + range.begin());
  });
  return level;
}

/// Calls `visit` with pieces of the rows, from several threads at once.
template <typename Real, typename Visit>
void scan_pieces(std::span<const Real> score, std::span<const std::uint8_t> label, std::span<const std::uint8_t> level,
                 const Visit& visit) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, score.size(), 64 * kBlock), [&](const auto& range) {
    const std::size_t begin = range.begin();
    visit(Piece<Real>{score.data() + begin, label.data() + begin, level.data() + begin, range.size()});
  });
}

/// Rows in memory; their levels are worked out once.
template <typename RealType>
struct RowsInMemory {
  using Real = RealType;
  std::span<const Real> score;
  std::span<const std::uint8_t> label;
  UninitializedVector<std::uint8_t> level;

  template <typename Visit>
  void scan(const Visit& visit) const {
    scan_pieces(score, label, level, visit);
  }
};

/// The rows of a part of the score range, copied out of all rows.
template <typename RealType>
struct CopiedRows {
  using Real = RealType;
  UninitializedVector<Real> score;
  UninitializedVector<std::uint8_t> label;
  UninitializedVector<std::uint8_t> level;

  template <typename Visit>
  void scan(const Visit& visit) const {
    scan_pieces(std::span<const Real>(score), std::span<const std::uint8_t>(label), level, visit);
  }
};

/// Rows and positives per cell: one pass. cell_of(level, key) may give kNoCell.
inline constexpr std::size_t kNoCell = std::numeric_limits<std::size_t>::max();
template <typename Rows, typename CellOf>
std::vector<Counts> count_cells(const Rows& rows_of, std::size_t num_cells, const CellOf& cell_of) {
  // One counter: rows in the low half, positives in the high half, moved on before either can overflow.
  struct Counters {
    std::vector<std::uint64_t> packed;
    std::vector<Counts> moved;
    std::size_t since_moved = 0;

    void move_on() {
      for (std::size_t at = 0; at < packed.size(); ++at) {
        moved[at] +=
            {static_cast<std::int64_t>(packed[at] & 0xFFFF'FFFFU), static_cast<std::int64_t>(packed[at] >> 32)};
      }
      std::fill(packed.begin(), packed.end(), 0);
      since_moved = 0;
    }
  };
  tbb::enumerable_thread_specific<Counters> partial([&] {
    return Counters{std::vector<std::uint64_t>(num_cells, 0), std::vector<Counts>(num_cells), 0};
  });
  rows_of.scan([&](const Piece<typename Rows::Real>& piece) {
    Counters& counters = partial.local();
    if (counters.since_moved > (std::size_t{1} << 31)) counters.move_on();
    counters.since_moved += piece.size;
    std::uint64_t* const counts = counters.packed.data();
    for (std::size_t row = 0; row < piece.size; ++row) {
      const std::size_t cell = cell_of(piece.level[row], ordered_key(piece.score[row]));
      if (cell == kNoCell) continue;
      counts[cell] += 1 + (std::uint64_t{piece.label[row]} << 32);
    }
  });
  std::vector<Counts> counts(num_cells);
  for (Counters& part : partial) {
    part.move_on();
    for (std::size_t at = 0; at < num_cells; ++at) counts[at] += part.moved[at];
  }
  return counts;
}

/// Counts all rows in buckets of about equal depth, the same for every level: one pass over the rows.
template <typename Rows>
std::vector<Level<KeyOf<typename Rows::Real>>> count_in_buckets(const Rows& rows_of, std::size_t num_levels,
                                                                const KeyMap<KeyOf<typename Rows::Real>>& map) {
  using Key = KeyOf<typename Rows::Real>;
  const std::size_t num_buckets = map.num_buckets();
  const std::vector<Counts> counts = count_cells(rows_of, num_levels * num_buckets, [&](std::size_t level, Key key) {
    return level * num_buckets + map.bucket_of(key);
  });
  std::vector<Level<Key>> levels(num_levels);
  for (std::size_t at = 0; at < num_levels; ++at) {
    for (std::size_t bucket = num_buckets; bucket-- > 0;) {
      const Counts& cell = counts[at * num_buckets + bucket];
      if (cell.rows > 0) levels[at].buckets.push_back({map.low(bucket), map.high(bucket), cell});
    }
    levels[at].open_end = levels[at].buckets.size();
  }
  return levels;
}

/// Copies the rows for which wanted(level, key) holds, all of them with scores in `range`: one pass over the rows.
template <typename Rows, typename Wanted>
CopiedRows<typename Rows::Real> copy_rows(const Rows& rows_of, Range<typename Rows::Real> range, const Wanted& wanted) {
  using Real = typename Rows::Real;
  CopiedRows<Real> copied;
  tbb::enumerable_thread_specific<CopiedRows<Real>> partial;
  rows_of.scan([&](const Piece<Real>& piece) {
    CopiedRows<Real>& part = partial.local();
    std::array<std::uint8_t, kBlock> inside;
    std::array<std::uint16_t, kBlock> chosen;
    for (std::size_t begin = 0; begin < piece.size; begin += kBlock) {
      const std::size_t block = std::min(kBlock, piece.size - begin);
      mark_inside(piece.score + begin, block, range, inside.data());
      // Without branches, which would often be guessed wrong.
      std::size_t num_inside = 0;
      for (std::size_t row = 0; row < block; ++row) {
        chosen[num_inside] = static_cast<std::uint16_t>(row);
        num_inside += inside[row];
      }
      std::size_t num_chosen = 0;
      for (std::size_t at = 0; at < num_inside; ++at) {
        const std::size_t row = begin + chosen[at];
        chosen[num_chosen] = chosen[at];
        num_chosen += wanted(piece.level[row], ordered_key(piece.score[row])) ? 1 : 0;
      }
      const std::size_t before = part.score.size();
      part.score.resize(before + num_chosen);
      part.label.resize(before + num_chosen);
      part.level.resize(before + num_chosen);
      for (std::size_t at = 0; at < num_chosen; ++at) {
        const std::size_t row = begin + chosen[at];
        part.score[before + at] = piece.score[row];
        part.label[before + at] = piece.label[row];
        part.level[before + at] = piece.level[row];
      }
    }
  });
  for (const CopiedRows<Real>& part : partial) {
    copied.score.insert(copied.score.end(), part.score.begin(), part.score.end());
    copied.label.insert(copied.label.end(), part.label.begin(), part.label.end());
    copied.level.insert(copied.level.end(), part.level.begin(), part.level.end());
  }
  return copied;
}

}  // namespace limen::detail
