// SPDX-License-Identifier: MIT
#include "limen/choose/sweep.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "flags.h"
#include "limen/report/section_json.h"
#include "limen/table/format.h"
#include "limen/table/write_table.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct SweepFlags {
  std::vector<std::string> inputs;
  std::string output;
  std::string method = "exact";
  std::string levels;
  std::string bins;
  std::string levels_from = "top";
  std::string binning = "equi-weight";
  ObjectiveFlags objective;
  TableFlags table;
  std::uint64_t seed = 0;
  int folds = SweepOptions{}.folds;
  int repetitions = SweepOptions{}.repetitions;
  int threads = 0;
  bool json = false;
};

SweepOptions make_options(const SweepFlags& flags) {
  SweepOptions options;
  for (std::string part : CLI::detail::split(flags.levels, ',')) {
    if (flags.levels.empty()) break;
    options.levels.push_back(static_cast<int>(parse_integer(CLI::detail::trim(part), "--levels", 1, 1000)));
  }
  for (std::string part : CLI::detail::split(flags.bins, ',')) {
    if (flags.bins.empty()) break;
    CLI::detail::trim(part);
    const bool all = part == "all";
    options.bins.push_back(all ? std::nullopt : std::optional(parse_integer(part, "--bins", 1, 1 << 30, ", or all")));
  }
  options.levels_from = parse_levels_from(flags.levels_from);
  options.binning = parse_binning(flags.binning);
  options.method = parse_method(flags.method);
  options.seed = flags.seed;
  options.folds = flags.folds;
  options.repetitions = flags.repetitions;
  options.num_threads = flags.threads;
  validate(options);
  return options;
}

std::string bins_word(const std::optional<std::int64_t>& bins) { return bins ? std::to_string(*bins) : "all"; }

std::string value_text(const std::optional<double>& value, const Objective& objective) {
  if (!value) return "infeasible";
  return objective.goal == Goal::kCost ? fmt::format("{:.6g}", *value) : ratio_text(*value);
}

/// The (levels x bins) table.
std::string grid_text(const Sweep& found, const Objective& objective) {
  std::vector<std::vector<std::string>> rows = {{"levels"}};
  for (const auto& bins : found.bins) rows[0].push_back((bins ? bins_word(bins) : "all") + "  ");
  for (std::size_t level = 0; level < found.levels.size(); ++level) {
    const SweepCell& first = found.at(level, 0);
    rows.push_back({first.levels_used == first.levels ? std::to_string(first.levels)
                                                      : fmt::format("{} ({} used)", first.levels, first.levels_used)});
    for (std::size_t bin = 0; bin < found.bins.size(); ++bin) {
      const SweepCell& cell = found.at(level, bin);
      const std::size_t at = level * found.bins.size() + bin;
      rows.back().push_back(
          (cell.gain ? fmt::format("{:+.1f}%", 100 * *cell.gain) : value_text(cell.value, objective)) +
          (found.best == at       ? " *"
           : found.smallest == at ? " ~"
                                  : "  "));
    }
  }
  return table_text(rows);
}

std::vector<std::string> figures(const std::string& name, const SweepCell& cell, const Objective& objective, int fits) {
  return {name,
          std::to_string(cell.levels),
          bins_word(cell.bins),
          value_text(cell.value, objective),
          cell.gain ? fmt::format("{:+.1f}%", 100 * *cell.gain) : "-",
          cell.gain ? fmt::format("{:.1f}%", 100 * cell.gain_se) : "-",
          cell.flagged > 0 ? ratio_text(cell.precision) : "-",
          ratio_text(cell.recall),
          fmt::format("{} of {}", cell.fits_missed, fits - cell.fits_infeasible)};
}

void print_text(const std::string& name, const Sweep& found, const Objective& objective, const SweepOptions& options,
                bool weighted) {
  const std::string value = value_name(objective);
  fmt::print("{}: {}\n  {} {}, {} positive; {}, levels from {}, {}\n", name, describe(objective),
             count_text(found.rows), weighted ? "in weight" : "rows", count_text(found.positives),
             to_string(options.method), options.levels_from == LevelsFrom::kTop ? "the top" : "all rows",
             fmt::format("{} folds, {}", options.folds, plural_text(options.repetitions, "time")));
  const bool shows_gain = found.single.value.value_or(0) != 0;
  fmt::print("\n{}, by levels (down) and score bins (across)\n{}",
             shows_gain ? fmt::format("gain in {} on rows left out over one threshold ({})", value,
                                      value_text(found.single.value, objective))
                        : value + " on rows left out",
             grid_text(found, objective));
  fmt::print("  * best   ~ smallest within one standard error of it\n\n");
  std::vector<std::vector<std::string>> rows = {
      {"", "levels", "bins", value, "gain", "std. err.", "deployed prec.", "recall", "missed"}};
  rows.push_back(figures("one threshold", found.single, objective, found.num_fits));
  if (found.best) rows.push_back(figures("best", found.cells[*found.best], objective, found.num_fits));
  if (found.smallest && found.smallest != found.best) {
    rows.push_back(figures("smallest", found.cells[*found.smallest], objective, found.num_fits));
  }
  fmt::print("{}\n{}\n", table_text(rows), found.why);
  for (std::size_t level = 0; level < found.levels.size(); ++level) {
    const SweepCell& cell = found.at(level, 0);
    if (cell.levels_used == cell.levels) continue;
    fmt::print(
        "uncertainty has too few distinct values for {} levels: {}\n", cell.levels,
        cell.levels_used == 1 ? std::string("all rows are in one") : fmt::format("{} were used", cell.levels_used));
    break;
  }
}

