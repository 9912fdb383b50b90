// SPDX-License-Identifier: MIT
#include "limen/judge/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "flags.h"
#include "limen/judge/positivity_map.h"
#include "limen/table/format.h"
#include "limen/table/write_table.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct InspectFlags {
  std::vector<std::string> inputs;
  ObjectiveFlags objective;
  TableFlags table;
  bool map = false;
  std::string levels = "3";
  std::string bins = "10";
  std::string binning = "equi-weight";
  bool balanced = false;
  std::string output;
  std::string output_format;
  bool csv = false;
  int threads = 0;
  bool json = false;
};

bool has_objective(const ObjectiveFlags& flags) {
  return !(flags.precision.empty() && flags.recall.empty() && flags.fpr.empty() && flags.flag_rate.empty() &&
           flags.cost_fp.empty() && flags.cost_fn.empty() && flags.fbeta.empty());
}

std::string column_text(const ColumnSummary& column) {
  std::string text = fmt::format("{:.6g} to {:.6g}, {} distinct", column.range.low, column.range.high,
                                 count_text(static_cast<double>(column.distinct)));
  if (column.distinct == 1) return fmt::format("always {:.6g}", column.range.low);
  if (column.most_common_share >= 0.01) {
    text += fmt::format("; {:.1f}% are {:.6g}", 100 * column.most_common_share, column.most_common);
  }
  return text;
}

Json column_json(const ColumnSummary& column) {
  return {{"low", column.range.low},
          {"high", column.range.high},
          {"distinct", column.distinct},
          {"most_common", column.most_common},
          {"most_common_share", column.most_common_share}};
}

Json json_of(const Inspection& found, std::uint64_t dropped, const Objective& objective) {
  Json reliability = Json::array();
  for (const ReliabilityBin& bin : found.reliability) {
    reliability.push_back({{"low", bin.low},
                           {"high", bin.high},
                           {"mean_score", bin.mean_score},
                           {"rows", count_json(bin.rows)},
                           {"positives", count_json(bin.positives)},
                           {"rate_interval", {bin.rate.low, bin.rate.high}}});
  }
  Json candidates = Json::array();
  for (const Candidate& candidate : found.choice.candidates) {
    candidates.push_back({{"method", to_string(candidate.method)},
                          {"levels", candidate.levels},
                          {"gain", candidate.gain},
                          {"gain_se", candidate.gain_se},
                          {"lift", candidate.lift},
                          {"lift_se", candidate.lift_se}});
  }
  const Information& information = found.choice.information;
  return {{"rows", found.rows},
          {"rows_dropped", dropped},
          {"weight", found.weighted ? Json(found.weight) : Json(nullptr)},
          {"positives", count_json(found.positives)},
          {"score", column_json(found.score)},
          {"uncertainty", column_json(found.uncertainty)},
          {"average_precision", found.average_precision},
          {"roc_auc", found.roc_auc},
          {"reliability", reliability},
          {"objective", describe(objective)},
          {"near_decision", {{"rows", information.near.rows}, {"positives", information.near.positives}}},
          {"information",
           {{"p_value", information.p()},
            {"likelihood_ratio_p", information.p_value},
            {"permutation_p", information.permutation_p_value ? Json(*information.permutation_p_value) : Json(nullptr)},
            {"testable", information.testable},
            {"sentence", found.choice.why}}},
          {"candidates", candidates}};
}

void print_text(const std::string& name, const Inspection& found, const Objective& objective) {
  fmt::print("{}: {}, {} positive ({:.2f}%){}\n", name, plural_text(static_cast<double>(found.rows), "row"),
             count_text(found.positives), 100 * found.positives / found.weight, found.weighted ? ", by weight" : "");
  fmt::print("  score        {}\n  uncertainty  {}\n", column_text(found.score), column_text(found.uncertainty));
  fmt::print("  average precision {}, area under the ROC curve {}\n\n", ratio_text(found.average_precision),
             ratio_text(found.roc_auc));
  std::vector<std::vector<std::string>> rows = {{"score", "mean", "rows", "positive", "rate", "95% interval"}};
  for (const ReliabilityBin& bin : found.reliability) {
    rows.push_back({fmt::format("{:.6g} .. {:.6g}", bin.low, bin.high), fmt::format("{:.4g}", bin.mean_score),
                    count_text(bin.rows), count_text(bin.positives), ratio_text(bin.positives / bin.rows),
                    fmt::format("{:.4f} .. {:.4f}", bin.rate.low, bin.rate.high)});
  }
  fmt::print("{}\n", table_text(rows));
  const Information& information = found.choice.information;
  fmt::print("{}: {} near the decision, {} of them positive\n", describe(objective),
             plural_text(static_cast<double>(information.near.rows), "row"),
             count_text(static_cast<double>(information.near.positives)));
  fmt::print("  {}\n", found.choice.why);
  if (found.choice.candidates.size() > 1) {
    const Candidate& smooth = found.choice.candidates[1];
    fmt::print(
        "  a smooth use of both columns, over one threshold, on rows left out: {:+.1f}% ({:+.1f}% to {:+.1f}%)\n",
        100 * smooth.gain, 100 * (smooth.gain - 1.96 * smooth.gain_se), 100 * (smooth.gain + 1.96 * smooth.gain_se));
  }
}

