// SPDX-License-Identifier: MIT
//
// A bound on precision is about the rows that a class claims, and those are eligible ones: so the rows that it may not
// claim are left out of its problem, and only its recall counts them. What is left is one fit, or one certification,
// for each class.
#include "limen/fit/classes.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/fit.h"
#include "limen/promise/certify.h"

namespace limen {
namespace {

constexpr const char* kFunction = "fit_classes";

[[noreturn]] void refuse(const std::string& problem) { throw InvalidInput(kFunction, problem); }

std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

void check_scores(const ClassScores& rows) {
  if (rows.score.empty()) refuse("there are no classes");
  const std::size_t given = rows.uncertainty.size();
  if (given > 1 && given != rows.num_classes()) {
    refuse(std::to_string(given) + " uncertainties for " + std::to_string(rows.num_classes()) +
           " classes, must be one for each, one for all or none");
  }
  const auto check = [&](const RealSpan& column, const std::string& name) {
    if (column.size() != rows.num_rows()) {
      refuse(name + " has " + std::to_string(column.size()) + " rows, the first score has " +
             std::to_string(rows.num_rows()));
    }
    (void)finite_range(column, kFunction, name.c_str());
  };
  for (std::size_t at = 0; at < rows.score.size(); ++at) check(rows.score[at], "score of class " + std::to_string(at));
  for (std::size_t at = 0; at < given; ++at) check(rows.uncertainty[at], "uncertainty of class " + std::to_string(at));
}

void check_goals(std::span<const ClassGoal> goals, std::size_t num_classes) {
  if (goals.size() != num_classes) {
    refuse(std::to_string(goals.size()) + " classes, but scores of " + std::to_string(num_classes));
  }
  std::set<std::string> names;
  for (const ClassGoal& goal : goals) {
    if (goal.name.empty()) refuse("a class has no name");
    if (!names.insert(goal.name).second) refuse("class " + quoted(goal.name) + " is there twice");
    if (goal.min_precision.num <= 0 || goal.min_precision.num > goal.min_precision.den) {
      refuse("min_precision of class " + quoted(goal.name) + " is " + number_text(goal.min_precision.to_double()) +
             ", must be above 0 and at most 1");
    }
  }
}

void check_labels(std::span<const std::int32_t> label, std::span<const double> weight, const ClassScores& rows) {
  if (label.size() != rows.num_rows()) {
    refuse(std::to_string(label.size()) + " labels for " + std::to_string(rows.num_rows()) + " rows");
  }
  if (!weight.empty() && weight.size() != rows.num_rows()) {
    refuse(std::to_string(weight.size()) + " weights for " + std::to_string(rows.num_rows()) + " rows");
  }
  for (std::size_t row = 0; row < label.size(); ++row) {
    if (label[row] >= kNoClass && label[row] < static_cast<std::int32_t>(rows.num_classes())) continue;
    refuse("label[" + std::to_string(row) + "] is " + std::to_string(label[row]) +
           ", must be the index of a class, 0 to " + std::to_string(rows.num_classes() - 1) + ", or -1");
  }
}

std::vector<std::int32_t> highest_scores(const ClassScores& rows) {
  std::vector<std::int32_t> best(rows.num_rows(), 0);
  std::vector<double> highest(rows.num_rows());
  for (std::size_t at = 0; at < rows.num_classes(); ++at) {
    rows.score[at].visit([&](auto scores) {
      for (std::size_t row = 0; row < scores.size(); ++row) {
        const auto score = static_cast<double>(scores[row]);
        if (at > 0 && score <= highest[row]) continue;
        highest[row] = score;
        best[row] = static_cast<std::int32_t>(at);
      }
    });
  }
  return best;
}

/// Score, uncertainty, label and weight of the rows that one class may claim, and where they stand.
struct ClassRows {
  std::vector<std::size_t> row;
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;

  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, weight};
  }
};

/// eligible: empty where every class may claim every row. label, weight: may be empty.
ClassRows rows_of_class(std::size_t at, const ClassScores& rows, std::span<const std::int32_t> eligible,
                        std::span<const std::int32_t> label, std::span<const double> weight) {
  ClassRows own;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    if (!eligible.empty() && eligible[row] != static_cast<std::int32_t>(at)) continue;
    own.row.push_back(row);
    own.score.push_back(rows.score[at][row]);
    own.uncertainty.push_back(rows.uncertainty.empty() ? 0
                                                       : rows.uncertainty[rows.uncertainty.size() > 1 ? at : 0][row]);
    if (!label.empty()) own.label.push_back(label[row] == static_cast<std::int32_t>(at) ? 1 : 0);
    if (!weight.empty()) own.weight.push_back(weight[row]);
  }
  return own;
}

std::vector<std::int32_t> eligible_for(Claims claims, const ClassScores& rows) {
  return claims == Claims::kOne ? highest_scores(rows) : std::vector<std::int32_t>();
}

