// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "experiment/cells.h"

namespace limen::cli::experiment {

struct RunOptions {
  int threads = 0;  ///< 0: all cores. The results do not depend on it.
  /// Gets a line for each cell that is done, and what a training says in between. Called by one thread at a time.
  std::function<void(const std::string&)> say = nullptr;
};

/// A cell that has no result, and the reason.
struct FailedCell {
  std::size_t cell = 0;  ///< its number
  std::string why = {};
};

struct RunOutcome {
  std::size_t computed = 0;
  std::size_t found = 0;  ///< were there already
  std::vector<FailedCell> failed = {};
};

/// Files of the predictions of the first cell that has some, for the report.
struct KeptPredictions {
  std::string holdout = {};
  std::string test = {};
};
[[nodiscard]] KeptPredictions kept_predictions(const std::string& folder, const Cell& cell);
/// The cell whose predictions are kept; unset where no cell has rows.
[[nodiscard]] std::optional<std::size_t> first_with_rows(const std::vector<Cell>& cells);

/// Computes the cells that are not in the store. Networks are trained one after the other, on all threads; the studies
/// of a model's cells, and cells without a network, go in parallel, but for those that are timed, which come last and
/// alone. A cell that fails is left out; what fails to be written ends the run (IoError).
[[nodiscard]] RunOutcome run_cells(const Experiment& experiment, const std::vector<Cell>& cells, const CellStore& store,
                                   const std::string& folder, const RunOptions& options);

}  // namespace limen::cli::experiment
