// SPDX-License-Identifier: MIT
#include "limen/judge/stratified_test.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "limen/base/error.h"

namespace limen {
namespace {

double as_double(std::int64_t count) { return static_cast<double>(count); }

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void check(std::span<const Stratum> strata) {
  for (const Stratum& stratum : strata) {
    if (stratum.all.size() != strata.front().all.size() || stratum.in_set.size() != stratum.all.size()) {
      throw InvalidInput("stratified_test", "strata have different numbers of values");
    }
    for (std::size_t value = 0; value < stratum.all.size(); ++value) {
      if (stratum.in_set[value] < 0 || stratum.in_set[value] > stratum.all[value]) {
        throw InvalidInput("stratified_test", std::to_string(stratum.in_set[value]) + " rows in the set of " +
                                                  std::to_string(stratum.all[value]));
      }
    }
  }
}

/// Rows of each value that are expected in the set, and outside of it.
struct Expected {
  std::vector<double> inside;
  std::vector<double> outside;
};

Expected expected_rows(std::span<const Stratum> strata) {
  const std::size_t num_values = strata.front().all.size();
  Expected expected{std::vector<double>(num_values, 0), std::vector<double>(num_values, 0)};
  for (const Stratum& stratum : strata) {
    const double share = as_double(sum_of(stratum.in_set)) / as_double(sum_of(stratum.all));
    for (std::size_t value = 0; value < num_values; ++value) {
      expected.inside[value] += share * as_double(stratum.all[value]);
      expected.outside[value] += (1 - share) * as_double(stratum.all[value]);
    }
  }
  return expected;
}

/// The group of each value, from 0 on: its own, or the pool of small ones.
std::vector<std::size_t> pool_small(const Expected& expected, double fewest, std::size_t& num_groups) {
  const std::size_t num_values = expected.inside.size();
  const auto smaller = [&](std::size_t value) { return std::min(expected.inside[value], expected.outside[value]); };
  std::vector<std::size_t> order(num_values);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, smaller);
  double inside = 0;
  double outside = 0;
  std::size_t pooled = 0;  // of the smallest ones
  for (; pooled < num_values; ++pooled) {
    const bool pool_is_enough = pooled == 0 || std::min(inside, outside) >= fewest;
    if (smaller(order[pooled]) >= fewest && pool_is_enough) break;
    inside += expected.inside[order[pooled]];
    outside += expected.outside[order[pooled]];
  }
  std::vector<std::size_t> group(num_values, 0);
  num_groups = pooled > 0 ? 1 : 0;
  for (std::size_t at = pooled; at < num_values; ++at) group[order[at]] = num_groups++;
  return group;
}

/// d' C^+ d and the rank of C, a covariance, by Cholesky with the largest pivot first. What is left of a variance below
/// a millionth of a millionth of what it was is rounding.
std::pair<double, int> quadratic_form(std::vector<std::vector<double>> covariance, std::vector<double> difference) {
  const std::size_t size = difference.size();
  std::vector<double> variance(size);
  for (std::size_t at = 0; at < size; ++at) variance[at] = covariance[at][at];
  std::vector<bool> done(size, false);
  double form = 0;
  int rank = 0;
  for (std::size_t step = 0; step < size; ++step) {
    std::size_t pivot = size;
    for (std::size_t at = 0; at < size; ++at) {
      if (done[at] || !(covariance[at][at] > 1e-12 * variance[at])) continue;
      if (pivot == size || covariance[at][at] > covariance[pivot][pivot]) pivot = at;
    }
    if (pivot == size) break;
    done[pivot] = true;
    ++rank;
    form += difference[pivot] * difference[pivot] / covariance[pivot][pivot];
    for (std::size_t row = 0; row < size; ++row) {
      if (done[row]) continue;
      const double factor = covariance[row][pivot] / covariance[pivot][pivot];
      difference[row] -= factor * difference[pivot];
      for (std::size_t column = 0; column < size; ++column) {
        if (!done[column]) covariance[row][column] -= factor * covariance[pivot][column];
      }
    }
  }
  return {form, rank};
}

}  // namespace

std::optional<StratifiedTest> stratified_test(std::span<const Stratum> strata, double fewest) {
  check(strata);
  std::vector<Stratum> mixed;  // neither all in the set nor all out of it
  for (const Stratum& stratum : strata) {
    const std::int64_t inside = sum_of(stratum.in_set);
    if (inside > 0 && inside < sum_of(stratum.all)) mixed.push_back(stratum);
  }
  if (mixed.empty()) return std::nullopt;
  std::size_t num_groups = 0;
  const std::vector<std::size_t> group = pool_small(expected_rows(mixed), fewest, num_groups);
  if (num_groups < 2) return std::nullopt;

  // The last group is what the others leave: it tells nothing more.
  const std::size_t size = num_groups - 1;
  std::vector<double> difference(size, 0);
  std::vector<std::vector<double>> covariance(size, std::vector<double>(size, 0));
  for (const Stratum& stratum : mixed) {
    std::vector<std::int64_t> all(num_groups, 0);
    std::vector<std::int64_t> inside(num_groups, 0);
    for (std::size_t value = 0; value < group.size(); ++value) {
      all[group[value]] += stratum.all[value];
      inside[group[value]] += stratum.in_set[value];
    }
    const double rows = as_double(sum_of(all));
    const double drawn = as_double(sum_of(inside));
    const double scale = drawn / rows * ((rows - drawn) / rows) / (rows - 1);
    for (std::size_t row = 0; row < size; ++row) {
      difference[row] += as_double(inside[row]) - drawn * as_double(all[row]) / rows;
      for (std::size_t column = 0; column < size; ++column) {
        const double own = row == column ? rows * as_double(all[row]) : 0;
        covariance[row][column] += scale * (own - as_double(all[row]) * as_double(all[column]));
      }
    }
  }
  const auto [statistic, degrees] = quadratic_form(std::move(covariance), std::move(difference));
  if (degrees == 0) return std::nullopt;
  const boost::math::chi_squared law(degrees);
  return StratifiedTest{statistic, degrees, boost::math::cdf(boost::math::complement(law, std::max(0.0, statistic)))};
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return p_values[at]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(
        largest, std::min(1.0, as_double(static_cast<std::int64_t>(order.size() - rank)) * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace limen
