// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/base/undersampling.h"
#include "limen/train/model.h"
#include "limen/train/schema.h"
#include "model_rows.h"
#include "options.h"
#include "text.h"
#include "train_flags.h"
#include "verbs.h"

namespace limen::cli {
namespace {

constexpr const char* kCheckpointFile = "checkpoint.safetensors";
constexpr std::size_t kMostCheckpointBytes = std::size_t{1} << 38U;
constexpr const char* kLogFile = "training.jsonl";

train::Scaling parse_scaling(const std::string& name) {
  return name == "log" ? train::Scaling::kLog : name == "linear" ? train::Scaling::kLinear : train::Scaling::kAuto;
}

/// Reads, splits, encodes and trains.
class TrainRun {
 public:
  explicit TrainRun(const TrainFlags& flags) : flags_(flags) {}
  int run();

 private:
  void apply_schema();
  void check() const;
  void check_folder() const;
  void prepare_folder();
  [[nodiscard]] table::FrameReadOptions read_options(const std::vector<std::string>& paths) const;
  void find_columns();
  void find_time_cuts();
  [[nodiscard]] std::vector<train::Part> parts_of(const Frame& frame, std::uint64_t first_row) const;
  [[nodiscard]] std::vector<std::uint8_t> kept_aside(const Frame& frame, std::uint64_t first_row) const;
  [[nodiscard]] std::vector<std::string> fingerprint_columns() const;
  void leave_out_missing(const Frame& frame, std::uint64_t first_row, std::vector<std::uint8_t>& chosen) const;
  [[nodiscard]] train::FeatureRows encode_rows(const Frame& frame, std::uint64_t first_row, const std::string& table);
  void fit_features();
  void encode();
  [[nodiscard]] train::TrainResult train_networks();
  void print(const train::Model& model, const train::TrainResult& result) const;
  [[nodiscard]] std::string path(const char* file) const {
    return (std::filesystem::path(flags_.output) / file).string();
  }

  TrainFlags flags_;
  train::ModelCard card_;
  std::vector<std::string> columns_;
  std::vector<std::string> text_columns_;
  std::optional<train::FeatureTransform> transform_;
  train::TrainingSet set_;
  std::uint64_t rows_read_ = 0;
  std::uint64_t rows_dropped_ = 0;  // without a label
  std::ofstream log_;
};

/// A preset says how its files are read and which columns are what; flags that were given win.
void TrainRun::apply_schema() {
  if (flags_.schema.empty()) return;
  const train::Schema schema = train::schema_preset(flags_.schema);
  flags_.frame.no_header = !schema.header;
  flags_.frame.names = schema.header ? std::vector<std::string>() : schema.columns;
  if (flags_.frame.separator.empty()) flags_.frame.separator = std::string(1, schema.separator);
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(flags_.features.numeric, schema.features.numeric);
  add(flags_.features.categorical, schema.features.categorical);
  add(flags_.features.drop, schema.features.drop);
  flags_.features.date.insert(schema.features.date.begin(), schema.features.date.end());
  if (flags_.features.label.empty()) flags_.features.label = schema.features.label;
}

void TrainRun::check() const {
  if (flags_.features.label.empty()) throw InvalidInput("train: give the label's column: --label COLUMN");
  if (!flags_.split_by_time.empty() && flags_.split.empty()) {
    throw InvalidInput("--split-by-time needs the shares: --split 0.6,0.2,0.2");
  }
  if (!(flags_.tau >= 1 && flags_.tau <= 1e9))
    throw InvalidInput(fmt::format("--tau: tau is {:g}, must be 1 to 1e9", flags_.tau));
  if (!(flags_.validation > 0 && flags_.validation < 1)) {
    throw InvalidInput("--validation: must be a share between 0 and 1 of the training rows");
  }
  std::vector<std::string> all = flags_.data;
  all.insert(all.end(), flags_.validation_data.begin(), flags_.validation_data.end());
  for (const std::string& path : all) {
    if (path == "-") throw InvalidInput("train: the table is read more than once; give a file, not stdin");
  }
}

void TrainRun::check_folder() const {
  namespace fs = std::filesystem;
  const fs::path folder(flags_.output);
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    throw InvalidInput(flags_.output + ": exists and is not a folder");
  }
  const bool has_model = fs::exists(folder / "model.json") || fs::exists(folder / kCheckpointFile);
  if (has_model && !flags_.resume && !flags_.overwrite) {
    throw InvalidInput(
        fmt::format("{}: holds a model already; give another folder, --resume or --overwrite", flags_.output));
  }
  if (flags_.resume && !fs::exists(folder / kCheckpointFile)) {
    throw InvalidInput(fmt::format("{}: there is no checkpoint to resume from{}", flags_.output,
                                   fs::exists(folder / "model.json") ? "; its training was finished" : ""));
  }
  fs::path there = fs::absolute(folder).lexically_normal();
  while (!fs::exists(there) && there.has_relative_path()) there = there.parent_path();
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    throw IoError(IoError::Access::kWrite, flags_.output, std::string("cannot be written: ") + std::strerror(errno));
  }
}

