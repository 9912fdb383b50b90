// SPDX-License-Identifier: MIT
#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/promise/certify.h"
#include "study_head.h"

namespace limen::report {

void validate(const StudyOptions& options) {
  const auto refuse = [](const char* field, const std::string& problem) {
    throw InvalidInput(Where{.function = kFunction, .field = field}, problem);
  };
  validate(options.objective);
  if (options.objective.goal == Goal::kCost || options.objective.goal == Goal::kFBeta) {
    throw InvalidInput(kFunction, "the objective (" + describe(options.objective) +
                                      ") has no bound to look along; take one on precision, recall, false-positive "
                                      "rate or flag rate");
  }
  for (const Rational& bound : options.bounds) validate(with_bound(options.objective, bound));
  constexpr std::size_t kMostBounds = 200;
  if (options.bounds.size() > kMostBounds) {
    refuse("bounds", "are " + std::to_string(options.bounds.size()) + ", must be at most 200");
  }
  if (options.methods.empty()) refuse("methods", "are none, must be at least one");
  if (!(options.confidence > 0 && options.confidence < 1)) {
    refuse("confidence", "is " + number_text(options.confidence) + ", must be between 0 and 1, such as 0.95");
  }
  for (const Method method : options.methods) validate(fit_options_of(method, options));
  if (options.fit.sweep_levels || options.fit.sweep_bins) {
    refuse("fit", "asks for levels or bins by cross-validation, which a report shows; give numbers, or none");
  }
  if (options.certified_confidence) {
    CertifyOptions how;
    how.confidence = *options.certified_confidence;
    how.method = options.methods.front();
    validate(how);
  }
  if (options.boundary) {
    refuse_segments(*options.boundary, kFunction);
    validate(options.boundary->rule);
    if (!(options.boundary->objective == options.objective)) {
      refuse("boundary", "was fitted for another objective: " + describe(options.boundary->objective));
    }
  }
}

FitOptions fit_options_of(Method method, const StudyOptions& options) {
  FitOptions fit = options.fit;
  fit.method = method;
  fit.num_threads = options.num_threads;
  const bool finds_levels = method == Method::kSmooth || method == Method::kJoint || method == Method::kAuto;
  if (method == Method::kSt || finds_levels) {
    fit.levels = std::nullopt;
    fit.bins = std::nullopt;
  }
  if (method != Method::kExact && method != Method::kJoint) fit.monotone = std::nullopt;
  return fit;
}

Objective with_bound(Objective objective, const Rational& bound) {
  objective.bound = bound;
  return objective;
}

Objective objective_at(const Study& study, std::size_t bound) {
  return with_bound(study.objective, study.bounds[bound]);
}

Study head_of(const StudyOptions& options) {
  Study study;
  study.title = options.title;
  study.columns = options.columns;
  study.settings = options.settings;
  study.command = options.command;
  study.objective = options.objective;
  study.confidence = options.confidence;
  study.certified_confidence = options.certified_confidence;
  return study;
}

}  // namespace limen::report
