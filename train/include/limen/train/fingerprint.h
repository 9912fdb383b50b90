// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limen/base/frame.h"

namespace limen::train {

/// What tells a table from another one, from one with rows in another order, or with rows more or fewer.
struct TableFingerprint {
  std::uint64_t rows = 0;
  std::vector<std::string> columns = {};  ///< that were looked at
  std::uint64_t hash = 0;                 ///< of their values, row by row

  bool operator==(const TableFingerprint&) const = default;
};

/// Takes the fingerprint of a table that comes in batches; which rows a batch holds makes no difference. A value counts
/// the same whether it was read as a number or as the text of that number. One pass, O(values).
class FingerprintTaker {
 public:
  explicit FingerprintTaker(std::vector<std::string> columns) { fingerprint_.columns = std::move(columns); }

  /// Throws InvalidInput when a column is missing.
  void add(const Frame& frame);
  [[nodiscard]] const TableFingerprint& fingerprint() const { return fingerprint_; }

 private:
  TableFingerprint fingerprint_;
};

}  // namespace limen::train