/// Only when training has begun, so that all input is known to be good: a mistake costs no older model.
void TrainRun::prepare_folder() {
  namespace fs = std::filesystem;
  if (log_.is_open()) return;
  const fs::path folder(flags_.output);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(IoError::Access::kWrite, flags_.output, "cannot be made: " + error.message());
  const std::vector<std::string> files = {"model.json", "weights.safetensors", kCheckpointFile, kLogFile};
  // What a killed run was writing.
  std::vector<fs::path> left_over;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    for (const std::string& file : files) {
      if (entry.path().filename().string().starts_with(file + ".part")) left_over.push_back(entry.path());
    }
  }
  for (const fs::path& path : left_over) fs::remove(path);
  if (flags_.overwrite && !flags_.resume) {
    for (const std::string& file : files) fs::remove(folder / file);
  }
  log_.open(path(kLogFile), flags_.resume ? std::ios::app : std::ios::trunc);
  if (!log_)
    throw IoError(IoError::Access::kWrite, path(kLogFile), std::string("cannot be written: ") + std::strerror(errno));
}

table::FrameReadOptions TrainRun::read_options(const std::vector<std::string>& paths) const {
  table::FrameReadOptions options = frame_options(flags_.frame, shown(paths));
  options.columns = columns_;
  options.text_columns = text_columns_;
  options.number_columns = flags_.features.numeric;
  return options;
}

void TrainRun::find_columns() {
  // The label as it stands: what is positive may be a word.
  text_columns_ = flags_.features.categorical;
  for (const auto& [name, format] : flags_.features.date) text_columns_.push_back(name);
  table::FrameReadOptions options = read_options(flags_.data);
  options.read.progress = nullptr;
  const std::vector<table::ColumnInfo> found = table::describe_columns(flags_.data, options);
  std::vector<std::string> names;
  for (const table::ColumnInfo& column : found) names.push_back(column.name);
  const auto require = [&](const std::string& name, const char* flag) {
    if (std::ranges::find(names, name) != names.end()) return;
    throw InvalidInput(shown(flags_.data),
                       fmt::format("has no column {} ({}){}", limen::quoted(name), flag, did_you_mean(name, names)),
                       Cause::kNoSuchColumn);
  };
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (!trimmed(names[at]).empty()) continue;
    throw InvalidInput(shown(flags_.data),
                       fmt::format("column {} has no name (an index that was written along?): take it out of the "
                                   "table, or give all names with --names",
                                   at + 1));
  }
  require(flags_.features.label, "--label");
  for (const std::string& name : flags_.features.drop) require(name, "--drop");
  if (!flags_.split_by_time.empty()) require(flags_.split_by_time, "--split-by-time");
  for (const std::string& name : names) {
    const bool dropped = std::ranges::find(flags_.features.drop, name) != flags_.features.drop.end();
    if (!dropped || name == flags_.split_by_time) columns_.push_back(name);
  }
}

