// SPDX-License-Identifier: MIT
#include "limen/fit.h"

#include <fmt/format.h>

#include <memory>

#include "limen/error.h"
#include "limen/metrics.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct Flags {
  std::string input;
  std::string output;
  std::string method = "exact";
  ObjectiveFlags objective;
  BinningFlags binning;
  TableFlags table;
  bool json = false;
};

bool maximizes_recall(const Objective& objective) {
  return objective.goal == Goal::kPrecision || objective.goal == Goal::kFalsePositiveRate ||
         objective.goal == Goal::kFlagRate;
}

std::string bins_text(const Boundary& boundary) {
  return boundary.bins ? fmt::format("at most {} {} score bins", *boundary.bins, to_string(boundary.binning))
                       : std::string("every distinct score");
}

std::string certificate_text(const Boundary& boundary) {
  const HoldoutSummary& holdout = boundary.holdout;
  const bool recall = maximizes_recall(boundary.objective);
  const std::string bound =
      recall ? count_text(holdout.objective_bound) + " true positives" : fmt::format("{:.6g}", holdout.objective_bound);
  if (holdout.optimal) {
    return boundary.method == Method::kSt
               ? "proved optimal: no single threshold does better"
               : "proved optimal: no boundary on these levels and bins does better than " + bound;
  }
  const double gap = std::abs(holdout.objective_bound - holdout.objective_value);
  return fmt::format("no boundary on these levels and bins does better than {}; gap {}", bound,
                     recall ? count_text(gap) : fmt::format("{:.3g}", gap));
}

std::string level_table(const Boundary& boundary, const Evaluation& evaluation) {
  std::vector<std::vector<std::string>> rows = {
      {"level", "uncertainty", "score", "rows", "flagged", "true pos.", "precision"}};
  const auto& edges = boundary.rule.uncertainty_edges;
  for (std::size_t level = 0; level < evaluation.levels.size(); ++level) {
    if (level == kMostLevelsShown) {
      rows.push_back({fmt::format("... and {} more", evaluation.levels.size() - level)});
      break;
    }
    const Confusion& counts = evaluation.levels[level];
    std::string range = "all";
    if (!edges.empty()) {
      range = level == 0              ? fmt::format("< {:.6g}", edges[0])
              : level == edges.size() ? fmt::format(">= {:.6g}", edges[level - 1])
                                      : fmt::format("{:.6g} .. {:.6g}", edges[level - 1], edges[level]);
    }
    const auto& threshold = boundary.rule.score_thresholds[level];
    rows.push_back({std::to_string(level), range, threshold ? fmt::format(">= {:.6g}", *threshold) : "never",
                    count_text(counts.rows), count_text(counts.flagged), count_text(counts.true_positives),
                    counts.flagged > 0 ? ratio_text(counts.precision()) : "-"});
  }
  return table_text(rows);
}

/// The best single threshold for the same objective: what the second dimension brought, or did not.
std::string gain_over_st(const Boundary& boundary, const FitResult& st) {
  if (!st.boundary) return "no single threshold meets the objective";
  const HoldoutSummary& base = st.boundary->holdout;
  const HoldoutSummary& ours = boundary.holdout;
  if (boundary.objective.goal == Goal::kRecall) {
    return fmt::format("best single threshold: precision {}; the 2-D boundary: {} ({})", ratio_text(base.precision()),
                       ratio_text(ours.precision()), gain_text(ours.precision(), base.precision()));
  }
  if (!maximizes_recall(boundary.objective)) {
    return fmt::format("best single threshold: {} {:.6g}; the 2-D boundary: {:.6g} ({})",
                       boundary.objective.goal == Goal::kCost ? "cost" : "F-beta", base.objective_value,
                       ours.objective_value, gain_text(ours.objective_value, base.objective_value));
  }
  std::string text =
      fmt::format("best single threshold: recall {}; the 2-D boundary: {} ({})", ratio_text(base.recall()),
                  ratio_text(ours.recall()), gain_text(ours.recall(), base.recall()));
  if (ours.true_positives <= base.true_positives) {
    text += boundary.method == Method::kExact && !boundary.bins ? ": uncertainty brings nothing here"
                                                                : "; --method exact --bins all is never below it";
  }
  return text;
}

