// SPDX-License-Identifier: MIT
#include "limen/report/decision.h"
#include "study_head.h"

namespace limen::report {

Study monitor_study(const Boundary& boundary, MonitorStudy monitor, const StudyOptions& options) {
  refuse_segments(boundary, kFunction);
  Study study = head_of(options);
  study.objective = boundary.objective;
  study.bounds = {boundary.objective.bound};
  const HoldoutSummary& holdout = boundary.holdout;
  study.holdout = {options.holdout.name, holdout.rows, holdout.positives, holdout.weighted, 0};
  study.columns.score = boundary.score_column;
  study.columns.uncertainty = boundary.uncertainty_column;
  study.rules = {boundary.rule};
  StudyCell cell;
  cell.status = holdout.optimal ? CellStatus::kOptimal : CellStatus::kFeasible;
  cell.chosen = boundary.method;
  cell.levels = static_cast<int>(boundary.rule.score_thresholds.size());
  cell.rule = 0;
  cell.holdout = {holdout.weight, holdout.positives, holdout.flagged, holdout.true_positives};
  cell.expected = boundary.expected;
  StudyMethod& method = study.methods.emplace_back();
  method.method = boundary.chosen_by ? Method::kAuto : boundary.method;
  method.levels = cell.levels;
  method.bins = boundary.bins;
  method.at = {cell};
  study.expected_gain = {std::nullopt};
  study.choice = {boundary.chosen_by};
  DecisionFacts facts;
  facts.objective = boundary.objective;
  facts.method = method.method;
  facts.cell = cell;
  facts.guarantee = boundary.guarantee;
  study.decision = {monitored_in_words(facts, monitor.report)};
  study.monitor = std::move(monitor);
  return study;
}

}  // namespace limen::report
