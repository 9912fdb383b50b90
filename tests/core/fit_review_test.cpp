// SPDX-License-Identifier: MIT
#include "limen/fit_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "limen/fit.h"
#include "reference/review_reference.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::make_random_samples;
using test::refusal_of;
using test::SampleTable;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

const Objective kPrecise = max_recall_at_precision({7, 10});

/// In lowest terms, as Rational must be.
Rational ratio(std::int64_t num, std::int64_t den) {
  const std::int64_t divisor = std::gcd(num, den);
  return {num / divisor, den / divisor};
}

Boundary fitted(const Samples& samples, const Objective& objective = kPrecise, const FitOptions& options = {}) {
  FitResult result = fit_boundary(samples, objective, options);
  if (!result.boundary) throw std::runtime_error("infeasible");
  return *result.boundary;
}

SampleBatches batches_of(const Samples& samples, std::size_t size) {
  return [=](const std::function<void(const Samples&)>& visit) {
    for (std::size_t begin = 0; begin < samples.size(); begin += size) {
      const std::size_t rows = std::min(size, samples.size() - begin);
      const auto part = [&](RealSpan column) {
        return column.visit([&](auto values) { return RealSpan(values.subspan(begin, rows)); });
      };
      visit({part(samples.score), part(samples.uncertainty), samples.label.subspan(begin, rows), {}});
    }
  };
}

/// What is said of a review follows from its rule, applied to the same rows.
void check_figures(const ReviewFit& fit, const Samples& samples) {
  ASSERT_TRUE(fit.boundary);
  const Boundary& boundary = *fit.boundary;
  const Review& review = *boundary.review;
  validate(review, boundary.rule);
  std::vector<std::uint8_t> flag(samples.size());
  std::vector<std::uint8_t> send(samples.size());
  decide(boundary.rule, samples.score, samples.uncertainty, flag);
  decide_review(boundary, samples.score, samples.uncertainty, send);
  double rows = 0;
  double positives = 0;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    ASSERT_LE(flag[row] + send[row], 1);
    const double weight = samples.weight.empty() ? 1 : samples.weight[row];
    rows += send[row] * weight;
    positives += send[row] * samples.label[row] * weight;
  }
  // Weights are rounded to units of about 2^-52 of their sum.
  EXPECT_NEAR(review.reviewed, rows, 1e-9 * boundary.holdout.weight);
  EXPECT_NEAR(review.positives, positives, 1e-9 * boundary.holdout.weight);
  EXPECT_TRUE(boundary_from_json(to_json(boundary)) == boundary) << to_json(boundary);
  double level_rows = 0;
  for (std::size_t level = 0; level < fit.flagged.levels.size(); ++level) {
    level_rows += fit.flagged_or_reviewed.levels[level].flagged - fit.flagged.levels[level].flagged;
  }
  EXPECT_NEAR(level_rows, review.reviewed, 1e-9 * boundary.holdout.weight);
}

// Scores 0.9 to 0.1, one level. Flagged at precision 1: 0.9 and 0.8. A tenth of 10 rows more: the next, 0.7, is
// negative and the one after, 0.6, positive: three tenths bring 0.7, 0.6 and, of the two rows at 0.5, none or both.
TEST(FitReview, GoesOnWhereFlaggingStops) {
  const std::vector<double> score = {0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1};
  const std::vector<double> uncertainty(10, 1);
  const std::vector<std::uint8_t> label = {1, 1, 0, 1, 1, 1, 0, 0, 0, 0};
  const Samples samples{std::span(score), std::span(uncertainty), label, {}};
  const Boundary boundary = fitted(samples, max_recall_at_precision({1, 1}), {.method = Method::kSt});
  EXPECT_EQ(boundary.holdout.flagged, 2);
  const auto thresholds = [&](Rational rate) {
    return fit_review(boundary, samples, {.max_rate = rate}).boundary->review->score_thresholds;
  };
  EXPECT_THAT(thresholds({1, 10}), ElementsAre(std::nullopt));
  EXPECT_THAT(thresholds({1, 5}), ElementsAre(Optional(0.6)));
  EXPECT_THAT(thresholds({3, 10}), ElementsAre(Optional(0.6)));
  EXPECT_THAT(thresholds({2, 5}), ElementsAre(Optional(0.5)));
  EXPECT_THAT(thresholds({1, 1}), ElementsAre(Optional(0.5)));
  const ReviewFit fit = fit_review(boundary, samples, {.max_rate = Rational{2, 5}});
  EXPECT_EQ(fit.boundary->rule, boundary.rule);
  EXPECT_EQ(fit.boundary->review->reviewed, 4);
  EXPECT_EQ(fit.boundary->review->positives, 3);
  EXPECT_EQ(fit.flagged_or_reviewed.total.recall(), 1);
}

