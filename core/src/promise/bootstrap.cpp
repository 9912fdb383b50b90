// SPDX-License-Identifier: MIT
#include "limen/promise/bootstrap.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/count/binning.h"
#include "limen/solve/monotone.h"
#include "limen/solve/solve.h"

namespace limen {
namespace {

/// A binomial number by inversion: a uniform number is used up by the probabilities of one count after the other.
/// O(1 + mean) for small means, else O(1 + standard deviation).
std::int64_t draw_binomial(std::int64_t trials, double probability, CounterRandom& random) {
  if (trials == 0 || probability <= 0) return 0;
  if (probability >= 1) return trials;
  double left = random.uniform();
  const auto size = static_cast<double>(trials);
  const double odds = probability / (1 - probability);
  constexpr double kSmallMean = 20;
  if (size * probability < kSmallMean) {
    // From 0 upwards: P(k + 1) = P(k) (n - k) / (k + 1) odds.
    double chance = std::exp(size * std::log1p(-probability));
    std::int64_t count = 0;
    while (left >= chance && count < trials) {
      left -= chance;
      chance *= static_cast<double>(trials - count) / static_cast<double>(count + 1) * odds;
      ++count;
      if (chance < 1e-300) break;
    }
    return count;
  }
  // From the mode to both sides in turn.
  const auto mode = std::min(trials, static_cast<std::int64_t>((size + 1) * probability));
  const auto log_factorial = [](std::int64_t n) { return boost::math::lgamma(static_cast<double>(n) + 1); };
  const double at_mode = std::exp(log_factorial(trials) - log_factorial(mode) - log_factorial(trials - mode) +
                                  static_cast<double>(mode) * std::log(probability) +
                                  static_cast<double>(trials - mode) * std::log1p(-probability));
  if (left < at_mode) return mode;
  left -= at_mode;
  double above = at_mode;
  double below = at_mode;
  std::int64_t up = mode;
  std::int64_t down = mode;
  while (above > 1e-18 || below > 1e-18) {
    above = up < trials ? above * static_cast<double>(trials - up) / static_cast<double>(up + 1) * odds : 0;
    ++up;
    if (left < above) return up;
    left -= above;
    below = down > 0 ? below * static_cast<double>(down) / static_cast<double>(trials - down + 1) / odds : 0;
    --down;
    if (left < below) return down;
    left -= below;
  }
  return mode;  // what the rounding of the probabilities leaves over
}

/// The counts of one class of all cells, drawn again: cell after cell, binomial among the rows still to be drawn.
class ClassDraw {
 public:
  explicit ClassDraw(std::int64_t rows) : to_draw_(rows), rows_left_(rows) {}

  std::int64_t operator()(std::int64_t rows, CounterRandom& random) {
    if (rows == 0) return 0;
    const std::int64_t drawn =
        rows == rows_left_
            ? to_draw_
            : draw_binomial(to_draw_, static_cast<double>(rows) / static_cast<double>(rows_left_), random);
    to_draw_ -= drawn;
    rows_left_ -= rows;
    return drawn;
  }

