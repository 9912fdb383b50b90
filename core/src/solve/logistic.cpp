// SPDX-License-Identifier: MIT
#include "limen/solve/logistic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace limen {
namespace {

using Matrix = std::vector<std::vector<double>>;

double linear(const LogisticCell& cell, const std::vector<double>& coefficients) {
  double sum = 0;
  for (std::size_t at = 0; at < coefficients.size(); ++at) sum += coefficients[at] * cell.features[at];
  return sum;
}

/// log(1 + exp(x)) without overflow.
double log1p_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double log_likelihood(std::span<const LogisticCell> cells, const std::vector<double>& coefficients) {
  double sum = 0;
  for (const LogisticCell& cell : cells) {
    const double x = linear(cell, coefficients);
    sum += cell.positives * x - cell.rows * log1p_exp(x);
  }
  return sum;
}

/// Solves matrix * x = right for a symmetric positive definite matrix (Cholesky). A pivot that is lost in rounding
/// leaves its unknown at 0.
std::vector<double> solve_positive(Matrix matrix, std::vector<double> right) {
  const std::size_t size = right.size();
  for (std::size_t row = 0; row < size; ++row) {
    const double diagonal = matrix[row][row];
    for (std::size_t column = 0; column <= row; ++column) {
      double sum = matrix[row][column];
      for (std::size_t at = 0; at < column; ++at) sum -= matrix[row][at] * matrix[column][at];
      if (column < row) {
        matrix[row][column] = matrix[column][column] > 0 ? sum / matrix[column][column] : 0;
      } else {
        matrix[row][row] = sum > 1e-12 * diagonal ? std::sqrt(sum) : 0;
      }
    }
  }
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t at = 0; at < row; ++at) right[row] -= matrix[row][at] * right[at];
    right[row] = matrix[row][row] > 0 ? right[row] / matrix[row][row] : 0;
  }
  for (std::size_t row = size; row-- > 0;) {
    for (std::size_t at = row + 1; at < size; ++at) right[row] -= matrix[at][row] * right[at];
    right[row] = matrix[row][row] > 0 ? right[row] / matrix[row][row] : 0;
  }
  return right;
}

}  // namespace

LogisticFit fit_logistic(std::span<const LogisticCell> cells, const std::vector<double>& centre,
                         const std::vector<double>& precision) {
  const std::size_t size = centre.size();
  const auto objective = [&](const std::vector<double>& coefficients) {
    double penalty = 0;
    for (std::size_t at = 0; at < size; ++at) {
      penalty += 0.5 * precision[at] * (coefficients[at] - centre[at]) * (coefficients[at] - centre[at]);
    }
    return log_likelihood(cells, coefficients) - penalty;
  };
  std::vector<double> now = centre;
  double value = objective(now);
  constexpr int kMostSteps = 100;
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<double> gradient(size);
    Matrix curvature(size, std::vector<double>(size, 0));
    for (std::size_t at = 0; at < size; ++at) {
      gradient[at] = -precision[at] * (now[at] - centre[at]);
      curvature[at][at] = precision[at];
    }
    for (const LogisticCell& cell : cells) {
      const double rate = 1 / (1 + std::exp(-linear(cell, now)));
      const double residual = cell.positives - cell.rows * rate;
      const double weight = cell.rows * rate * (1 - rate);
      for (std::size_t at = 0; at < size; ++at) {
        gradient[at] += residual * cell.features[at];
        for (std::size_t other = 0; other <= at; ++other) {
          curvature[at][other] += weight * cell.features[at] * cell.features[other];
        }
      }
    }
    const std::vector<double> move = solve_positive(std::move(curvature), gradient);
    double slope = 0;
    for (std::size_t at = 0; at < size; ++at) slope += move[at] * gradient[at];
    // Half of the decrement is what a full step gains near the top.
    if (!(slope > 1e-14 * (1 + std::abs(value)))) break;
    double share = 1;
    std::vector<double> next = now;
    double next_value = value;
    for (int halving = 0; halving < 40; ++halving, share /= 2) {
      for (std::size_t at = 0; at < size; ++at) next[at] = now[at] + share * move[at];
      next_value = objective(next);
      if (next_value > value) break;
    }
    if (!(next_value > value)) break;
    now = std::move(next);
    value = next_value;
  }
  return {now, log_likelihood(cells, now)};
}

}  // namespace limen
