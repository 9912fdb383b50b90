// SPDX-License-Identifier: MIT
#include "experiment/run.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/table/write_table.h"
#include "text.h"

namespace limen::cli::experiment {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// "40 s", "3 min", "2.5 h".
std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Cells of one model that are to be computed.
struct Group {
  std::vector<std::size_t> cells;
  bool has_network = false;
  bool is_timed = false;
};

void write_predictions_table(const std::string& path, const ScoredTable& table, const std::string& uncertainty) {
  std::vector<std::int64_t> label(table.label.begin(), table.label.end());
  table::write_table(
      path, {{"score", table.score}, {"uncertainty", table.uncertainty.at(uncertainty)}, {"label", std::move(label)}});
}

class Runner {
 public:
  Runner(const Experiment& experiment, const std::vector<Cell>& cells, const CellStore& store,
         const std::string& folder, const RunOptions& options)
      : experiment_(experiment), cells_(cells), store_(store), folder_(folder), options_(options) {}

  RunOutcome run() {
    find_groups();
    tbb::task_arena arena(limen::detail::arena_size(options_.threads));
    arena.execute([&] {
      // Simple: one cell is far more work than a task.
      tbb::parallel_for(std::size_t{0}, groups_.size(), [&](std::size_t at) {
        if (!groups_[at].has_network && !groups_[at].is_timed) run_group(groups_[at]);
      });
    });
    for (const bool is_timed : {false, true}) {
      for (const Group& group : groups_) {
        if (group.is_timed != is_timed || (!group.has_network && !is_timed)) continue;
        arena.execute([&] { run_group(group); });
      }
    }
    std::ranges::sort(outcome_.failed, {}, &FailedCell::cell);
    return outcome_;
  }

 private:
  [[nodiscard]] const Part& part_of(const Cell& cell) const {
    return experiment_.sections[cell.section].parts[cell.part];
  }

  [[nodiscard]] bool is_done(std::size_t at) const {
    if (!store_.load(cells_[at])) return false;
    if (first_with_rows(cells_) != at) return true;
    const KeptPredictions kept = kept_predictions(folder_, cells_[at]);
    return fs::exists(kept.holdout) && fs::exists(kept.test);
  }

  void find_groups() {
    std::map<std::string, std::size_t> group_of;  // by the model's key
    std::set<std::string> seen;                   // one result for cells that are the same in several parts
    for (std::size_t at = 0; at < cells_.size(); ++at) {
      const Cell& cell = cells_[at];
      if (!seen.insert(cell.key).second) continue;
      ++num_cells_;
      if (is_done(at)) {
        ++outcome_.found;
        continue;
      }
      const bool is_timed = part_of(cell).study.run_time.has_value();
      const std::string group_key = cell.model_key + (is_timed ? "t" : "");
      const auto [found, is_new] = group_of.try_emplace(group_key, groups_.size());
      if (is_new) {
        Group group;
        group.has_network = !cell.model.empty() && cell.model != "ideal";
        group.is_timed = is_timed;
        groups_.push_back(std::move(group));
      }
      groups_[found->second].cells.push_back(at);
    }
    if (outcome_.found > 0) {
      say(fmt::format("{} of {} are there already", outcome_.found, plural_text(num_cells_, "cell")));
    }
  }

