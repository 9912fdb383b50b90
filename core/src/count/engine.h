// SPDX-License-Identifier: MIT
//
// The counting engine. Rows are looked at as rarely as possible, in three steps that every client is made of:
//
//   count_cells   one pass: a histogram of the rows by cell (level and bucket of the ordered key)
//   collect       one pass: a copy of the few rows whose cells matter to the client
//   sort_sides    keys by level and label, sorted, ready to be walked
//
// Rows in memory and rows in batches differ only in how they are scanned. Small inputs go straight to the sort.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "count/key_map.h"
#include "count/ordered_key.h"
#include "count/sort_keys.h"
#include "limen/base/uninitialized_vector.h"
#include "limen/count/grid.h"

namespace limen::detail {

/// Below this many rows a plain sort is as fast as counting first.
inline constexpr std::size_t kFewRows = std::size_t{1} << 17;

/// Rows that lie one after the other in memory, at most kBlockRows of them.
template <typename Real>
struct Block {
  const Real* value;           ///< what is ordered: scores, or uncertainties when their quantiles are looked for
  const std::uint8_t* label;   ///< 0 or 1
  const std::uint16_t* level;  ///< which of the levels
  std::size_t size;
};
inline constexpr std::size_t kBlockRows = std::size_t{1} << 16;

template <typename Real>
struct Range {
  Real low = std::numeric_limits<Real>::infinity();
  Real high = -std::numeric_limits<Real>::infinity();
};

/// The smallest and the largest value, on all threads.
Range<float> range_of(std::span<const float> values);
Range<double> range_of(std::span<const double> values);

/// inside[row] = whether low <= value[row] <= high.
void mark_inside(const float* value, std::size_t size, Range<float> range, std::uint8_t* inside);
void mark_inside(const double* value, std::size_t size, Range<double> range, std::uint8_t* inside);

/// Level of every row: the number of edges <= its uncertainty.
UninitializedVector<std::uint16_t> levels_of(std::span<const float> uncertainty, std::span<const double> edges);
UninitializedVector<std::uint16_t> levels_of(std::span<const double> uncertainty, std::span<const double> edges);

/// Keys of every n-th value, so that there are at most `most` of them.
template <typename Real>
std::vector<KeyOf<Real>> sample_keys(std::span<const Real> values, std::size_t most) {
  std::vector<KeyOf<Real>> keys;
  const std::size_t stride = values.size() / most + 1;
  for (std::size_t row = 0; row < values.size(); row += stride) keys.push_back(ordered_key(values[row]));
  return keys;
}

/// Rows in memory. label and level may be empty: all 0.
template <typename RealType>
struct RowsInMemory {
  using Real = RealType;
  std::span<const Real> value;
  std::span<const std::uint8_t> label = {};
  std::span<const std::uint16_t> level = {};

