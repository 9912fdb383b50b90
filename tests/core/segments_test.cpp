// SPDX-License-Identifier: MIT
#include "limen/fit/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "limen/base/error.h"
#include "limen/choose/information.h"
#include "limen/count/binning.h"
#include "limen/promise/binomial.h"
#include "limen/solve/segments.h"
#include "reference/brute_force.h"
#include "support/random_samples.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::random_unit;
using test::SampleTable;

/// Texts of rows with their numbers.
TextValues texts_of(const std::vector<std::string>& rows) {
  TextValues texts;
  TextIndex index;
  for (const std::string& row : rows) texts.code.push_back(index.add(row));
  texts.distinct = index.take_texts();
  return texts;
}

// By falling score, label 1 marked *:
//   DE  .9*  .8*  .7   .6*        prefixes (flagged, true positives) 1,1  2,2  3,2  4,3
//   FR  .95  .85  .75* .65        prefixes 1,0  2,0  3,1  4,1
// Precision 3/4 for all together: 4,3 of DE and nothing of FR; one threshold has .8 and above: 4 rows, 2 of them.
struct HandRows {
  std::vector<double> score = {0.9, 0.8, 0.7, 0.6, 0.95, 0.85, 0.75, 0.65};
  std::vector<double> uncertainty = std::vector<double>(8, 0.5);
  std::vector<std::uint8_t> label = {1, 1, 0, 1, 0, 0, 1, 0};
  TextValues segment = texts_of({"DE", "DE", "DE", "DE", "FR", "FR", "FR", "FR"});

  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, {}};
  }
};

TEST(FitSegments, GivesEachValueItsThresholdSoThatAllTogetherAreBest) {
  const HandRows rows;
  const Objective objective = max_recall_at_precision({3, 4});
  const SegmentFit fit = fit_segments(rows.samples(), rows.segment, objective, {.column = "market", .min_rows = 1});
  ASSERT_TRUE(fit.boundary);
  const Segments& segments = *fit.boundary->segments;
  EXPECT_EQ(segments.column, "market");
  EXPECT_FALSE(segments.each);
  ASSERT_EQ(segments.own.size(), 2U);
  EXPECT_EQ(segments.own[0].value, "DE");
  EXPECT_EQ(segments.own[0].rule, (Rule{{}, {0.6}}));
  EXPECT_EQ(segments.own[0].flagged, 4);
  EXPECT_EQ(segments.own[0].true_positives, 3);
  EXPECT_EQ(segments.own[1].rule, (Rule{{}, {std::nullopt}}));
  EXPECT_EQ(segments.own[1].rows, 4);
  EXPECT_EQ(segments.own[1].positives, 1);
  EXPECT_FALSE(segments.pooled);
  EXPECT_TRUE(fit.boundary->rule.score_thresholds.empty()) << "whoever knows no segments must not decide";
  EXPECT_EQ(fit.boundary->holdout.true_positives, 3);
  EXPECT_TRUE(fit.boundary->holdout.optimal);

  std::vector<std::uint8_t> decision(4);
  std::vector<std::int32_t> level(4);
  const std::vector<double> score = {0.6, 0.59, 0.99, 0.99};
  const std::size_t unseen =
      decide(segments, std::span(score), {}, texts_of({"DE", "DE", "FR", "PL"}), decision, level);
  EXPECT_THAT(decision, testing::ElementsAre(1, 0, 0, 0)) << "PL was never seen: never flagged";
  EXPECT_THAT(level, testing::ElementsAre(0, 0, 0, -1));
  EXPECT_EQ(unseen, 1U);
}

TEST(FitSegments, WithEachEverySegmentKeepsTheBoundOrFlagsNothing) {
  const HandRows rows;
  const SegmentFit fit = fit_segments(rows.samples(), rows.segment, max_recall_at_precision({3, 4}),
                                      {.min_rows = 1, .each = true}, {.method = Method::kSt});
  ASSERT_TRUE(fit.boundary);
  const Segments& segments = *fit.boundary->segments;
  EXPECT_EQ(segments.own[0].status, SegmentStatus::kOptimal);
  EXPECT_EQ(segments.own[0].rule, (Rule{{}, {0.6}}));
  EXPECT_EQ(segments.own[1].status, SegmentStatus::kInfeasible) << "FR reaches a precision of 1/3 at best";
  EXPECT_EQ(segments.own[1].rule, (Rule{{}, {std::nullopt}}));

  const SegmentFit none = fit_segments(rows.samples(), rows.segment, max_recall_at_precision({101, 101}),
                                       {.min_rows = 5, .each = true}, {.method = Method::kSt});
  EXPECT_FALSE(none.boundary) << "all rows are in the pool, whose best score is of a negative";
  EXPECT_DOUBLE_EQ(none.best_attainable.value(), 0.6);
  EXPECT_EQ(test::refusal_of([&] {
              (void)fit_segments(rows.samples(), rows.segment, max_f_beta({1, 1}), {.each = true});
            }),
            "fit_segments: the objective (highest F-beta, beta 1) has no bound that each segment could keep");
}

