// SPDX-License-Identifier: MIT
// A study: everything that a report shows of one hold-out, as plain data (docs/study.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limen/choose/sweep.h"
#include "limen/count/samples.h"
#include "limen/fit.h"
#include "limen/judge/positivity_map.h"
#include "limen/judge/swaps.h"
#include "limen/promise/certify.h"
#include "limen/report/bias_study.h"
#include "limen/report/calibration_study.h"
#include "limen/report/monitor_path.h"
#include "limen/report/training_curve.h"

namespace limen::report {

/// What the caller knows of a table; rows and positives are counted.
struct TableName {
  std::string name = {};
  std::uint64_t rows_dropped = 0;
};

struct ColumnNames {
  std::string score = "score";
  std::string uncertainty = "uncertainty";
  std::string label = "label";
  std::string weight = "weight";  ///< shown where rows have weights
};

/// Something that was asked for, to repeat the study.
struct Setting {
  std::string name;
  std::string value;
};

struct StudyOptions {
  /// What was asked for: a bound on precision, recall, false-positive rate or flag rate.
  Objective objective = max_recall_at_precision({9, 10});
  /// Where the slider stops beside the bound that was asked for, in any order, at most 200. Empty: round numbers
  /// (study_bounds).
  std::vector<Rational> bounds = {};
  /// The first one decides; the others are shown in the order of docs/study.md. `st` is always among them. `vw-dpmt`
  /// is refused where rows have weights.
  std::vector<Method> methods = {Method::kAuto, Method::kSt, Method::kExact, Method::kSmooth};
  /// Levels (also of the map and of the surface, at most 11 there), bins, binning and whose quantiles levels are: of
  /// all methods but `st`, `auto`, and for levels `smooth` and `joint`. `method` is not looked at.
  FitOptions fit = {.levels_from = LevelsFrom::kTop};
  /// Already fitted on this hold-out, or on another one: its rule is the decision at the bound that was asked for.
  /// Without segments.
  std::optional<Boundary> boundary = std::nullopt;
  double confidence = 0.95;  ///< of intervals and bands, between 0 and 1
  /// Certify the decision's method at every bound, with this confidence; `st`, `auto`, `smooth`, `exact` or `joint`.
  std::optional<double> certified_confidence = std::nullopt;
  std::uint64_t seed = 0;  ///< of the certification's split
  bool with_sweep = true;  ///< levels and bins by cross-validation, at the bound that was asked for
  bool with_calibration = true;
  std::optional<BiasStudyOptions> bias = std::nullopt;
  bool timings = false;  ///< seconds of every fit; bounds are then fitted one after the other
  int num_threads = 0;   ///< 0 = all cores. The result does not depend on it, times aside