  /// Calls visit(Block<Real>), from several threads at once.
  template <typename Visit>
  void scan(const Visit& visit) const {
    static constexpr std::array<std::uint8_t, kBlockRows> kNoLabel{};
    static constexpr std::array<std::uint16_t, kBlockRows> kNoLevel{};
    const std::size_t num_blocks = (value.size() + kBlockRows - 1) / kBlockRows;
    tbb::parallel_for(std::size_t{0}, num_blocks, [&](std::size_t block) {
      const std::size_t begin = block * kBlockRows;
      visit(Block<Real>{value.data() + begin, label.empty() ? kNoLabel.data() : label.data() + begin,
                        level.empty() ? kNoLevel.data() : level.data() + begin,
                        std::min(kBlockRows, value.size() - begin)});
    });
  }
};

/// Rows and positives per cell: one pass. cell_of(level, key) may give kNoCell.
inline constexpr std::size_t kNoCell = std::numeric_limits<std::size_t>::max();
template <typename Rows, typename CellOf>
std::vector<Counts> count_cells(const Rows& rows, std::size_t num_cells, const CellOf& cell_of) {
  // One counter holds rows in its low half and positives in its high half, and is emptied before either can overflow.
  struct Histogram {
    std::vector<std::uint64_t> packed;
    std::vector<Counts> emptied;
    std::size_t rows_since = 0;

    void empty() {
      for (std::size_t cell = 0; cell < packed.size(); ++cell) {
        emptied[cell] +=
            {static_cast<std::int64_t>(packed[cell] & 0xFFFF'FFFFU), static_cast<std::int64_t>(packed[cell] >> 32)};
      }
      std::fill(packed.begin(), packed.end(), 0);
      rows_since = 0;
    }
  };
  tbb::enumerable_thread_specific<Histogram> parts([&] {
    return Histogram{std::vector<std::uint64_t>(num_cells, 0), std::vector<Counts>(num_cells), 0};
  });
  rows.scan([&](const Block<typename Rows::Real>& block) {
    Histogram& part = parts.local();
    if (part.rows_since > (std::size_t{1} << 31)) part.empty();
    part.rows_since += block.size;
    std::uint64_t* const counts = part.packed.data();
    for (std::size_t row = 0; row < block.size; ++row) {
      const std::size_t cell = cell_of(block.level[row], ordered_key(block.value[row]));
      if (cell != kNoCell) counts[cell] += 1 + (std::uint64_t{block.label[row]} << 32);
    }
  });
  std::vector<Counts> counts(num_cells);
  for (Histogram& part : parts) {
    part.empty();
    for (std::size_t cell = 0; cell < num_cells; ++cell) counts[cell] += part.emptied[cell];
  }
  return counts;
}

/// Copied rows; their order depends on the threads, so that only sorted or counted results may be made of them.
template <typename Key>
struct CollectedRows {
  UninitializedVector<Key> key;
  UninitializedVector<std::uint8_t> label;
  UninitializedVector<std::uint16_t> level;

  [[nodiscard]] std::size_t size() const { return key.size(); }
};

/// Copies the rows with values in `range` for which wanted(level, key) holds: one pass. `wanted`, which is called for
/// all rows with values in the range, is what wanted_on_thread() gives; that is called on every thread.
template <typename Rows, typename WantedOnThread>
CollectedRows<KeyOf<typename Rows::Real>> collect(const Rows& rows, Range<typename Rows::Real> range,
                                                  const WantedOnThread& wanted_on_thread) {
  using Real = typename Rows::Real;
  using Key = KeyOf<Real>;
  constexpr std::size_t kStep = 1024;
  tbb::enumerable_thread_specific<CollectedRows<Key>> parts;
  rows.scan([&](const Block<Real>& block) {
    CollectedRows<Key>& part = parts.local();
    const auto wanted = wanted_on_thread();
    std::array<std::uint8_t, kStep> inside;
    std::array<std::uint16_t, kStep> chosen;
    for (std::size_t begin = 0; begin < block.size; begin += kStep) {
      const std::size_t size = std::min(kStep, block.size - begin);
      mark_inside(block.value + begin, size, range, inside.data());
      // Without branches, which would often be predicted wrongly.
      std::size_t num_inside = 0;
      for (std::size_t row = 0; row < size; ++row) {
        chosen[num_inside] = static_cast<std::uint16_t>(row);
        num_inside += inside[row];
      }
      std::size_t num_chosen = 0;
      for (std::size_t at = 0; at < num_inside; ++at) {
        const std::size_t row = begin + chosen[at];
        chosen[num_chosen] = chosen[at];
        num_chosen += wanted(block.level[row], ordered_key(block.value[row])) ? 1 : 0;
      }
      const std::size_t before = part.size();
      part.key.resize(before + num_chosen);
      part.label.resize(before + num_chosen);
      part.level.resize(before + num_chosen);
      for (std::size_t at = 0; at < num_chosen; ++at) {
        const std::size_t row = begin + chosen[at];
        part.key[before + at] = ordered_key(block.value[row]);
        part.label[before + at] = block.label[row];
        part.level[before + at] = block.level[row];
      }
    }
  });
  CollectedRows<Key> collected;
  for (const CollectedRows<Key>& part : parts) {
    collected.key.insert(collected.key.end(), part.key.begin(), part.key.end());
    collected.label.insert(collected.label.end(), part.label.begin(), part.label.end());
    collected.level.insert(collected.level.end(), part.level.begin(), part.level.end());
  }
  return collected;
}

inline std::uint32_t key_of(std::uint32_t key) { return key; }
inline std::uint64_t key_of(std::uint64_t key) { return key; }
inline std::uint64_t key_of(const KeyWithUnits& item) { return item.key; }

/// Keys by level and label, sorted. Those of one level and label are a side, cut into `num_ranges` ranges of keys, the
/// same ones on both sides of all levels, so that ranges can be walked by different threads.
///
///   level 0: negatives | range 0 | range 1 | ... |, positives | range 0 | ... |, level 1: negatives ...
template <typename Item>
struct SortedSides {
  UninitializedVector<Item> items;
  std::vector<std::size_t> begin;  ///< of every range of every side, and the end
  std::size_t num_ranges = 1;

  [[nodiscard]] std::span<const Item> side(std::size_t level, int label, std::size_t range) const {
    const std::size_t at = (2 * level + static_cast<std::size_t>(label)) * num_ranges + range;
    return std::span<const Item>(items).subspan(begin[at], begin[at + 1] - begin[at]);
  }
};

/// Sorts rows 0 to num_rows - 1. item_at(row), level_at(row) and label_at(row) are called twice for every row, from
/// several threads.
template <typename Item, typename ItemAt, typename LevelAt, typename LabelAt>
SortedSides<Item> sort_sides(std::size_t num_rows, std::size_t num_levels, const ItemAt& item_at,
                             const LevelAt& level_at, const LabelAt& label_at) {
  using Key = decltype(key_of(Item{}));
  SortedSides<Item> sides;
  // Ranges give the threads even work. About 256 places to write to at a time stay in the processor's buffers.
  std::vector<Key> sample;
  if (num_rows >= kFewRows) {
    const std::size_t stride = num_rows / 4096 + 1;
    for (std::size_t row = 0; row < num_rows; row += stride) sample.push_back(key_of(item_at(row)));
  }
  const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
  const KeyMap<Key> map(sample.empty() ? 0 : *least, sample.empty() ? 0 : *most, sample,
                        std::clamp<std::size_t>(128 / num_levels, 1, 32));
  sides.num_ranges = map.num_buckets();
  const auto cell_of = [&](std::size_t row) {
    return (2 * static_cast<std::size_t>(level_at(row)) + label_at(row)) * sides.num_ranges +
           map.bucket_of(key_of(item_at(row)));
  };
  // A counting sort by cell: every chunk of rows counts, then writes to places of its own.
  const std::size_t num_cells = 2 * num_levels * sides.num_ranges;
  const std::size_t num_chunks = num_rows < kFewRows ? 1 : 16;
  const auto chunk_begin = [&](std::size_t chunk) { return num_rows * chunk / num_chunks; };
  std::vector<std::vector<std::size_t>> place(num_chunks, std::vector<std::size_t>(num_cells, 0));
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    for (std::size_t row = chunk_begin(chunk); row < chunk_begin(chunk + 1); ++row) ++place[chunk][cell_of(row)];
  });
  sides.begin.push_back(0);
  std::size_t total = 0;
  for (std::size_t cell = 0; cell < num_cells; ++cell) {
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
      const std::size_t count = place[chunk][cell];
      place[chunk][cell] = total;
      total += count;
    }
    sides.begin.push_back(total);
  }
  sides.items.resize(num_rows);
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    for (std::size_t row = chunk_begin(chunk); row < chunk_begin(chunk + 1); ++row) {
      sides.items[place[chunk][cell_of(row)]++] = item_at(row);
    }
  });
  tbb::parallel_for(std::size_t{0}, num_cells, [&](std::size_t cell) {
    sort_keys(std::span(sides.items).subspan(sides.begin[cell], sides.begin[cell + 1] - sides.begin[cell]));
  });
  return sides;
}

}  // namespace limen::detail
