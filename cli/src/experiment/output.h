// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "experiment/run.h"

namespace limen::cli::experiment {

/// What was written, for the program to tell.
struct Written {
  std::size_t tables = 0;
  std::size_t figures = 0;
  bool has_report = false;
};

/// Writes tables, figures, the page and the index of all of them from the cells that have results. Files of an earlier
/// run that are not written again are removed from the folders of tables, figures and times.
[[nodiscard]] Written write_output(const std::string& folder, const Experiment& experiment,
                                   const std::vector<Cell>& cells, const CellStore& store, const RunOutcome& outcome,
                                   const std::string& command);

}  // namespace limen::cli::experiment
