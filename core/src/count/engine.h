// SPDX-License-Identifier: MIT
//
// The counting engine. Rows are looked at as rarely as possible, in steps that every client is made of:
//
//   count_cells   one pass: a histogram of the rows by cell (level and bucket of the ordered key)
//   KeyCounter    one pass: a histogram of the keys alone, and a copy of those that will probably matter
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
#include <utility>
#include <vector>

#include "count/key_map.h"
#include "count/ordered_key.h"
#include "count/sort_keys.h"
#include "limen/base/uninitialized_vector.h"
#include "limen/count/grid.h"
#include "limen/count/samples.h"

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

inline constexpr std::size_t kNoCell = std::numeric_limits<std::size_t>::max();

/// A histogram of rows and positives by cell, on one thread.
class Histogram {
 public:
  explicit Histogram(std::size_t num_cells) : packed_(num_cells, 0), emptied_(num_cells) {}

  /// To be called before `rows` rows are added.
  void prepare_for(std::size_t rows) {
    if (rows_since_ > (std::size_t{1} << 31)) empty();
    rows_since_ += rows;
  }
  void add(std::size_t cell, std::uint8_t label) { packed_[cell] += 1 + (std::uint64_t{label} << 32); }
  void add_to(std::vector<Counts>& sums) {
    empty();
    for (std::size_t cell = 0; cell < sums.size(); ++cell) sums[cell] += emptied_[cell];
  }

 private:
  void empty() {
    for (std::size_t cell = 0; cell < packed_.size(); ++cell) {
      emptied_[cell] +=
          {static_cast<std::int64_t>(packed_[cell] & 0xFFFF'FFFFU), static_cast<std::int64_t>(packed_[cell] >> 32)};
    }
    std::fill(packed_.begin(), packed_.end(), 0);
    rows_since_ = 0;
  }

  // Rows in the low half of a counter, positives in the high half; emptied before either can overflow.
  std::vector<std::uint64_t> packed_;
  std::vector<Counts> emptied_;
  std::size_t rows_since_ = 0;
};

/// Rows and positives per cell: one pass. cell_of(level, key) may give kNoCell; every block uses a copy of it.
template <typename Rows, typename CellOf>
std::vector<Counts> count_cells(const Rows& rows, std::size_t num_cells, const CellOf& cell_of) {
  tbb::enumerable_thread_specific<Histogram> parts([&] { return Histogram(num_cells); });
  rows.scan([&](const Block<typename Rows::Real>& block) {
    Histogram& part = parts.local();
    part.prepare_for(block.size);
    const CellOf cell_of_block = cell_of;
    for (std::size_t row = 0; row < block.size; ++row) {
      const std::size_t cell = cell_of_block(block.level[row], ordered_key(block.value[row]));
      if (cell != kNoCell) part.add(cell, block.label[row]);
    }
  });
  std::vector<Counts> counts(num_cells);
  for (Histogram& part : parts) part.add_to(counts);
  return counts;
}

/// Rows per bucket of a map, and the keys of chosen buckets, in one pass, whose rows may come in several parts.
template <typename Key>
class KeyCounter {
 public:
  /// keep: 1 for the buckets whose keys are kept, unless there are more than `most_kept` in all.
  KeyCounter(KeyMap<Key> map, std::vector<std::uint8_t> keep, std::size_t most_kept)
      : map_(std::move(map)),
        keep_(std::move(keep)),
        most_kept_(most_kept),
        parts_([this] { return Part{Histogram(map_.num_buckets())}; }) {}
  KeyCounter(const KeyCounter&) = delete;
  KeyCounter& operator=(const KeyCounter&) = delete;

  template <typename Rows>
  void add(const Rows& rows) {
    rows.scan([&](const Block<typename Rows::Real>& block) { add_block(block, parts_.local()); });
    std::size_t kept = 0;
    for (const Part& part : parts_) kept += part.keys.size();
    if (kept <= most_kept_) return;
    std::fill(keep_.begin(), keep_.end(), std::uint8_t{0});
    for (Part& part : parts_) part.keys = {};
  }

  [[nodiscard]] KeyMap<Key>& map() { return map_; }
  [[nodiscard]] bool keeps(std::size_t bucket) const { return keep_[bucket] != 0; }
  [[nodiscard]] std::vector<Counts> counts() {
    std::vector<Counts> sums(map_.num_buckets());
    for (Part& part : parts_) part.histogram.add_to(sums);
    return sums;
  }
  /// In no order.
  [[nodiscard]] UninitializedVector<Key> take_keys() {
    UninitializedVector<Key> keys;
    for (Part& part : parts_) {
      keys.insert(keys.end(), part.keys.begin(), part.keys.end());
      part.keys = {};
    }
    return keys;
  }

 private:
  struct Part {
    Histogram histogram;
    UninitializedVector<Key> keys = {};
  };

  template <typename Real>
  void add_block(const Block<Real>& block, Part& part) const {
    constexpr std::size_t kStep = 4096;
    std::array<Key, kStep> kept;
    part.histogram.prepare_for(block.size);
    const auto finder = map_.finder();
    for (std::size_t begin = 0; begin < block.size; begin += kStep) {
      std::size_t num_kept = 0;
      for (std::size_t row = begin; row < std::min(begin + kStep, block.size); ++row) {
        const Key key = ordered_key(block.value[row]);
        const std::size_t bucket = finder.bucket_of(key);
        part.histogram.add(bucket, 0);
        kept[num_kept] = key;
        num_kept += keep_[bucket];
      }
      part.keys.insert(part.keys.end(), kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(num_kept));
    }
  }

  KeyMap<Key> map_;
  std::vector<std::uint8_t> keep_;
  std::size_t most_kept_;
  tbb::enumerable_thread_specific<Part> parts_;
};

/// Copied rows; their order depends on the threads, so that only sorted or counted results may be made of them.
template <typename Real>
struct CollectedRows {
  UninitializedVector<Real> value;
  UninitializedVector<std::uint8_t> label;
  UninitializedVector<std::uint16_t> level;

  [[nodiscard]] std::size_t size() const { return value.size(); }
  [[nodiscard]] RowsInMemory<Real> rows() const { return {value, label, level}; }
};

/// Copies the rows with values in `range` for which wanted(level, key) holds: one pass. `wanted`, which is called for
/// all rows with values in the range, is what wanted_on_thread() gives; that is called on every thread.
template <typename Rows, typename WantedOnThread>
CollectedRows<typename Rows::Real> collect(const Rows& rows, Range<typename Rows::Real> range,
                                           const WantedOnThread& wanted_on_thread) {
  using Real = typename Rows::Real;
  constexpr std::size_t kStep = 1024;
  tbb::enumerable_thread_specific<CollectedRows<Real>> parts;
  rows.scan([&](const Block<Real>& block) {
    CollectedRows<Real>& part = parts.local();
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
      part.value.resize(before + num_chosen);
      part.label.resize(before + num_chosen);
      part.level.resize(before + num_chosen);
      for (std::size_t at = 0; at < num_chosen; ++at) {
        const std::size_t row = begin + chosen[at];
        part.value[before + at] = block.value[row];
        part.label[before + at] = block.label[row];
        part.level[before + at] = block.level[row];
      }
    }
  });
  CollectedRows<Real> collected;
  for (const CollectedRows<Real>& part : parts) {
    collected.value.insert(collected.value.end(), part.value.begin(), part.value.end());
    collected.label.insert(collected.label.end(), part.label.begin(), part.label.end());
    collected.level.insert(collected.level.end(), part.level.begin(), part.level.end());
  }
  return collected;
}

inline std::uint32_t key_of(std::uint32_t key) { return key; }
inline std::uint64_t key_of(std::uint64_t key) { return key; }
inline std::uint64_t key_of(const KeyWithUnits& item) { return item.key; }

/// Keys by level and label, sorted, ascending; those of one level and label are a side.
template <typename Item>
struct SortedSides {
  UninitializedVector<Item> items;
  std::vector<std::size_t> begin;  ///< of side 2 * level + label, and the end

