// SPDX-License-Identifier: MIT
#include "uncertainty/term_counts.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "limen/base/random.h"

namespace limen::detail {
namespace {

// Cells of validation rows, by their key: open addressing, at most half full. Cells that only training has are not
// wanted, so that a term of very many cells takes no more memory than the validation rows.
class WantedCells {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  explicit WantedCells(std::size_t most_cells) : slots_(std::bit_ceil(2 * most_cells + 2), kNone) {}

  std::uint32_t add(std::uint64_t key) {
    std::uint32_t& slot = slots_[slot_of(key)];
    if (slot == kNone) {
      slot = static_cast<std::uint32_t>(keys_.size());
      keys_.push_back(key);
      count.push_back(0);
    }
    return slot;
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const { return slots_[slot_of(key)]; }

  std::vector<std::uint32_t> count;

 private:
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = mix(key) & mask;
    while (slots_[slot] != kNone && keys_[slots_[slot]] != key) slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<std::uint32_t> slots_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace

std::optional<std::uint64_t> cell_key(const std::uint32_t* codes, std::span<const std::size_t> columns) {
  std::uint64_t key = 0;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const std::uint32_t code = codes[columns[at]];
    if (code == CodeRows::kUnseen) return std::nullopt;
    key = (at < 2 ? key << 32U : mix(key + kGoldenRatio)) ^ code;
  }
  return key;
}

CellCounts count_cells(const CodeRows& training, std::span<const std::size_t> columns) {
  std::vector<std::uint64_t> keys;
  keys.reserve(training.num_rows());
  for (std::size_t row = 0; row < training.num_rows(); ++row) {
    keys.push_back(*cell_key(training.codes.data() + row * training.num_columns, columns));
  }
  std::ranges::sort(keys);
  CellCounts cells;
  for (const std::uint64_t key : keys) {
    if (cells.keys.empty() || cells.keys.back() != key) {
      cells.keys.push_back(key);
      cells.counts.push_back(0);
    }
    ++cells.counts.back();
  }
  return cells;
}

std::uint32_t count_of(const CellCounts& cells, const std::uint32_t* codes, std::span<const std::size_t> columns) {
  const std::optional<std::uint64_t> key = cell_key(codes, columns);
  if (!key) return 0;
  const auto found = std::ranges::lower_bound(cells.keys, *key);
  if (found == cells.keys.end() || *found != *key) return 0;
  return cells.counts[static_cast<std::size_t>(found - cells.keys.begin())];
}

TermCounts::TermCounts(const CodeRows& training, const CodeRows& validation, std::span<const std::size_t> rows,
                       std::int64_t cap)
    : training_(training), validation_(validation), rows_(rows.begin(), rows.end()) {
  for (std::int64_t count = 0; count <= cap; ++count) log_counts_.push_back(std::log1p(static_cast<double>(count)));
  const auto varies = [&](std::size_t column) {
    const std::uint32_t first = training_.codes[column];
    const auto differs = [&](const CodeRows& table, std::size_t row) {
      return table.codes[row * table.num_columns + column] != first;
    };
    for (const std::size_t row : rows_) {
      if (differs(validation_, row)) return true;
    }
    for (std::size_t row = 0; row < training_.num_rows(); ++row) {
      if (differs(training_, row)) return true;
    }
    return false;
  };
  for (std::size_t column = 0; column < training_.num_columns; ++column) {
    if (varies(column)) columns_.push_back(column);
  }
}

std::vector<std::uint16_t> TermCounts::counted(const Term& term) const {
  WantedCells cells(rows_.size());
  std::vector<std::uint32_t> cell_of_row;
  cell_of_row.reserve(rows_.size());
  for (const std::size_t row : rows_) {
    const auto key = cell_key(validation_.codes.data() + row * validation_.num_columns, term);
    cell_of_row.push_back(key ? cells.add(*key) : WantedCells::kNone);
  }
  for (std::size_t row = 0; row < training_.num_rows(); ++row) {
    const std::uint32_t cell = cells.find(*cell_key(training_.codes.data() + row * training_.num_columns, term));
    if (cell != WantedCells::kNone) ++cells.count[cell];
  }
  const auto cap = static_cast<std::uint32_t>(log_counts_.size() - 1);
  std::vector<std::uint16_t> counts;
  counts.reserve(rows_.size());
  for (const std::uint32_t cell : cell_of_row) {
    counts.push_back(cell == WantedCells::kNone ? std::uint16_t{0}
                                                : static_cast<std::uint16_t>(std::min(cells.count[cell], cap)));
  }
  return counts;
}

void TermCounts::count(std::span<const Term> terms) {
  std::vector<std::map<Term, std::vector<std::uint16_t>>::iterator> missing;
  for (const Term& term : terms) {
    if (const auto [place, is_new] = counts_.try_emplace(term); is_new) missing.push_back(place);
  }
  tbb::parallel_for(std::size_t{0}, missing.size(),
                    [&](std::size_t at) { missing[at]->second = counted(missing[at]->first); });
}

}  // namespace limen::detail
