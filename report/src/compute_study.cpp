// SPDX-License-Identifier: MIT
//
// 1. Count the hold-out, choose the bounds.
// 2. Fit every method, and certify the first one, at every bound, in parallel.
// 3. Rules that are equal become one; each is counted once on the hold-out and once on the test rows.
// 4. Cells, gains, swap sets and sentences from these counts.
// 5. What there is but once: map, frontier, sweep, calibration, bias.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <map>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/report/decision.h"
#include "limen/report/study.h"
#include "study_bounds.h"
#include "study_certification.h"
#include "study_fits.h"
#include "study_head.h"
#include "study_pictures.h"

namespace limen::report {
namespace {

/// Rules, each once, in the order in which they were first asked for.
class RuleBook {
 public:
  std::size_t add(const Rule& rule) {
    const auto [found, is_new] = index_.try_emplace({rule.uncertainty_edges, rule.score_thresholds}, rules.size());
    if (is_new) rules.push_back(rule);
    return found->second;
  }

  std::vector<Rule> rules;

 private:
  std::map<std::pair<std::vector<double>, std::vector<std::optional<double>>>, std::size_t> index_;
};

/// What every rule decides, on both tables.
struct RuleCounts {
  std::vector<Confusion> holdout;
  std::vector<std::optional<Confusion>> test;
};

/// What was found at one bound, before rules are counted.
struct AtBound {
  std::vector<MethodFit> fits;
  std::optional<ExpectedGain> expected_gain;
  std::optional<CertifiedRule> certified;
};

/// The decision's method first, then as docs/study.md lists them; one threshold is always there.
std::vector<Method> ordered_methods(const std::vector<Method>& asked) {
  std::vector<Method> methods = {asked.front()};
  for (const Method method : {Method::kAuto, Method::kSt, Method::kExact, Method::kSmooth, Method::kJoint, Method::kHr,
                              Method::kGmt, Method::kMist, Method::kEwDpmt, Method::kVwDpmt}) {
    const bool wanted = method == Method::kSt || std::ranges::find(asked, method) != asked.end();
    if (wanted && method != methods.front()) methods.push_back(method);
  }
  return methods;
}

StudyTable table_of(const Samples& samples, const TableName& name) {
  const Confusion all = evaluate(Rule{{}, {std::nullopt}}, samples).total;
  return {name.name, static_cast<std::int64_t>(samples.size()), all.positives, !samples.weight.empty(),
          name.rows_dropped};
}

CellStatus status_of(const MethodFit& fit) {
  switch (fit.status) {
    case SolveStatus::kOptimal:
      return CellStatus::kOptimal;
    case SolveStatus::kInfeasible:
      return CellStatus::kInfeasible;
    default:
      break;
  }
  const bool searches = fit.chosen == Method::kExact || fit.chosen == Method::kJoint || fit.chosen == Method::kVwDpmt;
  return searches ? CellStatus::kLimit : CellStatus::kFeasible;
}

double reached(const Objective& objective, const Confusion& counts) {
  return objective.goal == Goal::kRecall ? counts.precision() : counts.recall();
}

std::optional<double> relative_gain(double value, double base) {
  return base > 0 ? std::optional(value / base - 1) : std::nullopt;
}

StudyCell cell_of(const MethodFit& fit, RuleBook& book) {
  StudyCell cell;
  cell.status = status_of(fit);
  cell.chosen = fit.chosen;
  cell.seconds = fit.seconds;
  if (!fit.rule) {
    cell.best = fit.best;
    return cell;
  }
  cell.levels = static_cast<int>(fit.rule->score_thresholds.size());
  cell.rule = book.add(*fit.rule);
  cell.expected = fit.expected;
  return cell;
}

/// The rule that the caller brought in place of a fit at the bound that was asked for.
MethodFit given_fit(const Boundary& boundary) {
  MethodFit fit;
  fit.status = boundary.holdout.optimal ? SolveStatus::kOptimal : SolveStatus::kFeasible;
  fit.chosen = boundary.method;
  fit.rule = boundary.rule;
  fit.expected = boundary.expected;
  fit.choice = boundary.chosen_by;
  return fit;
}

/// Fills in what the counts of its rule say.
void count_cell(StudyCell& cell, const Objective& objective, const MethodFit& fit, const RuleCounts& counts,
                bool is_given) {
  if (!cell.rule) {
    cell.holdout = counts.holdout.back();  // the last rule flags nothing
    cell.test = counts.test.back();
    return;
  }
  cell.holdout = counts.holdout[*cell.rule];
  cell.test = counts.test[*cell.rule];
  if (is_given) return;
  cell.gap = objective.goal == Goal::kRecall ? fit.gap : fit.gap / std::max(cell.holdout.positives, 1e-300);
  cell.value_bound = reached(objective, cell.holdout) + *cell.gap;
}

std::vector<std::optional<Swaps>> swaps_of(const Samples& rows, const Study& study) {
  std::vector<std::optional<Swaps>> swaps(study.bounds.size());
  if (!rows.weight.empty()) return {};
  const auto single = std::ranges::find(study.methods, Method::kSt, &StudyMethod::method);
  tbb::parallel_for(std::size_t{0}, study.bounds.size(), [&](std::size_t bound) {
    const auto& first = single->at[bound].rule;
    const auto& second = study.methods.front().at[bound].rule;
    if (!first || !second || *first == *second) return;
    swaps[bound] = find_swaps(study.rules[*first], study.rules[*second], rows.score, rows.uncertainty, rows.label);
  });
  return swaps;
}

std::vector<AtBound> fit_bounds(const Samples& holdout, const Study& study, const HoldoutFits& fits,
                                const std::vector<Method>& methods, const StudyOptions& options) {
  std::vector<AtBound> found(study.bounds.size());
  const auto fit = [&](std::size_t bound) {
    const Objective objective = objective_at(study, bound);
    AtBound& at = found[bound];
    at.fits = fits.fit(objective, methods);
    if (options.boundary && bound == study.start) at.fits.front() = given_fit(*options.boundary);
    at.expected_gain = fits.expected_gain(objective, methods.front(), at.fits.front());
    if (options.certified_confidence) at.certified = certify_at(holdout, objective, options);
  };
  // Counts of many rows at several bounds at once would need much memory, and their own loops are parallel.
  constexpr std::size_t kManyRows = std::size_t{1} << 21;
  if (options.timings || holdout.size() > kManyRows) {
    for (std::size_t bound = 0; bound < found.size(); ++bound) fit(bound);
  } else {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, found.size(), 1),
        [&](const auto& bounds) {
          for (std::size_t bound = bounds.begin(); bound < bounds.end(); ++bound) fit(bound);
        },
        tbb::simple_partitioner());
  }
  return found;
}

