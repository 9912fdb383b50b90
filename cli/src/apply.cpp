// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "calibration.h"
#include "classes.h"
#include "flags.h"
#include "limen/base/in_table.h"
#include "limen/base/text.h"
#include "limen/fit/classes.h"
#include "limen/solve/boundary.h"
#include "limen/table/append.h"
#include "limen/table/format.h"
#include "options.h"
#include "segments.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct ApplyFlags {
  std::string boundary;
  std::vector<std::string> inputs;
  std::string output;
  std::string output_format;
  std::string calibrator;
  std::string evidence;
  TableFlags table;
  bool json = false;
};

/// Adds the probability of a calibration file's calibrator: the one that the file names, or another one of it.
int apply_calibration(const ApplyFlags& flags, const CLI::App& verb, const std::string& text) {
  CalibrationSet set = parse_calibration(flags.boundary, text);
  if (!flags.calibrator.empty()) {
    const Calibrator wanted = parse_calibrator(flags.calibrator);
    if (!set.has(wanted)) {
      throw InvalidInput(shown(flags.boundary), "has no calibrator " + limen::quoted(flags.calibrator));
    }
    set.chosen = wanted;
  }
  if (!flags.evidence.empty()) {
    if (set.chosen != Calibrator::kEvidence) {
      throw InvalidInput("--evidence", fmt::format("the calibrator is {}, which takes none; ask for the other one with "
                                                   "--calibrator evidence",
                                                   to_string(set.chosen)));
    }
    set.evidence->column = flags.evidence;
  }
  if (verb.count("--score") > 0) set.score_column = flags.table.read.columns.score;
  if (verb.count("--uncertainty") > 0) set.uncertainty_column = flags.table.read.columns.uncertainty;
  const bool has_levels = set.chosen == Calibrator::kMist || set.chosen == Calibrator::kShrunken;
  std::vector<std::string> columns = {set.score_column};
  if (has_levels) columns.push_back(set.uncertainty_column);
  if (set.chosen == Calibrator::kEvidence) columns.push_back(set.evidence->column);
  const std::string name = shown(flags.inputs);
  const table::PredictionOptions read = read_options(name, flags.table);
  const table::AppendColumnsOptions options = {
      .read = {.read = read.read,
               .columns = columns,
               .number_columns = columns,
               .missing_rule = read.drop_missing ? table::MissingRule::kDrop : table::MissingRule::kRefuse},
      .output_format = parse_format(flags.output_format)};
  std::size_t rows_before = 0;
  const table::RowCounts result = table::append_columns(
      flags.inputs, flags.output, options, {{"probability", table::AddedType::kDouble}},
      [&](const Frame& frame, std::span<table::AddedValues> added, std::span<std::uint8_t>) {
        const auto column = [&](std::size_t at) {
          return RealSpan(std::span<const double>(std::get<NumberValues>(frame.columns[at].values)));
        };
        CalibratedRows rows = {.score = column(0), .table = name, .rows_before = rows_before};
        if (has_levels) rows.uncertainty = column(1);
        if (set.chosen == Calibrator::kEvidence) rows.evidence = column(1);
        added[0] = calibrate_rows(set, set.chosen, rows);
        rows_before += frame.num_rows;
      });
  say_left_out(name, result.rows_dropped, "with missing or impossible values");
  if (flags.output == "-") return kDone;
  if (flags.json) {
    fmt::print(
        "{}\n",
        Json({{"rows", result.rows}, {"calibrator", to_string(set.chosen)}, {"rows_dropped", result.rows_dropped}})
            .dump(1));
  } else {
    fmt::print("{}, probability by {}{}, written to {}\n", plural_text(result.rows, "row"), to_string(set.chosen),
               flags.calibrator.empty() ? " (as the file says)" : "", shown(flags.output));
  }
  return kDone;
}

