// SPDX-License-Identifier: MIT
#include "calibration.h"

#include <fmt/format.h>

#include "limen/base/error.h"
#include "limen/base/text.h"
#include "limen/theory/undersampling_correction.h"
#include "text.h"

namespace limen::cli {
namespace {

/// The first value that is out of range is refused by its row, counted from 1.
void check_range(RealSpan values, const std::string& column, double highest, const char* needed,
                 const CalibratedRows& rows) {
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (values[row] >= 0 && values[row] <= highest) continue;
    throw InvalidInput(
        Where{.source = rows.table, .place = fmt::format("row {}", rows.rows_before + row + 1), .column = column},
        fmt::format("is {}; {}", number_text(values[row]), needed));
  }
}

void check_scores(const CalibrationSet& set, const CalibratedRows& rows) {
  check_range(rows.score, set.score_column, 1, "a correction of undersampling needs scores from 0 to 1", rows);
}

}  // namespace

BiasParameters bias_parameters(const EvidenceCorrection& correction) {
  return {.tau = correction.tau,
          .xi = correction.xi,
          .prior_strength = correction.prior_strength,
          .omega = correction.omega,
          .model_strength = correction.model_strength};
}

CalibrationSet parse_calibration(const std::string& path, const std::string& text) {
  return in_table(shown(path), [&] {
    CalibrationSet set = calibration_set_from_json(text);
    const auto check = [](const char* name, const BiasParameters& parameters) {
      try {
        validate(parameters);
      } catch (const InvalidInput& error) {
        throw InvalidInput(fmt::format("\"calibrators.{}.{}\" {}", name, error.where().field, error.problem()));
      }
    };
    if (set.tau) check("tau", {.tau = *set.tau});
    if (set.evidence) check("evidence", bias_parameters(*set.evidence));
    return set;
  });
}

std::vector<double> calibrate_rows(const CalibrationSet& set, Calibrator calibrator, const CalibratedRows& rows,
                                   int threads) {
  switch (calibrator) {
    case Calibrator::kTau:
      check_scores(set, rows);
      return correct_undersampling(rows.score, set.tau.value(), threads);
    case Calibrator::kEvidence:
      check_scores(set, rows);
      check_range(rows.evidence, set.evidence.value().column, 1e12, "evidence is a number of rows, 0 to 1e12", rows);
      return correct_undersampling(rows.score, rows.evidence, bias_parameters(*set.evidence), threads);
    case Calibrator::kIst: {
      // Uncertainty is not looked at.
      const RealSpan any = rows.uncertainty.empty() ? rows.score : rows.uncertainty;
      return calibrated_probability(*set.isotonic(calibrator), rows.score, any);
    }
    default:
      return calibrated_probability(*set.isotonic(calibrator), rows.score, rows.uncertainty);
  }
}

}  // namespace limen::cli
