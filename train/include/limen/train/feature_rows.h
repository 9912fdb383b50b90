// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace limen::train {

/// A categorical feature that says in which bin a numeric input lies.
struct BinnedInput {
  std::size_t numeric = 0;
  std::size_t categorical = 0;
  bool operator==(const BinnedInput&) const = default;
};

/// What a network sees of a row: `num_numeric` real inputs and one token per categorical feature.
struct FeatureShape {
  std::size_t num_numeric = 0;
  /// Per categorical feature: how many tokens there are; a token is from 0 to this - 1.
  std::vector<std::int32_t> num_tokens = {};
  std::vector<BinnedInput> bins = {};  ///< both fields increasing

  [[nodiscard]] std::size_t num_categorical() const { return num_tokens.size(); }
  bool operator==(const FeatureShape&) const = default;
};

/// Rows ready for a network; both matrices row by row.
struct FeatureRows {
  std::size_t num_rows = 0;
  std::vector<float> numeric = {};             ///< num_rows x num_numeric, finite
  std::vector<std::int32_t> categorical = {};  ///< num_rows x num_categorical
  std::vector<std::uint8_t> label = {};  ///< 0 or 1, or as EncodeOptions::missing_labels says; empty when not known
};

}  // namespace limen::train
