// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "limen/base/random.h"

namespace limen {

/// Which negatives undersampling keeps: those of a share 1 / tau of the rows, by (seed, row) alone. The same seed and
/// tau keep the same rows wherever a table is undersampled; a larger tau keeps a subset.
class Undersampling {
 public:
  /// tau: at least 1, which keeps all.
  Undersampling(double tau, std::uint64_t seed) : tau_(tau), hash_(seed, RowUse::kUndersample) {}

  /// row: its number in the table, from 0. For a negative; positives are all kept.
  [[nodiscard]] bool keeps(std::uint64_t row) const { return hash_.uniform(row) * tau_ < 1; }

 private:
  double tau_;
  RowHash hash_;
};

}  // namespace limen
