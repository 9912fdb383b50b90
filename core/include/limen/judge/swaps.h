// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/base/frame.h"
#include "limen/base/real_span.h"
#include "limen/count/grid.h"
#include "limen/judge/paired.h"
#include "limen/solve/boundary.h"

namespace limen {

// Swap sets of two rules, an old one (first) and a new one (second), on the same rows:
//
//   taken in   flagged by the second alone
//   left out   flagged by the first alone
//
//   second = first - left out + taken in, for rows and for positives, in whole numbers.
//
// Both rules are looked at on common levels, between the edges of either. In one such level a rule is one threshold, so
// that what is swapped there is the rows of one range of scores, all of one kind:
//
//   level 0   ------------|=== taken in ===|-----------> score        second threshold, first threshold
//   level 1   ----------------|== left out ==|--------->              first threshold, second threshold

struct SwapOptions {
  /// Score bins, of about equally many swapped rows each, in which a set is held against the rows of equal score at all
  /// levels; 1 to 100. Fewer come out where scores are tied.
  int score_bins = 10;
  /// Values of a column that are told apart, the most common ones near the decision; a column of numbers is cut into as
  /// many ranges of about equally many rows there. 2 to 50.
  int values = 8;
  /// Candidates for the values of a text column that are kept while its values are counted; 64 to 2^20. Up to so many
  /// distinct ones the choice of the most common values is exact.
  int candidates = 4096;
};
/// Throws InvalidInput that names field, value and range.
void validate(const SwapOptions& options);

/// One of the common levels.
struct SwapLevel {
  std::optional<double> lower_edge;  ///< of uncertainty; unset for the lowest level
  std::optional<double> first_threshold;
  std::optional<double> second_threshold;
  Counts all;
  Counts taken_in;
  Counts left_out;

  friend bool operator==(const SwapLevel&, const SwapLevel&) = default;
};

/// A score bin of a level in which rows are swapped; taken in or left out, never both.
struct SwapCell {
  std::size_t level = 0;
  std::size_t bin = 0;
  Counts all;  ///< of the cell, swapped or not
  Counts taken_in;
  Counts left_out;

  friend bool operator==(const SwapCell&, const SwapCell&) = default;
};

/// What rows of one column have in common: a text, a range of numbers, or one of the two rests.
struct SwapValue {
  enum class Kind { kText, kRange, kOther, kMissing };
  Kind kind = Kind::kText;
  std::string text = {};                     ///< kText
  std::optional<double> low = std::nullopt;  ///< kRange: low <= value < high; unset: no limit
  std::optional<double> high = std::nullopt;

  friend bool operator==(const SwapValue&, const SwapValue&) = default;
};
/// "red", ">= 3", "1 .. 3", "(other)", "(missing)".
[[nodiscard]] std::string to_string(const SwapValue& value);

/// A swap set against the rows of the same score bins at all levels, in one column.
struct SwapTest {
  /// Total variation: the share of the set's rows that would need another value to look like the same score bins. 0 for
  /// an empty set.
  double divergence = 0;
  /// Generalised Cochran-Mantel-Haenszel statistic. Unset where nothing can be tested: an empty set, one without other
  /// rows in its score bins, or fewer than two values of enough rows.
  std::optional<double> statistic = std::nullopt;
  int degrees = 0;  ///< of freedom
  std::optional<double> p_value = std::nullopt;
  std::optional<double> adjusted_p = std::nullopt;  ///< Holm, over both sets of all columns that were looked at

  friend bool operator==(const SwapTest&, const SwapTest&) = default;
};

/// How the rows of the sets are distributed over the values of a column.
struct SwapColumn {
  std::string name;
  bool is_number = false;
  std::vector<SwapValue> values;
  std::vector<std::int64_t> population;  ///< rows of each value
  std::vector<std::int64_t> flagged;     ///< by the second rule
  std::vector<std::int64_t> taken_in;
  std::vector<std::int64_t> left_out;
  /// Shares of each value in the same score bins at all levels, each bin counting as often as the set has rows in it:
  /// what the set would look like if, among rows of equal score, it had nothing to do with the column.
  std::vector<double> taken_in_bins;
  std::vector<double> left_out_bins;
  SwapTest taken_in_test;
  SwapTest left_out_test;
  /// Rows that a value may have near the decision without being among the candidates; 0: the values told apart are
  /// surely the most common ones there. Counts are exact in any case.
  std::int64_t rows_overlooked = 0;

  [[nodiscard]] double divergence() const;
  /// The smaller of the two adjusted p-values; 1 where there is none.
  [[nodiscard]] double adjusted_p() const;