RuleCounts count_rules(const std::vector<Rule>& rules, const Samples& holdout, const Samples* test) {
  RuleCounts counts{std::vector<Confusion>(rules.size()), std::vector<std::optional<Confusion>>(rules.size())};
  tbb::parallel_for(std::size_t{0}, rules.size(), [&](std::size_t at) {
    counts.holdout[at] = evaluate(rules[at], holdout).total;
    if (test != nullptr) counts.test[at] = evaluate(rules[at], *test).total;
  });
  return counts;
}

void add_gains(Study& study) {
  const StudyMethod single = *std::ranges::find(study.methods, Method::kSt, &StudyMethod::method);
  for (StudyMethod& method : study.methods) {
    for (std::size_t bound = 0; bound < study.bounds.size(); ++bound) {
      StudyCell& cell = method.at[bound];
      const StudyCell& base = single.at[bound];
      if (!cell.rule || !base.rule) continue;
      const Objective objective = objective_at(study, bound);
      cell.holdout_gain = relative_gain(reached(objective, cell.holdout), reached(objective, base.holdout));
      if (cell.test) cell.test_gain = relative_gain(reached(objective, *cell.test), reached(objective, *base.test));
    }
  }
}

void add_decisions(Study& study, const StudyOptions& options) {
  const auto single = std::ranges::find(study.methods, Method::kSt, &StudyMethod::method);
  for (std::size_t bound = 0; bound < study.bounds.size(); ++bound) {
    DecisionFacts facts;
    facts.objective = objective_at(study, bound);
    facts.method = study.methods.front().method;
    facts.cell = study.methods.front().at[bound];
    facts.single = single->at[bound];
    facts.expected = study.expected_gain[bound];
    if (!study.certification.empty()) facts.certification = &study.certification[bound];
    if (options.boundary && bound == study.start) facts.guarantee = options.boundary->guarantee;
    study.decision.push_back(decision_in_words(facts));
  }
}

