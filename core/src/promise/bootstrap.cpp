// SPDX-License-Identifier: MIT
#include "limen/promise/bootstrap.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/count/binning.h"
#include "limen/solve/chain.h"
#include "limen/solve/monotone.h"
#include "limen/solve/smooth.h"
#include "limen/solve/solve.h"
#include "promise/percentiles.h"

namespace limen {
namespace {

using detail::percentiles;

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

/// How many of `rows` are not hit by `drawn` draws with replacement.
std::int64_t draw_left_out(std::int64_t rows, std::int64_t drawn, CounterRandom& random) {
  if (drawn == 0) return rows;
  if (rows <= 64) {
    std::uint64_t hit = 0;
    for (std::int64_t draw = 0; draw < drawn; ++draw) {
      hit |= std::uint64_t{1} << random.below(static_cast<std::uint64_t>(rows));
    }
    return rows - std::popcount(hit);
  }
  // A row is missed with probability (1 - 1/n)^m, two rows with (1 - 2/n)^m.
  const auto size = static_cast<double>(rows);
  const double one = std::exp(static_cast<double>(drawn) * std::log1p(-1 / size));
  const double two = std::exp(static_cast<double>(drawn) * std::log1p(-2 / size));
  const double variance = size * one * (1 - one) + size * (size - 1) * (two - one * one);
  const double left = std::round(size * one + std::sqrt(std::max(variance, 0.0)) * random.normal());
  return std::clamp(static_cast<std::int64_t>(left), std::max<std::int64_t>(0, rows - drawn), rows - 1);
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

/// Of a value over another one; positive is better. Unset where there is nothing to compare with.
std::optional<double> relative_gain(const Objective& objective, double value, double base) {
  if (base <= 0) return std::nullopt;
  return (objective.goal == Goal::kCost ? base - value : value - base) / base;
}

/// The best value along a nested family on other rows than it was learned on.
std::optional<double> value_along(const Chain& chain, const Problem& rows) {
  const Chain counted = recount(chain, rows.grid());
  const auto best = best_prefix(counted, rows.objective(), rows.totals());
  if (!best) return std::nullopt;
  return rows.value(counts_after(counted, *best));
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

Resample resample(const Grid& grid, std::uint64_t seed, std::uint64_t replicate) {
  CounterRandom random(seed, replicate);
  const Counts total = total_counts(grid);
  ClassDraw positives(total.positives);
  ClassDraw negatives(total.rows - total.positives);
  Resample result{grid, grid};
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      const Counts& counts = grid.levels[level][bin].counts;
      const std::int64_t wrong_rows = counts.rows - counts.positives;
      const std::int64_t right = positives(counts.positives, random);
      const std::int64_t wrong = negatives(wrong_rows, random);
      result.drawn.levels[level][bin].counts = {right + wrong, right};
      const std::int64_t right_left = draw_left_out(counts.positives, right, random);
      const std::int64_t wrong_left = draw_left_out(wrong_rows, wrong, random);
      result.left_out.levels[level][bin].counts = {right_left + wrong_left, right_left};
    }
  }
  return result;
}

BootstrapFit bootstrap_fit(const Samples& holdout, const Boundary& boundary, const BootstrapOptions& options) {
  validate(options);
  refuse_segments(boundary, "bootstrap_fit");
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
      std::optional<double> gain_left_out;
    };
    std::vector<Replicate> replicates(static_cast<std::size_t>(options.replicates));
    for_each_resample(grid, options, [&](std::size_t at, const Resample& sample) {
      const Grid& drawn = sample.drawn;
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
      replicate.gain = relative_gain(objective, problem.value(found.flagged), problem.value(single.flagged));
      if (boundary.monotone) return;
      const Problem others(sample.left_out, objective);
      const Chain learned =
          boundary.method == Method::kSmooth ? SmoothFit(drawn, objective).chain() : chain_of(boundary.method, drawn);
      const auto value = value_along(learned, others);
      const auto base = value_along(score_chain(drawn), others);
      if (value && base) replicate.gain_left_out = relative_gain(objective, *value, *base);
    });
    BootstrapFit result;
    result.replicates = options.replicates;
    std::vector<std::vector<double>> thresholds(num_levels);
    std::vector<double> single, precision, recall, flag_rate, gain, gain_left_out;
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
      if (replicate.gain_left_out) gain_left_out.push_back(*replicate.gain_left_out);
    }
    result.single = threshold_interval(single, options.confidence);
    result.precision = percentiles_of_any(precision, options.confidence);
    result.recall = percentiles_of_any(recall, options.confidence);
    result.flag_rate = percentiles_of_any(flag_rate, options.confidence);
    result.gain = percentiles_of_any(gain, options.confidence);
    result.gain_left_out = percentiles_of_any(gain_left_out, options.confidence);
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
    for_each_resample(grid, options, [&](std::size_t at, const Resample& sample) {
      for (std::size_t bound = 0; bound < precision_bounds.size(); ++bound) {
        const Problem problem(sample.drawn, max_recall_at_precision(precision_bounds[bound]));
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
