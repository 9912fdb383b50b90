// SPDX-License-Identifier: MIT
#include "limen/solve/near_optimum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "limen/base/error.h"
#include "limen/count/binning.h"
#include "limen/fit.h"
#include "limen/solve/boundary.h"
#include "limen/solve/solve.h"

namespace limen {
namespace {

template <typename Real>
struct Rows {
  std::vector<Real> score;
  std::vector<Real> uncertainty;
  std::vector<std::uint8_t> label;
  [[nodiscard]] Samples samples() const {
    return {std::span<const Real>(score), std::span<const Real>(uncertainty), label, {}};
  }
};

const std::vector<std::string>& row_shapes() {
  static const std::vector<std::string> shapes = {"uniform",   "near_one",  "near_zero", "margins",   "few_values",
                                                  "one_value", "clustered", "noise",     "with_zeros"};
  return shapes;
}

template <typename Real>
Rows<Real> make_rows(const std::string& shape, std::size_t size, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  Rows<Real> rows;
  for (std::size_t row = 0; row < size; ++row) {
    const double rate = std::pow(uniform(random), 3);
    double score = rate;
    if (shape == "near_one") score = 1 - std::pow(1 - rate, 8) * 1e-3;
    if (shape == "near_zero") score = std::exp(-40 * (1 - rate));
    if (shape == "margins") score = 10 * (rate - 0.5) + normal(random) * 0.1;
    if (shape == "few_values") score = std::floor(rate * 12) / 12;
    if (shape == "one_value") score = 0.25;
    if (shape == "clustered") score = uniform(random) < 0.7 ? 0.5 : rate;
    if (shape == "noise") score = uniform(random);
    if (shape == "with_zeros") score = row % 100 == 0 ? 0 : rate;  // the range of keys is huge
    const double spread = shape == "few_values" ? std::floor(3 * uniform(random)) : uniform(random);
    rows.score.push_back(static_cast<Real>(score));
    rows.uncertainty.push_back(static_cast<Real>(spread));
    rows.label.push_back(uniform(random) < rate * (1 - 0.3 * spread) ? 1 : 0);
  }
  return rows;
}

/// The rows in batches of uneven sizes.
template <typename Real>
SampleBatches batches_of(const Rows<Real>& rows, std::size_t batch) {
  return [&rows, batch](const std::function<void(const Samples&)>& visit) {
    for (std::size_t begin = 0; begin < rows.label.size();) {
      const std::size_t size = std::min(batch + begin % 7, rows.label.size() - begin);
      visit({std::span<const Real>(rows.score).subspan(begin, size),
             std::span<const Real>(rows.uncertainty).subspan(begin, size),
             std::span<const std::uint8_t>(rows.label).subspan(begin, size),
             {}});
      begin += size;
    }
  };
}

/// Few rows in memory are sorted at once; in batches they are always counted first.
template <typename Real>
void check_all_shapes(std::size_t size, int instances, std::uint64_t seed, int smaller_grids) {
  std::mt19937_64 random(seed);
  int selected_grids = 0;
  int smaller = 0;
  for (const std::string& shape : row_shapes()) {
    for (int instance = 0; instance < instances; ++instance) {
      const Rows<Real> rows = make_rows<Real>(shape, size, random);
      const Samples samples = rows.samples();
      const int num_levels = 1 + static_cast<int>(random() % 11);
      const std::vector<double> edges = uncertainty_edges(samples.uncertainty, num_levels);
      const Grid distinct = count_distinct(samples, edges);
      const Grid all_in_one = count_distinct(samples, {});
      const SampleBatches batches = batches_of(rows, 777);
      const BatchOverview overview = summarize_batches(batches, num_levels);
      ASSERT_EQ(overview.edges, edges);
      const bool in_memory = size >= 130'000;
      std::vector<Objective> objectives = {max_recall_at_precision({1, 2}), max_recall_at_flag_rate({1, 10}),
                                           max_precision_at_recall({7, 10}), max_f_beta({1, 1})};
      if (!in_memory) {
        objectives.insert(objectives.end(), {max_recall_at_precision({4, 5}), max_recall_at_precision({0, 1}),
                                             max_recall_at_false_positive_rate({1, 50}), min_cost({1, 1}, {2, 1}),
                                             max_precision_at_recall({1, 10}), max_precision_at_recall({1, 1}),
                                             max_f_beta({1, 3}), max_f_beta({500, 7})});
      }
      for (const Objective& objective : objectives) {
        SCOPED_TRACE(shape + " " + std::to_string(instance) + ", " + std::to_string(num_levels) + " levels, " +
                     describe(objective));
        const auto selected = in_memory ? count_near_optimum(samples, validate(samples), edges, objective)
                                        : count_near_optimum(batches, overview, objective);
        const Solution expected = solve_exact({distinct, objective});
        ASSERT_TRUE(selected);
        ++selected_grids;
        EXPECT_EQ(total_counts(*selected), total_counts(distinct));
        const Solution found = solve_exact({*selected, objective});
        ASSERT_EQ(found.flagged, expected.flagged);
        ASSERT_EQ(found.status, expected.status);
        ASSERT_EQ(make_rule(*selected, found.taken), make_rule(distinct, expected.taken));
        // Beside a single threshold, from the same passes: the same grid, and the best threshold.
        const auto both = in_memory ? count_near_optimum_and_single(samples, validate(samples), edges, objective)
                                    : count_near_optimum_and_single(batches, overview, objective);
        ASSERT_TRUE(both);
        const Solution beside = solve_exact({both->boundary, objective});
        ASSERT_EQ(make_rule(both->boundary, beside.taken), make_rule(distinct, expected.taken));
        const Solution single = solve_st({both->single, objective});
        const Solution expected_single = solve_st({all_in_one, objective});
        ASSERT_EQ(single.flagged, expected_single.flagged);
        ASSERT_EQ(single.status, expected_single.status);
        ASSERT_EQ(make_rule(both->single, single.taken), make_rule(all_in_one, expected_single.taken));
        std::size_t selected_bins = 0;
        std::size_t distinct_bins = 0;
        for (const auto& level : selected->levels) selected_bins += level.size();
        for (const auto& level : distinct.levels) distinct_bins += level.size();
        EXPECT_LE(selected_bins, distinct_bins);
        smaller += selected_bins < distinct_bins ? 1 : 0;
      }
    }
  }
  EXPECT_GT(selected_grids, instances * 15);
  EXPECT_GT(smaller, smaller_grids);
}

// The release build runs all of them.
#ifdef __SANITIZE_ADDRESS__
constexpr int kInstances = 2;
constexpr int kInstancesOfFewRows = 6;
#else
constexpr int kInstances = 5;
constexpr int kInstancesOfFewRows = 60;
#endif
TEST(CountNearOptimum, GivesTheSameBoundaryAsEveryDistinctScoreInFloat) {
  check_all_shapes<float>(20'000, kInstances, 1, 10 * kInstances);
}
TEST(CountNearOptimum, GivesTheSameBoundaryAsEveryDistinctScoreInDouble) {
  check_all_shapes<double>(20'000, kInstances, 2, 10 * kInstances);
}
TEST(CountNearOptimum, GivesTheSameBoundaryOnAFewRows) {
  check_all_shapes<double>(60, kInstancesOfFewRows, 3, kInstancesOfFewRows * 5 / 3);
}
TEST(CountNearOptimum, GivesTheSameBoundaryOnAFewRowsInFloat) {
  check_all_shapes<float>(200, kInstancesOfFewRows, 4, kInstancesOfFewRows * 5 / 3);
}

template <typename Real>
void check_batches(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const std::string& shape : row_shapes()) {
    const Rows<Real> rows = make_rows<Real>(shape, size, random);
    for (const int levels : {1, 3, 11}) {
      for (const Method method : {Method::kExact, Method::kSt}) {
        SCOPED_TRACE(shape + ", " + std::to_string(levels) + " levels, " + std::string(to_string(method)));
        FitOptions options;
        options.method = method;
        options.levels = levels;
        const Objective objective = max_recall_at_precision({3, 5});
        const FitResult whole = fit_boundary(rows.samples(), objective, options);
        const FitResult streamed = fit_boundary(batches_of(rows, 777), objective, options);
        ASSERT_EQ(whole.boundary.has_value(), streamed.boundary.has_value());
        if (!whole.boundary) continue;
        EXPECT_EQ(to_json(*whole.boundary), to_json(*streamed.boundary));
        if (method == Method::kSt) continue;
        const FitBesideSingle beside = fit_beside_single(batches_of(rows, 777), objective, options);
        EXPECT_EQ(beside.fit.boundary, whole.boundary);
        EXPECT_EQ(beside.single.boundary, fit_boundary(rows.samples(), objective, {.method = Method::kSt}).boundary);
      }
    }
  }
}

TEST(CountNearOptimum, GivesTheSameBoundaryOnManyRowsInMemory) {
  check_all_shapes<float>(140'000, 1, 5, 10);
  check_all_shapes<double>(140'000, 1, 6, 10);
}

// With room for a thousand rows the open ranges are split again and again before any row is kept.
TEST(CountNearOptimum, GivesTheSameBoundaryInLittleMemory) {
  std::mt19937_64 random(7);
  for (const std::string& shape : row_shapes()) {
    SCOPED_TRACE(shape);
    const Rows<double> rows = make_rows<double>(shape, 30'000, random);
    const SampleBatches batches = batches_of(rows, 777);
    const BatchOverview overview = summarize_batches(batches, 5, 1000);
    ASSERT_EQ(overview.edges, uncertainty_edges(rows.samples().uncertainty, 5));
    const Grid distinct = count_distinct(rows.samples(), overview.edges);
    for (const Objective& objective : {max_recall_at_precision({1, 2}), max_recall_at_flag_rate({1, 10})}) {
      const Grid near = count_near_optimum(batches, overview, objective, 1000).value();
      const Solution expected = solve_exact({distinct, objective});
      const Solution found = solve_exact({near, objective});
      ASSERT_EQ(found.flagged, expected.flagged);
      ASSERT_EQ(make_rule(near, found.taken), make_rule(distinct, expected.taken));
    }
  }
}

TEST(FitBoundaryInBatches, GivesTheSameFileAsInMemoryInFloat) { check_batches<float>(20'000, 5); }
TEST(FitBoundaryInBatches, GivesTheSameFileAsInMemoryInDouble) { check_batches<double>(20'000, 6); }
TEST(FitBoundaryInBatches, GivesTheSameFileAsInMemoryOnFewRows) { check_batches<double>(50, 7); }

/// Enough rows for counters instead of sorts, in the order that is asked for.
Rows<double> many_rows(const std::string& order) {
  std::mt19937_64 random(8);
  Rows<double> rows = make_rows<double>("uniform", 400'000, random);
  if (order == "by_uncertainty") std::sort(rows.uncertainty.begin(), rows.uncertainty.end());
  if (order == "by_score") std::sort(rows.score.begin(), rows.score.end());
  if (order == "narrow") {
    for (double& value : rows.uncertainty) value = 1000 + value * 1e-9;
  }
  if (order == "repeated") {
    for (double& value : rows.uncertainty) value = std::floor(value * 40) - 20;
  }
  return rows;
}

TEST(FitBoundaryInBatches, GivesTheSameFileForManyRowsInAnyOrder) {
  for (const std::string order : {"shuffled", "by_uncertainty", "by_score", "narrow", "repeated"}) {
    SCOPED_TRACE(order);
    const Rows<double> rows = many_rows(order);
    FitOptions options;
    options.levels = 7;
    const Objective objective = max_recall_at_precision({3, 5});
    // Quantiles by a full sort.
    std::vector<double> sorted = rows.uncertainty;
    std::sort(sorted.begin(), sorted.end());
    const FitResult whole = fit_boundary(rows.samples(), objective, options);
    const auto& edges = whole.boundary->rule.uncertainty_edges;
    ASSERT_EQ(edges.size(), 6U);
    if (order != "repeated" && order != "narrow") {
      for (std::size_t level = 1; level < 7; ++level) {
        EXPECT_LE(edges[level - 1], sorted[sorted.size() * level / 7]);
        EXPECT_GT(edges[level - 1], sorted[sorted.size() * level / 7 - 1]);
      }
    }
    const Solution expected = solve_exact({count_distinct(rows.samples(), edges), objective});
    EXPECT_EQ(static_cast<double>(expected.flagged.positives), whole.boundary->holdout.true_positives);
    const FitResult streamed = fit_boundary(batches_of(rows, 10'000), objective, options);
    EXPECT_EQ(to_json(*whole.boundary), to_json(*streamed.boundary));
    const FitBesideSingle beside = fit_beside_single(batches_of(rows, 10'000), objective, options);
    EXPECT_EQ(beside.fit.boundary, whole.boundary);
    const Grid all_in_one = count_distinct(rows.samples(), {});
    const Solution threshold = solve_st({all_in_one, objective});
    EXPECT_EQ(beside.single.solution.status, threshold.status);
    if (threshold.status == SolveStatus::kInfeasible) continue;
    ASSERT_TRUE(beside.single.boundary);
    EXPECT_EQ(beside.single.boundary->rule, make_rule(all_in_one, threshold.taken));
  }
}

// Uncertainties are counted, and those near the quantiles kept; scores counted; scores near the optimum collected.
// Where the first rows mislead, uncertainties are collected in a pass of their own, and equal ones hide the neighbours
// of an edge, which takes another.
TEST(FitBoundaryInBatches, NeedsThreePassesUnlessTheFirstRowsMislead) {
  for (const auto& [order, most] : {std::pair("shuffled", 3), std::pair("by_uncertainty", 4), std::pair("by_score", 3),
                                    std::pair("narrow", 4), std::pair("repeated", 4)}) {
    const Rows<double> rows = many_rows(order);
    int passes = 0;
    const SampleBatches counted = [&, batches = batches_of(rows, 10'000)](const auto& visit) {
      ++passes;
      batches(visit);
    };
    FitOptions options;
    options.levels = 7;
    (void)fit_boundary(counted, max_recall_at_precision({3, 5}), options);
    EXPECT_LE(passes, most) << order;
    passes = 0;
    (void)fit_beside_single(counted, max_recall_at_precision({3, 5}), options);
    EXPECT_LE(passes, most) << order << ", beside a single threshold";
  }
}

TEST(FitBoundaryInBatches, RefusesWhatNeedsAllRowsAtOnce) {
  std::mt19937_64 random(1);
  const Rows<double> rows = make_rows<double>("uniform", 100, random);
  const SampleBatches batches = batches_of(rows, 10);
  FitOptions options;
  options.method = Method::kMist;
  EXPECT_THROW((void)fit_boundary(batches, max_recall_at_precision({1, 2}), options), InvalidInput);
  EXPECT_THROW((void)fit_boundary(batches, max_precision_at_recall({0, 1})), InvalidInput);
  EXPECT_EQ(fit_boundary(batches, max_f_beta({1, 1})).boundary,
            fit_boundary(rows.samples(), max_f_beta({1, 1})).boundary);
}

/// Rows that are other ones from some pass on, as those of a file that is written over.
SampleBatches changing_batches(const Rows<double>& first, const Rows<double>& then, int change_at, int& passes) {
  passes = 0;
  return [&first, &then, change_at, &passes](const std::function<void(const Samples&)>& visit) {
    batches_of(passes++ < change_at ? first : then, 5'000)(visit);
  };
}

// Rows that changed between two passes were counted out of the range of the counters: memory was corrupted, or the
// figures fitted neither table.
TEST(FitBoundaryInBatches, RefusesRowsThatChangeBetweenPasses) {
  std::mt19937_64 random(11);
  // By rising uncertainty, so that the first rows mislead and a fourth pass is needed.
  Rows<double> first = make_rows<double>("uniform", 140'000, random);
  std::sort(first.uncertainty.begin(), first.uncertainty.end());
  const std::vector<std::pair<std::string, std::function<void(Rows<double>&)>>> changes = {
      {"larger scores",
       [](Rows<double>& rows) {
         for (double& score : rows.score) score = 1000 * score + 5;
       }},
      {"smaller scores",
       [](Rows<double>& rows) {
         for (double& score : rows.score) score = -score - 1;
       }},
      {"one score", [](Rows<double>& rows) { rows.score[17'000] = std::nextafter(rows.score[17'000], 2.0); }},
      {"one label", [](Rows<double>& rows) { rows.label[3] ^= 1; }},
      {"two labels",
       [](Rows<double>& rows) {
         std::swap(*std::find(rows.label.begin(), rows.label.end(), 0),
                   *std::find(rows.label.begin(), rows.label.end(), 1));
       }},
      {"one uncertainty", [](Rows<double>& rows) { rows.uncertainty[0] = 77; }},
      {"a row more",
       [](Rows<double>& rows) {
         rows.score.push_back(2);
         rows.uncertainty.push_back(2);
         rows.label.push_back(0);
       }},
      {"a row less",
       [](Rows<double>& rows) {
         rows.score.pop_back();
         rows.uncertainty.pop_back();
         rows.label.pop_back();
       }},
      {"no rows", [](Rows<double>& rows) { rows = {}; }},
      {"many more rows",
       [](Rows<double>& rows) {
         for (int time = 0; time < 3; ++time) {
           rows.score.insert(rows.score.end(), rows.score.begin(), rows.score.begin() + 20'000);
           rows.uncertainty.insert(rows.uncertainty.end(), rows.uncertainty.begin(), rows.uncertainty.begin() + 20'000);
           rows.label.insert(rows.label.end(), rows.label.begin(), rows.label.begin() + 20'000);
         }
       }},
      {"not a number", [](Rows<double>& rows) { rows.score[100] = std::nan(""); }},
  };
  for (const auto& [name, change] : changes) {
    Rows<double> then = first;
    change(then);
    int passes = 0;
    FitOptions options;
    options.levels = 5;
    const Objective objective = max_recall_at_precision({3, 5});
    (void)fit_boundary(changing_batches(first, then, 1000, passes), objective, options);
    const int needed = passes;
    ASSERT_GE(needed, 4);
    for (int change_at = 1; change_at < needed; ++change_at) {
      SCOPED_TRACE(name + " in pass " + std::to_string(change_at + 1));
      EXPECT_THROW((void)fit_boundary(changing_batches(first, then, change_at, passes), objective, options),
                   InvalidInput);
      EXPECT_THROW((void)fit_beside_single(changing_batches(first, then, change_at, passes), objective, options),
                   InvalidInput);
    }
  }
}

TEST(CountNearOptimum, LeavesWeightsAndWhatNoKnapsackBoundsToTheSort) {
  std::mt19937_64 random(1);
  const Rows<float> rows = make_rows<float>("uniform", 100, random);
  Samples samples = rows.samples();
  EXPECT_FALSE(count_near_optimum(samples, validate(samples), {}, max_precision_at_recall({0, 1})));
  EXPECT_FALSE(count_near_optimum(samples, validate(samples), {}, max_f_beta({1001, 1000})));
  EXPECT_TRUE(count_near_optimum(samples, validate(samples), {}, max_recall_at_flag_rate({1, 2})));
  const std::vector<double> weight(100, 2.0);
  samples.weight = weight;
  EXPECT_FALSE(count_near_optimum(samples, validate(samples), {}, max_recall_at_flag_rate({1, 2})));
}

}  // namespace
}  // namespace limen
