// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "limen/base/rational.h"
#include "limen/count/binning.h"
#include "limen/count/grid.h"

namespace limen {

/// What a boundary is to achieve on the hold-out.
enum class Goal {
  kPrecision,          ///< most recall with precision >= bound
  kRecall,             ///< most precision with recall >= bound
  kFalsePositiveRate,  ///< most recall with false-positive rate <= bound
  kFlagRate,           ///< most recall with at most this fraction of rows flagged
  kCost,               ///< least cost: false_positive_cost * FP + false_negative_cost * FN
  kFBeta,              ///< highest F-beta
};

/// A goal with its numbers. Make one with the functions below.
struct Objective {
  Goal goal = Goal::kPrecision;
  Rational bound;                ///< the constraint's bound in [0, 1]; unused for kCost and kFBeta
  Rational false_positive_cost;  ///< kCost only
  Rational false_negative_cost;  ///< kCost only
  Rational beta;                 ///< kFBeta only, > 0

  friend bool operator==(const Objective&, const Objective&) = default;
};

[[nodiscard]] Objective max_recall_at_precision(Rational bound);
[[nodiscard]] Objective max_precision_at_recall(Rational bound);
[[nodiscard]] Objective max_recall_at_false_positive_rate(Rational bound);
[[nodiscard]] Objective max_recall_at_flag_rate(Rational bound);
[[nodiscard]] Objective min_cost(Rational false_positive_cost, Rational false_negative_cost);
[[nodiscard]] Objective max_f_beta(Rational beta);

/// Throws InvalidInput: a bound outside [0, 1], costs that are both 0 or of more than 10 digits, beta 0 or of more than
/// 10 digits.
void validate(const Objective& objective);

/// What the counts of a boundary are compared with: the totals of the hold-out, rounded to the safe side of each
/// constraint when rows have weights.
struct Totals {
  Counts all;                      ///< the sums of the bins
  std::int64_t positives_low = 0;  ///< see RowTotals; equal to the sums of the bins without weights
  std::int64_t negatives_low = 0;
  std::int64_t rows_low = 0;  ///< both together
};
[[nodiscard]] Totals totals_of(const Grid& grid);

/// True when the flagged counts meet the constraint, decided in integers; recall >= R as missed <= (1 - R) positives,
/// which weights rounded to the safe side can still meet at R = 1. Flagging nothing does not meet a precision bound
/// above 0, and a recall goal asks for at least one true positive: the precision of nothing is not defined.
[[nodiscard]] bool is_feasible(const Objective& objective, const Totals& totals, const Counts& flagged);

/// True when `a` is strictly better than `b`, both feasible: a better objective value, or an equal one with fewer
/// flagged rows. Decided in integers.
[[nodiscard]] bool is_better(const Objective& objective, const Totals& totals, const Counts& a, const Counts& b);

/// The value that is optimised: true positives (in units) where recall is maximised, else precision, cost (in units)
/// or F-beta.
[[nodiscard]] double objective_value(const Objective& objective, const Totals& totals, const Counts& flagged);

/// The constrained figure of these counts: precision, recall, false-positive rate or flag rate.
/// Unset for goals without constraint and where it is not defined.
[[nodiscard]] std::optional<double> constraint_value(const Objective& objective, const Totals& totals,
                                                     const Counts& flagged);

/// "most recall with precision >= 0.9", "least cost, 1 per false positive and 5 per false negative", ...
[[nodiscard]] std::string describe(const Objective& objective);

/// How the weights of positives are rounded so that the objective's constraint never looks better than it is.
[[nodiscard]] PositiveRounding positive_rounding(const Objective& objective);

}  // namespace limen
