// SPDX-License-Identifier: MIT
#include "limen/judge/calibration_set.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"ist", "mist", "shrunken", "tau", "evidence"};

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("calibration", what); }

void check_finite(const char* name, double value) {
  if (!std::isfinite(value)) refuse(std::string(name) + " is not finite");
}

}  // namespace

std::string_view to_string(Calibrator calibrator) { return kNames[static_cast<std::size_t>(calibrator)]; }

Calibrator parse_calibrator(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    refuse(quoted(name) + " is no calibrator; there are ist, mist, shrunken, tau and evidence");
  }
  return static_cast<Calibrator>(found - kNames.begin());
}

const LevelCalibration* CalibrationSet::isotonic(Calibrator calibrator) const {
  const auto pointer = [](const std::optional<LevelCalibration>& set) { return set ? &*set : nullptr; };
  switch (calibrator) {
    case Calibrator::kIst:
      return pointer(ist);
    case Calibrator::kMist:
      return pointer(mist);
    case Calibrator::kShrunken:
      return pointer(shrunken);
    default:
      return nullptr;
  }
}

bool CalibrationSet::has(Calibrator calibrator) const {
  if (calibrator == Calibrator::kTau) return tau.has_value();
  if (calibrator == Calibrator::kEvidence) return evidence.has_value();
  return isotonic(calibrator) != nullptr;
}

CalibrationSet fit_calibration_set(const Samples& holdout, int levels, Binning binning, std::uint64_t seed) {
  const SampleRanges ranges = validate(holdout);
  if (holdout.size() == 0) throw InvalidInput("calibrate", "there are no rows", Cause::kNoRows);
  LevelCalibrations fitted = fit_level_calibrations(
      holdout, uncertainty_edges(holdout.uncertainty, ranges.uncertainty, levels, binning), seed);
  CalibrationSet set;
  set.ist = std::move(fitted.ist);
  set.mist = std::move(fitted.mist);
  set.shrunken = std::move(fitted.shrunken);
  set.shrinkage = fitted.shrinkage;
  set.binning = binning;
  set.rows = static_cast<std::int64_t>(holdout.size());
  set.weighted = !holdout.weight.empty();
  for (std::size_t row = 0; row < holdout.size(); ++row) {
    const double weight = set.weighted ? holdout.weight[row] : 1;
    set.weight += weight;
    if (holdout.label[row] != 0) set.positives += weight;
  }
  add_loss(set, Calibrator::kIst, fitted.ist_loss);
  add_loss(set, Calibrator::kMist, fitted.mist_loss);
  add_loss(set, Calibrator::kShrunken, fitted.shrunken_loss);
  return set;
}

void add_loss(CalibrationSet& set, Calibrator calibrator, double log_loss) {
  set.losses.push_back({calibrator, log_loss});
  set.chosen = std::ranges::min_element(set.losses, {}, &CalibrationSet::Loss::log_loss)->calibrator;
}

CalibrationErrors judge_calibration_set(const CalibrationSet& set, const Samples& samples, JudgedOn rows,
                                        std::span<const ProbabilityColumn> corrections, std::uint64_t seed,
                                        CalibrationErrorOptions options) {
  if (!set.ist || !set.mist || !set.shrunken) refuse("ist, mist and shrunken are needed to be compared");
  CrossFitted crossed;
  if (rows == JudgedOn::kHoldout) {
    if (samples.size() < static_cast<std::size_t>(kCalibrationFolds)) {
      throw InvalidInput("calibrate", "there are " + std::to_string(samples.size()) +
                                          " rows, too few for cross-validation; give more, or test rows");
    }
    crossed = cross_fit(samples, set.mist->uncertainty_edges, kCalibrationFolds, seed);
  } else {
    const auto by = [&](const LevelCalibration& calibration) {
      return calibrated_probability(calibration, samples.score, samples.uncertainty);
    };
    crossed = {.ist = by(*set.ist), .mist = by(*set.mist), .shrunken = by(*set.shrunken), .fold = {}};
  }
  std::vector<ProbabilityColumn> columns = {{"raw", samples.score}};
  columns.insert(columns.end(), corrections.begin(), corrections.end());
  options.order_baseline = 0;
  options.curve_baseline = columns.size();
  columns.push_back({"ist", std::span<const double>(crossed.ist)});
  // With equal probabilities ordered by the score ist has the order of the score itself.
  columns.push_back({"mist", std::span<const double>(crossed.mist), true, samples.score});
  columns.push_back({"shrunken", std::span<const double>(crossed.shrunken), true, samples.score});
  return calibration_errors(samples, set.mist->uncertainty_edges, columns, crossed.fold, options);
}

void validate(const CalibrationSet& set) {
  for (const Calibrator calibrator : {Calibrator::kIst, Calibrator::kMist, Calibrator::kShrunken}) {
    if (const LevelCalibration* isotonic = set.isotonic(calibrator)) validate(*isotonic);
  }
  if (set.ist && !set.ist->uncertainty_edges.empty()) refuse("ist has more than one level");
  if (set.mist && set.shrunken && set.mist->uncertainty_edges != set.shrunken->uncertainty_edges) {
    refuse("mist and shrunken have different levels");
  }
  check_finite("shrinkage", set.shrinkage);
  if (set.shrinkage < 0) refuse("shrinkage is " + number_text(set.shrinkage) + ", must be 0 or more");
  if (set.tau) check_finite("tau", *set.tau);
  if (set.evidence) {
    check_finite("evidence.tau", set.evidence->tau);
    check_finite("evidence.xi", set.evidence->xi);
    check_finite("evidence.prior_strength", set.evidence->prior_strength);
    check_finite("evidence.omega", set.evidence->omega);
    check_finite("evidence.model_strength", set.evidence->model_strength);
    if (set.evidence->column.empty()) refuse("evidence.column is empty");
  }
  if (!set.has(set.chosen)) refuse("chosen is " + std::string(to_string(set.chosen)) + ", which is not there");
  const CalibrationSet::Loss* chosen = nullptr;
  for (std::size_t at = 0; at < set.losses.size(); ++at) {
    const auto& [calibrator, loss] = set.losses[at];
    const std::string name = "log_loss." + std::string(to_string(calibrator));
    if (!set.has(calibrator)) refuse(name + " is of a calibrator that is not there");
    if (!(loss >= 0) || !std::isfinite(loss)) refuse(name + " is " + number_text(loss) + ", must be 0 or more");
    for (std::size_t before = 0; before < at; ++before) {
      if (set.losses[before].calibrator == calibrator) refuse(name + " is there twice");
    }
    if (calibrator == set.chosen) chosen = &set.losses[at];
  }
  if (!set.losses.empty() && chosen == nullptr) refuse("log_loss has nothing of the chosen calibrator");
  for (const auto& [calibrator, loss] : set.losses) {
    if (loss >= chosen->log_loss) continue;
    refuse("chosen is " + std::string(to_string(set.chosen)) + ", but the log loss of " +
           std::string(to_string(calibrator)) + " is lower");
  }
  check_finite("holdout.weight", set.weight);
  check_finite("holdout.positives", set.positives);
  if (set.rows < 0 || set.weight < 0 || set.positives < 0 || set.positives > set.weight ||
      (!set.weighted && set.weight != static_cast<double>(set.rows))) {
    refuse("holdout has counts that cannot be");
  }
}

}  // namespace limen
