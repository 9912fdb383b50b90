// SPDX-License-Identifier: MIT
#include "limen/frontier.h"

#include <fmt/format.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

#include "limen/error.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct Flags {
  std::vector<std::string> inputs;
  std::string output;
  std::string exact;
  BinningFlags binning;
  TableFlags table;
  bool json = false;
};

using Frontier = std::vector<FrontierPoint>;

void add_csv(std::string& csv, const char* family, const Frontier& frontier, double unit) {
  for (const FrontierPoint& point : frontier) {
    csv += fmt::format("{},{},{},{},{}\n", family, static_cast<double>(point.flagged.rows) * unit,
                       static_cast<double>(point.flagged.positives) * unit, point.precision, point.recall);
  }
}

Json json_of(const Frontier& frontier, double unit) {
  Json points = Json::array();
  for (const FrontierPoint& point : frontier) {
    points.push_back({{"flagged", count_json(static_cast<double>(point.flagged.rows) * unit)},
                      {"true_positives", count_json(static_cast<double>(point.flagged.positives) * unit)},
                      {"precision", point.precision},
                      {"recall", point.recall}});
  }
  return points;
}

int report(const Flags& flags, const FitOptions& options, const std::vector<Rational>& exact_bounds,
           const Samples& samples, table::OutputFile* output) {
  const Objective any_precision = max_recall_at_precision({1, 2});
  const Grid grid = make_holdout_grid(samples, any_precision, options);
  FitOptions st_options;
  st_options.method = Method::kSt;
  const Grid st_grid = make_holdout_grid(samples, any_precision, st_options);
  const Counts total = total_counts(grid);
  if (total.positives == 0 || total.positives == total.rows) {
    throw InvalidInput(shown(flags.inputs) + ": only one class; both are needed");
  }
  const Frontier hull = pareto_frontier(hull_chain(grid), total);
  const Frontier st = pareto_frontier(score_chain(st_grid), total);
  const std::vector<Solution> exact = exact_points(grid, exact_bounds);
  const auto exact_recall = [&](const Solution& solution) {
    return static_cast<double>(solution.flagged.positives) / static_cast<double>(total.positives);
  };

  if (output) {
    std::string csv = "family,flagged,true_positives,precision,recall\n";
    add_csv(csv, "hull", hull, grid.unit);
    add_csv(csv, "st", st, grid.unit);
    for (const Solution& solution : exact) {
      if (solution.status == SolveStatus::kInfeasible) continue;
      add_csv(csv, "exact",
              {{solution.flagged,
                static_cast<double>(solution.flagged.positives) / static_cast<double>(solution.flagged.rows),
                exact_recall(solution)}},
              grid.unit);
    }
    output->write(csv);
    output->commit();
    if (flags.output == "-") return kDone;
  }
  if (flags.json) {
    Json points = Json::array();
    for (std::size_t at = 0; at < exact.size(); ++at) {
      const bool found = exact[at].status != SolveStatus::kInfeasible;
      points.push_back({{"bound", exact_bounds[at].to_double()},
                        {"status", found ? "optimal" : "infeasible"},
                        {"recall", found ? Json(exact_recall(exact[at])) : Json(nullptr)}});
    }
    fmt::print(
        "{}\n",
        Json{{"hull", json_of(hull, grid.unit)}, {"st", json_of(st, grid.unit)}, {"exact", std::move(points)}}.dump(1));
    return kDone;
  }
  // The table shows the optimum at each bound: between its vertices the hull alone would look worse than it is.
  std::vector<Rational> bounds = exact_bounds;
  if (bounds.empty()) {
    for (int percent = 5; percent <= 95; percent += 5) bounds.push_back(decimal_rational(percent / 100.0));
  }
  const std::vector<Solution> best = exact_bounds.empty() ? exact_points(grid, bounds) : exact;
  std::vector<std::vector<std::string>> rows = {{"precision", "st recall", "2-D recall", "gain"}};
  for (std::size_t at = 0; at < bounds.size(); ++at) {
    const double st_recall = recall_at_precision(st, bounds[at]);
    const bool found = best[at].status != SolveStatus::kInfeasible;
    if (!found && exact_bounds.empty()) continue;
    rows.push_back({fmt::format("{:g}", bounds[at].to_double()), ratio_text(st_recall),
                    found ? ratio_text(exact_recall(best[at])) : "infeasible",
                    found ? gain_text(exact_recall(best[at]), st_recall) : "-"});
  }
  fmt::print("frontier of {}: {} on the 2-D hull ({}), {}\n{}", shown(flags.inputs),
             hull.size() == 1 ? "1 boundary" : fmt::format("{} boundaries", hull.size()),
             plural_text(static_cast<double>(grid.num_levels()), "level"),
             plural_text(static_cast<double>(st.size()), "single threshold"), table_text(rows));
  if (!flags.output.empty()) fmt::print("written to {}\n", flags.output);
  return kDone;
}

int run(const Flags& flags) {
  FitOptions options = make_fit_options(flags.binning);
  // Without --bins the frontier is that of every distinct score.
  if (!options.bins) options.bins = BinCount::all();
  std::vector<Rational> exact_bounds;
  if (!flags.exact.empty()) exact_bounds = parse_bounds(flags.exact, "--exact");
  const auto output = open_output(flags.output, flags.inputs);
  const table::Predictions predictions = read_table(flags.inputs, flags.table);

  tbb::task_arena arena(options.num_threads == 0 ? tbb::task_arena::automatic
                                                 : std::min(options.num_threads, tbb::info::default_concurrency()));
  return arena.execute([&] { return report(flags, options, exact_bounds, predictions.samples(), output.get()); });
}

}  // namespace

void add_frontier(CLI::App& program, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = program.add_subcommand("frontier", "The whole precision-recall frontier, 2-D and single threshold");
  verb->add_option("PRED", flags->inputs,
                   "Predictions with label, one or more files: CSV, TSV, Parquet or Arrow; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output, "Write all points here (CSV), - for stdout");
  verb->add_option("--exact", flags->exact, "Precision bounds at which to add the exact optimum, such as 0.7,0.8");
  add_binning_flags(*verb, flags->binning, "all");
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print all points as JSON");
  verb->footer("Example: limen frontier holdout.csv --exact 0.7,0.8,0.9 -o frontier.csv");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