  friend bool operator==(const SwapColumn&, const SwapColumn&) = default;
};

struct Swaps {
  bool labelled = false;  ///< without labels all positives are 0
  PairedCounts counts;    ///< first_only: left out, second_only: taken in
  std::vector<SwapLevel> levels;
  std::vector<double> score_edges;  ///< of the score bins: bin = number of edges <= score
  double score_low = 0;             ///< rows below are swapped at no level
  /// Nor are rows at or above; unset: some level is never flagged by one of the rules, and any high score may be
  /// swapped.
  std::optional<double> score_high = std::nullopt;
  std::vector<SwapCell> cells;  ///< by level, then bin
  /// Columns in which a set differs (adjusted_p below 0.05) first, each part by falling divergence.
  std::vector<SwapColumn> columns;

  [[nodiscard]] const Counts& taken_in() const { return counts.second_only; }
  [[nodiscard]] const Counts& left_out() const { return counts.first_only; }
  [[nodiscard]] Counts first() const { return counts.both + counts.first_only; }
  [[nodiscard]] Counts second() const { return counts.both + counts.second_only; }

  friend bool operator==(const Swaps&, const Swaps&) = default;
};

/// Both rules with the edges of either: they decide as before.
struct CommonRules {
  Rule first;
  Rule second;
};
[[nodiscard]] CommonRules common_rules(const Rule& first, const Rule& second);

/// What is told apart, decided before rows are counted.
struct SwapPlan {
  struct ColumnPlan {
    std::string name;
    bool is_number = false;
    std::vector<double> cuts;         ///< of numbers, increasing
    std::vector<std::string> values;  ///< of texts, the most common first
    std::int64_t rows_overlooked = 0;
  };
  CommonRules rules;
  std::vector<double> score_edges;
  std::vector<ColumnPlan> columns;
};

/// First pass over the rows: learns score bins, and the values of columns to be told apart, from the rows whose score
/// is swapped at some level. Memory is bounded: a sample of numbers (up to 2^17 of a column), `candidates` texts of a
/// column (the summary of Misra and Gries, 1982, merged batch by batch).
///
/// The answer depends on the order of rows and, for text columns of more than `candidates` values, on how they are cut
/// into batches, not on threads.
class SwapSurvey {
 public:
  /// Throws InvalidInput: bad rules or options.
  SwapSurvey(const Rule& first, const Rule& second, const SwapOptions& options = {});
  ~SwapSurvey();
  SwapSurvey(SwapSurvey&&) noexcept;
  SwapSurvey& operator=(SwapSurvey&&) noexcept;

  /// columns: the same, in the same order and of the same kinds, in every call; each with as many rows as scores.
  /// Throws InvalidInput on unequal lengths, other columns, or a score or uncertainty that is not finite.
  void add(RealSpan score, RealSpan uncertainty, std::span<const Column> columns);
  [[nodiscard]] SwapPlan plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Second pass: counts. O(1) a row and column; memory: values times score bins for each column. Sums are whole numbers:
/// the same for any order, batches and threads.
class SwapCounter {
 public:
  explicit SwapCounter(SwapPlan plan);
  ~SwapCounter();
  SwapCounter(SwapCounter&&) noexcept;
  SwapCounter& operator=(SwapCounter&&) noexcept;

  /// label: 0 or 1 for each row, or empty in every call. columns: those of the plan. Throws like SwapSurvey::add.
  void add(RealSpan score, RealSpan uncertainty, std::span<const std::uint8_t> label, std::span<const Column> columns);

  /// Distributions, tests and ranks from the counts. Throws std::logic_error if sets and rules do not add up, which
  /// nothing but a fault of this program can bring about.
  [[nodiscard]] Swaps finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Both passes over rows in memory. label: empty, or one for each row.
///
/// The test: among rows of one score bin, is being in the set independent of the column's value? Values times (in the
/// set, not in it) in each bin, the bins together: the generalised statistic of Cochran, Mantel and Haenszel (Landis,
/// Heyman and Koch 1978), whose variance is that of drawing the set's rows from the bin without replacement. Values of
/// fewer than five expected rows on either side are pooled first. It asks whether the set differs from rows of equal
/// score, not merely from the population, from which it differs by its scores alone.
///
/// Throws InvalidInput: rules, options, lengths, columns, values that are not finite, labels other than 0 and 1.
[[nodiscard]] Swaps find_swaps(const Rule& first, const Rule& second, RealSpan score, RealSpan uncertainty,
                               std::span<const std::uint8_t> label = {}, std::span<const Column> columns = {},
                               const SwapOptions& options = {});

}  // namespace limen
