// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "evidence_rows.h"
#include "frame_flags.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/undersampling.h"
#include "limen/table/append.h"
#include "options.h"
#include "progress.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

struct EvidenceFlags {
  std::string train;
  std::vector<std::string> data;
  std::string output;
  std::string output_format;
  std::vector<std::string> keys;
  std::string label;
  LabelFlags labels;
  std::string weight;
  std::string rate;       // name of the column, empty: none
  std::string add_label;  // the same
  bool positives = false;
  bool leave_one_out = false;
  double tau = 1;
  std::uint64_t seed = 0;
  EvidenceOptions options;
  FrameFlags frame;
  bool json = false;
};

/// What is read of a row beside its keys.
struct RowValues {
  std::vector<std::uint8_t> label;    ///< empty when there is none to read
  std::vector<double> weight;         ///< empty when every row counts once
  std::vector<std::uint8_t> dropped;  ///< 1 for rows without a label or weight; empty when there are none
  std::uint64_t num_dropped = 0;
};

/// Reads both tables with the same columns.
class EvidenceRun {
 public:
  explicit EvidenceRun(const EvidenceFlags& flags)
      : flags_(flags), keys_(parse_keys(flags.keys)), rule_(label_rule(flags.labels)) {}

  int run();

 private:
  [[nodiscard]] bool reads_label() const { return !flags_.label.empty(); }
  [[nodiscard]] table::FrameReadOptions train_options() const;
  [[nodiscard]] RowValues values_of(const Frame& frame, bool with_label, bool with_weight, std::uint64_t first_row,
                                    const std::string& table);
  [[nodiscard]] RowValues training_values(const Frame& frame, std::uint64_t first_row);
  [[nodiscard]] Evidence count();
  [[nodiscard]] std::vector<table::AddedColumn> added_columns() const;
  void write(const Evidence& evidence);
  void print(const Evidence& evidence) const;

  const EvidenceFlags& flags_;
  std::vector<KeySpec> keys_;
  LabelRule rule_;
  LabelsSeen seen_;
  std::vector<std::string> text_keys_;    // columns of keys that are text, known after count()
  std::vector<std::string> number_keys_;  // the others
  std::uint64_t dropped_ = 0;             // training rows
  std::uint64_t data_dropped_ = 0;        // rows of DATA
  table::RowCounts result_;
  std::uint64_t backed_off_ = 0;
};

table::FrameReadOptions EvidenceRun::train_options() const {
  table::FrameReadOptions options = frame_options(flags_.frame, shown(flags_.train));
  options.columns = columns_of(keys_);
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::find(options.columns, name) != options.columns.end();
  };
  const auto add = [&](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const KeySpec& key : keys_) {
    if (key.part) add(options.text_columns, key.column);
  }
  for (const std::string& name : flags_.frame.categorical) {
    if (!is_wanted(name)) throw InvalidInput(fmt::format("--categorical: \"{}\" is not one of the keys", name));
    add(options.text_columns, name);
  }
  for (const std::string& name : text_keys_) add(options.text_columns, name);
  for (const std::string& name : number_keys_) add(options.number_columns, name);
  if (reads_label()) {
    if (is_wanted(flags_.label)) throw InvalidInput("--label: the label cannot be a key");
    options.columns.push_back(flags_.label);
    // As it stands: what is positive may be a word, and a wrong value is named as it is written.
    options.text_columns.push_back(flags_.label);
  }
  if (!flags_.weight.empty()) {
    if (is_wanted(flags_.weight) || flags_.weight == flags_.label) {
      throw InvalidInput("--weight: the weight cannot be a key or the label");
    }
    options.columns.push_back(flags_.weight);
    options.number_columns.push_back(flags_.weight);
  }
  return options;
}

/// A row without a label or weight that is needed is an error, or is marked as dropped.
RowValues EvidenceRun::values_of(const Frame& frame, bool with_label, bool with_weight, std::uint64_t first_row,
                                 const std::string& table) {
  RowValues values;
  const auto column = [&](const std::string& name) -> const limen::Column& {
    return *std::ranges::find(frame.columns, name, &limen::Column::name);
  };
  const auto drop = [&](std::size_t row) {
    values.dropped.resize(frame.num_rows, 0);
    values.num_dropped += values.dropped[row] == 0 ? 1 : 0;
    values.dropped[row] = 1;
  };
  if (with_label) {
    values.label = read_labels(column(flags_.label), rule_, Where{.source = table}, first_row, seen_);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (values.label[row] != kMissingLabel) continue;
      if (!flags_.frame.drop_missing)
        refuse_missing_label(Where{.source = table}, flags_.label, first_row + row, rule_);
      values.label[row] = 0;
      drop(row);
    }
  }
  if (with_weight) {
    values.weight = std::get<NumberValues>(column(flags_.weight).values);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (values.weight[row] >= 0) continue;
      if (flags_.frame.drop_missing && std::isnan(values.weight[row])) {
        values.weight[row] = 0;
        drop(row);
        continue;
      }
      throw InvalidInput(Where{table, fmt::format("row {}", first_row + row + 1), flags_.weight},
                         "a weight is a number of at least 0",
                         std::isnan(values.weight[row]) ? Cause::kMissingValue : Cause::kOther);
    }
  }
  return values;
}

