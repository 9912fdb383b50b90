// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "evidence_flags.h"
#include "evidence_rows.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/undersampling.h"
#include "limen/table/append.h"
#include "limen/table/frames.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

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
      : flags_(flags),
        keys_(parse_keys(flags.by_keys.keys)),
        rule_(label_rule(flags.labels)),
        read_(columns_to_read()),
        train_(flags.train),
        data_(flags.by_keys.leave_one_out ? train_ : table::TableFiles(flags.data)) {}

  int run();

 private:
  [[nodiscard]] bool reads_label() const { return !flags_.label.empty(); }
  [[nodiscard]] table::FrameReadOptions columns_to_read() const;
  [[nodiscard]] bool settle_kind(const std::string& column, bool is_text);
  [[nodiscard]] RowValues values_of(const Frame& frame, bool with_label, bool with_weight, std::uint64_t first_row,
                                    const std::string& table);
  [[nodiscard]] RowValues training_values(const Frame& frame, std::uint64_t first_row);
  void for_each_training_frame(const std::function<void(const Frame& keys, const RowValues&)>& use);
  [[nodiscard]] Evidence count();
  [[nodiscard]] std::vector<table::AddedColumn> added_columns() const;
  void write(const Evidence& evidence);
  void print(const Evidence& evidence) const;

  const EvidenceFlags& flags_;
  std::vector<KeySpec> keys_;
  LabelRule rule_;
  LabelsSeen seen_;
  table::FrameReadOptions read_;  // the kinds of the keys are known after count()
  table::TableFiles train_;
  table::TableFiles data_;
  std::uint64_t dropped_ = 0;       // training rows
  std::uint64_t data_dropped_ = 0;  // rows of DATA
  table::RowCounts result_;
  std::uint64_t backed_off_ = 0;
};

table::FrameReadOptions EvidenceRun::columns_to_read() const {
  table::FrameReadOptions options = {.read = read_options(flags_.read, ""), .columns = columns_of(keys_)};
  for (const KeySpec& key : keys_) {
    if (key.part) options.text_columns.push_back(key.column);
  }
  for (const std::string& name : flags_.categorical) {
    if (!contains(options.columns, name)) {
      throw InvalidInput(fmt::format("--categorical: \"{}\" is not one of the keys", name));
    }
    options.text_columns.push_back(name);
  }
  if (reads_label()) {
    if (contains(options.columns, flags_.label)) throw InvalidInput("--label: the label cannot be a key");
    options.columns.push_back(flags_.label);
    // As it stands: what is positive may be a word, and a wrong value is named as it is written.
    options.text_columns.push_back(flags_.label);
  }
  if (!flags_.by_keys.weight.empty()) {
    if (contains(options.columns, flags_.by_keys.weight))
      throw InvalidInput("--weight: the weight cannot be a key or the label");
    options.columns.push_back(flags_.by_keys.weight);
    options.number_columns.push_back(flags_.by_keys.weight);
  }
  return options;
}

/// A key is read as the same kind in every pass over both tables. Returns whether the column is a key of numbers.
bool EvidenceRun::settle_kind(const std::string& column, bool is_text) {
  if (std::ranges::find(keys_, column, &KeySpec::column) == keys_.end()) return false;
  std::vector<std::string>& settled = is_text ? read_.text_columns : read_.number_columns;
  if (!contains(settled, column)) settled.push_back(column);
  return !is_text;
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
      if (!flags_.read.drop_missing) refuse_missing_label(Where{.source = table}, flags_.label, first_row + row, rule_);
      values.label[row] = 0;
      drop(row);
    }
  }
  if (with_weight) {
    values.weight = std::get<NumberValues>(column(flags_.by_keys.weight).values);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (values.weight[row] >= 0) continue;
      if (flags_.read.drop_missing && std::isnan(values.weight[row])) {
        values.weight[row] = 0;
        drop(row);
        continue;
      }
      throw InvalidInput(Where{table, fmt::format("row {}", first_row + row + 1), flags_.by_keys.weight},
                         "a weight is a number of at least 0",
                         std::isnan(values.weight[row]) ? Cause::kMissingValue : Cause::kOther);
    }
  }
  return values;
}

