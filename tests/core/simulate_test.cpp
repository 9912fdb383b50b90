// SPDX-License-Identifier: MIT
#include "limen/theory/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "limen/base/error.h"
#include "limen/uncertainty/beta.h"

namespace limen {
namespace {

// Every statistical bound below is five standard errors of the statistic: with the fixed seeds of this file a test
// fails for good or never, and a right sampler would have failed with a probability of 6e-7 when the seed was chosen.
constexpr double kSigmas = 5;

// Evidence of every region is `rows`.
SimulationOptions constant_evidence(std::int64_t rows) {
  SimulationOptions options;
  options.evidence_limit = rows;
  options.evidence_scale = std::max(1., static_cast<double>(rows));
  options.holdout_rows = 0;
  options.test_rows = 0;
  return options;
}

// Mean and variance of values that have the given mean, variance and fourth central moment.
void expect_moments(const std::vector<double>& values, double mean, double variance, double fourth) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += (value - mean) * (value - mean);
  }
  EXPECT_NEAR(sum / count, mean, kSigmas * std::sqrt(variance / count));
  EXPECT_NEAR(squares / count, variance, kSigmas * std::sqrt((fourth - variance * variance) / count));
}

// Pearson's statistic has mean cells - 1 and variance close to 2 (cells - 1).
void expect_uniform(const std::vector<std::int64_t>& observed) {
  double total = 0;
  for (const std::int64_t count : observed) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(observed.size());
  double statistic = 0;
  for (const std::int64_t count : observed) {
    const double difference = static_cast<double>(count) - expected;
    statistic += difference * difference / expected;
  }
  const auto freedom = static_cast<double>(observed.size() - 1);
  EXPECT_NEAR(statistic, freedom, kSigmas * std::sqrt(2 * freedom) + 10) << observed.size() << " cells";
}

std::int64_t evidence(const Region& region) { return region.train_positives + region.train_negatives; }

double train_rate(double s, double tau) { return tau * s / ((tau - 1) * s + 1); }