/// Rows of some segments with their own law of the label; ties among scores.
struct RandomRows {
  SampleTable table;
  std::vector<std::string> value;
};

RandomRows make_rows(const std::string& shape, std::size_t rows, std::size_t segments, std::mt19937_64& random) {
  RandomRows made{test::make_random_samples(shape, rows, random), {}};
  for (std::size_t row = 0; row < rows; ++row) {
    // Some segments are rarer than others.
    const auto at = static_cast<std::size_t>(random_unit(random) * random_unit(random) * static_cast<double>(segments));
    made.value.push_back(std::string(1, static_cast<char>('a' + at)));
    if (at % 2 == 1 && random() % 3 == 0) made.table.label[row] = 0;
  }
  made.table.label.front() = 0;
  made.table.label.back() = 1;
  return made;
}

/// The bins of rows, written from the definition: every distinct score of every key, keys in their order.
template <typename KeyOf>
Grid reference_grid(const SampleTable& table, const KeyOf& key_of) {
  std::map<std::size_t, std::map<double, Counts, std::greater<>>> cells;
  std::size_t last = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::size_t key = key_of(row);
    cells[key][table.score[row] + 0.0] += {1, table.label[row]};
    last = std::max(last, key);
  }
  Grid grid;
  for (std::size_t key = 0; key <= last; ++key) {
    if (key > 0) grid.edges.push_back(static_cast<double>(key));
    grid.levels.emplace_back();
    for (const auto& [score, counts] : cells[key]) grid.levels.back().push_back({score, counts});
  }
  return grid;
}

const std::vector<Objective>& objectives() {
  static const std::vector<Objective> all = {max_recall_at_precision({7, 10}),
                                             max_recall_at_precision({9, 10}),
                                             max_precision_at_recall({1, 2}),
                                             max_recall_at_flag_rate({3, 10}),
                                             max_recall_at_false_positive_rate({1, 5}),
                                             min_cost({1, 1}, {2, 1}),
                                             max_f_beta({1, 1})};
  return all;
}

TEST(FitSegments, IsTheBestOfAllBoundariesOnTheCells) {
  int pooled = 0;
  int infeasible = 0;
  int flagged_in_several = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    for (const std::string shape : {"continuous", "heavy_ties"}) {
      std::mt19937_64 random(seed);
      const RandomRows rows = make_rows(shape, 14, 4, random);
      const TextValues segment = texts_of(rows.value);
      const int levels = seed % 2 == 0 ? 1 : 2;
      const Objective& objective = objectives()[seed % objectives().size()];
      SCOPED_TRACE(shape + " " + std::to_string(seed) + " " + describe(objective));
      const SegmentFit fit = fit_segments(rows.table.samples(), segment, objective, {.min_rows = 3},
                                          {.levels = levels, .levels_from = LevelsFrom::kAll});
      // Who stands alone: written again.
      std::map<std::string, std::size_t> count;
      for (const std::string& value : rows.value) ++count[value];
      std::vector<std::pair<std::size_t, std::string>> by_rows;
      for (const auto& [value, size] : count) by_rows.emplace_back(size, value);
      std::sort(by_rows.begin(), by_rows.end());
      std::vector<std::string> own;
      std::size_t in_pool = 0;
      for (const auto& [size, value] : by_rows) {
        if (size < 3) {
          in_pool += size;
        } else {
          own.push_back(value);
        }
      }
      std::sort(own.begin(), own.end());
      pooled += in_pool > 0 ? 1 : 0;
      const auto segment_of = [&](std::size_t row) {
        const auto found = std::find(own.begin(), own.end(), rows.value[row]);
        return static_cast<std::size_t>(found - own.begin());
      };
      // Edges inside: the lower median of the segment's rows is the first level.
      const auto cell_of = [&](std::size_t row) -> std::size_t {
        if (levels == 1 || !fit.boundary) return segment_of(row);
        const Segments& found = *fit.boundary->segments;
        std::size_t cell = 0;
        const std::size_t at = segment_of(row);
        for (std::size_t before = 0; before < at; ++before) cell += found.own[before].rule.score_thresholds.size();
        const Segment& in = at < found.own.size() ? found.own[at] : *found.pooled;
        for (const double edge : in.rule.uncertainty_edges) cell += edge <= rows.table.uncertainty[row] ? 1 : 0;
        return cell;
      };
      const Grid grid = reference_grid(rows.table, cell_of);
      const auto best = test::brute_force(grid, objective);
      infeasible += best ? 0 : 1;
      ASSERT_EQ(fit.boundary.has_value(), best.has_value());
      if (!best) continue;
      EXPECT_TRUE(fit.boundary->holdout.optimal);
      EXPECT_EQ(fit.boundary->holdout.flagged, static_cast<double>(best->flagged.rows));
      EXPECT_EQ(fit.boundary->holdout.true_positives, static_cast<double>(best->flagged.positives));
      const Segments& segments = *fit.boundary->segments;
      ASSERT_EQ(segments.own.size(), own.size());
      EXPECT_EQ(segments.pooled.has_value(), in_pool > 0);
      // Decided row by row: what brute force takes.
      std::vector<std::uint8_t> decision(rows.value.size());
      (void)decide(segments, rows.table.samples().score, rows.table.samples().uncertainty, segment, decision);
      std::vector<int> flagged_of(own.size() + 1, 0);
      for (std::size_t row = 0; row < decision.size(); ++row) {
        const std::size_t cell = cell_of(row);
        const auto taken = static_cast<std::size_t>(best->taken[cell]);
        const bool flagged = taken > 0 && rows.table.score[row] >= grid.levels[cell][taken - 1].threshold;
        EXPECT_EQ(decision[row] != 0, flagged) << row;
        if (flagged) flagged_of[segment_of(row)] = 1;
      }
      flagged_in_several += std::count(flagged_of.begin(), flagged_of.end(), 1) > 1 ? 1 : 0;
      // The counts of the segments, and the file.
      EXPECT_EQ(boundary_from_json(to_json(*fit.boundary)), *fit.boundary);
    }
  }
  EXPECT_GT(pooled, 30);
  EXPECT_GT(infeasible, 0);
  EXPECT_GT(flagged_in_several, 30);
}

