// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

#include "limen/uncertainty/evidence_law.h"
#include "uncertainty/row_logistic.h"

namespace limen::detail {

/// What the score alone says of the labels: logistic regression on a linear spline in logit(score), with knots at
/// quantiles of the scores, finer towards the top.
struct ScoreAlone {
  ScoreCurve curve = {};                  ///< the fit, made increasing
  RowMatrix design = {};                  ///< constant, logit(score) and a hinge at each knot
  std::vector<double> probability = {};   ///< of each row by the fit itself, which need not increase
  std::vector<double> standardised = {};  ///< F of each row
  double log_likelihood = 0;              ///< of the fit itself
};

/// score: in [0, 1]; label: 0/1, both classes; at least one row.
[[nodiscard]] ScoreAlone fit_score_alone(std::span<const double> score, std::span<const std::uint8_t> label);

}  // namespace limen::detail
