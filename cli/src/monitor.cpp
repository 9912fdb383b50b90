// SPDX-License-Identifier: MIT
#include "limen/promise/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "flags.h"
#include "frame_rows.h"
#include "limen/base/label_column.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/table/frames.h"
#include "options.h"
#include "report_page.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct MonitorFlags {
  std::string boundary;
  std::vector<std::string> inputs;
  std::string state;
  std::string reference;
  std::string report;
  std::string time;
  std::string id;
  double alpha = MonitorOptions{}.alpha;
  double tolerance = 0;
  double max_weight = 0;
  std::int64_t remember = MonitorOptions{}.remember;
  bool reset = false;
  bool ignore_weight = false;
  TableFlags table;
  bool json = false;
};

/// Rows of one batch that can be counted, in memory.
struct Batch {
  NumberValues score, uncertainty, weight;
  std::vector<std::uint8_t> label;
  limen::Column id, time;
};

/// Reads the tables of a run and hands them to the monitor.
class MonitorRun {
 public:
  MonitorRun(const MonitorFlags& flags, const CLI::App& verb, const Boundary& boundary);

  void read_reference(Monitor& monitor) const;
  /// Counts one table, unless it was counted before.
  void count(const std::string& path, Monitor& monitor, report::MonitorPath& so_far);
  /// Throws InvalidInput when the value that was said to be positive was in none of the tables, nor in earlier ones.
  void check_positive(const Monitor& monitor) const;

 private:
  [[nodiscard]] table::FrameReadOptions read_options(const std::string& path, bool is_reference) const;
  [[nodiscard]] Batch batch_of(const Frame& frame, const std::string& name, std::uint64_t first_row);

  const MonitorFlags& flags_;
  table::PredictionColumns columns_;
  LabelRule rule_;
  LabelsSeen seen_;
  bool label_required_;
  std::uint64_t dropped_ = 0;
};

MonitorRun::MonitorRun(const MonitorFlags& flags, const CLI::App& verb, const Boundary& boundary)
    : flags_(flags),
      columns_(flags.table.read.columns),
      rule_(label_rule(flags.table.labels)),
      label_required_(verb.count("--label") > 0) {
  // The boundary knows its columns; flags rename them for this table.
  if (verb.count("--score") == 0) columns_.score = boundary.score_column;
  if (verb.count("--uncertainty") == 0) columns_.uncertainty = boundary.uncertainty_column;
}

table::FrameReadOptions MonitorRun::read_options(const std::string& path, bool is_reference) const {
  table::FrameReadOptions options;
  options.read = cli::read_options(flags_.table.text, shown(path));
  options.columns = {columns_.score, columns_.uncertainty};
  options.number_columns = options.columns;
  if (is_reference) return options;
  // Stdin can be read only once, not looked at before: all of its columns are read.
  std::vector<std::string> there;
  const bool is_stream = path == "-";
  if (!is_stream && std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    throw InvalidInput(shown(path), "is not a file; give what comes through a pipe as - (stdin)");
  }
  if (is_stream) {
    options.columns.clear();
    there = {columns_.label, columns_.weight};
  } else {
    for (const table::ColumnInfo& column : table::describe_columns(path, options)) there.push_back(column.name);
  }
  const auto want = [&](const std::string& name, std::vector<std::string>& kind) {
    if (!is_stream) options.columns.push_back(name);
    kind.push_back(name);
  };
  // Labels as text: the first megabyte may hold none, and then does not tell what they look like.
  if (label_required_ || contains(there, columns_.label)) want(columns_.label, options.text_columns);
  if (!flags_.ignore_weight && (columns_.weight_required || contains(there, columns_.weight))) {
    want(columns_.weight, options.number_columns);
  }
  if (!flags_.id.empty()) want(flags_.id, options.text_columns);
  if (!flags_.time.empty() && flags_.time != flags_.id) want(flags_.time, options.text_columns);
  return options;
}