TEST(FitSegments, WithEachEverySegmentIsTheBestOfItsOwnAndKeepsTheBoundExactly) {
  int kept = 0;
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const RandomRows rows = make_rows(seed % 2 == 0 ? "continuous" : "heavy_ties", 24, 3, random);
    const Objective objective = max_recall_at_precision({4, 5});
    SCOPED_TRACE(seed);
    const SegmentFit fit = fit_segments(rows.table.samples(), texts_of(rows.value), objective,
                                        {.min_rows = 1, .each = true}, {.method = Method::kSt});
    std::map<std::string, SampleTable> parts;
    for (std::size_t row = 0; row < rows.value.size(); ++row) {
      SampleTable& part = parts[rows.value[row]];
      part.score.push_back(rows.table.score[row]);
      part.label.push_back(rows.table.label[row]);
    }
    double all = 0;
    std::size_t at = 0;
    for (const auto& [value, part] : parts) {
      const auto best = test::brute_force(reference_grid(part, [](std::size_t) { return std::size_t{0}; }), objective);
      if (best) all += static_cast<double>(best->flagged.positives);
      if (!fit.boundary) {
        EXPECT_FALSE(best) << value;
        continue;
      }
      const Segment& segment = fit.boundary->segments->own[at++];
      EXPECT_EQ(segment.value, value);
      EXPECT_EQ(segment.status, best ? SegmentStatus::kOptimal : SegmentStatus::kInfeasible);
      EXPECT_EQ(segment.flagged, best ? static_cast<double>(best->flagged.rows) : 0);
      EXPECT_EQ(segment.true_positives, best ? static_cast<double>(best->flagged.positives) : 0);
      EXPECT_GE(segment.true_positives * 5, segment.flagged * 4) << "the bound, in whole numbers";
      kept += best ? 1 : 0;
      infeasible += best ? 0 : 1;
    }
    if (fit.boundary) {
      EXPECT_EQ(fit.boundary->holdout.true_positives, all);
      EXPECT_TRUE(fit.boundary->holdout.optimal);
      EXPECT_EQ(boundary_from_json(to_json(*fit.boundary)), *fit.boundary);
    }
  }
  EXPECT_GT(kept, 60);
  EXPECT_GT(infeasible, 20);
}

