// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limen/uncertainty/evidence.h"

namespace limen {

/// Values of rows as numbers, such as EvidenceKeys gives them: row by row, one for each column.
struct CodeRows {
  /// A value that training did not have: no training row agrees with it.
  static constexpr std::uint32_t kUnseen = EvidenceKeys::kUnseen;
  std::size_t num_columns = 0;
  std::vector<std::uint32_t> codes = {};

  [[nodiscard]] std::size_t num_rows() const { return num_columns == 0 ? 0 : codes.size() / num_columns; }
};

/// The training rows of each combination of values of some columns.
///
/// A combination is named by 64 bits: exactly for one or two columns; for more by a hash, where some two of n
/// combinations share a name with a probability below n^2 / 2^65, which is 3e-8 for a million.
struct CellCounts {
  std::vector<std::uint64_t> keys = {};    ///< ascending, each once
  std::vector<std::uint32_t> counts = {};  ///< >= 1, one for each key
};

}  // namespace limen
