// SPDX-License-Identifier: MIT
#pragma once

#include "limen/report/study.h"
#include "study_fits.h"

namespace limen::report {

/// The highest precision at which any boundary flags something: a single threshold, or one on the levels of `exact`.
[[nodiscard]] double highest_precision(const HoldoutFits& fits, const Objective& objective,
                                       const StudyOptions& options);

/// Adds what there is but once, whatever the bound: map, frontier, sweep, calibration, bias.
void add_pictures(Study& study, const Samples& holdout, const Samples* test, const HoldoutFits& fits,
                  const StudyOptions& options);

}  // namespace limen::report