TEST(FitSegments, PoolsRareValuesAndDecidesUnseenOnesLikeThemWhereTheyAreEnough) {
  // 3 rows of a, 1 of b, 2 of c, 6 of d.
  HandRows rows;
  rows.score = {.1, .2, .3, .4, .5, .6, .7, .8, .9, .95, .97, .99};
  rows.uncertainty.assign(12, 0);
  rows.label = {0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1};
  const TextValues segment = texts_of({"d", "d", "d", "d", "d", "d", "a", "a", "a", "c", "c", "b"});
  const auto fit = [&](std::int64_t min_rows) {
    return *fit_segments(rows.samples(), segment, max_recall_at_precision({1, 2}), {.min_rows = min_rows})
                .boundary->segments;
  };
  const auto values = [](const Segments& segments) {
    std::vector<std::string> own;
    for (const Segment& segment_of : segments.own) own.push_back(segment_of.value);
    return own;
  };
  EXPECT_THAT(values(fit(1)), testing::ElementsAre("a", "b", "c", "d"));
  EXPECT_FALSE(fit(1).pooled);
  EXPECT_FALSE(fit(1).unseen_as_pooled);
  const Segments three = fit(3);
  EXPECT_THAT(values(three), testing::ElementsAre("a", "d"));
  EXPECT_THAT(three.pooled_values, testing::ElementsAre("b", "c"));
  EXPECT_EQ(three.pooled->rows, 3);
  EXPECT_TRUE(three.unseen_as_pooled);
  const Segments two = fit(2);
  EXPECT_THAT(values(two), testing::ElementsAre("a", "c", "d"));
  EXPECT_THAT(two.pooled_values, testing::ElementsAre("b"));
  EXPECT_FALSE(two.unseen_as_pooled) << "one row says nothing about others";
  EXPECT_TRUE(fit(100).own.empty()) << "then all rows are in the pool";
  EXPECT_FALSE(fit(100).unseen_as_pooled);
  const std::vector<double> score = {1, -1, 1};
  std::vector<std::uint8_t> decision(3);
  std::vector<std::int32_t> level(3);
  EXPECT_EQ(decide(three, std::span(score), {}, texts_of({"new", "new", "b"}), decision, level), 2U);
  EXPECT_THAT(decision, testing::ElementsAre(1, 0, 1));
  EXPECT_THAT(level, testing::ElementsAre(0, 0, 0));
  EXPECT_EQ(decide(two, std::span(score), {}, texts_of({"new", "new", "b"}), decision, level), 2U);
  EXPECT_THAT(decision, testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(level, testing::ElementsAre(-1, -1, 0));
  EXPECT_EQ(decide(two, {}, {}, {}, {}, {}), 0U) << "no rows";
}

TEST(FitSegments, DoesNotDependOnTheOrderOfRowsAndTexts) {
  std::mt19937_64 random(5);
  RandomRows rows = make_rows("heavy_ties", 300, 5, random);
  const Objective objective = max_recall_at_precision({3, 4});
  const FitOptions options{.levels = 2};
  const auto first =
      fit_segments(rows.table.samples(), texts_of(rows.value), objective, {.min_rows = 20}, options).boundary;
  ASSERT_TRUE(first);
  std::reverse(rows.table.score.begin(), rows.table.score.end());
  std::reverse(rows.table.uncertainty.begin(), rows.table.uncertainty.end());
  std::reverse(rows.table.label.begin(), rows.table.label.end());
  std::reverse(rows.value.begin(), rows.value.end());
  TextValues texts = texts_of(rows.value);
  texts.distinct.emplace_back("no row has it");
  EXPECT_EQ(*fit_segments(rows.table.samples(), texts, objective, {.min_rows = 20}, options).boundary, *first);
}

TEST(FitSegments, CountsWeightsAsTheyAre) {
  std::mt19937_64 random(7);
  const RandomRows rows = make_rows("weighted", 400, 3, random);
  const TextValues segment = texts_of(rows.value);
  for (const bool each : {false, true}) {
    const auto fit =
        fit_segments(rows.table.samples(), segment, max_recall_at_precision({7, 10}), {.min_rows = 30, .each = each});
    ASSERT_TRUE(fit.boundary);
    std::vector<std::uint8_t> decision(rows.value.size());
    (void)decide(*fit.boundary->segments, rows.table.samples().score, rows.table.samples().uncertainty, segment,
                 decision);
    double flagged = 0;
    double positive = 0;
    for (std::size_t row = 0; row < decision.size(); ++row) {
      flagged += decision[row] * rows.table.weight[row];
      positive += decision[row] * rows.table.label[row] * rows.table.weight[row];
    }
    EXPECT_NEAR(fit.boundary->holdout.flagged, flagged, 1e-9 * flagged);
    EXPECT_NEAR(fit.boundary->holdout.true_positives, positive, 1e-9 * flagged);
    EXPECT_GE(positive, 0.7 * flagged * (1 - 1e-12));
    EXPECT_EQ(boundary_from_json(to_json(*fit.boundary)), *fit.boundary);
  }
}

TEST(FitSegments, FitsASegmentOfOneClass) {
  HandRows rows;
  rows.label = {1, 1, 1, 1, 0, 0, 0, 0};
  for (const bool each : {false, true}) {
    const auto fit =
        fit_segments(rows.samples(), rows.segment, max_recall_at_precision({9, 10}), {.min_rows = 1, .each = each});
    ASSERT_TRUE(fit.boundary);
    EXPECT_EQ(fit.boundary->segments->own[0].true_positives, 4);
    EXPECT_EQ(fit.boundary->segments->own[1].flagged, 0);
    EXPECT_TRUE(fit.boundary->holdout.optimal);
  }
}

TEST(FitSegments, RefusesByNameAndValue) {
  const HandRows rows;
  const Objective objective = max_recall_at_precision({3, 4});
  const auto refusal = [&](const SegmentOptions& segments, const FitOptions& options = {}) {
    return test::refusal_of([&] { (void)fit_segments(rows.samples(), rows.segment, objective, segments, options); });
  };
  EXPECT_EQ(refusal({.min_rows = 0}), "fit_segments: min_rows is 0, must be 1 to 2^53");
  EXPECT_EQ(refusal({.column = ""}), "fit_segments: column is empty, must be the name of a column");
  EXPECT_THAT(refusal({}, {.method = Method::kSmooth}),
              testing::HasSubstr("segments need method auto or exact, not smooth"));
  EXPECT_THAT(refusal({}, {.monotone = Direction::kUp}), testing::HasSubstr("monotone"));
  HandRows bad = rows;
  bad.segment.code[3] = TextValues::kMissing;
  const auto refusal_of_rows = [&](const HandRows& of) {
    return test::refusal_of([&] { (void)fit_segments(of.samples(), of.segment, objective); });
  };
  EXPECT_EQ(refusal_of_rows(bad), "fit_segments: segment[3] is missing; every row needs a segment");
  bad.segment.code[3] = 7;
  EXPECT_EQ(refusal_of_rows(bad), "fit_segments: segment[3] has the code 7, must be below 2");
  bad = rows;
  bad.segment.code.pop_back();
  EXPECT_EQ(refusal_of_rows(bad), "fit_segments: segment has 7 rows, label has 8");
  bad = rows;
  bad.label.assign(8, 0);
  EXPECT_EQ(refusal_of_rows(bad), "fit_segments: no row is positive; both classes are needed");
  bad = rows;
  bad.segment.distinct[0].clear();
  EXPECT_EQ(test::refusal_of([&] { (void)fit_segments(bad.samples(), bad.segment, objective, {.min_rows = 1}); }),
            "segments: a value is empty");
  Samples none = rows.samples();
  none.uncertainty = {};
  EXPECT_EQ(test::refusal_of([&] { (void)fit_segments(none, rows.segment, objective, {}, {.levels = 3}); }),
            "fit_segments: 3 levels need an uncertainty");
  // Nothing that knows no segments decides by such a boundary.
  const Boundary boundary = *fit_segments(rows.samples(), rows.segment, objective, {.min_rows = 1}).boundary;
  EXPECT_THAT(test::refusal_of([&] { refuse_segments(boundary, "monitor"); }),
              testing::HasSubstr("monitor: the boundary has segments (column \"segment\")"));
  EXPECT_NE(test::refusal_of([&] { (void)evaluate(boundary.rule, rows.samples()); }), "(not refused)");
}

// ---- Certified ----

/// Scores between 0 and 1; a row of this score and segment is positive with a known probability.
struct Law {
  double low;
  double slope;
  [[nodiscard]] double rate(double score) const { return low + slope * score; }
  /// Of rows at or above a threshold.
  [[nodiscard]] double precision(double threshold) const { return rate((1 + std::clamp(threshold, 0.0, 1.0)) / 2); }
};
constexpr std::array<Law, 3> kLaws = {{{0.1, 0.88}, {0.0, 0.85}, {0.2, 0.78}}};

RandomRows draw_rows(std::size_t rows, std::mt19937_64& random) {
  RandomRows made;
  for (std::size_t row = 0; row < rows; ++row) {
    const double at = random_unit(random);
    const std::size_t segment = at < 0.5 ? 0 : at < 0.85 ? 1 : 2;
    const double score = random_unit(random);
    made.value.push_back(std::string(1, static_cast<char>('a' + segment)));
    made.table.score.push_back(score);
    made.table.label.push_back(random_unit(random) < kLaws[segment].rate(score) ? 1 : 0);
  }
  return made;
}

Samples without_uncertainty(const RandomRows& rows) {
  return {std::span<const double>(rows.table.score), {}, rows.table.label, {}};
}

/// Segments that say nothing.
RandomRows rows_of_one_law(std::size_t rows, std::mt19937_64& random) {
  RandomRows made = draw_rows(rows, random);
  for (std::size_t row = 0; row < rows; ++row) {
    made.table.label[row] = random_unit(random) < kLaws[0].rate(made.table.score[row]) ? 1 : 0;
    made.value[row] = std::string(1, static_cast<char>('a' + random() % 4));
  }
  return made;
}

Grid grid_of_segments(const RandomRows& rows, std::size_t segments) {
  std::vector<double> cell;
  std::vector<double> edges;
  for (const std::string& value : rows.value) cell.push_back(value[0] - 'a');
  for (std::size_t at = 1; at < segments; ++at) edges.push_back(static_cast<double>(at) - 0.5);
  return count_distinct(
      {std::span<const double>(rows.table.score), std::span<const double>(cell), rows.table.label, {}}, edges);
}

TEST(CertifySegments, EachSegmentMissesItsBoundNoMoreOftenThanItsConfidenceSays) {
  constexpr int kRuns = 300;
  constexpr double kConfidence = 0.9;
  const Objective objective = max_recall_at_precision({3, 4});
  std::array<int, 3> certified{};
  std::array<int, 3> missed{};
  for (int run = 0; run < kRuns; ++run) {
    std::mt19937_64 random(static_cast<std::uint64_t>(run));
    const RandomRows rows = draw_rows(1200, random);
    const SegmentFit fit =
        certify_segments(without_uncertainty(rows), texts_of(rows.value), objective, {.min_rows = 50, .each = true},
                         {.confidence = kConfidence, .seed = static_cast<std::uint64_t>(run)});
    if (!fit.boundary) continue;
    EXPECT_FALSE(fit.boundary->guarantee) << "nothing is said of all together";
    ASSERT_EQ(fit.boundary->segments->own.size(), 3U);
    for (std::size_t at = 0; at < 3; ++at) {
      const Segment& segment = fit.boundary->segments->own[at];
      if (segment.status != SegmentStatus::kCertified) continue;
      ++certified[at];
      EXPECT_EQ(segment.guarantee->rows, static_cast<std::int64_t>(segment.rows)) << "one threshold: all are tested";
      missed[at] += kLaws[at].precision(*segment.rule.score_thresholds[0]) < 0.75 ? 1 : 0;
    }
  }
  const double most = kRuns * (1 - kConfidence) + 3 * std::sqrt(kRuns * (1 - kConfidence) * kConfidence);
  EXPECT_GT(certified[0], kRuns / 2);
  EXPECT_GT(certified[2], kRuns / 4);
  for (std::size_t at = 0; at < 3; ++at) EXPECT_LE(missed[at], most) << at;
  EXPECT_GT(missed[0] + missed[1] + missed[2], 5) << "a test that never misses gives too much away";
}

TEST(CertifySegments, AllTogetherMissTheBoundNoMoreOftenThanTheConfidenceSays) {
  constexpr int kRuns = 300;
  constexpr double kConfidence = 0.9;
  const Objective objective = max_recall_at_precision({3, 4});
  constexpr std::array<double, 3> kShares = {0.5, 0.35, 0.15};
  int certified = 0;
  int missed = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::mt19937_64 random(static_cast<std::uint64_t>(1000 + run));
    const RandomRows rows = draw_rows(1200, random);
    const SegmentFit fit = certify_segments(
        without_uncertainty(rows), texts_of(rows.value), objective, {.min_rows = 50},
        {.confidence = kConfidence, .method = Method::kExact, .seed = static_cast<std::uint64_t>(run)});
    if (!fit.boundary) continue;
    ++certified;
    EXPECT_EQ(boundary_from_json(to_json(*fit.boundary)), *fit.boundary);
    double flagged = 0;
    double positives = 0;
    for (std::size_t at = 0; at < 3; ++at) {
      const auto& threshold = fit.boundary->segments->own.at(at).rule.score_thresholds[0];
      if (!threshold) continue;
      const double share = kShares[at] * (1 - std::clamp(*threshold, 0.0, 1.0));
      flagged += share;
      positives += share * kLaws[at].precision(*threshold);
    }
    missed += positives < 0.75 * flagged ? 1 : 0;
  }
  EXPECT_GT(certified, kRuns / 2);
  EXPECT_LE(missed, kRuns * (1 - kConfidence) + 3 * std::sqrt(kRuns * (1 - kConfidence) * kConfidence));
  EXPECT_GT(missed, 2);
}

