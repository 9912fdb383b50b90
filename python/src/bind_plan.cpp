// SPDX-License-Identifier: MIT
#include "bind.h"
#include "limen/judge/paired.h"
#include "limen/promise/bootstrap.h"
#include "limen/promise/plan.h"

namespace limen::python {
namespace {

nb::tuple pair_of(const Interval& interval) { return nb::make_tuple(interval.low, interval.high); }

nb::object pair_of(const std::optional<Interval>& interval) {
  return interval ? nb::object(pair_of(*interval)) : nb::none();
}

nb::object or_none(const std::optional<double>& value) { return value ? nb::object(nb::float_(*value)) : nb::none(); }

// Dictionaries have the members of the program's JSON.

nb::dict dict_of(const PlannedTest& test) {
  nb::dict result;
  result["trials"] = test.trials;
  result["successes"] = test.successes;
  result["power"] = test.power;
  result["rows"] = test.rows;
  result["interval"] = pair_of(test.interval);
  return result;
}

nb::object dict_of(const std::optional<PlannedThreshold>& found) {
  if (!found) return nb::none();
  nb::dict result;
  result["threshold"] = found->threshold;
  result["flag_rate"] = found->flag_rate;
  result["precision"] = found->precision;
  result["recall"] = found->recall;
  result["false_positive_rate"] = found->false_positive_rate;
  result["value"] = found->value;
  result["test"] = found->test ? nb::object(dict_of(*found->test)) : nb::none();
  return result;
}

PlanOptions plan_options(double confidence, double power, double learning_share, int num_threads) {
  return {.confidence = confidence, .power = power, .learning_share = learning_share, .num_threads = num_threads};
}

nb::object plan_assumed(const std::string& goal, const std::vector<Fraction>& numbers, double expected,
                        double trial_rate, double confidence, double power, double learning_share) {
  const auto test =
      plan_test(objective_of(goal, numbers), expected, trial_rate, plan_options(confidence, power, learning_share, 0));
  return test ? nb::object(dict_of(*test)) : nb::none();
}

nb::dict plan_table(const Table& table, const std::string& goal, const std::vector<Fraction>& numbers,
                    const std::vector<std::int64_t>& more_rows, const std::vector<double>& losses, double confidence,
                    double power, double learning_share, int num_threads) {
  const Objective objective = objective_of(goal, numbers);
  const PlanOptions options = plan_options(confidence, power, learning_share, num_threads);
  const Samples samples = samples_of(table);
  const Plan plan = without_gil([&] { return plan_rows(samples, objective, more_rows, losses, options); });
  nb::dict result;
  result["rows"] = plan.rows;
  result["positives"] = plan.positives;
  result["best_attainable"] = plan.best_attainable;
  result["uncertified"] = dict_of(plan.uncertified);
  result["cheapest"] = dict_of(plan.cheapest);
  nb::list reach;
  for (const PlannedReach& entry : plan.reach) reach.append(nb::make_tuple(entry.rows, dict_of(entry.threshold)));
  result["reach"] = reach;
  nb::list within;
  for (const PlannedLoss& entry : plan.losses) within.append(nb::make_tuple(entry.loss, dict_of(entry.threshold)));
  result["within"] = within;
  return result;
}

BootstrapOptions bootstrap_options(int replicates, double confidence, std::uint64_t seed, int num_threads) {
  BootstrapOptions options;
  options.replicates = replicates;
  options.confidence = confidence;
  options.seed = seed;
  options.num_threads = num_threads;
  return options;
}

nb::dict dict_of(const ThresholdInterval& interval) {
  nb::dict result;
  result["low"] = or_none(interval.low);
  result["high"] = or_none(interval.high);
  result["never"] = interval.never;
  return result;
}

nb::dict bootstrap(const Boundary& boundary, const Table& table, int replicates, double confidence, std::uint64_t seed,
                   int num_threads) {
  const BootstrapOptions options = bootstrap_options(replicates, confidence, seed, num_threads);
  const Samples samples = samples_of(table);
  const BootstrapFit found = without_gil([&] { return bootstrap_fit(samples, boundary, options); });
  nb::list thresholds;
  for (const ThresholdInterval& level : found.thresholds) thresholds.append(dict_of(level));
  nb::dict result;
  result["replicates"] = found.replicates;
  result["infeasible"] = found.infeasible;
  result["precision"] = pair_of(found.precision);
  result["recall"] = pair_of(found.recall);
  result["flag_rate"] = pair_of(found.flag_rate);
  result["gain"] = pair_of(found.gain);
  result["gain_left_out"] = pair_of(found.gain_left_out);
  result["single_threshold"] = dict_of(found.single);
  result["score_thresholds"] = thresholds;
  return result;
}

nb::list frontier_bands(const Table& table, const std::vector<Fraction>& bounds, int levels, const std::string& binning,
                        int replicates, double confidence, std::uint64_t seed, int num_threads) {
  const FitOptions fit = fit_options("exact", levels, std::nullopt, binning, num_threads);
  const BootstrapOptions options = bootstrap_options(replicates, confidence, seed, num_threads);
  std::vector<Rational> precision_bounds;
  for (const Fraction& bound : bounds) precision_bounds.push_back(rational_of(bound));
  const Samples samples = samples_of(table);
  const auto bands = without_gil([&] {
    return bootstrap_frontier(samples, level_edges(samples, max_recall_at_precision({1, 2}), fit), precision_bounds,
                              options);
  });
  nb::list result;
  for (const FrontierBand& band : bands) {
    nb::dict entry;
    entry["recall_interval"] = pair_of(band.recall);
    entry["st_recall_interval"] = pair_of(band.single);
    entry["gain_interval"] = pair_of(band.gain);
    result.append(entry);
  }
  return result;
}

nb::object dict_of(const std::optional<PairedDifference>& figure) {
  if (!figure) return nb::none();
  nb::dict result;
  result["first"] = figure->first;
  result["second"] = figure->second;
  result["difference"] = figure->difference;
  result["interval"] = pair_of(figure->interval);
  result["p_value"] = figure->p_value;
  return result;
}

nb::dict compare_decisions(const LabelArray& first, const LabelArray& second, const LabelArray& label,
                           double confidence, const std::string& first_name, const std::string& second_name) {
  const auto span = [](const LabelArray& array) { return std::span<const std::uint8_t>(array.data(), array.size()); };
  const PairedComparison found =
      without_gil([&] { return compare_pairs(count_pairs(span(first), span(second), span(label)), confidence); });
  const auto counts = [](const Counts& kind) { return nb::make_tuple(kind.rows, kind.positives); };
  nb::dict result;
  result["both"] = counts(found.counts.both);
  result["first_only"] = counts(found.counts.first_only);
  result["second_only"] = counts(found.counts.second_only);
  result["neither"] = counts(found.counts.neither);
  result["recall"] = dict_of(found.recall);
  result["precision"] = dict_of(found.precision);
  result["false_positive_rate"] = dict_of(found.false_positive_rate);
  result["verdict"] = verdict(found, first_name, second_name);
  return result;
}

}  // namespace

void bind_plan(nb::module_& module) {
  module.def("plan_assumed", &plan_assumed, nb::arg("goal"), nb::arg("numbers"), nb::arg("expected"),
             nb::arg("trial_rate"), nb::arg("confidence"), nb::arg("power"), nb::arg("learning_share"));
  module.def("plan_table", &plan_table, nb::arg("table").noconvert(), nb::arg("goal"), nb::arg("numbers"),
             nb::arg("more_rows"), nb::arg("losses"), nb::arg("confidence"), nb::arg("power"),
             nb::arg("learning_share"), nb::arg("num_threads"));
  module.def("bootstrap", &bootstrap, nb::arg("boundary"), nb::arg("table").noconvert(), nb::arg("replicates"),
             nb::arg("confidence"), nb::arg("seed"), nb::arg("num_threads"));
  module.def("frontier_bands", &frontier_bands, nb::arg("table").noconvert(), nb::arg("bounds"), nb::arg("levels"),
             nb::arg("binning"), nb::arg("replicates"), nb::arg("confidence"), nb::arg("seed"), nb::arg("num_threads"));
  module.def("compare_decisions", &compare_decisions, nb::arg("first").noconvert(), nb::arg("second").noconvert(),
             nb::arg("label").noconvert(), nb::arg("confidence"), nb::arg("first_name"), nb::arg("second_name"));
}

}  // namespace limen::python
