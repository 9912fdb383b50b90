// SPDX-License-Identifier: MIT
#include "limen/judge/compare.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/judge/frontier.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"
#include "solve/certificate.h"

namespace limen {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Sample standard deviation; 0 for fewer than two values.
double sd_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

template <typename Figure>
std::vector<double> collect(const std::vector<Trial>& trials, Figure figure) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const Trial& trial : trials) values.push_back(figure(trial));
  return values;
}

double test_recall(const Trial& trial) { return trial.test.recall(); }
double recall_when_matched(const Trial& trial) { return trial.matched_recall; }

void summarize(MethodSummary& summary) {
  const auto& trials = summary.trials;
  summary.mean_holdout_precision = mean_of(collect(trials, [](const Trial& t) { return t.holdout.precision(); }));
  summary.mean_holdout_recall = mean_of(collect(trials, [](const Trial& t) { return t.holdout.recall(); }));
  summary.mean_test_precision = mean_of(collect(trials, [](const Trial& t) { return t.test.precision(); }));
  summary.mean_test_recall = mean_of(collect(trials, test_recall));
  summary.sd_test_recall = sd_of(collect(trials, test_recall));
  summary.mean_matched_recall = mean_of(collect(trials, recall_when_matched));
  summary.sd_matched_recall = sd_of(collect(trials, recall_when_matched));
  for (const Trial& trial : trials) {
    if (trial.test.flagged > 0 && trial.test.precision() < summary.bound.to_double()) ++summary.missed;
  }
}

/// A pair, counted once for all levels and bins that the methods ask for. Weights are rounded for precision, whatever
/// its bound.
class PairCounts {
 public:
  struct Counted {
    Grid holdout;
    Grid test;  ///< in the bins of the hold-out
  };

  PairCounts(const SamplePair& pair, Binning binning) : pair_(pair), binning_(binning) {}

  const Counted& counted(const std::vector<double>& edges, const BinCount& bins) {
    const auto [found, is_new] = counted_.try_emplace({edges, bins.count});
    if (is_new) {
      const Counted& all = every_score(edges);
      Grid holdout = bins.count ? merge_bins(all.holdout, *bins.count, binning_) : all.holdout;
      Grid test = count_into(holdout, all.test);
      found->second = {std::move(holdout), std::move(test)};
    }
    return found->second;
  }

 private:
  /// Every distinct score of both tables, each in bins of its own.
  const Counted& every_score(const std::vector<double>& edges) {
    const auto [found, is_new] = every_score_.try_emplace(edges);
    if (is_new) {
      found->second = {count_distinct(pair_.holdout, edges, weight_units(pair_.holdout)),
                       count_distinct(pair_.test, edges, weight_units(pair_.test))};
    }
    return found->second;
  }

  const SamplePair& pair_;
  Binning binning_;
  std::map<std::vector<double>, Counted> every_score_;
  std::map<std::pair<std::vector<double>, std::optional<std::int64_t>>, Counted> counted_;
};

/// What a boundary flags, from counts; weights, which were rounded for the grid, are added up again.
Confusion confusion_of(const Samples& samples, const Grid& grid, const Grid& bins,
                       const std::vector<std::int32_t>& taken) {
  if (!samples.weight.empty()) return evaluate(make_rule(bins, taken), samples).total;
  const Totals totals = totals_of(grid);
  return confusion_of_counts({totals.rows_low, totals.positives_low}, flagged_counts(grid, taken));
}

