// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

// Logistic regression of rows, each with features of its own. solve/logistic.h works on few cells of rows that share
// their features, and the folder `uncertainty` stands alone among those of core; so this one lives here.
namespace limen::detail {

inline double sigmoid(double x) { return 0.5 * (1 + std::tanh(0.5 * x)); }
/// log(1 + exp(x)) without overflow.
inline double log1p_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/// Rows one after the other.
struct RowMatrix {
  std::size_t num_columns = 0;
  std::vector<double> values = {};

  [[nodiscard]] std::size_t num_rows() const { return num_columns == 0 ? 0 : values.size() / num_columns; }
  [[nodiscard]] const double* row(std::size_t index) const { return values.data() + index * num_columns; }
  [[nodiscard]] double* row(std::size_t index) { return values.data() + index * num_columns; }
};

/// Sums over rows: `add(begin, end, sums)` adds those of a chunk of rows to `sums`, all 0 before. Chunks run in
/// parallel and are of a fixed size, and their sums are added in order: the result does not depend on threads.
[[nodiscard]] std::vector<double> sum_rows(
    std::size_t num_rows, std::size_t num_sums,
    const std::function<void(std::size_t begin, std::size_t end, double* sums)>& add);

/// matrix = L L' for a symmetric matrix without negative eigenvalues, of which the lower half is read, row by row. An
/// unknown whose pivot is lost in rounding depends on those before it: it is left out.
class Cholesky {
 public:
  Cholesky(std::vector<double> matrix, std::size_t size);
  /// right becomes the solution of L x = right; so x'x = right' matrix^-1 right.
  void forward(std::span<double> right) const;
  /// right becomes the solution of matrix x = right.
  void solve(std::span<double> right) const;

 private:
  std::vector<double> factor_;
  std::size_t size_;
};

/// X' diag(weight) X, the lower half.
[[nodiscard]] std::vector<double> weighted_products(const RowMatrix& design, std::span<const double> weight);

struct RowLogisticFit {
  std::vector<double> coefficients;
  std::vector<double> probability;  ///< of each row
  double log_likelihood = 0;        ///< of the rows, without the penalty
};

struct RowLogisticOptions {
  /// A known part of each row's log odds; empty: 0.
  std::span<const double> offset = {};
  /// Coefficients to start from; empty: 0.
  std::vector<double> start = {};
};

/// The top of the log likelihood less sum_j precision[j] / 2 * coefficient[j]^2, by Newton's method with halved steps.
/// A precision above 0 keeps a coefficient finite for any rows. O(rows * columns^2) a step.
[[nodiscard]] RowLogisticFit fit_row_logistic(const RowMatrix& design, std::span<const std::uint8_t> label,
                                              std::span<const double> precision,
                                              const RowLogisticOptions& options = {});

}  // namespace limen::detail