 private:
  std::int64_t to_draw_;
  std::int64_t rows_left_;
};

/// Between the two order statistics around it; values need not be sorted, and may be infinite. At least one value.
double quantile_of(std::vector<double> values, double probability) {
  std::ranges::sort(values);
  const double at = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  if (values[below] == values[above]) return values[below];
  const double part = at - static_cast<double>(below);
  if (part == 0) return values[below];
  return std::isinf(values[above]) ? values[above] : values[below] + part * (values[above] - values[below]);
}

Interval percentiles(const std::vector<double>& values, double confidence) {
  return {quantile_of(values, (1 - confidence) / 2), quantile_of(values, (1 + confidence) / 2)};
}

std::optional<Interval> percentiles_of_any(const std::vector<double>& values, double confidence) {
  if (values.empty()) return std::nullopt;
  return percentiles(values, confidence);
}

constexpr double kNever = std::numeric_limits<double>::infinity();

ThresholdInterval threshold_interval(const std::vector<double>& values, double confidence) {
  const auto end = [](double value) { return std::isinf(value) ? std::nullopt : std::optional(value); };
  const Interval both = percentiles(values, confidence);
  return {end(both.low), end(both.high),
          static_cast<double>(std::ranges::count(values, kNever)) / static_cast<double>(values.size())};
}

/// The counted rows, checked.
Grid count_rows(const Samples& samples, std::vector<double> edges, const BootstrapOptions& options) {
  validate(samples);
  Grid grid = count_common_bins(samples, std::move(edges), options.resolution);
  const Counts total = total_counts(grid);
  if (total.positives == 0 || total.positives == total.rows) {
    throw InvalidInput("bootstrap", "only one class; both are needed", Cause::kOneClass);
  }
  return grid;
}

/// Calls `judge(replicate, grid)` for all resamples, in parallel.
template <typename Judge>
void for_each_resample(const Grid& grid, const BootstrapOptions& options, const Judge& judge) {
  tbb::parallel_for(0, options.replicates, [&](int replicate) {
    judge(static_cast<std::size_t>(replicate), resample(grid, options.seed, static_cast<std::uint64_t>(replicate)));
  });
}

Solution solve_as(const Boundary& boundary, const Problem& problem) {
  if (boundary.monotone) return solve_monotone(problem, *boundary.monotone);
  return solve(boundary.method == Method::kJoint ? Method::kExact : boundary.method, problem);
}

}  // namespace

void validate(const BootstrapOptions& options) {
  const auto check = [](const char* field, double value, bool holds, const char* range) {
    if (holds) return;
    std::string shown = std::to_string(value);
    if (value == std::floor(value) && std::abs(value) < 1e15) shown = std::to_string(static_cast<std::int64_t>(value));
    throw InvalidInput(Where{.function = "bootstrap", .field = field}, "is " + shown + ", must be " + range);
  };
  check("replicates", options.replicates, options.replicates >= 2 && options.replicates <= 1'000'000, "2 to 1000000");
  check("confidence", options.confidence, options.confidence > 0 && options.confidence < 1, "between 0 and 1");
  check("resolution", options.resolution, options.resolution >= 10 && options.resolution <= 1'000'000, "10 to 1000000");
  check("num_threads", options.num_threads, options.num_threads >= 0, "0 or more");
}

Grid count_common_bins(const Samples& samples, std::vector<double> edges, int resolution) {
  if (!samples.weight.empty()) {
    throw InvalidInput("bootstrap", "rows have weights, but the bootstrap draws rows; use it without weights");
  }
  const Grid distinct = count_distinct(samples, std::move(edges));
  // Rows of every distinct score, from the highest down, whatever their level.
  std::vector<std::pair<double, std::int64_t>> scores;
  for (const auto& level : distinct.levels) {
    for (const Bin& bin : level) scores.emplace_back(bin.threshold, bin.counts.rows);
  }
  std::ranges::sort(scores, std::ranges::greater{}, [](const auto& score) { return score.first; });
  struct Span {
    double low, high;
  };
  std::vector<Span> spans;
  std::int64_t above = 0;
  for (std::size_t at = 0; at < scores.size();) {
    const std::int64_t most = above / resolution;
    Span span{scores[at].first, scores[at].first};
    std::int64_t rows = 0;
    do {  // equal scores stay together
      span.low = scores[at].first;
      for (; at < scores.size() && scores[at].first == span.low; ++at) rows += scores[at].second;
    } while (at < scores.size() && rows < most);
    above += rows;
    spans.push_back(span);
  }
  Grid grid{distinct.edges, {}, 1, std::nullopt, distinct.scaled_uncertainty};
  for (const auto& level : distinct.levels) {
    std::vector<Bin> bins;
    std::size_t span = 0;
    for (const Bin& bin : level) {
      while (bin.threshold < spans[span].low) ++span;
      if (bins.empty() || bins.back().threshold != spans[span].low) {
        bins.push_back({spans[span].low, {}, spans[span].high});
      }
      bins.back().counts += bin.counts;
    }
    grid.levels.push_back(std::move(bins));
  }
  return grid;
}

Grid resample(const Grid& grid, std::uint64_t seed, std::uint64_t replicate) {
  CounterRandom random(seed, replicate);
  const Counts total = total_counts(grid);
  ClassDraw positives(total.positives);
  ClassDraw negatives(total.rows - total.positives);
  Grid drawn{grid.edges, std::vector<std::vector<Bin>>(grid.num_levels()), 1, std::nullopt, grid.scaled_uncertainty};
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (Bin bin : grid.levels[level]) {
      const std::int64_t right = positives(bin.counts.positives, random);
      const std::int64_t wrong = negatives(bin.counts.rows - bin.counts.positives, random);
      if (right + wrong == 0) continue;
      bin.counts = {right + wrong, right};
      drawn.levels[level].push_back(bin);
    }
  }
  return drawn;
}