/// Rows that are dropped have weight 0, and so have negatives that are not kept.
RowValues EvidenceRun::training_values(const Frame& frame, std::uint64_t first_row) {
  RowValues values = values_of(frame, reads_label(), !flags_.by_keys.weight.empty(), first_row, shown(flags_.train));
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

/// One pass over TRAIN.
void EvidenceRun::for_each_training_frame(const std::function<void(const Frame& keys, const RowValues&)>& use) {
  const std::string name = shown(flags_.train);
  std::uint64_t rows = 0;
  dropped_ = 0;
  table::FrameReadOptions options = read_;
  options.read = read_options(flags_.read, name);
  table::for_each_frame(train_, options, [&](const Frame& frame) {
    const Frame key_rows = key_frame(frame, keys_, name);
    const RowValues values = training_values(frame, rows);
    use(key_rows, values);
    dropped_ += values.num_dropped;
    rows += frame.num_rows;
  });
}

/// Counts the rows of TRAIN; a first pass sets the bins of numeric keys.
Evidence EvidenceRun::count() {
  std::optional<EvidenceKeys> keys;
  bool has_numbers = false;
  if (!train_.has_stdin()) {
    for (const table::ColumnInfo& column : table::describe_columns(train_, read_)) {
      has_numbers |= settle_kind(column.name, column.kind == table::ColumnKind::kText);
    }
  }
  if (has_numbers) {
    for_each_training_frame([&](const Frame& key_rows, const RowValues& values) {
      if (!keys) keys.emplace(key_rows, flags_.options);
      keys->fit(key_rows, values.weight);
    });
    keys->finish_fit();
  }
  std::optional<EvidenceCounter> counter;
  for_each_training_frame([&](const Frame& key_rows, const RowValues& values) {
    if (!counter) {
      if (!keys) keys.emplace(key_rows, flags_.options);
      std::vector<std::string> numbers;
      for (const limen::Column& column : key_rows.columns) {
        const bool is_text = std::holds_alternative<TextValues>(column.values);
        if (settle_kind(column.name, is_text)) numbers.push_back(column.name);
      }
      if (keys->needs_fit() && !keys->is_fitted()) {
        throw InvalidInput(
            fmt::format("<stdin>: numeric keys need two passes (give a file, or declare them: "
                        "--categorical {})",
                        fmt::join(numbers, ",")));
      }
      counter.emplace(*std::move(keys), flags_.options);
    }
    counter->add(key_rows, values.label, values.weight);
  });
  if (reads_label()) require_positive_seen(rule_, seen_, Where{.source = shown(flags_.train), .column = flags_.label});
  return std::move(*counter).finish();
}

std::vector<table::AddedColumn> EvidenceRun::added_columns() const {
  const auto count_type = flags_.by_keys.weight.empty() ? table::AddedType::kInt64 : table::AddedType::kDouble;
  std::vector<table::AddedColumn> added = {{flags_.prefix + "evidence", count_type},
                                           {flags_.prefix + "uncertainty", table::AddedType::kDouble}};
  if (flags_.by_keys.positives) added.push_back({flags_.prefix + "positives", count_type});
  if (!flags_.by_keys.rate.empty()) added.push_back({flags_.by_keys.rate, table::AddedType::kDouble});
  if (!flags_.by_keys.add_label.empty()) added.push_back({flags_.by_keys.add_label, table::AddedType::kUint8});
  return added;
}

void set_counts(table::AddedValues& added, const std::vector<double>& counts) {
  std::visit(
      [&](auto& values) {
        using Value = typename std::remove_cvref_t<decltype(values)>::value_type;
        if constexpr (std::is_arithmetic_v<Value>) {
          std::ranges::transform(counts, values.begin(), [](double count) { return static_cast<Value>(count); });
        }
      },
      added);
}

void EvidenceRun::write(const Evidence& evidence) {
  const std::string name = shown(flags_.data);
  const bool with_label = !flags_.by_keys.add_label.empty() || (flags_.by_keys.leave_one_out && reads_label());
  const bool with_weight = flags_.by_keys.leave_one_out && !flags_.by_keys.weight.empty();
  table::AppendColumnsOptions options = {
      .read = read_, .output_format = parse_format(flags_.output_format), .replace = flags_.replace};
  options.read.read = read_options(flags_.read, name);
  if (!with_label && reads_label()) std::erase(options.read.columns, flags_.label);
  if (!with_weight && !flags_.by_keys.weight.empty()) std::erase(options.read.columns, flags_.by_keys.weight);
  std::uint64_t rows = 0;
  const auto fill = [&](const Frame& frame, std::span<table::AddedValues> added, std::span<std::uint8_t> keep) {
    const Frame key_rows = key_frame(frame, keys_, name);
    RowValues values = flags_.by_keys.leave_one_out ? training_values(frame, rows)
                                                    : values_of(frame, with_label, with_weight, rows, name);
    if (!flags_.by_keys.add_label.empty()) std::get<std::vector<std::uint8_t>>(added.back()) = values.label;
    for (std::size_t row = 0; row < values.dropped.size(); ++row) keep[row] = values.dropped[row] == 0 ? 1 : 0;
    data_dropped_ += values.num_dropped;
    const EvidenceRows found = flags_.by_keys.leave_one_out
                                   ? evidence.query(key_rows, {.label = values.label, .weight = values.weight})
                                   : evidence.query(key_rows);
    set_counts(added[0], found.count);
    std::get<std::vector<double>>(added[1]) = found.uncertainty;
    std::size_t next = 2;
    if (flags_.by_keys.positives) set_counts(added[next++], found.positives);
    if (!flags_.by_keys.rate.empty()) std::get<std::vector<double>>(added[next++]) = found.rate;
    const auto all_keys = static_cast<std::int32_t>(keys_.size());
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      backed_off_ += keep[row] != 0 && found.keys_used[row] < all_keys ? 1 : 0;
    }
    rows += frame.num_rows;
  };
  result_ = table::append_columns(data_, flags_.output, options, added_columns(), fill);
}

