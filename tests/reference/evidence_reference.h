// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

namespace limen::reference {

/// Evidence by maps from texts, one for each number of keys: slow and obvious.
struct EvidenceReference {
  struct Cell {
    double count = 0;
    double positives = 0;
  };
  struct Found {
    double count = 0;
    double positives = 0;
    double rate = 0;
    std::size_t keys_used = 0;
  };
  using Row = std::vector<std::string>;
  std::map<Row, Cell> cells = {};  // by the first k values, for each k

  void add(const Row& row, bool label, double weight = 1) {
    for (std::size_t keys = 0; keys <= row.size(); ++keys) {
      Cell& cell = cells[Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys))];
      cell.count += weight;
      if (label) cell.positives += weight;
    }
  }

  [[nodiscard]] Found find(const Row& row, double strength) const {
    Found found;
    for (std::size_t keys = 0; keys <= row.size(); ++keys) {
      const auto cell = cells.find(Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys)));
      if (cell == cells.end() || cell->second.count < 1e-9) break;
      const auto& [count, positives] = cell->second;
      found = {count, positives,
               keys == 0 ? positives / count : (positives + strength * found.rate) / (count + strength), keys};
    }
    return found;
  }
};

}  // namespace limen::reference
