// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "limen/base/real_span.h"
#include "limen/judge/calibration_error.h"
#include "limen/judge/calibration_set.h"
#include "limen/report/calibration_study.h"
#include "limen/theory/bias.h"
#include "options.h"

namespace limen::cli {

/// The theory's parameters of a correction that a calibration file holds.
[[nodiscard]] BiasParameters bias_parameters(const EvidenceCorrection& correction);

/// Parses a calibration file and checks its corrections; errors name the path.
[[nodiscard]] CalibrationSet parse_calibration(const std::string& path, const std::string& text);

/// Rows as they come out of a table, perhaps a part of it; columns that a calibrator does not need may be empty.
struct CalibratedRows {
  RealSpan score = {};
  RealSpan uncertainty = {};
  RealSpan evidence = {};
  std::string table = {};       ///< for errors
  std::size_t rows_before = 0;  ///< in the table
};

/// Probabilities by one of the calibrators that the set has. Refuses scores and evidence that a correction cannot take,
/// by table, row and value.
[[nodiscard]] std::vector<double> calibrate_rows(const CalibrationSet& set, Calibrator calibrator,
                                                 const CalibratedRows& rows, int threads = 0);

/// What calibrate found, and on which tables.
struct CalibrationReport {
  const report::CalibrationStudy& study;
  std::string holdout;
  std::string judged;
};

void print_report(const CalibrationReport& report, const std::string& output);
/// One line for each column and j: a table for plotting.
void write_calibration_curves(const std::string& path, const std::optional<table::Format>& format,
                              const CalibrationErrors& errors);

}  // namespace limen::cli