BootstrapFit bootstrap_fit(const Samples& holdout, const Boundary& boundary, const BootstrapOptions& options) {
  validate(options);
  validate(boundary.rule);
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] {
    const Grid grid = count_rows(holdout, boundary.rule.uncertainty_edges, options);
    const Objective& objective = boundary.objective;
    const std::size_t num_levels = boundary.rule.score_thresholds.size();
    const Counts total = total_counts(grid);
    struct Replicate {
      std::vector<double> thresholds;  // empty: infeasible
      Counts flagged;
      double single = kNever;
      std::optional<double> gain;
    };
    std::vector<Replicate> replicates(static_cast<std::size_t>(options.replicates));
    for_each_resample(grid, options, [&](std::size_t at, const Grid& drawn) {
      Replicate& replicate = replicates[at];
      const Problem problem(drawn, objective);
      const Solution single = solve_st(problem);
      if (single.status != SolveStatus::kInfeasible) {
        for (std::size_t level = 0; level < drawn.num_levels(); ++level) {
          const auto taken = static_cast<std::size_t>(single.taken[level]);
          if (taken > 0) replicate.single = std::min(replicate.single, drawn.levels[level][taken - 1].threshold);
        }
      }
      const Solution found = boundary.method == Method::kSt ? single : solve_as(boundary, problem);
      if (found.status == SolveStatus::kInfeasible) return;
      Rule rule = rule_of(boundary.method, drawn, objective, found.taken);
      if (boundary.monotone) {
        rule.score_thresholds = monotone_thresholds(drawn, found.taken, *boundary.monotone);
      }
      for (const auto& threshold : rule.score_thresholds) replicate.thresholds.push_back(threshold.value_or(kNever));
      replicate.flagged = found.flagged;
      if (single.status == SolveStatus::kInfeasible) return;
      const double base = problem.value(single.flagged);
      const double change = problem.value(found.flagged) - base;
      if (base > 0) replicate.gain = (objective.goal == Goal::kCost ? -change : change) / base;
    });
    BootstrapFit result;
    result.replicates = options.replicates;
    std::vector<std::vector<double>> thresholds(num_levels);
    std::vector<double> single, precision, recall, flag_rate, gain;
    for (const Replicate& replicate : replicates) {
      single.push_back(replicate.single);
      if (replicate.thresholds.empty()) {
        ++result.infeasible;
        continue;
      }
      for (std::size_t level = 0; level < num_levels; ++level) {
        thresholds[level].push_back(replicate.thresholds[level]);
      }
      const auto flagged = static_cast<double>(replicate.flagged.rows);
      const auto right = static_cast<double>(replicate.flagged.positives);
      if (flagged > 0) precision.push_back(right / flagged);
      recall.push_back(right / static_cast<double>(total.positives));
      flag_rate.push_back(flagged / static_cast<double>(total.rows));
      if (replicate.gain) gain.push_back(*replicate.gain);
    }
    result.single = threshold_interval(single, options.confidence);
    result.precision = percentiles_of_any(precision, options.confidence);
    result.recall = percentiles_of_any(recall, options.confidence);
    result.flag_rate = percentiles_of_any(flag_rate, options.confidence);
    result.gain = percentiles_of_any(gain, options.confidence);
    if (result.infeasible < result.replicates) {
      for (const auto& level : thresholds) {
        result.thresholds.push_back(threshold_interval(level, options.confidence));
      }
    }
    return result;
  });
}

std::vector<FrontierBand> bootstrap_frontier(const Samples& samples, std::vector<double> edges,
                                             std::span<const Rational> precision_bounds,
                                             const BootstrapOptions& options) {
  validate(options);
  for (const Rational& bound : precision_bounds) validate(max_recall_at_precision(bound));
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] {
    const Grid grid = count_rows(samples, std::move(edges), options);
    const auto positives = static_cast<double>(total_counts(grid).positives);
    const auto size = static_cast<std::size_t>(options.replicates);
    std::vector<std::vector<double>> single(precision_bounds.size(), std::vector<double>(size));
    std::vector<std::vector<double>> recall = single;
    for_each_resample(grid, options, [&](std::size_t at, const Grid& drawn) {
      for (std::size_t bound = 0; bound < precision_bounds.size(); ++bound) {
        const Problem problem(drawn, max_recall_at_precision(precision_bounds[bound]));
        single[bound][at] = static_cast<double>(solve_st(problem).flagged.positives) / positives;
        recall[bound][at] = static_cast<double>(solve_exact(problem).flagged.positives) / positives;
      }
    });
    std::vector<FrontierBand> bands;
    for (std::size_t bound = 0; bound < precision_bounds.size(); ++bound) {
      std::vector<double> gain;
      for (std::size_t at = 0; at < size; ++at) {
        if (single[bound][at] > 0) gain.push_back(recall[bound][at] / single[bound][at] - 1);
      }
      bands.push_back({precision_bounds[bound], percentiles(single[bound], options.confidence),
                       percentiles(recall[bound], options.confidence), percentiles_of_any(gain, options.confidence)});
    }
    return bands;
  });
}

}  // namespace limen