/// Weight of the rows of a class.
double weight_of(std::span<const std::int32_t> label, std::span<const double> weight, std::size_t at) {
  double sum = 0;
  for (std::size_t row = 0; row < label.size(); ++row) {
    if (label[row] == static_cast<std::int32_t>(at)) sum += weight.empty() ? 1 : weight[row];
  }
  return sum;
}

/// Where all eligible rows are of the class: one threshold below all of them, which fit_boundary, made for two classes,
/// does not look for.
Boundary flag_all(const Samples& samples, const Objective& objective) {
  const Grid grid = count_distinct(samples, {}, weight_units(samples, positive_rounding(objective)));
  Boundary boundary;
  boundary.rule = make_rule(grid, std::vector{static_cast<std::int32_t>(grid.levels[0].size())});
  boundary.objective = objective;
  boundary.method = Method::kSt;
  const Confusion total = evaluate(boundary.rule, samples).total;
  HoldoutSummary& holdout = boundary.holdout;
  holdout.rows = static_cast<std::int64_t>(samples.size());
  holdout.weighted = !samples.weight.empty();
  holdout.weight = total.rows;
  holdout.positives = total.positives;
  holdout.flagged = total.flagged;
  holdout.true_positives = holdout.objective_value = holdout.objective_bound = total.true_positives;
  holdout.optimal = true;
  return boundary;
}

void fit_one(ClassBoundary& result, const Samples& samples, const ClassFitOptions& options, Method method,
             std::optional<double> confidence) {
  const Objective objective = max_recall_at_precision(result.min_precision);
  const bool all_positive =
      result.eligible_positives > 0 && std::ranges::all_of(samples.label, [](auto label) { return label != 0; });
  if (result.eligible_positives == 0) {
    result.why = result.eligible == 0 ? "no row has its highest score in this class"
                                      : "no row of the class has its highest score in this class";
    return;
  }
  if (confidence) {
    const bool has_levels = info_of(method).has_levels() && method != Method::kAuto;
    Certification found = certify(samples, objective,
                                  {.confidence = *confidence,
                                   .method = all_positive ? Method::kSt : method,
                                   .levels = has_levels && !all_positive ? options.levels : std::nullopt,
                                   .levels_from = options.levels_from,
                                   .seed = options.seed,
                                   .allow_all_positive = true,
                                   .num_threads = options.num_threads});
    result.boundary = std::move(found.boundary);
    if (result.boundary) return;
    result.why = "a precision of " + short_text(result.min_precision.to_double()) +
                 " cannot be certified with confidence " + short_text(*confidence) + " on " +
                 count_text(static_cast<double>(samples.size())) + " rows";
    if (found.rows_needed) {
      result.why += "; about " + count_text(static_cast<double>(*found.rows_needed)) + " would be needed";
    }
    return;
  }
  if (all_positive) {
    result.boundary = flag_all(samples, objective);
    return;
  }
  FitOptions how;
  how.method = method;
  if (info_of(method).has_levels() && method != Method::kAuto) how.levels = options.levels;
  how.levels_from = options.levels_from;
  how.num_threads = options.num_threads;
  FitResult fit = fit_boundary(samples, objective, how);
  result.boundary = std::move(fit.boundary);
  if (result.boundary) return;
  result.why = "no boundary reaches a precision of " + short_text(result.min_precision.to_double());
  if (fit.solution.best_attainable)
    result.why += "; the best attainable is " + short_text(*fit.solution.best_attainable);
}

void check_boundaries(const ClassBoundaries& boundaries, const ClassScores& rows) {
  check_scores(rows);
  if (boundaries.classes.size() != rows.num_classes()) {
    refuse("scores of " + std::to_string(rows.num_classes()) + " classes for boundaries of " +
           std::to_string(boundaries.classes.size()));
  }
  if (!rows.uncertainty.empty()) return;
  for (const ClassBoundary& entry : boundaries.classes) {
    if (!entry.boundary || entry.boundary->rule.uncertainty_edges.empty()) continue;
    refuse("class " + quoted(entry.name) + " has levels of uncertainty, but there is none");
  }
}

}  // namespace

std::string_view to_string(Claims claims) { return claims == Claims::kOne ? "one" : "several"; }

Claims parse_claims(std::string_view name) {
  if (name == "one") return Claims::kOne;
  if (name == "several") return Claims::kSeveral;
  throw InvalidInput("claims \"" + escaped(name, 40) + "\" is not one of one, several");
}

std::size_t ClassBoundaries::num_decided() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(classes, [](const ClassBoundary& entry) { return entry.boundary.has_value(); }));
}

std::vector<std::int32_t> eligible_classes(const ClassScores& rows) {
  check_scores(rows);
  return highest_scores(rows);
}

