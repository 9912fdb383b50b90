// SPDX-License-Identifier: MIT
#include "limen/judge/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <memory>

#include "limen/base/error.h"
#include "options.h"
#include "report_page.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct CompareFlags {
  std::vector<std::string> holdout;
  std::vector<std::string> test;
  std::string precision;
  std::string methods = "all";
  BinningFlags binning;
  std::string levels_from = "top";
  TableFlags table;
  std::string report;
  bool timings = false;
  bool json = false;
};

std::string with_sd(double mean, double sd, bool several) {
  return several ? fmt::format("{:.4f} +-{:.4f}", mean, sd) : ratio_text(mean);
}

/// A figure of one test table with its exact 95% interval.
std::string with_interval(double value, const Interval& interval) {
  return fmt::format("{} [{:.3f}, {:.3f}]", ratio_text(value), interval.low, interval.high);
}

std::string gap_text(const MethodSummary& summary) {
  double gap = 0;
  for (const Trial& trial : summary.trials) {
    if (trial.solution->status == SolveStatus::kInfeasible) return "infeasible";
    gap = std::max(gap, trial.gap);
  }
  return gap == 0 ? "proved" : fmt::format("<= {:g}", gap);
}

void print_text(const std::vector<MethodSummary>& summaries, std::size_t num_methods, std::size_t num_pairs) {
  const bool several = num_pairs > 1;
  for (std::size_t first = 0; first < summaries.size(); first += num_methods) {
    const MethodSummary* st = nullptr;
    for (std::size_t at = first; at < first + num_methods; ++at) {
      if (summaries[at].method == Method::kSt) st = &summaries[at];
    }
    fmt::print("{}precision >= {:g}{}\n", first == 0 ? "" : "\n", summaries[first].bound.to_double(),
               several ? fmt::format(", mean +- sd of {} pairs", num_pairs) : "");
    std::vector<std::vector<std::string>> rows = {
        {"method", "hold-out prec.", "recall", "gap", "test prec.", "recall", "matched recall", "gain over st"}};
    if (!several) rows[0][4] = "test prec. [95%]", rows[0][5] = "recall [95%]";
    if (several) rows[0].insert(rows[0].end(), {"p (recall)", "p (matched)", "missed"});
    for (std::size_t at = first; at < first + num_methods; ++at) {
      const MethodSummary& summary = summaries[at];
      const std::string gap = gap_text(summary);
      const bool found = several || gap != "infeasible";
      const auto figure = [&](double mean) { return found ? ratio_text(mean) : std::string("-"); };
      std::vector<std::string> row = {
          std::string(to_string(summary.method)),
          figure(summary.mean_holdout_precision),
          figure(summary.mean_holdout_recall),
          gap,
          figure(summary.mean_test_precision),
          found ? with_sd(summary.mean_test_recall, summary.sd_test_recall, several) : "-",
          with_sd(summary.mean_matched_recall, summary.sd_matched_recall, several),
          st == nullptr || st == &summary ? "-" : gain_text(summary.mean_matched_recall, st->mean_matched_recall)};
      if (!several && found) {
        const Confusion& test = summary.trials[0].test;
        if (test.flagged > 0) row[4] = with_interval(test.precision(), test.precision_interval());
        row[5] = with_interval(test.recall(), test.recall_interval());
      }
      if (several) {
        row.push_back(summary.p_value_recall ? fmt::format("{:.2g}", *summary.p_value_recall) : "-");
        row.push_back(summary.p_value_matched ? fmt::format("{:.2g}", *summary.p_value_matched) : "-");
        row.push_back(std::to_string(summary.missed));
      }
      rows.push_back(std::move(row));
    }
    fmt::print("{}", table_text(rows));
  }
  fmt::print(
      "\nmatched recall: recall on test at a test precision equal to the bound, along the order each\n"
      "method learned on the hold-out; gain over st compares it. gap: true positives by which the best\n"
      "boundary on the same hold-out grid can be better at most.{}\n",
      several ? " missed: pairs whose test precision is\nbelow the bound." : "");
}

Json json_of(const MethodSummary& summary) {
  Json trials = Json::array();
  const auto interval = [](const Interval& ends) { return Json({ends.low, ends.high}); };
  for (const Trial& trial : summary.trials) {
    trials.push_back({{"method", to_string(trial.method)},
                      {"status", trial.solution->status == SolveStatus::kOptimal    ? "optimal"
                                 : trial.solution->status == SolveStatus::kFeasible ? "feasible"
                                                                                    : "infeasible"},
                      {"gap", trial.gap},
                      {"holdout_flagged", trial.holdout.flagged},
                      {"holdout_true_positives", trial.holdout.true_positives},
                      {"holdout_precision", trial.holdout.precision()},
                      {"holdout_recall", trial.holdout.recall()},
                      {"test_flagged", trial.test.flagged},
                      {"test_true_positives", trial.test.true_positives},
                      {"test_precision", trial.test.precision()},
                      {"test_precision_interval", interval(trial.test.precision_interval())},
                      {"test_recall", trial.test.recall()},
                      {"test_recall_interval", interval(trial.test.recall_interval())},
                      {"matched_recall", trial.matched_recall}});
    if (trial.seconds) trials.back()["seconds"] = *trial.seconds;
  }
  const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"method", to_string(summary.method)},
          {"bound", summary.bound.to_double()},
          {"holdout_precision", summary.mean_holdout_precision},
          {"holdout_recall", summary.mean_holdout_recall},
          {"test_precision", summary.mean_test_precision},
          {"test_recall", summary.mean_test_recall},
          {"test_recall_sd", summary.sd_test_recall},
          {"matched_recall", summary.mean_matched_recall},
          {"matched_recall_sd", summary.sd_matched_recall},
          {"missed", summary.missed},
          {"p_value_recall", optional(summary.p_value_recall)},
          {"p_value_matched", optional(summary.p_value_matched)},
          {"trials", std::move(trials)}};
}