  [[nodiscard]] std::size_t num_levels() const { return begin.size() / 2; }
  [[nodiscard]] std::span<const Item> side(std::size_t level, std::size_t label) const {
    const std::size_t at = 2 * level + label;
    return std::span<const Item>(items).subspan(begin[at], begin[at + 1] - begin[at]);
  }
};

/// Sorts rows 0 to num_rows - 1. item_at(row), level_at(row) and label_at(row) are called twice for every row, from
/// several threads.
template <typename Item, typename ItemAt, typename LevelAt, typename LabelAt>
SortedSides<Item> sort_sides(std::size_t num_rows, std::size_t num_levels, const ItemAt& item_at,
                             const LevelAt& level_at, const LabelAt& label_at) {
  using Key = decltype(key_of(Item{}));
  // Sides are cut into ranges of keys, so that threads have even work. About 256 places to write to at a time stay in
  // the processor's buffers.
  std::vector<Key> sample;
  if (num_rows >= kFewRows) {
    const std::size_t stride = num_rows / 4096 + 1;
    for (std::size_t row = 0; row < num_rows; row += stride) sample.push_back(key_of(item_at(row)));
  }
  const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
  const KeyMap<Key> map(sample.empty() ? 0 : *least, sample.empty() ? 0 : *most, sample,
                        std::clamp<std::size_t>(128 / num_levels, 1, 32));
  const std::size_t num_ranges = map.num_buckets();
  const auto cell_of = [&, finder = map.finder()](std::size_t row) {
    return (2 * static_cast<std::size_t>(level_at(row)) + label_at(row)) * num_ranges +
           finder.bucket_of(key_of(item_at(row)));
  };
  // A counting sort by cell: every chunk of rows counts, then writes to places of its own.
  const std::size_t num_cells = 2 * num_levels * num_ranges;
  const std::size_t num_chunks = num_rows < kFewRows ? 1 : 16;
  const auto chunk_begin = [&](std::size_t chunk) { return num_rows * chunk / num_chunks; };
  std::vector<std::vector<std::size_t>> place(num_chunks, std::vector<std::size_t>(num_cells, 0));
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    for (std::size_t row = chunk_begin(chunk); row < chunk_begin(chunk + 1); ++row) ++place[chunk][cell_of(row)];
  });
  std::vector<std::size_t> cell_begin = {0};
  for (std::size_t cell = 0; cell < num_cells; ++cell) {
    std::size_t next = cell_begin.back();
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) next += std::exchange(place[chunk][cell], next);
    cell_begin.push_back(next);
  }
  SortedSides<Item> sides;
  sides.items.resize(num_rows);
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    for (std::size_t row = chunk_begin(chunk); row < chunk_begin(chunk + 1); ++row) {
      sides.items[place[chunk][cell_of(row)]++] = item_at(row);
    }
  });
  tbb::parallel_for(std::size_t{0}, num_cells, [&](std::size_t cell) {
    sort_keys(std::span(sides.items).subspan(cell_begin[cell], cell_begin[cell + 1] - cell_begin[cell]));
  });
  for (std::size_t side = 0; side <= 2 * num_levels; ++side) sides.begin.push_back(cell_begin[side * num_ranges]);
  return sides;
}

}  // namespace limen::detail
