// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>

#include "limen/base/error.h"
#include "limen/base/label_column.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/base/undersampling.h"
#include "limen/table/frames.h"
#include "limen/train/model.h"
#include "model_rows.h"
#include "options.h"
#include "text.h"
#include "train_flags.h"
#include "verbs.h"

namespace limen::cli {
namespace {

constexpr std::size_t kMostCheckpointBytes = std::size_t{1} << 38U;
constexpr const char* kLogFile = "training.jsonl";

/// What a row of the table is for.
enum class RowUse : std::uint8_t { kNone, kLearning, kValidation };

/// Reads, splits, encodes and trains.
class TrainRun {
 public:
  /// flags: settled.
  explicit TrainRun(const TrainFlags& flags) : flags_(flags), files_(flags.data), name_(shown(flags.data)) {}
  int run();

 private:
  using Visit = std::function<void(const Frame& frame, std::uint64_t first_row)>;

  void prepare_folder();
  [[nodiscard]] table::FrameReadOptions columns_to_read(const std::vector<std::string>& columns,
                                                        const std::string& progress_name) const;
  void for_each_frame(const table::TableFiles& files, const std::string& name, const std::vector<std::string>& columns,
                      const Visit& visit) const;
  void find_columns();
  void find_split();
  [[nodiscard]] std::vector<RowUse> uses_of(const Frame& frame, std::uint64_t first_row) const;
  [[nodiscard]] std::vector<std::string> fingerprint_columns() const;
  [[nodiscard]] train::FeatureRows encode_rows(const Frame& frame, std::uint64_t first_row);
  void fit_features();
  void encode();
  [[nodiscard]] train::TrainResult train_networks();
  void fill_card(const train::TrainResult& result);
  void print(const train::Model& model, const train::TrainResult& result) const;
  [[nodiscard]] std::string path(const char* file) const {
    return (std::filesystem::path(flags_.output) / file).string();
  }

