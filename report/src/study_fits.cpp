// SPDX-License-Identifier: MIT
//
// Levels of all rows are the same at every bound: they are counted before anything is fitted. Levels of the rows near
// the decision are other ones at every bound, but the same for all methods at it: they are counted once a bound, and
// forgotten with it.
#include "study_fits.h"

#include <algorithm>
#include <chrono>

#include "limen/base/error.h"
#include "limen/choose/joint.h"
#include "limen/count/top_rows.h"

namespace limen::report {
namespace {

bool from_top(const FitOptions& options) {
  return levels_of(options) > 1 && options.levels_from == LevelsFrom::kTop && options.binning == Binning::kEquiWeight;
}

/// `joint` looks for its edges among those of narrow levels.
FitOptions with_narrow_levels(FitOptions options) {
  if (options.method == Method::kJoint) options.levels = kNarrowLevels;
  return options;
}

ExpectedGain gain_range(double gain, double standard_error) {
  constexpr double kErrors = 1.96;
  return {.value = gain, .low = gain - kErrors * standard_error, .high = gain + kErrors * standard_error};
}

/// Candidate: of a choice, or of what a boundary file keeps of one.
template <class Candidate>
ExpectedGain gain_of(const Candidate& candidate) {
  ExpectedGain gain = gain_range(candidate.gain, candidate.gain_se);
  gain.lift_low = gain_range(candidate.lift, candidate.lift_se).low;
  return gain;
}

MethodFit summary_of(const FitResult& fit, Method method, double unit) {
  MethodFit found;
  found.status = fit.solution.status;
  found.best = fit.solution.best_attainable;
  found.bound = fit.solution.bound;
  found.gap = fit.solution.gap * unit;
  found.chosen = method;
  if (fit.choice) {
    found.chosen = fit.choice->best().method;
    found.choice = chosen_by(*fit.choice);
    found.gain = gain_of(fit.choice->best());
  }
  if (fit.boundary) {
    found.rule = fit.boundary->rule;
    found.expected = fit.boundary->expected;
  }
  return found;
}

}  // namespace

/// What is counted for one bound.
class HoldoutFits::Bound {
 public:
  Bound(const HoldoutFits& all, const Objective& objective) : all_(all), objective_(objective) {}

  std::vector<double> edges(const FitOptions& options) {
    const FitOptions narrow = with_narrow_levels(options);
    std::vector<double> found;
    if (from_top(narrow)) {
      if (!near_) near_ = near_score(all_.samples_, all_.single_, objective_);
      found = top_edges(all_.samples_, *near_, levels_of(narrow));
    } else {
      found = uncertainty_edges(all_.samples_.uncertainty, all_.ranges_.uncertainty, levels_of(narrow), narrow.binning);
    }
    if (options.method != Method::kJoint) return found;
    return joint_edges(distinct(found), objective_, levels_of(options));
  }

  const Grid& distinct(const std::vector<double>& edges) {
    if (edges.empty()) return all_.single_;
    if (const auto shared = all_.distinct_.find(edges); shared != all_.distinct_.end()) return shared->second;
    const auto [found, is_new] = distinct_.try_emplace(edges);
    if (is_new) found->second = all_.count(edges);
    return found->second;
  }

  FitResult fit(const FitOptions& options) {
    if (options.method == Method::kAuto) {
      return fit_auto(all_.samples_, all_.single_, objective_, options.num_threads).fit;
    }
    if (options.method == Method::kSt) return fit_boundary(all_.single_, objective_, options);
    const Grid& every_score = distinct(edges(options));
    const auto bins = bins_of(options).count;
    return bins ? fit_boundary(merge_bins(every_score, *bins, options.binning), objective_, options)
                : fit_boundary(every_score, objective_, options);
  }

 private:
  const HoldoutFits& all_;
  Objective objective_;
  std::optional<double> near_;
  std::map<std::vector<double>, Grid> distinct_;
};

HoldoutFits::HoldoutFits(const Samples& samples, const Objective& goal, const StudyOptions& options)
    : samples_(samples),
      options_(options),
      ranges_(validate(samples)),
      units_(weight_units(samples, positive_rounding(goal))),
      single_(count_distinct(samples, {}, units_)) {
  const auto positives = static_cast<std::int64_t>(std::ranges::count(samples.label, 1));
  fewest_of_a_class_ = std::min(positives, static_cast<std::int64_t>(samples.size()) - positives);
  for (const Method method : options.methods) {
    const FitOptions fit = with_narrow_levels(fit_options_of(method, options));
    if (method == Method::kAuto || method == Method::kSt || from_top(fit)) continue;
    const std::vector<double> edges =
        uncertainty_edges(samples.uncertainty, ranges_.uncertainty, levels_of(fit), fit.binning);
    if (!edges.empty() && !distinct_.contains(edges)) distinct_.emplace(edges, count(edges));
  }
}

Grid HoldoutFits::count(const std::vector<double>& edges) const { return count_distinct(samples_, edges, units_); }

Grid HoldoutFits::surface(const Objective& objective, int levels) const {
  FitOptions options = fit_options_of(Method::kExact, options_);
  options.levels = levels;
  Bound bound(*this, objective);
  return bound.distinct(bound.edges(options));
}

std::vector<MethodFit> HoldoutFits::fit(const Objective& objective, const std::vector<Method>& methods) const {
  using Clock = std::chrono::steady_clock;
  Bound bound(*this, objective);
  std::vector<MethodFit> fits;
  for (const Method method : methods) {
    const auto start = Clock::now();
    fits.push_back(summary_of(bound.fit(fit_options_of(method, options_)), method, units_.unit));
    if (options_.timings) fits.back().seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return fits;
}

std::optional<ExpectedGain> HoldoutFits::expected_gain(const Objective& objective, Method method,
                                                       const MethodFit& fit) const {
  if (!fit.rule) return std::nullopt;
  if (fit.chosen == Method::kSt) return ExpectedGain{};
  if (fit.gain) return fit.gain;
  const auto of_candidate = [](const ChosenBy& choice, Method chosen, int levels) {
    std::optional<ExpectedGain> gain;
    for (const ChosenBy::Candidate& candidate : choice.candidates) {
      const bool is_it = candidate.method == chosen && (candidate.levels == levels || chosen != Method::kExact);
      if (is_it) gain = gain_of(candidate);
    }
    return gain;
  };
  if (fit.choice) return of_candidate(*fit.choice, fit.chosen, static_cast<int>(fit.rule->score_thresholds.size()));
  const FitOptions options = fit_options_of(method, options_);
  if (method == Method::kSmooth || method == Method::kJoint) {
    const FitResult chosen = fit_auto(samples_, single_, objective, options.num_threads).fit;
    return chosen.choice ? of_candidate(chosen_by(*chosen.choice), method, 0) : std::nullopt;
  }
  SweepOptions how;
  if (fewest_of_a_class_ < how.folds || options.monotone) return std::nullopt;
  how.levels = {levels_of(options)};
  how.bins = {bins_of(options).count};
  how.levels_from = options.levels_from;
  how.binning = options.binning;
  how.method = method;
  how.num_threads = options.num_threads;
  const SweepCell cell = sweep(samples_, objective, how).cells.front();
  return cell.gain ? std::optional(gain_range(*cell.gain, cell.gain_se)) : std::nullopt;
}

}  // namespace limen::report