Json map_json(const PositivityMap& map, std::uint64_t dropped) {
  Json cells = Json::array();
  for (const PositivityCell& cell : map.cells) {
    cells.push_back({{"level", cell.level},
                     {"bin", cell.bin + 1},
                     {"low", cell.low},
                     {"high", cell.high},
                     {"mean_score", cell.mean_score},
                     {"rows", count_json(cell.rows)},
                     {"positives", count_json(cell.positives)},
                     {"positivity", cell.positivity()},
                     {"interval", {cell.rate.low, cell.rate.high}}});
  }
  return {{"uncertainty_edges", map.uncertainty_edges},
          {"bins", map.bins},
          {"confidence", map.confidence},
          {"weighted", map.weighted},
          {"rows_dropped", dropped},
          {"cells", cells}};
}

void write_map(const std::string& path, const std::optional<table::Format>& format, const PositivityMap& map) {
  std::vector<std::int64_t> level;
  std::vector<std::int64_t> bin;
  std::vector<std::vector<double>> values(8);
  for (const PositivityCell& cell : map.cells) {
    level.push_back(cell.level);
    bin.push_back(cell.bin + 1);
    const double row[] = {cell.low,       cell.high,         cell.mean_score, cell.rows,
                          cell.positives, cell.positivity(), cell.rate.low,   cell.rate.high};
    for (std::size_t at = 0; at < values.size(); ++at) values[at].push_back(row[at]);
  }
  const char* const names[] = {"score_low", "score_high", "mean_score",     "rows",
                               "positives", "positivity", "positivity_low", "positivity_high"};
  std::vector<table::WrittenColumn> columns = {{"level", std::move(level)}, {"bin", std::move(bin)}};
  for (std::size_t at = 0; at < values.size(); ++at) columns.push_back({names[at], std::move(values[at])});
  table::write_table(path, columns, format);
}

/// Rates with level by level beside each other, then every cell.
void print_map(const std::string& name, const PositivityMap& map) {
  const std::size_t levels = map.uncertainty_edges.size() + 1;
  const std::size_t levels_shown = std::min(levels, kMostLevelsShown);
  fmt::print("{}: share of positives by score bin and uncertainty level\n", name);
  std::vector<std::vector<std::string>> rates = {{"bin"}};
  for (std::size_t level = 0; level < levels_shown; ++level) {
    const auto edge = [&](std::size_t at) { return fmt::format("{:.4g}", map.uncertainty_edges[at]); };
    rates[0].push_back(levels == 1          ? "all rows"
                       : level == 0         ? "< " + edge(0)
                       : level + 1 < levels ? edge(level - 1) + " .. " + edge(level)
                                            : ">= " + edge(level - 1));
  }
  for (int bin = map.bins; bin-- > 0;) {
    std::vector<std::string> line(levels_shown + 1, "-");
    line[0] = std::to_string(bin + 1);
    bool any = false;
    for (const PositivityCell& cell : map.cells) {
      if (cell.bin != bin || static_cast<std::size_t>(cell.level) >= levels_shown) continue;
      line[static_cast<std::size_t>(cell.level) + 1] = ratio_text(cell.positivity());
      any = true;
    }
    if (any) rates.push_back(std::move(line));
  }
  fmt::print("{}\n", table_text(rates));
  std::vector<std::vector<std::string>> rows = {
      {"level", "bin", "score", "mean", "rows", "positive", "share", "95% interval (Wilson)"}};
  for (const PositivityCell& cell : map.cells) {
    if (static_cast<std::size_t>(cell.level) >= levels_shown) break;
    rows.push_back({std::to_string(cell.level), std::to_string(cell.bin + 1),
                    fmt::format("{:.6g} .. {:.6g}", cell.low, cell.high), fmt::format("{:.4g}", cell.mean_score),
                    count_text(cell.rows), count_text(cell.positives), ratio_text(cell.positivity()),
                    fmt::format("{:.4f} .. {:.4f}", cell.rate.low, cell.rate.high)});
  }
  fmt::print("{}", table_text(rows));
  if (levels > levels_shown) {
    fmt::print("  ... {} more, with --json or --csv\n", plural_text(levels - levels_shown, "level"));
  }
}

