// SPDX-License-Identifier: MIT
#include "limen/judge/compare.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/judge/frontier.h"
#include "limen/solve/chain.h"

namespace limen {
namespace {

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
}

/// One method on one pair, at all bounds. The grid does not depend on the bound; weights are rounded for precision.
std::vector<Trial> run(const SamplePair& pair, const CompareOptions& options, FitOptions fit) {
  std::vector<Trial> trials;
  const Objective any_precision = max_recall_at_precision({1, 2});
  const Grid grid = make_holdout_grid(pair.holdout, any_precision, fit);
  const Grid test = count_into(grid, pair.test, weight_units(pair.test));
  const Chain chain = recount(chain_of(fit.method, grid), test);
  for (const Rational& bound : options.precision_bounds) {
    Trial trial;
    trial.solution = solve(fit.method, grid, max_recall_at_precision(bound));
    trial.gap = trial.solution->gap * grid.unit;
    const Rule rule = make_rule(grid, trial.solution->taken);
    trial.holdout = evaluate(rule, pair.holdout).total;
    trial.test = evaluate(rule, pair.test).total;
    trial.matched_recall = matched_recall(chain, totals_of(test).positives_low, bound);
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace

double paired_t_test(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) {
    throw InvalidInput("paired_t_test: needs two or more pairs, got " + std::to_string(a.size()) + " and " +
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
  throw InvalidInput("compare_methods: the " + std::string(table) + " of pair " + std::to_string(pair + 1) +
                     " has no " + (samples.weight.empty() ? "rows" : "weight") +
                     " in one of the classes; both are needed");
}

std::vector<MethodSummary> compare_in_arena(std::span<const SamplePair> pairs, const CompareOptions& options) {
  if (pairs.empty()) throw InvalidInput("compare_methods: there are no hold-out/test pairs");
  if (options.methods.empty()) throw InvalidInput("compare_methods: there are no methods");
  if (options.precision_bounds.empty()) throw InvalidInput("compare_methods: there are no precision bounds");
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
  for (std::size_t method = 0; method < num_methods; ++method) {
    FitOptions fit = options.fit;
    fit.method = options.methods[method];
    // `--bins` speaks of the 2-D methods: the single threshold they are held against is the best one there is.
    if (fit.method == Method::kSt) fit.bins = std::nullopt;
    for (const SamplePair& pair : pairs) {
      std::vector<Trial> trials = run(pair, options, fit);
      for (std::size_t bound = 0; bound < num_bounds; ++bound) {
        MethodSummary& summary = summaries[bound * num_methods + method];
        summary.method = fit.method;
        summary.bound = options.precision_bounds[bound];
        summary.trials.push_back(std::move(trials[bound]));
      }
    }
  }
  for (std::size_t bound = 0; bound < num_bounds; ++bound) {
    const std::span<MethodSummary> rows(summaries.data() + bound * num_methods, num_methods);
    const MethodSummary* st = nullptr;
    for (MethodSummary& summary : rows) {
      summarize(summary);
      if (summary.method == Method::kSt) st = &summary;
    }
    if (st == nullptr || pairs.size() < 2) continue;
    for (MethodSummary& summary : rows) {
      if (summary.method == Method::kSt) continue;
      summary.p_value_recall = paired_t_test(collect(summary.trials, test_recall), collect(st->trials, test_recall));
      summary.p_value_matched =
          paired_t_test(collect(summary.trials, recall_when_matched), collect(st->trials, recall_when_matched));
    }
  }
  return summaries;
}

}  // namespace

std::vector<MethodSummary> compare_methods(std::span<const SamplePair> pairs, const CompareOptions& options) {
  validate(options.fit);
  tbb::task_arena arena(detail::arena_size(options.fit.num_threads));
  return arena.execute([&] { return compare_in_arena(pairs, options); });
}

}  // namespace limen