TEST(FitReview, EqualsTheGridSolverForEveryMethodShapeAndWeights) {
  std::mt19937_64 random(5);
  int reviewed = 0;
  for (const std::string& shape : test::sample_shapes()) {
    for (const Method method : {Method::kSt, Method::kExact, Method::kSmooth, Method::kJoint, Method::kMist}) {
      const SampleTable table = make_random_samples(shape, 300, random);
      const Samples samples = table.samples();
      const FitResult result = fit_boundary(samples, kPrecise, {.method = method});
      if (!result.boundary) continue;
      SCOPED_TRACE(shape + ", " + std::string(to_string(method)));
      for (const ReviewGoal& goal : {ReviewGoal{.max_rate = Rational{1, 10}}, ReviewGoal{.min_recall = Rational{9, 10}},
                                     ReviewGoal{.max_rate = Rational{9, 10}, .min_recall = Rational{3, 5}}}) {
        const ReviewFit fit = fit_review(*result.boundary, samples, goal);
        // Levels can only be reviewed whole.
        if (!fit.boundary && goal.max_rate && goal.min_recall && shape == "equal_scores") continue;
        check_figures(fit, samples);
        EXPECT_EQ(fit.boundary->review->optimal, method != Method::kSmooth || fit.boundary->review->reviewed == 0);
        const Confusion& both = fit.flagged_or_reviewed.total;
        if (goal.max_rate) {
          EXPECT_LE(fit.boundary->review->reviewed, goal.max_rate->to_double() * both.rows);
        }
        if (goal.min_recall) {
          EXPECT_GE(both.recall(), goal.min_recall->to_double());
        }
        reviewed += fit.boundary->review->reviewed > 0 ? 1 : 0;
        // What is flagged stays as it is.
        Boundary without = *fit.boundary;
        without.review.reset();
        EXPECT_EQ(without, *result.boundary);
      }
    }
  }
  EXPECT_GT(reviewed, 80);
}

/// Every pair of thresholds below those that flag, on a table small enough.
TEST(FitReview, EqualsBruteForceOverThresholds) {
  std::mt19937_64 random(29);
  for (int trial = 0; trial < 300; ++trial) {
    const SampleTable table = make_random_samples(trial % 2 == 0 ? "heavy_ties" : "continuous", 24, random);
    const Samples samples = table.samples();
    const FitResult result = fit_boundary(samples, kPrecise, {.levels = 2});
    if (!result.boundary) continue;
    const auto most_rows = static_cast<std::int64_t>(random() % 13);
    const ReviewFit fit = fit_review(*result.boundary, samples, {.max_rate = ratio(most_rows, 24)});
    const Grid grid = count_distinct(samples, result.boundary->rule.uncertainty_edges);
    double most = 0;
    test::for_each_boundary(grid, [&](const std::vector<std::int32_t>& taken) {
      const Rule outer = make_rule(grid, taken);
      double rows = 0;
      double positives = 0;
      const std::vector<std::uint8_t> in = decide(outer, samples.score, samples.uncertainty);
      const std::vector<std::uint8_t> flag = decide(result.boundary->rule, samples.score, samples.uncertainty);
      for (std::size_t row = 0; row < samples.size(); ++row) {
        if (in[row] == 0 || flag[row] != 0) continue;
        ++rows;
        positives += samples.label[row];
      }
      if (rows <= static_cast<double>(most_rows)) most = std::max(most, positives);
    });
    ASSERT_EQ(fit.boundary->review->positives, most) << "trial " << trial;
    check_figures(fit, samples);
  }
}

