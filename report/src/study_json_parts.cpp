// SPDX-License-Identifier: MIT
#include "study_json_parts.h"

#include "limen/report/section_json.h"

namespace limen::report {
namespace {

Json counts_json(const Confusion& counts, double confidence) {
  const Interval precision = counts.precision_interval(confidence);
  const Interval recall = counts.recall_interval(confidence);
  Json json;
  json["rows"] = count_json(counts.rows);
  json["positives"] = count_json(counts.positives);
  json["flagged"] = count_json(counts.flagged);
  json["true_positives"] = count_json(counts.true_positives);
  json["precision"] = counts.flagged > 0 ? Json(counts.precision()) : Json(nullptr);
  json["precision_interval"] = interval_json(precision.low, precision.high);
  json["recall"] = counts.recall();
  json["recall_interval"] = interval_json(recall.low, recall.high);
  return json;
}

Json counts_json(const std::optional<Confusion>& counts, double confidence) {
  return counts ? counts_json(*counts, confidence) : Json(nullptr);
}

const char* status_text(CellStatus status) {
  switch (status) {
    case CellStatus::kOptimal:
      return "optimal";
    case CellStatus::kFeasible:
      return "feasible";
    case CellStatus::kLimit:
      return "limit";
    default:
      return "infeasible";
  }
}

Json expected_json(const Expected& expected) {
  Json json;
  json["precision"] = interval_json(expected.precision_low, expected.precision_high);
  json["recall"] = interval_json(expected.recall_low, expected.recall_high);
  json["by"] = expected.by == Expected::By::kTestedRows ? "tested rows" : "cross-validation";
  return json;
}

Json cell_json(const StudyCell& cell, const Study& study) {
  Json json;
  json["status"] = status_text(cell.status);
  if (cell.status == CellStatus::kInfeasible) json["best"] = optional_json(cell.best);
  json["chosen"] = to_string(cell.chosen);
  json["rule"] = optional_json(cell.rule);
  json["holdout"] = counts_json(cell.holdout, study.confidence);
  json["test"] = counts_json(cell.test, study.confidence);
  const bool bounds_recall = study.objective.goal != Goal::kRecall;
  json["recall_bound"] = bounds_recall ? optional_json(cell.value_bound) : Json(nullptr);
  if (!bounds_recall) json["precision_bound"] = optional_json(cell.value_bound);
  json["gap"] = optional_json(cell.gap);
  Json& gain = json["gain"];
  gain["holdout"] = optional_json(cell.holdout_gain);
  gain["test"] = optional_json(cell.test_gain);
  json["expected"] = cell.expected ? expected_json(*cell.expected) : Json(nullptr);
  json["seconds"] = optional_json(cell.seconds);
  return json;
}

const char* label_of(Method method) {
  switch (method) {
    case Method::kAuto:
      return "Chosen by limen";
    case Method::kSt:
      return "One threshold";
    case Method::kExact:
      return "Exact";
    case Method::kSmooth:
      return "Smooth";
    case Method::kJoint:
      return "Edges and thresholds together";
    case Method::kHr:
      return "Heuristic recalibration (HR)";
    case Method::kGmt:
      return "Greedy (GMT)";
    case Method::kMist:
      return "Isotonic by level (MIST)";
    case Method::kEwDpmt:
      return "Dynamic programme, equal bins (EW-DPMT)";
    default:
      return "Dynamic programme, any bins (VW-DPMT)";
  }
}

/// As in a boundary file.
Json guarantee_json(const Guarantee& guarantee, const Objective& objective) {
  Boundary boundary;
  boundary.objective = objective;
  boundary.rule = {{}, {std::nullopt}};
  boundary.guarantee = guarantee;
  return Json::parse(to_json(boundary)).at("guarantee");
}

}  // namespace

Json interval_json(double low, double high) {
  Json json = Json::array();
  json.push_back(low);
  json.push_back(high);
  return json;
}

Json method_json(const StudyMethod& method, const Study& study) {
  Json json;
  json["name"] = to_string(method.method);
  json["label"] = label_of(method.method);
  json["levels"] = optional_json(method.levels);
  json["bins"] = method.bins ? Json(*method.bins) : Json("all");
  json["at"] = Json::array();
  for (const StudyCell& cell : method.at) json["at"].push_back(cell_json(cell, study));
  return json;
}

Json certification_json(const StudyCertification& found, const Objective& objective, double confidence) {
  Json json;
  json["status"] = found.certified ? "certified" : "not certifiable";
  json["why"] = found.why;
  json["method"] = to_string(found.method);
  json["rule"] = optional_json(found.rule);
  json["holdout"] = counts_json(found.holdout, confidence);
  json["test"] = counts_json(found.test, confidence);
  json["guarantee"] = found.guarantee ? guarantee_json(*found.guarantee, objective) : Json(nullptr);
  json["walk"] = nullptr;
  if (found.steps.empty()) return json;
  Json& walk = json["walk"];
  walk = Json::object();
  walk["level"] = found.level;
  walk["num_steps"] = found.num_steps;
  walk["steps"] = Json::array();
  for (const WalkStep& step : found.steps) {
    Json entry;
    entry["step"] = step.step;
    entry["flagged"] = step.flagged.rows;
    entry["true_positives"] = step.flagged.positives;
    entry["estimate"] = optional_json(step.estimate);
    entry["p_value"] = step.p_value;
    entry["accepted"] = step.accepted;
    walk["steps"].push_back(std::move(entry));
  }
  walk["last"] = optional_json(found.last);
  walk["test"] = found.betting ? "betting" : "binomial";
  return json;
}

}  // namespace limen::report
