// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>

#include "limen/base/error.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "limen/table/frames.h"
#include "limen/train/model.h"
#include "limen/train/train_table.h"
#include "options.h"
#include "text.h"
#include "train_flags.h"
#include "verbs.h"

namespace limen::cli {
namespace {

constexpr std::size_t kMostCheckpointBytes = std::size_t{1} << 38U;
constexpr const char* kLogFile = "training.jsonl";

/// Reads the table, trains, keeps the folder and says what happens.
class TrainRun {
 public:
  /// flags: settled.
  explicit TrainRun(const TrainFlags& flags) : flags_(flags), files_(flags.data), name_(shown(flags.data)) {}
  int run();

 private:
  void prepare_folder();
  [[nodiscard]] table::FrameReadOptions columns_to_read(std::span<const std::string> columns,
                                                        const std::string& progress_name) const;
  [[nodiscard]] std::vector<std::string> column_names() const;
  [[nodiscard]] train::FrameSource source(const table::TableFiles& files, const std::string& name,
                                          const std::vector<std::string>& columns) const;
  [[nodiscard]] train::TrainTableOptions table_options(const std::vector<std::string>& columns) const;
  [[nodiscard]] train::TrainTableHooks hooks();
  [[nodiscard]] train::TrainTableResult train_table();
  void print(const train::TrainTableResult& result) const;
  [[nodiscard]] std::string path(const char* file) const {
    return (std::filesystem::path(flags_.output) / file).string();
  }
  void clear_line() const {
    if (is_terminal_) fmt::print(stderr, "\r\033[K");
  }

