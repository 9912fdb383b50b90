// SPDX-License-Identifier: MIT
#pragma once

#include "limen/report/study.h"

namespace limen::report {

/// A certification of the decision's method and the boundary it found, which the caller counts.
struct CertifiedRule {
  StudyCertification certification;  ///< but for `rule` and counts
  std::optional<Rule> rule = std::nullopt;
};

/// certify at one bound, as `limen fit --confidence` does. Of the walk at most 30 steps are kept, evenly spaced; the
/// last one that was accepted and its neighbour are among them.
[[nodiscard]] CertifiedRule certify_at(const Samples& holdout, const Objective& objective, const StudyOptions& options);

}  // namespace limen::report
