// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "limen/base/real_span.h"
#include "limen/theory/bias.h"

namespace limen {

/// The probability in deployment of a row that a model trained on negatives kept at rate 1 / tau gives this score:
/// score / (score + tau (1 - score)). Right for a model that is calibrated on its training rows; with all evidence in
/// the world it is the theorem's correction below. Rising in score, 0 at 0 and 1 at 1 exactly.
///
/// score: each 0 to 1. tau: 1e-9 to 1e9. num_threads: 0 is all cores; the result is the same.
/// O(rows). Throws InvalidInput with the first row that is wrong.
[[nodiscard]] std::vector<double> correct_undersampling(RealSpan score, double tau, int num_threads = 0);

/// Theorem 3.1 (b) row by row: the expected true positivity given score and evidence, see posterior_given_score and
/// expected_positivity. A row without evidence has the global prior's xi.
///
/// evidence: as many as scores, each 0 to 1e12. O(rows); a few microseconds for a row, fewer for equal rows that follow
/// each other. Throws InvalidInput with the first row that is wrong.
[[nodiscard]] std::vector<double> correct_undersampling(RealSpan score, RealSpan evidence,
                                                        const BiasParameters& parameters, int num_threads = 0);

}  // namespace limen
