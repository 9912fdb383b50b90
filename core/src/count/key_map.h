// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace limen::detail {

/// Cuts a range of keys into buckets that hold about equally many rows, going by a sample of them.
///
/// The range is cut into cells of equal width, and every cell into a power of two of buckets, as many as its share of
/// the sample asks for. So a bucket is found with one look into a small table, and where the sample misleads, the
/// buckets are uneven, not wrong. A key outside of the range is given the first or the last bucket: no key leads out of
/// the table. reach() makes these buckets wide enough for such keys.
template <typename Key>
class KeyMap {
  struct Cell {
    std::uint32_t first;  // its first bucket
    std::uint32_t shift;  // from an offset in the cell to a bucket of it
  };

 public:
  /// Keys from low to high; about `buckets` of them, at most four times as many.
  KeyMap(Key low, Key high, std::span<const Key> sample, std::size_t buckets)
      : low_(low), span_(static_cast<Key>(high - low)), highest_(high) {
    const std::size_t most_cells = std::clamp<std::size_t>(buckets, 2, 1024);
    while ((span_ >> cell_shift_) >= most_cells) ++cell_shift_;
    const auto num_cells = static_cast<std::size_t>(span_ >> cell_shift_) + 1;
    std::vector<std::size_t> seen(num_cells, 0);
    for (const Key key : sample) {
      if (key >= low && key <= high) ++seen[static_cast<std::size_t>(static_cast<Key>(key - low) >> cell_shift_)];
    }
    cells_.reserve(num_cells);
    for (std::size_t cell = 0; cell < num_cells; ++cell) {
      const std::size_t wanted = sample.empty() ? 1 : std::bit_ceil(seen[cell] * buckets / sample.size() + 1);
      const int bits = std::min(cell_shift_, std::countr_zero(wanted));
      const int shift = cell_shift_ - bits;
      cells_.push_back({static_cast<std::uint32_t>(lows_.size()), static_cast<std::uint32_t>(shift)});
      const auto cell_low = static_cast<Key>(static_cast<Key>(cell) << cell_shift_);
      for (std::size_t bucket = 0; bucket < (std::size_t{1} << bits); ++bucket) {
        const auto offset = static_cast<Key>(cell_low + static_cast<Key>(static_cast<Key>(bucket) << shift));
        if (offset > span_) break;
        lows_.push_back(static_cast<Key>(low_ + offset));
      }
    }
    mask_ = static_cast<Key>((Key{1} << cell_shift_) - 1);
  }

  [[nodiscard]] std::size_t num_buckets() const { return lows_.size(); }
  [[nodiscard]] std::size_t bucket_of(Key key) const { return finder().bucket_of(key); }

  /// What bucket_of needs, for loops over rows: a copy on the stack stays in registers. Valid as long as the map is.
  struct Finder {
    Key low;
    Key span;
    Key mask;
    int cell_shift;
    const Cell* cells;

    [[nodiscard]] std::size_t bucket_of(Key key) const {
      const auto offset = std::min(static_cast<Key>(std::max(key, low) - low), span);
      const Cell& cell = cells[static_cast<std::size_t>(offset >> cell_shift)];
      return cell.first + static_cast<std::size_t>((offset & mask) >> cell.shift);
    }
  };
  [[nodiscard]] Finder finder() const { return {low_, span_, mask_, cell_shift_, cells_.data()}; }
  void reach(Key low, Key high) {
    lows_.front() = std::min(lows_.front(), low);
    highest_ = std::max(highest_, high);
  }
  /// Smallest and largest key of a bucket.
  [[nodiscard]] Key low(std::size_t bucket) const { return lows_[bucket]; }
  [[nodiscard]] Key high(std::size_t bucket) const {
    return bucket + 1 < lows_.size() ? static_cast<Key>(lows_[bucket + 1] - 1) : highest_;
  }

 private:
  Key low_;
  Key span_;
  Key highest_;
  Key mask_ = 0;
  int cell_shift_ = 0;
  std::vector<Cell> cells_;
  std::vector<Key> lows_;
};

/// Keys from low to high, cut into ranges of equal width, a power of two.
template <typename Key>
class EqualRanges {
 public:
  /// At most `most` ranges; at least two, unless there is a single key.
  EqualRanges(Key low, Key high, std::size_t most) : low_(low), high_(high) {
    while ((static_cast<Key>(high - low) >> shift_) >= std::max<std::size_t>(most, 2)) ++shift_;
  }
  [[nodiscard]] std::size_t size() const { return at(high_) + 1; }
  [[nodiscard]] std::size_t at(Key key) const {
    return static_cast<std::size_t>(static_cast<Key>(key - low_) >> shift_);
  }
  [[nodiscard]] bool holds(Key key) const { return key >= low_ && key <= high_; }
  /// Smallest and largest key of a range.
  [[nodiscard]] Key low(std::size_t range) const {
    return static_cast<Key>(low_ + static_cast<Key>(static_cast<Key>(range) << shift_));
  }
  [[nodiscard]] Key high(std::size_t range) const {
    return range + 1 < size() ? static_cast<Key>(low(range + 1) - 1) : high_;
  }

 private:
  Key low_;
  Key high_;
  int shift_ = 0;
};

/// How many of the increasing keys are below `key`, without branches, which would be predicted wrongly.
template <typename Key>
std::size_t num_below(std::span<const Key> keys, Key key) {
  std::size_t begin = 0;
  for (std::size_t size = keys.size(); size > 0;) {
    const std::size_t half = (size + 1) / 2;
    begin += half * static_cast<std::size_t>(keys[begin + half - 1] < key);
    size -= half;
  }
  return begin;
}

}  // namespace limen::detail
