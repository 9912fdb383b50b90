// SPDX-License-Identifier: MIT
//
// A stake of 1 is spread over bets and over the rows at which they start. Row t gets the share
//   w(t) = S(t) - S(t + 1),  S(t) = (1 - kAtFirstRow) / sqrt(1 + t / kStartScale),  t = 0, 1, ...
// and the first row kAtFirstRow more: a boundary that is broken is most often broken from the first day, or else at a
// time that nobody knows. A bet that has started multiplies its wealth by 1 + stake * gain with each row, which is 1 in
// the mean when bad rows come at the bound and less below it. So the sum of all wealth and of the stake that has not
// started yet is a nonnegative supermartingale that begins at 1, and Ville's inequality bounds the probability that it
// ever reaches v by 1 / v. The sum over starts needs no list of them (Shiryaev-Roberts): the wealth after a row is
//   (wealth before + share of this row) * (1 + stake * gain).
#include "limen/promise/e_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "limen/base/error.h"
#include "limen/base/multiversion.h"

namespace limen {
namespace {

constexpr double kAtFirstRow = 0.5;
constexpr double kStartScale = 10'000;
constexpr std::size_t kBets = BreakDetector::kBets;
constexpr double kLargest = BreakDetector::kLargest;

/// S(t): the stake whose bets start after t rows or later, but for that of the first row.
double not_started(std::int64_t rows) {
  return (1 - kAtFirstRow) / std::sqrt(1 + static_cast<double>(rows) / kStartScale);
}

double started_at(std::int64_t first, std::int64_t last) {
  return (first == 0 ? kAtFirstRow : 0) + not_started(first) - not_started(last);
}

/// The recurrence above, row by row, and beside it for each bet the start that would have won most. The loops over
/// bets are for the vector unit: 10 million rows take 0.1 s.
LIMEN_MULTIVERSION
std::size_t bet(std::span<const double> gain, double limit, const std::array<double, kBets>& stake,
                BreakDetector::State& state) {
  BreakDetector::State now = state;  // in registers
  std::array<double, kBets> start = {};
  for (std::size_t j = 0; j < kBets; ++j) start[j] = static_cast<double>(now.run_start[j]);
  double waiting = not_started(now.rows);
  std::size_t row = 0;
  while (row < gain.size()) {
    const double at = static_cast<double>(now.rows);
    const double later = not_started(now.rows + 1);
    const double share = (waiting - later + (now.rows == 0 ? kAtFirstRow : 0)) / kBets;
    waiting = later;
    const double won = gain[row];
    double sum = 0;
    for (std::size_t j = 0; j < kBets; ++j) {
      const double factor = 1 + stake[j] * won;
      start[j] = now.run[j] <= 1 ? at : start[j];
      now.run[j] = std::min(std::max(now.run[j], 1.0) * factor, kLargest);
      now.wealth[j] = std::min((now.wealth[j] + share) * factor, kLargest);
      sum += now.wealth[j];
    }
    ++now.rows;
    ++row;
    now.largest = std::max(now.largest, sum + waiting);
    if (now.largest >= limit) break;
  }
  for (std::size_t j = 0; j < kBets; ++j) now.run_start[j] = static_cast<std::int64_t>(start[j]);
  now.largest = std::min(now.largest, kLargest);
  state = now;
  return row;
}

/// log of the mean, over some stakes lambda, of
///   exp(-lambda * sum(y)) / (1 - rate + rate * exp(-lambda))^rows,   y = weight * (bad - rate) + rate in [0, 1].
/// The mean of y is below `rate` exactly when the rate of bad rows is. The divisor is, by concavity of the logarithm,
/// at least the product of the means of exp(-lambda * y) whenever the mean rate is at least `rate`.
double log_evidence_below(const WeightedCounts& counts, double rate) {
  constexpr int kStakes = 16;
  const double sum = counts.bad + rate * (counts.rows - counts.weight);
  std::array<double, kStakes> log_wealth = {};
  double lambda = 4;
  for (double& one : log_wealth) {
    one = -lambda * sum - counts.rows * std::log1p(rate * std::expm1(-lambda));
    lambda /= 2;
  }
  const double most = *std::max_element(log_wealth.begin(), log_wealth.end());
  double total = 0;
  for (const double one : log_wealth) total += std::exp(one - most);
  return most + std::log(total / kStakes);
}

}  // namespace

BreakDetector::BreakDetector(double bound) {
  if (!(bound >= 0 && bound <= 1)) {
    throw InvalidInput("BreakDetector", "bound is " + std::to_string(bound) + ", must be between 0 and 1");
  }
  for (std::size_t j = 0; j < kBets; ++j) {
    stake_[j] = bound == 0 ? kLargest : bound == 1 ? 0 : (kOddsRatios[j] - 1) / (1 - bound + kOddsRatios[j] * bound);
    log_bad_[j] = std::log1p(stake_[j] * (1 - bound));
    log_good_[j] = std::log1p(-stake_[j] * bound);
  }
}

std::size_t BreakDetector::add(std::span<const double> gain, double limit) { return bet(gain, limit, stake_, state_); }

void BreakDetector::add_block(std::int64_t bad, std::int64_t rows) {
  if (rows == 0) return;
  const double share = started_at(state_.rows, state_.rows + rows) / kBets;
  for (std::size_t j = 0; j < kBets; ++j) {
    const double factor = std::min(
        std::exp(static_cast<double>(bad) * log_bad_[j] + static_cast<double>(rows - bad) * log_good_[j]), kLargest);
    if (state_.run[j] <= 1) state_.run_start[j] = state_.rows;
    state_.run[j] = std::min(std::max(state_.run[j], 1.0) * factor, kLargest);
    state_.wealth[j] = std::min((state_.wealth[j] + share) * factor, kLargest);
  }
  state_.rows += rows;
  state_.largest = std::max(state_.largest, e_value());
}

double BreakDetector::e_value() const {
  if (state_.rows == 0) return 1;
  const double started = std::accumulate(state_.wealth.begin(), state_.wealth.end(), 0.0);
  return std::min(started + not_started(state_.rows), kLargest);
}

std::size_t BreakDetector::best_bet() const {
  return static_cast<std::size_t>(std::max_element(state_.run.begin(), state_.run.end()) - state_.run.begin());
}

double upper_limit_at_all_times(const WeightedCounts& counts, double alpha) {
  const double enough = -std::log(alpha);
  if (counts.rows == 0 || log_evidence_below(counts, 1) < enough) return 1;
  // The evidence is convex in the rate and at most 1 at rate 0: it crosses the limit once.
  double low = 0;
  double high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (log_evidence_below(counts, middle) >= enough ? high : low) = middle;
  }
  return high;
}

double lower_limit_at_all_times(const WeightedCounts& counts, double alpha) {
  return 1 - upper_limit_at_all_times({.rows = counts.rows, .weight = counts.weight, .bad = counts.weight - counts.bad},
                                      alpha);
}

}  // namespace limen