/// Rows that are dropped have weight 0, and so have negatives that are not kept.
RowValues EvidenceRun::training_values(const Frame& frame, std::uint64_t first_row) {
  RowValues values = values_of(frame, reads_label(), !flags_.weight.empty(), first_row, shown(flags_.train));
  dropped_ += values.num_dropped;
  if (flags_.tau == 1 && values.num_dropped == 0) return values;
  if (values.weight.empty()) values.weight.assign(frame.num_rows, 1);
  const Undersampling undersampling(flags_.tau, flags_.seed);
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    const bool is_dropped = !values.dropped.empty() && values.dropped[row] != 0;
    const bool is_negative = reads_label() && values.label[row] == 0;
    if (is_dropped || (is_negative && !undersampling.keeps(first_row + row))) values.weight[row] = 0;
  }
  return values;
}

/// Counts the rows of TRAIN; a first pass sets the bins of numeric keys.
Evidence EvidenceRun::count() {
  std::unique_ptr<EvidenceKeys> keys;
  const auto start = [&](const Frame& frame) {
    const Frame first = key_frame({.num_rows = 0, .columns = frame.columns}, keys_, shown(flags_.train));
    keys = std::make_unique<EvidenceKeys>(first, flags_.options);
    for (const limen::Column& column : frame.columns) {
      const bool is_key = std::ranges::find(keys_, column.name, &KeySpec::column) != keys_.end();
      if (!is_key) continue;
      (std::holds_alternative<TextValues>(column.values) ? text_keys_ : number_keys_).push_back(column.name);
    }
  };
  const bool is_stdin = flags_.train == "-";
  if (!is_stdin) {
    std::vector<table::ColumnInfo> columns = table::describe_columns({flags_.train}, train_options());
    for (const KeySpec& key : keys_) {
      const auto found = std::ranges::find(columns, key.column, &table::ColumnInfo::name);
      if (found == columns.end() || key.part || found->kind == table::ColumnKind::kText) continue;
      if (std::ranges::find(number_keys_, key.column) == number_keys_.end()) number_keys_.push_back(key.column);
    }
    if (!number_keys_.empty()) {
      std::uint64_t rows = 0;
      table::for_each_frame({flags_.train}, train_options(), [&](const Frame& frame) {
        if (!keys) start(frame);
        const RowValues values = training_values(frame, rows);
        keys->fit(key_frame(frame, keys_, shown(flags_.train)), values.weight);
        rows += frame.num_rows;
      });
      keys->finish_fit();
      dropped_ = 0;
    }
  }
  std::unique_ptr<EvidenceCounter> counter;
  std::uint64_t rows = 0;
  table::for_each_frame({flags_.train}, train_options(), [&](const Frame& frame) {
    if (!keys) start(frame);
    if (!counter) {
      if (keys->needs_fit() && !keys->is_fitted()) {
        throw InvalidInput(
            fmt::format("<stdin>: numeric keys need two passes (give a file, or declare them: "
                        "--categorical {})",
                        fmt::join(number_keys_, ",")));
      }
      counter = std::make_unique<EvidenceCounter>(std::move(*keys), flags_.options);
    }
    const RowValues values = training_values(frame, rows);
    counter->add(key_frame(frame, keys_, shown(flags_.train)), values.label, values.weight);
    rows += frame.num_rows;
  });
  if (reads_label()) require_positive_seen(rule_, seen_, Where{.source = shown(flags_.train), .column = flags_.label});
  return std::move(*counter).finish();
}