void check_classes(const Samples& samples, const std::string& path) {
  double weight[2] = {0, 0};
  for (std::size_t row = 0; row < samples.size(); ++row) {
    weight[samples.label[row]] += samples.weight.empty() ? 1 : samples.weight[row];
  }
  if (weight[0] > 0 && weight[1] > 0) return;
  throw InvalidInput(fmt::format("{}: only one class{}; both are needed", shown(path),
                                 samples.weight.empty() ? "" : " has any weight"));
}

/// The study of the first pair: its methods at its bounds, the first of which is where the slider begins.
report::Study study_of(const CompareFlags& flags, const CLI::App& verb, const CompareOptions& asked,
                       const table::Predictions& holdout, const table::Predictions& test) {
  report::StudyOptions options = study_options(verb, flags.table);
  options.objective = max_recall_at_precision(asked.precision_bounds.front());
  options.bounds = asked.precision_bounds;
  options.methods = asked.methods;
  const auto decides = std::ranges::find(options.methods, Method::kAuto);
  if (decides != options.methods.end()) std::rotate(options.methods.begin(), decides, decides + 1);
  options.fit = asked.fit;
  options.num_threads = asked.fit.num_threads;
  options.timings = flags.timings;
  options.holdout = {shown(flags.holdout[0]), holdout.rows_dropped};
  options.test = {shown(flags.test[0]), test.rows_dropped};
  const Samples test_rows = test.samples();
  return in_table(shown(flags.holdout[0]), [&] { return compute_study(holdout.samples(), &test_rows, options); });
}

int run(const CompareFlags& flags, const CLI::App& verb) {
  if (flags.holdout.size() != flags.test.size()) {
    throw InvalidInput(fmt::format("{} --holdout files and {} --test files: they go in pairs", flags.holdout.size(),
                                   flags.test.size()));
  }
  CompareOptions options;
  options.methods = parse_methods(flags.methods);
  options.precision_bounds = parse_bounds(flags.precision, "--precision");
  options.fit = make_fit_options(flags.binning);
  options.fit.levels_from = parse_levels_from(flags.levels_from);
  std::vector<std::string> inputs = flags.holdout;
  inputs.insert(inputs.end(), flags.test.begin(), flags.test.end());
  check_stdin_once(inputs);
  options.timings = flags.timings;
  const auto page = open_report(flags.report, inputs);
  std::list<table::Predictions> tables;
  std::vector<SamplePair> pairs;
  for (std::size_t pair = 0; pair < flags.holdout.size(); ++pair) {
    const Samples holdout = tables.emplace_back(read_table({flags.holdout[pair]}, flags.table)).samples();
    const Samples test = tables.emplace_back(read_table({flags.test[pair]}, flags.table)).samples();
    check_classes(holdout, flags.holdout[pair]);
    check_classes(test, flags.test[pair]);
    pairs.push_back({holdout, test});
  }
  const bool weighted =
      std::any_of(tables.begin(), tables.end(), [](const table::Predictions& t) { return !t.weight.empty(); });
  if (weighted && flags.methods == "all") {
    std::erase(options.methods, Method::kVwDpmt);
  }
  const std::vector<MethodSummary> summaries =
      in_table(shown(flags.holdout), [&] { return compare_methods(pairs, options); });
  if (page) write_report(*page, study_of(flags, verb, options, tables.front(), *std::next(tables.begin())));
  if (weighted && flags.methods == "all") fmt::print(stderr, "vw-dpmt takes no weights and is left out\n");
  if (flags.json) {
    Json report = Json::array();
    for (const MethodSummary& summary : summaries) report.push_back(json_of(summary));
    fmt::print("{}\n", report.dump(1));
  } else {
    print_text(summaries, options.methods.size(), pairs.size());
  }
  return kDone;
}

}  // namespace

void add_compare(CLI::App& program, Action& action) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* verb = program.add_subcommand("compare", "All methods at several precision bounds, on hold-out and test");
  verb->add_option("--holdout", flags->holdout, "Labelled table to fit on; repeat for several pairs")->required();
  verb->add_option("--test", flags->test, "Labelled table to judge on, one per --holdout")->required();
  verb->add_option("--precision", flags->precision, "Precision bounds, such as 0.7,0.8,0.9")->required();
  verb->add_option("--methods", flags->methods, "all, or a list such as st,mist,exact")->capture_default_str();
  add_binning_flags(*verb, flags->binning, "500 for the paper's methods, else all");
  add_levels_from_flag(*verb, flags->levels_from);
  add_table_flags(*verb, flags->table, true);
  add_report_flag(*verb, flags->report, "of the first pair, its methods at these bounds");
  verb->add_flag("--timings", flags->timings, "With --json and --report: how long each fit took");
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen compare --holdout h.csv --test t.csv --precision 0.7,0.8,0.9\n"
      "st always uses every distinct score: a gain is measured against the best single threshold.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
