// SPDX-License-Identifier: MIT
// The calibrators of one hold-out, kept in a file and applied to other rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limen/count/binning.h"
#include "limen/count/samples.h"
#include "limen/judge/calibration.h"
#include "limen/judge/calibration_error.h"

namespace limen {

/// From score to probability in deployment.
enum class Calibrator {
  kIst,       ///< isotonic regression on the score
  kMist,      ///< one for each uncertainty level
  kShrunken,  ///< the same, each level drawn towards IST
  kTau,       ///< for a known rate of undersampling: score / (score + tau (1 - score))
  kEvidence,  ///< the theorem's, for known evidence of every row
};
/// "ist", "mist", "shrunken", "tau", "evidence".
[[nodiscard]] std::string_view to_string(Calibrator calibrator);
/// Throws InvalidInput with the names there are.
[[nodiscard]] Calibrator parse_calibrator(std::string_view name);

/// What the theorem's correction needs (BiasParameters of theory/bias.h), and where evidence is found.
struct EvidenceCorrection {
  double tau = 1;
  double xi = 0.5;
  double prior_strength = 1;
  double omega = 0.5;
  double model_strength = 1;
  std::string column = "evidence";

  friend bool operator==(const EvidenceCorrection&, const EvidenceCorrection&) = default;
};

struct CalibrationSet {
  std::optional<LevelCalibration> ist;
  std::optional<LevelCalibration> mist;
  std::optional<LevelCalibration> shrunken;
  double shrinkage = 0;  ///< rows, of the shrunken one
  std::optional<double> tau;
  std::optional<EvidenceCorrection> evidence;

  /// Which to use unless another one is asked for; one of those that are set.
  Calibrator chosen = Calibrator::kIst;
  /// Mean -ln of the probability of the label on rows left out, of those that were compared; the chosen one has the
  /// least. Corrections see no labels: for them every row is left out.
  struct Loss {
    Calibrator calibrator;
    double log_loss;
  };
  std::vector<Loss> losses;

  Binning binning = Binning::kEquiWeight;  ///< of the levels
  std::int64_t rows = 0;                   ///< of the hold-out
  bool weighted = false;
  double weight = 0;     ///< rows without weights
  double positives = 0;  ///< by weight
  std::string score_column = "score";
  std::string uncertainty_column = "uncertainty";

  [[nodiscard]] bool has(Calibrator calibrator) const;
  /// One of the three isotonic ones; null where it is not set, or another kind.
  [[nodiscard]] const LevelCalibration* isotonic(Calibrator calibrator) const;
};

/// IST, MIST and shrunken MIST on `levels` levels of the hold-out, and the choice between them. Throws InvalidInput.
[[nodiscard]] CalibrationSet fit_calibration_set(const Samples& holdout, int levels = 3,
                                                 Binning binning = Binning::kEquiWeight, std::uint64_t seed = 0);

/// Adds what a correction lost and chooses anew: the least loss, the first of equal ones.
void add_loss(CalibrationSet& set, Calibrator calibrator, double log_loss);

/// On which rows calibrators are judged.
enum class JudgedOn {
  kTest,     ///< other rows than the hold-out: by the calibrators of the set
  kHoldout,  ///< the hold-out: each row by calibrators of the other folds (cross_fit)
};
inline constexpr int kCalibrationFolds = 5;

/// Errors and order of the columns raw (the score), those of `corrections`, ist, mist and shrunken; curves are compared
/// with ist, the order with raw; mist and shrunken are also judged with their ties ordered by the score. The baselines
/// in the options are not looked at. seed: of the folds. Throws InvalidInput, also when the set has not all of its
/// isotonic calibrators.
[[nodiscard]] CalibrationErrors judge_calibration_set(const CalibrationSet& set, const Samples& samples, JudgedOn rows,
                                                      std::span<const ProbabilityColumn> corrections = {},
                                                      std::uint64_t seed = 0, CalibrationErrorOptions options = {});

/// Throws InvalidInput: a calibration that validate refuses, levels that differ, a choice that is not there or not the
/// best, counts that cannot be, a number that is not finite. Whether corrections are in range is for the theory to say.
void validate(const CalibrationSet& set);

/// A JSON object with "format": "limen-calibration"; docs/algorithms/calibration.md has its members. Numbers read back
/// exactly.
[[nodiscard]] std::string to_json(const CalibrationSet& set);
/// Reads what to_json wrote. Throws InvalidInput for a text that is no such object, is damaged, of a newer version, or
/// contradicts itself, in time and memory bounded by 64 MB of text.
[[nodiscard]] CalibrationSet calibration_set_from_json(std::string_view text);

/// Whether a text looks like a calibration file: its "format" says so. Never throws.
[[nodiscard]] bool is_calibration_json(std::string_view text) noexcept;

}  // namespace limen