/// One pass over the times of all rows.
void TrainRun::find_time_cuts() {
  card_.table.names = flags_.frame.names;
  if (flags_.split.empty()) return;
  train::SplitUse use;
  use.options.fractions = train::parse_fractions(flags_.split);
  use.options.seed = flags_.training.seed;
  use.options.tau = flags_.tau;
  train::validate(use.options);
  if (!flags_.split_by_time.empty()) {
    use.time_column = flags_.split_by_time;
    const auto format = flags_.features.date.find(use.time_column);
    if (format != flags_.features.date.end()) use.time_format = format->second;
    table::FrameReadOptions options = read_options(flags_.data);
    options.columns = {use.time_column};
    std::vector<double> times;
    table::for_each_frame(flags_.data, options, [&](const Frame& frame) {
      const std::vector<double> batch =
          in_table(shown(flags_.data), [&] { return time_values(frame.columns[0], use.time_format, times.size()); });
      times.insert(times.end(), batch.begin(), batch.end());
    });
    use.cuts = in_table(shown(flags_.data), [&] { return train::time_cuts(times, use.options); });
    if (flags_.validation_data.empty()) {
      std::erase_if(times, [&](double time) { return use.cuts.part(time) != train::Part::kTrain; });
      const train::SplitOptions shares = {.fractions = {1 - flags_.validation, flags_.validation, 0}};
      use.validation_from = in_table(shown(flags_.data), [&] { return train::time_cuts(times, shares).holdout_from; });
    }
  }
  card_.split = use;
}

std::vector<train::Part> TrainRun::parts_of(const Frame& frame, std::uint64_t first_row) const {
  return parts_of_rows(card_.split, frame, first_row);
}

/// 1 for the rows that choose the epoch, unless there is a file of them: by time the latest of the training part, so
/// that the epoch is chosen as the model is used; else a share by row number alone.
std::vector<std::uint8_t> TrainRun::kept_aside(const Frame& frame, std::uint64_t first_row) const {
  const std::size_t num_rows = frame.num_rows;
  std::vector<std::uint8_t> aside(num_rows, 0);
  if (!flags_.validation_data.empty()) return aside;
  if (card_.split && card_.split->validation_from) {
    const std::vector<double> times = times_of_rows(*card_.split, frame, first_row);
    for (std::size_t row = 0; row < num_rows; ++row) aside[row] = times[row] >= *card_.split->validation_from ? 1 : 0;
    return aside;
  }
  train::SplitOptions options;
  options.fractions = {1 - flags_.validation, flags_.validation, 0};
  options.seed = flags_.training.seed + 1;
  const std::vector<train::Part> parts = train::split_rows(first_row, num_rows, options);
  for (std::size_t row = 0; row < num_rows; ++row) aside[row] = parts[row] == train::Part::kHoldout ? 1 : 0;
  return aside;
}

/// A row without a label, of whatever part, is an error, or with --drop-missing not among the chosen ones.
void TrainRun::leave_out_missing(const Frame& frame, std::uint64_t first_row, std::vector<std::uint8_t>& chosen) const {
  const auto column = std::ranges::find(frame.columns, flags_.features.label, &limen::Column::name);
  const std::vector<std::uint8_t> missing = missing_labels(*column);
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    if (missing[row] == 0) continue;
    if (!flags_.frame.drop_missing) {
      refuse_missing_label(Where{.source = shown(flags_.data)}, flags_.features.label, first_row + row,
                           label_rule(flags_.labels));
    }
    chosen[row] = 0;
  }
}