std::vector<table::AddedColumn> EvidenceRun::added_columns() const {
  const auto count_type = flags_.weight.empty() ? table::AddedType::kInt64 : table::AddedType::kDouble;
  std::vector<table::AddedColumn> added = {{"evidence", count_type}, {"uncertainty", table::AddedType::kDouble}};
  if (flags_.positives) added.push_back({"positives", count_type});
  if (!flags_.rate.empty()) added.push_back({flags_.rate, table::AddedType::kDouble});
  if (!flags_.add_label.empty()) added.push_back({flags_.add_label, table::AddedType::kUint8});
  return added;
}

void set_counts(table::AddedValues& added, const std::vector<double>& counts) {
  std::visit(
      [&](auto& values) {
        using Value = typename std::remove_cvref_t<decltype(values)>::value_type;
        std::ranges::transform(counts, values.begin(), [](double count) { return static_cast<Value>(count); });
      },
      added);
}

void EvidenceRun::write(const Evidence& evidence) {
  const std::string name = shown(flags_.data);
  const bool with_label = !flags_.add_label.empty() || (flags_.leave_one_out && reads_label());
  const bool with_weight = flags_.leave_one_out && !flags_.weight.empty();
  table::AppendColumnsOptions options = {.read = train_options(), .output_format = parse_format(flags_.output_format)};
  options.read.read.progress = progress_line(name);
  if (!with_label && reads_label()) std::erase(options.read.columns, flags_.label);
  if (!with_weight && !flags_.weight.empty()) std::erase(options.read.columns, flags_.weight);
  std::uint64_t rows = 0;
  if (flags_.leave_one_out) dropped_ = 0;  // DATA is TRAIN: its rows come again
  const auto fill = [&](const Frame& frame, std::span<table::AddedValues> added, std::span<std::uint8_t> keep) {
    const Frame key_rows = key_frame(frame, keys_, name);
    RowValues values =
        flags_.leave_one_out ? training_values(frame, rows) : values_of(frame, with_label, with_weight, rows, name);
    if (!flags_.add_label.empty()) std::get<std::vector<std::uint8_t>>(added.back()) = values.label;
    for (std::size_t row = 0; row < values.dropped.size(); ++row) keep[row] = values.dropped[row] == 0 ? 1 : 0;
    data_dropped_ += values.num_dropped;
    const EvidenceRows found = flags_.leave_one_out
                                   ? evidence.query(key_rows, {.label = values.label, .weight = values.weight})
                                   : evidence.query(key_rows);
    set_counts(added[0], found.count);
    std::get<std::vector<double>>(added[1]) = found.uncertainty;
    std::size_t next = 2;
    if (flags_.positives) set_counts(added[next++], found.positives);
    if (!flags_.rate.empty()) std::get<std::vector<double>>(added[next++]) = found.rate;
    const auto all_keys = static_cast<std::int32_t>(keys_.size());
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      backed_off_ += keep[row] != 0 && found.keys_used[row] < all_keys ? 1 : 0;
    }
    rows += frame.num_rows;
  };
  result_ = table::append_columns(flags_.data, flags_.output, options, added_columns(), fill);
}

void EvidenceRun::print(const Evidence& evidence) const {
  const auto say_dropped = [](const std::string& table, std::uint64_t count) {
    if (count == 0) return;
    fmt::print(stderr, "{}: left out {} without a label or weight\n", table,
               plural_text(static_cast<double>(count), "row"));
  };
  say_dropped(shown(flags_.train), dropped_);
  if (!flags_.leave_one_out) say_dropped(shown(flags_.data), data_dropped_);
  if (flags_.output == "-") return;
  if (flags_.json) {
    Json report = {{"training_rows", count_json(evidence.num_rows())}};
    if (reads_label()) report["training_positives"] = count_json(evidence.num_positives());
    report["cells"] = evidence.num_cells();
    report["rows"] = result_.rows;
    report["rows_backed_off"] = backed_off_;
    fmt::print("{}\n", report.dump(1));
    return;
  }
  const std::string positives =
      reads_label() ? fmt::format(", {}", plural_text(evidence.num_positives(), "positive")) : "";
  fmt::print("{}: {}{} in {} of {}\n", shown(flags_.train), plural_text(evidence.num_rows(), "row"), positives,
             plural_text(static_cast<double>(evidence.num_cells()), "cell"), fmt::join(flags_.keys, ", "));
  fmt::print("{}, {} ({:.2f}%) with an empty cell, written to {}\n",
             plural_text(static_cast<double>(result_.rows), "row"), count_text(static_cast<double>(backed_off_)),
             100.0 * static_cast<double>(backed_off_) / std::max(1.0, static_cast<double>(result_.rows)),
             flags_.output);
}