Batch MonitorRun::batch_of(const Frame& frame, const std::string& name, std::uint64_t first_row) {
  const auto find = [&](const std::string& column, bool required) -> const limen::Column* {
    const auto found = std::ranges::find(frame.columns, column, &limen::Column::name);
    if (found != frame.columns.end()) return &*found;
    if (!required) return nullptr;
    throw InvalidInput(Where{.source = name}, fmt::format("has no column {}", limen::quoted(column)),
                       Cause::kNoSuchColumn);
  };
  const limen::Column* const label = find(columns_.label, label_required_);
  const limen::Column* const weight =
      flags_.ignore_weight ? nullptr : find(columns_.weight, columns_.weight_required || flags_.max_weight > 0);
  const limen::Column* const id = flags_.id.empty() ? nullptr : find(flags_.id, true);
  const limen::Column* const time = flags_.time.empty() ? nullptr : find(flags_.time, true);
  if (weight != nullptr && flags_.max_weight == 0) {
    throw InvalidInput(
        Where{.source = name, .column = weight->name},
        "rows have weights: say with --max-weight the largest that can ever come, or leave them out with "
        "--ignore-weight");
  }

  // What cannot be missing; a label can.
  std::vector<const limen::Column*> needed = {find(columns_.score, true), find(columns_.uncertainty, true)};
  if (weight != nullptr) needed.push_back(weight);
  if (id != nullptr) needed.push_back(id);
  std::vector<std::uint8_t> is_bad(frame.num_rows);
  for (const limen::Column* column : needed) {
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      const auto* numbers = std::get_if<NumberValues>(&column->values);
      const bool bad = numbers != nullptr ? !std::isfinite((*numbers)[row])
                                          : std::get<TextValues>(column->values).code[row] == TextValues::kMissing;
      if (!bad) continue;
      is_bad[row] = 1;
      if (flags_.table.text.drop_missing) continue;
      throw InvalidInput(
          Where{.source = name, .place = fmt::format("row {}", first_row + row + 1), .column = column->name},
          "is missing", Cause::kMissingValue);
    }
  }
  limen::Column labels = label != nullptr ? *label : limen::Column{};
  if (flags_.table.text.drop_missing && label != nullptr) {
    auto& texts = std::get<TextValues>(labels.values);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (texts.code[row] == TextValues::kMissing) continue;
      const std::string& text = texts.distinct[static_cast<std::size_t>(texts.code[row])];
      if (is_missing(trimmed(text)) || label_of(rule_, text)) continue;
      is_bad[row] = 1;
      texts.code[row] = TextValues::kMissing;
    }
  }
  Batch batch;
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    if (is_bad[row] == 0) rows.push_back(row);
  }
  const bool all = rows.size() == frame.num_rows;
  dropped_ += frame.num_rows - rows.size();
  const auto column_of = [&](const limen::Column& column) { return all ? column : taken_rows(column, rows); };
  batch.score = std::get<NumberValues>(column_of(*needed[0]).values);
  batch.uncertainty = std::get<NumberValues>(column_of(*needed[1]).values);
  if (weight != nullptr) batch.weight = std::get<NumberValues>(column_of(*weight).values);
  if (id != nullptr) batch.id = column_of(*id);
  if (time != nullptr) batch.time = column_of(*time);
  if (label != nullptr) batch.label = read_labels(column_of(labels), rule_, Where{.source = name}, first_row, seen_);
  return batch;
}

/// for_each_frame, to which a table without rows is nothing to visit: a day on which nothing came.
void for_each_batch(const table::TableFiles& files, const table::FrameReadOptions& options,
                    const std::function<void(const Frame&)>& visit) {
  try {
    table::for_each_frame(files, options, visit);
  } catch (const InvalidInput& error) {
    if (error.cause() != Cause::kNoRows) throw;
  }
}

void MonitorRun::read_reference(Monitor& monitor) const {
  table::FrameReadOptions options = read_options(flags_.reference, true);
  options.missing_rule = flags_.table.text.drop_missing ? table::MissingRule::kDrop : table::MissingRule::kRefuse;
  const table::RowCounts rows = table::for_each_frame(flags_.reference, options, [&](const Frame& frame) {
    monitor.add_reference(std::span<const double>(std::get<NumberValues>(frame.columns[0].values)),
                          std::span<const double>(std::get<NumberValues>(frame.columns[1].values)));
  });
  say_left_out(shown(flags_.reference), rows.rows_dropped, "with missing or impossible values");
}

