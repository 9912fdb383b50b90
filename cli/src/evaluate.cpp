// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <memory>

#include "certified.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/judge/metrics.h"
#include "options.h"
#include "review.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct EvaluateFlags {
  std::vector<std::string> files;  ///< boundaries, then the table
  TableFlags table;
  double confidence = 0.95;
  bool json = false;
};

std::string interval_text(const Interval& interval) {
  return fmt::format("{:.4f} .. {:.4f}", interval.low, interval.high);
}

std::vector<std::string> text_row(const std::string& name, const Confusion& counts, double confidence) {
  const bool flagged = counts.flagged > 0;
  const bool positives = counts.positives > 0;
  return {name,
          count_text(counts.rows),
          count_text(counts.flagged),
          count_text(counts.true_positives),
          flagged ? ratio_text(counts.precision()) : "-",
          flagged ? interval_text(counts.precision_interval(confidence)) : "-",
          positives ? ratio_text(counts.recall()) : "-",
          positives ? interval_text(counts.recall_interval(confidence)) : "-"};
}

Json json_of(const Confusion& counts, double confidence) {
  const Interval precision = counts.precision_interval(confidence);
  const Interval recall = counts.recall_interval(confidence);
  const Json none = nullptr;
  const bool flagged = counts.flagged > 0;
  const bool positives = counts.positives > 0;
  return {{"rows", count_json(counts.rows)},
          {"positives", count_json(counts.positives)},
          {"flagged", count_json(counts.flagged)},
          {"true_positives", count_json(counts.true_positives)},
          {"precision", flagged ? Json(counts.precision()) : none},
          {"precision_interval", flagged ? Json({precision.low, precision.high}) : none},
          {"recall", positives ? Json(counts.recall()) : none},
          {"recall_interval", positives ? Json({recall.low, recall.high}) : none}};
}

int run(EvaluateFlags flags, const CLI::App& verb) {
  if (flags.files.size() < 2) throw InvalidInput("evaluate: give one or more boundary files and then a table");
  const std::string test = flags.files.back();
  flags.files.pop_back();
  std::vector<std::string> inputs = flags.files;
  inputs.push_back(test);
  check_stdin_once(inputs);
  std::vector<Boundary> boundaries;
  for (const std::string& path : flags.files) {
    try {
      boundaries.push_back(read_boundary(path));
    } catch (const InvalidInput& error) {
      throw InvalidInput(error.where(), error.problem() + " (boundary files come first, the table last)",
                         error.cause());
    }
  }

  Json report = Json::array();
  std::optional<table::Predictions> predictions;
  for (std::size_t at = 0; at < boundaries.size(); ++at) {
    const Boundary& boundary = boundaries[at];
    table::PredictionColumns& columns = flags.table.read.columns;
    const table::PredictionColumns before = columns;
    if (verb.count("--score") == 0) columns.score = boundary.score_column;
    if (verb.count("--uncertainty") == 0) columns.uncertainty = boundary.uncertainty_column;
    const bool same = columns.score == before.score && columns.uncertainty == before.uncertainty;
    if (!predictions || !same) predictions = read_table({test}, flags.table);
    const Evaluation evaluation = evaluate(boundary.rule, predictions->samples());
    std::optional<Confusion> with_review;
    if (boundary.review) with_review = evaluate(flag_or_review_rule(boundary), predictions->samples()).total;
    if (flags.json) {
      Json levels = Json::array();
      for (const Confusion& level : evaluation.levels) levels.push_back(json_of(level, flags.confidence));
      Json entry = {{"boundary", flags.files[at]}, {"method", to_string(boundary.method)}};
      entry.update(json_of(evaluation.total, flags.confidence));
      entry["confidence"] = flags.confidence;
      if (boundary.guarantee) {
        const double p_value = check_guarantee(boundary, evaluation.total).p_value;
        entry["guarantee"] = {{"confidence", boundary.guarantee->confidence},
                              {"p_value", p_value},
                              {"consistent", p_value >= 0.05}};
      }
      entry["levels"] = std::move(levels);
      if (with_review) entry["review"] = evaluated_review_json(evaluation.total, *with_review, flags.confidence);
      report.push_back(std::move(entry));
      continue;
    }
    const std::string interval = fmt::format("{:g}% interval", 100 * flags.confidence);
    std::vector<std::vector<std::string>> rows = {
        {"", "rows", "flagged", "true pos.", "precision", interval, "recall", interval}};
    rows.push_back(text_row("all", evaluation.total, flags.confidence));
    if (evaluation.levels.size() > 1) {
      for (std::size_t level = 0; level < evaluation.levels.size(); ++level) {
        if (level == kMostLevelsShown) {
          rows.push_back({fmt::format("... and {} more levels", evaluation.levels.size() - level)});
          break;
        }
        rows.push_back(text_row("level " + std::to_string(level), evaluation.levels[level], flags.confidence));
      }
    }
    fmt::print("{} ({}; {}) on {}\n{}", shown(flags.files[at]), to_string(boundary.method), objective_text(boundary),
               shown(test), table_text(rows));
    if (boundary.guarantee) fmt::print("  {}\n", check_guarantee(boundary, evaluation.total).text);
    if (boundary.objective.goal == Goal::kPrecision && evaluation.total.flagged > 0) {
      const double bound = boundary.objective.bound.to_double();
      const double precision = evaluation.total.precision();
      fmt::print("  precision is {} the bound {:g}: {:+.4f}\n", precision >= bound ? "at or above" : "BELOW", bound,
                 precision - bound);
    }
    if (with_review) fmt::print("\n{}", evaluated_review_text(evaluation.total, *with_review, flags.confidence));
    if (at + 1 < boundaries.size()) fmt::print("\n");
  }
  if (flags.json) fmt::print("{}\n", report.dump(1));
  return kDone;
}

}  // namespace

void add_evaluate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* verb = program.add_subcommand("evaluate", "Judge boundaries on a labelled test table");
  verb->add_option("FILES", flags->files,
                   "One or more boundary files, then the labelled test table; one of them may be - (stdin)")
      ->required();
  FlagGroup(*verb)
      .add("--interval", flags->confidence, "C", "Confidence of the exact (Clopper-Pearson) intervals")
      ->check(CLI::Range(0.5, 0.999999).description(""));
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer("Example: limen evaluate b.json test.csv");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
