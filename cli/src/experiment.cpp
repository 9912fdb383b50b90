// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "experiment/cells.h"
#include "experiment/file_source.h"
#include "experiment/output.h"
#include "experiment/read_config.h"
#include "experiment/run.h"
#include "flags.h"
#include "limen/base/error.h"
#include "limen/base/read_file.h"
#include "limen/base/text.h"
#include "options.h"
#include "text.h"
#include "verbs.h"

namespace limen::cli {
namespace {

namespace fs = std::filesystem;

struct ExperimentFlags {
  std::string config;
  std::string folder;
  std::vector<std::string> set;
  bool small = false;
  bool update = false;
  bool list = false;
  int threads = 0;
  bool json = false;
};

experiment::Parameters parameters_of(const ExperimentFlags& flags) {
  experiment::Parameters parameters;
  for (const std::string& text : flags.set) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      throw InvalidInput("--set", limen::quoted(text) + " is not NAME=VALUE");
    }
    if (!parameters.try_emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      throw InvalidInput("--set", limen::quoted(text.substr(0, equals)) + " is given twice");
    }
  }
  return parameters;
}

/// One run in a folder at a time. The system lets go of the lock when the process ends, however it ends.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    const std::string path = (fs::path(folder) / "lock").string();
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      throw IoError(IoError::Access::kWrite, path, std::string("cannot be written: ") + std::strerror(errno));
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor_);
      throw IoError(IoError::Access::kWrite, folder,
                    "another limen experiment is at work in this folder; wait for it, or give another folder");
    }
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// What the folder is for: refused when it holds another experiment, or the same on other data, unless that is wanted.
void claim_folder(const ExperimentFlags& flags, const std::vector<experiment::Cell>& cells, const std::string& title) {
  Json wanted = Json::object();
  wanted["format"] = "limen-experiment-folder";
  wanted["title"] = title;
  wanted["small"] = flags.small;
  wanted["cells"] = Json::array();
  wanted["fingerprints"] = Json::array();
  for (const experiment::Cell& cell : cells) {
    wanted["cells"].push_back(cell.key);
    wanted["fingerprints"].push_back(cell.determined_by["fingerprint"].get<std::uint64_t>());
  }
  const std::string path = (fs::path(flags.folder) / "experiment.json").string();
  if (fs::exists(path)) {
    const Json held = Json::parse(read_regular_file(path, std::size_t{1} << 28U), nullptr, false);
    if (!held.is_object() || held.value("format", "") != "limen-experiment-folder") {
      throw InvalidInput(path, "is not of limen experiment; give another folder");
    }
    if (held == wanted) return;
    if (!flags.update) {
      const bool is_same_grid = held.value("title", "") == title && held.value("small", false) == flags.small;
      const bool is_other_data = is_same_grid && held.value("fingerprints", Json()) != wanted["fingerprints"] &&
                                 held.value("cells", Json()).size() == cells.size();
      throw InvalidInput(
          flags.folder,
          fmt::format(
              "{}; give another folder, or --update: cells that are the same are kept, the others are computed, "
              "and what is left over is removed",
              is_other_data  ? "its results are of other data: the files have changed"
              : is_same_grid ? "its results are of another version of this config, or of limen"
                             : fmt::format("holds another experiment: {}{}", limen::quoted(held.value("title", "")),
                                           held.value("small", false) ? " (--small)" : "")));
    }
  } else if (fs::exists(fs::path(flags.folder) / "index.md")) {
    throw InvalidInput(flags.folder, "has an index.md that is not of limen experiment; give another folder");
  }
  experiment::write_text(path, wanted.dump(1) + "\n");
}

std::string command_of(const ExperimentFlags& flags) {
  std::string command = "limen experiment " + flags.config;
  for (const std::string& text : flags.set) command += " --set " + text;
  if (flags.small) command += " --small";
  return command + " -o DIR";
}

std::vector<experiment::Cell> cells_of(const experiment::Experiment& experiment) {
  std::vector<std::vector<std::uint64_t>> fingerprints;
  for (const experiment::Section& section : experiment.sections) {
    fingerprints.emplace_back();
    for (const experiment::Part& part : section.parts) {
      fingerprints.back().push_back(experiment::data_fingerprint(part.data));
    }
  }
  return experiment::make_cells(experiment, fingerprints);
}

