// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/json.h"
#include "limen/base/text.h"
#include "limen/base/version.h"
#include "limen/solve/boundary.h"
#include "limen/solve/review.h"
#include "limen/solve/segments.h"
#include "solve/json_members.h"

namespace limen {
namespace {

using namespace detail;  // NOLINT(google-build-using-namespace): members of JSON objects

// Version 2 has segments in place of one rule: who knows only the first must refuse such a file.
constexpr int kVersion = 1;
constexpr int kSegmentVersion = 2;

struct GoalNames {
  Goal goal;
  const char* maximize;
  const char* constraint;
};
constexpr GoalNames kBoundedGoals[] = {{Goal::kPrecision, "recall", "precision"},
                                       {Goal::kRecall, "precision", "recall"},
                                       {Goal::kFalsePositiveRate, "recall", "false-positive-rate"},
                                       {Goal::kFlagRate, "recall", "flag-rate"}};

Json objective_json(const Objective& objective) {
  for (const GoalNames& names : kBoundedGoals) {
    if (names.goal == objective.goal) {
      Json json = {{"maximize", names.maximize}, {"constraint", names.constraint}};
      put_rational(json, "bound", objective.bound);
      return json;
    }
  }
  Json json;
  if (objective.goal == Goal::kCost) {
    json["minimize"] = "cost";
    put_rational(json, "false_positive", objective.false_positive_cost);
    put_rational(json, "false_negative", objective.false_negative_cost);
  } else {
    json["maximize"] = "f-beta";
    put_rational(json, "beta", objective.beta);
  }
  return json;
}

Objective parse_objective(const ReadJson& json) {
  if (json.contains("minimize")) {
    if (text_at(json, "minimize", "objective.") != "cost") refuse("\"objective.minimize\" is not \"cost\"");
    return min_cost(rational_at(json, "false_positive", "objective."),
                    rational_at(json, "false_negative", "objective."));
  }
  const std::string maximize = text_at(json, "maximize", "objective.");
  if (maximize == "f-beta") return max_f_beta(rational_at(json, "beta", "objective."));
  const std::string constraint = text_at(json, "constraint", "objective.");
  for (const GoalNames& names : kBoundedGoals) {
    if (maximize == names.maximize && constraint == names.constraint) {
      Objective objective;
      objective.goal = names.goal;
      objective.bound = rational_at(json, "bound", "objective.");
      return objective;
    }
  }
  refuse("\"objective\" maximizes \"" + maximize + "\" under \"" + constraint + "\", which is not known");
}

bool maximizes_recall(const Objective& objective) {
  return objective.goal == Goal::kPrecision || objective.goal == Goal::kFalsePositiveRate ||
         objective.goal == Goal::kFlagRate;
}

/// Counts of a hold-out that cannot be, or that other members contradict.
void check_holdout(const ReadJson& summary, const HoldoutSummary& holdout, const Objective& objective) {
  const auto check_at_most = [](const char* name, double value, const char* other, double limit) {
    if (value < 0) refuse(std::string("\"holdout.") + name + "\" is negative");
    if (value <= limit) return;
    refuse(std::string("\"holdout.") + name + "\" is " + number_text(value) + ", more than \"holdout." + other +
           "\", which is " + number_text(limit));
  };
  const char* const all = holdout.weighted ? "weight" : "rows";
  if (holdout.rows < 0) refuse("\"holdout.rows\" is negative");
  if (holdout.weight < 0) refuse("\"holdout.weight\" is negative");
  check_at_most("positives", holdout.positives, all, holdout.weight);
  check_at_most("flagged", holdout.flagged, all, holdout.weight);
  check_at_most("true_positives", holdout.true_positives, "flagged", holdout.flagged);
  check_at_most("true_positives", holdout.true_positives, "positives", holdout.positives);

  // Ratios may be written in as few as three digits.
  const auto check_ratio = [&](const char* name, double ratio) {
    const double written = number_at(summary, name, "holdout.");
    if (agrees(written, ratio, 1e-3)) return;
    refuse(std::string("\"holdout.") + name + "\" is " + number_text(written) + ", but by its counts it is " +
           number_text(ratio));
  };
  check_ratio("precision", holdout.precision());
  check_ratio("recall", holdout.recall());

  const double sign = objective.goal == Goal::kCost ? -1 : 1;
  if (sign * holdout.objective_value > sign * holdout.objective_bound) {
    refuse("\"holdout.objective_value\" is better than \"holdout.objective_bound\"");
  }
  if (holdout.optimal && holdout.objective_value != holdout.objective_bound) {
    refuse("\"holdout.optimal\" is true, but \"holdout.objective_value\" is not the bound");
  }
  const ReadJson& bound = member(summary, "true_positives_bound", "holdout.");
  if (!bound.is_null() && number(bound, "holdout.true_positives_bound") != holdout.objective_bound) {
    refuse("\"holdout.true_positives_bound\" is not \"holdout.objective_bound\"");
  }
  if (maximizes_recall(objective) && holdout.objective_value != holdout.true_positives) {
    refuse("\"holdout.objective_value\" is not \"holdout.true_positives\", which is what was maximized");
  }
}

constexpr const char* kByCrossValidation = "cross-validation";
constexpr const char* kByTestedRows = "tested rows";

Json chosen_by_json(const ChosenBy& chosen_by) {
  Json candidates = Json::array();
  for (const ChosenBy::Candidate& candidate : chosen_by.candidates) {
    candidates.push_back({{"method", to_string(candidate.method)},
                          {"levels", candidate.levels},
                          {"gain", candidate.gain},
                          {"gain_se", candidate.gain_se},
                          {"lift", candidate.lift},
                          {"lift_se", candidate.lift_se}});
    if (candidate.segments) candidates.back()["segments"] = true;
  }
  Json json = {{"information_p", chosen_by.information_p}, {"candidates", candidates}, {"why", chosen_by.why}};
  if (chosen_by.segment_p) json["segment_p"] = *chosen_by.segment_p;
  return json;
}

double probability_at(const ReadJson& json, const char* key, const std::string& where) {
  const double value = number_at(json, key, where);
  if (value < 0 || value > 1) refuse("\"" + where + key + "\" is not between 0 and 1");
  return value;
}

ChosenBy parse_chosen_by(const ReadJson& json) {
  ChosenBy chosen_by;
  chosen_by.information_p = probability_at(json, "information_p", "chosen_by.");
  if (json.contains("segment_p")) chosen_by.segment_p = probability_at(json, "segment_p", "chosen_by.");
  for (const ReadJson& candidate : array_at(json, "candidates", "chosen_by.")) {
    if (!candidate.is_object()) refuse("\"chosen_by.candidates\" has a member that is not an object");
    const std::int64_t levels = integer_at(candidate, "levels", "chosen_by.candidates.");
    if (levels < 1 || levels > 1000) refuse("\"chosen_by.candidates.levels\" is not 1 to 1000");
    chosen_by.candidates.push_back(
        {parse_method(text_at(candidate, "method", "chosen_by.candidates.")), static_cast<int>(levels),
         number_at(candidate, "gain", "chosen_by.candidates."),
         number_at(candidate, "gain_se", "chosen_by.candidates."),
         number_at(candidate, "lift", "chosen_by.candidates."),
         number_at(candidate, "lift_se", "chosen_by.candidates."),
         candidate.contains("segments") && flag_at(candidate, "segments", "chosen_by.candidates.")});
  }
  chosen_by.why = text_at(json, "why", "chosen_by.");
  return chosen_by;
}

std::pair<double, double> range_at(const ReadJson& json, const char* key) {
  const ReadJson& values = array_at(json, key, "expected.");
  const std::string name = std::string("expected.") + key;
  if (values.size() != 2) refuse("\"" + name + "\" is not a list of two numbers");
  const double low = number(values[0], name);
  const double high = number(values[1], name);
  if (!(0 <= low && low <= high && high <= 1)) refuse("\"" + name + "\" is not a range between 0 and 1");
  return {low, high};
}

Expected parse_expected(const ReadJson& json) {
  const auto [precision_low, precision_high] = range_at(json, "precision");
  const auto [recall_low, recall_high] = range_at(json, "recall");
  const std::string by = text_at(json, "by", "expected.");
  if (by != kByCrossValidation && by != kByTestedRows) {
    refuse("\"expected.by\" is neither \"cross-validation\" nor \"tested rows\"");
  }
  return {precision_low, precision_high, recall_low, recall_high,
          by == kByTestedRows ? Expected::By::kTestedRows : Expected::By::kCrossValidation};
}

Json guarantee_json(const Guarantee& guarantee, const Objective& objective) {
  const Json constraint = objective_json(objective);
  return {{"constraint", constraint["constraint"]},
          {"bound", constraint["bound"]},
          {"confidence", guarantee.confidence},
          {"learning_rows", guarantee.learning_rows},
          {"rows", guarantee.rows},
          {"positives", guarantee.positives},
          {"flagged", guarantee.flagged},
          {"true_positives", guarantee.true_positives},
          {"p_value", guarantee.p_value},
          {"test", guarantee.test},
          {"seed", guarantee.seed},
          {"valid_for", guarantee.valid_for}};
}

Guarantee parse_guarantee(const ReadJson& json, const Objective& objective) {
  const auto check = [](bool holds, const std::string& what) {
    if (!holds) refuse("\"guarantee\" " + what);
  };
  const Json known = objective_json(objective);
  check(known.contains("constraint") && text_at(json, "constraint", "guarantee.") == known["constraint"],
        "is about another constraint than the objective's");
  check(number_at(json, "bound", "guarantee.") == known["bound"].get<double>(), "has another bound than the objective");
  Guarantee guarantee;
  guarantee.confidence = number_at(json, "confidence", "guarantee.");
  guarantee.learning_rows = integer_at(json, "learning_rows", "guarantee.");
  guarantee.rows = integer_at(json, "rows", "guarantee.");
  guarantee.positives = integer_at(json, "positives", "guarantee.");
  guarantee.flagged = integer_at(json, "flagged", "guarantee.");
  guarantee.true_positives = integer_at(json, "true_positives", "guarantee.");
  guarantee.p_value = number_at(json, "p_value", "guarantee.");
  guarantee.test = text_at(json, "test", "guarantee.");
  const ReadJson& seed = member(json, "seed", "guarantee.");
  check(seed.is_number_unsigned() || (seed.is_number_integer() && seed.get<std::int64_t>() >= 0),
        "has a seed that is not a whole number from 0 on");
  guarantee.seed = seed.get<std::uint64_t>();
  guarantee.valid_for = text_at(json, "valid_for", "guarantee.");
  check(guarantee.confidence > 0 && guarantee.confidence < 1, "has a confidence that is not between 0 and 1");
  check(guarantee.p_value >= 0 && guarantee.p_value <= 1 - guarantee.confidence + 1e-12,
        "has a p-value above 1 - confidence: it guarantees nothing");
  const bool counts = guarantee.learning_rows >= 0 && guarantee.true_positives >= 0 &&
                      guarantee.true_positives <= guarantee.flagged && guarantee.flagged <= guarantee.rows &&
                      guarantee.true_positives <= guarantee.positives && guarantee.positives <= guarantee.rows;
  check(counts, "has counts that cannot be");
  check(guarantee.test == "binomial" || guarantee.test == "betting", "names a test that is not known");
  return guarantee;
}

Json thresholds_json(const std::vector<std::optional<double>>& thresholds) {
  Json json = Json::array();
  for (const auto& threshold : thresholds) json.push_back(threshold ? Json(*threshold) : Json(nullptr));
  return json;
}

std::vector<std::optional<double>> parse_thresholds(const ReadJson& object, const std::string& where) {
  std::vector<std::optional<double>> thresholds;
  for (const ReadJson& threshold : array_at(object, "score_thresholds", where)) {
    thresholds.push_back(threshold.is_null() ? std::nullopt
                                             : std::optional(number(threshold, where + "score_thresholds")));
  }
  return thresholds;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }
double review_rate(const Review& review, const HoldoutSummary& holdout) {
  return ratio(review.reviewed, holdout.weight);
}
double review_recall(const Review& review, const HoldoutSummary& holdout) {
  return ratio(holdout.true_positives + review.positives, holdout.positives);
}

/// "rate" and "recall" are what was reached on the hold-out, the latter by flagged and reviewed rows together.
Json review_json(const Review& review, const HoldoutSummary& holdout) {
  Json json = {{"score_thresholds", thresholds_json(review.score_thresholds)}};
  if (review.max_rate) put_rational(json, "max_rate", *review.max_rate);
  if (review.min_recall) put_rational(json, "min_recall", *review.min_recall);
  if (review.cost) put_rational(json, "cost", *review.cost);
  json["rate"] = review_rate(review, holdout);
  json["reviewed"] = count(review.reviewed);
  json["positives"] = count(review.positives);
  json["recall"] = review_recall(review, holdout);
  json["optimal"] = review.optimal;
  return json;
}

/// Figures that cannot be, or that other members contradict.
void check_review(const ReadJson& json, const Review& review, const HoldoutSummary& holdout) {
  const auto check_at_most = [](const char* name, double value, double limit, const char* of) {
    if (value < 0) refuse(std::string("\"review.") + name + "\" is negative");
    if (value <= limit) return;
    refuse(std::string("\"review.") + name + "\" is " + number_text(value) + ", more than " + of + ", " +
           number_text(limit));
  };
  check_at_most("reviewed", review.reviewed, holdout.weight - holdout.flagged, "what is not flagged");
  check_at_most("positives", review.positives, review.reviewed, "what is reviewed");
  check_at_most("positives", review.positives, holdout.positives - holdout.true_positives,
                "the positives that are not flagged");
  const auto check_ratio = [&](const char* name, double reached) {
    const double written = number_at(json, name, "review.");
    if (agrees(written, reached, 1e-3)) return;
    refuse(std::string("\"review.") + name + "\" is " + number_text(written) + ", but by its counts it is " +
           number_text(reached));
  };
  const double rate = review_rate(review, holdout);
  const double recall = review_recall(review, holdout);
  check_ratio("rate", rate);
  check_ratio("recall", recall);
  constexpr double kRounding = 1e-9;  // of sums of weights
  if (review.max_rate && rate > review.max_rate->to_double() + kRounding) {
    refuse("\"review.rate\" is above \"review.max_rate\"");
  }
  if (review.min_recall && recall < review.min_recall->to_double() - kRounding) {
    refuse("\"review.recall\" is below \"review.min_recall\"");
  }
}

Review parse_review(const ReadJson& json, const Rule& rule, const HoldoutSummary& holdout) {
  Review review;
  review.score_thresholds = parse_thresholds(json, "review.");
  validate(review, rule);
  const auto optional_rational = [&](const char* key) {
    return json.contains(key) ? std::optional(rational_at(json, key, "review.")) : std::nullopt;
  };
  review.max_rate = optional_rational("max_rate");
  review.min_recall = optional_rational("min_recall");
  review.cost = optional_rational("cost");
  if (review.max_rate || review.min_recall || review.cost) {
    validate(ReviewGoal{review.max_rate, review.min_recall, review.cost});
  }
  review.reviewed = number_at(json, "reviewed", "review.");
  review.positives = number_at(json, "positives", "review.");
  review.optimal = flag_at(json, "optimal", "review.");
  check_review(json, review, holdout);
  return review;
}

/// An object of the text with the rule's edges and thresholds.
Json rule_json(const Rule& rule) {
  return {{"uncertainty_edges", rule.uncertainty_edges}, {"score_thresholds", thresholds_json(rule.score_thresholds)}};
}

Rule parse_rule(const ReadJson& json, const std::string& where) {
  Rule rule;
  for (const ReadJson& edge : array_at(json, "uncertainty_edges", where)) {
    rule.uncertainty_edges.push_back(number(edge, where + "uncertainty_edges"));
  }
  rule.score_thresholds = parse_thresholds(json, where);
  return rule;
}

constexpr const char* kAsPooled = "as pooled";
constexpr const char* kNeverFlagged = "never flagged";

/// A text that is not UTF-8 would not read back as it is.
const std::string& utf8(const std::string& value) {
  try {
    (void)Json(value).dump();
  } catch (const Json::type_error&) {
    throw InvalidInput("segments", "the value " + limen::quoted(value) + " is not UTF-8");
  }
  return value;
}

void put_segment(Json& json, const Segment& segment, const Objective& objective) {
  json.update(rule_json(segment.rule));
  json["rows"] = count(segment.rows);
  json["positives"] = count(segment.positives);
  json["flagged"] = count(segment.flagged);
  json["true_positives"] = count(segment.true_positives);
  if (segment.method) json["method"] = to_string(*segment.method);
  if (segment.status) json["status"] = to_string(*segment.status);
  if (segment.guarantee) json["guarantee"] = guarantee_json(*segment.guarantee, objective);
}

Json segments_json(const Segments& segments, const Objective& objective) {
  Json values = Json::array();
  for (const Segment& segment : segments.own) {
    values.push_back(Json::object());
    values.back()["value"] = utf8(segment.value);
    put_segment(values.back(), segment, objective);
  }
  // Member by member: gcc 12 destroys an initializer list wrongly that a text which is no UTF-8 ends.
  Json json = Json::object();
  json["column"] = utf8(segments.column);
  json["each"] = segments.each;
  json["values"] = std::move(values);
  json["pooled"] = nullptr;
  if (segments.pooled) {
    Json pooled_values = Json::array();
    for (const std::string& value : segments.pooled_values) pooled_values.push_back(utf8(value));
    json["pooled"] = {{"values", std::move(pooled_values)}};
    put_segment(json["pooled"], *segments.pooled, objective);
  }
  json["unseen"] = segments.unseen_as_pooled ? kAsPooled : kNeverFlagged;
  return json;
}

SegmentStatus parse_status(const std::string& text, const std::string& where) {
  for (const auto status : {SegmentStatus::kOptimal, SegmentStatus::kFeasible, SegmentStatus::kInfeasible,
                            SegmentStatus::kCertified, SegmentStatus::kNotCertified}) {
    if (text == to_string(status)) return status;
  }
  refuse("\"" + where + "status\" is " + limen::quoted(text) +
         ", must be optimal, feasible, infeasible, certified or not certified");
}

Segment parse_segment(const ReadJson& json, const std::string& where, bool each, const Objective& objective) {
  if (!json.is_object()) refuse("\"" + where.substr(0, where.size() - 1) + "\" has a member that is not an object");
  Segment segment;
  segment.rule = parse_rule(json, where);
  segment.rows = number_at(json, "rows", where);
  segment.positives = number_at(json, "positives", where);
  segment.flagged = number_at(json, "flagged", where);
  segment.true_positives = number_at(json, "true_positives", where);
  const bool counts = segment.true_positives >= 0 && segment.true_positives <= segment.flagged &&
                      segment.true_positives <= segment.positives && segment.flagged <= segment.rows &&
                      segment.positives <= segment.rows;
  if (!counts) refuse("\"" + where.substr(0, where.size() - 1) + "\" has counts that cannot be");
  if (!each) return segment;
  segment.method = parse_method(text_at(json, "method", where));
  if (segment.method == Method::kAuto) refuse("\"" + where + "method\" is auto, which makes no boundary itself");
  segment.status = parse_status(text_at(json, "status", where), where);
  if (const ReadJson* guarantee = optional_object(json, "guarantee")) {
    segment.guarantee = parse_guarantee(*guarantee, objective);
  }
  if (segment.guarantee.has_value() != (segment.status == SegmentStatus::kCertified)) {
    refuse("\"" + where + "guarantee\" and \"" + where + "status\" contradict each other");
  }
  const bool nothing = segment.status == SegmentStatus::kInfeasible || segment.status == SegmentStatus::kNotCertified;
  if (nothing && segment.flagged > 0) refuse("\"" + where + "flagged\" is above 0, but nothing could be flagged");
  return segment;
}

Segments parse_segments(const ReadJson& json, const Objective& objective) {
  Segments segments;
  segments.column = text_at(json, "column", "rule.segment.");
  segments.each = flag_at(json, "each", "rule.segment.");
  for (const ReadJson& value : array_at(json, "values", "rule.segment.")) {
    const std::string where = "rule.segment.values.";
    segments.own.push_back(parse_segment(value, where, segments.each, objective));
    segments.own.back().value = text_at(value, "value", where);
  }
  if (const ReadJson* pooled = optional_object(json, "pooled")) {
    const std::string where = "rule.segment.pooled.";
    segments.pooled = parse_segment(*pooled, where, segments.each, objective);
    for (const ReadJson& value : array_at(*pooled, "values", where)) {
      if (!value.is_string()) refuse("\"rule.segment.pooled.values\" has a member that is not a text");
      segments.pooled_values.push_back(value.get<std::string>());
    }
  }
  const std::string unseen = text_at(json, "unseen", "rule.segment.");
  if (unseen != kAsPooled && unseen != kNeverFlagged) {
    refuse("\"rule.segment.unseen\" is " + limen::quoted(unseen) + ", must be \"as pooled\" or \"never flagged\"");
  }
  segments.unseen_as_pooled = unseen == kAsPooled;
  validate(segments);
  return segments;
}

std::size_t num_levels(const Boundary& boundary) {
  if (!boundary.segments) return boundary.rule.score_thresholds.size();
  std::size_t levels = boundary.segments->pooled ? boundary.segments->pooled->rule.score_thresholds.size() : 0;
  for (const Segment& segment : boundary.segments->own) levels += segment.rule.score_thresholds.size();
  return levels;
}

/// Counts of segments that do not add up to those of the hold-out. Rows of values that only tested rows of a certified
/// boundary have are in no segment.
void check_segments(const Segments& segments, const HoldoutSummary& holdout) {
  Segment sum = segments.pooled.value_or(Segment{});
  for (const Segment& segment : segments.own) {
    sum.rows += segment.rows;
    sum.positives += segment.positives;
    sum.flagged += segment.flagged;
    sum.true_positives += segment.true_positives;
  }
  const double tolerance = holdout.weighted ? 1e-6 * (holdout.weight + 1) : 0;
  const auto check_equal = [&](const char* name, double of_segments, double of_all) {
    if (std::abs(of_segments - of_all) <= tolerance) return;
    refuse(std::string("\"rule.segment\" has ") + number_text(of_segments) + " " + name + " in all, \"holdout\" has " +
           number_text(of_all));
  };
  check_equal("flagged", sum.flagged, holdout.flagged);
  check_equal("true positives", sum.true_positives, holdout.true_positives);
  if (sum.rows > holdout.weight + tolerance) check_equal("rows", sum.rows, holdout.weight);
  if (sum.positives > holdout.positives + tolerance) check_equal("positives", sum.positives, holdout.positives);
}

/// A level without a threshold has one above every score.
void check_monotone(const Rule& rule, Direction direction) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t level = 1; level < rule.score_thresholds.size(); ++level) {
    const double before = rule.score_thresholds[level - 1].value_or(kInfinity);
    const double after = rule.score_thresholds[level].value_or(kInfinity);
    if (direction == Direction::kUp ? after < before : after > before) {
      refuse("\"binning.monotone\" is \"" + std::string(to_string(direction)) + "\", but score_thresholds[" +
             std::to_string(level) + "] goes the other way");
    }
  }
}

}  // namespace

