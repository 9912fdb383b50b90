// SPDX-License-Identifier: MIT
// Sequential tests by betting: evidence that may be looked at after every row (docs/algorithms/monitor.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace limen {

/// Bets against "bad rows come at a rate of at most `bound`, whatever came before", from every possible first bad row
/// on. Its e-value starts at 1 and, while that holds, ever reaches a value v with a probability of at most 1 / v; when
/// the rate rises above the bound, at the first row or after a long good time, it grows exponentially.
///
/// The result depends on the rows and their order alone, not on how they are cut into calls. O(1) memory.
class BreakDetector {
 public:
  /// Odds of a bad row that are bet on, as multiples of the odds at the bound; each has an equal share of the stake.
  static constexpr std::array<double, 8> kOddsRatios = {1.06, 1.12, 1.25, 1.5, 2, 3.2, 7, 20};
  static constexpr std::size_t kBets = kOddsRatios.size();
  /// E-values stop growing here.
  static constexpr double kLargest = 1e300;

  /// What is remembered of the rows so far. All of it is to be kept to go on later.
  struct State {
    std::int64_t rows = 0;
    std::array<double, kBets> wealth = {};           ///< of each bet, summed over its starts so far
    std::array<double, kBets> run = {};              ///< of each bet: the largest wealth of one unit over its starts
    std::array<std::int64_t, kBets> run_start = {};  ///< rows before the start that has it
    double largest = 1;                              ///< e-value so far

    friend bool operator==(const State&, const State&) = default;
  };

  /// bound: 0 to 1. At 0 one bad row is all the evidence there can be; at 1 there is none.
  explicit BreakDetector(double bound);

  /// Goes on from what state() gave of a detector of the same bound.
  void restore(const State& state) { state_ = state; }

  /// Takes rows until the e-value reaches `limit`, and returns how many were taken, the one that reached it included.
  /// gain: of a bad row 1 - bound, of another -bound; with weights of at most 1, times the row's weight.
  std::size_t add(std::span<const double> gain, double limit);
  /// Takes `rows` rows at once, `bad` of them bad; bets start and are looked at only before and after them.
  void add_block(std::int64_t bad, std::int64_t rows);

  /// The evidence after the rows so far, and the most there ever was.
  [[nodiscard]] double e_value() const;
  [[nodiscard]] double largest() const { return state_.largest; }
  /// Rows before the most likely start of a higher rate: of the bet that would have won most from one start.
  [[nodiscard]] std::size_t best_bet() const;
  [[nodiscard]] std::int64_t likely_start() const { return state_.run_start[best_bet()]; }
  [[nodiscard]] const State& state() const { return state_; }

 private:
  std::array<double, kBets> stake_ = {};     ///< a row multiplies the wealth by 1 + stake * gain
  std::array<double, kBets> log_bad_ = {};   ///< the logarithm of that for a bad row of weight 1
  std::array<double, kBets> log_good_ = {};  ///< and for another
  State state_;
};

/// Rows whose bad ones are counted, with weights of at most 1 (1 each without).
struct WeightedCounts {
  double rows = 0;
  double weight = 0;
  double bad = 0;  ///< weight of the bad ones

  friend bool operator==(const WeightedCounts&, const WeightedCounts&) = default;
};

/// A limit for the mean rate of bad rows that holds after every number of rows at once with probability 1 - alpha: the
/// rate itself may change from row to row. 1 without rows.
[[nodiscard]] double upper_limit_at_all_times(const WeightedCounts& counts, double alpha);
/// The same from below. 0 without rows.
[[nodiscard]] double lower_limit_at_all_times(const WeightedCounts& counts, double alpha);

}  // namespace limen