/// `smooth`, whose rule is not made of the grid's own bins.
Trial try_smooth(const SamplePair& pair, const PairCounts::Counted& counted, const Rational& bound) {
  const auto& [holdout, test] = counted;
  const auto start = Clock::now();
  const Problem problem(holdout, max_recall_at_precision(bound));
  const SmoothFit smooth(holdout, problem.objective());
  const Chain chain = smooth.chain();
  Trial trial;
  trial.solution = detail::solve_on_chain(problem, chain);
  const Rule rule{holdout.edges, smooth.thresholds(trial.solution->taken)};
  trial.seconds = seconds_since(start);
  const bool feasible = trial.solution->status != SolveStatus::kInfeasible;
  trial.holdout = pair.holdout.weight.empty() || !feasible
                      ? confusion_of(pair.holdout, holdout, holdout, trial.solution->taken)
                      : evaluate(rule, pair.holdout).total;
  trial.test =
      feasible ? evaluate(rule, pair.test).total : confusion_of(pair.test, test, holdout, trial.solution->taken);
  trial.matched_recall = matched_recall(recount(chain, test), totals_of(test).positives_low, bound);
  return trial;
}

/// Any other method. chain: its own, with the counts of the test table.
Trial try_method(const SamplePair& pair, const PairCounts::Counted& counted, Method method, const Chain& chain,
                 const Rational& bound) {
  const auto& [holdout, test] = counted;
  Trial trial;
  const auto start = Clock::now();
  trial.solution = solve(method, holdout, max_recall_at_precision(bound));
  trial.seconds = seconds_since(start);
  trial.holdout = confusion_of(pair.holdout, holdout, holdout, trial.solution->taken);
  trial.test = confusion_of(pair.test, test, holdout, trial.solution->taken);
  trial.matched_recall = matched_recall(chain, totals_of(test).positives_low, bound);
  return trial;
}

/// One method on one pair, at all bounds.
std::vector<Trial> run(const SamplePair& pair, PairCounts& counts, Method method, const CompareOptions& options) {
  std::vector<Trial> trials;
  // The chain does not depend on the bound, unless the levels do.
  const PairCounts::Counted* chain_of_counted = nullptr;
  Chain chain;
  for (const Rational& bound : options.precision_bounds) {
    const Objective objective = max_recall_at_precision(bound);
    FitOptions fit = options.fit;
    fit.method = method;
    std::vector<double> edges;
    FitResult chosen;
    std::optional<double> choosing;
    if (method == Method::kAuto) {
      fit.levels = std::nullopt;
      fit.bins = std::nullopt;
      const auto start = Clock::now();
      chosen = fit_boundary(pair.holdout, objective, fit);
      choosing = seconds_since(start);
      fit.method = chosen.boundary ? chosen.boundary->method : Method::kSt;
      if (chosen.boundary) edges = chosen.boundary->rule.uncertainty_edges;
    } else {
      edges = level_edges(pair.holdout, objective, fit);
    }
    // `bins` speak of the 2-D methods: the single threshold they are held against is the best one there is.
    if (fit.method == Method::kSt) fit.bins = std::nullopt;
    const PairCounts::Counted& counted = counts.counted(edges, bins_of(fit));
    if (fit.method == Method::kSmooth) {
      trials.push_back(try_smooth(pair, counted, bound));
    } else {
      if (chain_of_counted != &counted) chain = recount(chain_of(fit.method, counted.holdout), counted.test);
      chain_of_counted = &counted;
      trials.push_back(try_method(pair, counted, fit.method, chain, bound));
    }
    Trial& trial = trials.back();
    if (chosen.boundary) {
      // `auto` may stop earlier than the best boundary of the method it chose.
      trial.solution = chosen.solution;
      trial.holdout = evaluate(chosen.boundary->rule, pair.holdout).total;
      trial.test = evaluate(chosen.boundary->rule, pair.test).total;
    }
    trial.method = fit.method;
    if (choosing) trial.seconds = choosing;
    if (!options.timings) trial.seconds = std::nullopt;
    trial.gap = trial.solution->gap * counted.holdout.unit;
  }
  return trials;
}

}  // namespace

