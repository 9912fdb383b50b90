// SPDX-License-Identifier: MIT
#include "limen/theory/bias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "limen/theory/bias_simulation.h"
#include "limen/theory/undersampling_correction.h"
#include "limen/uncertainty/beta.h"
#include "reference/positivity_reference.h"
#include "support/bias_grid.h"
#include "support/refusal.h"

namespace limen {
namespace {

using ::testing::HasSubstr;

using test::bias_grid;
using test::BiasPoint;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double expected(double train, double evidence, const BiasParameters& parameters) {
  return expected_positivity(posterior_given_train(train, evidence, parameters));
}

// A RealSpan is made from spans, not from vectors.
using Numbers = std::span<const double>;
std::vector<double> correct(Numbers score, double tau, int num_threads = 0) {
  return correct_undersampling(score, tau, num_threads);
}
std::vector<double> correct(Numbers score, Numbers evidence, const BiasParameters& parameters, int num_threads = 0) {
  return correct_undersampling(score, evidence, parameters, num_threads);
}

// |x - y| in parts of y.
double relative(double x, double y) { return std::abs(x - y) / std::abs(y); }

// One observed positive, uniform prior, tau = 2: Q ~ r / (1 + r). Its integrals are 1 - ln 2 and, with another r,
// 1/2 - 1 + ln 2.
TEST(ExpectedPositivity, IsTheQuotientOfTheIntegralsByHand) {
  const BiasParameters uniform = {.tau = 2, .xi = 0.5, .prior_strength = 2};
  const double by_hand = (std::log(2) - 0.5) / (1 - std::log(2));
  const PositivityPosterior posterior = posterior_given_train(1, 1, uniform);
  EXPECT_DOUBLE_EQ(posterior.positives, 2);
  EXPECT_DOUBLE_EQ(posterior.negatives, 1);
  EXPECT_NEAR(expected_positivity(posterior), by_hand, 1e-15);
  EXPECT_NEAR(expected_positivity_by_quadrature(posterior), by_hand, 1e-15);
  EXPECT_NEAR(expected_positivity_by_series(posterior).value(), by_hand, 1e-15);
  // Of a model with prior (1, 1) the score is 2/3.
  const BiasParameters model = {.tau = 2, .xi = 0.5, .prior_strength = 2, .omega = 0.5, .model_strength = 2};
  EXPECT_NEAR(estimation_bias(2. / 3, 1, model).value(), 2. / 3 - by_hand, 1e-15);
}

TEST(ExpectedPositivity, QuadratureAndSeriesAgreeOnTheGrid) {
  int agreed = 0;
  int out_of_reach = 0;
  for (const BiasPoint& point : bias_grid()) {
    const PositivityPosterior posterior = posterior_given_train(point.train, point.evidence, point.parameters);
    const double mean = expected_positivity_by_quadrature(posterior);
    ASSERT_TRUE(mean > 0 && mean <= 1) << point << ": " << mean;
    const auto series = expected_positivity_by_series(posterior);
    if (!series) {
      ++out_of_reach;
      continue;
    }
    ++agreed;
    // A million factors of the series' terms are rounded at random: 1e-16 * 1000 times a few.
    EXPECT_LT(relative(mean, *series), 1e-12) << point;
  }
  EXPECT_GT(agreed, 3'000);
  EXPECT_GT(out_of_reach, 20);
}

// The ratio of two 2F1(...; 1 - tau) as it stands, without any transformation.
TEST(ExpectedPositivity, IsTheRatioOfHypergeometricFunctions) {
  int compared = 0;
  for (const double tau : {0.01, 0.2, 0.7, 1.3, 1.9}) {
    for (const double evidence : {0.01, 1., 6., 20.}) {
      for (const double strength : {0.1, 4., 60.}) {
        for (const double train : {0., 0.3, 1.}) {
          const BiasParameters parameters = {.tau = tau, .xi = 0.25, .prior_strength = strength};
          const auto mean = test::mean_by_hypergeometric(test::wide_posterior(train, evidence, parameters));
          ASSERT_TRUE(mean);
          ++compared;
          EXPECT_LT(relative(expected(train, evidence, parameters), static_cast<double>(*mean)), 1e-14)
              << BiasPoint{train, evidence, parameters};
        }
      }
    }
  }
  EXPECT_EQ(compared, 180);
}

TEST(ExpectedPositivity, IsTheClosedFormWithoutUndersampling) {
  for (const BiasPoint& point : bias_grid()) {
    if (point.parameters.tau != 1) continue;
    const double lambda = evidence_ratios(point.evidence, point.parameters).lambda;
    const double closed = (point.train + point.parameters.xi * lambda) / (1 + lambda);
    const PositivityPosterior posterior = posterior_given_train(point.train, point.evidence, point.parameters);
    EXPECT_LT(relative(expected_positivity(posterior), closed), 1e-12) << point;
    EXPECT_LT(relative(expected_positivity_by_quadrature(posterior), closed), 1e-12) << point;
    EXPECT_LT(relative(expected_positivity_by_series(posterior).value(), closed), 1e-12) << point;
  }
  // No jump at tau = 1, where the form changes.
  const BiasParameters at = {.tau = 1};
  const BiasParameters beside = {.tau = 1 + 1e-12};
  EXPECT_NEAR(expected(0.3, 50, at), expected(0.3, 50, beside), 1e-11);
}

TEST(ExpectedPositivity, IsTheGlobalPriorWithoutEvidence) {
  const BiasParameters parameters = {.tau = 7, .xi = 0.3};
  EXPECT_DOUBLE_EQ(expected(0.9, 0, parameters), 0.3);
  EXPECT_DOUBLE_EQ(expected_positivity_by_quadrature(posterior_given_train(0.9, 0, parameters)), 0.3);
  EXPECT_NEAR(expected(0.9, 1e-9, parameters), 0.3, 1e-8);
}

// With all evidence in the world the true positivity is the one whose undersampled positivity was seen; the distance
// falls like 1 / n.
TEST(ExpectedPositivity, TendsToTheOddsDividedByTau) {
  for (const double tau : {0.01, 3., 1000.}) {
    for (const double train : {0.02, 0.5, 0.9}) {
      const double limit = train / (train + tau * (1 - train));
      const BiasParameters parameters = {.tau = tau};
      const double near = relative(expected(train, 1e7, parameters), limit);
      const double nearer = relative(expected(train, 1e9, parameters), limit);
      EXPECT_LT(near, 1e-3) << tau << " " << train;
      EXPECT_NEAR(nearer / near, 1e-2, 1e-4) << tau << " " << train;
    }
  }
}

// The classes are alike: with all of them changed, and tau inverted, the mean is the complement.
TEST(ExpectedPositivity, IsTheComplementWithTheClassesChanged) {
  for (const double tau : {0.01, 0.5, 3., 1000.}) {
    for (const double evidence : {0.01, 5., 1e7}) {
      for (const double train : {0., 0.125, 0.5, 1.}) {
        const BiasParameters one = {.tau = tau, .xi = 0.25};
        const BiasParameters other = {.tau = 1 / tau, .xi = 0.75};
        EXPECT_NEAR(expected(train, evidence, one), 1 - expected(1 - train, evidence, other), 1e-14)
            << BiasPoint{train, evidence, one};
      }
    }
  }
}

TEST(ExpectedPositivity, RisesWithTheScoreAndFallsWithTau) {
  for (const double evidence : {0.01, 1., 30., 1e4, 1e7}) {
    for (const double tau : {0.01, 1., 3., 10., 1000.}) {
      const BiasParameters parameters = {.tau = tau};
      const ScoreRange range = attainable_scores(evidence, parameters);
      double before = -1;
      for (int step = 0; step <= 200; ++step) {
        const double score = range.low + (range.high - range.low) * step / 200;
        const double mean = expected_positivity(posterior_given_score(score, evidence, parameters));
        EXPECT_GT(mean, before) << "evidence " << evidence << ", tau " << tau << ", score " << score;
        before = mean;
        BiasParameters more = parameters;
        more.tau *= 1.5;
        EXPECT_LT(expected_positivity(posterior_given_score(score, evidence, more)), mean);
      }
    }
  }
}

TEST(Lemma, GoesFromTrainPositivityToScoreAndBack) {
  // gamma = 2 / 10: (0.3 + 0.5 * 0.2) / 1.2.
  const BiasParameters parameters;
  EXPECT_DOUBLE_EQ(model_score(0.3, 10, parameters), 0.4 / 1.2);
  for (const double strength : {0., 1e-9, 2., 1e9}) {
    for (const double evidence : {0.01, 1., 1e7}) {
      for (const double omega : {0., 0.5, 1.}) {
        for (const double train : {0., 0.1, 0.5, 1.}) {
          const BiasParameters model = {.omega = omega, .model_strength = strength};
          const double score = model_score(train, evidence, model);
          const auto back = train_positivity(score, evidence, model);
          ASSERT_TRUE(back) << strength << " " << evidence << " " << omega << " " << train;
          // A score of the prior's digits has those of the evidence beyond them: (P + n) / n roundings.
          EXPECT_NEAR(*back, train, 1e-15 * (1 + strength / evidence));
        }
      }
    }
  }
}

TEST(Lemma, GivesTheRatiosOfThePaper) {
  const BiasParameters parameters = {.prior_strength = 6, .model_strength = 2};
  const EvidenceRatios ratios = evidence_ratios(12, parameters);
  EXPECT_DOUBLE_EQ(ratios.lambda, 0.5);
  EXPECT_DOUBLE_EQ(ratios.gamma, 1. / 6);
  EXPECT_DOUBLE_EQ(ratios.nu, 3);
  EXPECT_EQ(evidence_ratios(0, parameters).gamma, kInfinity);
  EXPECT_EQ(evidence_ratios(0, {.model_strength = 0}).gamma, 0);
  EXPECT_EQ(evidence_ratios(5, {.model_strength = 0}).nu, kInfinity);
}

// Theorem 3.1 (b) at tau = 1 in the paper's letters, and that (b) is (a) at the lemma's train positivity.
TEST(EstimationBias, IsTheTheorem) {
  for (const double evidence : {0.5, 10., 1e4}) {
    for (const double tau : {1., 3., 10.}) {
      const BiasParameters p = {.tau = tau, .xi = 0.1, .prior_strength = 7, .omega = 0.4, .model_strength = 3};
      const ScoreRange range = attainable_scores(evidence, p);
      for (const double part : {0., 0.2, 0.5, 1.}) {
        const double score = range.low + part * (range.high - range.low);
        const auto bias = estimation_bias(score, evidence, p);
        ASSERT_TRUE(bias);
        EXPECT_NEAR(*bias, score - expected(train_positivity(score, evidence, p).value(), evidence, p), 1e-14);
        const auto [lambda, gamma, nu] = evidence_ratios(evidence, p);
        const double printed = (score * (nu - 1) + p.omega - p.xi * nu) * gamma / (1 + nu * gamma);
        if (tau == 1) {
          EXPECT_NEAR(*bias, printed, 1e-14);
        } else {
          EXPECT_GT(*bias, printed);
        }
      }
    }
  }
  // "When the model prior matches the true class prior both on positive class ratio and magnitude": no bias.
  const BiasParameters matched = {.tau = 1, .xi = 0.3, .prior_strength = 5, .omega = 0.3, .model_strength = 5};
  for (const double score : {0.2, 0.5, 0.8}) EXPECT_NEAR(estimation_bias(score, 20, matched).value(), 0, 1e-15);
}

TEST(BiasCurves, AreTheBiasOfEveryScoreAtEveryLevel) {
  const std::vector<double> tau = {3, 10};
  const std::vector<double> evidence = {2, 50};
  const std::vector<double> score = {0, 0.3, 0.5, 0.7};
  const BiasParameters parameters;
  const BiasCurves curves = bias_curves(tau, evidence, score, parameters);
  ASSERT_EQ(curves.bias.size(), 16U);
  std::size_t row = 0;
  int missing = 0;
  for (const double rate : tau) {
    for (const double rows : evidence) {
      for (const double value : score) {
        const BiasParameters at = {.tau = rate};
        EXPECT_EQ(curves.tau[row], rate);
        EXPECT_EQ(curves.evidence[row], rows);
        EXPECT_EQ(curves.score[row], value);
        const auto bias = estimation_bias(value, rows, at);
        EXPECT_EQ(std::isnan(curves.bias[row]), !bias);
        EXPECT_EQ(std::isnan(curves.train_positivity[row]), !bias);
        if (bias) {
          EXPECT_EQ(curves.bias[row], *bias);
          EXPECT_EQ(curves.expected_positivity[row], expected_positivity(posterior_given_score(value, rows, at)));
        }
        missing += bias ? 0 : 1;
        ++row;
      }
    }
  }
  // gamma = 1: scores of 0.25 to 0.75 only; gamma = 0.04: 0.019 to 0.981.
  EXPECT_EQ(missing, 4);
}

// The process itself against the theory, cell by cell, with fixed seeds: 4 standard errors where a cell has regions
// enough for its mean to be normal.
TEST(SimulateBias, AgreesWithTheTheory) {
  int truths = 0;
  int tests = 0;
  double squares = 0;
  std::uint64_t stream = 0;
  for (const double tau : {0.1, 1., 3., 10., 1000.}) {
    for (const std::int64_t evidence : {1, 2, 10, 100, 100'000}) {
      for (const auto& [xi, strength] : {std::pair{0.25, 4.}, {0.05, 20.}, {0.5, 0.5}, {0.9, 1.}}) {
        const BiasParameters parameters = {.tau = tau, .xi = xi, .prior_strength = strength};
        const BiasSimulationOptions options = {.evidence = evidence, .regions = 30'000, .seed = 5, .stream = stream++};
        std::int64_t regions = 0;
        for (const SimulatedBiasCell& cell : simulate_bias(parameters, options)) {
          SCOPED_TRACE(::testing::Message() << "tau " << tau << ", evidence " << evidence << ", xi " << xi
                                            << ", strength " << strength << ", score " << cell.score);
          regions += cell.regions;
          const auto count = static_cast<double>(cell.regions);
          const auto& truth = cell.true_positivity;
          const double mean = cell.expected_positivity;
          // A skewed spread (few regions hold most of it) is not yet normal.
          if (cell.regions >= 1000 && count * std::min(mean, 1 - mean) >= 100) {
            ++truths;
            const double z = (truth.mean - mean) / truth.standard_error;
            squares += z * z;
            EXPECT_LT(std::abs(z), 4);
          }
          if (count * mean * (1 - mean) >= 50) {
            ++tests;
            EXPECT_LT(std::abs(cell.test_positivity.mean - mean) / cell.test_positivity.standard_error, 4);
          }
        }
        EXPECT_EQ(regions, 30'000);
      }
    }
  }
  EXPECT_GT(truths, 300);
  EXPECT_GT(tests, 400);
  // Standard errors are as large as they say: the mean of z^2 is 1, its own deviation sqrt(2 / truths).
  EXPECT_NEAR(squares / truths, 1, 5 * std::sqrt(2. / truths));
}

TEST(SimulateBias, PutsEveryNumberOfPositivesInItsCell) {
  const BiasParameters parameters = {.tau = 3};
  // Four numbers of positives, cells for all of them: the scores of the lemma.
  const auto each = simulate_bias(parameters, {.evidence = 3, .regions = 5'000, .cells = 21});
  ASSERT_EQ(each.size(), 4U);
  for (std::size_t positives = 0; positives < 4; ++positives) {
    const double train = static_cast<double>(positives) / 3;
    EXPECT_NEAR(each[positives].train_positivity, train, 1e-15);
    EXPECT_NEAR(each[positives].score, model_score(train, 3, parameters), 1e-15);
    EXPECT_NEAR(each[positives].expected_positivity, expected(train, 3, parameters), 1e-14);
  }
  // In two cells: 0, 1 and 2, 3; their means are those of the four.
  const auto halves = simulate_bias(parameters, {.evidence = 3, .regions = 5'000, .cells = 2});
  ASSERT_EQ(halves.size(), 2U);
  EXPECT_EQ(halves[0].regions, each[0].regions + each[1].regions);
  const auto first = static_cast<double>(each[0].regions);
  const auto second = static_cast<double>(each[1].regions);
  EXPECT_NEAR(halves[0].true_positivity.mean,
              (first * each[0].true_positivity.mean + second * each[1].true_positivity.mean) / (first + second), 1e-14);
  EXPECT_NEAR(
      halves[0].true_positivity.standard_error,
      std::hypot(first * each[0].true_positivity.standard_error, second * each[1].true_positivity.standard_error) /
          (first + second),
      1e-4);
  // The same options, the same draws; another stream or seed, others.
  EXPECT_EQ(simulate_bias(parameters, {.evidence = 3, .regions = 5'000, .cells = 2})[0].true_positivity.mean,
            halves[0].true_positivity.mean);
  EXPECT_NE(simulate_bias(parameters, {.evidence = 3, .regions = 5'000, .cells = 2, .stream = 1})[0].regions,
            halves[0].regions);
  EXPECT_NE(simulate_bias(parameters, {.evidence = 3, .regions = 5'000, .cells = 2, .seed = 1})[0].regions,
            halves[0].regions);
}

TEST(CorrectUndersampling, DividesTheOddsByTau) {
  const std::vector<double> score = {0, 0.5, 0.75, 1};
  const std::vector<double> corrected = correct(score, 3);
  EXPECT_EQ(corrected[0], 0);
  EXPECT_DOUBLE_EQ(corrected[1], 0.25);
  EXPECT_DOUBLE_EQ(corrected[2], 0.5);
  EXPECT_EQ(corrected[3], 1);
  const std::vector<double> extreme = {0, 5e-324, 1 - 0x1p-53, 1};
  for (const double tau : {1e-9, 1., 1e9}) {
    const auto ends = correct(extreme, tau);
    EXPECT_EQ(ends[0], 0);
    EXPECT_EQ(ends[3], 1);
    EXPECT_GT(ends[1], -1e-300);
    EXPECT_LT(ends[2], 1 + (tau < 1 ? 1e-15 : 0));
  }
  const std::vector<float> single = {0.5F, 0.75F};
  EXPECT_DOUBLE_EQ(correct_undersampling(std::span<const float>(single), 3)[1], 0.5);
  EXPECT_TRUE(correct(std::vector<double>(), 3).empty());
}

// An oracle of a calibrated model: rows with q in training have the odds of q over tau in deployment.
TEST(CorrectUndersampling, UndoesWhatUndersamplingDid) {
  for (const double tau : {0.01, 1., 3., 1000.}) {
    for (const double truth : {1e-12, 0.01, 0.5, 0.999}) {
      const std::vector<double> score = {tau * truth / (tau * truth + (1 - truth))};
      EXPECT_LT(relative(correct(score, tau)[0], truth), 1e-11 * (1 + 1e-4 / (1 - score[0])));
    }
  }
}

TEST(CorrectUndersampling, WithEvidenceIsTheTheoremRowByRow) {
  std::vector<double> score;
  std::vector<double> evidence;
  for (int row = 0; row < 3'000; ++row) {
    score.push_back((row / 2 % 101) / 100.);
    evidence.push_back(std::pow(10., row / 2 % 13 - 4));
  }
  evidence[7] = 0;
  const BiasParameters parameters = {.tau = 5, .xi = 0.1, .prior_strength = 10, .omega = 0.5, .model_strength = 2};
  const auto corrected = correct(score, evidence, parameters, 1);
  for (std::size_t row = 0; row < score.size(); ++row) {
    ASSERT_EQ(corrected[row], expected_positivity(posterior_given_score(score[row], evidence[row], parameters)));
  }
  EXPECT_DOUBLE_EQ(corrected[7], 0.1);
  EXPECT_EQ(correct(score, evidence, parameters, 2), corrected);
  EXPECT_EQ(correct(score, evidence, parameters, 0), corrected);
  // Scores that no training gives are those of no positives, or of positives only.
  const std::vector<double> ends = {0, 1};
  const std::vector<double> ten = {10, 10};
  const auto at_ends = correct(ends, ten, parameters);
  EXPECT_EQ(at_ends[0], expected(0, 10, parameters));
  EXPECT_EQ(at_ends[1], expected(1, 10, parameters));
  // With all evidence the plain correction.
  const std::vector<double> sure = {1e12, 1e12};
  const std::vector<double> some = {0.2, 0.9};
  const auto plain = correct(some, 5);
  const auto full = correct(some, sure, parameters);
  for (int row = 0; row < 2; ++row) EXPECT_NEAR(full[row], plain[row], 1e-10);
}

// What the print says, or leaves out, and where it fails.

// The lemma inverts (S + omega gamma) / (1 + gamma) for every score, but only scores between omega gamma / (1 + gamma)
// and (1 + omega gamma) / (1 + gamma) exist. Outside the printed train positivity is no share, and Q no distribution.
TEST(Print, LemmaHoldsForAttainableScoresOnly) {
  const BiasParameters parameters = {.tau = 3, .xi = 0.1, .prior_strength = 4, .omega = 0.5, .model_strength = 2};
  const double gamma = evidence_ratios(10, parameters).gamma;
  const auto printed = [&](double score) { return score - (parameters.omega - score) * gamma; };
  EXPECT_GT(printed(0.99), 1);
  EXPECT_LT(printed(0.01), 0);
  EXPECT_LT(10 * (parameters.xi * 0.4 + printed(0.01)), 0);  // the first parameter of Q's Beta
  const ScoreRange range = attainable_scores(10, parameters);
  EXPECT_DOUBLE_EQ(range.low, 1. / 12);
  EXPECT_DOUBLE_EQ(range.high, 11. / 12);
  EXPECT_FALSE(train_positivity(0.01, 10, parameters));
  EXPECT_FALSE(train_positivity(0.99, 10, parameters));
  EXPECT_FALSE(estimation_bias(0.99, 10, parameters));
  EXPECT_EQ(train_positivity(range.low, 10, parameters), 0);
  EXPECT_EQ(train_positivity(range.high, 10, parameters), 1);
  EXPECT_NEAR(train_positivity(0.4, 10, parameters).value(), printed(0.4), 1e-15);
  // Without a prior of the model every score is attainable; without evidence none says anything.
  EXPECT_EQ(train_positivity(1, 10, {.model_strength = 0}), 1);
  EXPECT_FALSE(train_positivity(0.5, 0, parameters));
}

// Theorem 3.1 (a) conditions on the train positivity; the expectation depends on the evidence too.
TEST(Print, TrainPositivityAloneDoesNotFixTheExpectation) {
  const BiasParameters parameters = {.tau = 1};
  EXPECT_DOUBLE_EQ(expected(0.5, 4, parameters), 0.375);
  EXPECT_DOUBLE_EQ(expected(0.5, 12, parameters), 0.4375);
}

// "Does not have a closed form": for tau != 1 it is a ratio of two Gauss functions. For one kept row the printed way
// out, numerical computation, agrees with logarithms.
TEST(Print, ExpectationHasAClosedForm) {
  // T = 2, xi = 1/2, no positive of one row, tau = 3: Q ~ (1-r) / (1+2r); integrals (3 ln 3 - 2) / 4, (4 - 3 ln 3) / 8.
  const BiasParameters parameters = {.tau = 3, .xi = 0.5, .prior_strength = 2};
  const double logarithms = 3 * std::log(3.);
  EXPECT_NEAR(expected_positivity_by_series(posterior_given_train(0, 1, parameters)).value(),
              (4 - logarithms) / 8 / ((logarithms - 2) / 4), 1e-15);
}

// "Overestimation in the higher score range (xi < s) and the opposite is true when xi > s", for tau = 1: the sign
// changes at (xi nu - omega) / (nu - 1), which is xi in the limit of a model without a prior, or for omega = xi.
TEST(Print, BiasDoesNotChangeSignAtTheGlobalPrior) {
  // nu = 2 and omega = 0.5: it changes at 0. A score of 0.2 < xi = 0.25 is overestimated.
  const BiasParameters parameters = {.tau = 1, .xi = 0.25, .prior_strength = 4, .omega = 0.5, .model_strength = 2};
  EXPECT_GT(estimation_bias(0.2, 50, parameters).value(), 0.001);
  const BiasParameters weak = {.tau = 1, .xi = 0.25, .prior_strength = 4, .omega = 0.5, .model_strength = 0.5};
  const double turn = (0.25 * 8 - 0.5) / 7;
  EXPECT_NEAR(estimation_bias(turn, 50, weak).value(), 0, 1e-15);
  EXPECT_LT(estimation_bias(turn - 0.01, 50, weak).value(), 0);
  EXPECT_GT(estimation_bias(turn + 0.01, 50, weak).value(), 0);
  EXPECT_LT(turn + 0.01, weak.xi);
  // A model prior stronger than the global one turns both sides around.
  const BiasParameters strong = {.tau = 1, .xi = 0.25, .prior_strength = 4, .omega = 0.25, .model_strength = 8};
  EXPECT_LT(estimation_bias(0.6, 50, strong).value(), 0);
  EXPECT_GT(estimation_bias(0.1, 50, strong).value(), 0);
}

// "Overestimation across the entire score range" for tau > 1 is what undersampling adds to the bias, not the bias: low
// scores of little evidence are still underestimated.
TEST(Print, UndersamplingDoesNotOverestimateEveryScore) {
  const BiasParameters parameters = {.tau = 3, .xi = 0.25, .prior_strength = 4, .omega = 0.5, .model_strength = 0.2};
  const BiasParameters without = {.tau = 1, .xi = 0.25, .prior_strength = 4, .omega = 0.5, .model_strength = 0.2};
  const double score = attainable_scores(2, parameters).low;  // two negatives seen
  EXPECT_LT(score, 0.05);
  EXPECT_LT(estimation_bias(score, 2, parameters).value(), -0.05);
  EXPECT_LT(estimation_bias(score, 2, without).value(), estimation_bias(score, 2, parameters).value());
}

// "For same score uncertainty is higher when the sum of alpha is lower" is true of the entropy where both alpha are at
// least 1, as with the prior (1, 1), and false below: there the entropy falls with less evidence.
TEST(Print, EntropyRisesAsEvidenceFallsOnlyForAlphasAboveOne) {
  EXPECT_LT(beta_entropy(0.5, 0.5), beta_entropy(1, 1));
  EXPECT_LT(beta_entropy(1.8, 0.2), beta_entropy(9, 1));
  for (const double share : {0.5, 0.9, 0.99}) {
    double before = kInfinity;
    for (double alpha0 = 1; alpha0 < 100; alpha0 *= 1.1) {
      const double entropy = beta_entropy(alpha0 * share / (1 - share), alpha0);
      EXPECT_LT(entropy, before + (alpha0 == 1 ? 1 : 0));
      before = entropy;
    }
  }
}

TEST(Bias, RefusesWhatIsOutOfRange) {
  using test::refusal_of;
  const auto of = [](const BiasParameters& parameters) { return refusal_of([&] { validate(parameters); }); };
  EXPECT_EQ(of({.tau = 0}), "bias: tau is 0, must be > 0");
  EXPECT_EQ(of({.tau = std::nan("")}), "bias: tau is nan, must be > 0");
  EXPECT_EQ(of({.tau = 1e10}), "bias: tau is 1e+10, must be 1e-9 to 1e9");
  EXPECT_EQ(of({.xi = 0}), "bias: xi is 0, must be between 0 and 1, both excluded");
  EXPECT_EQ(of({.xi = 1}), "bias: xi is 1, must be between 0 and 1, both excluded");
  EXPECT_EQ(of({.prior_strength = -4}), "bias: prior_strength is -4, must be > 0");
  EXPECT_EQ(of({.omega = 1.5}), "bias: omega is 1.5, must be 0 to 1");
  EXPECT_EQ(of({.model_strength = -1}), "bias: model_strength is -1, must be 0 to 1e9");
  EXPECT_EQ(of({.model_strength = kInfinity}), "bias: model_strength is inf, must be 0 to 1e9");
  const BiasParameters good;
  EXPECT_EQ(refusal_of([&] { (void)posterior_given_train(1.5, 1, good); }),
            "bias: train_positivity is 1.5, must be 0 to 1");
  EXPECT_EQ(refusal_of([&] { (void)posterior_given_score(-0.1, 1, good); }), "bias: score is -0.1, must be 0 to 1");
  EXPECT_EQ(refusal_of([&] { (void)model_score(0.5, -1, good); }), "bias: evidence is -1, must be 0 to 1e12");
  EXPECT_EQ(refusal_of([&] { (void)evidence_ratios(kInfinity, good); }), "bias: evidence is inf, must be 0 to 1e12");
  const std::vector<double> zero = {0};
  const std::vector<double> half = {0.5};
  EXPECT_EQ(refusal_of([&] { (void)bias_curves(half, zero, half, good); }),
            "bias: evidence is 0, must be > 0 and at most 1e12");
  const auto simulated = [&](const BiasSimulationOptions& options) {
    return refusal_of([&] { (void)simulate_bias(good, options); });
  };
  EXPECT_EQ(simulated({.evidence = 0}), "simulate_bias: evidence is 0, must be 1 to 1e9");
  EXPECT_EQ(simulated({.regions = 1}), "simulate_bias: regions is 1, must be 2 to 1e9");
  EXPECT_EQ(simulated({.cells = 0}), "simulate_bias: cells is 0, must be 1 to 1e6");
  const std::vector<double> scores = {0.5, 1.25};
  EXPECT_EQ(refusal_of([&] { (void)correct(scores, 3); }), "correct_undersampling: score[1] is 1.25, must be 0 to 1");
  EXPECT_EQ(refusal_of([&] { (void)correct(scores, -3); }), "correct_undersampling: tau is -3, must be > 0");
  EXPECT_EQ(refusal_of([&] { (void)correct(half, 3, -1); }),
            "correct_undersampling: num_threads is -1, must be 0 to 4096");
  EXPECT_EQ(refusal_of([&] { (void)correct(scores, half, good); }),
            "correct_undersampling: evidence has 1 rows, score has 2");
  const std::vector<double> evidence = {std::nan("")};
  EXPECT_EQ(refusal_of([&] { (void)correct(half, evidence, good); }),
            "correct_undersampling: evidence[0] is nan, must be 0 to 1e12");
}

}  // namespace
}  // namespace limen
