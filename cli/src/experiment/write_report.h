// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "experiment/run.h"

namespace limen::cli::experiment {

/// What the page is made of: the predictions of the first cell that has some, and the part it belongs to.
struct ReportInput {
  std::string title = {};
  std::string command = {};
  KeptPredictions predictions = {};  ///< Parquet files with score, uncertainty, label
  const Part* part = nullptr;
};

/// Writes the interactive page. Returns whether there is one.
bool write_report(const std::string& path, const ReportInput& input);

}  // namespace limen::cli::experiment