  std::string title = "Study";
  TableName holdout = {.name = "hold-out"};
  TableName test = {.name = "test"};
  ColumnNames columns = {};
  std::vector<Setting> settings = {};
  std::string command = {};
};

/// Throws InvalidInput that names field, value and range.
void validate(const StudyOptions& options);

/// What fit_boundary takes for a method of the study.
[[nodiscard]] FitOptions fit_options_of(Method method, const StudyOptions& options);

struct StudyTable {
  std::string name;
  std::int64_t rows = 0;
  double positives = 0;  ///< by weight
  bool weighted = false;
  std::uint64_t rows_dropped = 0;
};

enum class CellStatus {
  kOptimal,     ///< proved: nothing on the same levels and bins is better
  kFeasible,    ///< meets the bound; the method does not search for the best
  kLimit,       ///< meets the bound; the search for the best was cut short
  kInfeasible,  ///< no boundary of the method meets the bound
};

/// One method at one bound.
struct StudyCell {
  CellStatus status = CellStatus::kInfeasible;
  std::optional<double> best = std::nullopt;       ///< kInfeasible: the best attainable value of the constraint
  Method chosen = Method::kSt;                     ///< what `auto` took, else the method itself
  int levels = 0;                                  ///< of the rule
  std::optional<std::size_t> rule = std::nullopt;  ///< in Study::rules; unset when infeasible
  Confusion holdout = {};
  std::optional<Confusion> test = std::nullopt;
  /// Proven: no boundary on the same levels and bins has more of what is maximised. Unset for a rule that was given.
  std::optional<double> value_bound = std::nullopt;
  std::optional<double> gap = std::nullopt;  ///< of it to what was reached
  // Of what is maximised over one threshold, relative; unset where one threshold has nothing.
  std::optional<double> holdout_gain = std::nullopt;
  std::optional<double> test_gain = std::nullopt;
  std::optional<Expected> expected = std::nullopt;
  std::optional<double> seconds = std::nullopt;
};

struct StudyMethod {
  Method method = Method::kSt;
  std::optional<int> levels = std::nullopt;         ///< unset: it finds them itself
  std::optional<std::int64_t> bins = std::nullopt;  ///< unset: every distinct score
  std::vector<StudyCell> at;                        ///< one for each bound
};

/// Of what is maximised by the decision's method over one threshold on rows left out, relative, with a range of about
/// 95%.
struct ExpectedGain {
  double value = 0;
  double low = 0;
  double high = 0;
  /// Lowest of the same range of the lift: positives among as many rows as one threshold flags, relative. It is known
  /// better than the gain, whose thresholds differ from fold to fold. Unset where it was not measured.
  std::optional<double> lift_low = std::nullopt;
};

enum class Gains { kYes, kNo, kUnsure };

struct StudyDecision {
  std::string sentence;
  Gains gains = Gains::kNo;
  std::string guarantee;
};

/// A step of a certification's walk that is shown.
struct WalkStep {
  std::size_t step = 0;  ///< from 0
  Counts flagged;
  std::optional<double> estimate = std::nullopt;  ///< the constrained figure on the tested rows
  double p_value = 1;
  bool accepted = false;
};

struct StudyCertification {
  bool certified = false;
  std::string why;
  Method method = Method::kSt;
  std::optional<std::size_t> rule = std::nullopt;
  Confusion holdout = {};
  std::optional<Confusion> test = std::nullopt;
  std::optional<Guarantee> guarantee = std::nullopt;
  double level = 0.05;              ///< of each test: 1 - confidence
  std::size_t num_steps = 0;        ///< of the walk
  std::vector<WalkStep> steps;      ///< at most 30 of them
  std::optional<std::size_t> last;  ///< of these, the last one that was accepted
  bool betting = false;
};

struct CurvePoint {
  double precision = 0;
  double recall = 0;
  Interval band = {};  ///< of recall
};

struct StudyFrontier {
  std::vector<CurvePoint> st;
  std::vector<CurvePoint> surface;
};

struct StudySweep {
  Sweep sweep;
  SweepOptions options;
};

struct StudyPositivity {
  std::vector<double> score_edges;
  Range<double> score_range;
  Range<double> uncertainty_range;
  PositivityMap map;
};

struct Study {
  std::string title;
  StudyTable holdout;
  std::optional<StudyTable> test = std::nullopt;
  ColumnNames columns;
  std::vector<Setting> settings;
  std::string command;

  Objective objective;  ///< with the bound that was asked for
  std::vector<Rational> bounds;
  std::size_t start = 0;
  double confidence = 0.95;
  std::optional<double> certified_confidence = std::nullopt;

  std::vector<StudyDecision> decision;  ///< one for each bound
  std::vector<StudyMethod> methods;
  std::vector<Rule> rules;  ///< each once

  std::optional<StudyPositivity> positivity = std::nullopt;
  std::optional<StudyFrontier> frontier = std::nullopt;
  std::vector<std::optional<ExpectedGain>> expected_gain;  ///< one for each bound
  std::vector<std::optional<ChosenBy>> choice;             ///< one for each bound
  std::vector<StudyCertification> certification;           ///< one for each bound, or none
  std::optional<StudySweep> sweep = std::nullopt;
  std::optional<CalibrationStudy> calibration = std::nullopt;
  std::vector<std::optional<Swaps>> swaps;  ///< one for each bound, or none
  std::optional<BiasStudy> bias = std::nullopt;
  std::vector<TrainingCurve> training = {};
  std::optional<MonitorStudy> monitor = std::nullopt;
};

/// The objective at one of the study's bounds.
[[nodiscard]] Objective objective_at(const Study& study, std::size_t bound);

/// Computes a study of a hold-out and, where there is one, of test rows. Every cell is what fit_boundary gives for its
/// bound, counted by evaluate; but rows are counted once for all bounds, as far as levels do not depend on the bound.
/// Bounds are worked on in parallel; the same for any thread count.
///
/// Left out, and not refused: sweep and calibration where a class has fewer rows than folds; swaps, whose counts know
/// no weights, where rows have weights. Throws InvalidInput: bad samples or options, no rows, only one class in the
/// hold-out, an objective without a bound.
[[nodiscard]] Study compute_study(const Samples& holdout, const Samples* test, const StudyOptions& options);

/// A study of a boundary in deployment alone: what is known of its hold-out from its file, and the monitor.
[[nodiscard]] Study monitor_study(const Boundary& boundary, MonitorStudy monitor, const StudyOptions& options);

/// The study as JSON text, on one line (docs/study.md).
[[nodiscard]] std::string study_json(const Study& study);

}  // namespace limen::report
