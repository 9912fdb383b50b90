// SPDX-License-Identifier: MIT
#include "experiment/write_report.h"

namespace limen::cli::experiment {

// The page needs compute_study, study_json and render_report of report/, which this tree has not: read the two tables
// (table::read_predictions), compute the study at part->study.bound, and write_text(path, render_report(...)).
bool write_report(const std::string& /*path*/, const ReportInput& /*input*/) { return false; }

}  // namespace limen::cli::experiment