ClassBoundaries fit_classes(const ClassScores& rows, std::span<const std::int32_t> label,
                            std::span<const ClassGoal> goals, const ClassFitOptions& options,
                            std::span<const double> weight) {
  check_goals(goals, rows.num_classes());
  check_scores(rows);
  check_labels(label, weight, rows);
  if (options.confidence && !(*options.confidence > 0 && *options.confidence < 1)) {
    refuse("confidence is " + number_text(*options.confidence) + ", must be between 0 and 1");
  }
  if (options.joint && !options.confidence) refuse("joint is about certified promises: give a confidence too");
  Method method = options.method;
  if (rows.uncertainty.empty()) {
    if (method != Method::kAuto && method != Method::kSt) {
      refuse("method " + std::string(to_string(method)) + " needs uncertainty, and there is none");
    }
    method = Method::kSt;
  }
  std::optional<double> confidence = options.confidence;
  if (options.joint) confidence = 1 - (1 - *options.confidence) / static_cast<double>(goals.size());

  const std::vector<std::int32_t> eligible = eligible_for(options.claims, rows);
  ClassBoundaries boundaries{.claims = options.claims, .confidence = options.confidence, .joint = options.joint};
  for (std::size_t at = 0; at < goals.size(); ++at) {
    if (std::ranges::find(label, static_cast<std::int32_t>(at)) == label.end()) {
      refuse("no row is of class " + quoted(goals[at].name));
    }
    const ClassRows own = rows_of_class(at, rows, eligible, label, weight);
    ClassBoundary result{.name = goals[at].name,
                         .min_precision = goals[at].min_precision,
                         .score_column = "score_" + goals[at].name,
                         .uncertainty_column = rows.uncertainty.empty() ? "" : "uncertainty"};
    result.rows = static_cast<std::int64_t>(rows.num_rows());
    result.eligible = static_cast<std::int64_t>(own.row.size());
    result.positives = weight_of(label, weight, at);
    for (std::size_t row = 0; row < own.row.size(); ++row) {
      if (own.label[row] != 0) result.eligible_positives += weight.empty() ? 1 : own.weight[row];
    }
    fit_one(result, own.samples(), options, method, confidence);
    if (result.boundary) {
      result.boundary->score_column = result.score_column;
      if (!result.uncertainty_column.empty()) result.boundary->uncertainty_column = result.uncertainty_column;
    }
    boundaries.classes.push_back(std::move(result));
  }
  return boundaries;
}

std::vector<std::vector<std::uint8_t>> decide_classes(const ClassBoundaries& boundaries, const ClassScores& rows) {
  check_boundaries(boundaries, rows);
  const std::vector<std::int32_t> eligible = eligible_for(boundaries.claims, rows);
  const std::vector<double> zeros(rows.uncertainty.empty() ? rows.num_rows() : 0);
  std::vector<std::vector<std::uint8_t>> claimed;
  for (std::size_t at = 0; at < rows.num_classes(); ++at) {
    claimed.emplace_back(rows.num_rows(), 0);
    if (!boundaries.classes[at].boundary) continue;
    const RealSpan uncertainty = rows.uncertainty.empty() ? RealSpan(std::span<const double>(zeros))
                                                          : rows.uncertainty[rows.uncertainty.size() > 1 ? at : 0];
    decide(boundaries.classes[at].boundary->rule, rows.score[at], uncertainty, claimed.back());
    for (std::size_t row = 0; row < eligible.size(); ++row) {
      if (eligible[row] != static_cast<std::int32_t>(at)) claimed.back()[row] = 0;
    }
  }
  return claimed;
}

std::vector<std::int32_t> decide_one_class(const ClassBoundaries& boundaries, const ClassScores& rows) {
  if (boundaries.claims != Claims::kOne) refuse("these classes may claim a row together: each decides by itself");
  const std::vector<std::vector<std::uint8_t>> claimed = decide_classes(boundaries, rows);
  std::vector<std::int32_t> decision(rows.num_rows(), kNoClass);
  for (std::size_t at = 0; at < claimed.size(); ++at) {
    for (std::size_t row = 0; row < decision.size(); ++row) {
      if (claimed[at][row] != 0) decision[row] = static_cast<std::int32_t>(at);
    }
  }
  return decision;
}

std::vector<Confusion> evaluate_classes(const ClassBoundaries& boundaries, const ClassScores& rows,
                                        std::span<const std::int32_t> label, std::span<const double> weight) {
  check_boundaries(boundaries, rows);
  check_labels(label, weight, rows);
  const std::vector<std::int32_t> eligible = eligible_for(boundaries.claims, rows);
  const double all_rows =
      weight.empty() ? static_cast<double>(rows.num_rows()) : std::accumulate(weight.begin(), weight.end(), 0.0);
  std::vector<Confusion> figures;
  for (std::size_t at = 0; at < rows.num_classes(); ++at) {
    Confusion counts;
    if (boundaries.classes[at].boundary) {
      const ClassRows own = rows_of_class(at, rows, eligible, label, weight);
      counts = evaluate(boundaries.classes[at].boundary->rule, own.samples()).total;
    }
    counts.rows = all_rows;
    counts.positives = weight_of(label, weight, at);
    figures.push_back(counts);
  }
  return figures;
}

}  // namespace limen
