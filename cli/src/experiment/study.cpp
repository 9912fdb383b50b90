// SPDX-License-Identifier: MIT
#include "experiment/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "limen/choose/sweep.h"
#include "limen/fit.h"
#include "limen/judge/calibration_set.h"
#include "limen/judge/inspect.h"
#include "limen/judge/positivity_map.h"
#include "limen/judge/swaps.h"
#include "limen/promise/certify.h"
#include "limen/solve/solve.h"
#include "limen/theory/bias.h"
#include "limen/theory/bias_simulation.h"

namespace limen::cli::experiment {
namespace {

Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json confusion_json(const Confusion& confusion) {
  Json json = Json::object();
  json["rows"] = confusion.rows;
  json["positives"] = confusion.positives;
  json["flagged"] = confusion.flagged;
  json["true_positives"] = confusion.true_positives;
  return json;
}

Confusion confusion_of(const Json& json) {
  Confusion confusion;
  confusion.rows = json.at("rows").get<double>();
  confusion.positives = json.at("positives").get<double>();
  confusion.flagged = json.at("flagged").get<double>();
  confusion.true_positives = json.at("true_positives").get<double>();
  return confusion;
}

FitOptions fit_options(const Study& study, Binning binning, Method method) {
  FitOptions options;
  options.method = method;
  options.binning = binning;
  options.levels_from = study.levels_from;
  options.num_threads = 1;
  if (method == Method::kAuto) return options;
  options.levels = study.levels;
  options.bins = study.bins ? BinCount::of(*study.bins) : BinCount::all();
  return options;
}

/// All methods at all bounds. On bins of equal span the equi-weight programme is left out, as in the paper: it takes
/// bins for equally full.
Json compared(const Study& study, const SamplePair& pair) {
  Json all = Json::array();
  for (const Binning binning : study.binning) {
    CompareOptions options;
    options.methods.clear();
    for (const Method method : study.methods) {
      if (method != Method::kEwDpmt || binning == Binning::kEquiWeight) options.methods.push_back(method);
    }
    if (options.methods.empty()) continue;
    options.precision_bounds = study.bounds;
    options.fit = fit_options(study, binning, Method::kExact);
    for (const MethodSummary& summary : compare_methods({&pair, 1}, options)) {
      Json entry = Json::object();
      entry["binning"] = to_string(binning);
      entry["bound"] = summary.bound.to_double();
      entry["method"] = to_string(summary.method);
      entry["trial"] = trial_json(summary.trials.front());
      all.push_back(std::move(entry));
    }
  }
  return all;
}

Json rule_json(const Rule& rule) {
  Json json = Json::object();
  json["edges"] = rule.uncertainty_edges;
  json["thresholds"] = Json::array();
  for (const auto& threshold : rule.score_thresholds) {
    json["thresholds"].push_back(threshold ? Json(*threshold) : Json(nullptr));
  }
  return json;
}

/// The rule of a method at the study's bound; unset where it is infeasible.
std::optional<Rule> rule_at_bound(const Study& study, const Samples& holdout, Method method) {
  FitOptions options = fit_options(study, Binning::kEquiWeight, method);
  if (method == Method::kSt) options.bins = std::nullopt;  // every distinct score, as in compare
  const FitResult fit = fit_boundary(holdout, max_recall_at_precision(study.bound), options);
  return fit.boundary ? std::optional(fit.boundary->rule) : std::nullopt;
}

Json map_cells(const PositivityMap& map) {
  Json cells = Json::array();
  for (const PositivityCell& cell : map.cells) {
    Json entry = Json::object();
    entry["level"] = cell.level;
    entry["bin"] = cell.bin;
    entry["low_score"] = cell.low;
    entry["high_score"] = cell.high;
    entry["mean_score"] = cell.mean_score;
    entry["rows"] = cell.rows;
    entry["positivity"] = cell.positivity();
    entry["low"] = cell.rate.low;
    entry["high"] = cell.rate.high;
    cells.push_back(std::move(entry));
  }
  return cells;
}

/// The paper's first figure: on test rows, with the boundaries of one threshold and of the first two-dimensional
/// method.
Json positivity(const Study& study, const SamplePair& pair) {
  const PositivityStudy& asked = *study.positivity;
  Json json = Json::object();
  const PositivityMap curves =
      positivity_map(pair.test, {.levels = asked.levels, .bins = asked.bins, .balanced = true});
  json["edges"] = curves.uncertainty_edges;
  json["curves"] = map_cells(curves);
  const PositivityMap map =
      positivity_map(pair.test, {.levels = asked.map_levels, .bins = asked.map_bins, .balanced = true});
  json["map_edges"] = map.uncertainty_edges;
  json["map"] = map_cells(map);
  Study fine = study;
  fine.levels = asked.map_levels;
  json["rules"] = Json::object();
  for (const Method method : {Method::kSt, Method::kEwDpmt}) {
    const auto rule = rule_at_bound(fine, pair.holdout, method);
    json["rules"][std::string(to_string(method))] = rule ? rule_json(*rule) : Json(nullptr);
  }
  return json;
}

Json swept(const Study& study, const Samples& holdout, std::uint64_t seed) {
  const SweepStudy& asked = *study.sweep;
  SweepOptions options;
  options.levels = asked.levels;
  options.bins = asked.bins;
  options.levels_from = study.levels_from;
  options.method = asked.method;
  options.repetitions = asked.repetitions;
  options.seed = seed;
  options.num_threads = 1;
  const Sweep found = sweep(holdout, max_recall_at_precision(study.bound), options);
  Json json = Json::object();
  json["levels"] = found.levels;
  json["bins"] = Json::array();
  for (const auto& bins : found.bins) json["bins"].push_back(bins ? Json(*bins) : Json("all"));
  json["single"] = found.single.value ? Json(*found.single.value) : Json(nullptr);
  json["values"] = Json::array();
  json["missed"] = Json::array();
  for (const SweepCell& cell : found.cells) {
    json["values"].push_back(cell.value ? Json(*cell.value) : Json(nullptr));
    json["missed"].push_back(cell.fits_missed);
  }
  json["fits"] = found.num_fits;
  return json;
}

Json calibrated(const Study& study, const SamplePair& pair) {
  const CalibrationStudy& asked = *study.calibrate;
  const CalibrationSet set = fit_calibration_set(pair.holdout, asked.levels);
  CalibrationErrorOptions options;
  options.bins = asked.bins;
  options.bootstrap = std::nullopt;
  options.num_threads = 1;
  const CalibrationErrors errors = judge_calibration_set(set, pair.test, JudgedOn::kTest, {}, 0, options);
  const auto figure = [](const std::optional<Figure>& value) { return value ? Json(value->value) : Json(nullptr); };
  Json json = Json::object();
  json["chosen"] = to_string(set.chosen);
  json["columns"] = Json::array();
  for (const ColumnErrors& column : errors.columns) {
    Json entry = Json::object();
    entry["name"] = column.name;
    entry["ece"] = figure(column.ece);
    entry["ece_by_level"] = figure(column.ece_by_level);
    entry["brier"] = figure(column.brier);
    entry["log_loss"] = figure(column.log_loss);
    entry["average_precision"] = figure(column.average_precision);
    entry["ece_at"] = Json::array();
    for (const auto& value : column.ece_at) entry["ece_at"].push_back(figure(value));
    entry["cumulative"] = Json::array();
    for (const auto& value : column.cumulative) entry["cumulative"].push_back(figure(value));
    json["columns"].push_back(std::move(entry));
  }
  json["ece_by_chance"] = Json::array();
  for (const auto& value : errors.ece_by_chance) json["ece_by_chance"].push_back(value ? Json(*value) : Json(nullptr));
  json["cumulative_by_chance"] = Json::array();
  for (const auto& value : errors.cumulative_by_chance) {
    json["cumulative_by_chance"].push_back(value ? Json(*value) : Json(nullptr));
  }
  return json;
}

Json certified(const Study& study, const SamplePair& pair) {
  Json all = Json::array();
  for (const Rational& bound : study.bounds) {
    CertifyOptions options;
    options.confidence = study.certify->confidence;
    options.method = study.certify->method;
    options.num_threads = 1;
    const Certification found = certify(pair.holdout, max_recall_at_precision(bound), options);
    Json entry = Json::object();
    entry["bound"] = bound.to_double();
    entry["method"] = to_string(found.method);
    entry["certified"] = found.boundary.has_value();
    entry["test"] = found.boundary ? confusion_json(evaluate(found.boundary->rule, pair.test).total) : Json(nullptr);
    all.push_back(std::move(entry));
  }
  return all;
}

Json inspected(const Study& study, const Samples& holdout) {
  const Inspection found = inspect(holdout, max_recall_at_precision(study.bound), 1);
  Json json = Json::object();
  json["rows"] = found.rows;
  json["positives"] = found.positives;
  json["average_precision"] = found.average_precision;
  json["roc_auc"] = found.roc_auc;
  json["information_p"] = found.choice.information.p();
  json["chosen"] = to_string(found.choice.best().method);
  json["levels"] = found.choice.best().levels;
  json["why"] = found.choice.why;
  return json;
}

Json swapped(const Study& study, const SamplePair& pair, const std::vector<Column>& columns) {
  const SwapStudy& asked = *study.swaps;
  const auto first = rule_at_bound(study, pair.holdout, asked.first);
  const auto second = rule_at_bound(study, pair.holdout, asked.second);
  if (!first || !second) return nullptr;
  SwapOptions options;
  options.values = asked.values;
  const Swaps found =
      find_swaps(*first, *second, pair.test.score, pair.test.uncertainty, pair.test.label, columns, options);
  const auto counts = [](const Counts& value) {
    Json json = Json::object();
    json["rows"] = value.rows;
    json["positives"] = value.positives;
    return json;
  };
  Json json = Json::object();
  json["first"] = counts(found.first());
  json["second"] = counts(found.second());
  json["taken_in"] = counts(found.taken_in());
  json["left_out"] = counts(found.left_out());
  json["columns"] = Json::array();
  for (const SwapColumn& column : found.columns) {
    Json entry = Json::object();
    entry["name"] = column.name;
    entry["values"] = Json::array();
    for (const SwapValue& value : column.values) entry["values"].push_back(to_string(value));
    entry["flagged"] = column.flagged;
    entry["taken_in"] = column.taken_in;
    entry["taken_in_bins"] = column.taken_in_bins;
    entry["left_out"] = column.left_out;
    entry["left_out_bins"] = column.left_out_bins;
    entry["adjusted_p"] = column.adjusted_p();
    json["columns"].push_back(std::move(entry));
  }
  return json;
}

/// Median seconds to solve on a grid of so many levels and bins, and to count it.
Json timed(const Study& study, const Samples& holdout) {
  const RunTimeStudy& asked = *study.run_time;
  const Objective objective = max_recall_at_precision(study.bound);
  Json all = Json::array();
  for (const int levels : asked.levels) {
    for (const std::int64_t bins : asked.bins) {
      FitOptions options = fit_options(study, Binning::kEquiWeight, Method::kEwDpmt);
      options.levels = levels;
      options.bins = BinCount::of(bins);
      const auto start = std::chrono::steady_clock::now();
      const Grid grid = make_holdout_grid(holdout, objective, options);
      Json entry = Json::object();
      entry["levels"] = levels;
      entry["bins"] = bins;
      entry["count_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      for (const Method method : asked.methods) {
        std::vector<double> seconds;
        for (int repetition = 0; repetition < asked.repetitions; ++repetition) {
          const auto before = std::chrono::steady_clock::now();
          (void)solve(method, grid, objective);
          seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
        }
        std::nth_element(seconds.begin(), seconds.begin() + asked.repetitions / 2, seconds.end());
        entry[std::string(to_string(method))] = seconds[static_cast<std::size_t>(asked.repetitions / 2)];
      }
      all.push_back(std::move(entry));
    }
  }
  return all;
}

}  // namespace

Json trial_json(const Trial& trial) {
  Json json = Json::object();
  json["method"] = to_string(trial.method);
  json["feasible"] = trial.solution->status != SolveStatus::kInfeasible;
  json["gap"] = trial.gap;
  json["holdout"] = confusion_json(trial.holdout);
  json["test"] = confusion_json(trial.test);
  json["matched_recall"] = trial.matched_recall;
  return json;
}

Trial trial_of(const Json& json) {
  Trial trial;
  trial.method = parse_method(json.at("method").get<std::string>());
  trial.gap = json.at("gap").get<double>();
  trial.holdout = confusion_of(json.at("holdout"));
  trial.test = confusion_of(json.at("test"));
  trial.matched_recall = json.at("matched_recall").get<double>();
  return trial;
}

CellResult study_pair(const Study& study, const ScoredPair& pair, const std::string& uncertainty) {
  const SamplePair samples = {pair.holdout.samples(uncertainty), pair.test.samples(uncertainty)};
  CellResult result;
  Json& figures = result.figures;
  figures["model"] = pair.model;
  const auto chosen = pair.chosen.find(uncertainty);
  figures["uncertainty"] = chosen == pair.chosen.end() ? uncertainty : chosen->second;
  figures["average_precision"] = average_precision(pair.test.score, pair.test.label);
  figures["roc_auc"] = roc_auc(pair.test.score, pair.test.label);
  figures["comparison"] = compared(study, samples);
  if (study.choose) figures["inspection"] = inspected(study, samples.holdout);
  if (study.certify) figures["certification"] = certified(study, samples);
  if (study.positivity) figures["positivity"] = positivity(study, samples);
  if (study.sweep) figures["sweep"] = swept(study, samples.holdout, 0);
  if (study.calibrate) figures["calibration"] = calibrated(study, samples);
  if (study.swaps) figures["swaps"] = swapped(study, samples, pair.test.columns);
  if (study.run_time) result.times["run_time"] = timed(study, samples.holdout);
  return result;
}

CellResult study_theory(const TheoryData& theory, std::int64_t seed) {
  CellResult result;
  std::vector<double> scores;
  for (int point = 0; point <= 100; ++point) scores.push_back(point / 100.0);
  std::uint64_t stream = 0;
  const auto curve = [&](double tau, double evidence) {
    BiasParameters parameters = theory.parameters;
    parameters.tau = tau;
    const BiasCurves points = bias_curves({&tau, 1}, {&evidence, 1}, scores, parameters);
    Json json = Json::object();
    json["tau"] = tau;
    json["evidence"] = evidence;
    json["gamma"] = finite_json(evidence_ratios(evidence, parameters).gamma);
    json["score"] = Json::array();
    json["expected"] = Json::array();
    for (std::size_t point = 0; point < points.score.size(); ++point) {
      if (!std::isfinite(points.expected_positivity[point])) continue;
      json["score"].push_back(points.score[point]);
      json["expected"].push_back(points.expected_positivity[point]);
    }
    json["drawn"] = Json::array();
    for (const SimulatedBiasCell& cell :
         simulate_bias(parameters, {.evidence = static_cast<std::int64_t>(std::llround(evidence)),
                                   .regions = theory.regions,
                                   .cells = 12,
                                   .seed = static_cast<std::uint64_t>(seed),
                                   .stream = stream++})) {
      Json entry = Json::object();
      entry["score"] = cell.score;
      entry["expected"] = cell.expected_positivity;
      entry["test"] = cell.test_positivity.mean;
      entry["se"] = finite_json(cell.test_positivity.standard_error);
      entry["regions"] = cell.regions;
      json["drawn"].push_back(std::move(entry));
    }
    return json;
  };
  result.figures["by_evidence"] = Json::array();
  for (const double evidence : theory.evidence) {
    result.figures["by_evidence"].push_back(curve(theory.curve_tau, evidence));
  }
  result.figures["by_tau"] = Json::array();
  for (const double tau : theory.tau) result.figures["by_tau"].push_back(curve(tau, theory.curve_evidence));
  return result;
}

}  // namespace limen::cli::experiment