  const TrainFlags& flags_;
  table::TableFiles files_;  // one for all passes, which must find the same rows
  std::string name_;         // of the files, in messages
  train::ModelCard card_;
  std::vector<std::string> columns_;
  std::optional<train::FeatureTransform> transform_;
  train::TrainingSet set_;
  std::uint64_t rows_read_ = 0;
  std::uint64_t rows_dropped_ = 0;  // without a label
  std::ofstream log_;
};

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

table::FrameReadOptions TrainRun::columns_to_read(const std::vector<std::string>& columns,
                                                  const std::string& progress_name) const {
  table::FrameReadOptions options = {.read = read_options(flags_.read, progress_name),
                                     .columns = columns,
                                     .text_columns = flags_.features.categorical,
                                     .number_columns = flags_.features.numeric};
  for (const auto& [name, format] : flags_.features.date) options.text_columns.push_back(name);
  return options;
}

/// One pass over a table.
void TrainRun::for_each_frame(const table::TableFiles& files, const std::string& name,
                              const std::vector<std::string>& columns, const Visit& visit) const {
  std::uint64_t first_row = 0;
  table::for_each_frame(files, columns_to_read(columns, name), [&](const Frame& frame) {
    in_table(name, [&] { visit(frame, first_row); });
    first_row += frame.num_rows;
  });
}

void TrainRun::find_columns() {
  std::vector<std::string> names;
  for (const table::ColumnInfo& column : table::describe_columns(files_, columns_to_read({}, ""))) {
    names.push_back(column.name);
  }
  const auto require = [&](const std::string& name, const char* flag) {
    if (contains(names, name)) return;
    throw InvalidInput(name_,
                       fmt::format("has no column {} ({}){}", limen::quoted(name), flag, did_you_mean(name, names)),
                       Cause::kNoSuchColumn);
  };
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (!trimmed(names[at]).empty()) continue;
    throw InvalidInput(name_,
                       fmt::format("column {} has no name (an index that was written along?): take it out of the "
                                   "table, or give all names with --names",
                                   at + 1));
  }
  require(flags_.features.label, "--label");
  for (const std::string& name : flags_.features.drop) require(name, "--drop");
  if (!flags_.split_by_time.empty()) require(flags_.split_by_time, "--split-by-time");
  for (const std::string& name : names) {
    if (!contains(flags_.features.drop, name) || name == flags_.split_by_time) columns_.push_back(name);
  }
}

/// By time: one pass over the times of all rows.
void TrainRun::find_split() {
  if (flags_.split.empty()) return;
  train::SplitUse& use = card_.split.emplace();
  use.options = {.fractions = train::parse_fractions(flags_.split), .tau = flags_.tau, .seed = flags_.training.seed};
  train::validate(use.options);
  if (flags_.split_by_time.empty()) return;
  use.time_column = flags_.split_by_time;
  const auto format = flags_.features.date.find(use.time_column);
  if (format != flags_.features.date.end()) use.time_format = format->second;
  std::vector<double> times;
  for_each_frame(files_, name_, {use.time_column}, [&](const Frame& frame, std::uint64_t first_row) {
    const std::vector<double> batch = time_values(frame.columns[0], use.time_format, first_row);
    times.insert(times.end(), batch.begin(), batch.end());
  });
  in_table(name_, [&] {
    use.cuts = train::time_cuts(times, use.options);
    if (!flags_.validation_data.empty()) return;
    std::erase_if(times, [&](double time) { return use.cuts.part(time) != train::Part::kTrain; });
    const train::SplitOptions shares = {.fractions = {1 - flags_.validation, flags_.validation, 0}};
    use.validation_from = train::time_cuts(times, shares).holdout_from;
  });
}

/// Unless there is a file of them, some rows of the training part choose the epoch: by time the latest ones, so that
/// the epoch is chosen as the model is used; else a share by row number alone.
std::vector<RowUse> TrainRun::uses_of(const Frame& frame, std::uint64_t first_row) const {
  std::vector<RowUse> uses;
  for (const train::Part part : parts_of_rows(card_.split, frame, first_row)) {
    uses.push_back(part == train::Part::kTrain ? RowUse::kLearning : RowUse::kNone);
  }
  if (!flags_.validation_data.empty()) return uses;
  const auto keep_aside = [&](std::size_t row, bool is_aside) {
    if (is_aside && uses[row] == RowUse::kLearning) uses[row] = RowUse::kValidation;
  };
  if (card_.split && card_.split->validation_from) {
    const std::vector<double> times = times_of_rows(*card_.split, frame, first_row);
    for (std::size_t row = 0; row < uses.size(); ++row) keep_aside(row, times[row] >= *card_.split->validation_from);
    return uses;
  }
  const train::SplitOptions shares = {.fractions = {1 - flags_.validation, flags_.validation, 0},
                                      .seed = flags_.training.seed + 1};
  const std::vector<train::Part> parts = train::split_rows(first_row, uses.size(), shares);
  for (std::size_t row = 0; row < uses.size(); ++row) keep_aside(row, parts[row] == train::Part::kHoldout);
  return uses;
}

/// Rows without a label are marked with --drop-missing, and refused without.
train::FeatureRows TrainRun::encode_rows(const Frame& frame, std::uint64_t first_row) {
  train::EncodeOptions options = {
      .labels = train::LabelUse::kRequired, .first_row = first_row, .num_threads = flags_.training.num_threads};
  if (flags_.read.drop_missing) options.missing_labels = train::MissingLabels::kMark;
  train::FeatureRows rows = transform_->encode(frame, options);
  rows_dropped_ += static_cast<std::uint64_t>(std::ranges::count(rows.label, kMissingLabel));
  return rows;
}

void TrainRun::fit_features() {
  train::FeatureOptions options = flags_.features;
  std::erase_if(options.drop, [&](const std::string& name) { return !contains(columns_, name); });
  train::FeatureFitter fitter(options);
  for_each_frame(files_, name_, columns_, [&](const Frame& frame, std::uint64_t first_row) {
    const std::vector<RowUse> uses = uses_of(frame, first_row);
    const auto label = std::ranges::find(frame.columns, flags_.features.label, &limen::Column::name);
    const std::vector<std::uint8_t> missing = missing_labels(*label);
    std::vector<std::uint8_t> chosen(frame.num_rows);
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (missing[row] != 0 && !flags_.read.drop_missing) {
        refuse_missing_label(Where{.source = name_}, flags_.features.label, first_row + row, options.label_rule);
      }
      chosen[row] = uses[row] == RowUse::kLearning && missing[row] == 0 ? 1 : 0;
    }
    fitter.add(frame, chosen);
    rows_read_ += frame.num_rows;
  });
  transform_ = in_table(name_, [&] { return fitter.finish(); });
  for (const std::string& name : transform_->identifiers()) {
    fmt::print(stderr,
               "{}: column {} is left out: every row has a whole number of its own there, as an identifier "
               "(--numeric {} uses it)\n",
               name_, limen::quoted(name), escaped(name));
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
  for_each_frame(files_, name_, columns_, [&](const Frame& frame, std::uint64_t first_row) {
    const std::vector<RowUse> uses = uses_of(frame, first_row);
    const train::FeatureRows rows = encode_rows(frame, first_row);
    if (card_.split) fingerprint.add(frame);
    std::vector<std::uint8_t> learned(frame.num_rows, 0);
    std::vector<std::uint8_t> validated(frame.num_rows, 0);  // at the natural rate
    for (std::size_t row = 0; row < frame.num_rows; ++row) {
      if (rows.label[row] == kMissingLabel) continue;
      validated[row] = uses[row] == RowUse::kValidation ? 1 : 0;
      const bool is_kept = rows.label[row] == 1 || undersampling.keeps(first_row + row);
      learned[row] = uses[row] == RowUse::kLearning && is_kept ? 1 : 0;
    }
    add_rows(set_.shape, rows, learned, set_.train);
    add_rows(set_.shape, rows, validated, set_.validation);
  });
  if (card_.split) card_.split->table = fingerprint.fingerprint();
  if (!flags_.validation_data.empty()) {
    const Visit add = [&](const Frame& frame, std::uint64_t first_row) {
      const train::FeatureRows rows = encode_rows(frame, first_row);
      std::vector<std::uint8_t> validated(frame.num_rows);
      for (std::size_t row = 0; row < frame.num_rows; ++row) validated[row] = rows.label[row] != kMissingLabel ? 1 : 0;
      add_rows(set_.shape, rows, validated, set_.validation);
    };
    for_each_frame(flags_.validation_data, shown(flags_.validation_data), columns_, add);
  }
  say_left_out(name_, rows_dropped_, "without a label");
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
    fmt::print(
        stderr, "{}epoch {}: loss {:.5f}{}, {:.0f} thousand rows/s{}\n", member, report.epoch, report.loss,
        report.stage == train::Stage::kWarmUp
            ? " (warm-up of the densities)"
            : fmt::format(", average precision {:.4f}, log loss {:.5f}{}", report.average_precision, report.log_loss,
                          report.stage == train::Stage::kFineTune ? " (fine-tuning of the densities)" : ""),
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
    return in_table(flags_.resume ? flags_.output : name_,
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
             plural_text(card.validation_rows, "row"), card.average_precision, card.roc_auc);
  fmt::print("written to {}; next: limen predict {} DATA -o PRED\n", flags_.output, flags_.output);
}

void TrainRun::fill_card(const train::TrainResult& result) {
  const auto positives = static_cast<double>(std::ranges::count(set_.train.label, std::uint8_t{1}));
  const std::optional<char> separator = read_options(flags_.read, "").separator;
  card_.model = flags_.options;
  card_.training = flags_.training;
  card_.training.batch = flags_.training.batch.value_or(train::default_batch(set_.train.num_rows));
  card_.training.learning_rate =
      flags_.training.learning_rate.value_or(train::default_learning_rate(flags_.options.encoder.kind));
  card_.table = {.separator = separator ? std::string(1, *separator) : "",
                 .has_header = !flags_.read.no_header,
                 .names = flags_.read.names,
                 .missing = flags_.read.missing};
  card_.class_counts = {static_cast<double>(set_.train.num_rows) - positives, positives};
  card_.validation_rows = set_.validation.num_rows;
  card_.members = result.members;
  card_.average_precision = result.average_precision;
  card_.roc_auc = result.roc_auc;
  card_.history = result.history;
}

int TrainRun::run() {
  find_columns();
  find_split();
  fit_features();
  encode();
  const train::TrainResult result = train_networks();
  if (!result.diverged.empty()) fmt::print(stderr, "limen: {}: {}\n", flags_.output, result.diverged);
  if (result.weights.empty()) return kFailed;
  fill_card(result);
  const train::Model model(*transform_, card_, result.weights, flags_.training.num_threads);
  prepare_folder();
  model.save(flags_.output);
  // Whole: a run that was broken may have written an epoch twice, or half of it.
  std::string log;
  for (const train::EpochReport& report : result.history) log += train::to_json_line(report) + "\n";
  train::write_whole(path(kLogFile), log);
  if (result.diverged.empty()) std::filesystem::remove(path(kCheckpointFile));
  print(model, result);
  return result.diverged.empty() ? kDone : kFailed;
}

}  // namespace

void add_train(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* verb = program.add_subcommand("train", "Train a network that gives score and uncertainty");
  add_train_flags(*verb, *flags);
  verb->callback([flags, &action] {
    action = [flags] {
      settle(*flags);
      return TrainRun(*flags).run();
    };
  });
}

}  // namespace limen::cli
