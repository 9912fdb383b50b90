// SPDX-License-Identifier: MIT
// docs/study.md. Members are written one by one: an exception inside a braced list of JSON values is not destroyed
// rightly by every compiler.
#include <nlohmann/json.hpp>

#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/report/section_json.h"
#include "limen/report/study.h"

namespace limen::report {

using Json = nlohmann::ordered_json;

namespace {

template <typename Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Text from files may be no UTF-8, which JSON cannot hold.
Json text_json(const std::string& text) { return escaped(text); }

Json interval_json(double low, double high) {
  Json json = Json::array();
  json.push_back(low);
  json.push_back(high);
  return json;
}

Json table_json(const StudyTable& table) {
  Json json;
  json["name"] = text_json(table.name);
  json["rows"] = table.rows;
  json["positives"] = count_json(table.positives);
  json["weighted"] = table.weighted;
  json["rows_dropped"] = table.rows_dropped;
  return json;
}

Json data_json(const Study& study) {
  Json json;
  json["holdout"] = table_json(study.holdout);
  json["test"] = study.test ? table_json(*study.test) : Json(nullptr);
  Json& columns = json["columns"];
  columns["score"] = text_json(study.columns.score);
  columns["uncertainty"] = text_json(study.columns.uncertainty);
  columns["label"] = text_json(study.columns.label);
  columns["weight"] = study.holdout.weighted ? text_json(study.columns.weight) : Json(nullptr);
  json["larger_is_less_certain"] = true;
  return json;
}

const char* constraint_of(Goal goal) {
  switch (goal) {
    case Goal::kRecall:
      return "recall";
    case Goal::kFalsePositiveRate:
      return "fpr";
    case Goal::kFlagRate:
      return "flag-rate";
    default:
      return "precision";
  }
}

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

Json rule_json(const Rule& rule) {
  Json json;
  json["edges"] = rule.uncertainty_edges;
  json["thresholds"] = Json::array();
  for (const auto& threshold : rule.score_thresholds) json["thresholds"].push_back(optional_json(threshold));
  return json;
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

Json decision_json(const StudyDecision& decision, Method method) {
  Json json;
  json["sentence"] = decision.sentence;
  json["method"] = to_string(method);
  json["gains"] = decision.gains == Gains::kYes ? "yes" : decision.gains == Gains::kNo ? "no" : "unsure";
  json["guarantee"] = decision.guarantee;
  return json;
}

Json positivity_json(const StudyPositivity& found) {
  constexpr int kFew = 20;
  const PositivityMap& map = found.map;
  const auto bins = static_cast<std::size_t>(map.bins);
  const std::size_t levels = map.uncertainty_edges.size() + 1;
  const auto table = [&](const Json& empty) { return Json(levels, Json(bins, empty)); };
  Json rows = table(0);
  Json positives = table(0);
  Json rate = table(nullptr);
  Json low = table(nullptr);
  Json high = table(nullptr);
  Json mean_score = table(nullptr);
  for (const PositivityCell& cell : map.cells) {
    const auto level = static_cast<std::size_t>(cell.level);
    const auto bin = static_cast<std::size_t>(cell.bin);
    rows[level][bin] = count_json(cell.rows);
    positives[level][bin] = count_json(cell.positives);
    rate[level][bin] = cell.positivity();
    low[level][bin] = cell.rate.low;
    high[level][bin] = cell.rate.high;
    mean_score[level][bin] = cell.mean_score;
  }
  Json json;
  json["score_edges"] = found.score_edges;
  json["uncertainty_edges"] = map.uncertainty_edges;
  json["score_range"] = interval_json(found.score_range.low, found.score_range.high);
  json["uncertainty_range"] = interval_json(found.uncertainty_range.low, found.uncertainty_range.high);
  json["rows"] = std::move(rows);
  json["positives"] = std::move(positives);
  json["rate"] = std::move(rate);
  json["low"] = std::move(low);
  json["high"] = std::move(high);
  json["mean_score"] = std::move(mean_score);
  json["few"] = kFew;
  return json;
}

Json curve_json(const std::vector<CurvePoint>& points) {
  Json json;
  for (const char* name : {"precision", "recall", "low", "high"}) json[name] = Json::array();
  for (const CurvePoint& point : points) {
    json["precision"].push_back(point.precision);
    json["recall"].push_back(point.recall);
    json["low"].push_back(point.band.low);
    json["high"].push_back(point.band.high);
  }
  return json;
}

Json gain_json(const Study& study) {
  Json json;
  for (const char* name : {"in_sample", "expected", "expected_low", "expected_high"}) json[name] = Json::array();
  Json test = Json::array();
  for (std::size_t bound = 0; bound < study.bounds.size(); ++bound) {
    const StudyCell& cell = study.methods.front().at[bound];
    const auto& expected = study.expected_gain[bound];
    json["in_sample"].push_back(optional_json(cell.holdout_gain));
    json["expected"].push_back(expected ? Json(expected->value) : Json(nullptr));
    json["expected_low"].push_back(expected ? Json(expected->low) : Json(nullptr));
    json["expected_high"].push_back(expected ? Json(expected->high) : Json(nullptr));
    test.push_back(optional_json(cell.test_gain));
  }
  json["test"] = study.test ? std::move(test) : Json(nullptr);
  json["by"] = "cross-validation";
  return json;
}

Json choice_json(const ChosenBy& choice) {
  Json json;
  json["information_p"] = choice.information_p;
  json["candidates"] = Json::array();
  for (const ChosenBy::Candidate& candidate : choice.candidates) {
    Json entry;
    entry["method"] = to_string(candidate.method);
    entry["levels"] = candidate.levels;
    entry["gain"] = candidate.gain;
    entry["gain_se"] = candidate.gain_se;
    entry["lift"] = candidate.lift;
    entry["lift_se"] = candidate.lift_se;
    json["candidates"].push_back(std::move(entry));
  }
  json["why"] = choice.why;
  return json;
}

/// As in a boundary file.
Json guarantee_json(const Guarantee& guarantee, const Objective& objective) {
  Boundary boundary;
  boundary.objective = objective;
  boundary.rule = {{}, {std::nullopt}};
  boundary.guarantee = guarantee;
  return Json::parse(to_json(boundary)).at("guarantee");
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

Json swaps_json(const Study& study) {
  Json json = Json::array();
  const StudyTable& table = study.test ? *study.test : study.holdout;
  const SwapsContext context = {.first = "st",
                                .second = std::string(to_string(study.methods.front().method)),
                                .table_rows = static_cast<std::uint64_t>(table.rows),
                                .rows_dropped = table.rows_dropped,
                                .confidence = study.confidence};
  for (std::size_t bound = 0; bound < study.swaps.size(); ++bound) {
    const auto& swaps = study.swaps[bound];
    json.push_back(swaps ? report::swaps_json(*swaps, context, bound != study.start) : Json(nullptr));
  }
  return json;
}

Json training_json(const TrainingCurve& curve) {
  Json json;
  json["name"] = text_json(curve.name);
  json["selected"] = optional_json(curve.selected);
  json["epochs"] = Json::array();
  for (const TrainingEpoch& epoch : curve.epochs) {
    Json entry;
    entry["epoch"] = epoch.epoch;
    entry["stage"] = epoch.stage;
    entry["train_loss"] = epoch.train_loss;
    entry["valid_loss"] = optional_json(epoch.valid_loss);
    entry["average_precision"] = optional_json(epoch.average_precision);
    entry["roc_auc"] = optional_json(epoch.roc_auc);
    json["epochs"].push_back(std::move(entry));
  }
  return json;
}

Json monitor_json(const MonitorStudy& monitor) {
  Json json;
  json["result"] = Json::parse(to_json(monitor.report));
  json["path"] = Json::array();
  for (const MonitorPoint& point : monitor.path) {
    Json entry;
    entry["rows"] = point.rows;
    entry["figure"] = optional_json(point.figure);
    entry["low"] = point.low;
    entry["high"] = point.high;
    entry["e_value"] = point.e_value;
    json["path"].push_back(std::move(entry));
  }
  return json;
}

template <typename Values, typename Write>
Json list_json(const Values& values, const Write& write) {
  if (values.empty()) return nullptr;
  Json json = Json::array();
  for (const auto& value : values) json.push_back(write(value));
  return json;
}

}  // namespace

std::string study_json(const Study& study) {
  Json json;
  json["format"] = "limen-study";
  json["version"] = 1;
  json["limen"] = kLimenVersion;
  json["title"] = text_json(study.title);
  json["data"] = data_json(study);
  json["settings"] = Json::array();
  for (const Setting& setting : study.settings) {
    Json entry;
    entry["name"] = text_json(setting.name);
    entry["value"] = text_json(setting.value);
    json["settings"].push_back(std::move(entry));
  }
  json["command"] = text_json(study.command);
  Json& goal = json["goal"];
  goal["maximize"] = study.objective.goal == Goal::kRecall ? "precision" : "recall";
  goal["constraint"] = constraint_of(study.objective.goal);
  json["bounds"] = Json::array();
  for (const Rational& bound : study.bounds) json["bounds"].push_back(bound.to_double());
  json["start"] = study.start;
  json["confidence"] = study.confidence;
  json["certified_confidence"] = optional_json(study.certified_confidence);
  const auto decision = [&](const StudyDecision& of) { return decision_json(of, study.methods.front().method); };
  json["decision"] = list_json(study.decision, decision);
  json["methods"] = list_json(study.methods, [&](const StudyMethod& method) { return method_json(method, study); });
  json["rules"] = list_json(study.rules, rule_json);
  if (study.rules.empty()) json["rules"] = Json::array();
  json["positivity"] = study.positivity ? positivity_json(*study.positivity) : Json(nullptr);
  json["frontier"] = nullptr;
  if (study.frontier) {
    Json frontier;
    frontier["confidence"] = study.confidence;
    frontier["st"] = curve_json(study.frontier->st);
    frontier["surface"] = curve_json(study.frontier->surface);
    json["frontier"] = std::move(frontier);
  }
  json["gain"] = gain_json(study);
  json["choice"] = list_json(study.choice, [](const std::optional<ChosenBy>& choice) {
    return choice ? choice_json(*choice) : Json(nullptr);
  });
  json["certification"] = nullptr;
  if (!study.certification.empty()) {
    json["certification"] = Json::array();
    for (std::size_t bound = 0; bound < study.bounds.size(); ++bound) {
      json["certification"].push_back(
          certification_json(study.certification[bound], objective_at(study, bound), study.confidence));
    }
  }
  json["sweep"] =
      study.sweep ? sweep_json(study.sweep->sweep, study.objective, study.sweep->options) : Json(nullptr);
  json["calibration"] = study.calibration ? calibration_json(*study.calibration) : Json(nullptr);
  json["swaps"] = study.swaps.empty() ? Json(nullptr) : swaps_json(study);
  json["bias"] = study.bias ? bias_json(*study.bias) : Json(nullptr);
  json["training"] = list_json(study.training, training_json);
  json["monitor"] = study.monitor ? monitor_json(*study.monitor) : Json(nullptr);
  return json.dump();
}

}  // namespace limen::report
