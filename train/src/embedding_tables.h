// SPDX-License-Identifier: MIT
// One vector per token of each categorical feature. A step of Adam touches the rows of the tokens in the batch and no
// others: with dense updates, tables of a few hundred thousand rows cost six times the rest of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels.h"
#include "limen/base/uninitialized_vector.h"

namespace limen::train {

class EmbeddingTables {
 public:
  struct Table {
    std::size_t num_tokens = 0;
    std::size_t width = 0;
    std::size_t offset = 0;  ///< of row 0 in `value`, `first` and `second`
    std::size_t column = 0;  ///< of its vector in a gathered row
  };

  EmbeddingTables() = default;
  /// Normal with the given deviation, from the seed. Same length of both spans.
  EmbeddingTables(std::span<const std::int32_t> num_tokens, std::span<const int> widths, double deviation,
                  std::uint64_t seed);

  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }
  /// Numbers in a gathered row: the vectors of all features, side by side.
  [[nodiscard]] std::size_t row_width() const { return row_width_; }

  /// tokens: rows x features. out: rows of row_width() numbers, `stride` apart.
  void gather(const std::int32_t* tokens, std::size_t rows, float* out, std::size_t stride) const;

  /// Adds up one feature's gradients (rows x row_width()) of equal tokens, in row order, and returns the sum of their
  /// squares. Features are independent: different threads may take different ones.
  double reduce(std::size_t feature, const std::int32_t* tokens, const float* gradient, std::size_t rows);
  /// Adam on the rows of the feature's last reduce().
  void step(std::size_t feature, const AdamStep& step);

  UninitializedVector<float> value = {};
  UninitializedVector<float> first = {};
  UninitializedVector<float> second = {};

 private:
  // The tokens of a batch in order of first appearance and their summed gradients.
  struct Touched {
    std::vector<std::int32_t> slot = {};  // per token of the table: its place in `token`, or -1
    std::vector<std::int32_t> token = {};
    std::vector<float> gradient = {};  // token.size() x width
  };
  std::vector<Table> tables_ = {};
  std::vector<Touched> touched_ = {};
  std::size_t row_width_ = 0;
};

/// Width of the vectors of a feature: the fourth root of its vocabulary, rounded up to a multiple of 4, at most
/// `widest`.
[[nodiscard]] int embedding_width(std::int32_t num_tokens, int widest);

}  // namespace limen::train