void MonitorRun::count(const std::string& path, Monitor& monitor, report::MonitorPath& so_far) {
  const std::string name = shown(path);
  const table::TableFiles files(path);
  if (files.files().size() != 1) {
    throw InvalidInput(name, fmt::format("stands for {} files, which are counted one by one: give it without quotes",
                                         files.files().size()));
  }
  // Whether the table was counted before is known after its last row: rows are counted in a copy.
  Monitor with_table = monitor;
  report::MonitorPath longer = so_far;
  RowsFingerprint fingerprint;
  std::uint64_t first_row = 0;
  dropped_ = 0;
  for_each_batch(files, read_options(path, false), [&](const Frame& frame) {
    const Batch batch = batch_of(frame, name, first_row);
    const MonitorRows rows = {.score = std::span(batch.score),
                              .uncertainty = std::span(batch.uncertainty),
                              .label = batch.label,
                              .weight = batch.weight,
                              .id = flags_.id.empty() ? nullptr : &batch.id,
                              .time = flags_.time.empty() ? nullptr : &batch.time};
    fingerprint.add(rows);
    in_table(name, [&] {
      if (flags_.report.empty()) return with_table.update(rows);
      longer.update(with_table, rows);
    });
    first_row += frame.num_rows;
  });
  say_left_out(name, dropped_, "with missing or impossible values");
  if (first_row == dropped_) return;
  if (monitor.has_counted(fingerprint.value())) {
    fmt::print(stderr, "{}: the same rows as in a table counted before, not counted again\n", name);
    return;
  }
  with_table.mark_counted(fingerprint.value());
  monitor = std::move(with_table);
  so_far = std::move(longer);
}

void MonitorRun::check_positive(const Monitor& monitor) const {
  if (monitor.positives() > 0 || monitor.labelled() == 0) return;
  require_positive_seen(rule_, seen_, Where{.source = shown(flags_.inputs), .column = columns_.label});
}

MonitorOptions make_options(const MonitorFlags& flags, const CLI::App& verb) {
  MonitorOptions options = {.alpha = flags.alpha, .remember = flags.remember};
  if (verb.count("--tolerance") > 0) options.tolerance = flags.tolerance;
  if (verb.count("--max-weight") > 0) options.max_weight = flags.max_weight;
  validate(options);
  return options;
}

/// The state goes on as it began: a flag that says otherwise is a mistake.
void check_same_options(const MonitorFlags& flags, const CLI::App& verb, const MonitorOptions& state) {
  const MonitorOptions asked = make_options(flags, verb);
  const auto check = [&](const char* flag, bool same) {
    if (verb.count(flag) == 0 || same) return;
    throw InvalidInput(shown(flags.state), fmt::format("was begun with another {}; begin another one, or anew with "
                                                       "--reset",
                                                       flag));
  };
  check("--alpha", asked.alpha == state.alpha);
  check("--tolerance", asked.tolerance == state.tolerance);
  check("--max-weight", asked.max_weight == state.max_weight);
  check("--remember", asked.remember == state.remember);
}

constexpr std::size_t kMostStateBytes = std::size_t{1} << 32;

std::string percent(double share) { return fmt::format("{:.2f}%", 100 * share); }

std::string moment_text(const MonitorMoment& moment) {
  const std::string row = "row " + count_text(static_cast<double>(moment.row));
  return moment.time.empty() ? row : fmt::format("{} ({})", limen::escaped(moment.time, 40), row);
}

std::string drift_text(const DriftReport& drift, const std::string& kind) {
  if (!drift.has_reference) {
    return fmt::format("the first {} rows are taken as reference, {} so far",
                       count_text(static_cast<double>(detail::DriftWatch::kReferenceRows)),
                       count_text(static_cast<double>(drift.reference_rows)));
  }
  if (!drift.drift) return "no sign of drift";
  const std::size_t at = drift.drift->kind;
  return fmt::format("drifted since row {}: {} {}, reference {} (e-value {:.3g})",
                     count_text(static_cast<double>(drift.drift->since_row)), kind, percent(drift.drift->share),
                     percent(drift.reference_shares[at]), drift.e_value);
}

