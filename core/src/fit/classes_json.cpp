// SPDX-License-Identifier: MIT
#include <set>
#include <string>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/fit/classes.h"
#include "solve/json_members.h"

namespace limen {
namespace {

using namespace detail;  // NOLINT(google-build-using-namespace): members of JSON objects

constexpr int kVersion = 1;
constexpr const char* kFormat = "limen-classes";

[[noreturn]] void refuse_file(const std::string& problem) { throw InvalidInput("classes", problem); }

Json json_of(const ClassBoundary& entry) {
  Json json = {{"name", entry.name}};
  put_rational(json, "min_precision", entry.min_precision);
  json["score"] = entry.score_column;
  json["uncertainty"] = entry.uncertainty_column.empty() ? Json(nullptr) : Json(entry.uncertainty_column);
  json["rows"] = entry.rows;
  json["eligible"] = entry.eligible;
  json["positives"] = count(entry.positives);
  json["eligible_positives"] = count(entry.eligible_positives);
  json["why"] = entry.why;
  json["boundary"] = entry.boundary ? Json::parse(to_json(*entry.boundary)) : Json(nullptr);
  return json;
}

/// where: "classes[2].".
ClassBoundary parse_class(const ReadJson& json, const std::string& where, Claims claims) {
  const auto check = [&](bool holds, const std::string& what) {
    if (!holds) refuse_file("\"" + where.substr(0, where.size() - 1) + "\" " + what);
  };
  check(json.is_object(), "is not an object");
  ClassBoundary entry;
  entry.name = text_at(json, "name", where);
  check(!entry.name.empty(), "has no name");
  entry.min_precision = rational_at(json, "min_precision", where);
  check(entry.min_precision.num > 0 && entry.min_precision.num <= entry.min_precision.den,
        "has a min_precision that is not above 0 and at most 1");
  entry.score_column = text_at(json, "score", where);
  check(!entry.score_column.empty(), "names no score column");
  if (!member(json, "uncertainty", where).is_null()) {
    entry.uncertainty_column = text_at(json, "uncertainty", where);
    check(!entry.uncertainty_column.empty(), "has an uncertainty column without a name");
  }
  entry.rows = integer_at(json, "rows", where);
  entry.eligible = integer_at(json, "eligible", where);
  entry.positives = number_at(json, "positives", where);
  entry.eligible_positives = number_at(json, "eligible_positives", where);
  check(entry.eligible >= 0 && entry.eligible <= entry.rows, "has more eligible rows than rows");
  check(entry.eligible_positives >= 0 && entry.eligible_positives <= entry.positives,
        "has more eligible positives than positives");
  check(claims == Claims::kOne || entry.eligible == entry.rows, "may claim every row, but has fewer eligible ones");
  entry.why = text_at(json, "why", where);
  const ReadJson& boundary = member(json, "boundary", where);
  if (boundary.is_null()) {
    check(!entry.why.empty(), "has neither a boundary nor a reason for that");
    return entry;
  }
  try {
    entry.boundary = boundary_from_json(boundary.dump());
  } catch (const InvalidInput& error) {
    check(false, "has a bad boundary: " + error.problem());
  }
  const Objective& objective = entry.boundary->objective;
  check(objective.goal == Goal::kPrecision && objective.bound == entry.min_precision,
        "has a boundary for another goal than its min_precision");
  check(!entry.uncertainty_column.empty() || entry.boundary->rule.uncertainty_edges.empty(),
        "has levels of uncertainty, but no uncertainty column");
  check(entry.boundary->holdout.rows == entry.eligible, "has a boundary of another number of rows than eligible ones");
  check(!entry.boundary->review, "has a boundary with a review, which classes have not");
  return entry;
}

}  // namespace

std::string to_json(const ClassBoundaries& boundaries) {
  Json json = {{"format", kFormat}, {"version", kVersion}, {"claims", to_string(boundaries.claims)}};
  json["label"] = boundaries.label_column;
  json["confidence"] = boundaries.confidence ? Json(*boundaries.confidence) : Json(nullptr);
  json["joint"] = boundaries.joint;
  json["classes"] = Json::array();
  for (const ClassBoundary& entry : boundaries.classes) json["classes"].push_back(json_of(entry));
  json["limen"] = kLimenVersion;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool is_classes_json(std::string_view text) {
  try {
    const ReadJson json = parse_json(text, "classes");
    return json.is_object() && json.contains("format") && json["format"] == kFormat;
  } catch (const InvalidInput&) {
    return false;
  }
}

ClassBoundaries classes_from_json(std::string_view text) try {
  const ReadJson json = parse_json(text, "classes");
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat) {
    refuse_file("is not a file of several classes (its \"format\" is not \"limen-classes\")");
  }
  const std::int64_t version = integer_at(json, "version", "");
  if (version != kVersion) {
    refuse_file("has version " + std::to_string(version) + ", this program reads version 1");
  }
  ClassBoundaries boundaries;
  boundaries.claims = parse_claims(text_at(json, "claims", ""));
  boundaries.label_column = text_at(json, "label", "");
  if (!member(json, "confidence", "").is_null()) {
    boundaries.confidence = number_at(json, "confidence", "");
    if (!(*boundaries.confidence > 0 && *boundaries.confidence < 1)) {
      refuse_file("\"confidence\" is not between 0 and 1");
    }
  }
  boundaries.joint = flag_at(json, "joint", "");
  if (boundaries.joint && !boundaries.confidence) refuse_file("\"joint\" is true without a confidence");
  const ReadJson& classes = array_at(json, "classes", "");
  if (classes.empty()) refuse_file("has no classes");
  std::set<std::string> names;
  for (std::size_t at = 0; at < classes.size(); ++at) {
    boundaries.classes.push_back(parse_class(classes[at], "classes[" + std::to_string(at) + "].", boundaries.claims));
    const ClassBoundary& entry = boundaries.classes.back();
    if (!names.insert(entry.name).second) refuse_file("class " + limen::quoted(entry.name) + " is there twice");
    const bool promises = entry.boundary && entry.boundary->guarantee;
    if (entry.boundary && promises != boundaries.confidence.has_value()) {
      refuse_file("class " + limen::quoted(entry.name) +
                  (promises ? " has a guarantee without a confidence of the file"
                            : " has no guarantee, though the file has a confidence"));
    }
    if (promises && entry.boundary->guarantee->confidence < *boundaries.confidence) {
      refuse_file("class " + limen::quoted(entry.name) + " is certified with less than the confidence of the file");
    }
  }
  return boundaries;
} catch (const InvalidInput& error) {
  if (error.where().function == "classes") throw;
  throw InvalidInput("classes", error.problem());  // from the members of JSON, which speak of a boundary
}

}  // namespace limen