TEST(CertifySegments, ValuesThatOnlyTestedRowsHaveAreDecidedAsValuesNeverSeen) {
  std::mt19937_64 random(3);
  RandomRows rows = draw_rows(2000, random);
  const CertifyOptions options{.method = Method::kExact, .learning_share = 0.25};
  // The first row that does not learn gets a value of its own.
  const LearningSplit split{0, 0.25};
  std::size_t tested = 0;
  while (split.learns(tested)) ++tested;
  rows.value[tested] = "only tested";
  rows.table.score[tested] = 0.999;
  for (const bool each : {false, true}) {
    const SegmentFit fit = certify_segments(without_uncertainty(rows), texts_of(rows.value),
                                            max_recall_at_precision({7, 10}), {.min_rows = 10, .each = each}, options);
    ASSERT_TRUE(fit.boundary);
    const Segments& segments = *fit.boundary->segments;
    EXPECT_EQ(segments.own.size(), 3U);
    EXPECT_FALSE(segments.pooled);
    std::vector<std::uint8_t> decision(rows.value.size());
    EXPECT_EQ(decide(segments, without_uncertainty(rows).score, {}, texts_of(rows.value), decision), 1U);
    EXPECT_EQ(decision[tested], 0);
    double in_segments = 0;
    for (const Segment& segment : segments.own) in_segments += segment.rows;
    EXPECT_EQ(in_segments, 1999);
    EXPECT_EQ(fit.boundary->holdout.rows, 2000);
    EXPECT_EQ(boundary_from_json(to_json(*fit.boundary)), *fit.boundary);
  }
}

