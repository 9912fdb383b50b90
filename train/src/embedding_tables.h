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
#include "limen/train/feature_rows.h"

namespace limen::train {

class EmbeddingTables {
 public:
  struct Table {
    std::size_t num_tokens = 0;
    std::size_t width = 0;
    std::size_t offset = 0;  ///< of row 0 in `value`, `first` and `second`
    std::size_t token = 0;   ///< of row 0 in `steps`
    std::size_t column = 0;  ///< of its vector in a gathered row
    /// Place of its fraction in a row's fractions; kNone: the feature has no knots.
    std::size_t fraction = kNone;
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// Steps of a row are counted up to here, where the bias corrections are 1 in single precision.
  static constexpr std::size_t kMostSteps = 1U << 15U;

  EmbeddingTables() = default;
  /// Normal with the given deviation, from the seed. widths: one for each categorical feature of the shape.
  EmbeddingTables(const FeatureShape& shape, std::span<const int> widths, double deviation, std::uint64_t seed);

  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }
  /// Numbers in a gathered row: the vectors of all features, side by side.
  [[nodiscard]] std::size_t row_width() const { return row_width_; }

  /// tokens: rows x features; fraction: rows x features with knots. out: rows of row_width() numbers, `stride` apart.
  void gather(const std::int32_t* tokens, const float* fraction, std::size_t rows, float* out,
              std::size_t stride) const;

  /// Adds up one feature's gradients (rows x row_width()) of equal tokens, in row order, and returns the sum of their
  /// squares. Features are independent: different threads may take different ones.
  double reduce(std::size_t feature, const std::int32_t* tokens, const float* fraction, const float* gradient,
                std::size_t rows);
  /// Adam on the rows of the feature's last reduce(). A row's bias corrections are by the steps of its own: by the
  /// count of all steps, a row that is first touched late would move by three times the learning rate at once, and up
  /// to six times that as it goes on.
  struct Step {
    double learning_rate = 0;
    double l2 = 0;              ///< weight of half the rows' squares in the loss
    double gradient_scale = 1;  ///< of clipping
  };
  void step(std::size_t feature, const Step& step);

  UninitializedVector<float> value = {};
  UninitializedVector<float> first = {};
  UninitializedVector<float> second = {};
  std::vector<float> steps = {};  ///< of each token's row, table by table

 private:
  // The tokens of a batch in order of first appearance and their summed gradients.
  struct Touched {
    std::vector<std::int32_t> slot = {};  // per token of the table: its place in `token`, or -1
    std::vector<std::int32_t> token = {};
    std::vector<float> gradient = {};  // token.size() x width
  };
  std::vector<Table> tables_ = {};
  [[nodiscard]] float* sum_of(Touched& touched, const Table& table, std::int32_t token);
  std::vector<Touched> touched_ = {};
  std::size_t num_fractions_ = 0;
  std::size_t row_width_ = 0;
};

/// Width of the vectors of a feature: its vocabulary rounded up to a multiple of 4, at most `widest`: of more numbers
/// than tokens a layer behind could make no use.
[[nodiscard]] int embedding_width(std::int32_t num_tokens, int widest);

}  // namespace limen::train
