// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

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
  TableFlags table;
  bool json = false;
};

int run(ApplyFlags flags, const CLI::App& verb) {
  std::vector<std::string> all = flags.inputs;
  all.push_back(flags.boundary);
  check_stdin_once(all);
  const Boundary boundary = read_boundary(flags.boundary);
  // The boundary knows its columns; flags rename them for this table.
  name_columns(verb, boundary, flags.table.read.columns);
  const std::optional<table::Format> output_format = parse_format(flags.output_format);
  (void)table::output_format(flags.output, output_format);
  (void)open_output(flags.output, {});  // refuses a path that cannot be written before any work is done
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
  CLI::App* verb = program.add_subcommand("apply", "Add the columns decision and level (and review) to a table");
  verb->add_option("BOUNDARY", flags->boundary, "Boundary file of limen fit, - for stdin")->required();
  verb->add_option("DATA", flags->inputs, "Tables with score and uncertainty: CSV, TSV, Parquet or Arrow; - for stdin")
      ->required();
  verb->add_option("-o,--output", flags->output, "Where to write the table, - for stdout")->required();
  add_output_format_flag(*verb, flags->output_format);
  add_segment_column_flag(*verb, flags->table.read.columns);
  add_table_flags(*verb, flags->table, false);
  verb->add_flag("--json", flags->json, "Print the counts as JSON");
  verb->footer(
      "Example: limen apply b.json today.csv -o decisions.csv\n"
      "A boundary with segments needs their column too; level is then the uncertainty level inside the segment, -1 for "
      "a\n"
      "value that the hold-out did not have and that is never flagged.\n"
      "A boundary with a review also adds the column review: 1 = send to a person, 0 for flagged rows.\n"
      "Other columns are copied as they are. Memory does not grow with the table.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