  const TrainFlags& flags_;
  table::TableFiles files_;  // one for all passes, which must find the same rows
  std::string name_;         // of the files, in messages
  bool is_terminal_ = isatty(STDERR_FILENO) != 0;
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
  const std::vector<std::string> files = {"model.json", "weights.safetensors", "evidence.json", kCheckpointFile,
                                          kLogFile};
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

table::FrameReadOptions TrainRun::columns_to_read(std::span<const std::string> columns,
                                                  const std::string& progress_name) const {
  table::FrameReadOptions options = {.read = read_options(flags_.read, progress_name),
                                     .columns = {columns.begin(), columns.end()},
                                     .text_columns = flags_.features.categorical,
                                     .number_columns = flags_.features.numeric};
  for (const auto& [name, format] : flags_.features.date) options.text_columns.push_back(name);
  return options;
}

/// Of the whole table. Those that flags name must be there.
std::vector<std::string> TrainRun::column_names() const {
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
  return names;
}

train::FrameSource TrainRun::source(const table::TableFiles& files, const std::string& name,
                                    const std::vector<std::string>& columns) const {
  return {.name = name, .columns = columns, .read = [this, files, name](auto wanted, const auto& visit) {
            table::for_each_frame(files, columns_to_read(wanted, name), visit);
          }};
}

train::TrainTableOptions TrainRun::table_options(const std::vector<std::string>& columns) const {
  train::TrainTableOptions options = {
      .features = flags_.features, .model = flags_.options, .training = flags_.training};
  options.rows.tau = flags_.tau;
  options.learns_evidence = !flags_.no_law;
  options.has_rates = !flags_.no_rates;
  options.rows.drop_missing = flags_.read.drop_missing;
  options.rows.seed = flags_.training.seed;
  if (!flags_.split.empty()) {
    options.rows.split = {.fractions = train::parse_fractions(flags_.split), .time_column = flags_.split_by_time};
  }
  if (flags_.validation_data.empty()) {
    options.rows.validation = train::ValidationShare{flags_.validation};
  } else {
    options.rows.validation = source(flags_.validation_data, shown(flags_.validation_data), columns);
  }
  const std::optional<char> separator = read_options(flags_.read, "").separator;
  options.table = {.separator = separator ? std::string(1, *separator) : "",
                   .has_header = !flags_.read.no_header,
                   .names = flags_.read.names,
                   .missing = flags_.read.missing};
  return options;
}

train::TrainTableHooks TrainRun::hooks() {
  train::TrainTableHooks hooks;
  hooks.features = [this](const train::FeatureTransform& features) {
    for (const std::string& name : features.identifiers()) {
      fmt::print(stderr,
                 "{}: column {} is left out: every row has a whole number of its own there, as an identifier "
                 "(--numeric {} uses it)\n",
                 name_, limen::quoted(name), escaped(name));
    }
  };
  hooks.rows = [this](const train::RowsUsed& rows) { say_left_out(name_, rows.dropped, "without a label"); };
  hooks.training.save_seconds = flags_.save_seconds;
  hooks.training.save = [this](const std::string& checkpoint) {
    prepare_folder();
    train::write_whole(path(kCheckpointFile), checkpoint);
  };
  hooks.training.epoch = [this](const train::EpochReport& report) {
    prepare_folder();
    log_ << train::to_json_line(report) << std::endl;
    if (flags_.json) return;
    clear_line();
    const std::string member =
        train::num_members(flags_.options.head) > 1 ? fmt::format("member {}, ", report.member + 1) : "";
    fmt::print(
        stderr, "{}epoch {}: loss {:.5f}{}, {:.0f} thousand rows/s{}\n", member, report.epoch, report.loss,
        report.stage == train::Stage::kWarmUp
            ? " (warm-up of the densities)"
            : fmt::format(", average precision {:.4f}, log loss {:.5f}{}", report.average_precision, report.log_loss,
                          report.stage == train::Stage::kFineTune ? " (fine-tuning of the densities)" : ""),
        report.rows_per_second / 1000, report.is_best ? " *" : "");
  };
  if (is_terminal_) {
    hooks.training.progress = [](const train::TrainProgress& progress) {
      fmt::print(stderr, "\r\033[Kepoch {} of {}: {:.0f}%, loss {:.5f}, {:.0f} thousand rows/s, {:.0f} s left",
                 progress.epoch, progress.num_epochs,
                 100.0 * static_cast<double>(progress.rows_done) / static_cast<double>(progress.num_rows),
                 progress.loss, progress.rows_per_second / 1000, progress.seconds_left);
    };
  }
  return hooks;
}

train::TrainTableResult TrainRun::train_table() {
  const std::vector<std::string> columns = column_names();
  const train::TrainTableOptions options = table_options(columns);
  train::validate(options);
  const std::string checkpoint = flags_.resume ? read_regular_file(path(kCheckpointFile), kMostCheckpointBytes) : "";
  try {
    // What has no table's name by then is about the checkpoint.
    return in_table(flags_.output,
                    [&] { return train::train_table(source(files_, name_, columns), options, hooks(), checkpoint); });
  } catch (...) {
    clear_line();
    throw;
  }
}

void TrainRun::print(const train::TrainTableResult& result) const {
  const train::TrainResult& training = result.training;
  if (flags_.json) {
    Json report = {{"model", flags_.output},
                   {"rows", result.rows.read},
                   {"training_rows", result.rows.learned},
                   {"validation_rows", result.rows.validated},
                   {"average_precision", training.average_precision},
                   {"roc_auc", training.roc_auc},
                   {"epochs", training.history.size()}};
    if (!training.diverged.empty()) report["stopped"] = training.diverged;
    fmt::print("{}\n", report.dump(1));
    return;
  }
  for (const std::string& line : result.model->features().summary()) fmt::print("{}\n", line);
  const train::ModelCard& card = result.model->card();
  fmt::print("\n{} on {}: learned from {} ({} positive)", train::to_string(card.model.head.kind),
             train::to_string(card.model.encoder.kind), plural_text(card.class_counts[0] + card.class_counts[1], "row"),
             count_text(card.class_counts[1]));
  if (flags_.tau > 1) fmt::print(", negatives kept at 1/{:g}", flags_.tau);
  fmt::print("\nbest epoch by {} on {} kept aside: average precision {:.4f}, ROC AUC {:.4f}\n",
             train::to_string(card.training.selection), plural_text(card.validation_rows, "row"),
             card.average_precision, card.roc_auc);
  if (!card.law.empty()) fmt::print("evidence: {}\n", card.law);
  if (card.uncertainty) fmt::print("uncertainty: {}\n", card.uncertainty->why);
  fmt::print("written to {}; next: limen predict {} DATA -o PRED\n", flags_.output, flags_.output);
}

int TrainRun::run() {
  const train::TrainTableResult result = train_table();
  const std::string& diverged = result.training.diverged;
  if (!diverged.empty()) fmt::print(stderr, "limen: {}: {}\n", flags_.output, diverged);
  if (!result.model) return kFailed;
  prepare_folder();
  result.model->save(flags_.output);
  // Whole: a run that was broken may have written an epoch twice, or half of it.
  std::string log;
  for (const train::EpochReport& report : result.training.history) log += train::to_json_line(report) + "\n";
  train::write_whole(path(kLogFile), log);
  if (diverged.empty()) std::filesystem::remove(path(kCheckpointFile));
  print(result);
  return diverged.empty() ? kDone : kFailed;
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
