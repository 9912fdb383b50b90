// SPDX-License-Identifier: MIT
#include "limen/promise/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "limen/base/label_column.h"
#include "limen/promise/e_process.h"
#include "support/refusal.h"

namespace limen {
namespace {

using test::refusal_of;
using ::testing::HasSubstr;

/// The e-value by its definition: a bet for each odds ratio and each start, all of them kept.
double slow_e_value(const std::vector<int>& bad, double bound) {
  const auto not_started = [](double rows) { return 0.5 / std::sqrt(1 + rows / 10'000); };
  double sum = not_started(static_cast<double>(bad.size()));
  for (const double ratio : BreakDetector::kOddsRatios) {
    const double rate = ratio * bound / (1 - bound + ratio * bound);
    for (std::size_t start = 0; start < bad.size(); ++start) {
      const auto at = static_cast<double>(start);
      double wealth = (not_started(at) - not_started(at + 1) + (start == 0 ? 0.5 : 0)) / BreakDetector::kBets;
      for (std::size_t row = start; row < bad.size(); ++row) {
        wealth *= bad[row] != 0 ? rate / bound : (1 - rate) / (1 - bound);
      }
      sum += wealth;
    }
  }
  return sum;
}

std::vector<double> gains(const std::vector<int>& bad, double bound) {
  std::vector<double> result;
  for (const int one : bad) result.push_back(one - bound);
  return result;
}

std::vector<int> draw(std::mt19937_64& random, std::size_t rows, double rate) {
  std::bernoulli_distribution is_bad(rate);
  std::vector<int> bad;
  while (bad.size() < rows) bad.push_back(is_bad(random) ? 1 : 0);
  return bad;
}

constexpr double kNever = 1e308;

// One row at bound 1/2 that is bad. A bet on odds r times as large multiplies by 2 r / (1 + r): by 1.0291, 1.0566,
// 1.1111, 1.2, 1.3333, 1.5238, 1.75, 1.9048, in the mean 1.36360. Its stake is 0.5 + 0.5 (1 - 1 / sqrt(1.0001)), and
// 0.5 / sqrt(1.0001) has not started.
TEST(BreakDetector, MultipliesTheStakesByHand) {
  BreakDetector detector(0.5);
  EXPECT_EQ(detector.e_value(), 1);
  const std::vector<double> gain = {0.5};
  EXPECT_EQ(detector.add(gain, kNever), 1U);
  double mean = 0;
  for (const double ratio : BreakDetector::kOddsRatios) mean += 2 * ratio / (1 + ratio) / 8;
  EXPECT_NEAR(mean, 1.36360, 1e-5);
  const double waiting = 0.5 / std::sqrt(1.0001);
  EXPECT_NEAR(detector.e_value(), (1 - waiting) * mean + waiting, 1e-12);
}

TEST(BreakDetector, IsTheSumOverAllStarts) {
  std::mt19937_64 random(1);
  for (const double bound : {0.01, 0.1, 0.3, 0.5, 0.9}) {
    for (const double rate : {bound, std::min(1.0, 1.5 * bound)}) {
      const std::vector<int> bad = draw(random, 300, rate);
      BreakDetector detector(bound);
      detector.add(gains(bad, bound), kNever);
      const double expected = slow_e_value(bad, bound);
      EXPECT_NEAR(detector.e_value(), expected, 1e-9 * expected) << bound << " " << rate;
    }
  }
}

TEST(BreakDetector, DoesNotDependOnHowRowsAreCut) {
  std::mt19937_64 random(2);
  const std::vector<double> gain = gains(draw(random, 5000, 0.12), 0.1);
  BreakDetector whole(0.1);
  whole.add(gain, kNever);
  BreakDetector cut(0.1);
  for (std::size_t at = 0; at < gain.size();) {
    const std::size_t size = std::min<std::size_t>(1 + random() % 700, gain.size() - at);
    BreakDetector next(0.1);
    next.restore(cut.state());
    next.add(std::span(gain).subspan(at, size), kNever);
    cut = next;
    at += size;
  }
  EXPECT_EQ(cut.state(), whole.state());
}

TEST(BreakDetector, StopsAtTheRowThatReachesTheLimit) {
  const std::vector<double> gain(1000, 0.9);
  BreakDetector detector(0.1);
  const std::size_t taken = detector.add(gain, 20);
  EXPECT_GE(detector.e_value(), 20);
  EXPECT_EQ(detector.state().rows, static_cast<std::int64_t>(taken));
  BreakDetector before(0.1);
  before.add(std::span(gain).first(taken - 1), 20);
  EXPECT_LT(before.e_value(), 20);
}

// Rows in one block are a bet that starts before the first of them: less than the sum over all starts, equal for one
// row.
TEST(BreakDetector, BlocksAreRowsBetweenStarts) {
  std::mt19937_64 random(3);
  const std::vector<int> bad = draw(random, 200, 0.2);
  BreakDetector rows(0.1), blocks(0.1), block(0.1);
  rows.add(gains(bad, 0.1), kNever);
  for (const int one : bad) blocks.add_block(one, 1);
  block.add_block(std::reduce(bad.begin(), bad.end()), 200);
  block.add_block(0, 0);
  EXPECT_NEAR(blocks.e_value(), rows.e_value(), 1e-9 * rows.e_value());
  EXPECT_EQ(block.state().rows, 200);
  EXPECT_GT(block.e_value(), 1);
}

TEST(BreakDetector, AtABoundOfZeroOneBadRowIsEnoughAndAtOneNothingIs) {
  BreakDetector none(0);
  EXPECT_EQ(none.add(std::vector<double>(1000, 0.0), 20), 1000U);
  EXPECT_NEAR(none.e_value(), 1, 1e-12);
  EXPECT_EQ(none.add(std::vector<double>{0, 1, 0}, 20), 2U);
  EXPECT_GE(none.e_value(), 1e280);
  EXPECT_TRUE(std::isfinite(none.e_value()));
  BreakDetector all(1);
  EXPECT_EQ(all.add(std::vector<double>(1000, 0.0), 20), 1000U);
  EXPECT_NEAR(all.largest(), 1, 1e-12);
  EXPECT_THAT(refusal_of([] { BreakDetector bad(1.5); }), HasSubstr("must be between 0 and 1"));
  EXPECT_THAT(refusal_of([] { BreakDetector bad(std::nan("")); }), HasSubstr("must be between 0 and 1"));
}

TEST(BreakDetector, StaysFiniteHoweverLongItIsBroken) {
  BreakDetector detector(0.001);
  detector.add(std::vector<double>(100'000, 0.999), kNever);
  EXPECT_TRUE(std::isfinite(detector.e_value()));
  detector.add_block(1'000'000, 1'000'000);
  EXPECT_EQ(detector.e_value(), BreakDetector::kLargest);
}

// The claim that everything stands on: at the bound, looked at after every row, below alpha. 400 runs of 20,000 rows
// each; 5% of 400 and three standard errors are 33. bench/monitor.py has the full table.
TEST(BreakDetector, RarelyRaisesAFalseAlarmAtTheBound) {
  for (const double bound : {0.5, 0.3, 0.1, 0.05}) {
    int alarms = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      std::mt19937_64 random(seed + 17);
      BreakDetector detector(bound);
      detector.add(gains(draw(random, 20'000, bound), bound), 20);
      alarms += detector.largest() >= 20 ? 1 : 0;
    }
    EXPECT_LE(alarms, 33) << bound;
  }
}

TEST(BreakDetector, FindsADropOfFivePointsAndItsStart) {
  for (const std::size_t good : {std::size_t{0}, std::size_t{20'000}}) {
    std::vector<double> delays, misses;
    for (unsigned seed = 0; seed < 100; ++seed) {
      std::mt19937_64 random(seed + 5);
      std::vector<int> bad = draw(random, good, 0.08);
      const std::vector<int> after = draw(random, 20'000, 0.15);
      bad.insert(bad.end(), after.begin(), after.end());
      BreakDetector detector(0.1);
      const std::size_t taken = detector.add(gains(bad, 0.1), 20);
      ASSERT_GE(detector.largest(), 20);
      delays.push_back(static_cast<double>(taken) - static_cast<double>(good));
      misses.push_back(std::abs(static_cast<double>(detector.likely_start()) - static_cast<double>(good)));
    }
    std::ranges::sort(delays);
    std::ranges::sort(misses);
    EXPECT_LT(delays[95], 2000) << good;
    EXPECT_LT(misses[50], 200) << good;
  }
}

TEST(LimitsAtAllTimes, HoldTheRateAndShrink) {
  EXPECT_EQ(upper_limit_at_all_times({}, 0.05), 1);
  EXPECT_EQ(lower_limit_at_all_times({}, 0.05), 0);
  EXPECT_EQ(lower_limit_at_all_times({.rows = 100, .weight = 100, .bad = 0}, 0.05), 0);
  double last = 1;
  for (const double rows : {10.0, 100.0, 1000.0, 1e5, 1e7}) {
    const WeightedCounts counts = {.rows = rows, .weight = rows, .bad = 0.1 * rows};
    const double high = upper_limit_at_all_times(counts, 0.025);
    const double low = lower_limit_at_all_times(counts, 0.025);
    EXPECT_LT(low, 0.1);
    EXPECT_GT(high, 0.1);
    EXPECT_LT(high - low, last);
    last = high - low;
    // Never narrower than the interval for one look, 1.96 standard errors either way; at most thrice as wide.
    const double once = 2 * 1.96 * std::sqrt(0.09 / rows);
    EXPECT_GT(last, once) << rows;
    EXPECT_LT(last, (rows < 100 ? 4 : 3) * once) << rows;
  }
}

// Looked at after every 50 of 3,000 rows, with a rate that changes on the way: the mean of the rates so far lies
// inside at all times in all but alpha of the runs, and three standard errors.
TEST(LimitsAtAllTimes, HoldTheMeanOfAChangingRateAtAllTimes) {
  int outside = 0;
  constexpr int kRuns = 300;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    std::mt19937_64 random(seed);
    WeightedCounts counts;
    double rates = 0;
    bool is_inside = true;
    for (int row = 0; row < 3000; ++row) {
      const double rate = row < 500 ? 0.3 : row < 1500 ? 0.05 : 0.2;
      rates += rate;
      counts.rows += 1;
      counts.weight += 1;
      counts.bad += std::bernoulli_distribution(rate)(random) ? 1 : 0;
      if (row % 50 != 0) continue;
      const double mean = rates / counts.rows;
      is_inside =
          is_inside && upper_limit_at_all_times(counts, 0.05) >= mean && lower_limit_at_all_times(counts, 0.05) <= mean;
    }
    outside += is_inside ? 0 : 1;
  }
  EXPECT_LE(outside, 0.1 * kRuns + 3 * std::sqrt(0.09 * kRuns));
}

// --- The monitor

/// Score 0.5 and more is flagged, at 0.8 and more where uncertainty is 0.5 and more; hold-out 20% flagged.
Boundary boundary_of(const Objective& objective) {
  Boundary boundary;
  boundary.rule = {.uncertainty_edges = {0.5}, .score_thresholds = {0.5, 0.8}};
  boundary.objective = objective;
  boundary.holdout = {.rows = 10'000, .weight = 10'000, .positives = 2'500, .flagged = 2'000, .true_positives = 1'800};
  return boundary;
}

const Boundary kPrecision = boundary_of(max_recall_at_precision({9, 10}));

struct Rows {
  std::vector<double> score = {}, uncertainty = {}, weight = {};
  std::vector<std::uint8_t> label = {};
  Column id = {}, time = {};
  bool has_id = false, has_time = false;

  void add(double s, double u, int y) {
    score.push_back(s);
    uncertainty.push_back(u);
    label.push_back(y < 0 ? kMissingLabel : static_cast<std::uint8_t>(y));
  }
  void number_ids(int first = 0) {
    NumberValues ids;
    for (std::size_t row = 0; row < score.size(); ++row) ids.push_back(first + static_cast<double>(row));
    id.values = std::move(ids);
    has_id = true;
  }
  [[nodiscard]] MonitorRows view() const {
    return {.score = std::span(score),
            .uncertainty = std::span(uncertainty),
            .label = label,
            .weight = weight,
            .id = has_id ? &id : nullptr,
            .time = has_time ? &time : nullptr};
  }
  [[nodiscard]] Rows part(std::size_t from, std::size_t size) const {
    Rows rows;
    for (std::size_t row = from; row < from + size; ++row) rows.add(score[row], uncertainty[row], -1);
    rows.label.assign(label.begin() + static_cast<std::ptrdiff_t>(from),
                      label.begin() + static_cast<std::ptrdiff_t>(from + size));
    return rows;
  }
};

/// 20% flagged, of these `precision` positive; of the others 2%. Half of the rows in each level.
Rows draw_rows(std::mt19937_64& random, std::size_t size, double precision, double flag_rate = 0.2,
               double level_share = 0.5) {
  std::uniform_real_distribution<double> uniform;
  Rows rows;
  for (std::size_t row = 0; row < size; ++row) {
    const bool flagged = uniform(random) < flag_rate;
    rows.add(flagged ? 0.9 : 0.1, uniform(random) < level_share ? 0.7 : 0.2,
             uniform(random) < (flagged ? precision : 0.02) ? 1 : 0);
  }
  return rows;
}

TEST(Monitor, CountsByHand) {
  Rows rows;
  rows.add(0.9, 0.1, 1);   // flagged, true
  rows.add(0.6, 0.1, 0);   // flagged, false
  rows.add(0.6, 0.7, 1);   // level 1: not flagged
  rows.add(0.5, 0.2, -1);  // flagged, no label
  rows.add(0.1, 0.2, 0);
  Monitor monitor(kPrecision);
  monitor.update(rows.view());
  const MonitorReport report = monitor.report();
  EXPECT_EQ(report.rows, 5);
  EXPECT_EQ(report.flagged, 3);
  EXPECT_EQ(report.labelled, 4);
  EXPECT_EQ(report.labelled_flagged, 2);
  EXPECT_EQ(report.tested, 2);
  EXPECT_EQ(report.figure, 0.5);
  EXPECT_EQ(report.verdict, Verdict::kNotEnough);
  EXPECT_NEAR(report.e_value, slow_e_value({0, 1}, 0.1), 1e-12);
  EXPECT_GT(report.more_needed.value(), 100);
  EXPECT_EQ(report.constraint, "precision");
}

// The same five rows: of two positives one is flagged; of two negatives one; of five rows three.
TEST(Monitor, TestsTheConstraintOfTheObjective) {
  Rows rows;
  rows.add(0.9, 0.1, 1);
  rows.add(0.6, 0.1, 0);
  rows.add(0.6, 0.7, 1);
  rows.add(0.5, 0.2, -1);
  rows.add(0.1, 0.2, 0);
  const auto report_of = [&](const Objective& objective) {
    Monitor monitor(boundary_of(objective));
    monitor.update(rows.view());
    return monitor.report();
  };
  const MonitorReport recall = report_of(max_precision_at_recall({8, 10}));
  EXPECT_EQ(recall.tested, 2);
  EXPECT_EQ(recall.figure, 0.5);
  EXPECT_NEAR(recall.e_value, std::max(1.0, slow_e_value({0, 1}, 0.2)), 1e-12);
  const MonitorReport fpr = report_of(max_recall_at_false_positive_rate({1, 10}));
  EXPECT_EQ(fpr.tested, 2);
  EXPECT_EQ(fpr.figure, 0.5);
  EXPECT_EQ(fpr.tolerance, 0.05);
  EXPECT_NEAR(fpr.e_value, slow_e_value({1}, 0.1), 1e-12);
  const MonitorReport rate = report_of(max_recall_at_flag_rate({1, 50}));
  EXPECT_EQ(rate.tested, 5);
  EXPECT_EQ(rate.figure, 0.6);
  EXPECT_EQ(rate.tolerance, 0.01);
  EXPECT_NEAR(rate.e_value, slow_e_value({1, 1, 0, 1}, 0.02), 1e-9 * rate.e_value);
}

TEST(Monitor, RefusesObjectivesWithoutABoundAndBadOptions) {
  EXPECT_THAT(refusal_of([] { Monitor bad(boundary_of(min_cost({1, 1}, {5, 1}))); }), HasSubstr("promises nothing"));
  EXPECT_THAT(refusal_of([] { Monitor bad(boundary_of(max_f_beta({1, 1}))); }), HasSubstr("promises nothing"));
  for (const double alpha : {0.0, 1.0, 95.0, -1.0, std::nan("")}) {
    EXPECT_THAT(refusal_of([&] { Monitor bad(kPrecision, {.alpha = alpha}); }), HasSubstr("alpha"));
  }
  EXPECT_THAT(refusal_of([] { Monitor bad(kPrecision, {.tolerance = 0}); }), HasSubstr("tolerance"));
  EXPECT_THAT(refusal_of([] { Monitor bad(kPrecision, {.max_weight = 0}); }), HasSubstr("max_weight"));
  EXPECT_THAT(refusal_of([] { Monitor bad(kPrecision, {.remember = 1}); }), HasSubstr("remember"));
}

TEST(Monitor, RefusesBadRowsAndThenHasCountedNothing) {
  Monitor monitor(kPrecision);
  const std::string before = monitor.to_json();
  const auto refusal = [&](const Rows& rows) { return refusal_of([&] { monitor.update(rows.view()); }); };
  Rows good;
  good.add(0.9, 0.1, 1);
  good.add(0.9, 0.1, 0);
  Rows rows = good;
  rows.score[1] = std::nan("");
  EXPECT_THAT(refusal(rows), HasSubstr("score[1] is NaN"));
  rows = good;
  rows.uncertainty.pop_back();
  EXPECT_THAT(refusal(rows), HasSubstr("uncertainty has 1 values, score has 2"));
  rows = good;
  rows.label[1] = 3;
  EXPECT_THAT(refusal(rows), HasSubstr("row 2"));
  rows = good;
  rows.weight = {1, 1};
  EXPECT_THAT(refusal(rows), HasSubstr("max_weight"));
  rows = good;
  rows.number_ids();
  std::get<NumberValues>(rows.id.values)[1] = std::nan("");
  EXPECT_THAT(refusal(rows), HasSubstr("is missing"));
  EXPECT_EQ(monitor.to_json(), before);

  Monitor weighted(kPrecision, {.max_weight = 2});
  EXPECT_THAT(refusal_of([&] { weighted.update(good.view()); }), HasSubstr("weight has 0 values"));
  for (const double weight : {-1.0, 2.5, std::nan("")}) {
    rows = good;
    rows.weight = {1, weight};
    EXPECT_THAT(refusal_of([&] { weighted.update(rows.view()); }), HasSubstr("0 to max_weight"));
  }
}

TEST(Monitor, HoldsWhenThePrecisionIsSurelyWithinTheTolerance) {
  std::mt19937_64 random(7);
  Monitor monitor(kPrecision);
  EXPECT_EQ(monitor.report().verdict, Verdict::kNotEnough);
  const std::int64_t needed = monitor.report().more_needed.value();
  EXPECT_GT(needed, 300);
  EXPECT_LT(needed, 2000);
  monitor.update(draw_rows(random, 20'000, 0.93).view());
  const MonitorReport report = monitor.report();
  EXPECT_EQ(report.verdict, Verdict::kHolds);
  EXPECT_GE(report.figure_low, 0.85);
  EXPECT_LT(report.figure_low, *report.figure);
  EXPECT_GT(report.figure_high, *report.figure);
  EXPECT_EQ(report.more_needed, std::nullopt);
  EXPECT_EQ(to_string(report.verdict), "holds so far");
}

// As many tested rows as it said, with exactly the bound's share of bad ones, and it holds; one fewer, and it does not.
TEST(Monitor, SaysHowManyMoreRowsItNeeds) {
  Monitor monitor(kPrecision);
  std::int64_t needed = monitor.report().more_needed.value();
  needed += (10 - needed % 10) % 10;
  Rows rows;
  for (int row = 0; row < needed; ++row) rows.add(0.9, 0.1, row % 10 == 5 ? 0 : 1);
  monitor.update(rows.view());
  EXPECT_EQ(monitor.report().verdict, Verdict::kHolds);
  Monitor shorter(kPrecision);
  shorter.update(rows.part(0, static_cast<std::size_t>(needed) - 20).view());
  EXPECT_EQ(shorter.report().verdict, Verdict::kNotEnough);
  EXPECT_LE(shorter.report().more_needed.value(), 21);
}

TEST(Monitor, SaysSinceWhenItIsBrokenAndStaysBroken) {
  std::mt19937_64 random(8);
  Monitor monitor(kPrecision);
  for (int day = 0; day < 40; ++day) {
    Rows rows = draw_rows(random, 2000, day < 20 ? 0.92 : 0.82);
    rows.has_time = true;
    rows.time.values = TextValues{.distinct = {"day " + std::to_string(day)}, .code = std::vector<std::int32_t>(2000)};
    monitor.update(rows.view());
  }
  MonitorReport report = monitor.report();
  ASSERT_EQ(report.verdict, Verdict::kBroken);
  EXPECT_GE(report.e_value, 20);
  EXPECT_LE(report.p_value, 0.05);
  EXPECT_THAT(report.broken->since.time, ::testing::AnyOf("day 18", "day 19", "day 20", "day 21"));
  EXPECT_NEAR(static_cast<double>(report.broken->since.row), 40'000, 4'000);
  EXPECT_GT(report.broken->noticed.row, report.broken->since.row);
  EXPECT_NEAR(report.broken->figure, 0.82, 0.01);
  EXPECT_NEAR(report.broken->figure_before.value(), 0.92, 0.01);
  EXPECT_NEAR(static_cast<double>(report.broken->tested), 8'000, 1'000);
  monitor.update(draw_rows(random, 200'000, 0.99).view());
  report = monitor.report();
  EXPECT_EQ(report.verdict, Verdict::kBroken);
  EXPECT_NEAR(static_cast<double>(report.broken->since.row), 40'000, 4'000);
  EXPECT_EQ(Monitor::from_json(monitor.to_json(), kPrecision).report().verdict, Verdict::kBroken);
}

TEST(Monitor, RowsThatComeAgainWithTheirLabelCountOnce) {
  std::mt19937_64 random(9);
  Rows rows = draw_rows(random, 6000, 0.9);
  rows.number_ids();
  Monitor at_once(kPrecision);
  at_once.update(rows.view());
  Monitor late(kPrecision);
  Rows unlabelled = rows;
  unlabelled.label.assign(6000, kMissingLabel);
  late.update(unlabelled.view());
  EXPECT_EQ(late.report().tested, 0);
  EXPECT_EQ(late.report().rows, 6000);
  late.update(rows.view());
  late.update(rows.view());
  late.update(unlabelled.view());
  const MonitorReport a = at_once.report();
  const MonitorReport b = late.report();
  EXPECT_EQ(b.rows, 6000);
  EXPECT_EQ(b.labelled, 6000);
  EXPECT_EQ(b.flagged, a.flagged);
  EXPECT_EQ(b.tested, a.tested);
  EXPECT_EQ(b.e_value, a.e_value);
  EXPECT_EQ(b.repeated, 12'000);
  EXPECT_EQ(b.flag_rate.rows, 6000);
}

TEST(Monitor, ForgetsTheOldestIdsOnly) {
  Monitor monitor(kPrecision, {.remember = 1000});
  const auto update = [&](int first) {
    Rows rows;
    for (int row = 0; row < 500; ++row) rows.add(0.9, 0.1, 1);
    rows.number_ids(first);
    monitor.update(rows.view());
  };
  for (int first = 0; first < 10'000; first += 500) update(first);
  EXPECT_EQ(monitor.report().rows, 10'000);
  update(9'500);  // remembered
  EXPECT_EQ(monitor.report().rows, 10'000);
  update(0);  // forgotten
  EXPECT_EQ(monitor.report().rows, 10'500);
  EXPECT_LT(monitor.to_json().size(), 40'000U);
}

TEST(Monitor, TextIdsAreKnownByTheirText) {
  Rows rows;
  for (int row = 0; row < 4; ++row) rows.add(0.9, 0.1, 1);
  rows.has_id = true;
  rows.id.values = TextValues{.distinct = {"a", "7", "b"}, .code = {0, 1, 2, 0}};
  Monitor monitor(kPrecision);
  monitor.update(rows.view());
  EXPECT_EQ(monitor.report().rows, 3);
  rows.id.values = NumberValues{7, 8, 9, 10};  // 7 is "7"
  monitor.update(rows.view());
  EXPECT_EQ(monitor.report().rows, 6);
}

TEST(Monitor, TheStateGoesOnWhereItStopped) {
  std::mt19937_64 random(10);
  const Rows rows = draw_rows(random, 30'000, 0.9, 0.3);
  Monitor whole(kPrecision);
  whole.update(rows.view());
  Monitor cut(kPrecision);
  for (std::size_t at = 0; at < rows.score.size();) {
    const std::size_t size = std::min<std::size_t>(random() % 3000, rows.score.size() - at);
    cut = Monitor::from_json(cut.to_json(), kPrecision);
    cut.update(rows.part(at, size).view());
    at += size;
  }
  EXPECT_EQ(cut.to_json(), whole.to_json());
  EXPECT_EQ(Monitor::from_json(cut.to_json(), kPrecision).to_json(), cut.to_json());
}

TEST(Monitor, TheStateStaysSmall) {
  std::mt19937_64 random(11);
  Monitor monitor(kPrecision);
  const Rows rows = draw_rows(random, 50'000, 0.9);
  monitor.update(rows.view());
  const std::size_t size = monitor.to_json().size();
  for (int day = 0; day < 20; ++day) monitor.update(rows.view());
  EXPECT_LT(monitor.to_json().size(), size + 500);
  EXPECT_LT(size, 10'000U);
}

TEST(Monitor, RefusesAStateThatIsDamagedOrOfAnotherBoundary) {
  Monitor monitor(kPrecision);
  Rows rows;
  for (int row = 0; row < 100; ++row) rows.add(0.9, 0.1, row % 10 == 0 ? 0 : 1);
  rows.number_ids();
  monitor.update(rows.view());
  monitor.mark_counted(5);
  const std::string text = monitor.to_json();
  const auto refusal = [](const std::string& state, const Boundary& boundary) {
    return refusal_of([&] { (void)Monitor::from_json(state, boundary); });
  };
  EXPECT_EQ(refusal(text, kPrecision), "(not refused)");
  EXPECT_THAT(refusal(text, boundary_of(max_recall_at_precision({8, 10}))), HasSubstr("another boundary"));
  Boundary moved = kPrecision;
  moved.rule.score_thresholds[0] = 0.4999;
  EXPECT_THAT(refusal(text, moved), HasSubstr("another boundary"));
  Boundary same = kPrecision;  // neither the hold-out nor the names of columns matter
  same.score_column = "p";
  EXPECT_EQ(refusal(text, same), "(not refused)");
  EXPECT_THAT(refusal("", kPrecision), HasSubstr("monitor state"));
  EXPECT_THAT(refusal("{}", kPrecision), HasSubstr("limen-monitor"));
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2), kPrecision), HasSubstr("monitor state"));
  // Any byte that is changed, lost or added is noticed.
  for (std::size_t at = 0; at < text.size(); at += 7) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '1' ? '2' : '1';
    EXPECT_NE(refusal(damaged, kPrecision), "(not refused)") << at;
    damaged.erase(at, 1);
    EXPECT_NE(refusal(damaged, kPrecision), "(not refused)") << at;
  }
  EXPECT_NE(refusal(text + " ", kPrecision), "(not refused)");
}

TEST(Monitor, KnowsTablesByTheirContent) {
  std::mt19937_64 random(13);
  const Rows rows = draw_rows(random, 1000, 0.9);
  const auto fingerprint = [](const std::vector<Rows>& parts) {
    RowsFingerprint all;
    for (const Rows& part : parts) all.add(part.view());
    return all.value();
  };
  const std::uint64_t whole = fingerprint({rows});
  EXPECT_EQ(fingerprint({rows.part(0, 300), rows.part(300, 700)}), whole);
  EXPECT_NE(fingerprint({rows.part(0, 999)}), whole);
  EXPECT_NE(fingerprint({rows.part(300, 700), rows.part(0, 300)}), whole);
  for (const int change : {0, 1, 2, 3}) {
    Rows other = rows;
    if (change == 0) other.label[500] = kMissingLabel;
    if (change == 1) other.score[999] += 1e-12;
    if (change == 2) std::swap(other.score[3], other.uncertainty[3]);
    if (change == 3) other.number_ids();
    EXPECT_NE(fingerprint({other}), whole) << change;
  }
  Monitor monitor(kPrecision);
  EXPECT_FALSE(monitor.has_counted(whole));
  monitor.mark_counted(whole);
  EXPECT_TRUE(Monitor::from_json(monitor.to_json(), kPrecision).has_counted(whole));
  for (std::uint64_t other = 1; other <= 4096; ++other) monitor.mark_counted(other);
  EXPECT_FALSE(monitor.has_counted(whole));  // the oldest is forgotten
}

TEST(Monitor, WithWeightsItBetsOnWeights) {
  // Labels of an audit: one flagged row in two is looked at when its score is high, one in ten when it is low; weights
  // of 2 and 10 make up for it. High rows are right in 97%, low ones in 83%; in all 90%.
  std::uniform_real_distribution<double> uniform;
  int alarms = 0;
  for (const double drop : {0.0, 0.1}) {
    alarms = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
      std::mt19937_64 random(seed);
      Rows rows;
      for (int row = 0; row < 30'000; ++row) {
        const bool high = uniform(random) < 0.5;
        if (uniform(random) >= (high ? 0.5 : 0.1)) continue;
        rows.add(0.9, 0.1, uniform(random) < (high ? 0.97 : 0.83) - drop ? 1 : 0);
        rows.weight.push_back(high ? 2 : 10);
      }
      Monitor monitor(kPrecision, {.max_weight = 10});
      monitor.update(rows.view());
      alarms += monitor.report().verdict == Verdict::kBroken ? 1 : 0;
      if (drop == 0) {
        EXPECT_NEAR(monitor.report().figure.value(), 0.9, 0.02);
        EXPECT_LE(monitor.report().figure_low, 0.9);
        EXPECT_GE(monitor.report().figure_high, 0.9);
      }
    }
    EXPECT_LE(alarms, drop == 0 ? 8 : 60);
    EXPECT_GE(alarms, drop == 0 ? 0 : 60);
  }
  // Equal weights are no weights.
  std::mt19937_64 random(14);
  Rows rows = draw_rows(random, 5000, 0.9);
  Monitor plain(kPrecision);
  plain.update(rows.view());
  rows.weight.assign(5000, 3);
  Monitor weighted(kPrecision, {.max_weight = 3});
  weighted.update(rows.view());
  EXPECT_EQ(weighted.report().e_value, plain.report().e_value);
  EXPECT_NEAR(weighted.report().figure_low, plain.report().figure_low, 1e-9);
}

TEST(Monitor, LabelsThatAreMissingAtRandomChangeNothingButTheTime) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed + 100);
    Rows rows = draw_rows(random, 20'000, 0.9);
    for (std::uint8_t& label : rows.label) {
      if (random() % 10 != 0) label = kMissingLabel;
    }
    Monitor monitor(kPrecision);
    monitor.update(rows.view());
    alarms += monitor.report().verdict == Verdict::kBroken ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(monitor.report().tested), 400, 90);
  }
  EXPECT_LE(alarms, 11);
}

TEST(Monitor, SeesDriftOfTheFlagRateWithoutLabels) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    Monitor monitor(kPrecision);
    Rows rows = draw_rows(random, 20'000, 0.9, 0.2);
    rows.label.clear();
    monitor.update(rows.view());
    alarms += monitor.report().flag_rate.drift ? 1 : 0;
    EXPECT_EQ(monitor.report().verdict, Verdict::kNotEnough);
  }
  EXPECT_LE(alarms, 11);
  for (const double rate : {0.15, 0.25}) {
    std::mt19937_64 random(15);
    Monitor monitor(kPrecision);
    monitor.update(draw_rows(random, 100'000, 0.9, 0.2).view());
    EXPECT_EQ(monitor.report().flag_rate.drift.has_value(), false);
    monitor.update(draw_rows(random, 10'000, 0.9, rate).view());
    const DriftReport report = monitor.report().flag_rate;
    ASSERT_TRUE(report.drift) << rate;
    EXPECT_EQ(report.drift->kind, rate > 0.2 ? 0U : 1U);
    EXPECT_NEAR(static_cast<double>(report.drift->since_row), 100'000, 3'000);
    EXPECT_NEAR(report.drift->share, rate > 0.2 ? 0.25 : 0.85, 0.02);
    EXPECT_NEAR(report.reference_shares[0], 0.2, 1e-12);
    EXPECT_EQ(report.rows, 110'000);
  }
}

TEST(Monitor, SeesDriftOfTheLevelsAgainstTheFirstRowsOrAReference) {
  std::mt19937_64 random(16);
  Monitor monitor(kPrecision);
  monitor.update(draw_rows(random, 9'999, 0.9).view());
  EXPECT_FALSE(monitor.report().levels.has_reference);
  monitor.update(draw_rows(random, 40'001, 0.9).view());
  EXPECT_TRUE(monitor.report().levels.has_reference);
  EXPECT_EQ(monitor.report().levels.reference_rows, 10'000);
  EXPECT_EQ(monitor.report().levels.rows, 40'000);
  EXPECT_FALSE(monitor.report().levels.drift);
  monitor.update(draw_rows(random, 10'000, 0.9, 0.2, 0.6).view());
  const DriftReport report = monitor.report().levels;
  ASSERT_TRUE(report.drift);
  EXPECT_EQ(report.drift->kind, 1U);
  EXPECT_NEAR(static_cast<double>(report.drift->since_row), 50'000, 3'000);

  Monitor referenced(kPrecision);
  const Rows reference = draw_rows(random, 20'000, 0.9, 0.1, 0.3);
  for (const std::size_t from : {0, 10'000}) {
    const Rows part = reference.part(from, 10'000);
    referenced.add_reference(std::span<const double>(part.score), std::span<const double>(part.uncertainty));
  }
  EXPECT_TRUE(referenced.has_reference_table());
  EXPECT_EQ(referenced.report().levels.reference_rows, 20'000);
  EXPECT_NEAR(referenced.report().flag_rate.reference_shares[0], 0.1, 0.01);
  referenced.update(draw_rows(random, 10'000, 0.9, 0.1, 0.3).view());
  EXPECT_FALSE(referenced.report().levels.drift);
  EXPECT_FALSE(referenced.report().flag_rate.drift);
  referenced.update(draw_rows(random, 10'000, 0.9, 0.1, 0.5).view());
  EXPECT_TRUE(referenced.report().levels.drift);
  EXPECT_THAT(refusal_of([&] {
                referenced.add_reference(std::span<const double>(reference.score),
                                         std::span<const double>(reference.uncertainty));
              }),
              HasSubstr("before the first row"));
}

TEST(Monitor, EdgesOfTheBound) {
  Rows rows;
  for (int row = 0; row < 1000; ++row) rows.add(0.9, 0.1, row == 700 ? 0 : 1);
  Monitor one(boundary_of(max_recall_at_precision({1, 1})));
  one.update(rows.part(0, 700).view());
  EXPECT_EQ(one.report().verdict, Verdict::kHolds);
  one.update(rows.part(700, 300).view());
  EXPECT_EQ(one.report().verdict, Verdict::kBroken);
  EXPECT_EQ(one.report().broken->noticed.row, 701);
  EXPECT_EQ(one.report().broken->since.row, 701);
  EXPECT_TRUE(std::isfinite(one.report().e_value));
  Monitor zero(boundary_of(max_recall_at_precision({0, 1})));
  for (std::uint8_t& label : rows.label) label = 0;
  zero.update(rows.view());
  EXPECT_EQ(zero.report().verdict, Verdict::kHolds);
  // Nothing flagged, no rows, all positive, all labels missing.
  Monitor idle(kPrecision);
  idle.update({});
  for (double& score : rows.score) score = 0.1;
  idle.update(rows.view());
  EXPECT_EQ(idle.report().figure, std::nullopt);
  EXPECT_EQ(idle.report().verdict, Verdict::kNotEnough);
  EXPECT_EQ(idle.report().e_value, 1);
  Monitor all(kPrecision);
  for (std::size_t row = 0; row < rows.score.size(); ++row) {
    rows.score[row] = 0.9;
    rows.label[row] = 1;
  }
  all.update(rows.view());
  EXPECT_EQ(all.report().verdict, Verdict::kHolds);
  EXPECT_EQ(all.report().figure, 1);
  EXPECT_GT(all.report().figure_low, 0.97);
}

}  // namespace
}  // namespace limen