std::string to_json(const Boundary& boundary) {
  const HoldoutSummary& holdout = boundary.holdout;
  Json rule;
  if (boundary.segments) {
    rule["segment"] = segments_json(*boundary.segments, boundary.objective);
  } else {
    rule = rule_json(boundary.rule);
  }
  Json json = {{"format", "limen-boundary"},
               {"version", boundary.segments ? kSegmentVersion : kVersion},
               {"rule", std::move(rule)},
               {"objective", objective_json(boundary.objective)},
               {"method", to_string(boundary.method)}};
  if (boundary.chosen_by) json["chosen_by"] = chosen_by_json(*boundary.chosen_by);
  json["binning"] = {{"kind", to_string(boundary.binning)},
                     {"from", to_string(boundary.levels_from)},
                     {"levels", num_levels(boundary)},
                     {"bins", boundary.bins ? Json(*boundary.bins) : Json("all")}};
  if (boundary.monotone) json["binning"]["monotone"] = to_string(*boundary.monotone);
  Json summary = {{"rows", holdout.rows}};
  if (holdout.weighted) summary["weight"] = count(holdout.weight);
  summary["positives"] = count(holdout.positives);
  summary["flagged"] = count(holdout.flagged);
  summary["true_positives"] = count(holdout.true_positives);
  summary["precision"] = holdout.precision();
  summary["recall"] = holdout.recall();
  summary["true_positives_bound"] =
      maximizes_recall(boundary.objective) ? count(holdout.objective_bound) : Json(nullptr);
  summary["objective_value"] = count(holdout.objective_value);
  summary["objective_bound"] = count(holdout.objective_bound);
  summary["optimal"] = holdout.optimal;
  json["holdout"] = std::move(summary);
  if (const auto& expected = boundary.expected) {
    json["expected"] = {{"precision", {expected->precision_low, expected->precision_high}},
                        {"recall", {expected->recall_low, expected->recall_high}},
                        {"by", expected->by == Expected::By::kTestedRows ? kByTestedRows : kByCrossValidation}};
  }
  json["guarantee"] = boundary.guarantee ? guarantee_json(*boundary.guarantee, boundary.objective) : Json(nullptr);
  if (boundary.review) json["review"] = review_json(*boundary.review, holdout);
  json["columns"] = {{"score", boundary.score_column}, {"uncertainty", boundary.uncertainty_column}};
  json["limen"] = kLimenVersion;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Boundary boundary_from_json(std::string_view text) {
  constexpr JsonLimits kLimits = {.bytes = std::size_t{1} << 26U};
  const ReadJson json = parse_json(text, "boundary", kLimits);
  if (!json.is_object() || !json.contains("format") || json["format"] != "limen-boundary") {
    refuse("is not a boundary file: \"format\" must be \"limen-boundary\"");
  }
  const std::int64_t version = integer_at(json, "version", "");
  if (version > kSegmentVersion) {
    refuse("has version " + std::to_string(version) + ", this program reads up to " + std::to_string(kSegmentVersion) +
           "; update limen");
  }
  if (version < 1) refuse("has version " + std::to_string(version) + ", the first is 1");

  Boundary boundary;
  const ReadJson& rule = object_member(json, "rule");
  boundary.objective = parse_objective(object_member(json, "objective"));
  validate(boundary.objective);
  const ReadJson* const segment = optional_object(rule, "segment");
  if ((segment != nullptr) != (version == kSegmentVersion)) {
    refuse(segment != nullptr ? "has version 1 and segments, which version 2 has"
                              : "has version 2, but no \"rule.segment\"; the file is damaged");
  }
  if (segment != nullptr) {
    boundary.segments = parse_segments(*segment, boundary.objective);
  } else {
    boundary.rule = parse_rule(rule, "rule.");
    validate(boundary.rule);
  }
  boundary.method = parse_method(text_at(json, "method", ""));
  if (boundary.method == Method::kAuto) refuse("\"method\" is auto, which makes no boundary itself");
  const ReadJson& binning = object_member(json, "binning");
  boundary.binning = parse_binning(text_at(binning, "kind", "binning."));
  if (binning.contains("from")) boundary.levels_from = parse_levels_from(text_at(binning, "from", "binning."));
  if (const ReadJson& bins = member(binning, "bins", "binning."); bins != "all") {
    boundary.bins = integer_at(binning, "bins", "binning.");
    if (*boundary.bins < 1) refuse("\"binning.bins\" is below 1");
  }
  if (binning.contains("monotone")) {
    boundary.monotone = parse_direction(text_at(binning, "monotone", "binning."));
    if (boundary.segments) {
      for (const Segment& part : boundary.segments->own) check_monotone(part.rule, *boundary.monotone);
      if (boundary.segments->pooled) check_monotone(boundary.segments->pooled->rule, *boundary.monotone);
    } else {
      check_monotone(boundary.rule, *boundary.monotone);
    }
  }
  if (integer_at(binning, "levels", "binning.") != static_cast<std::int64_t>(num_levels(boundary))) {
    refuse("\"binning.levels\" is not the number of score thresholds");
  }
  const ReadJson& summary = object_member(json, "holdout");
  HoldoutSummary& holdout = boundary.holdout;
  holdout.rows = integer_at(summary, "rows", "holdout.");
  holdout.weighted = summary.contains("weight");
  holdout.weight = holdout.weighted ? number_at(summary, "weight", "holdout.") : static_cast<double>(holdout.rows);
  holdout.positives = number_at(summary, "positives", "holdout.");
  holdout.flagged = number_at(summary, "flagged", "holdout.");
  holdout.true_positives = number_at(summary, "true_positives", "holdout.");
  holdout.objective_value = number_at(summary, "objective_value", "holdout.");
  holdout.objective_bound = number_at(summary, "objective_bound", "holdout.");
  holdout.optimal = flag_at(summary, "optimal", "holdout.");
  check_holdout(summary, holdout, boundary.objective);
  if (boundary.segments) check_segments(*boundary.segments, holdout);
  const ReadJson& columns = object_member(json, "columns");
  boundary.score_column = text_at(columns, "score", "columns.");
  boundary.uncertainty_column = text_at(columns, "uncertainty", "columns.");
  if (const ReadJson* chosen_by = optional_object(json, "chosen_by")) boundary.chosen_by = parse_chosen_by(*chosen_by);
  if (const ReadJson* expected = optional_object(json, "expected")) boundary.expected = parse_expected(*expected);
  if (const ReadJson* guarantee = optional_object(json, "guarantee")) {
    boundary.guarantee = parse_guarantee(*guarantee, boundary.objective);
  }
  if (const ReadJson* review = optional_object(json, "review")) {
    if (boundary.segments) refuse("has segments and a review, which do not go together");
    boundary.review = parse_review(*review, boundary.rule, holdout);
  }
  (void)text_at(json, "limen", "");
  return boundary;
}

}  // namespace limen
