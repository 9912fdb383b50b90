// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "limen/judge/calibration_error.h"
#include "limen/judge/calibration_set.h"

namespace limen::report {

/// Calibrators of a hold-out and how they do, on which rows.
struct CalibrationStudy {
  CalibrationSet set;
  CalibrationErrors errors;
  bool is_cross_validated = false;  ///< rows of the hold-out, each by calibrators of others; else test rows
  int folds = 0;
  int replicates = 0;  ///< 0: no bands
  std::uint64_t seed = 0;
  std::uint64_t rows_dropped = 0;
};

/// What `limen calibrate --json` prints.
[[nodiscard]] nlohmann::ordered_json calibration_json(const CalibrationStudy& study);

}  // namespace limen::report