TEST(CertifySegments, ThePoolIsTestedOnRowsThatDidNotSayWhoIsInIt) {
  std::mt19937_64 random(4);
  RandomRows rows = draw_rows(6000, random);
  for (std::size_t row = 0; row < rows.value.size(); ++row) {
    if (row % 3 == 0) rows.value[row] = "rare" + std::to_string(row % 60);
  }
  const SegmentFit fit = certify_segments(without_uncertainty(rows), texts_of(rows.value),
                                          max_recall_at_precision({7, 10}), {.min_rows = 300, .each = true});
  ASSERT_TRUE(fit.boundary);
  const Segments& segments = *fit.boundary->segments;
  ASSERT_TRUE(segments.pooled);
  ASSERT_TRUE(segments.pooled->guarantee);
  EXPECT_EQ(segments.pooled_values.size(), 20U);
  EXPECT_EQ(segments.pooled->rows, 2000);
  EXPECT_EQ(segments.pooled->guarantee->rows + segments.pooled->guarantee->learning_rows, 2000);
  EXPECT_NEAR(static_cast<double>(segments.pooled->guarantee->learning_rows), 500, 80);
  EXPECT_THAT(segments.own[0].guarantee->valid_for, testing::HasSubstr("of this segment alone"));
}

// ---- The choice ----

