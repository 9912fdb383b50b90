// SPDX-License-Identifier: MIT
#include "study_certification.h"

#include <algorithm>

#include "limen/report/decision.h"

namespace limen::report {
namespace {

constexpr std::size_t kMostSteps = 30;

std::vector<std::size_t> shown_steps(std::size_t steps, const std::optional<std::size_t>& accepted) {
  std::vector<std::size_t> shown;
  const std::size_t even = std::min(steps, kMostSteps - 3);
  for (std::size_t at = 0; at < even; ++at) shown.push_back(even == 1 ? 0 : at * (steps - 1) / (even - 1));
  if (accepted) {
    shown.push_back(*accepted);
    if (*accepted + 1 < steps) shown.push_back(*accepted + 1);
    if (*accepted > 0) shown.push_back(*accepted - 1);
  }
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

}  // namespace

CertifiedRule certify_at(const Samples& holdout, const Objective& objective, const StudyOptions& options) {
  CertifyOptions how;
  how.confidence = *options.certified_confidence;
  how.method = options.methods.front();
  const FitOptions fit = fit_options_of(how.method, options);
  how.levels = fit.levels;
  how.levels_from = fit.levels_from;
  how.seed = options.seed;
  how.num_threads = options.num_threads;
  const Certification found = certify(holdout, objective, how);

  CertifiedRule result;
  StudyCertification& shown = result.certification;
  shown.certified = found.boundary.has_value();
  shown.method = found.method;
  shown.level = 1 - how.confidence;
  shown.num_steps = found.steps.size();
  shown.betting = found.betting;
  Totals tested;
  tested.all = found.tested;
  tested.positives_low = found.tested.positives;
  tested.negatives_low = found.tested.rows - found.tested.positives;
  tested.rows_low = found.tested.rows;
  for (const std::size_t step : shown_steps(found.steps.size(), found.accepted)) {
    const CertifiedStep& of = found.steps[step];
    if (found.accepted && step == *found.accepted) shown.last = shown.steps.size();
    shown.steps.push_back({step, of.flagged, constraint_value(objective, tested, of.flagged), of.p_value, of.accepted});
  }
  if (found.boundary) {
    result.rule = found.boundary->rule;
    shown.guarantee = found.boundary->guarantee;
    shown.why = found.choice ? found.choice->why : "";
  } else {
    shown.why = why_not_certified(found);
  }
  return result;
}

}  // namespace limen::report
