// SPDX-License-Identifier: MIT
#include "limen/theory/bias.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "theory/checks.h"

namespace limen {
namespace {

constexpr const char* kFunction = "bias";

void check_share(const char* name, double value) {
  if (!(value >= 0 && value <= 1)) detail::refuse(kFunction, name, value, "0 to 1");
}

void check_evidence(double value) {
  if (!(value >= 0 && value <= 1e12)) detail::refuse(kFunction, "evidence", value, "0 to 1e12");
}

// Training rows that a score speaks of: positives = n score + P (score - omega), which is n times the lemma's train
// positivity, and negatives = n - positives, written so that neither is a small difference of large numbers. Outside
// 0 to n where the score is not attainable.
struct TrainRows {
  double positives = 0;
  double negatives = 0;
};
TrainRows train_rows(double score, double evidence, const BiasParameters& parameters) {
  const double pull = parameters.model_strength * (score - parameters.omega);
  return {evidence * score + pull, evidence * (1 - score) - pull};
}

PositivityPosterior posterior_of(TrainRows rows, double evidence, const BiasParameters& parameters) {
  return {.positives = parameters.xi * parameters.prior_strength + std::clamp(rows.positives, 0., evidence),
          .negatives = (1 - parameters.xi) * parameters.prior_strength + std::clamp(rows.negatives, 0., evidence),
          .prior_strength = parameters.prior_strength,
          .evidence = evidence,
          .tau = parameters.tau};
}

void check(double share, const char* name, double evidence, const BiasParameters& parameters) {
  validate(parameters);
  check_share(name, share);
  check_evidence(evidence);
}

}  // namespace

void validate(const BiasParameters& parameters) {
  detail::check_range(kFunction, "tau", parameters.tau);
  if (!(parameters.xi > 0 && parameters.xi < 1)) {
    detail::refuse(kFunction, "xi", parameters.xi, "between 0 and 1, both excluded");
  }
  detail::check_range(kFunction, "prior_strength", parameters.prior_strength);
  check_share("omega", parameters.omega);
  if (!(parameters.model_strength >= 0 && parameters.model_strength <= 1e9)) {
    detail::refuse(kFunction, "model_strength", parameters.model_strength, "0 to 1e9");
  }
}

EvidenceRatios evidence_ratios(double evidence, const BiasParameters& parameters) {
  validate(parameters);
  check_evidence(evidence);
  // 0 / 0 is a model without a prior: its ratio is 0 at any evidence.
  return {.lambda = parameters.prior_strength / evidence,
          .gamma = parameters.model_strength == 0 ? 0 : parameters.model_strength / evidence,
          .nu = parameters.prior_strength / parameters.model_strength};
}

double model_score(double train_positivity, double evidence, const BiasParameters& parameters) {
  check(train_positivity, "train_positivity", evidence, parameters);
  if (evidence == 0) return parameters.omega;
  return (evidence * train_positivity + parameters.model_strength * parameters.omega) /
         (evidence + parameters.model_strength);
}

ScoreRange attainable_scores(double evidence, const BiasParameters& parameters) {
  return {model_score(0, evidence, parameters), model_score(1, evidence, parameters)};
}

std::optional<double> train_positivity(double score, double evidence, const BiasParameters& parameters) {
  check(score, "score", evidence, parameters);
  if (evidence == 0) return std::nullopt;
  const TrainRows rows = train_rows(score, evidence, parameters);
  // Rounding of a score, and of the two products, moves the number of rows by this much at most.
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * (evidence + parameters.model_strength);
  if (rows.positives < -rounding || rows.negatives < -rounding) return std::nullopt;
  return std::clamp(rows.positives / evidence, 0., 1.);
}

PositivityPosterior posterior_given_train(double train_positivity, double evidence, const BiasParameters& parameters) {
  check(train_positivity, "train_positivity", evidence, parameters);
  return posterior_of({evidence * train_positivity, evidence * (1 - train_positivity)}, evidence, parameters);
}

PositivityPosterior posterior_given_score(double score, double evidence, const BiasParameters& parameters) {
  check(score, "score", evidence, parameters);
  return posterior_of(train_rows(score, evidence, parameters), evidence, parameters);
}

std::optional<double> estimation_bias(double score, double evidence, const BiasParameters& parameters) {
  if (!train_positivity(score, evidence, parameters)) return std::nullopt;
  return score - expected_positivity(posterior_given_score(score, evidence, parameters));
}

BiasCurves bias_curves(std::span<const double> tau, std::span<const double> evidence, std::span<const double> score,
                       const BiasParameters& parameters) {
  BiasCurves curves;
  BiasParameters at_tau = parameters;
  for (const double rate : tau) {
    at_tau.tau = rate;
    for (const double rows : evidence) {
      if (!(rows > 0)) detail::refuse(kFunction, "evidence", rows, "> 0 and at most 1e12");
      for (const double value : score) {
        const auto train = train_positivity(value, rows, at_tau);
        constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
        const double expected = train ? expected_positivity(posterior_given_score(value, rows, at_tau)) : kNone;
        curves.tau.push_back(rate);
        curves.evidence.push_back(rows);
        curves.score.push_back(value);
        curves.train_positivity.push_back(train.value_or(kNone));
        curves.expected_positivity.push_back(expected);
        curves.bias.push_back(value - expected);
      }
    }
  }
  return curves;
}

}  // namespace limen