double paired_t_test(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) {
    throw InvalidInput("paired_t_test", "needs two or more pairs, got " + std::to_string(a.size()) + " and " +
                                            std::to_string(b.size()) + " values");
  }
  std::vector<double> difference;
  for (std::size_t pair = 0; pair < a.size(); ++pair) difference.push_back(a[pair] - b[pair]);
  const double mean = mean_of(difference);
  const double sd = sd_of(difference);
  const bool equal = std::all_of(difference.begin(), difference.end(), [&](double d) { return d == difference[0]; });
  if (equal || sd == 0) return mean > 0 ? 0 : (mean < 0 ? 1 : 0.5);
  const double n = static_cast<double>(difference.size());
  const boost::math::students_t distribution(n - 1);
  return boost::math::cdf(boost::math::complement(distribution, mean / (sd / std::sqrt(n))));
}

namespace {

void check_classes(const Samples& samples, const char* table, std::size_t pair) {
  double weight[2] = {0, 0};
  for (std::size_t row = 0; row < samples.size(); ++row) {
    weight[samples.label[row]] += samples.weight.empty() ? 1 : samples.weight[row];
  }
  if (weight[0] > 0 && weight[1] > 0) return;
  throw InvalidInput("compare_methods", "the " + std::string(table) + " of pair " + std::to_string(pair + 1) +
                                            " has no " + (samples.weight.empty() ? "rows" : "weight") +
                                            " in one of the classes; both are needed");
}

std::vector<MethodSummary> compare_in_arena(std::span<const SamplePair> pairs, const CompareOptions& options) {
  if (pairs.empty()) throw InvalidInput("compare_methods", "there are no hold-out/test pairs");
  if (options.methods.empty()) throw InvalidInput("compare_methods", "there are no methods");
  if (options.precision_bounds.empty()) throw InvalidInput("compare_methods", "there are no precision bounds");
  for (const Rational& bound : options.precision_bounds) validate(max_recall_at_precision(bound));
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    validate(pairs[pair].holdout);
    validate(pairs[pair].test);
    check_classes(pairs[pair].holdout, "hold-out", pair);
    check_classes(pairs[pair].test, "test", pair);
  }

  const std::size_t num_methods = options.methods.size();
  const std::size_t num_bounds = options.precision_bounds.size();
  std::vector<MethodSummary> summaries(num_bounds * num_methods);
  for (const SamplePair& pair : pairs) {
    PairCounts counts(pair, options.fit.binning);
    for (std::size_t method = 0; method < num_methods; ++method) {
      std::vector<Trial> trials = run(pair, counts, options.methods[method], options);
      for (std::size_t bound = 0; bound < num_bounds; ++bound) {
        MethodSummary& summary = summaries[bound * num_methods + method];
        summary.method = options.methods[method];
        summary.bound = options.precision_bounds[bound];
        summary.trials.push_back(std::move(trials[bound]));
      }
    }
  }
  for (std::size_t bound = 0; bound < num_bounds; ++bound) {
    summarize_trials({summaries.data() + bound * num_methods, num_methods});
  }
  return summaries;
}

}  // namespace

void summarize_trials(std::span<MethodSummary> methods) {
  const MethodSummary* st = nullptr;
  for (MethodSummary& summary : methods) {
    summarize(summary);
    if (summary.method == Method::kSt) st = &summary;
  }
  if (st == nullptr || st->trials.size() < 2) return;
  for (MethodSummary& summary : methods) {
    if (summary.method == Method::kSt) continue;
    summary.p_value_recall = paired_t_test(collect(summary.trials, test_recall), collect(st->trials, test_recall));
    summary.p_value_matched =
        paired_t_test(collect(summary.trials, recall_when_matched), collect(st->trials, recall_when_matched));
  }
}

std::vector<MethodSummary> compare_methods(std::span<const SamplePair> pairs, const CompareOptions& options) {
  validate(options.fit);
  tbb::task_arena arena(detail::arena_size(options.fit.num_threads));
  return arena.execute([&] { return compare_in_arena(pairs, options); });
}

}  // namespace limen
