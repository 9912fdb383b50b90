// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "limen/fit.h"
#include "limen/judge/metrics.h"

namespace limen {

/// One hold-out to fit on and one test table to judge on.
struct SamplePair {
  Samples holdout;
  Samples test;
};

struct CompareOptions {
  std::vector<Method> methods = all_methods();
  std::vector<Rational> precision_bounds;
  bool timings = false;  ///< also how long each fit took
  FitOptions fit;        ///< levels, bins (neither for ST and `auto`), binning and threads; `method` is ignored
};

/// One method at one bound on one pair.
struct Trial {
  Method method = Method::kSt;       ///< what `auto` chose, or the summary's own
  std::optional<Solution> solution;  ///< of the fit on the hold-out; status kInfeasible is kept
  /// True positives, or their weight, by which the best boundary on the same grid can be better at most: the solution's
  /// gap, whose unit is that of the grid, in the unit of the rows.
  double gap = 0;
  Confusion holdout;  ///< nothing flagged when infeasible
  Confusion test;
  /// Recall on test at equal test precision (see matched_recall) along the method's nested chain, whose order was
  /// learned on the hold-out.
  double matched_recall = 0;
  /// That the fit took, with CompareOptions::timings; of `auto` with counting, of the others on counted rows.
  std::optional<double> seconds = std::nullopt;
};

struct MethodSummary {
  Method method = Method::kSt;
  Rational bound;
  std::vector<Trial> trials;  ///< one per pair
  // Over the pairs:
  double mean_holdout_precision = 0, mean_holdout_recall = 0;
  double mean_test_precision = 0, mean_test_recall = 0, sd_test_recall = 0;
  double mean_matched_recall = 0, sd_matched_recall = 0;
  std::size_t missed = 0;  ///< pairs whose test precision is below the bound
  /// One-sided paired t-test against ST over the pairs, "recall is higher": unset with fewer than two pairs, for ST
  /// itself, or when ST is not among the methods.
  std::optional<double> p_value_recall;
  std::optional<double> p_value_matched;
};

/// Fills in the means, standard deviations, misses and p-values of methods at one bound from their trials, of which all
/// methods have equally many.
void summarize_trials(std::span<MethodSummary> methods);

/// Fits every method at every bound on every pair. Order: bounds, then methods. Throws InvalidInput.
[[nodiscard]] std::vector<MethodSummary> compare_methods(std::span<const SamplePair> pairs,
                                                         const CompareOptions& options);

/// p-value of the one-sided paired t-test that the mean of (a - b) is above 0. Equal differences everywhere give 0, 0.5
/// or 1 by their sign. Throws InvalidInput on unequal lengths or fewer than two pairs.
[[nodiscard]] double paired_t_test(std::span<const double> a, std::span<const double> b);

}  // namespace limen
