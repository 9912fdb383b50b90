// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>

#include "bind.h"
#include "bind_parameters.h"
#include "limen/base/error.h"
#include "limen/judge/calibration_error.h"
#include "limen/judge/calibration_set.h"
#include "limen/judge/positivity_map.h"
#include "limen/theory/bias.h"
#include "limen/theory/undersampling_correction.h"

namespace limen::python {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Lowest scores and probabilities of the steps of each level.
using Steps = std::vector<std::pair<DoubleArray, DoubleArray>>;

/// (value, low, high), or None; no band: low and high are nan.
nb::object figure_of(const std::optional<Figure>& figure) {
  if (!figure) return nb::none();
  const Interval band = figure->band.value_or(Interval{kNone, kNone});
  return nb::make_tuple(figure->value, band.low, band.high);
}

/// Arrays of values, lows and highs; nan where there is none.
nb::object curve_of(const std::vector<std::optional<Figure>>& curve) {
  std::vector<double> value;
  std::vector<double> low;
  std::vector<double> high;
  for (const auto& figure : curve) {
    const Interval band = figure && figure->band ? *figure->band : Interval{kNone, kNone};
    value.push_back(figure ? figure->value : kNone);
    low.push_back(band.low);
    high.push_back(band.high);
  }
  return nb::make_tuple(new_array(std::move(value)), new_array(std::move(low)), new_array(std::move(high)));
}

NewArray numbers_of(const std::vector<std::optional<double>>& numbers) {
  std::vector<double> values;
  for (const auto& number : numbers) values.push_back(number.value_or(kNone));
  return new_array(std::move(values));
}

nb::dict dict_of(const PositivityMap& map) {
  const auto column = [&](auto member) {
    std::vector<double> values;
    for (const PositivityCell& cell : map.cells) values.push_back(static_cast<double>(member(cell)));
    return new_array(std::move(values));
  };
  nb::dict result;
  result["uncertainty_edges"] = new_array(std::vector<double>(map.uncertainty_edges));
  result["level"] = column([](const auto& cell) { return cell.level; });
  result["bin"] = column([](const auto& cell) { return cell.bin; });
  result["score_low"] = column([](const auto& cell) { return cell.low; });
  result["score_high"] = column([](const auto& cell) { return cell.high; });
  result["mean_score"] = column([](const auto& cell) { return cell.mean_score; });
  result["rows"] = column([](const auto& cell) { return cell.rows; });
  result["positives"] = column([](const auto& cell) { return cell.positives; });
  result["positivity"] = column([](const auto& cell) { return cell.positivity(); });
  result["positivity_low"] = column([](const auto& cell) { return cell.rate.low; });
  result["positivity_high"] = column([](const auto& cell) { return cell.rate.high; });
  return result;
}

nb::dict map_positivity(const Table& table, int levels, const std::optional<std::vector<double>>& edges, int bins,
                        const std::string& binning, bool balanced, double confidence) {
  const PositivityMapOptions options = {.levels = levels,
                                        .edges = edges,
                                        .bins = bins,
                                        .binning = parse_binning(binning),
                                        .balanced = balanced,
                                        .confidence = confidence};
  const Samples samples = samples_of(table);
  return dict_of(without_gil([&] { return positivity_map(samples, options); }));
}

nb::dict dict_of(const ColumnErrors& column) {
  nb::dict result;
  result["name"] = column.name;
  result["is_probability"] = column.is_probability;
  result["ece"] = figure_of(column.ece);
  result["ece_by_level"] = figure_of(column.ece_by_level);
  result["brier"] = figure_of(column.brier);
  result["log_loss"] = figure_of(column.log_loss);
  result["roc_auc"] = figure_of(column.roc_auc);
  result["average_precision"] = figure_of(column.average_precision);
  result["roc_auc_less_raw"] = figure_of(column.roc_auc_difference);
  result["average_precision_less_raw"] = figure_of(column.average_precision_difference);
  result["roc_auc_untied"] = figure_of(column.roc_auc_untied);
  result["roc_auc_untied_less_raw"] = figure_of(column.roc_auc_untied_difference);
  result["average_precision_untied"] = figure_of(column.average_precision_untied);
  result["average_precision_untied_less_raw"] = figure_of(column.average_precision_untied_difference);
  result["ece_at"] = curve_of(column.ece_at);
  result["cumulative_ece"] = curve_of(column.cumulative);
  result["cumulative_ece_less_ist"] = curve_of(column.cumulative_difference);
  result["mean_probability"] = numbers_of(column.mean_probability);
  return result;
}

/// What `limen calibrate` finds, and the text of its file.
nb::dict report(const Table& holdout, const std::optional<Table>& test, int levels, int bins,
                const std::string& binning, const std::optional<double>& tau, const std::optional<RealArray>& evidence,
                const std::optional<RealArray>& test_evidence, const std::optional<Parameters>& parameters,
                int replicates, std::uint64_t bootstrap_seed, std::uint64_t seed, int num_threads) {
  const Samples rows = samples_of(holdout);
  const Samples judged = test ? samples_of(*test) : rows;
  std::optional<RealSpan> evidence_rows;
  std::optional<RealSpan> judged_evidence;
  if (evidence) judged_evidence = evidence_rows = real_span(*evidence);
  if (test && test_evidence) judged_evidence = real_span(*test_evidence);
  const auto [set, errors] = without_gil([&] {
    CalibrationErrorOptions options;
    options.bins = bins;
    options.binning = parse_binning(binning);
    options.num_threads = num_threads;
    options.bootstrap.reset();
    if (replicates != 0) {
      options.bootstrap = BootstrapOptions{.replicates = replicates,
                                           .seed = bootstrap_seed,
                                           .resolution = CalibrationErrorOptions{}.bootstrap->resolution};
    }
    CalibrationSet fitted = fit_calibration_set(rows, levels, options.binning, seed);
    std::vector<std::vector<double>> corrected;
    corrected.reserve(2);
    std::vector<ProbabilityColumn> corrections;
    const auto add = [&](Calibrator calibrator, auto correct) {
      const std::vector<double> own = correct(rows.score, evidence_rows);
      if (const auto loss = mean_log_loss(rows, std::span<const double>(own))) add_loss(fitted, calibrator, *loss);
      corrected.push_back(test ? correct(judged.score, judged_evidence) : own);
      corrections.push_back({std::string(to_string(calibrator)), std::span<const double>(corrected.back()),
                             calibrator != Calibrator::kEvidence});
    };
    if (tau) {
      fitted.tau = *tau;
      add(Calibrator::kTau, [&](RealSpan score, const std::optional<RealSpan>&) {
        return correct_undersampling(score, *tau, num_threads);
      });
    }
    if (parameters) {
      const BiasParameters given = parameters_of(*parameters);
      fitted.evidence = EvidenceCorrection{.tau = given.tau,
                                           .xi = given.xi,
                                           .prior_strength = given.prior_strength,
                                           .omega = given.omega,
                                           .model_strength = given.model_strength};
      add(Calibrator::kEvidence, [&](RealSpan score, const std::optional<RealSpan>& counts) {
        return correct_undersampling(score, counts.value(), given, num_threads);
      });
    }
    CalibrationErrors found =
        judge_calibration_set(fitted, judged, test ? JudgedOn::kTest : JudgedOn::kHoldout, corrections, seed, options);
    return std::pair(std::move(fitted), std::move(found));
  });
  nb::dict result;
  nb::dict losses;
  for (const auto& [calibrator, loss] : set.losses) losses[nb::str(std::string(to_string(calibrator)).c_str())] = loss;
  nb::list columns;
  for (const ColumnErrors& column : errors.columns) columns.append(dict_of(column));
  result["json"] = to_json(set);
  result["chosen"] = std::string(to_string(set.chosen));
  result["log_loss_on_rows_left_out"] = losses;
  result["shrinkage"] = set.shrinkage;
  result["rows"] = errors.rows;
  result["positives"] = errors.positives;
  result["weighted"] = errors.weighted;
  result["columns"] = columns;
  result["ece_by_chance"] = numbers_of(errors.ece_by_chance);
  result["cumulative_by_chance"] = numbers_of(errors.cumulative_by_chance);
  result["bins"] = dict_of(errors.bins);
  result["reliability"] = dict_of(errors.reliability);
  return result;
}

/// The text of a calibration file with one calibrator: ist, mist or shrunken.
std::string write_isotonic(const std::string& name, const DoubleArray& edges, const Steps& steps, double shrinkage,
                           const std::string& binning, std::int64_t rows, std::optional<double> weight,
                           double positives) {
  const auto copied = [](const DoubleArray& values) {
    return std::vector<double>(values.data(), values.data() + values.size());
  };
  LevelCalibration calibration;
  calibration.uncertainty_edges = copied(edges);
  for (const auto& [score, probability] : steps) calibration.levels.push_back({copied(score), copied(probability)});
  CalibrationSet set;
  set.chosen = parse_calibrator(name);
  (set.chosen == Calibrator::kIst ? set.ist : set.chosen == Calibrator::kMist ? set.mist : set.shrunken) = calibration;
  set.shrinkage = shrinkage;
  set.binning = parse_binning(binning);
  set.rows = rows;
  set.weighted = weight.has_value();
  set.weight = weight.value_or(static_cast<double>(rows));
  set.positives = positives;
  validate(set);
  return to_json(set);
}

/// name, edges, steps, shrinkage, binning, rows, weight or None, positives of one isotonic calibrator of a file: the
/// one named, or the one that the file names.
nb::tuple read_isotonic(const std::string& text, const std::optional<std::string>& name) {
  const CalibrationSet set = without_gil([&] { return calibration_set_from_json(text); });
  const Calibrator wanted = name ? parse_calibrator(*name) : set.chosen;
  const LevelCalibration* const calibration = set.isotonic(wanted);
  if (calibration == nullptr) {
    throw InvalidInput("calibration", "has no isotonic calibrator \"" + std::string(to_string(wanted)) +
                                          "\"; name one of ist, mist and shrunken that it has");
  }
  nb::list steps;
  for (const LevelCalibration::Level& level : calibration->levels) {
    steps.append(
        nb::make_tuple(new_array(std::vector<double>(level.score)), new_array(std::vector<double>(level.probability))));
  }
  return nb::make_tuple(std::string(to_string(wanted)), new_array(std::vector<double>(calibration->uncertainty_edges)),
                        steps, wanted == Calibrator::kShrunken ? set.shrinkage : 0.0,
                        std::string(to_string(set.binning)), set.rows, set.weighted ? nb::cast(set.weight) : nb::none(),
                        set.positives);
}

}  // namespace

void bind_calibration(nb::module_& module) {
  module.def("positivity_map", &map_positivity, nb::arg("table").noconvert(), nb::arg("levels"),
             nb::arg("edges").none(), nb::arg("bins"), nb::arg("binning"), nb::arg("balanced"), nb::arg("confidence"));
  module.def("calibration_report", &report, nb::arg("holdout").noconvert(), nb::arg("test").noconvert().none(),
             nb::arg("levels"), nb::arg("bins"), nb::arg("binning"), nb::arg("tau").none(),
             nb::arg("evidence").noconvert().none(), nb::arg("test_evidence").noconvert().none(),
             nb::arg("parameters").none(), nb::arg("replicates"), nb::arg("bootstrap_seed"), nb::arg("seed"),
             nb::arg("num_threads"));
  module.def("write_isotonic", &write_isotonic, nb::arg("name"), nb::arg("edges").noconvert(),
             nb::arg("steps").noconvert(), nb::arg("shrinkage"), nb::arg("binning"), nb::arg("rows"),
             nb::arg("weight").none(), nb::arg("positives"));
  module.def("read_isotonic", &read_isotonic, nb::arg("text"), nb::arg("name").none());
}

}  // namespace limen::python
