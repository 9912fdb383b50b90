// SPDX-License-Identifier: MIT
#include "limen/uncertainty/evidence_law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/refusal.h"
#include "limen/base/error.h"
#include "support/rank_correlation.h"

namespace limen {
namespace {

using test::rank_correlation;

using test::refusal_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Labels = std::vector<std::uint8_t>;
using Columns = std::vector<std::size_t>;

struct Rows {
  CodeRows codes;
  std::vector<double> score;
  Labels label;
  std::vector<double> true_count;  // training rows of the row's region
};

// The paper's process: a region has a rate from Beta(1.5, 8.5) and some training rows; its score is the posterior mean
// by the prior Beta(0.3, 1.7), which has the same mean and is too weak, so that scores of regions with few rows lie too
// far from 0.15.
class Simulation {
 public:
  enum class Code {
    kRegion,  // column 0 is the region
    kPair,    // columns 0 and 1 together are: each value of either has the same number of training rows but for noise
  };

  Simulation(std::size_t num_regions, Code code, std::uint32_t seed) : random_(seed), code_(code) {
    std::gamma_distribution<double> one(1.5);
    std::gamma_distribution<double> other(8.5);
    // Log-uniform from 2 to 60 rows.
    std::uniform_real_distribution<double> log_count(std::log(2.0), std::log(60.0));
    training.num_columns = kColumns;
    for (std::size_t region = 0; region < num_regions; ++region) {
      const double positive = one(random_);
      rate_.push_back(positive / (positive + other(random_)));
      const auto count = static_cast<int>(std::exp(log_count(random_)));
      count_.push_back(count);
      const int positives = std::binomial_distribution<int>(count, rate_.back())(random_);
      score_.push_back((positives + 0.3) / (count + 2.0));
      for (int row = 0; row < count; ++row) put_codes(region, training);
    }
  }

  Rows draw(std::size_t num_rows) {
    Rows rows;
    rows.codes.num_columns = kColumns;
    std::uniform_int_distribution<std::size_t> any(0, rate_.size() - 1);
    std::uniform_real_distribution<double> unit;
    for (std::size_t row = 0; row < num_rows; ++row) {
      const std::size_t region = any(random_);
      put_codes(region, rows.codes);
      rows.score.push_back(score_[region]);
      rows.true_count.push_back(count_[region]);
      rows.label.push_back(unit(random_) < rate_[region] ? 1 : 0);
    }
    return rows;
  }

  static constexpr std::size_t kColumns = 4;
  CodeRows training;

 private:
  // Columns 2 and 3 are noise of 5 and 300 values.
  void put_codes(std::size_t region, CodeRows& rows) {
    constexpr std::size_t kSide = 50;
    const auto put = [&](std::size_t code) { rows.codes.push_back(static_cast<std::uint32_t>(code)); };
    put(code_ == Code::kRegion ? region : region / kSide);
    put(code_ == Code::kRegion ? region % 3 : region % kSide);
    put(std::uniform_int_distribution<std::size_t>(0, 4)(random_));
    put(std::uniform_int_distribution<std::size_t>(0, 299)(random_));
  }