void EvidenceRun::print(const Evidence& evidence) const {
  const char* const why = "without a label or weight";
  say_left_out(shown(flags_.train), dropped_, why);
  if (!flags_.by_keys.leave_one_out) say_left_out(shown(flags_.data), data_dropped_, why);
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
             plural_text(evidence.num_cells(), "cell"), fmt::join(flags_.by_keys.keys, ", "));
  fmt::print("{}, {} ({:.2f}%) with an empty cell, written to {}\n", plural_text(result_.rows, "row"),
             count_text(static_cast<double>(backed_off_)),
             100.0 * static_cast<double>(backed_off_) / std::max(1.0, static_cast<double>(result_.rows)),
             flags_.output);
}

int EvidenceRun::run() {
  (void)open_output(flags_.output, {flags_.train});
  table::require_new_columns(data_, {.read = {.read = read_options(flags_.read, "")}, .replace = flags_.replace},
                             added_columns());
  const Evidence evidence = count();
  write(evidence);
  print(evidence);
  return kDone;
}

/// What only counting by keys can do, and what a law needs.
void check_law(const EvidenceFlags& flags) {
  const auto need_keys = [](bool is_given, const char* flag) {
    if (is_given) throw InvalidInput(fmt::format("{} needs the keys: --keys A,B", flag));
  };
  need_keys(!flags.by_keys.rate.empty(), "--rate");
  need_keys(flags.by_keys.positives, "--positives");
  need_keys(!flags.by_keys.add_label.empty(), "--add-label");
  need_keys(!flags.by_keys.weight.empty(), "--weight");
  need_keys(flags.by_keys.leave_one_out, "--leave-one-out");
  need_keys(flags.options.strength != EvidenceOptions{}.strength, "--strength");
  if (!(flags.tau >= 1) || !std::isfinite(flags.tau)) throw InvalidInput("--tau: must be a number of at least 1");
  std::vector<std::string> all = flags.data;
  all.push_back(flags.train);
  all.insert(all.end(), flags.by_law.validation.begin(), flags.by_law.validation.end());
  if (contains(all, "-")) throw InvalidInput("without --keys tables are read more than once: give files, not stdin");
}

