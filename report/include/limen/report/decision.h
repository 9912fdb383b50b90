// SPDX-License-Identifier: MIT
// What a study says in sentences.
#pragma once

#include <optional>
#include <string>

#include "limen/promise/certify.h"
#include "limen/report/study.h"

namespace limen::report {

/// "precision >= 0.9".
[[nodiscard]] std::string promise_text(const Objective& objective);

/// Why nothing could be certified and what would help, for a certification without a boundary: "these rows come nearest
/// to a bound of 0.88; about 12,000 labelled rows would be needed, there are 4,000".
[[nodiscard]] std::string why_not_certified(const Certification& found);

/// What is known at one bound.
struct DecisionFacts {
  Objective objective;  ///< with this bound
  Method method = Method::kAuto;
  StudyCell cell;    ///< of the decision's method
  StudyCell single;  ///< of one threshold
  std::optional<ExpectedGain> expected = std::nullopt;
  const StudyCertification* certification = nullptr;  ///< null: none was asked for
  std::optional<Guarantee> guarantee = std::nullopt;  ///< of the decision's own rule, where it has one
};

/// Says the bound, what is reached on the hold-out, whether that is more than one threshold reaches, and what is
/// promised of other rows, and for which. Gains: `kNo` where one threshold decides, or nothing is gained on the
/// hold-out and nothing is expected; `kUnsure` where the expected range holds 0 and
/// the lift's does too, or is not known.
[[nodiscard]] StudyDecision decision_in_words(const DecisionFacts& facts);

/// The same of a boundary in deployment: whether its bound is kept.
[[nodiscard]] StudyDecision monitored_in_words(const DecisionFacts& facts, const MonitorReport& report);

}  // namespace limen::report