void print_text(const MonitorReport& report, const MonitorFlags& flags) {
  const bool below = report.constraint == "precision" || report.constraint == "recall";
  const auto line = [](const char* name, const std::string& text) { fmt::print("  {:<13}{}\n", name, text); };
  fmt::print("{} {} {}: {}\n", report.constraint, below ? ">=" : "<=", limen::number_text(report.bound),
             report.verdict == Verdict::kHolds
                 ? fmt::format("{}, to within {}", to_string(report.verdict), limen::number_text(report.tolerance))
                 : std::string(to_string(report.verdict)));
  if (const auto& broken = report.broken) {
    line("since",
         fmt::format("{}, most likely; noticed at {}", moment_text(broken->since), moment_text(broken->noticed)));
    line("since then", fmt::format("{} about {} in {}{}", report.constraint, ratio_text(broken->figure),
                                   plural_text(broken->tested, report.unit),
                                   broken->figure_before ? ", before " + ratio_text(*broken->figure_before) : ""));
  }
  if (report.more_needed) {
    line("needs", fmt::format("about {} more, if the bound is just kept, to tell {} from {}",
                              plural_text(*report.more_needed, report.unit), limen::number_text(report.bound),
                              ratio_text(report.bound + (below ? -1 : 1) * report.tolerance)));
  }
  line("figure", report.figure ? fmt::format("{} {} in {}; {} to {} at all times, {} sure", report.constraint,
                                             ratio_text(*report.figure), plural_text(report.tested, report.unit),
                                             ratio_text(report.figure_low), ratio_text(report.figure_high),
                                             fmt::format("{:g}%", 100 * (1 - report.alpha)))
                               : fmt::format("no {} yet", report.unit));
  line("evidence", fmt::format("e-value {:.3g} against the promise, broken from {:g} on; p {:.3g} at all times",
                               report.e_value, 1 / report.alpha, report.p_value));
  line("rows",
       fmt::format("{}, {} flagged ({}), {} with label{}", count_text(static_cast<double>(report.rows)),
                   count_text(static_cast<double>(report.flagged)),
                   percent(static_cast<double>(report.flagged) / std::max(static_cast<double>(report.rows), 1.0)),
                   count_text(static_cast<double>(report.labelled)),
                   report.repeated > 0 ? fmt::format("; {} came again", plural_text(report.repeated, "row")) : ""));
  line("flag rate",
       drift_text(report.flag_rate,
                  report.flag_rate.drift && report.flag_rate.drift->kind == 1 ? "not flagged" : "flagged"));
  if (report.levels.shares.size() > 1) {
    line("levels",
         drift_text(report.levels, report.levels.drift ? fmt::format("level {}", report.levels.drift->kind) : ""));
  }
  if (report.uneven_labels) {
    line("note",
         fmt::format("labels come for {} of flagged rows and {} of the others: {} is that of labelled rows only",
                     percent(static_cast<double>(report.labelled_flagged) / static_cast<double>(report.flagged)),
                     percent(static_cast<double>(report.labelled - report.labelled_flagged) /
                             static_cast<double>(report.rows - report.flagged)),
                     report.constraint));
  }
  if (!flags.state.empty() && !flags.inputs.empty()) fmt::print("written to {}\n", shown(flags.state));
}