train::FeatureRows TrainRun::encode_rows(const Frame& frame, std::uint64_t first_row, const std::string& table) {
  train::EncodeOptions options = {.labels = train::LabelUse::kRequired, .first_row = first_row};
  if (flags_.frame.drop_missing) options.missing_labels = train::MissingLabels::kMark;
  options.num_threads = flags_.training.num_threads;
  train::FeatureRows rows = in_table(table, [&] { return transform_->encode(frame, options); });
  rows_dropped_ += static_cast<std::uint64_t>(std::ranges::count(rows.label, kMissingLabel));
  return rows;
}

void TrainRun::fit_features() {
  train::FeatureOptions options = flags_.features;
  options.scaling = parse_scaling(flags_.scaling);
  options.label_rule = label_rule(flags_.labels);
  options.seed = flags_.training.seed;
  options.num_threads = flags_.training.num_threads;
  std::erase_if(options.drop,
                [&](const std::string& name) { return std::ranges::find(columns_, name) == columns_.end(); });
  train::FeatureFitter fitter(options);
  std::uint64_t first_row = 0;
  table::for_each_frame(flags_.data, read_options(flags_.data), [&](const Frame& frame) {
    const std::vector<train::Part> parts = parts_of(frame, first_row);
    std::vector<std::uint8_t> chosen = kept_aside(frame, first_row);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      chosen[row] = parts[row] == train::Part::kTrain && chosen[row] == 0 ? 1 : 0;
    }
    leave_out_missing(frame, first_row, chosen);
    in_table(shown(flags_.data), [&] { fitter.add(frame, chosen); });
    first_row += frame.num_rows;
  });
  rows_read_ = first_row;
  transform_ = in_table(shown(flags_.data), [&] { return fitter.finish(); });
  for (const std::string& name : transform_->identifiers()) {
    fmt::print(stderr,
               "{}: column {} is left out: every row has a whole number of its own there, as an identifier "
               "(--numeric {} uses it)\n",
               shown(flags_.data), limen::quoted(name), escaped(name));
  }
}

/// The label, the column of times and a few features.
std::vector<std::string> TrainRun::fingerprint_columns() const {
  constexpr std::size_t kMostFeatures = 4;
  std::vector<std::string> columns = {flags_.features.label};
  if (!flags_.split_by_time.empty()) columns.push_back(flags_.split_by_time);
  std::size_t features = 0;
  for (const train::ColumnUse& column : transform_->columns()) {
    if (features++ == kMostFeatures) break;
    if (column.name != flags_.split_by_time) columns.push_back(column.name);
  }
  return columns;
}

void TrainRun::encode() {
  set_.shape = transform_->shape();
  train::FingerprintTaker fingerprint(fingerprint_columns());
  const Undersampling undersampling(flags_.tau, flags_.training.seed);
  std::uint64_t first_row = 0;
  table::for_each_frame(flags_.data, read_options(flags_.data), [&](const Frame& frame) {
    const std::vector<train::Part> parts = parts_of(frame, first_row);
    const train::FeatureRows rows = encode_rows(frame, first_row, shown(flags_.data));
    if (card_.split) fingerprint.add(frame);
    std::vector<std::uint8_t> learned(frame.num_rows, 0);
    std::vector<std::uint8_t> validated = kept_aside(frame, first_row);  // at the natural rate
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (parts[row] != train::Part::kTrain || rows.label[row] == kMissingLabel) validated[row] = 0;
      if (parts[row] != train::Part::kTrain || rows.label[row] == kMissingLabel || validated[row] != 0) continue;
      learned[row] = rows.label[row] == 1 || undersampling.keeps(first_row + row) ? 1 : 0;
    }
    add_rows(set_.shape, rows, learned, set_.train);
    if (flags_.validation_data.empty()) add_rows(set_.shape, rows, validated, set_.validation);
    first_row += frame.num_rows;
  });
  if (card_.split) card_.split->table = fingerprint.fingerprint();
  if (!flags_.validation_data.empty()) {
    first_row = 0;
    table::for_each_frame(flags_.validation_data, read_options(flags_.validation_data), [&](const Frame& frame) {
      const train::FeatureRows rows = encode_rows(frame, first_row, shown(flags_.validation_data));
      std::vector<std::uint8_t> validated(frame.num_rows);
      for (std::size_t row = 0; row < frame.num_rows; ++row) validated[row] = rows.label[row] != kMissingLabel ? 1 : 0;
      add_rows(set_.shape, rows, validated, set_.validation);
      first_row += frame.num_rows;
    });
  }
  if (rows_dropped_ > 0) {
    fmt::print(stderr, "{}: left out {} without a label\n", shown(flags_.data),
               plural_text(static_cast<double>(rows_dropped_), "row"));
  }
}