TEST(TestCategories, FindsNothingInCategoriesThatAreDrawnByLot) {
  int below = 0;
  constexpr int kRuns = 60;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    std::mt19937_64 random(run);
    const RandomRows rows = rows_of_one_law(800, random);
    const Information found = test_categories(grid_of_segments(rows, 4), 800, run);
    EXPECT_TRUE(found.testable);
    below += found.p() < 0.1 ? 1 : 0;
  }
  // Binomial of 60 and at most 0.1: above 14 with a probability below 0.1%.
  EXPECT_LE(below, 14);
  std::mt19937_64 random(1);
  EXPECT_LT(test_categories(grid_of_segments(draw_rows(800, random), 3), 800).p(), 0.01);
  EXPECT_FALSE(test_categories(grid_of_segments(draw_rows(30, random), 3), 30).testable) << "too few rows";
}

TEST(FitSegments, AutoTakesSegmentsThatTellAndLeavesThoseThatDoNot) {
  std::mt19937_64 random(11);
  const Objective objective = max_recall_at_precision({3, 4});
  const FitOptions options{.method = Method::kAuto};
  const RandomRows rows = draw_rows(8000, random);
  const SegmentFit found =
      fit_segments(without_uncertainty(rows), texts_of(rows.value), objective, {.min_rows = 100}, options);
  ASSERT_TRUE(found.boundary);
  ASSERT_TRUE(found.boundary->segments);
  EXPECT_LT(found.boundary->chosen_by->segment_p.value(), 0.01);
  EXPECT_TRUE(found.boundary->chosen_by->candidates.back().segments);
  EXPECT_EQ(
      *found.boundary->segments,
      *fit_segments(without_uncertainty(rows), texts_of(rows.value), objective, {.min_rows = 100}).boundary->segments)
      << "what is chosen is what exact fits";
  ASSERT_TRUE(found.boundary->expected);
  EXPECT_LT(found.boundary->expected->recall_low, found.boundary->holdout.recall());
  const RandomRows noise = rows_of_one_law(8000, random);
  const SegmentFit left =
      fit_segments(without_uncertainty(noise), texts_of(noise.value), objective, {.min_rows = 100}, options);
  ASSERT_TRUE(left.boundary);
  EXPECT_FALSE(left.boundary->segments);
  EXPECT_EQ(left.boundary->method, Method::kSt);
  EXPECT_THAT(left.boundary->chosen_by->why, testing::StartsWith("segments tell nothing"));
  EXPECT_EQ(boundary_from_json(to_json(*left.boundary)), *left.boundary);
}