void write(const Sweep& found, const std::string& path) {
  std::vector<std::int64_t> levels, levels_used, fits, missed, infeasible, best, smallest;
  std::vector<std::string> bins;
  std::vector<double> value, gain, gain_se, flagged, true_positives, precision, recall;
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t at = 0; at < found.cells.size(); ++at) {
    const SweepCell& cell = found.cells[at];
    levels.push_back(cell.levels);
    levels_used.push_back(cell.levels_used);
    bins.push_back(bins_word(cell.bins));
    value.push_back(cell.value.value_or(kMissing));
    gain.push_back(cell.gain.value_or(kMissing));
    gain_se.push_back(cell.gain ? cell.gain_se : kMissing);
    flagged.push_back(cell.flagged);
    true_positives.push_back(cell.true_positives);
    precision.push_back(cell.flagged > 0 ? cell.precision : kMissing);
    recall.push_back(cell.recall);
    fits.push_back(found.num_fits);
    missed.push_back(cell.fits_missed);
    infeasible.push_back(cell.fits_infeasible);
    best.push_back(found.best == at ? 1 : 0);
    smallest.push_back(found.smallest == at ? 1 : 0);
  }
  table::write_table(path, {{"levels", std::move(levels)},
                            {"levels_used", std::move(levels_used)},
                            {"bins", std::move(bins)},
                            {"value", std::move(value)},
                            {"gain", std::move(gain)},
                            {"gain_se", std::move(gain_se)},
                            {"flagged", std::move(flagged)},
                            {"true_positives", std::move(true_positives)},
                            {"precision", std::move(precision)},
                            {"recall", std::move(recall)},
                            {"fits", std::move(fits)},
                            {"fits_missed", std::move(missed)},
                            {"fits_infeasible", std::move(infeasible)},
                            {"best", std::move(best)},
                            {"smallest", std::move(smallest)}});
}

int run(const SweepFlags& flags) {
  const Objective objective = make_objective(flags.objective);
  const SweepOptions options = make_options(flags);
  check_stdin_once(flags.inputs);
  if (!flags.output.empty()) (void)table::output_format(flags.output);
  (void)open_output(flags.output, flags.inputs);  // refuses a path that cannot be written before any work is done
  const std::string name = shown(flags.inputs);
  const table::Predictions rows = read_table(flags.inputs, flags.table);
  const Sweep found = in_table(name, [&] { return sweep(rows.samples(), objective, options); });
  if (!flags.output.empty()) write(found, flags.output);
  const int code = found.best ? kDone : kInfeasible;
  if (flags.output == "-") return code;
  if (flags.json) {
    fmt::print("{}\n", report::sweep_json(found, objective, options).dump(1));
    return code;
  }
  print_text(name, found, objective, options, !rows.weight.empty());
  if (!flags.output.empty()) fmt::print("written to {}\n", shown(flags.output));
  return code;
}

}  // namespace

void add_sweep(CLI::App& program, Action& action) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* verb = program.add_subcommand("sweep", "How many uncertainty levels and score bins, by cross-validation");
  verb->add_option("PRED", flags->inputs,
                   "Predictions with label, one or more files: CSV, TSV, Parquet or Arrow; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output,
                   "Write a row for each cell here: CSV, TSV, Parquet or Arrow by its name; - for stdout (CSV)");
  FlagGroup group(*verb);
  std::vector<std::string> methods;
  std::string names;
  for (const MethodInfo& info : method_table()) {
    if (info.method == Method::kSmooth || info.method == Method::kJoint || info.method == Method::kAuto) continue;
    methods.emplace_back(info.name);
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  group.choice("--method", flags->method, "METHOD", methods, names);
  group.add("--seed", flags->seed, "N", "Of the folds");
  group.add("--folds", flags->folds, "N", "Of the cross-validation, 2 to 20");
  group.add("--repetitions", flags->repetitions, "N", "Of the cross-validation, each with other folds");
  add_objective_flags(*verb, flags->objective);
  FlagGroup binning(*verb, "Binning");
  binning.add("--levels", flags->levels, "K,K,...", "Numbers of uncertainty levels to try [1,2,3,5,8,13,21]");
  binning.add("--bins", flags->bins, "L,L,...",
              "Numbers of score bins per level to try, and all: every distinct score [20,50,100,200,500,1000, and all "
              "for exact and st]");
  binning.choice("--binning", flags->binning, "KIND", {"equi-weight", "equi-span"},
                 "equi-weight (quantiles) or equi-span (equal intervals)");
  binning.choice("--levels-from", flags->levels_from, "ROWS", {"top", "all"},
                 "top: levels are quantiles of the rows near the decision; all: of all rows, as in the paper");
  add_threads_flag(*verb, flags->threads);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen sweep holdout.csv --precision 0.9 --levels 2,3,5,8 --bins 100,500,all -o sweep.csv\n"
      "Too few levels or bins lose recall, too many fit the noise of the hold-out.\n"
      "Exit code 3: no number of levels and bins meets the bound on rows left out.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