int run(const ExperimentFlags& flags) {
  const experiment::Experiment experiment =
      experiment::read_experiment(flags.config, parameters_of(flags), flags.small);
  const std::vector<experiment::Cell> cells = cells_of(experiment);
  if (flags.list) {
    for (const experiment::Cell& cell : cells) fmt::print("{}\n", one_line(cell.name(experiment)));
    return kDone;
  }
  if (flags.folder.empty() || flags.folder == "-") throw InvalidInput("--output", "name a folder");
  std::error_code error;
  fs::create_directories(flags.folder, error);
  if (error) throw IoError(IoError::Access::kWrite, flags.folder, "cannot be made: " + error.message());
  const FolderLock lock(flags.folder);
  claim_folder(flags, cells, experiment.title);
  const experiment::CellStore store((fs::path(flags.folder) / "cells").string());
  const std::size_t pruned = store.prune(cells);
  if (pruned > 0) fmt::print(stderr, "{} of an earlier config or other data removed\n", plural_text(pruned, "cell"));
  if (experiment.is_small) fmt::print(stderr, "--small: fewer rows, seeds or epochs, as the config says\n");
  experiment::RunOptions options;
  options.threads = flags.threads;
  options.say = [](const std::string& line) { fmt::print(stderr, "{}\n", one_line(line)); };
  const experiment::RunOutcome outcome = experiment::run_cells(experiment, cells, store, flags.folder, options);
  const experiment::Written written =
      experiment::write_output(flags.folder, experiment, cells, store, outcome, command_of(flags));
  if (flags.json) {
    Json report = Json::object();
    report["cells"] = cells.size();
    report["computed"] = outcome.computed;
    report["found"] = outcome.found;
    report["tables"] = written.tables;
    report["figures"] = written.figures;
    report["failed"] = Json::array();
    for (const experiment::FailedCell& failed : outcome.failed) {
      Json entry = Json::object();
      entry["cell"] = cells[failed.cell].name(experiment);
      entry["why"] = failed.why;
      report["failed"].push_back(std::move(entry));
    }
    fmt::print("{}\n", report.dump(1));
  } else {
    fmt::print("{}{}: {} computed, {} found; {} and {} in {}\n", one_line(experiment.title),
               experiment.is_small ? " (small)" : "", plural_text(outcome.computed, "cell"), outcome.found,
               plural_text(written.tables, "table"), plural_text(written.figures, "figure"),
               shown((fs::path(flags.folder) / "index.md").string()));
  }
  if (outcome.failed.empty()) return kDone;
  fmt::print(stderr, "limen: {} failed; the same command tries again:\n", plural_text(outcome.failed.size(), "cell"));
  for (const experiment::FailedCell& failed : outcome.failed) {
    fmt::print(stderr, "  {}: {}\n", one_line(cells[failed.cell].name(experiment)), one_line(failed.why));
  }
  return kFailed;
}

}  // namespace

void add_experiment(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ExperimentFlags>();
  CLI::App* verb = program.add_subcommand(
      "experiment", "A whole study from one config: train, predict, compare over seeds; tables, figures, report");
  verb->add_option("CONFIG", flags->config, "JSON file that says data, grid of cells and studies (docs/experiment.md)")
      ->required();
  FlagGroup group(*verb);
  group.add("-o,--output", flags->folder, "DIR", "Folder of the results; a run that was broken goes on there");
  group.add("--set", flags->set, "NAME=VALUE", "Value of a parameter ${NAME} of the config; may be repeated")
      ->allow_extra_args(false);
  group.toggle("--small", flags->small, "With what the config says under \"small\": fewer rows, seeds, epochs");
  group.toggle("--update", flags->update,
               "DIR may hold another config or results of other data: keep the cells that are the same, compute the "
               "others, remove the rest");
  group.toggle("--list", flags->list, "Only print the cells");
  add_threads_flag(*verb, flags->threads);
  verb->add_flag("--json", flags->json, "Print what was done as JSON");
  verb->footer(
      "Example: limen experiment experiments/paper.json -o out --small\n"
      "         limen experiment experiments/adult.json --set DATA=adult.csv -o out\n"
      "Finished cells are kept: after a kill the same command goes on, and ends with the same tables byte for byte.\n"
      "A cell that fails is named with its reason and the others are kept (exit code 1).");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace limen::cli
