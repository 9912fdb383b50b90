// SPDX-License-Identifier: MIT
#include "limen/judge/frontier.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "flags.h"
#include "limen/base/error.h"
#include "limen/promise/bootstrap.h"
#include "limen/table/format.h"
#include "limen/table/write_table.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct FrontierFlags {
  std::vector<std::string> inputs;
  std::string output;
  std::string exact;
  BinningFlags binning;
  BootstrapFlags bootstrap;
  TableFlags table;
  bool json = false;
};

using Frontier = std::vector<FrontierPoint>;

/// The points of one family after the other, as columns.
struct PointColumns {
  std::vector<std::string> family;
  std::vector<double> flagged, true_positives, precision, recall;

  void add(const std::string& name, const Frontier& frontier, double unit) {
    for (const FrontierPoint& point : frontier) {
      family.push_back(name);
      flagged.push_back(static_cast<double>(point.flagged.rows) * unit);
      true_positives.push_back(static_cast<double>(point.flagged.positives) * unit);
      precision.push_back(point.precision);
      recall.push_back(point.recall);
    }
  }
  void write(const std::string& path) && {
    table::write_table(path, {{"family", std::move(family)},
                              {"flagged", std::move(flagged)},
                              {"true_positives", std::move(true_positives)},
                              {"precision", std::move(precision)},
                              {"recall", std::move(recall)}});
  }
};

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

int run(const FrontierFlags& flags) {
  const FitOptions options = make_fit_options(flags.binning);
  std::vector<Rational> bounds;
  const bool shows_table = !flags.json && flags.output != "-";
  if (flags.bootstrap.replicates > 0 && flags.exact.empty() && !shows_table) {
    throw InvalidInput("--bootstrap needs --exact where no table is shown: it gives bands at those bounds");
  }
  if (!flags.exact.empty()) {
    bounds = parse_bounds(flags.exact, "--exact");
  } else if (shows_table) {
    for (int percent = 5; percent <= 95; percent += 5) bounds.push_back(decimal_rational(percent / 100.0));
  }
  if (!flags.output.empty()) (void)table::output_format(flags.output);
  (void)open_output(flags.output, flags.inputs);  // refuses a path that cannot be written before any work is done
  const table::Predictions predictions = read_table(flags.inputs, flags.table);
  const Frontiers found =
      in_table(shown(flags.inputs), [&] { return trace_frontiers(predictions.samples(), bounds, options); });

  std::vector<FrontierBand> bands;
  if (flags.bootstrap.replicates > 0) {
    bands = in_table(shown(flags.inputs), [&] {
      const Samples samples = predictions.samples();
      return bootstrap_frontier(samples, level_edges(samples, max_recall_at_precision({1, 2}), options), bounds,
                                make_bootstrap_options(flags.bootstrap, flags.binning.threads));
    });
  }

  if (!flags.output.empty()) {
    PointColumns points;
    points.add("hull", found.hull, found.unit);
    points.add("st", found.st, found.unit);
    for (const auto& point : found.exact) {
      if (point && !flags.exact.empty()) points.add("exact", {*point}, found.unit);
    }
    std::move(points).write(flags.output);
    if (flags.output == "-") return kDone;
  }
  if (flags.json) {
    Json points = Json::array();
    for (std::size_t at = 0; at < found.exact.size(); ++at) {
      points.push_back({{"bound", bounds[at].to_double()},
                        {"status", found.exact[at] ? "optimal" : "infeasible"},
                        {"recall", found.exact[at] ? Json(found.exact[at]->recall) : Json(nullptr)}});
      if (bands.empty()) continue;
      const auto ends = [](const Interval& interval) { return Json({interval.low, interval.high}); };
      points.back().update({{"recall_interval", ends(bands[at].recall)},
                            {"st_recall_interval", ends(bands[at].single)},
                            {"gain_interval", bands[at].gain ? ends(*bands[at].gain) : Json(nullptr)}});
    }
    fmt::print("{}\n", Json{{"hull", json_of(found.hull, found.unit)},
                            {"st", json_of(found.st, found.unit)},
                            {"exact", std::move(points)}}
                           .dump(1));
    return kDone;
  }
  // The table shows the optimum at each bound: between its vertices the hull alone would look worse than it is.
  const auto ends = [](const Interval& interval) {
    return fmt::format("{:.4f} .. {:.4f}", interval.low, interval.high);
  };
  std::vector<std::vector<std::string>> rows = {{"precision", "st recall", "2-D recall", "gain"}};
  if (!bands.empty()) rows[0] = {"precision", "st recall", "95% band", "2-D recall", "95% band", "gain", "95% band"};
  for (std::size_t at = 0; at < bounds.size(); ++at) {
    const double st_recall = recall_at_precision(found.st, bounds[at]);
    const std::optional<FrontierPoint>& best = found.exact[at];
    if (!best && flags.exact.empty()) continue;
    rows.push_back({fmt::format("{:g}", bounds[at].to_double()), ratio_text(st_recall),
                    best ? ratio_text(best->recall) : "infeasible", best ? gain_text(best->recall, st_recall) : "-"});
    if (bands.empty()) continue;
    const FrontierBand& band = bands[at];
    std::vector<std::string>& row = rows.back();
    row = {row[0],
           row[1],
           ends(band.single),
           row[2],
           ends(band.recall),
           row[3],
           band.gain ? percent_range_text(*band.gain) : "-"};
  }
  fmt::print("frontier of {}: {} on the 2-D hull ({}), {}\n{}", shown(flags.inputs),
             found.hull.size() == 1 ? "1 boundary" : fmt::format("{} boundaries", found.hull.size()),
             plural_text(found.num_levels, "level"), plural_text(found.st.size(), "single threshold"),
             table_text(rows));
  if (!flags.output.empty()) fmt::print("written to {}\n", shown(flags.output));
  return kDone;
}

}  // namespace

void add_frontier(CLI::App& program, Action& action) {
  auto flags = std::make_shared<FrontierFlags>();
  CLI::App* verb = program.add_subcommand("frontier", "The whole precision-recall frontier, 2-D and single threshold");
  verb->add_option("PRED", flags->inputs,
                   "Predictions with label, one or more files: CSV, TSV, Parquet or Arrow; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output,
                   "Write all points here: CSV, TSV, Parquet or Arrow by its name; - for stdout (CSV)");
  verb->add_option("--exact", flags->exact, "Precision bounds at which to add the exact optimum, such as 0.7,0.8");
  add_binning_flags(*verb, flags->binning, "all");
  add_bootstrap_flags(*verb, flags->bootstrap, "bands at the bounds of the table or of --exact");
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print all points as JSON");
  verb->footer("Example: limen frontier holdout.csv --exact 0.7,0.8,0.9 -o frontier.csv");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
