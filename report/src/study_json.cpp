// SPDX-License-Identifier: MIT
// docs/study.md.
#include <nlohmann/json.hpp>

#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/report/section_json.h"
#include "limen/report/study.h"
#include "study_json_parts.h"

namespace limen::report {

namespace {

/// Text from files may be no UTF-8, which JSON cannot hold.
Json text_json(const std::string& text) { return escaped(text); }

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

Json rule_json(const Rule& rule) {
  Json json;
  json["edges"] = rule.uncertainty_edges;
  json["thresholds"] = Json::array();
  for (const auto& threshold : rule.score_thresholds) json["thresholds"].push_back(optional_json(threshold));
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
  json["sweep"] = study.sweep ? sweep_json(study.sweep->sweep, study.objective, study.sweep->options) : Json(nullptr);
  json["calibration"] = study.calibration ? calibration_json(*study.calibration) : Json(nullptr);
  json["swaps"] = study.swaps.empty() ? Json(nullptr) : swaps_json(study);
  json["bias"] = study.bias ? bias_json(*study.bias) : Json(nullptr);
  json["training"] = list_json(study.training, training_json);
  json["monitor"] = study.monitor ? monitor_json(*study.monitor) : Json(nullptr);
  return json.dump();
}

}  // namespace limen::report