train::TrainResult TrainRun::train_networks() {
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  const auto clear_line = [is_terminal] {
    if (is_terminal) fmt::print(stderr, "\r\033[K");
  };
  train::TrainHooks hooks;
  hooks.save_seconds = flags_.save_seconds;
  hooks.save = [&](const std::string& checkpoint) {
    prepare_folder();
    train::write_whole(path(kCheckpointFile), checkpoint);
  };
  hooks.epoch = [&](const train::EpochReport& report) {
    prepare_folder();
    log_ << train::to_json_line(report) << std::endl;
    if (flags_.json) return;
    clear_line();
    const std::string member =
        flags_.options.head.kind == train::Head::kEnsemble ? fmt::format("member {}, ", report.member + 1) : "";
    fmt::print(stderr, "{}epoch {}: loss {:.5f}{}, {:.0f} thousand rows/s{}\n", member, report.epoch, report.loss,
               report.warm_up ? " (warm-up of the densities)"
                              : fmt::format(", average precision {:.4f}, ROC AUC {:.4f}", report.average_precision,
                                            report.roc_auc),
               report.rows_per_second / 1000, report.is_best ? " *" : "");
  };
  if (is_terminal) {
    hooks.progress = [&](const train::TrainProgress& progress) {
      fmt::print(stderr, "\r\033[Kepoch {} of {}: {:.0f}%, loss {:.5f}, {:.0f} thousand rows/s, {:.0f} s left",
                 progress.epoch, progress.num_epochs,
                 100.0 * static_cast<double>(progress.rows_done) / static_cast<double>(progress.num_rows),
                 progress.loss, progress.rows_per_second / 1000, progress.seconds_left);
    };
  }
  const std::string checkpoint = flags_.resume ? read_regular_file(path(kCheckpointFile), kMostCheckpointBytes) : "";
  try {
    return in_table(flags_.resume ? flags_.output : shown(flags_.data),
                    [&] { return train::train(set_, flags_.options, flags_.training, hooks, checkpoint); });
  } catch (...) {
    clear_line();
    throw;
  }
}

void TrainRun::print(const train::Model& model, const train::TrainResult& result) const {
  if (flags_.json) {
    Json report = {{"model", flags_.output},
                   {"rows", rows_read_},
                   {"training_rows", set_.train.num_rows},
                   {"validation_rows", set_.validation.num_rows},
                   {"average_precision", result.average_precision},
                   {"roc_auc", result.roc_auc},
                   {"epochs", result.history.size()}};
    if (!result.diverged.empty()) report["stopped"] = result.diverged;
    fmt::print("{}\n", report.dump(1));
    return;
  }
  for (const std::string& line : model.features().summary()) fmt::print("{}\n", line);
  const auto& card = model.card();
  fmt::print("\n{} on {}: learned from {} ({} positive)", train::to_string(card.model.head.kind),
             train::to_string(card.model.encoder.kind), plural_text(card.class_counts[0] + card.class_counts[1], "row"),
             count_text(card.class_counts[1]));
  if (flags_.tau > 1) fmt::print(", negatives kept at 1/{:g}", flags_.tau);
  fmt::print("\nbest epoch by average precision on {} kept aside: average precision {:.4f}, ROC AUC {:.4f}\n",
             plural_text(static_cast<double>(card.validation_rows), "row"), card.average_precision, card.roc_auc);
  fmt::print("written to {}; next: limen predict {} DATA -o PRED\n", flags_.output, flags_.output);
}