  std::mt19937 random_;
  Code code_;
  std::vector<double> rate_;
  std::vector<double> score_;
  std::vector<double> count_;
};

double log_loss(const std::vector<double>& probability, const Labels& label) {
  double sum = 0;
  for (std::size_t row = 0; row < label.size(); ++row) {
    sum -= std::log(label[row] != 0 ? probability[row] : 1 - probability[row]);
  }
  return sum / static_cast<double>(label.size());
}

EvidenceLaw fitted(const CodeRows& training, const Rows& rows, const EvidenceLawOptions& options = {}) {
  return fit_evidence_law(training, rows.codes, rows.score, rows.label, options);
}

// A law of two terms, by hand.
EvidenceLaw small_law() {
  EvidenceLaw law;
  law.status = EvidenceLawStatus::kActive;
  law.num_columns = 2;
  law.cap = 3;
  law.num_candidates = 3;
  law.p_value = 1e-4;
  law.gain_z = 2.5;
  law.terms = {{.columns = {0}, .weight = 0.25, .cells = {.keys = {1, 2}, .counts = {1, 7}}},
               {.columns = {0, 1}, .weight = 0.75, .cells = {.keys = {(1ULL << 32U) | 5U}, .counts = {1}}}};
  law.curve = {.at = {-2, 0, 1, 2}, .log_odds = {-3, -1, 1, 3}, .mean = 0, .sd = 1};
  law.coefficients = {0, 1, 0.5, 1};
  law.evidence_mean = 0.5;
  law.evidence_sd = 0.5;
  law.crossing = 0.3775;
  return law;
}

// Row (1, 5): counts 1 and 1: log 2. (2, 5): 7, of which 3 count, and 0: 0.25 log 4. (3, 5) and unseen: 0.
TEST(EvidenceLaw, LogEvidenceIsTheWeightedMeanOfLogCounts) {
  const CodeRows rows = {.num_columns = 2, .codes = {1, 5, 2, 5, 3, 5, CodeRows::kUnseen, 5, 1, CodeRows::kUnseen}};
  EXPECT_THAT(small_law().log_evidence(rows),
              ElementsAre(::testing::DoubleEq(std::log(2)), ::testing::DoubleEq(0.25 * std::log(4)), 0, 0,
                          ::testing::DoubleEq(0.25 * std::log(2))));
  EXPECT_THAT(small_law().log_evidence({.num_columns = 2}), IsEmpty());
}

// Score 1/2: F = -1. Row (3, 5): h = -1, so log odds -0.5 + max(1 - 1, 0.05) * -1 = -0.55.
TEST(EvidenceLaw, ProbabilityByHand) {
  const std::vector<double> p = small_law().probability(std::vector{0.5}, {.num_columns = 2, .codes = {3, 5}});
  EXPECT_NEAR(p[0], 1 / (1 + std::exp(0.55)), 1e-12);
}

TEST(EvidenceLaw, ProbabilityNeverFallsWithTheScore) {
  Simulation simulation(2500, Simulation::Code::kRegion, 1);
  const EvidenceLaw law = fitted(simulation.training, simulation.draw(40'000));
  ASSERT_FALSE(law.is_silent());
  for (const EvidenceLaw& one : {law, small_law()}) {
    for (const std::uint32_t code : {1U, 2U, 3U, CodeRows::kUnseen}) {
      CodeRows rows = {.num_columns = one.num_columns};
      std::vector<double> score;
      for (int step = 0; step <= 1000; ++step) {
        score.push_back(step / 1000.0);
        for (std::size_t column = 0; column < one.num_columns; ++column) rows.codes.push_back(code);
      }
      const std::vector<double> p = one.probability(score, rows);
      EXPECT_TRUE(std::ranges::is_sorted(p));
      EXPECT_THAT(p, Each(::testing::AllOf(::testing::Gt(0), ::testing::Lt(1))));
    }
  }
}

TEST(FitEvidenceLaw, RecoversTheRegionsCounts) {
  Simulation simulation(2500, Simulation::Code::kRegion, 2);
  const EvidenceLaw law = fitted(simulation.training, simulation.draw(60'000));
  ASSERT_EQ(law.status, EvidenceLawStatus::kActive) << law.describe(std::vector<std::string>{"r", "b", "c", "d"});
  EXPECT_EQ(law.terms[0].columns, Columns{0});
  EXPECT_LT(law.p_value, 1e-6);
  EXPECT_GE(law.gain_z, 2);
  const Rows fresh = simulation.draw(60'000);
  EXPECT_GE(rank_correlation(law.log_evidence(fresh.codes), fresh.true_count), 0.9);
  // The score alone, as well calibrated as the same rows allow.
  EvidenceLaw alone = law;
  alone.terms.clear();
  EXPECT_LT(log_loss(law.probability(fresh.score, fresh.codes), fresh.label),
            log_loss(alone.probability(fresh.score, fresh.codes), fresh.label));
  // The prior's mean is 0.15; the law is its mean to first order only.
  ASSERT_TRUE(law.crossing.has_value());
  EXPECT_NEAR(*law.crossing, 0.15, 0.06);
  EXPECT_THAT(law.describe(std::vector<std::string>{"r", "b", "c", "d"}),
              ::testing::AllOf(HasSubstr("rows that agree on r"), HasSubstr("too far from 0.1")));
}

TEST(FitEvidenceLaw, FindsAPairOfWhichNeitherColumnTellsAnything) {
  Simulation simulation(2500, Simulation::Code::kPair, 3);
  const Rows rows = simulation.draw(60'000);
  const EvidenceLaw law = fitted(simulation.training, rows);
  ASSERT_EQ(law.status, EvidenceLawStatus::kActive);
  EXPECT_EQ(law.terms[0].columns, (Columns{0, 1}));
  EXPECT_GE(rank_correlation(law.log_evidence(rows.codes), rows.true_count), 0.9);
  // Either column alone: its counts are sums over 50 regions and say nothing.
  for (const std::size_t column : {std::size_t{0}, std::size_t{1}}) {
    CodeRows training = {.num_columns = 1};
    CodeRows validation = {.num_columns = 1};
    for (std::size_t row = 0; row < simulation.training.num_rows(); ++row) {
      training.codes.push_back(simulation.training.codes[row * Simulation::kColumns + column]);
    }
    for (std::size_t row = 0; row < rows.score.size(); ++row) {
      validation.codes.push_back(rows.codes.codes[row * Simulation::kColumns + column]);
    }
    EXPECT_TRUE(fit_evidence_law(training, validation, rows.score, rows.label).is_silent()) << column;
  }
}

TEST(FitEvidenceLaw, IsSilentWhereLabelsDependOnTheScoreAlone) {
  int active = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Simulation simulation(2500, Simulation::Code::kRegion, 100 + seed);
    Rows rows = simulation.draw(8000);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> unit;
    // A curved function of the score, so that the recalibration has something to do.
    for (std::size_t row = 0; row < rows.label.size(); ++row) {
      rows.label[row] = unit(random) < 0.02 + 0.6 * rows.score[row] * rows.score[row] ? 1 : 0;
    }
    const EvidenceLaw law = fitted(simulation.training, rows);
    active += law.is_silent() ? 0 : 1;
    if (!law.is_silent()) continue;
    // A silent law has no evidence, and its mean is the recalibrated score.
    EXPECT_THAT(law.log_evidence(rows.codes), Each(0));
    const std::vector<double> p = law.probability(rows.score, rows.codes);
    const double rate = std::accumulate(rows.label.begin(), rows.label.end(), 0.0) / 8000;
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0) / 8000, rate, 0.01);
    EXPECT_THAT(law.describe(std::vector<std::string>{"r", "b", "c", "d"}), HasSubstr("Silent"));
  }
  // At level 0.01 more than one of twenty has probability 0.017, and the second gate lowers it.
  EXPECT_LE(active, 1);
}

TEST(FitEvidenceLaw, UnseenValuesHaveLessEvidenceThanAnySeen) {
  Simulation simulation(2500, Simulation::Code::kRegion, 4);
  const EvidenceLaw law = fitted(simulation.training, simulation.draw(40'000));
  ASSERT_FALSE(law.is_silent());
  const std::vector<double> seen = law.log_evidence(simulation.training);
  const CodeRows unseen = {.num_columns = 4, .codes = std::vector(4, CodeRows::kUnseen)};
  EXPECT_EQ(law.log_evidence(unseen)[0], 0);
  EXPECT_GT(std::ranges::min(seen), 0);
}

// With two scores and two cells the score test is Pearson's chi-square of the 2 x 2 table of each score, summed: c and
// c F span the difference between the cells at either score, and the spline of the score alone fits both rates. The
// ridge of 0.01 moves the log odds of a score by less than 0.01 * 10 / (1000 * 0.2), a thousandth of their standard
// error 0.07, and the chi-square by a few times that: 1%. The likelihood ratio differs from Pearson's by the third
// moments of the table, of relative order 1 / sqrt(expected count) = 1 / sqrt(150): 10%.
TEST(FitEvidenceLaw, TheScreeningIsPearsonsChiSquareAndNearTheLikelihoodRatio) {
  const CodeRows training = {.num_columns = 1, .codes = {1, 2, 2, 2, 2}};
  Rows rows;
  rows.codes.num_columns = 1;
  double pearson = 0;
  double ratio = 0;
  const auto add = [&](double score, std::array<int, 2> size, std::array<int, 2> positives) {
    const double rate = static_cast<double>(positives[0] + positives[1]) / (size[0] + size[1]);
    for (std::size_t cell = 0; cell < 2; ++cell) {
      for (int row = 0; row < size[cell]; ++row) {
        rows.codes.codes.push_back(static_cast<std::uint32_t>(cell + 1));
        rows.score.push_back(score);
        rows.label.push_back(row < positives[cell] ? 1 : 0);
      }
      const double expected = size[cell] * rate;
      const double residual = positives[cell] - expected;
      pearson += residual * residual / (expected * (1 - rate));
      ratio += 2 * positives[cell] * std::log(positives[cell] / expected);
      ratio += 2 * (size[cell] - positives[cell]) * std::log((size[cell] - positives[cell]) / (size[cell] - expected));
    }
  };
  add(0.3, {600, 500}, {170, 180});
  add(0.6, {400, 700}, {250, 380});
  const EvidenceLaw law = fitted(training, rows);
  EXPECT_EQ(law.num_candidates, 1u);
  EXPECT_GT(pearson, 10);
  EXPECT_NEAR(law.chi_square, pearson, 0.01 * pearson);
  EXPECT_NEAR(law.chi_square, ratio, 0.1 * ratio);
  EXPECT_NEAR(law.p_value, std::exp(-law.chi_square / 2), 1e-12);
}

TEST(FitEvidenceLaw, DoesNotDependOnThreadsNorOnTheOrderOfTrainingRows) {
  Simulation simulation(2500, Simulation::Code::kPair, 5);
  const Rows rows = simulation.draw(40'000);
  const std::string wanted = to_json(fitted(simulation.training, rows, {.num_threads = 1}));
  EXPECT_THAT(wanted, HasSubstr("\"active\""));
  EXPECT_EQ(to_json(fitted(simulation.training, rows, {.num_threads = 4})), wanted);
  CodeRows reversed = {.num_columns = Simulation::kColumns};
  for (std::size_t row = simulation.training.num_rows(); row-- > 0;) {
    const auto begin = simulation.training.codes.begin() + static_cast<std::ptrdiff_t>(row * Simulation::kColumns);
    reversed.codes.insert(reversed.codes.end(), begin, begin + Simulation::kColumns);
  }
  EXPECT_EQ(to_json(fitted(reversed, rows)), wanted);
}

TEST(FitEvidenceLaw, OfTooManyRowsASeededSampleIsUsed) {
  Simulation simulation(2500, Simulation::Code::kRegion, 6);
  const Rows rows = simulation.draw(3000);
  const auto json = [&](std::size_t most_rows, std::uint64_t seed) {
    return to_json(fitted(simulation.training, rows, {.most_rows = most_rows, .seed = seed}));
  };
  EXPECT_EQ(json(3000, 1), json(200'000, 1));
  EXPECT_EQ(json(1000, 1), json(1000, 1));
  EXPECT_NE(json(1000, 1), json(1000, 2));
  EXPECT_NE(json(1000, 1), json(3000, 1));
}

TEST(FitEvidenceLaw, HasNoTermsWhereThereIsNothingToLearnFrom) {
  const CodeRows training = {.num_columns = 2, .codes = {1, 1, 2, 1, 2, 1}};
  const std::vector<std::string> names = {"a", "b"};
  const auto status = [&](const CodeRows& rows, const std::vector<double>& score, const Labels& label) {
    const EvidenceLaw law = fit_evidence_law(training, rows, score, label);
    EXPECT_TRUE(law.is_silent());
    EXPECT_THAT(law.describe(names), HasSubstr("Silent: "));
    EXPECT_THAT(law.log_evidence(rows), Each(0));
    const std::vector<double> p = law.probability(score, rows);
    EXPECT_THAT(p, Each(::testing::AllOf(::testing::Ge(0), ::testing::Le(1))));
    return law.status;
  };
  using enum EvidenceLawStatus;
  EXPECT_EQ(status({.num_columns = 2}, {}, {}), kNoRows);
  EXPECT_EQ(status({.num_columns = 2, .codes = {1, 1, 2, 1}}, {0.2, 0.7}, {1, 1}), kOneClass);
  EXPECT_EQ(status({.num_columns = 2, .codes = {1, 1, 1, 1}}, {0.2, 0.7}, {0, 1}), kNoVariation);
  const std::uint32_t unseen = CodeRows::kUnseen;
  EXPECT_EQ(status({.num_columns = 2, .codes = {unseen, unseen, unseen, unseen}}, {0.2, 0.7}, {0, 1}), kNoVariation);
  // All scores equal, at an end, or falling with the labels.
  const CodeRows four = {.num_columns = 2, .codes = {1, 1, 2, 1, 2, 1, 1, 1}};
  EXPECT_EQ(status(four, {0.5, 0.5, 0.5, 0.5}, {0, 1, 0, 1}), kNothingFound);
  EXPECT_EQ(status(four, {0, 0, 1, 1}, {0, 1, 0, 1}), kNothingFound);
  EXPECT_EQ(status(four, {0.1, 0.2, 0.8, 0.9}, {1, 1, 0, 0}), kNothingFound);
  EXPECT_EQ(status({.num_columns = 2, .codes = {1, 1, 2, 1}}, {0.2, 0.7}, {0, 1}), kNothingFound);
}

// Column 1 is constant and column 0 is a sign of its own: found even where all scores are equal, and no pair with the
// constant is looked at.
TEST(FitEvidenceLaw, PassesOverConstantColumnsAndTakesEqualScores) {
  const CodeRows training = {.num_columns = 2, .codes = {1, 1, 2, 1, 2, 1}};
  Rows rows;
  rows.codes.num_columns = 2;
  std::mt19937 random(7);
  for (int row = 0; row < 2000; ++row) {
    const std::uint32_t code = 1 + random() % 2;
    rows.codes.codes.insert(rows.codes.codes.end(), {code, 1});
    rows.score.push_back(0.4);
    rows.label.push_back(random() % 10 < (code == 1 ? 5 : 3) ? 1 : 0);
  }
  const EvidenceLaw law = fitted(training, rows);
  ASSERT_EQ(law.status, EvidenceLawStatus::kActive);
  EXPECT_EQ(law.num_candidates, 1u);
  const std::vector<double> p = law.probability(std::vector{0.4, 0.4}, {.num_columns = 2, .codes = {1, 1, 2, 1}});
  EXPECT_NEAR(p[0], 0.5, 0.06);
  EXPECT_NEAR(p[1], 0.3, 0.06);
  EXPECT_THAT(law.describe(std::vector<std::string>{"a", "b"}),
              HasSubstr("rows of little evidence are more often positive"));
}

// At this level the first gate lets through any term whose chi-square is above what is expected of the best of 12. The
// labels depend on the score alone, so that the second gate must shut most of them out.
TEST(FitEvidenceLaw, TheSecondGateShutsOutWhatDoesNotHoldOnOtherRows) {
  Simulation simulation(2500, Simulation::Code::kRegion, 8);
  Rows rows = simulation.draw(2000);
  std::mt19937 random(9);
  std::uniform_real_distribution<double> unit;
  int shut_out = 0;
  int active = 0;
  for (int draw = 0; draw < 12; ++draw) {
    for (std::size_t row = 0; row < rows.label.size(); ++row) {
      rows.label[row] = unit(random) < rows.score[row] ? 1 : 0;
    }
    const EvidenceLaw law = fitted(simulation.training, rows, {.level = 0.999999});
    active += law.is_silent() ? 0 : 1;
    if (law.status != EvidenceLawStatus::kNotConfirmed) continue;
    ++shut_out;
    EXPECT_LT(law.gain_z, 2);
    EXPECT_TRUE(law.is_silent());
    EXPECT_THAT(law.describe(std::vector<std::string>{"r", "b", "c", "d"}), HasSubstr("did not hold"));
  }
  EXPECT_GE(shut_out, 2);
  EXPECT_LE(active, 1);
}

TEST(EvidenceLawJson, RoundTrip) {
  Simulation simulation(2500, Simulation::Code::kPair, 10);
  const Rows rows = simulation.draw(40'000);
  const EvidenceLaw law = fitted(simulation.training, rows);
  ASSERT_FALSE(law.is_silent());
  const EvidenceLaw again = evidence_law_from_json(to_json(law));
  EXPECT_EQ(to_json(again), to_json(law));
  EXPECT_EQ(again.log_evidence(rows.codes), law.log_evidence(rows.codes));
  EXPECT_EQ(again.probability(rows.score, rows.codes), law.probability(rows.score, rows.codes));
  const EvidenceLaw silent = fit_evidence_law(simulation.training, {.num_columns = 4}, {}, {});
  EXPECT_EQ(evidence_law_from_json(to_json(silent)).status, EvidenceLawStatus::kNoRows);
}

TEST(EvidenceLawJson, RefusesDamage) {
  const std::string text = to_json(small_law());
  EXPECT_EQ(to_json(evidence_law_from_json(text)), text);
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) return "no " + from + " in " + text;
    return refusal_of([&] { (void)evidence_law_from_json(std::string(text).replace(at, from.size(), to)); });
  };
  EXPECT_EQ(refusal_of([] { (void)evidence_law_from_json("{"); }),
            "evidence law: is not a JSON file, or a damaged one");
  EXPECT_THAT(refused("limen-evidence-law", "x"), HasSubstr("evidence law: is no law of evidence"));
  EXPECT_THAT(refused("\"version\":1", "\"version\":2"), HasSubstr("has version 2, this program reads up to 1"));
  EXPECT_THAT(refused("\"cap\":3,", ""), HasSubstr("is damaged at \"cap\""));
  for (const auto& [member, from, to] : std::vector<std::array<std::string, 3>>{
           {"status", "\"active\"", "\"asleep\""},
           {"terms", "\"active\"", "\"one_class\""},
           {"num_columns", "\"num_columns\":2", "\"num_columns\":-2"},
           {"columns", "\"num_columns\":2", "\"num_columns\":1"},
           {"cap", "\"cap\":3", "\"cap\":0"},
           {"p_value", "\"p_value\":0.0001", "\"p_value\":1.5"},
           {"gain_z", "\"gain_z\":2.5", "\"gain_z\":\"2.5\""},
           {"at", "[-2.0,0.0,", "[-2.0,-2.0,"},
           {"at", "[-2.0,0.0,", "[-2e9,0.0,"},
           {"log_odds", "[-3.0,-1.0,", "[-3.0,2.0,"},
           {"log_odds", "[-3.0,-1.0,", "[-3.0,"},
           {"sd", "\"sd\":1.0", "\"sd\":0"},
           {"coefficients", "[0.0,1.0,0.5,1.0]", "[0.0,1.0,0.5]"},
           {"coefficients", "[0.0,1.0,0.5,1.0]", "[0.0,1.0,0.5,1e9]"},
           {"evidence_sd", "\"evidence_sd\":0.5", "\"evidence_sd\":0"},
           {"crossing", "0.3775", "1.3775"},
           {"columns", "\"columns\":[0,1]", "\"columns\":[1,0]"},
           {"columns", "\"columns\":[0,1]", "\"columns\":[0,2]"},
           {"columns", "\"columns\":[0,1]", "\"columns\":[]"},
           {"weight", "\"weight\":0.75", "\"weight\":0.5"},
           {"weight", "\"weight\":0.75", "\"weight\":0.0"},
           {"keys", "00000000000000010000000000000002", "00000000000000020000000000000001"},
           {"keys", "00000000000000010000000000000002", "000000000000000100000000000000g2"},
           {"keys", "00000000000000010000000000000002", "0000000000000001000000"},
           {"counts", "[1,7]", "[1]"},
           {"counts", "[1,7]", "[1,0]"},
           {"counts", "[1,7]", "[1,7,7]"},
           {"counts", "[1,7]", "[1,4294967296]"},
       }) {
    EXPECT_EQ(refused(from, to), "evidence law: is damaged at \"" + member + "\"") << from << " -> " << to;
  }
}

TEST(FitEvidenceLaw, RefusesBadInput) {
  const CodeRows training = {.num_columns = 2, .codes = {1, 1, 2, 1}};
  const CodeRows rows = {.num_columns = 2, .codes = {1, 1, 2, 1}};
  const auto refused = [](const CodeRows& train, const CodeRows& validation, const std::vector<double>& score,
                          const Labels& label) {
    return refusal_of([&] { (void)fit_evidence_law(train, validation, score, label); });
  };
  const std::vector<double> score = {0.5, 0.25};
  const Labels label = {0, 1};
  EXPECT_EQ(refused({}, rows, score, label), "fit_evidence_law: training has no columns, must have at least 1");
  EXPECT_EQ(refused({.num_columns = 2}, rows, score, label), "fit_evidence_law: training has no rows");
  EXPECT_EQ(refused({.num_columns = 2, .codes = {1}}, rows, score, label),
            "fit_evidence_law: training has 1 codes, must be a multiple of its 2 columns");
  EXPECT_EQ(refused({.num_columns = 2, .codes = {1, 1, 2, CodeRows::kUnseen}}, rows, score, label),
            "fit_evidence_law: training has an unseen value in row 1, must have none");
  EXPECT_EQ(refused(training, {.num_columns = 3}, score, label),
            "fit_evidence_law: validation has 3 columns, must have 2");
  EXPECT_EQ(refused(training, rows, {0.5}, label), "fit_evidence_law: score has 1 rows, must have 2");
  EXPECT_EQ(refused(training, rows, {0.5, 1.5}, label), "fit_evidence_law: score[1] is 1.5, must be from 0 to 1");
  EXPECT_EQ(refused(training, rows, {-0.5, 0.5}, label), "fit_evidence_law: score[0] is -0.5, must be from 0 to 1");
  EXPECT_EQ(refused(training, rows, {0.5, std::numeric_limits<double>::quiet_NaN()}, label),
            "fit_evidence_law: score[1] is nan, must be from 0 to 1");
  EXPECT_EQ(refused(training, rows, score, {1}), "fit_evidence_law: label has 1 rows, must have 2");
  EXPECT_EQ(refused(training, rows, score, {1, 2}), "fit_evidence_law: label[1] is 2, must be 0 or 1");
  EXPECT_EQ(refusal_of([] { (void)small_law().log_evidence({.num_columns = 1}); }),
            "log_evidence: rows has 1 columns, must have 2");
  EXPECT_EQ(refusal_of([&] { (void)small_law().probability(std::vector{0.5}, rows); }),
            "probability: score has 1 rows, must have 2");
  EXPECT_EQ(refusal_of([] { (void)small_law().describe({}); }), "describe: 0 names, must be 2");
}

TEST(EvidenceLawOptionsTest, EachFieldIsNamedWithItsRange) {
  const auto refused = [](const EvidenceLawOptions& options) { return refusal_of([&] { validate(options); }); };
  EXPECT_EQ(refused({}), "(not refused)");
  EXPECT_EQ(refused({.most_terms = 0}), "fit_evidence_law: most_terms is 0, must be from 1 to 16");
  EXPECT_EQ(refused({.level = 1}), "fit_evidence_law: level is 1, must be above 0 and below 1");
  EXPECT_EQ(refused({.least_z = -1}), "fit_evidence_law: least_z is -1, must be finite and >= 0");
  EXPECT_EQ(refused({.cap = 65'536}), "fit_evidence_law: cap is 65536, must be from 1 to 65535");
  EXPECT_EQ(refused({.most_columns_in_pairs = 0}),
            "fit_evidence_law: most_columns_in_pairs is 0, must be from 1 to 200");
  EXPECT_EQ(refused({.most_rows = 0}), "fit_evidence_law: most_rows is 0, must be >= 1");
  EXPECT_EQ(refused({.num_threads = -1}), "fit_evidence_law: num_threads is -1, must be >= 0");
}

}  // namespace
}  // namespace limen