int run(ApplyFlags flags, const CLI::App& verb) {
  std::vector<std::string> all = flags.inputs;
  all.push_back(flags.boundary);
  check_stdin_once(all);
  const std::string text = read_json_text(flags.boundary, "boundary");
  (void)table::output_format(flags.output, parse_format(flags.output_format));
  (void)open_output(flags.output, {});  // refuses a path that cannot be written before any work is done
  if (is_calibration_json(text)) return apply_calibration(flags, verb, text);
  for (const char* flag : {"--calibrator", "--evidence"}) {
    if (verb.count(flag) > 0) throw InvalidInput(flag, shown(flags.boundary) + " is no calibration file");
  }
  if (is_classes_json(text)) {
    const ClassBoundaries classes = in_table(shown(flags.boundary), [&] { return classes_from_json(text); });
    return apply_classes(classes, {flags.inputs, flags.output, flags.json}, parse_format(flags.output_format),
                         flags.table, verb);
  }
  const Boundary boundary = in_table(shown(flags.boundary), [&] { return boundary_from_json(text); });
  // The boundary knows its columns; flags rename them for this table.
  name_columns(verb, boundary, flags.table.read.columns);
  const std::optional<table::Format> output_format = parse_format(flags.output_format);
  const table::PredictionOptions read = read_options(shown(flags.inputs), flags.table);
  const table::AppendDecisionsOptions options = {.read = read.read,
                                                 .score = read.columns.score,
                                                 .uncertainty = read.columns.uncertainty,
                                                 .segment = read.columns.segment,
                                                 .drop_missing = read.drop_missing,
                                                 .with_review = boundary.review.has_value(),
                                                 .output_format = output_format};
  std::size_t flagged = 0;
  std::size_t reviewed = 0;
  std::size_t unseen = 0;
  const table::RowCounts result =
      table::append_decisions(flags.inputs, flags.output, options, [&](const table::DecisionBatch& batch) {
        if (boundary.segments) {
          unseen +=
              decide(*boundary.segments, batch.score, batch.uncertainty, *batch.segment, batch.decision, batch.level);
        } else {
          decide(boundary.rule, batch.score, batch.uncertainty, batch.decision, batch.level);
        }
        for (const std::uint8_t decision : batch.decision) flagged += decision;
        if (batch.review.empty()) return;
        decide_review(boundary, batch.score, batch.uncertainty, batch.review);
        for (const std::uint8_t review : batch.review) reviewed += review;
      });
  say_left_out(shown(flags.inputs), result.rows_dropped, "with missing or impossible values");
  if (unseen > 0) fmt::print(stderr, "{}: {}\n", shown(flags.inputs), unseen_text(*boundary.segments, unseen));
  if (flags.output == "-") return kDone;
  if (flags.json) {
    Json report = {{"rows", result.rows}, {"flagged", flagged}};
    if (boundary.review) report["reviewed"] = reviewed;
    if (boundary.segments) report["unseen_segment_rows"] = unseen;
    report["rows_dropped"] = result.rows_dropped;
    fmt::print("{}\n", report.dump(1));
  } else {
    const auto share_text = [&](std::size_t part, const char* name) {
      return fmt::format("{} {} ({:.2f}%)", count_text(static_cast<double>(part)), name,
                         100.0 * static_cast<double>(part) / std::max(static_cast<double>(result.rows), 1.0));
    };
    fmt::print("{}, {}{}, written to {}\n", plural_text(result.rows, "row"), share_text(flagged, "flagged"),
               boundary.review ? ", " + share_text(reviewed, "to review") : "", shown(flags.output));
  }
  return kDone;
}

}  // namespace

void add_apply(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ApplyFlags>();
  CLI::App* verb =
      program.add_subcommand("apply", "Add decision and level (and review), or the probability, to a table");
  verb->add_option("BOUNDARY", flags->boundary, "Boundary file of limen fit, or file of limen calibrate; - for stdin")
      ->required();
  verb->add_option("DATA", flags->inputs, "Tables with score and uncertainty: CSV, TSV, Parquet or Arrow; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output, "Where to write the table, - for stdout")->required();
  add_output_format_flag(*verb, flags->output_format);
  FlagGroup group(*verb, "Calibration");
  group.add("--calibrator", flags->calibrator, "NAME",
            "ist, mist, shrunken, tau or evidence; without it the one that the file names");
  group.add("--evidence", flags->evidence, "COLUMN", "Column of the evidence, for that calibrator");
  add_segment_column_flag(*verb, flags->table.read.columns);
  add_table_flags(*verb, flags->table, false);
  verb->add_flag("--json", flags->json, "Print the counts as JSON");
  verb->footer(
      "Example: limen apply b.json today.csv -o decisions.csv\n"
      "A file of several classes: decision is the name of the class that claims the row, or empty; where several may\n"
      "claim it, decision_NAME is 0 or 1 for each class.\n"
      "A boundary with segments needs their column too; level is then the uncertainty level inside the segment, -1 for "
      "a\n"
      "value that the hold-out did not have and that is never flagged.\n"
      "A boundary with a review also adds the column review: 1 = send to a person, 0 for flagged rows.\n"
      "A file of limen calibrate adds the column probability, by the calibrator that had the least log loss on rows "
      "left out.\n"
      "Other columns are copied as they are. Memory does not grow with the table.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