int run(MonitorFlags flags, const CLI::App& verb) {
  std::vector<std::string> all = flags.inputs;
  all.push_back(flags.boundary);
  check_stdin_once(all);
  const bool goes_on = !flags.state.empty() && !flags.reset && std::filesystem::exists(flags.state);
  if (flags.inputs.empty() && !goes_on) throw InvalidInput("give tables to count, or --state of an earlier run");
  if (flags.state == "-") throw InvalidInput("--state", "is a file, not stdin or stdout");
  const Boundary boundary = read_boundary(flags.boundary);
  std::string before;
  Monitor monitor = [&] {
    const MonitorOptions options = make_options(flags, verb);
    if (!goes_on) return in_table(shown(flags.boundary), [&] { return Monitor(boundary, options); });
    before = read_regular_file(flags.state, kMostStateBytes);
    return in_table(shown(flags.state), [&] { return Monitor::from_json(before, boundary); });
  }();
  if (goes_on) check_same_options(flags, verb, monitor.options());
  flags.max_weight = monitor.options().max_weight.value_or(0);
  if (!flags.inputs.empty()) (void)open_output(flags.state, all);  // refuses a path that cannot be written at once

  MonitorRun tables(flags, verb, boundary);
  if (!flags.reference.empty()) {
    if (goes_on) throw InvalidInput("--reference", "is taken by the run that begins a state");
    tables.read_reference(monitor);
  }
  const auto page = open_report(flags.report, all, flags.state);
  report::MonitorPath so_far;
  for (const std::string& path : flags.inputs) tables.count(path, monitor, so_far);
  tables.check_positive(monitor);

  if (!flags.state.empty() && !flags.inputs.empty()) {
    if (goes_on && read_regular_file(flags.state, kMostStateBytes) != before) {
      throw InvalidInput(shown(flags.state), "changed while the tables were read: another run has used it; run again",
                         Cause::kFileChanged);
    }
    const std::unique_ptr<table::OutputFile> output = open_output(flags.state, all);
    output->write(monitor.to_json());
    output->commit();
  }
  const MonitorReport report = monitor.report();
  if (page) {
    report::StudyOptions options = study_options(verb, flags.table);
    options.objective = boundary.objective;
    options.holdout.name = shown(flags.boundary);
    write_report(*page, monitor_study(boundary, so_far.finish(monitor), options));
  }
  if (flags.json) {
    fmt::print("{}\n", to_json(report));
  } else {
    print_text(report, flags);
  }
  return report.verdict == Verdict::kBroken ? kInfeasible : kDone;
}

}  // namespace

void add_monitor(CLI::App& program, Action& action) {
  auto flags = std::make_shared<MonitorFlags>();
  CLI::App* verb = program.add_subcommand("monitor", "Does a deployed boundary still keep its bound? Anytime-valid");
  verb->add_option("BOUNDARY", flags->boundary, "Boundary file of limen fit, - for stdin")->required();
  verb->add_option("LABELLED", flags->inputs,
                   "Rows of deployment, with labels as far as they are known: CSV, TSV, Parquet or Arrow; - for stdin");
  FlagGroup group(*verb);
  group.add("--state", flags->state, "FILE", "What was counted so far; made by the first run, renewed by each");
  group.toggle("--reset", flags->reset, "Begin the state anew");
  group.add("--alpha", flags->alpha, "A", "Probability, over all time, of calling a kept promise broken");
  verb->add_option("--tolerance", flags->tolerance,
                   "Holds: missed by less than this, surely [0.05, or half of the bound if less]")
      ->type_name("T");
  group.add("--reference", flags->reference, "HOLDOUT",
            "Table whose flag rate and level shares rows are compared with [flag rate of the boundary's hold-out, "
            "levels of the first 10,000 rows]");
  group.add("--id", flags->id, "COLUMN", "By which a row that comes again, with its label, is known");
  group.add("--time", flags->time, "COLUMN", "Time of a row, for \"since when\"; any text or number");
  group.add("--remember", flags->remember, "N", "Rows whose ids are remembered");
  verb->add_option("--max-weight", flags->max_weight, "The largest weight that can come, for rows with weights")
      ->type_name("W");
  group.toggle("--ignore-weight", flags->ignore_weight, "Rows count once each, whatever their weights");
  add_report_flag(*verb, flags->report, "of what was counted, with the way to it over this run's rows");
  add_table_flags(*verb, flags->table, true);
  verb->add_flag("--json", flags->json, "Print JSON");
  verb->footer(
      "Example: limen monitor b.json 2026-03-01.csv --state state.json --id row --time day\n"
      "Rows without a label are counted, and tested when they come again with one. A table that was\n"
      "counted before is not counted again. Exit code 3: broken.");
  verb->callback([flags, verb, &action] { action = [flags, verb] { return run(*flags, *verb); }; });
}

}  // namespace limen::cli