// ---- The file ----

TEST(SegmentFile, IsRefusedWhenItContradictsItself) {
  const HandRows rows;
  const Boundary good = *fit_segments(rows.samples(), rows.segment, max_recall_at_precision({3, 4}),
                                      {.min_rows = 1, .each = true}, {.method = Method::kSt})
                             .boundary;
  const std::string text = to_json(good);
  EXPECT_THAT(text, testing::HasSubstr("\"version\": 2"));
  const auto refusal_with = [&](const std::string& what, const std::string& in_place) {
    std::string changed = text;
    const auto at = changed.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    changed.replace(at, what.size(), in_place);
    return test::refusal_of([&] { (void)boundary_from_json(changed); });
  };
  EXPECT_THAT(refusal_with("\"version\": 2", "\"version\": 1"), testing::HasSubstr("has version 1 and segments"));
  EXPECT_THAT(refusal_with("\"segment\": {", "\"segmant\": {"), testing::HasSubstr("no \"rule.segment\""));
  EXPECT_THAT(refusal_with("\"value\": \"FR\"", "\"value\": \"DE\""), testing::HasSubstr("\"DE\" is there twice"));
  EXPECT_THAT(refusal_with("\"value\": \"FR\"", "\"value\": \"AA\""), testing::HasSubstr("must rise"));
  EXPECT_THAT(refusal_with("\"value\": \"FR\"", "\"value\": \"\""), testing::HasSubstr("a value is empty"));
  EXPECT_THAT(refusal_with("\"unseen\": \"never flagged\"", "\"unseen\": \"as pooled\""),
              testing::HasSubstr("there is no pool"));
  EXPECT_THAT(refusal_with("\"unseen\": \"never flagged\"", "\"unseen\": \"flagged\""),
              testing::HasSubstr("\"rule.segment.unseen\" is \"flagged\""));
  EXPECT_THAT(refusal_with("\"status\": \"optimal\"", "\"status\": \"fine\""), testing::HasSubstr("\"fine\""));
  EXPECT_THAT(refusal_with("\"status\": \"optimal\"", "\"status\": \"certified\""), testing::HasSubstr("contradict"));
  EXPECT_THAT(refusal_with("\"status\": \"optimal\"", "\"status\": \"infeasible\""), testing::HasSubstr("flagged"));
  EXPECT_THAT(refusal_with("\"method\": \"st\"", "\"method\": \"auto\""), testing::HasSubstr("is auto"));
  EXPECT_THAT(refusal_with("\"true_positives\": 3", "\"true_positives\": 5"), testing::HasSubstr("cannot be"));
  EXPECT_THAT(refusal_with("\"true_positives\": 3", "\"true_positives\": 2"),
              testing::HasSubstr("2 true positives in all"));
  EXPECT_THAT(refusal_with("\"uncertainty_edges\": []", "\"uncertainty_edges\": [1]"),
              testing::HasSubstr("segment \"DE\": 1 uncertainty edges need 2"));
  EXPECT_THAT(refusal_with("\"levels\": 2", "\"levels\": 3"), testing::HasSubstr("binning.levels"));
  EXPECT_THAT(refusal_with("\"column\": \"segment\"", "\"column\": \"\""), testing::HasSubstr("column has no name"));
  EXPECT_EQ(boundary_from_json(text), good);
}

TEST(SegmentFile, RefusesToWriteAValueThatWouldNotReadBack) {
  HandRows rows;
  rows.segment.distinct[1] = "\xff\xfe";
  const Boundary boundary =
      *fit_segments(rows.samples(), rows.segment, max_recall_at_precision({3, 4}), {.min_rows = 1}).boundary;
  EXPECT_EQ(test::refusal_of([&] { (void)to_json(boundary); }), "segments: the value \"\\xff\\xfe\" is not UTF-8");
}

}  // namespace
}  // namespace limen
