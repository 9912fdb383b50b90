// SPDX-License-Identifier: MIT
#include "limen/solve/isotonic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/wide.h"

namespace limen {
namespace {

void check(std::span<const double> y, std::span<const double> weight, const IsotonicOptions& options) {
  if (!weight.empty() && weight.size() != y.size()) {
    throw InvalidInput("fit_isotonic",
                       "weight has " + std::to_string(weight.size()) + " entries, y has " + std::to_string(y.size()));
  }
  // x - x is 0 for finite x and NaN for the others: one pass without branches for the usual case.
  double zero = 0;
  for (const double value : y) zero += value - value;
  for (std::size_t row = 0; zero != 0 && row < y.size(); ++row) {
    if (!std::isfinite(y[row])) throw InvalidInput("fit_isotonic", "y[" + std::to_string(row) + "] is not finite");
  }
  for (std::size_t row = 0; row < weight.size(); ++row) {
    if (!(weight[row] > 0) || !std::isfinite(weight[row])) {
      throw InvalidInput("fit_isotonic", "weight[" + std::to_string(row) + "] is " + std::to_string(weight[row]) +
                                             ", must be > 0 and finite");
    }
  }
  if (options.lower_bound && options.upper_bound && !(*options.lower_bound <= *options.upper_bound)) {
    throw InvalidInput("fit_isotonic", "lower_bound is above upper_bound");
  }
}

struct Pool {
  double mean;
  double weight;
  std::size_t end;
};

/// Pools of the increasing fit of sign * y. Invariant: the pools on the stack cover the rows so far and their means are
/// in order; a new row that breaks the order is pooled with the top until it does not.
std::vector<Pool> pool_weighted(std::span<const double> y, std::span<const double> weight, double sign) {
  // Only ratios of weights matter; huge ones are scaled so that their sums are finite.
  const bool huge = std::any_of(weight.begin(), weight.end(), [](double w) { return w > 1e200; });
  const double scale = huge ? 1e-150 : 1;
  std::vector<Pool> pools;
  for (std::size_t row = 0; row < y.size(); ++row) {
    Pool pool{sign * y[row], weight.empty() ? 1 : scale * weight[row], row + 1};
    while (!pools.empty() && pools.back().mean > pool.mean) {
      const Pool& top = pools.back();
      const double total = top.weight + pool.weight;
      const double share = pool.weight / total;
      const double step = pool.mean - top.mean;
      pool.mean = std::isfinite(step) ? top.mean + step * share : top.mean * (1 - share) + pool.mean * share;
      pool.weight = total;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  return pools;
}

/// The same without weights: sums instead of means, so that pooling needs no division (four times as fast on ten
/// million labels). |y| must be small enough for sum * count to be finite.
std::vector<Pool> pool_unweighted(std::span<const double> y, double sign) {
  std::vector<Pool> pools;  // mean holds the sum until the end
  for (std::size_t row = 0; row < y.size(); ++row) {
    Pool pool{sign * y[row], 1, row + 1};
    while (!pools.empty() && pools.back().mean * pool.weight > pool.mean * pools.back().weight) {
      pool.mean += pools.back().mean;
      pool.weight += pools.back().weight;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  double before = -std::numeric_limits<double>::infinity();
  for (Pool& pool : pools) {
    // Rounding of equal sums must not break the order.
    pool.mean = std::max(before, pool.mean / pool.weight);
    before = pool.mean;
  }
  return pools;
}

}  // namespace

IsotonicFit fit_isotonic(std::span<const double> y, std::span<const double> weight, const IsotonicOptions& options) {
  check(y, weight, options);
  // A decreasing fit is an increasing fit of -y.
  const double sign = options.increasing ? 1 : -1;
  const bool small = std::all_of(y.begin(), y.end(), [](double value) { return std::abs(value) < 1e100; });
  const std::vector<Pool> pools = weight.empty() && small ? pool_unweighted(y, sign) : pool_weighted(y, weight, sign);
  IsotonicFit fit;
  fit.fitted.resize(y.size());
  fit.block_end.reserve(pools.size());
  std::size_t begin = 0;
  for (const Pool& pool : pools) {
    double value = sign * pool.mean;
    if (options.lower_bound) value = std::max(value, *options.lower_bound);
    if (options.upper_bound) value = std::min(value, *options.upper_bound);
    std::fill(fit.fitted.begin() + static_cast<std::ptrdiff_t>(begin),
              fit.fitted.begin() + static_cast<std::ptrdiff_t>(pool.end), value);
    fit.block_end.push_back(pool.end);
    begin = pool.end;
  }
  return fit;
}

bool higher_rate(const Counts& a, const Counts& b) {
  return detail::Wide{a.positives} * b.rows > detail::Wide{b.positives} * a.rows;
}

std::vector<Block> concave_blocks(std::span<const Bin> level) {
  std::vector<Block> blocks;
  for (std::size_t bin = 0; bin < level.size(); ++bin) {
    if (level[bin].counts.rows == 0) continue;
    Block block{bin + 1, level[bin].counts};
    while (!blocks.empty() && higher_rate(block.counts, blocks.back().counts)) {
      block.counts += blocks.back().counts;
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace limen