// FNV-1a over every whole number of the result and the score, which is one correctly rounded division of them.
// true_positivity and uncertainty depend on the last bit of <cmath> and are left out.
class Hash {
 public:
  template <typename Number>
  void add(Number number) {
    auto word = static_cast<std::uint64_t>(number);
    for (int byte = 0; byte < 8; ++byte, word >>= 8) value_ = (value_ ^ (word & 0xff)) * 0x100000001b3U;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::uint64_t hash(const Simulation& simulation) {
  Hash hash;
  for (const Region& region : simulation.regions) {
    hash.add(region.train_positives);
    hash.add(region.train_negatives);
    hash.add(region.dropped_negatives);
    hash.add(std::ldexp(region.score, 53));
  }
  for (const SimulatedRows* rows : {&simulation.holdout, &simulation.test}) {
    for (const std::int32_t region : rows->region) hash.add(region);
    for (const std::uint8_t label : rows->label) hash.add(label);
  }
  return hash.value();
}

TEST(Simulate, GivesTheSameResultForTheSameSeedOnEveryPlatform) {
  SimulationOptions options;
  options.regions = 5'000;
  options.evidence_limit = 1'000'000;
  options.holdout_rows = 3'000;
  options.test_rows = 2'000;
  EXPECT_EQ(hash(simulate(options)), hash(simulate(options)));
  EXPECT_EQ(hash(simulate(options)), 519667023686211386U);
  options.prior_positive = 0.5;
  options.prior_negative = 1.5;
  options.seed = 20'240'229;
  EXPECT_EQ(hash(simulate(options)), 14954623819368123030U);
}

TEST(Simulate, DiffersBetweenSeedsAndBetweenItsTables) {
  SimulationOptions options;
  options.regions = 1'000;
  options.holdout_rows = options.test_rows = 1'000;
  const Simulation zero = simulate(options);
  options.seed = 1;
  const Simulation one = simulate(options);
  options.seed = std::numeric_limits<std::uint64_t>::max();
  const Simulation last = simulate(options);
  EXPECT_NE(hash(zero), hash(one));
  EXPECT_NE(hash(one), hash(last));
  EXPECT_NE(zero.regions[0].true_positivity, one.regions[0].true_positivity);
  EXPECT_NE(zero.holdout.region, one.holdout.region);
  EXPECT_NE(zero.holdout.region, zero.test.region);
}

TEST(Simulate, ExtendsTheShorterListWhenAskedForMore) {
  SimulationOptions options;
  options.regions = 500;
  options.holdout_rows = 100;
  options.test_rows = 100;
  const Simulation small = simulate(options);
  options.holdout_rows = 5'000;
  const Simulation longer = simulate(options);
  EXPECT_EQ(small.test.region, longer.test.region);
  EXPECT_EQ(small.test.label, longer.test.label);
  EXPECT_TRUE(std::equal(small.holdout.region.begin(), small.holdout.region.end(), longer.holdout.region.begin()));
  EXPECT_TRUE(std::equal(small.holdout.label.begin(), small.holdout.label.end(), longer.holdout.label.begin()));
  options.regions = 600;
  const Simulation wider = simulate(options);
  for (std::size_t index = 0; index < small.regions.size(); ++index) {
    EXPECT_EQ(small.regions[index].true_positivity, wider.regions[index].true_positivity);
    EXPECT_EQ(small.regions[index].dropped_negatives, wider.regions[index].dropped_negatives);
  }
}

TEST(Simulate, HasTheSizesAskedForAndWorksWithNothing) {
  SimulationOptions options;
  options.regions = 1;
  options.holdout_rows = 7;
  options.test_rows = 0;
  options.evidence_limit = 0;
  const Simulation simulation = simulate(options);
  ASSERT_EQ(simulation.regions.size(), 1U);
  EXPECT_EQ(simulation.holdout.region, std::vector<std::int32_t>(7, 0));
  EXPECT_EQ(simulation.holdout.label.size(), 7U);
  EXPECT_TRUE(simulation.test.region.empty());
  // Unseen in training: the model's prior, here Beta(1, 1).
  EXPECT_EQ(evidence(simulation.regions[0]), 0);
  EXPECT_EQ(simulation.regions[0].dropped_negatives, 0);
  EXPECT_EQ(simulation.regions[0].score, 0.5);
  EXPECT_NEAR(simulation.regions[0].uncertainty, 0, 1e-15);
}

TEST(Simulate, ScoreAndUncertaintyAreThePosteriorOfTheCounts) {
  SimulationOptions options;
  options.regions = 2'000;
  options.model_prior_positive = 0.7;
  options.model_prior_negative = 2.2;
  for (const Region& region : simulate(options).regions) {
    const double alpha1 = 0.7 + static_cast<double>(region.train_positives);
    const double alpha0 = 2.2 + static_cast<double>(region.train_negatives);
    EXPECT_EQ(region.score, alpha1 / (alpha1 + alpha0));
    EXPECT_EQ(region.uncertainty, beta_entropy(alpha1, alpha0));
    EXPECT_GE(region.train_positives, 0);
    EXPECT_GE(region.train_negatives, 0);
    EXPECT_GE(region.dropped_negatives, 0);
  }
}

// Beta(a, b): mean a / s, variance a b / (s^2 (s + 1)), excess kurtosis
// 6 ((a - b)^2 (s + 1) - a b (s + 2)) / (a b (s + 2) (s + 3)).
TEST(Simulate, TruePositivityHasTheMomentsOfItsPrior) {
  const double priors[][2] = {{1, 3}, {1.5, 8.5}, {0.5, 1.5}, {0.05, 0.2}, {30, 4}, {1e-3, 2e-3}, {0.3, 5'000}};
  for (const auto& [a, b] : priors) {
    SCOPED_TRACE(testing::Message() << "prior " << a << ", " << b);
    SimulationOptions options = constant_evidence(0);
    options.prior_positive = a;
    options.prior_negative = b;
    options.regions = 100'000;
    options.seed = 3;
    std::vector<double> values;
    for (const Region& region : simulate(options).regions) values.push_back(region.true_positivity);
    const double s = a + b;
    const double variance = a * b / (s * s * (s + 1));
    const double excess = 6 * ((a - b) * (a - b) * (s + 1) - a * b * (s + 2)) / (a * b * (s + 2) * (s + 3));
    expect_moments(values, a / s, variance, (3 + excess) * variance * variance);
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double x) { return x >= 0 && x <= 1; }));
  }
}

// With a uniform prior and tau = 1 the positives of n rows are uniform on 0 .. n (Bayes): an exact test of the whole
// binomial sampler, by search for small n and by splitting for large n.
TEST(Simulate, PositivesAreUniformUnderAUniformPrior) {
  for (const std::int64_t rows : {1, 5, 24, 99, 4'999, 9'999'999, 999'999'999}) {
    SCOPED_TRACE(rows);
    SimulationOptions options = constant_evidence(rows);
    options.prior_positive = options.prior_negative = 1;
    options.tau = 1;
    options.regions = 100'000;
    options.seed = 5;
    const std::int64_t cells = std::min<std::int64_t>(rows + 1, 100);
    ASSERT_TRUE((rows + 1) % cells == 0);
    std::vector<std::int64_t> observed(static_cast<std::size_t>(cells));
    for (const Region& region : simulate(options).regions) {
      ASSERT_EQ(evidence(region), rows);
      ++observed[static_cast<std::size_t>(region.train_positives / ((rows + 1) / cells))];
    }
    expect_uniform(observed);
  }
}

// Standardised counts given the region's true positivity have mean 0, variance 1 and fourth moment 3 + excess; the mean
// excess over the regions is taken along. A prior of strength 1e6 pins the positivity, so that each mean of the
// binomial and Poisson samplers is met many times.
TEST(Simulate, PositivesAndDroppedNegativesHaveTheirMomentsGivenTheTruth) {
  for (const double tau : {0.2, 1., 3., 40.}) {
    for (const double positivity : {0.003, 0.2, 0.5, 0.96}) {
      for (const std::int64_t rows : {3, 60, 3'000, 1'000'000}) {
        SCOPED_TRACE(testing::Message() << "tau " << tau << " positivity " << positivity << " rows " << rows);
        SimulationOptions options = constant_evidence(rows);
        options.prior_positive = 1e6 * positivity;
        options.prior_negative = 1e6 * (1 - positivity);
        options.tau = tau;
        options.regions = 10'000;
        options.seed = 8;
        std::vector<double> positives;
        std::vector<double> dropped;
        double positives_excess = 0;
        double dropped_excess = 0;
        const auto n = static_cast<double>(rows);
        for (const Region& region : simulate(options).regions) {
          const double p = train_rate(region.true_positivity, tau);
          const double variance = n * p * (1 - p);
          positives.push_back((static_cast<double>(region.train_positives) - n * p) / std::sqrt(variance));
          positives_excess += (1 - 6 * p * (1 - p)) / variance;
          if (tau <= 1) {
            ASSERT_EQ(region.dropped_negatives, 0);
            continue;
          }
          // Dropped draws before the n-th kept one: mean n q / (1 - q), variance n q / (1 - q)^2, excess kurtosis
          // 6 / n + (1 - q)^2 / (n q).
          const double q = (1 - region.true_positivity) * (1 - 1 / tau);
          const double spread = std::sqrt(n * q) / (1 - q);
          dropped.push_back((static_cast<double>(region.dropped_negatives) - n * q / (1 - q)) / spread);
          dropped_excess += 6 / n + (1 - q) * (1 - q) / (n * q);
        }
        expect_moments(positives, 0, 1, 3 + positives_excess / 1e4);
        if (tau > 1) expect_moments(dropped, 0, 1, 3 + dropped_excess / 1e4);
      }
    }
  }
}

// A million rows kept and a handful dropped is a Poisson count up to a relative 1e-3 of variance, here taken exactly:
// the narrow law sees an error of a few hundredths of a count that the wide ones above hide.
TEST(Simulate, DroppedNegativesAreAPoissonCountWhenFewOfManyAreDropped) {
  for (const double mean : {2., 17., 40., 300.}) {
    SCOPED_TRACE(mean);
    SimulationOptions options = constant_evidence(1'000'000);
    options.prior_positive = 1e6;
    options.prior_negative = 1e6;
    options.tau = 1 + mean * 2e-6;
    options.regions = 100'000;
    options.seed = 21;
    std::vector<double> dropped;
    double excess = 0;
    for (const Region& region : simulate(options).regions) {
      const double q = (1 - region.true_positivity) * (1 - 1 / options.tau);
      const double spread = std::sqrt(1e6 * q) / (1 - q);
      dropped.push_back((static_cast<double>(region.dropped_negatives) - 1e6 * q / (1 - q)) / spread);
      excess += 6e-6 + (1 - q) * (1 - q) / (1e6 * q);
    }
    expect_moments(dropped, 0, 1, 3 + excess / 1e5);
  }
}

// P(rows >= x) = (scale / x)^tail for whole x from the scale on, and everything above the limit sits at it.
TEST(Simulate, EvidenceHasAParetoTailUpToItsLimit) {
  for (const double tail : {0.4, 1., 2.5}) {
    for (const double scale : {0.25, 8., 8.5}) {
      SCOPED_TRACE(testing::Message() << "tail " << tail << " scale " << scale);
      SimulationOptions options;
      options.evidence_scale = scale;
      options.evidence_tail = tail;
      options.evidence_limit = 2'000;
      options.regions = 100'000;
      options.holdout_rows = options.test_rows = 0;
      const std::vector<Region> regions = simulate(options).regions;
      for (const std::int64_t x : {1, 8, 9, 20, 100, 500, 2'000}) {
        const double expected = std::min(1., std::pow(scale / static_cast<double>(x), tail));
        const auto count =
            std::count_if(regions.begin(), regions.end(), [&](const Region& r) { return evidence(r) >= x; });
        const double deviation = std::sqrt(expected * (1 - expected) / 1e5);
        EXPECT_NEAR(static_cast<double>(count) / 1e5, expected, kSigmas * deviation + 1e-5) << x;
      }
      for (const Region& region : regions) {
        ASSERT_GE(evidence(region), static_cast<std::int64_t>(scale));
        ASSERT_LE(evidence(region), 2'000);
      }
    }
  }
}

// Hold-out and test follow the true positivity, not the undersampled one: prevalence is the prior's mean 1/4 here. A
// row's label has variance 3/16, and regions shared by rows add 3/80 / regions (the variance of Beta(1, 3)).
TEST(Simulate, HoldoutAndTestHaveThePrevalenceOfThePrior) {
  SimulationOptions options;
  options.tau = 10;
  options.regions = 50'000;
  options.seed = 13;
  const Simulation simulation = simulate(options);
  for (const SimulatedRows* rows : {&simulation.holdout, &simulation.test}) {
    ASSERT_EQ(rows->region.size(), 200'000U);
    ASSERT_EQ(rows->label.size(), 200'000U);
    double positives = 0;
    double expected = 0;
    double variance = 0;
    std::vector<std::int64_t> per_region(simulation.regions.size());
    for (std::size_t row = 0; row < rows->region.size(); ++row) {
      ASSERT_GE(rows->region[row], 0);
      ASSERT_LT(rows->region[row], options.regions);
      ASSERT_LE(rows->label[row], 1);
      const double s = simulation.regions[static_cast<std::size_t>(rows->region[row])].true_positivity;
      positives += rows->label[row];
      expected += s;
      variance += s * (1 - s);
      ++per_region[static_cast<std::size_t>(rows->region[row])];
    }
    EXPECT_NEAR(positives / 2e5, 0.25, kSigmas * std::sqrt(3. / 16 / 2e5 + 3. / 80 / 5e4));
    EXPECT_NEAR(positives, expected, kSigmas * std::sqrt(variance));
    expect_uniform(per_region);
  }
}

// The estimation bias that makes uncertainty useful: at equal scores, undersampled training overstates positivity.
TEST(Simulate, ScoresOverstateThePositivityOfUndersampledNegatives) {
  const std::vector<Region> regions = simulate({}).regions;
  double score = 0;
  double truth = 0;
  for (const Region& region : regions) {
    score += region.score;
    truth += region.true_positivity;
  }
  EXPECT_GT(score, 1.5 * truth);
}

TEST(Simulate, StaysInRangeAtTheEdgesOfItsOptions) {
  for (const double prior : {1e-9, 1e9}) {
    for (const double tau : {1e-9, 1e9}) {
      for (const double tail : {1e-9, 1e9}) {
        SCOPED_TRACE(testing::Message() << prior << ' ' << tau << ' ' << tail);
        SimulationOptions options;
        options.prior_positive = options.model_prior_negative = prior;
        options.prior_negative = options.model_prior_positive = 1e-9;
        options.tau = tau;
        options.evidence_tail = tail;
        options.evidence_scale = tail;
        options.evidence_limit = 1'000'000'000;
        options.regions = 200;
        options.holdout_rows = options.test_rows = 10;
        for (const Region& region : simulate(options).regions) {
          EXPECT_TRUE(region.true_positivity >= 0 && region.true_positivity <= 1);
          EXPECT_TRUE(region.score >= 0 && region.score <= 1);
          EXPECT_FALSE(std::isnan(region.uncertainty));
          EXPECT_GE(region.train_positives, 0);
          EXPECT_GE(region.train_negatives, 0);
          EXPECT_GE(region.dropped_negatives, 0);
          EXPECT_EQ(evidence(region), 1'000'000'000);
        }
      }
    }
  }
}

TEST(Simulate, NamesFieldValueAndRangeOfABadOption) {
  const auto message = [](const std::function<void(SimulationOptions&)>& change) -> std::string {
    SimulationOptions options;
    change(options);
    try {
      (void)simulate(options);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "none";
  };
  using Options = SimulationOptions;
  EXPECT_EQ(message([](Options& o) { o.tau = -1; }), "simulate: tau is -1, must be > 0");
  EXPECT_EQ(message([](Options& o) { o.tau = std::nan(""); }), "simulate: tau is nan, must be > 0");
  EXPECT_EQ(message([](Options& o) { o.tau = 1e-10; }), "simulate: tau is 1e-10, must be 1e-9 to 1e9");
  EXPECT_EQ(message([](Options& o) { o.prior_positive = 0; }), "simulate: prior_positive is 0, must be > 0");
  EXPECT_EQ(message([](Options& o) { o.prior_negative = 2e9; }),
            "simulate: prior_negative is 2e+09, must be 1e-9 to 1e9");
  EXPECT_EQ(message([](Options& o) { o.model_prior_positive = -0.5; }),
            "simulate: model_prior_positive is -0.5, must be > 0");
  EXPECT_EQ(message([](Options& o) { o.model_prior_negative = std::numeric_limits<double>::infinity(); }),
            "simulate: model_prior_negative is inf, must be 1e-9 to 1e9");
  EXPECT_EQ(message([](Options& o) { o.evidence_scale = 0; }), "simulate: evidence_scale is 0, must be > 0");
  EXPECT_EQ(message([](Options& o) { o.evidence_tail = -2; }), "simulate: evidence_tail is -2, must be > 0");
  EXPECT_EQ(message([](Options& o) { o.evidence_limit = -1; }), "simulate: evidence_limit is -1, must be 0 to 1e9");
  EXPECT_EQ(message([](Options& o) { o.evidence_limit = 1'000'000'001; }),
            "simulate: evidence_limit is 1000000001, must be 0 to 1e9");
  EXPECT_EQ(message([](Options& o) { o.regions = 0; }), "simulate: regions is 0, must be 1 to 2^31");
  EXPECT_EQ(message([](Options& o) { o.regions = 2'147'483'649; }),
            "simulate: regions is 2147483649, must be 1 to 2^31");
  EXPECT_EQ(message([](Options& o) { o.holdout_rows = -1; }), "simulate: holdout_rows is -1, must be 0 or more");
  EXPECT_EQ(message([](Options& o) { o.test_rows = -3; }), "simulate: test_rows is -3, must be 0 or more");
}

}  // namespace
}  // namespace limen
