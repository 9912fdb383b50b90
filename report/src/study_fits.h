// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "limen/report/study.h"

namespace limen::report {

/// A fit as far as a study needs it.
struct MethodFit {
  SolveStatus status = SolveStatus::kInfeasible;
  std::optional<double> best = std::nullopt;
  Method chosen = Method::kSt;
  std::optional<Rule> rule = std::nullopt;
  double bound = 0;  ///< of what is optimised, as the solution has it
  double gap = 0;    ///< the same, in the unit of the rows
  std::optional<Expected> expected = std::nullopt;
  std::optional<ChosenBy> choice = std::nullopt;
  std::optional<ExpectedGain> gain = std::nullopt;  ///< of what `auto` chose
  std::optional<double> seconds = std::nullopt;
};

/// The hold-out, counted once as far as that does not depend on the bound, and fitted at many. Calls of const members
/// may come from several threads.
class HoldoutFits {
 public:
  /// goal: says how weights are rounded; its bound is not looked at.
  HoldoutFits(const Samples& samples, const Objective& goal, const StudyOptions& options);

  [[nodiscard]] const Grid& single() const { return single_; }
  /// Every distinct score on as many levels as `exact` has, at most 11, where levels lie for this objective.
  [[nodiscard]] Grid surface(const Objective& objective, int levels) const;

  /// Every method at one bound, as fit_boundary gives them.
  [[nodiscard]] std::vector<MethodFit> fit(const Objective& objective, const std::vector<Method>& methods) const;

  /// What a method gains over one threshold on rows left out: by the choice that `auto` made, where it is at hand, or
  /// by a sweep of this one number of levels and bins. Unset: too few rows, or nothing to compare with.
  [[nodiscard]] std::optional<ExpectedGain> expected_gain(const Objective& objective, Method method,
                                                          const MethodFit& fit) const;

 private:
  class Bound;

  [[nodiscard]] Grid count(const std::vector<double>& edges) const;

  const Samples& samples_;
  const StudyOptions& options_;
  SampleRanges ranges_;
  WeightUnits units_;
  Grid single_;
  std::map<std::vector<double>, Grid> distinct_;  ///< on levels that do not depend on the bound
  std::int64_t fewest_of_a_class_ = 0;            ///< rows
};

}  // namespace limen::report