// Many rows are counted near the last reviewed score only; bins and batches go other ways. All find the same.
TEST(FitReview, ManyRowsBatchesAndCountsGiveTheSame) {
  std::mt19937_64 random(11);
  const std::string many = "continuous";  // in memory rows beyond 2^17 are not sorted
  for (const std::string shape : {"continuous", "single_precision", "heavy_ties"}) {
    const SampleTable table = make_random_samples(shape, shape == many ? 150'000 : 20'000, random);
    const Samples samples = table.samples();
    for (const Method method : {Method::kExact, Method::kSmooth}) {
      const Boundary boundary = fitted(samples, max_recall_at_precision({17, 20}), {.method = method});
      for (const Rational rate : {Rational{0, 1}, Rational{1, 20}, Rational{1, 3}, Rational{1, 1}}) {
        const ReviewGoal goal{.max_rate = rate};
        const ReviewFit rows = fit_review(boundary, samples, goal);
        check_figures(rows, samples);
        EXPECT_EQ(*fit_review(boundary, samples, goal, 1).boundary, *rows.boundary);
        EXPECT_EQ(*fit_review(boundary, batches_of(samples, 7'777), goal, 1 << 18).boundary, *rows.boundary) << shape;
        const Grid grid = count_distinct(samples, boundary.rule.uncertainty_edges);
        const ReviewFit counted = fit_review(boundary, grid, goal);
        EXPECT_EQ(counted.boundary->holdout, rows.boundary->holdout);
        if (method == Method::kExact) {
          EXPECT_EQ(*counted.boundary, *rows.boundary) << shape;
        }
      }
    }
  }
}

TEST(FitReview, SaysWhatIsAttainableWhereRateAndRecallContradict) {
  std::mt19937_64 random(3);
  const SampleTable table = make_random_samples("continuous", 5'000, random);
  const Samples samples = table.samples();
  const Boundary boundary = fitted(samples);
  const ReviewGoal goal{.max_rate = Rational{1, 100}, .min_recall = Rational{99, 100}};
  const ReviewFit fit = fit_review(boundary, samples, goal);
  ASSERT_FALSE(fit.boundary);
  EXPECT_GT(fit.best_recall, boundary.holdout.recall());
  EXPECT_LT(fit.best_recall, 0.99);
  ASSERT_TRUE(fit.least_rate);
  // The rate that is named is enough, and a row less is not.
  const auto rows = static_cast<std::int64_t>(std::llround(*fit.least_rate * 5'000));
  const auto at = [&](std::int64_t most) {
    return fit_review(boundary, samples, {.max_rate = ratio(most, 5'000), .min_recall = goal.min_recall});
  };
  EXPECT_TRUE(at(rows).boundary);
  EXPECT_FALSE(at(rows - 1).boundary);
  const ReviewFit streamed = fit_review(boundary, batches_of(samples, 999), goal, 1'000'000);
  EXPECT_FALSE(streamed.boundary);
  EXPECT_EQ(streamed.best_recall, fit.best_recall);
  EXPECT_FALSE(streamed.least_rate);
}

TEST(FitReview, ACostFindsBothBoundariesAnew) {
  std::mt19937_64 random(8);
  int reviewed = 0;
  for (const std::string& shape : test::sample_shapes()) {
    const SampleTable table = make_random_samples(shape, 400, random);
    const Samples samples = table.samples();
    for (const Method method : {Method::kSt, Method::kExact, Method::kJoint, Method::kAuto}) {
      SCOPED_TRACE(shape + ", " + std::string(to_string(method)));
      const Boundary plain = fitted(samples, min_cost({2, 1}, {5, 1}), {.method = method});
      const ReviewFit fit = fit_review(plain, samples, {.cost = Rational{1, 1}});
      check_figures(fit, samples);
      const Confusion& flagged = fit.flagged.total;
      const Confusion& both = fit.flagged_or_reviewed.total;
      const double cost = 2 * (flagged.flagged - flagged.true_positives) + (both.flagged - flagged.flagged) +
                          5 * (both.positives - both.true_positives);
      // Rounded weights move the cost a little.
      EXPECT_NEAR(fit.boundary->holdout.objective_value, cost, 1e-9 * cost);
      EXPECT_LE(cost, plain.holdout.objective_value * (1 + 1e-9));
      reviewed += fit.boundary->review->reviewed > 0 ? 1 : 0;
      EXPECT_FALSE(fit.boundary->expected);
    }
  }
  EXPECT_GT(reviewed, 40);
}

TEST(FitReview, RefusesWhatItCannotDo) {
  std::mt19937_64 random(8);
  const SampleTable table = make_random_samples("continuous", 400, random);
  const Samples samples = table.samples();
  const Boundary boundary = fitted(samples);
  const auto refusal = [&](const Boundary& with, const ReviewGoal& goal) {
    return refusal_of([&] { (void)fit_review(with, samples, goal); });
  };
  EXPECT_THAT(refusal(boundary, {.cost = Rational{1, 1}}), HasSubstr("needs costs of false positives and negatives"));
  EXPECT_THAT(refusal(fitted(samples, min_cost({1, 1}, {1, 1}), {.method = Method::kSmooth}), {.cost = Rational{1, 1}}),
              HasSubstr("needs method auto, st, exact or joint, not smooth"));
  EXPECT_THAT(refusal(fitted(samples, kPrecise, {.monotone = Direction::kUp}), {.max_rate = Rational{1, 9}}),
              HasSubstr("cannot be made monotone"));
  EXPECT_THAT(refusal_of([&] {
                (void)fit_review(boundary, batches_of(samples, 50), {.min_recall = Rational{1, 2}}, 10'000);
              }),
              HasSubstr("needs all rows in memory"));
  Boundary other = boundary;
  other.holdout.rows += 1;
  EXPECT_THAT(refusal_of([&] {
                (void)fit_review(other, batches_of(samples, 50), {.max_rate = Rational{1, 2}}, 10'000);
              }),
              HasSubstr("not those that the boundary was fitted on"));
  EXPECT_THAT(refusal_of([&] { decide_review(boundary, samples.score, samples.uncertainty, {}); }),
              HasSubstr("fitted without one"));
}

TEST(FitReview, WhereEverythingIsFlaggedNothingIsLeft) {
  std::mt19937_64 random(8);
  const SampleTable table = make_random_samples("heavy_ties", 100, random);
  const Samples samples = table.samples();
  const Boundary boundary = fitted(samples, max_precision_at_recall({1, 1}), {.method = Method::kSt});
  ASSERT_EQ(boundary.holdout.recall(), 1);
  for (const ReviewGoal& goal : {ReviewGoal{.max_rate = Rational{1, 1}}, ReviewGoal{.min_recall = Rational{1, 1}}}) {
    const ReviewFit fit = fit_review(boundary, samples, goal);
    EXPECT_EQ(fit.boundary->review->reviewed, 0);
    check_figures(fit, samples);
  }
  Boundary all = boundary;
  all.rule.score_thresholds = {std::optional(-1.0)};
  const ReviewFit fit = fit_review(all, samples, {.max_rate = Rational{1, 1}});
  EXPECT_THAT(fit.boundary->review->score_thresholds, ElementsAre(std::nullopt));
}

TEST(ReviewInABoundaryFile, RefusesWhatContradicts) {
  std::mt19937_64 random(8);
  const SampleTable table = make_random_samples("continuous", 400, random);
  const Samples samples = table.samples();
  const Boundary good = *fit_review(fitted(samples), samples, {.max_rate = Rational{1, 3}}).boundary;
  ASSERT_GT(good.review->positives, 0);
  EXPECT_EQ(boundary_from_json(to_json(good)), good);
  EXPECT_THAT(to_json(good), HasSubstr("\"max_rate_fraction\": \"1/3\""));
  const auto refusal = [&](const auto& change) {
    Boundary bad = good;
    change(bad);
    return refusal_of([&] { (void)boundary_from_json(to_json(bad)); });
  };
  EXPECT_THAT(refusal([](Boundary& b) { b.review->score_thresholds[0] = *b.rule.score_thresholds[0] + 1; }),
              HasSubstr("from which the level is flagged"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->score_thresholds.pop_back(); }), HasSubstr("do not fit the rule"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->positives = b.review->reviewed + 1; }),
              HasSubstr("more than what is reviewed"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->reviewed = 1e6; }), HasSubstr("more than what is not flagged"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->max_rate = Rational{1, 1000}; }), HasSubstr("above"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->min_recall = Rational{1, 1}; }), HasSubstr("below"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->max_rate = Rational{2, 1}; }), HasSubstr("between 0 and 1"));
  EXPECT_THAT(refusal([](Boundary& b) { b.review->cost = Rational{2, 1}; }), HasSubstr("a cost decides"));
  std::string text = to_json(good);
  const std::size_t at = text.find("\"rate\": ");
  text.replace(at, 8, "\"rate\": 0.9, \"was\": ");
  EXPECT_THAT(refusal_of([&] { (void)boundary_from_json(text); }), HasSubstr("by its counts it is"));
  // A level of which nothing is flagged may be reviewed.
  EXPECT_EQ(refusal([](Boundary& b) { b.rule.score_thresholds[0].reset(); }), "(not refused)");
}

}  // namespace
}  // namespace limen