  void run_group(const Group& group) {
    const Cell& first = cells_[group.cells.front()];
    if (const auto* theory = std::get_if<TheoryData>(&part_of(first).data)) {
      for (const std::size_t at : group.cells) {
        attempt(at, [&] { return study_theory(*theory, cells_[at].seed); });
      }
      return;
    }
    ScoreOptions how;
    how.threads = options_.threads;
    if (group.has_network) how.checkpoint = store_.checkpoint(first);
    const auto add = [](std::vector<std::string>& to, const std::string& name) {
      if (!contains(to, name)) to.push_back(name);
    };
    for (const std::size_t at : group.cells) {
      add(how.uncertainties, cells_[at].uncertainty);
      const Part& part = part_of(cells_[at]);
      if (!part.study.swaps) continue;
      for (const std::string& column : part.study.swaps->columns) add(how.columns, column);
    }
    if (group.has_network) {
      how.say = [&](const std::string& line) { say(fmt::format("  {}: {}", first.name(experiment_), line)); };
    }
    const auto start = Clock::now();
    ScoredPair pair;
    try {
      const ModelPlace place = {&part_of(first), first.seed, first.tau, first.model, first.encoder};
      pair = score_pair(place, how);
    } catch (const std::exception& error) {
      for (const std::size_t at : group.cells) fail(at, error);
      return;
    }
    const double model_seconds = seconds_since(start);
    const auto study = [&](std::size_t at) {
      const Cell& cell = cells_[at];
      attempt(at, [&] {
        const auto lacking = pair.lacking.find(cell.uncertainty);
        if (lacking != pair.lacking.end()) throw InvalidInput(lacking->second);
        CellResult result = study_pair(part_of(cell).study, pair, cell.uncertainty);
        result.times["model_seconds"] = model_seconds;
        if (first_with_rows(cells_) == at) {
          const KeptPredictions kept = kept_predictions(folder_, cell);
          write_predictions_table(kept.holdout, pair.holdout, cell.uncertainty);
          write_predictions_table(kept.test, pair.test, cell.uncertainty);
        }
        return result;
      });
    };
    if (group.is_timed) {
      for (const std::size_t at : group.cells) study(at);
    } else {
      tbb::parallel_for(std::size_t{0}, group.cells.size(), [&](std::size_t at) { study(group.cells[at]); });
    }
  }

  /// Makes and saves the result of a cell, or notes why there is none.
  template <typename Make>
  void attempt(std::size_t at, const Make& make) {
    const auto start = Clock::now();
    try {
      CellResult result = make();
      result.times["study_seconds"] = seconds_since(start);
      store_.save(cells_[at], result);
    } catch (const std::exception& error) {
      fail(at, error);
      return;
    }
    const std::lock_guard lock(mutex_);
    ++outcome_.computed;
    say_progress(cells_[at].name(experiment_));
  }

  void fail(std::size_t at, const std::exception& error) {
    const auto* io = dynamic_cast<const IoError*>(&error);
    if (io != nullptr && io->access() == IoError::Access::kWrite) throw *io;
    const std::lock_guard lock(mutex_);
    outcome_.failed.push_back({at, error.what()});
    say_progress(fmt::format("{}: failed: {}", cells_[at].name(experiment_), error.what()));
  }

  /// Under the lock.
  void say_progress(const std::string& what) {
    if (!options_.say) return;
    const std::size_t now = outcome_.computed + outcome_.failed.size();
    const std::size_t done = outcome_.found + now;
    const std::size_t left = num_cells_ - done;
    const double seconds = seconds_since(start_) / static_cast<double>(now) * static_cast<double>(left);
    options_.say(fmt::format("{} of {} cells{}: {}", done, num_cells_,
                             left == 0 ? "" : fmt::format(", about {} left", duration_text(seconds)), what));
  }

  void say(const std::string& line) {
    if (!options_.say) return;
    const std::lock_guard lock(mutex_);
    options_.say(line);
  }

  const Experiment& experiment_;
  const std::vector<Cell>& cells_;
  const CellStore& store_;
  const std::string& folder_;
  const RunOptions& options_;
  std::vector<Group> groups_;
  std::size_t num_cells_ = 0;
  RunOutcome outcome_;
  std::mutex mutex_;  // of outcome_ and of what is said
  Clock::time_point start_ = Clock::now();
};

}  // namespace

KeptPredictions kept_predictions(const std::string& folder, const Cell& cell) {
  const std::string base = (fs::path(folder) / "cells" / cell.key).string();
  return {base + ".holdout.parquet", base + ".test.parquet"};
}

std::optional<std::size_t> first_with_rows(const std::vector<Cell>& cells) {
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (!cells[at].model.empty()) return at;
  }
  return std::nullopt;
}

RunOutcome run_cells(const Experiment& experiment, const std::vector<Cell>& cells, const CellStore& store,
                     const std::string& folder, const RunOptions& options) {
  return Runner(experiment, cells, store, folder, options).run();
}

}  // namespace limen::cli::experiment
