// SPDX-License-Identifier: MIT
// How far a model's score is from the positivity that its rows have in deployment: the paper's section 3. Regions of
// the input space have a true positivity from a global Beta prior; training saw n rows of a region, its negatives kept
// at rate 1 / tau; the model adds a prior of its own to what it saw. docs/algorithms/bias.md has the derivations.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace limen {

/// The process, in the paper's letters.
struct BiasParameters {
  /// Negatives in training are kept at rate 1 / tau; below 1 they are oversampled. 1e-9 to 1e9.
  double tau = 3;
  /// Share of positives in the global prior, beta1T / (beta1T + beta0T). Between 0 and 1, both excluded.
  double xi = 0.25;
  /// Strength of the global prior, beta1T + beta0T. 1e-9 to 1e9.
  double prior_strength = 4;
  /// Share of positives in the model's prior, beta1P / (beta1P + beta0P). 0 to 1.
  double omega = 0.5;
  /// Strength of the model's prior, beta1P + beta0P. 0 (the score is the train positivity) to 1e9.
  double model_strength = 2;
};

/// Throws InvalidInput naming field, value and range.
void validate(const BiasParameters& parameters);

/// Strengths in proportion to the evidence n of a region.
struct EvidenceRatios {
  double lambda = 0;  ///< prior_strength / n, infinite for n = 0
  double gamma = 0;   ///< model_strength / n; without evidence infinite, 0 for a model without a prior
  double nu = 0;      ///< prior_strength / model_strength = lambda / gamma, infinite for a model without a prior
};
/// evidence: 0 to 1e12. Throws InvalidInput.
[[nodiscard]] EvidenceRatios evidence_ratios(double evidence, const BiasParameters& parameters);

/// The lemma: the score of a model that saw this train positivity, (train + omega gamma) / (1 + gamma); omega when
/// there is no evidence. train_positivity: 0 to 1. evidence: 0 to 1e12. Throws InvalidInput.
[[nodiscard]] double model_score(double train_positivity, double evidence, const BiasParameters& parameters);

/// The scores that a model can give at this evidence: those of the train positivities 0 and 1.
struct ScoreRange {
  double low = 0;
  double high = 1;
};
[[nodiscard]] ScoreRange attainable_scores(double evidence, const BiasParameters& parameters);

/// The lemma's way back: train = score - (omega - score) gamma. Unset where the score is not attainable, which the
/// print leaves out (by more than rounding, a few 1e-16 of the score); in range the result is 0 to 1. Without evidence
/// only the score omega is attainable and no train positivity belongs to it: unset. score: 0 to 1. Throws InvalidInput.
[[nodiscard]] std::optional<double> train_positivity(double score, double evidence, const BiasParameters& parameters);

/// What is known of a region's true positivity r after training, the paper's Q:
///   Q(r) = C r^(positives - 1) (1 - r)^(negatives - 1) / (1 + (tau - 1) r)^evidence.
/// positives + negatives = prior_strength + evidence; the strength is kept apart, as it may be lost in that sum.
struct PositivityPosterior {
  double positives = 1;       ///< xi prior_strength + train positives; > 0
  double negatives = 1;       ///< (1 - xi) prior_strength + train negatives; > 0
  double prior_strength = 2;  ///< > 0
  double evidence = 0;        ///< >= 0
  double tau = 1;
};

/// Theorem 3.1 (a): given the train positivity (0 to 1). evidence: 0 to 1e12. Throws InvalidInput.
[[nodiscard]] PositivityPosterior posterior_given_train(double train_positivity, double evidence,
                                                        const BiasParameters& parameters);
/// Theorem 3.1 (b): given the model's score (0 to 1). A score that no train positivity gives is taken as the nearest
/// attainable one, so that scores of 0 and 1 of any model have an answer. Throws InvalidInput.
[[nodiscard]] PositivityPosterior posterior_given_score(double score, double evidence,
                                                        const BiasParameters& parameters);

/// The posterior's mean: the expected true positivity, which is the expected test positivity too. In closed form for
/// tau = 1 or without evidence, else by quadrature. Relative error below 1e-12 for everything that validate admits.
[[nodiscard]] double expected_positivity(const PositivityPosterior& posterior);

/// The same by quadrature for every tau: 30 to 500 points of the trapezoidal rule in the logit of r. O(1).
[[nodiscard]] double expected_positivity_by_quadrature(const PositivityPosterior& posterior);

/// The same as a ratio of hypergeometric functions,
///   a / (a + b) 2F1(n, a + 1; a + b + 1; 1 - tau) / 2F1(n, a; a + b; 1 - tau),
/// summed after a Pfaff transformation that makes all terms positive. Unset when more than a million terms would be
/// needed: when evidence, prior strength and tau are all large. Relative error below 1e-11.
[[nodiscard]] std::optional<double> expected_positivity_by_series(const PositivityPosterior& posterior);

/// Score less expected true positivity: positive where the model overestimates. For tau = 1 it is
/// (score (nu - 1) + omega - xi nu) gamma / (1 + nu gamma). Unset where the score is not attainable, or without
/// evidence. Throws InvalidInput.
[[nodiscard]] std::optional<double> estimation_bias(double score, double evidence, const BiasParameters& parameters);

/// Rows of a table, column by column: for each tau each evidence, in it each score, in the orders given.
struct BiasCurves {
  std::vector<double> tau;
  std::vector<double> evidence;
  std::vector<double> score;
  std::vector<double> train_positivity;     ///< with the next two NaN where the score is not attainable
  std::vector<double> expected_positivity;  ///< true and test
  std::vector<double> bias;                 ///< score - expected_positivity
};

/// The curves of the paper's bias figure. tau stands in for that of the parameters. evidence: above 0.
/// O(rows) time and memory. Throws InvalidInput.
[[nodiscard]] BiasCurves bias_curves(std::span<const double> tau, std::span<const double> evidence,
                                     std::span<const double> score, const BiasParameters& parameters);

}  // namespace limen
