// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace limen::train {

/// A categorical feature that says between which two knots a numeric input lies: its token is that of the lower one,
/// the next token that of the upper one, and a row's `fraction` tells how far it is from the lower to the upper.
struct KnotInput {
  std::size_t numeric = 0;
  std::size_t categorical = 0;
  bool operator==(const KnotInput&) const = default;
};

/// What a network sees of a row: `num_numeric` real inputs and one token per categorical feature.
struct FeatureShape {
  std::size_t num_numeric = 0;
  /// Per categorical feature: how many tokens there are; a token is from 0 to this - 1.
  std::vector<std::int32_t> num_tokens = {};
  std::vector<KnotInput> knots = {};  ///< both fields increasing

  [[nodiscard]] std::size_t num_categorical() const { return num_tokens.size(); }
  bool operator==(const FeatureShape&) const = default;
};

/// Rows ready for a network; both matrices row by row.
struct FeatureRows {
  std::size_t num_rows = 0;
  std::vector<float> numeric = {};             ///< num_rows x num_numeric, finite
  std::vector<std::int32_t> categorical = {};  ///< num_rows x num_categorical
  /// num_rows x knots.size(), -1 to 2: the row's vector of the feature is (1 - f) v(token) + f v(token + 1). 0 where
  /// the token is the last one, or of a missing value.
  std::vector<float> fraction = {};
  std::vector<std::uint8_t> label = {};  ///< 0 or 1, or as EncodeOptions::missing_labels says; empty when not known
};

}  // namespace limen::train
