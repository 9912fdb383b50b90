// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bind.h"
#include "limen/base/error.h"
#include "limen/choose/sweep.h"
#include "limen/judge/calibration.h"
#include "limen/judge/compare.h"
#include "limen/judge/frontier.h"
#include "limen/solve/chain.h"
#include "limen/theory/simulate.h"

namespace limen::python {
namespace {

const char* status_text(SolveStatus status) {
  return status == SolveStatus::kOptimal ? "optimal" : status == SolveStatus::kFeasible ? "feasible" : "infeasible";
}

/// The members of the program's JSON.
nb::dict dict_of(const Trial& trial) {
  nb::dict result;
  result["method"] = std::string(to_string(trial.method));
  result["status"] = status_text(trial.solution->status);
  result["gap"] = trial.gap;
  result["holdout_flagged"] = trial.holdout.flagged;
  result["holdout_true_positives"] = trial.holdout.true_positives;
  result["holdout_precision"] = trial.holdout.precision();
  result["holdout_recall"] = trial.holdout.recall();
  result["test_flagged"] = trial.test.flagged;
  result["test_true_positives"] = trial.test.true_positives;
  const auto ends = [](const Interval& interval) { return nb::make_tuple(interval.low, interval.high); };
  result["test_precision"] = trial.test.precision();
  result["test_precision_interval"] = ends(trial.test.precision_interval());
  result["test_recall"] = trial.test.recall();
  result["test_recall_interval"] = ends(trial.test.recall_interval());
  result["matched_recall"] = trial.matched_recall;
  return result;
}

nb::dict dict_of(const MethodSummary& summary) {
  nb::dict result;
  result["method"] = std::string(to_string(summary.method));
  result["bound"] = summary.bound.to_double();
  result["holdout_precision"] = summary.mean_holdout_precision;
  result["holdout_recall"] = summary.mean_holdout_recall;
  result["test_precision"] = summary.mean_test_precision;
  result["test_recall"] = summary.mean_test_recall;
  result["test_recall_sd"] = summary.sd_test_recall;
  result["matched_recall"] = summary.mean_matched_recall;
  result["matched_recall_sd"] = summary.sd_matched_recall;
  result["missed"] = summary.missed;
  result["p_value_recall"] = summary.p_value_recall;
  result["p_value_matched"] = summary.p_value_matched;
  nb::list trials;
  for (const Trial& trial : summary.trials) trials.append(dict_of(trial));
  result["trials"] = trials;
  return result;
}

nb::list compare(const std::vector<std::pair<Table, Table>>& tables, const std::vector<Fraction>& bounds,
                 const std::optional<std::vector<std::string>>& methods, std::optional<int> levels, const Bins& bins,
                 const std::string& binning, const std::string& levels_from, int num_threads) {
  CompareOptions options;
  if (methods) {
    options.methods.clear();
    for (const std::string& name : *methods) options.methods.push_back(parse_method(name));
  }
  for (const Fraction& bound : bounds) options.precision_bounds.push_back(rational_of(bound));
  options.fit = fit_options("exact", levels, bins, binning, num_threads);
  options.fit.levels_from = parse_levels_from(levels_from);
  std::vector<SamplePair> pairs;
  for (const auto& [holdout, test] : tables) pairs.push_back({samples_of(holdout), samples_of(test)});
  const bool weighted = std::ranges::any_of(
      pairs, [](const SamplePair& pair) { return !pair.holdout.weight.empty() || !pair.test.weight.empty(); });
  if (weighted && !methods) std::erase(options.methods, Method::kVwDpmt);  // takes no weights
  const auto summaries = without_gil([&] { return compare_methods(pairs, options); });
  nb::list result;
  for (const MethodSummary& summary : summaries) result.append(dict_of(summary));
  return result;
}

/// The points of a frontier, column by column.
nb::dict dict_of(const std::vector<FrontierPoint>& frontier, double unit) {
  std::vector<double> flagged, true_positives, precision, recall;
  for (const FrontierPoint& point : frontier) {
    flagged.push_back(static_cast<double>(point.flagged.rows) * unit);
    true_positives.push_back(static_cast<double>(point.flagged.positives) * unit);
    precision.push_back(point.precision);
    recall.push_back(point.recall);
  }
  nb::dict result;
  result["flagged"] = new_array(std::move(flagged));
  result["true_positives"] = new_array(std::move(true_positives));
  result["precision"] = new_array(std::move(precision));
  result["recall"] = new_array(std::move(recall));
  return result;
}

nb::dict frontier(const Table& table, const std::vector<Fraction>& bounds, int levels, const Bins& bins,
                  const std::string& binning, int num_threads) {
  const FitOptions options = fit_options("exact", levels, bins, binning, num_threads);
  std::vector<Rational> exact_bounds;
  for (const Fraction& bound : bounds) exact_bounds.push_back(rational_of(bound));
  const Samples samples = samples_of(table);
  const Frontiers found = without_gil([&] { return trace_frontiers(samples, exact_bounds, options); });
  nb::dict result;
  result["hull"] = dict_of(found.hull, found.unit);
  result["st"] = dict_of(found.st, found.unit);
  nb::list exact;
  for (std::size_t at = 0; at < found.exact.size(); ++at) {
    nb::dict point;
    point["bound"] = exact_bounds[at].to_double();
    point["feasible"] = found.exact[at].has_value();
    const FrontierPoint reached = found.exact[at].value_or(FrontierPoint{});
    point["flagged"] = static_cast<double>(reached.flagged.rows) * found.unit;
    point["true_positives"] = static_cast<double>(reached.flagged.positives) * found.unit;
    point["precision"] = reached.precision;
    point["recall"] = reached.recall;
    exact.append(point);
  }
  result["exact"] = exact;
  return result;
}

nb::object or_none(const std::optional<double>& value) { return value ? nb::object(nb::float_(*value)) : nb::none(); }

/// The members of the program's JSON.
nb::dict dict_of(const SweepCell& cell) {
  nb::dict result;
  result["levels"] = cell.levels;
  result["levels_used"] = cell.levels_used;
  result["bins"] = cell.bins ? nb::object(nb::int_(*cell.bins)) : nb::object(nb::str("all"));
  result["value"] = or_none(cell.value);
  result["gain"] = or_none(cell.gain);
  result["gain_se"] = or_none(cell.gain ? std::optional(cell.gain_se) : std::nullopt);
  result["flagged"] = cell.flagged;
  result["true_positives"] = cell.true_positives;
  result["precision"] = cell.precision;
  result["recall"] = cell.recall;
  result["fits_missed"] = cell.fits_missed;
  result["fits_infeasible"] = cell.fits_infeasible;
  return result;
}

nb::dict sweep_table(const Table& table, const std::string& goal, const std::vector<Fraction>& numbers,
                     const std::vector<int>& levels, const std::vector<std::variant<std::int64_t, std::string>>& bins,
                     const std::string& binning, const std::string& levels_from, const std::string& method,
                     std::uint64_t seed, int folds, int repetitions, int num_threads) {
  SweepOptions options;
  options.levels = levels;
  for (const auto& count : bins) {
    options.bins.push_back(bins_of(fit_options("exact", std::nullopt, count, binning, 0)).count);
  }
  options.binning = parse_binning(binning);
  options.levels_from = parse_levels_from(levels_from);
  options.method = parse_method(method);
  options.seed = seed;
  options.folds = folds;
  options.repetitions = repetitions;
  options.num_threads = num_threads;
  const Objective objective = objective_of(goal, numbers);
  const Samples samples = samples_of(table);
  const Sweep found = without_gil([&] { return sweep(samples, objective, options); });
  nb::list cells;
  for (const SweepCell& cell : found.cells) cells.append(dict_of(cell));
  const auto place = [](const std::optional<std::size_t>& at) { return at ? nb::object(nb::int_(*at)) : nb::none(); };
  nb::dict result;
  result["objective"] = describe(objective);
  result["value"] = value_name(objective);
  result["rows"] = found.rows;
  result["positives"] = found.positives;
  result["fits"] = found.num_fits;
  result["single"] = dict_of(found.single);
  result["best"] = place(found.best);
  result["smallest"] = place(found.smallest);
  result["sentence"] = found.why;
  result["cells"] = cells;
  return result;
}

/// The columns of the program's CSV files.
nb::dict dict_of(const Simulation& simulation, const SimulatedRows& rows) {
  std::vector<double> score, uncertainty, true_positivity;
  for (const std::int32_t at : rows.region) {
    const Region& region = simulation.regions[static_cast<std::size_t>(at)];
    score.push_back(region.score);
    uncertainty.push_back(region.uncertainty);
    true_positivity.push_back(region.true_positivity);
  }
  nb::dict result;
  result["score"] = new_array(std::move(score));
  result["uncertainty"] = new_array(std::move(uncertainty));
  result["y"] = new_array(rows.label);
  result["region"] = new_array(rows.region);
  result["true_positivity"] = new_array(std::move(true_positivity));
  return result;
}

nb::dict simulate_tables(std::pair<double, double> prior, std::pair<double, double> model_prior, double tau,
                         std::int64_t regions, double evidence_scale, double evidence_tail, std::int64_t evidence_limit,
                         std::int64_t holdout_rows, std::int64_t test_rows, std::uint64_t seed) {
  SimulationOptions options;
  options.prior_positive = prior.first;
  options.prior_negative = prior.second;
  options.model_prior_positive = model_prior.first;
  options.model_prior_negative = model_prior.second;
  options.tau = tau;
  options.regions = regions;
  options.evidence_scale = evidence_scale;
  options.evidence_tail = evidence_tail;
  options.evidence_limit = evidence_limit;
  options.holdout_rows = holdout_rows;
  options.test_rows = test_rows;
  options.seed = seed;
  const Simulation simulation = without_gil([&] { return simulate(options); });
  nb::dict result;
  result["holdout"] = dict_of(simulation, simulation.holdout);
  result["test"] = dict_of(simulation, simulation.test);
  return result;
}

/// uncertainty_edges, score and probability of the steps of each level, and the shrinkage. None: by cross-validation.
nb::tuple fit_calibration(const Table& table, int levels, const std::string& binning, std::optional<double> shrinkage) {
  const Binning kind = parse_binning(binning);
  const Samples samples = samples_of(table);
  LevelCalibration calibration = without_gil([&] {
    if (!shrinkage) shrinkage = choose_shrinkage(samples, levels, kind);
    return fit_level_calibration(samples, levels, kind, *shrinkage);
  });
  nb::list steps;
  for (LevelCalibration::Level& level : calibration.levels) {
    steps.append(nb::make_tuple(new_array(std::move(level.score)), new_array(std::move(level.probability))));
  }
  return nb::make_tuple(new_array(std::move(calibration.uncertainty_edges)), steps, *shrinkage);
}

NewArray calibrate(const DoubleArray& edges, const std::vector<std::pair<DoubleArray, DoubleArray>>& levels,
                   const RealArray& score, const RealArray& uncertainty) {
  const auto copied = [](const DoubleArray& values) {
    return std::vector<double>(values.data(), values.data() + values.size());
  };
  LevelCalibration calibration;
  calibration.uncertainty_edges = copied(edges);
  for (const auto& [from, probability] : levels) calibration.levels.push_back({copied(from), copied(probability)});
  const RealSpan scores = real_span(score);
  const RealSpan uncertainties = real_span(uncertainty);
  return new_array(without_gil([&] { return calibrated_probability(calibration, scores, uncertainties); }));
}

}  // namespace

void bind_studies(nb::module_& module) {
  module.def("compare", &compare, nb::arg("pairs").noconvert(), nb::arg("bounds"), nb::arg("methods").none(),
             nb::arg("levels").none(), nb::arg("bins").none(), nb::arg("binning"), nb::arg("levels_from"),
             nb::arg("num_threads"));
  module.def("frontier", &frontier, nb::arg("table").noconvert(), nb::arg("bounds"), nb::arg("levels"),
             nb::arg("bins").none(), nb::arg("binning"), nb::arg("num_threads"));
  module.def("sweep", &sweep_table, nb::arg("table").noconvert(), nb::arg("goal"), nb::arg("numbers"),
             nb::arg("levels"), nb::arg("bins"), nb::arg("binning"), nb::arg("levels_from"), nb::arg("method"),
             nb::arg("seed"), nb::arg("folds"), nb::arg("repetitions"), nb::arg("num_threads"));
  module.def("simulate", &simulate_tables, nb::arg("prior"), nb::arg("model_prior"), nb::arg("tau"), nb::arg("regions"),
             nb::arg("evidence_scale"), nb::arg("evidence_tail"), nb::arg("evidence_limit"), nb::arg("holdout_rows"),
             nb::arg("test_rows"), nb::arg("seed"));
  module.def("fit_level_calibration", &fit_calibration, nb::arg("table").noconvert(), nb::arg("levels"),
             nb::arg("binning"), nb::arg("shrinkage").none());
  module.def("calibrated_probability", &calibrate, nb::arg("edges").noconvert(), nb::arg("levels").noconvert(),
             nb::arg("score").noconvert(), nb::arg("uncertainty").noconvert());
}

}  // namespace limen::python