int TrainRun::run() {
  apply_schema();
  check();
  check_folder();
  if (!flags_.prior.empty()) {
    const auto parts = CLI::detail::split(flags_.prior, ',');
    if (parts.size() != 2 || !CLI::detail::lexical_cast(parts[0], flags_.options.head.prior[0]) ||
        !CLI::detail::lexical_cast(parts[1], flags_.options.head.prior[1])) {
      throw InvalidInput("--prior: give two numbers, of negatives and positives, such as 1,1");
    }
  }
  flags_.options.head.kind = train::parse<train::Head>(flags_.model);
  flags_.options.encoder.kind = train::parse<train::EncoderKind>(flags_.encoder);
  flags_.options.encoder.sam = train::parse<train::SamVariant>(flags_.sam);
  flags_.options.encoder.gated = train::parse<train::GatedUnit>(flags_.gated);
  flags_.options.encoder.residual = !flags_.no_residual;
  flags_.training.schedule = train::parse<train::Schedule>(flags_.schedule);
  if (flags_.options.head.kind == train::Head::kMcDropout && flags_.options.encoder.dropout == 0) {
    flags_.options.encoder.dropout = 0.2;
  }
  train::validate(flags_.training);
  for (const std::string& date : flags_.date) {
    flags_.features.date[date] = DateFormat::kText;
  }
  flags_.features.categorical.insert(flags_.features.categorical.end(), flags_.frame.categorical.begin(),
                                     flags_.frame.categorical.end());
  std::optional<train::Model> model;
  train::TrainResult result;
  find_columns();
  find_time_cuts();
  fit_features();
  encode();
  const auto positives = std::ranges::count(set_.train.label, std::uint8_t{1});
  result = train_networks();
  if (!result.diverged.empty()) fmt::print(stderr, "limen: {}: {}\n", flags_.output, result.diverged);
  if (result.weights.empty()) return kFailed;
  card_.model = flags_.options;
  card_.training = flags_.training;
  card_.training.batch = flags_.training.batch.value_or(train::default_batch(set_.train.num_rows));
  card_.training.learning_rate =
      flags_.training.learning_rate.value_or(train::default_learning_rate(flags_.options.encoder.kind));
  card_.table.separator = frame_options(flags_.frame, "").read.separator.value_or('\0') == '\0'
                              ? ""
                              : std::string(1, *frame_options(flags_.frame, "").read.separator);
  card_.table.has_header = !flags_.frame.no_header;
  card_.table.missing = flags_.frame.missing;
  card_.class_counts = {static_cast<double>(set_.train.num_rows) - static_cast<double>(positives),
                        static_cast<double>(positives)};
  card_.validation_rows = set_.validation.num_rows;
  card_.members = result.members;
  card_.average_precision = result.average_precision;
  card_.roc_auc = result.roc_auc;
  card_.history = result.history;
  model.emplace(*transform_, card_, result.weights, flags_.training.num_threads);
  prepare_folder();
  model->save(flags_.output);
  // Whole: a run that was broken may have written an epoch twice, or half of it.
  std::string log;
  for (const train::EpochReport& report : result.history) log += train::to_json_line(report) + "\n";
  train::write_whole(path(kLogFile), log);
  if (result.diverged.empty()) std::filesystem::remove(path(kCheckpointFile));
  print(*model, result);
  return result.diverged.empty() ? kDone : kFailed;
}

}  // namespace

void add_train(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* verb = program.add_subcommand("train", "Train a network that gives score and uncertainty");
  add_train_flags(*verb, *flags);
  verb->callback([flags, &action] { action = [flags] { return TrainRun(*flags).run(); }; });
}

}  // namespace limen::cli