void check(const EvidenceFlags& flags) {
  std::vector<std::string> all = flags.data;
  all.push_back(flags.train);
  check_stdin_once(all);
  const auto need_label = [&](bool is_given, const char* flag) {
    if (is_given && flags.label.empty()) throw InvalidInput(fmt::format("{} needs the label: --label COLUMN", flag));
  };
  if (flags.by_keys.keys.empty()) return check_law(flags);
  const auto refuse_with_keys = [](bool is_given, const char* flag) {
    if (is_given) throw InvalidInput(fmt::format("{}: not with --keys", flag));
  };
  refuse_with_keys(!flags.by_law.validation.empty(), "--validation");
  refuse_with_keys(!flags.by_law.drop.empty(), "--drop");
  refuse_with_keys(!flags.by_law.law_score.empty(), "--law-score");
  need_label(!flags.by_keys.rate.empty(), "--rate");
  need_label(flags.by_keys.positives, "--positives");
  need_label(!flags.labels.positive.empty(), "--positive");
  need_label(!flags.labels.positive_if.empty(), "--positive-if");
  need_label(!flags.by_keys.add_label.empty(), "--add-label");
  need_label(flags.tau != 1, "--tau");
  if (!(flags.tau >= 1) || !std::isfinite(flags.tau)) throw InvalidInput("--tau: must be a number of at least 1");
  if (!(flags.options.strength >= 0) || !std::isfinite(flags.options.strength)) {
    throw InvalidInput("--strength: must be a number of at least 0");
  }
  if (flags.by_keys.leave_one_out && flags.data != std::vector{flags.train}) {
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
  FlagGroup own(*verb);
  own.list("--keys", flags->by_keys.keys,
           "Columns that rows must agree on, the most telling first; date:hour takes a part of a date (year, month, "
           "day, hour, weekday). Without it: a law of all columns is learnt");
  own.list("--validation", flags->by_law.validation,
           "Without --keys: labelled rows with a score that the model was not trained on (default: DATA)");
  own.add("--score", flags->by_law.score, "COLUMN", "Without --keys: column of the score, a probability");
  own.list("--drop", flags->by_law.drop, "Without --keys: columns of TRAIN that are not looked at");
  own.add("--law-score", flags->by_law.law_score, "NAME",
          "Without --keys: also add the law's mean, a score that takes evidence into account, as the column NAME");
  own.add("--label", flags->label, "COLUMN", "Column of the label; without --keys it is needed, default: label");
  add_label_flags(*verb, flags->labels);
  own.add("--weight", flags->by_keys.weight, "COLUMN", "Column of the training rows' weights");
  verb->add_flag("--rate{score}", flags->by_keys.rate,
                 "Also add the smoothed rate of positives, as the column score (--rate=NAME: as NAME)");
  verb->add_flag("--positives", flags->by_keys.positives,
                 "Also add the positives among the training rows as positives");
  verb->add_flag("--add-label{label}", flags->by_keys.add_label,
                 "Also add the label as 0/1, as the column label (--add-label=NAME: as NAME)");
  verb->add_flag("--leave-one-out", flags->by_keys.leave_one_out,
                 "DATA is TRAIN: leave each row out of its own evidence");
  own.add("--bins", options.num_bins, "L", "Quantile bins of a numeric key; fewer distinct values are kept")
      ->check(CLI::Range(2, 65'536).description(""));
  own.add("--strength", options.strength, "S", "Rows that the next coarser cell's rate counts for in a rate");
  own.add("--tau", flags->tau, "T", "Keep negatives of TRAIN at rate 1/tau");
  own.add("--seed", flags->seed, "N", "Which negatives are kept");
  own.add("--prefix", flags->prefix, "TEXT", "Put before the names evidence, uncertainty and positives");
  verb->add_flag("--replace", flags->replace, "Columns of DATA that have the name of an added one are replaced");
  add_threads_flag(*verb, options.num_threads);
  add_output_format_flag(*verb, flags->output_format);
  add_frame_flags(*verb, flags->read, flags->categorical);
  verb->add_flag("--json", flags->json, "Print the counts as JSON");
  verb->footer(
      "Example: limen evidence train.csv holdout.csv --keys origin,destination,date:hour --label delay\n"
      "           --positive-if \">30\" --rate --add-label -o predictions.csv\n"
      "Where no training row is in the cell of all keys, the last key is dropped, then the one before.\n"
      "uncertainty: -log(1 + evidence), or the number of dropped keys less evidence / (1 + evidence).\n"
      "Example: limen evidence train.csv holdout.csv --tau 3 --law-score score_law -o predictions.csv\n"
      "Without --keys: which columns, pairs and triples count is learnt from labelled rows with a score;\n"
      "evidence is a weighted geometric mean of 1 + rows, uncertainty its negative logarithm. Where counts\n"
      "explain nothing beyond the score, nothing is written and the exit code is 3.");
  verb->callback([flags, &action] {
    action = [flags] {
      check(*flags);
      return flags->by_keys.keys.empty() ? run_evidence_law(*flags) : EvidenceRun(*flags).run();
    };
  });
}

}  // namespace limen::cli
