// SPDX-License-Identifier: MIT
#include "limen/judge/inspect.h"

#include <fmt/format.h>

#include <memory>

#include "flags.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct InspectFlags {
  std::vector<std::string> inputs;
  ObjectiveFlags objective;
  TableFlags table;
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

int run(const InspectFlags& flags) {
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
  add_threads_flag(*verb, flags->threads);
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen inspect holdout.csv --precision 0.9\n"
      "The objective says where the decision is; without one it is where F1 is highest.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