int run_map(const InspectFlags& flags) {
  if (has_objective(flags.objective)) throw InvalidInput("--map shows all rows; give no objective with it");
  if (flags.csv && flags.json) throw InvalidInput("inspect: give either --csv or --json, not both");
  if (flags.csv && !flags.output.empty())
    throw InvalidInput("inspect: --csv is for stdout; -o writes a file, give one");
  const PositivityMapOptions options = {.levels = static_cast<int>(parse_integer(flags.levels, "--levels", 1, 1000)),
                                        .bins = static_cast<int>(parse_integer(flags.bins, "--bins", 1, 10'000)),
                                        .binning = parse_binning(flags.binning),
                                        .balanced = flags.balanced};
  if (flags.balanced && options.binning == Binning::kEquiSpan) {
    throw InvalidInput("--balanced", "equi-span bins do not count rows; leave one of the two out");
  }
  const std::string output = flags.csv ? "-" : flags.output;
  const auto format = flags.csv ? std::optional(table::Format::kCsv) : parse_format(flags.output_format);
  if (!output.empty()) (void)table::output_format(output, format);
  (void)open_output(output, flags.inputs);
  const std::string name = shown(flags.inputs);
  const table::Predictions rows = read_table(flags.inputs, flags.table);
  const PositivityMap map = in_table(name, [&] { return positivity_map(rows.samples(), options); });
  if (!output.empty()) {
    write_map(output, format, map);
    if (output == "-") return kDone;
  }
  if (flags.json) {
    fmt::print("{}\n", map_json(map, rows.rows_dropped).dump(1));
    return kDone;
  }
  print_map(name, map);
  if (!output.empty()) fmt::print("written to {}\n", shown(output));
  return kDone;
}

int run(const InspectFlags& flags, const CLI::App& verb) {
  if (flags.map) {
    check_stdin_once(flags.inputs);
    return run_map(flags);
  }
  for (const char* flag : {"--levels", "--bins", "--binning", "--balanced", "--output", "--output-format", "--csv"}) {
    if (verb.count(flag) > 0) throw InvalidInput(flag, "is for the map of positivity; give --map with it");
  }
  check_stdin_once(flags.inputs);
  const Objective objective = has_objective(flags.objective) ? make_objective(flags.objective) : max_f_beta({1, 1});
  const std::string name = shown(flags.inputs);
  const table::Predictions rows = read_table(flags.inputs, flags.table);
  const Inspection found = in_table(name, [&] { return inspect(rows.samples(), objective, flags.threads); });
  if (flags.json) {
    fmt::print("{}\n", json_of(found, rows.rows_dropped, objective).dump(1));
  } else {
    print_text(name, found, objective);
  }
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& program, Action& action) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* verb = program.add_subcommand("inspect", "What a predictions table holds, and whether uncertainty informs");
  verb->add_option("PRED", flags->inputs, "Predictions with label, one or more files; - for stdin")->required();
  add_objective_flags(*verb, flags->objective);
  FlagGroup group(*verb, "Map of positivity");
  group.toggle("--map", flags->map, "Instead: share of positives by score bin and uncertainty level, with intervals");
  group.add("--levels", flags->levels, "K", "Uncertainty levels, 1 to 1000");
  group.add("--bins", flags->bins, "L", "Score bins of each level, 1 to 10000");
  group.choice("--binning", flags->binning, "KIND", {"equi-weight", "equi-span"},
               "equi-weight (quantiles) or equi-span (equal intervals)");
  group.toggle("--balanced", flags->balanced, "Quantiles of the score count each class for one half");
  group.add("-o,--output", flags->output, "FILE", "Write the map here: CSV, TSV, Parquet or Arrow; - for stdout");
  add_output_format_flag(*verb, flags->output_format);
  group.toggle("--csv", flags->csv, "Print the map as CSV");
  add_threads_flag(*verb, flags->threads);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen inspect holdout.csv --precision 0.9\n"
      "         limen inspect holdout.csv --map --levels 3 --bins 10\n"
      "The objective says where the decision is; without one it is where F1 is highest.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