int EvidenceRun::run() {
  (void)train_options();  // refuses wrong flags before any work is done
  (void)open_output(flags_.output, {flags_.train});
  const Evidence evidence = count();
  write(evidence);
  print(evidence);
  return kDone;
}

void check(const EvidenceFlags& flags) {
  std::vector<std::string> all = flags.data;
  all.push_back(flags.train);
  check_stdin_once(all);
  const auto need_label = [&](bool is_given, const char* flag) {
    if (is_given && flags.label.empty()) throw InvalidInput(fmt::format("{} needs the label: --label COLUMN", flag));
  };
  need_label(!flags.rate.empty(), "--rate");
  need_label(flags.positives, "--positives");
  need_label(!flags.labels.positive.empty(), "--positive");
  need_label(!flags.labels.positive_if.empty(), "--positive-if");
  need_label(!flags.add_label.empty(), "--add-label");
  need_label(flags.tau != 1, "--tau");
  if (!(flags.tau >= 1) || !std::isfinite(flags.tau)) throw InvalidInput("--tau: must be a number of at least 1");
  if (!(flags.options.strength >= 0) || !std::isfinite(flags.options.strength)) {
    throw InvalidInput("--strength: must be a number of at least 0");
  }
  if (flags.leave_one_out && flags.data != std::vector{flags.train}) {
    throw InvalidInput("--leave-one-out: DATA must be TRAIN itself");
  }
}

}  // namespace

void add_evidence(CLI::App& program, Action& action) {
  auto flags = std::make_shared<EvidenceFlags>();
  EvidenceOptions& options = flags->options;
  CLI::App* verb = program.add_subcommand(
      "evidence", "Add how many training rows stand behind each row, and an uncertainty from it");
  verb->add_option("TRAIN", flags->train, "Training rows: a file, a pattern, - for stdin")->required();
  verb->add_option("DATA", flags->data, "Tables to add the columns to; - for stdin")->required();
  verb->add_option("-o,--output", flags->output, "Where to write the table, - for stdout")->required();
  verb->add_option("--keys", flags->keys,
                   "Columns that rows must agree on, the most telling first; date:hour takes a part of a date (year, "
                   "month, day, hour, weekday)")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  verb->add_option("--label", flags->label, "Column of the label")->type_name("COLUMN");
  add_label_flags(*verb, flags->labels);
  verb->add_option("--weight", flags->weight, "Column of the training rows' weights")->type_name("COLUMN");
  verb->add_flag("--rate{score}", flags->rate,
                 "Also add the smoothed rate of positives, as the column score (--rate=NAME: as NAME)");
  verb->add_flag("--positives", flags->positives, "Also add the positives among the training rows as positives");
  verb->add_flag("--add-label{label}", flags->add_label,
                 "Also add the label as 0/1, as the column label (--add-label=NAME: as NAME)");
  verb->add_flag("--leave-one-out", flags->leave_one_out, "DATA is TRAIN: leave each row out of its own evidence");
  verb->add_option("--bins", options.num_bins, "Quantile bins of a numeric key; fewer distinct values are kept")
      ->type_name("L")
      ->capture_default_str()
      ->check(CLI::Range(2, 65'536).description(""));
  verb->add_option("--strength", options.strength, "Rows that the next coarser cell's rate counts for in a rate")
      ->type_name("S")
      ->capture_default_str();
  verb->add_option("--tau", flags->tau, "Keep negatives of TRAIN at rate 1/tau")->type_name("T")->capture_default_str();
  verb->add_option("--seed", flags->seed, "Which negatives are kept")->type_name("N")->capture_default_str();
  verb->add_option("--threads", options.num_threads, "Threads, 0 = all cores; the result is the same")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096).description(""));
  verb->add_option("--output-format", flags->output_format,
                   "csv, tsv, parquet or arrow; default: by the extension of the output")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "tsv", "parquet", "arrow"}).description(""));
  add_frame_flags(*verb, flags->frame);
  verb->add_flag("--json", flags->json, "Print the counts as JSON");
  verb->footer(
      "Example: limen evidence train.csv holdout.csv --keys origin,destination,date:hour --label delay\n"
      "           --positive-if \">30\" --rate --add-label -o predictions.csv\n"
      "Where no training row is in the cell of all keys, the last key is dropped, then the one before.\n"
      "uncertainty: -log(1 + evidence), or the number of dropped keys less evidence / (1 + evidence).");
  verb->callback([flags, &action] {
    action = [flags] {
      check(*flags);
      return EvidenceRun(*flags).run();
    };
  });
}

}  // namespace limen::cli
