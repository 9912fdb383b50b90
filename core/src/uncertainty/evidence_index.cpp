// SPDX-License-Identifier: MIT
#include "uncertainty/evidence_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "uncertainty/row_logistic.h"

namespace limen::detail {
namespace {

using Columns = std::vector<std::vector<double>>;

constexpr int kMostRounds = 30;
constexpr double kLeastGain = 1e-3;
constexpr double kPenalty = 1;  // of a loading, in rows; small beside any number of rows that passes the gates

// Where to start: the free coefficients of all columns c and c F are a matrix of two rows, and the index is its best
// approximation of rank 1. Its direction is clipped to loadings >= 0.
std::vector<double> first_loading(const Columns& columns, std::span<const double> f,
                                  std::span<const std::uint8_t> label) {
  const std::size_t size = columns.size();
  if (size == 1) return {1.0};
  RowMatrix design = {.num_columns = 2 + 2 * size};
  design.values.reserve(f.size() * design.num_columns);
  for (std::size_t row = 0; row < f.size(); ++row) {
    design.values.insert(design.values.end(), {1.0, f[row]});
    for (const std::vector<double>& column : columns) design.values.push_back(column[row]);
    for (const std::vector<double>& column : columns) design.values.push_back(column[row] * f[row]);
  }
  std::vector<double> precision(design.num_columns, kPenalty);
  precision[0] = precision[1] = 1e-4;
  const std::vector<double> all = fit_row_logistic(design, label, precision).coefficients;
  const double* const upper = all.data() + 2;
  const double* const lower = upper + size;
  double a = 0;
  double b = 0;
  double d = 0;
  for (std::size_t at = 0; at < size; ++at) {
    a += upper[at] * upper[at];
    b += upper[at] * lower[at];
    d += lower[at] * lower[at];
  }
  // The left singular vector of the larger value.
  const double angle = 0.5 * std::atan2(2 * b, a - d);
  std::vector<double> loading(size);
  double sum = 0;
  for (std::size_t at = 0; at < size; ++at) {
    loading[at] = std::cos(angle) * upper[at] + std::sin(angle) * lower[at];
    sum += loading[at];
  }
  for (double& value : loading) value = std::max(sum < 0 ? -value : value, 0.0);
  return loading;
}

// Sets h for the loadings, both scaled to standard deviation 1; false where h does not vary.
bool scale(const Columns& columns, std::vector<double>& loading, std::vector<double>& h) {
  std::ranges::fill(h, 0.0);
  for (std::size_t at = 0; at < columns.size(); ++at) {
    for (std::size_t row = 0; row < h.size(); ++row) h[row] += loading[at] * columns[at][row];
  }
  double mean = 0;
  for (const double value : h) mean += value / static_cast<double>(h.size());
  double variance = 0;
  for (const double value : h) variance += (value - mean) * (value - mean) / static_cast<double>(h.size());
  const double sd = std::sqrt(variance);
  if (!(sd > 1e-9)) return false;
  for (double& value : loading) value /= sd;
  for (double& value : h) value /= sd;
  return true;
}

// The loadings for given coefficients. A negative one is dropped and the others are fitted anew.
std::vector<double> best_loading(const Columns& columns, std::span<const double> f, std::span<const std::uint8_t> label,
                                 const IndexFit& fit) {
  const auto& [b0, b1, g0, g1] = fit.coefficients;
  std::vector<double> offset(f.size());
  std::vector<double> slope(f.size());
  double squares = 0;
  for (std::size_t row = 0; row < f.size(); ++row) {
    offset[row] = b0 + b1 * f[row];
    slope[row] = g0 + g1 * f[row];
    squares += slope[row] * slope[row] / static_cast<double>(f.size());
  }
  std::vector<std::size_t> free;
  for (std::size_t at = 0; at < columns.size(); ++at) free.push_back(at);
  std::vector<double> loading(columns.size(), 0);
  while (!free.empty()) {
    RowMatrix design = {.num_columns = free.size()};
    design.values.reserve(f.size() * free.size());
    for (std::size_t row = 0; row < f.size(); ++row) {
      for (const std::size_t at : free) design.values.push_back(columns[at][row] * slope[row]);
    }
    RowLogisticOptions options = {.offset = offset};
    for (const std::size_t at : free) options.start.push_back(fit.loading[at]);
    const std::vector<double> precision(free.size(), kPenalty * squares);
    const std::vector<double> part = fit_row_logistic(design, label, precision, options).coefficients;
    if (std::ranges::all_of(part, [](double value) { return value > 0; })) {
      for (std::size_t at = 0; at < free.size(); ++at) loading[free[at]] = part[at];
      break;
    }
    std::vector<std::size_t> rest;
    for (std::size_t at = 0; at < free.size(); ++at) {
      if (part[at] > 0) rest.push_back(free[at]);
    }
    free = std::move(rest);
  }
  return loading;
}

}  // namespace

double law_log_odds(const std::array<double, 4>& coefficients, double f, double h) {
  const auto& [b0, b1, g0, g1] = coefficients;
  return b0 + g0 * h + std::max(b1 + g1 * h, 0.05 * std::max(b1, 0.0)) * f;
}

std::optional<IndexFit> fit_index(const Columns& columns, std::span<const double> f,
                                  std::span<const std::uint8_t> label) {
  std::optional<IndexFit> result;
  std::vector<double> loading = first_loading(columns, f, label);
  std::vector<double> h(f.size());
  for (int round = 0; round < kMostRounds; ++round) {
    if (!scale(columns, loading, h)) return result;
    RowMatrix design = {.num_columns = 4};
    design.values.reserve(4 * f.size());
    for (std::size_t row = 0; row < f.size(); ++row) {
      design.values.insert(design.values.end(), {1.0, f[row], h[row], h[row] * f[row]});
    }
    const std::array<double, 4> precision = {1e-4, 1e-4, 1e-2, 1e-2};
    const RowLogisticFit fit = fit_row_logistic(design, label, precision);
    const double gain = fit.log_likelihood - (result ? result->log_likelihood : -std::numeric_limits<double>::max());
    result = {.loading = loading, .h = h, .log_likelihood = fit.log_likelihood};
    std::ranges::copy(fit.coefficients, result->coefficients.begin());
    if (columns.size() == 1 || gain < kLeastGain) break;
    loading = best_loading(columns, f, label, *result);
  }
  return result;
}

}  // namespace limen::detail