Study compute(const Samples& holdout, const Samples* test, const StudyOptions& options) {
  Study study = head_of(options);
  study.holdout = table_of(holdout, options.holdout);
  if (test != nullptr) study.test = table_of(*test, options.test);
  const HoldoutFits fits(holdout, options.objective, options);
  const Counts total = total_counts(fits.single());
  if (total.positives == 0 || total.positives == total.rows) {
    throw InvalidInput(kFunction, "the hold-out has rows of one class only; both are needed", Cause::kOneClass);
  }
  study.bounds = study_bounds(fits.single(), options.objective, options.bounds,
                              highest_precision(fits, options.objective, options));
  study.start =
      static_cast<std::size_t>(std::ranges::find(study.bounds, options.objective.bound) - study.bounds.begin());

  const std::vector<Method> methods = ordered_methods(options.methods);
  const std::vector<AtBound> found = fit_bounds(holdout, study, fits, methods, options);
  RuleBook book;
  for (std::size_t at = 0; at < methods.size(); ++at) {
    StudyMethod& method = study.methods.emplace_back();
    method.method = methods[at];
    const FitOptions fit = fit_options_of(methods[at], options);
    if (methods[at] != Method::kAuto) method.levels = levels_of(fit);
    method.bins = methods[at] == Method::kAuto ? std::nullopt : bins_of(fit).count;
    for (std::size_t bound = 0; bound < found.size(); ++bound) {
      method.at.push_back(cell_of(found[bound].fits[at], book));
    }
  }
  for (const AtBound& at : found) {
    study.expected_gain.push_back(at.expected_gain);
    study.choice.push_back(at.fits.front().choice);
    if (!at.certified) continue;
    study.certification.push_back(at.certified->certification);
    if (at.certified->rule) study.certification.back().rule = book.add(*at.certified->rule);
  }

  std::vector<Rule> counted = book.rules;
  counted.push_back({{}, {std::nullopt}});
  const RuleCounts counts = count_rules(counted, holdout, test);
  study.rules = std::move(book.rules);
  for (std::size_t at = 0; at < methods.size(); ++at) {
    for (std::size_t bound = 0; bound < found.size(); ++bound) {
      count_cell(study.methods[at].at[bound], objective_at(study, bound), found[bound].fits[at], counts,
                 at == 0 && options.boundary && bound == study.start);
    }
  }
  for (StudyCertification& certification : study.certification) {
    const std::size_t rule = certification.rule.value_or(counted.size() - 1);
    certification.holdout = counts.holdout[rule];
    certification.test = counts.test[rule];
  }
  add_gains(study);
  add_decisions(study, options);
  study.swaps = swaps_of(test != nullptr ? *test : holdout, study);
  add_pictures(study, holdout, test, fits, options);
  return study;
}

}  // namespace

Study compute_study(const Samples& holdout, const Samples* test, const StudyOptions& options) {
  validate(options);
  if (holdout.size() == 0) throw InvalidInput(kFunction, "there are no rows", Cause::kNoRows);
  if (!holdout.weight.empty() && std::ranges::find(options.methods, Method::kVwDpmt) != options.methods.end()) {
    throw InvalidInput(kFunction, "vw-dpmt takes no weights; leave it out of the methods");
  }
  tbb::task_arena arena(limen::detail::arena_size(options.num_threads));
  return arena.execute([&] { return compute(holdout, test, options); });
}

}  // namespace limen::report
