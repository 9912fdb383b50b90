// SPDX-License-Identifier: MIT
#include "study_pictures.h"

#include <algorithm>
#include <cmath>

#include "limen/count/binning.h"
#include "limen/judge/frontier.h"

namespace limen::report {
namespace {

constexpr int kMostLevels = 11;
constexpr int kBinsBelow = 20;
constexpr int kBinsNear = 40;
constexpr std::size_t kMostPoints = 200;

int surface_levels(const StudyOptions& options) {
  return std::min(kMostLevels, levels_of(fit_options_of(Method::kExact, options)));
}

/// Quantiles of the scores on either side of the one that the rows near the decision reach.
std::vector<double> score_edges(const Samples& samples, double near) {
  std::vector<double> below;
  std::vector<double> above;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const double score = samples.score[row];
    (score >= near ? above : below).push_back(score);
  }
  std::vector<double> edges;
  const auto add = [&](const std::vector<double>& scores, int bins) {
    if (scores.empty()) return;
    for (const double edge : uncertainty_edges(std::span<const double>(scores), bins)) edges.push_back(edge);
  };
  add(below, kBinsBelow);
  if (!below.empty() && !above.empty()) edges.push_back(near);
  add(above, kBinsNear);
  return edges;
}

/// Of points along a curve, those nearest to evenly spaced recalls and to evenly spaced precisions.
std::vector<std::size_t> shown_points(const std::vector<FrontierPoint>& points) {
  std::vector<std::size_t> shown;
  if (points.size() <= kMostPoints) {
    for (std::size_t at = 0; at < points.size(); ++at) shown.push_back(at);
    return shown;
  }
  const auto spread = [&](const auto& figure) {
    const double first = figure(points.front());
    const double last = figure(points.back());
    std::size_t at = 0;
    for (std::size_t step = 0; step < kMostPoints / 2; ++step) {
      const double part = static_cast<double>(step) / (static_cast<double>(kMostPoints) / 2 - 1);
      // Precision falls along the curve as recall rises: the share of the way that is behind a point never falls.
      while (at + 1 < points.size() && (figure(points[at]) - first) / (last - first) < part) ++at;
      shown.push_back(at);
    }
  };
  spread([](const FrontierPoint& point) { return point.recall; });
  spread([](const FrontierPoint& point) { return point.precision; });
  shown.front() = 0;
  shown.back() = points.size() - 1;
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

std::vector<CurvePoint> curve_of(const std::vector<FrontierPoint>& points, const Confusion& all, double unit,
                                 double confidence) {
  std::vector<CurvePoint> curve;
  for (const std::size_t at : shown_points(points)) {
    Confusion counts = all;
    counts.flagged = static_cast<double>(points[at].flagged.rows) * unit;
    // Weights were rounded for the counts.
    counts.true_positives = std::min(static_cast<double>(points[at].flagged.positives) * unit, counts.positives);
    curve.push_back({points[at].precision, points[at].recall, counts.recall_interval(confidence)});
  }
  return curve;
}

CalibrationStudy calibration_of(const Samples& holdout, const Samples* test, const StudyOptions& options) {
  CalibrationStudy study;
  study.set = fit_calibration_set(holdout);
  study.set.score_column = options.columns.score;
  study.set.uncertainty_column = options.columns.uncertainty;
  const Samples& judged = test != nullptr ? *test : holdout;
  CalibrationErrorOptions how;
  how.confidence = options.confidence;
  how.num_threads = options.num_threads;
  if (!judged.weight.empty()) {
    how.bootstrap.reset();
  } else {
    how.bootstrap->confidence = options.confidence;
    study.replicates = how.bootstrap->replicates;
    study.seed = how.bootstrap->seed;
  }
  study.is_cross_validated = test == nullptr;
  study.folds = kCalibrationFolds;
  study.rows_dropped = test != nullptr ? options.test.rows_dropped : options.holdout.rows_dropped;
  study.errors =
      judge_calibration_set(study.set, judged, test != nullptr ? JudgedOn::kTest : JudgedOn::kHoldout, {}, 0, how);
  return study;
}

/// At most 60 score bins, a third of them below the rows near the decision, by quantiles, and at most 11 levels.
StudyPositivity positivity_of(const Samples& holdout, const HoldoutFits& fits, const Objective& objective,
                              const StudyOptions& options) {
  StudyPositivity found;
  const SampleRanges ranges = validate(holdout);
  found.score_range = ranges.score;
  found.uncertainty_range = ranges.uncertainty;
  found.score_edges = score_edges(holdout, near_score(holdout, fits.single(), objective));
  const int levels = std::min(kMostLevels, options.fit.levels.value_or(kMostLevels));
  found.map = positivity_map(fits.surface(objective, levels),
                             {.score_edges = found.score_edges, .confidence = options.confidence});
  return found;
}

/// Single thresholds, and the hull on the levels that `exact` has at this objective, each thinned to at most 200
/// points. Bands: exact intervals of recall at each point alone.
StudyFrontier frontier_of(const Samples& holdout, const HoldoutFits& fits, const Objective& objective,
                          const StudyOptions& options) {
  const Grid surface = fits.surface(objective, surface_levels(options));
  const Grid& single = fits.single();
  const Counts total = total_counts(single);
  const Confusion all = evaluate(Rule{{}, {std::nullopt}}, holdout).total;
  return {curve_of(pareto_frontier(score_chain(single), total), all, single.unit, options.confidence),
          curve_of(pareto_frontier(hull_chain(surface), total), all, surface.unit, options.confidence)};
}

}  // namespace

double highest_precision(const HoldoutFits& fits, const Objective& objective, const StudyOptions& options) {
  const Counts total = total_counts(fits.single());
  const Grid surface = fits.surface(objective, surface_levels(options));
  return std::max(pareto_frontier(score_chain(fits.single()), total).front().precision,
                  pareto_frontier(hull_chain(surface), total).front().precision);
}

void add_pictures(Study& study, const Samples& holdout, const Samples* test, const HoldoutFits& fits,
                  const StudyOptions& options) {
  study.positivity = positivity_of(holdout, fits, study.objective, options);
  study.frontier = frontier_of(holdout, fits, study.objective, options);
  const auto positives = static_cast<std::size_t>(std::ranges::count(holdout.label, 1));
  const std::size_t fewest = std::min(positives, holdout.size() - positives);
  if (options.with_sweep) {
    StudySweep sweeping;
    sweeping.options.levels_from = options.fit.levels_from;
    sweeping.options.binning = options.fit.binning;
    sweeping.options.num_threads = options.num_threads;
    if (fewest >= static_cast<std::size_t>(sweeping.options.folds)) {
      sweeping.sweep = sweep(holdout, study.objective, sweeping.options);
      study.sweep = std::move(sweeping);
    }
  }
  const bool has_test = test == nullptr || test->size() > 0;
  if (options.with_calibration && fewest >= static_cast<std::size_t>(kCalibrationFolds) && has_test) {
    study.calibration = calibration_of(holdout, test, options);
  }
  if (options.bias) study.bias = compute_bias_study(*options.bias);
}

}  // namespace limen::report
