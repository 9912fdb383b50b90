// SPDX-License-Identifier: MIT
#include "uncertainty/row_logistic.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>

namespace limen::detail {
namespace {

// Large, since a chunk of few rows is done sooner than another thread is woken for it.
constexpr std::size_t kChunkRows = 32'768;

// Sets eta to the log odds of the rows and returns their log likelihood.
double set_log_odds(const RowMatrix& design, std::span<const std::uint8_t> label, std::span<const double> coefficients,
                    std::span<const double> offset, std::vector<double>& eta) {
  const std::size_t columns = design.num_columns;
  const std::vector<double> sum = sum_rows(label.size(), 1, [&](std::size_t begin, std::size_t end, double* sums) {
    for (std::size_t row = begin; row < end; ++row) {
      const double* const x = design.row(row);
      double linear = offset.empty() ? 0 : offset[row];
      for (std::size_t at = 0; at < columns; ++at) linear += coefficients[at] * x[at];
      eta[row] = linear;
      sums[0] += (label[row] != 0 ? linear : 0) - log1p_exp(linear);
    }
  });
  return sum[0];
}

double penalty(std::span<const double> precision, std::span<const double> coefficients) {
  double sum = 0;
  for (std::size_t at = 0; at < precision.size(); ++at) sum += precision[at] * coefficients[at] * coefficients[at] / 2;
  return sum;
}

}  // namespace

std::vector<double> sum_rows(std::size_t num_rows, std::size_t num_sums,
                             const std::function<void(std::size_t begin, std::size_t end, double* sums)>& add) {
  const std::size_t num_chunks = (num_rows + kChunkRows - 1) / kChunkRows;
  std::vector<double> parts(num_chunks * num_sums, 0);
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    add(chunk * kChunkRows, std::min(num_rows, (chunk + 1) * kChunkRows), parts.data() + chunk * num_sums);
  });
  std::vector<double> sums(num_sums, 0);
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
    for (std::size_t at = 0; at < num_sums; ++at) sums[at] += parts[chunk * num_sums + at];
  }
  return sums;
}

Cholesky::Cholesky(std::vector<double> matrix, std::size_t size) : factor_(std::move(matrix)), size_(size) {
  for (std::size_t row = 0; row < size_; ++row) {
    double* const own = factor_.data() + row * size_;
    const double diagonal = own[row];
    for (std::size_t column = 0; column <= row; ++column) {
      const double* const other = factor_.data() + column * size_;
      double sum = own[column];
      for (std::size_t at = 0; at < column; ++at) sum -= own[at] * other[at];
      if (column < row) {
        own[column] = other[column] > 0 ? sum / other[column] : 0;
      } else {
        own[row] = sum > 1e-11 * diagonal ? std::sqrt(sum) : 0;
      }
    }
  }
}

void Cholesky::forward(std::span<double> right) const {
  for (std::size_t row = 0; row < size_; ++row) {
    const double* const own = factor_.data() + row * size_;
    for (std::size_t at = 0; at < row; ++at) right[row] -= own[at] * right[at];
    right[row] = own[row] > 0 ? right[row] / own[row] : 0;
  }
}

void Cholesky::solve(std::span<double> right) const {
  forward(right);
  for (std::size_t row = size_; row-- > 0;) {
    for (std::size_t at = row + 1; at < size_; ++at) right[row] -= factor_[at * size_ + row] * right[at];
    const double pivot = factor_[row * size_ + row];
    right[row] = pivot > 0 ? right[row] / pivot : 0;
  }
}

std::vector<double> weighted_products(const RowMatrix& design, std::span<const double> weight) {
  const std::size_t columns = design.num_columns;
  return sum_rows(weight.size(), columns * columns, [&](std::size_t begin, std::size_t end, double* sums) {
    for (std::size_t row = begin; row < end; ++row) {
      const double* const x = design.row(row);
      for (std::size_t at = 0; at < columns; ++at) {
        const double factor = weight[row] * x[at];
        for (std::size_t other = 0; other <= at; ++other) sums[at * columns + other] += factor * x[other];
      }
    }
  });
}

RowLogisticFit fit_row_logistic(const RowMatrix& design, std::span<const std::uint8_t> label,
                                std::span<const double> precision, const RowLogisticOptions& options) {
  const std::size_t columns = design.num_columns;
  const std::size_t rows = label.size();
  std::vector<double> now = options.start;
  now.resize(columns, 0);
  std::vector<double> eta(rows);
  std::vector<double> next_eta(rows);
  std::vector<double> weight(rows);
  double value = set_log_odds(design, label, now, options.offset, eta) - penalty(precision, now);
  constexpr int kMostSteps = 50;
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<double> gradient = sum_rows(rows, columns, [&](std::size_t begin, std::size_t end, double* sums) {
      for (std::size_t row = begin; row < end; ++row) {
        const double p = sigmoid(eta[row]);
        weight[row] = p * (1 - p);
        const double residual = (label[row] != 0 ? 1.0 : 0.0) - p;
        const double* const x = design.row(row);
        for (std::size_t at = 0; at < columns; ++at) sums[at] += residual * x[at];
      }
    });
    std::vector<double> curvature = weighted_products(design, weight);
    for (std::size_t at = 0; at < columns; ++at) {
      gradient[at] -= precision[at] * now[at];
      curvature[at * columns + at] += precision[at] + 1e-9;
    }
    std::vector<double> move = gradient;
    Cholesky(std::move(curvature), columns).solve(move);
    double slope = 0;
    for (std::size_t at = 0; at < columns; ++at) slope += move[at] * gradient[at];
    // Half of this is what a full step gains near the top.
    if (!(slope > 1e-10 * (1 + std::abs(value)))) break;
    std::vector<double> next = now;
    double next_value = value;
    double share = 1;
    for (int halving = 0; halving < 30; ++halving, share /= 2) {
      for (std::size_t at = 0; at < columns; ++at) next[at] = now[at] + share * move[at];
      next_value = set_log_odds(design, label, next, options.offset, next_eta) - penalty(precision, next);
      if (next_value > value) break;
    }
    if (!(next_value > value)) break;
    now.swap(next);
    eta.swap(next_eta);
    value = next_value;
  }
  RowLogisticFit fit = {.coefficients = now, .probability = std::move(next_eta)};
  fit.log_likelihood = value + penalty(precision, now);
  for (std::size_t row = 0; row < rows; ++row) fit.probability[row] = sigmoid(eta[row]);
  return fit;
}

}  // namespace limen::detail