int report_infeasible(const Flags& flags, const Objective& objective, const FitOptions& options,
                      const FitResult& result) {
  const double best = result.solution.best_attainable.value_or(0);
  if (flags.json) {
    Json report = {{"status", "infeasible"}, {"objective", describe(objective)}, {"best_attainable_precision", best}};
    fmt::print("{}\n", report.dump(1));
  }
  const auto bins = bins_of(options).count;
  fmt::print(
      stderr, "limen: {}: infeasible: {} cannot be met by {} on {} and {}; the best attainable precision is {:.6g}{}\n",
      shown(flags.input), describe(objective), to_string(options.method), plural_text(result.levels_used, "level"),
      bins ? plural_text(static_cast<double>(*bins), "score bin") : std::string("every distinct score"), best,
      bins || options.method != Method::kExact ? " (--method exact --bins all may reach more)" : "");
  return kInfeasible;
}

int run(const Flags& flags) {
  const Objective objective = make_objective(flags.objective);
  FitOptions options = make_fit_options(flags.binning);
  options.method = parse_method(flags.method);
  const auto output = open_output(flags.output, flags.input);
  const table::Predictions predictions = read_table(flags.input, flags.table);

  const Samples samples = predictions.samples();
  FitResult result;
  try {
    result = fit_boundary(samples, objective, options);
  } catch (const InvalidInput& error) {
    throw InvalidInput(shown(flags.input) + ": " + without_prefix(error.what(), "fit_boundary"));
  }
  if (!result.boundary) return report_infeasible(flags, objective, options, result);
  Boundary& boundary = *result.boundary;
  boundary.score_column = flags.table.read.columns.score;
  boundary.uncertainty_column = flags.table.read.columns.uncertainty;

  if (options.method != Method::kSt && result.levels_used < options.levels) {
    fmt::print(stderr, "{}: uncertainty has too many equal values for {} levels; {} used\n", shown(flags.input),
               options.levels, result.levels_used);
  }
  const std::string json = to_json(boundary);
  if (output) {
    output->write(json);
    output->commit();
  }
  if (flags.output == "-") return kDone;
  if (flags.json) {
    fmt::print("{}", json);
    return kDone;
  }
  const HoldoutSummary& holdout = boundary.holdout;
  fmt::print("{}: {}\n", to_string(boundary.method), describe(objective));
  fmt::print("  hold-out: {}, {}{}; {}, {}\n", plural_text(static_cast<double>(holdout.rows), "row"),
             plural_text(holdout.positives, "positive"), holdout.weighted ? " (by weight)" : "",
             plural_text(result.levels_used, "level"), bins_text(boundary));
  fmt::print("  flagged {}, true positives {}: precision {}, recall {}\n", count_text(holdout.flagged),
             count_text(holdout.true_positives), ratio_text(holdout.precision()), ratio_text(holdout.recall()));
  fmt::print("  {}\n", certificate_text(boundary));
  if (options.method != Method::kSt) {
    FitOptions st = options;
    st.method = Method::kSt;
    st.bins = std::nullopt;
    fmt::print("  {}\n", gain_over_st(boundary, fit_boundary(samples, objective, st)));
  }
  fmt::print("\n{}", level_table(boundary, evaluate(boundary.rule, samples)));
  if (!flags.output.empty()) fmt::print("\nwritten to {}\n", flags.output);
  return kDone;
}

}  // namespace

void add_fit(CLI::App& program, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = program.add_subcommand("fit", "Find the best boundary on a labelled hold-out");
  verb->add_option("PRED", flags->input, "Predictions with label: a CSV or TSV file, - for stdin")->required();
  verb->add_option("-o,--output", flags->output, "Write the boundary here (JSON), - for stdout");
  verb->add_option("--method", flags->method, "st, hr, gmt, mist, ew-dpmt, vw-dpmt or exact")
      ->type_name("METHOD")
      ->capture_default_str()
      ->check(CLI::IsMember({"st", "hr", "gmt", "mist", "ew-dpmt", "vw-dpmt", "exact"}).description(""));
  add_objective_flags(*verb, flags->objective);
  add_binning_flags(*verb, flags->binning, "all for exact and st, else 500");
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print the boundary as JSON");
  verb->footer(
      "Example: limen fit holdout.csv --precision 0.9 --levels 3 --bins all -o b.json\n"
      "Exit code 3: no boundary meets the bound; the best attainable value is printed.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
