// SPDX-License-Identifier: MIT
#include <string>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/version.h"
#include "limen/judge/calibration_set.h"
#include "solve/json_members.h"

namespace limen {
namespace {

using detail::array_at;
using detail::Json;
using detail::member;
using detail::number;
using detail::number_at;
using detail::object_member;
using detail::ReadJson;
using detail::text_at;

constexpr const char* kFormat = "limen-calibration";
constexpr int kVersion = 1;
constexpr JsonLimits kLimits = {.depth = 8, .bytes = std::size_t{1} << 26U};

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("calibration", what); }

Json levels_json(const LevelCalibration& calibration) {
  Json levels = Json::array();
  for (const LevelCalibration::Level& level : calibration.levels) {
    levels.push_back({{"score", level.score}, {"probability", level.probability}});
  }
  return levels;
}

std::vector<double> numbers_at(const ReadJson& object, const char* key, const std::string& where) {
  std::vector<double> numbers;
  for (const ReadJson& value : array_at(object, key, where)) numbers.push_back(number(value, where + key));
  return numbers;
}

LevelCalibration parse_isotonic(const ReadJson& json, const char* name, const std::vector<double>& edges) {
  if (!json.is_object()) refuse(std::string("\"calibrators.") + name + "\" is not an object");
  LevelCalibration calibration;
  calibration.uncertainty_edges = edges;
  const std::string where = std::string("calibrators.") + name + ".";
  for (const ReadJson& level : array_at(json, "levels", where)) {
    if (!level.is_object()) refuse("\"" + where + "levels\" has a member that is not an object");
    calibration.levels.push_back(
        {numbers_at(level, "score", where + "levels."), numbers_at(level, "probability", where + "levels.")});
  }
  try {
    validate(calibration);
  } catch (const InvalidInput& error) {
    refuse("\"" + where + "levels\": " + error.problem());
  }
  return calibration;
}

EvidenceCorrection parse_evidence(const ReadJson& json) {
  if (!json.is_object()) refuse("\"calibrators.evidence\" is not an object");
  const std::string where = "calibrators.evidence.";
  return {.tau = number_at(json, "tau", where),
          .xi = number_at(json, "xi", where),
          .prior_strength = number_at(json, "prior_strength", where),
          .omega = number_at(json, "omega", where),
          .model_strength = number_at(json, "model_strength", where),
          .column = text_at(json, "column", where)};
}

void parse_calibrators(const ReadJson& json, CalibrationSet& set) {
  const std::vector<double> edges = numbers_at(json, "uncertainty_edges", "");
  for (const auto& [name, value] : object_member(json, "calibrators").items()) {
    switch (parse_calibrator(name)) {
      case Calibrator::kIst:
        set.ist = parse_isotonic(value, "ist", {});
        break;
      case Calibrator::kMist:
        set.mist = parse_isotonic(value, "mist", edges);
        break;
      case Calibrator::kShrunken:
        set.shrunken = parse_isotonic(value, "shrunken", edges);
        set.shrinkage = number_at(value, "shrinkage", "calibrators.shrunken.");
        break;
      case Calibrator::kTau:
        if (!value.is_object()) refuse("\"calibrators.tau\" is not an object");
        set.tau = number_at(value, "tau", "calibrators.tau.");
        break;
      case Calibrator::kEvidence:
        set.evidence = parse_evidence(value);
        break;
    }
  }
  if (!edges.empty() && !set.mist && !set.shrunken) refuse("\"uncertainty_edges\" are of no calibrator");
}

CalibrationSet parse(const ReadJson& json) {
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat) {
    refuse("is not a calibration file: \"format\" must be \"limen-calibration\"");
  }
  const std::int64_t version = detail::integer_at(json, "version", "");
  if (version > kVersion) {
    refuse("has version " + std::to_string(version) + ", this program reads up to " + std::to_string(kVersion) +
           "; update limen");
  }
  if (version < 1) refuse("has version " + std::to_string(version) + ", the first is 1");
  CalibrationSet set;
  parse_calibrators(json, set);
  set.chosen = parse_calibrator(text_at(json, "chosen", ""));
  if (const ReadJson* losses = detail::optional_object(json, "log_loss")) {
    for (const auto& [name, value] : losses->items()) {
      set.losses.push_back({parse_calibrator(name), number(value, "log_loss." + name)});
    }
  }
  set.binning = parse_binning(text_at(object_member(json, "binning"), "kind", "binning."));
  const ReadJson& holdout = object_member(json, "holdout");
  set.rows = detail::integer_at(holdout, "rows", "holdout.");
  set.weighted = holdout.contains("weight");
  set.weight = set.weighted ? number_at(holdout, "weight", "holdout.") : static_cast<double>(set.rows);
  set.positives = number_at(holdout, "positives", "holdout.");
  const ReadJson& columns = object_member(json, "columns");
  set.score_column = text_at(columns, "score", "columns.");
  set.uncertainty_column = text_at(columns, "uncertainty", "columns.");
  (void)text_at(json, "limen", "");
  validate(set);
  return set;
}

}  // namespace

std::string to_json(const CalibrationSet& set) {
  Json calibrators = Json::object();
  if (set.ist) calibrators["ist"] = {{"levels", levels_json(*set.ist)}};
  if (set.mist) calibrators["mist"] = {{"levels", levels_json(*set.mist)}};
  if (set.shrunken) {
    calibrators["shrunken"] = {{"shrinkage", set.shrinkage}, {"levels", levels_json(*set.shrunken)}};
  }
  if (set.tau) calibrators["tau"] = {{"tau", *set.tau}};
  if (const auto& evidence = set.evidence) {
    calibrators["evidence"] = {{"tau", evidence->tau},
                               {"xi", evidence->xi},
                               {"prior_strength", evidence->prior_strength},
                               {"omega", evidence->omega},
                               {"model_strength", evidence->model_strength},
                               {"column", evidence->column}};
  }
  Json losses = Json::object();
  for (const auto& [calibrator, loss] : set.losses) losses[std::string(to_string(calibrator))] = loss;
  const LevelCalibration* levels = set.mist ? &*set.mist : set.shrunken ? &*set.shrunken : nullptr;
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"chosen", to_string(set.chosen)},
               {"log_loss", set.losses.empty() ? Json(nullptr) : losses},
               {"uncertainty_edges", levels == nullptr ? std::vector<double>{} : levels->uncertainty_edges},
               {"calibrators", calibrators},
               {"binning", {{"kind", to_string(set.binning)}}}};
  Json holdout = {{"rows", set.rows}};
  if (set.weighted) holdout["weight"] = detail::count(set.weight);
  holdout["positives"] = detail::count(set.positives);
  json["holdout"] = std::move(holdout);
  json["columns"] = {{"score", set.score_column}, {"uncertainty", set.uncertainty_column}};
  json["limen"] = kLimenVersion;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

CalibrationSet calibration_set_from_json(std::string_view text) {
  try {
    return parse(parse_json(text, "calibration", kLimits));
  } catch (const InvalidInput& error) {
    // What reads members speaks of boundary files.
    throw InvalidInput("calibration", error.problem(), error.cause());
  }
}

bool is_calibration_json(std::string_view text) noexcept {
  try {
    const ReadJson json = parse_json(text, "calibration", kLimits);
    return json.is_object() && json.contains("format") && json["format"] == kFormat;
  } catch (...) {
    return false;
  }
}

}  // namespace limen
