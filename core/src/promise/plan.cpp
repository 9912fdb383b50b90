// SPDX-License-Identifier: MIT
#include "limen/promise/plan.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/count/binning.h"
#include "limen/promise/binomial.h"
#include "limen/solve/chain.h"
#include "promise/first_count.h"

namespace limen {
namespace {

constexpr double kMostTrials = 1e12;
/// Up to here every tooth of the power near the answer is looked at.
constexpr std::int64_t kExactTrials = 1'000'000;

double normal_quantile(double probability) { return boost::math::quantile(boost::math::normal(), probability); }

void check_goal(const Objective& objective) {
  validate(objective);
  if (objective.goal != Goal::kPrecision && objective.goal != Goal::kRecall &&
      objective.goal != Goal::kFalsePositiveRate) {
    throw InvalidInput("plan", "\"" + describe(objective) +
                                   "\" has no test to plan; precision, recall and the false-positive "
                                   "rate have one");
  }
}

bool counts_failures(const Objective& objective) { return objective.goal == Goal::kFalsePositiveRate; }

/// The bound on the probability of success. 1 - bound is taken as a fraction, so that it is rounded once.
double success_bound(const Objective& objective) {
  const Rational& bound = objective.bound;
  return counts_failures(objective) ? Rational{bound.den - bound.num, bound.den}.to_double() : bound.to_double();
}

/// The test with this many trials.
///
/// It allows c failures from n_c trials on, the smallest n with P(Bin(n, bound) >= n - c) <= level; n_c rises with c.
/// While c is the same, more trials only make more failures likely: power falls from n_c to n_(c+1) - 1, the foot of
/// tooth c, and jumps up at n_(c+1). So power holds from n on iff the feet of all teeth that end at n or later hold it.
class Teeth {
 public:
  Teeth(double bound, double expected, double level) : bound_(bound), expected_(expected), level_(level) {
    deviations_ = normal_quantile(1 - level);
  }

  /// n_c; c >= 0.
  [[nodiscard]] std::int64_t first_trials(std::int64_t failures) const {
    // Where c = n (1 - bound) - deviations sqrt(n bound (1 - bound)), for the square root of n.
    const double spread = deviations_ * std::sqrt(bound_ * (1 - bound_));
    const double root =
        (spread + std::sqrt(spread * spread + 4 * (1 - bound_) * static_cast<double>(failures))) / (2 * (1 - bound_));
    const auto guess = static_cast<std::int64_t>(std::min(root * root, 4 * kMostTrials)) - failures;
    // Counted in trials beyond the failures.
    const auto beyond = detail::first_count(static_cast<std::int64_t>(8 * kMostTrials), guess, [&](std::int64_t more) {
      return binomial_upper_tail(more, failures + more, bound_) <= level_;
    });
    return failures + beyond.value_or(static_cast<std::int64_t>(8 * kMostTrials));
  }
  /// Power at the foot of tooth c.
  [[nodiscard]] double foot(std::int64_t failures) const {
    const std::int64_t trials = first_trials(failures + 1) - 1;
    return binomial_upper_tail(trials - failures, trials, expected_);
  }

 private:
  double bound_;
  double expected_;
  double level_;
  double deviations_ = 0;
};

/// `flagged` rows with `right` positives among them, which may be a fraction.
PlannedThreshold figures_of(double threshold, double flagged, double right, const Counts& total,
                            const Objective& objective) {
  const auto rows = static_cast<double>(total.rows);
  PlannedThreshold figures;
  figures.threshold = threshold;
  figures.flag_rate = flagged / rows;
  figures.precision = flagged > 0 ? right / flagged : 0;
  figures.recall = right / static_cast<double>(total.positives);
  figures.false_positive_rate = (flagged - right) / static_cast<double>(total.rows - total.positives);
  figures.value = objective.goal == Goal::kRecall ? figures.precision : figures.recall;
  return figures;
}

double figure_of(const PlannedThreshold& threshold, Goal goal) {
  return goal == Goal::kPrecision ? threshold.precision
         : goal == Goal::kRecall  ? threshold.recall
                                  : threshold.false_positive_rate;
}

double trial_rate_of(const PlannedThreshold& threshold, Goal goal, const Counts& total) {
  const double positive_rate = static_cast<double>(total.positives) / static_cast<double>(total.rows);
  return goal == Goal::kPrecision ? threshold.flag_rate : goal == Goal::kRecall ? positive_rate : 1 - positive_rate;
}

/// Positives among the highest scores when the rate of positives never rises as the score falls: isotonic regression,
/// whose sums are the concave hull of the counts. The counts themselves hover about a bound: by chance a threshold may
/// just meet it far beyond others that do not, and no number of rows would seem to certify any near it.
class SmoothPositives {
 public:
  explicit SmoothPositives(const Grid& grid) : hull_(hull_chain(grid)) {}

  /// For rising numbers of rows.
  double operator()(std::int64_t rows) {
    while (at_ < hull_.size() && hull_[at_].flagged.rows < rows) before_ = hull_[at_++].flagged;
    if (at_ == hull_.size()) return static_cast<double>(before_.positives);
    const Counts step = hull_[at_].flagged - before_;
    return static_cast<double>(before_.positives) + static_cast<double>(step.positives) *
                                                        static_cast<double>(rows - before_.rows) /
                                                        static_cast<double>(step.rows);
  }

 private:
  Chain hull_;
  std::size_t at_ = 0;
  Counts before_;
};

}  // namespace

void validate(const PlanOptions& options) {
  const auto check = [](const char* field, double value, bool holds, const char* range) {
    if (!holds)
      throw InvalidInput(Where{.function = "plan", .field = field},
                         "is " + std::to_string(value) + ", must be " + range);
  };
  check("confidence", options.confidence, options.confidence > 0 && options.confidence < 1, "between 0 and 1");
  check("power", options.power, options.power > 0 && options.power < 1, "between 0 and 1");
  check("learning_share", options.learning_share, options.learning_share >= 0 && options.learning_share < 1,
        "0 to below 1");
  check("num_threads", options.num_threads, options.num_threads >= 0, "0 or more");
}

std::optional<std::int64_t> trials_needed(double bound, double expected, double level, double power) {
  const auto check = [](const char* field, double value, bool holds, const char* range) {
    if (!holds)
      throw InvalidInput(Where{.function = "trials_needed", .field = field},
                         "is " + std::to_string(value) + ", must be " + range);
  };
  check("bound", bound, bound >= 0 && bound <= 1, "0 to 1");
  check("expected", expected, expected >= 0 && expected <= 1, "0 to 1");
  check("level", level, level > 0 && level < 1, "between 0 and 1");
  check("power", power, power > 0 && power < 1, "between 0 and 1");
  if (expected <= bound) return std::nullopt;
  // Where two normal distributions meet; good to a few percent, and where the search begins.
  const double margin = (normal_quantile(1 - level) * std::sqrt(bound * (1 - bound)) +
                         normal_quantile(power) * std::sqrt(expected * (1 - expected))) /
                        (expected - bound);
  const double about = std::max(margin, 0.0) * std::max(margin, 0.0);
  if (about > kMostTrials) return std::nullopt;
  const Teeth teeth(bound, expected, level);
  const auto guess = static_cast<std::int64_t>(about * (1 - (bound + expected) / 2));
  const auto enough = [&](std::int64_t failures) { return teeth.foot(failures) >= power; };
  const auto found = detail::first_count(static_cast<std::int64_t>(4 * kMostTrials), guess, enough);
  if (!found) return std::nullopt;
  std::int64_t failures = *found;
  std::int64_t trials = teeth.first_trials(failures);
  if (static_cast<double>(trials) > kMostTrials) return std::nullopt;
  if (trials > kExactTrials) return trials;
  // The feet rise but for the rounding of n_c to whole trials, which shifts a foot by no more than one trial: by about
  // q sqrt(1 / (n q p)) in power, while a tooth brings (expected - bound) / (2 sqrt(n p q) (1 - bound)). So no foot can
  // be too low more than 2 (1 - bound) (1 - expected) / (expected - bound) teeth after the first that is not; we look
  // at twice as many and ten more.
  const auto window = 10 + static_cast<std::int64_t>(4 * (1 - bound) * (1 - expected) / (expected - bound));
  for (std::int64_t next = *found; next < *found + window; ++next) {
    if (!enough(next)) failures = next + 1;
  }
  return teeth.first_trials(failures);
}

namespace {

/// How many trials a hold-out has is random too, and power jumps with their number. So for few trials power is averaged
/// over the binomial numbers of trials.
class AveragedPower {
 public:
  AveragedPower(std::int64_t trials, double bound, double expected, double level) {
    // Beyond twice as many trials power only rises: see trials_needed.
    std::int64_t failures = -1;
    for (std::int64_t size = 0; size <= 2 * trials + 60; ++size) {
      while (binomial_upper_tail(size - failures - 1, size, bound) <= level) ++failures;
      power_.push_back(failures < 0 ? 0 : binomial_upper_tail(size - failures, size, expected));
    }
  }

  /// Of a hold-out with so many rows to test on, of which each is a trial at this rate.
  [[nodiscard]] double operator()(std::int64_t testing, double rate) const {
    const double mean = static_cast<double>(testing) * rate;
    const double reach = 9 * std::sqrt(mean * (1 - rate)) + 9;
    const auto from = static_cast<std::int64_t>(std::max(0.0, mean - reach));
    const auto to = std::min(testing, static_cast<std::int64_t>(mean + reach));
    double sum = 0;
    double above = binomial_upper_tail(from, testing, rate);
    for (std::int64_t size = from; size <= to; ++size) {
      const double next = binomial_upper_tail(size + 1, testing, rate);
      sum += (above - next) * power_[std::min(static_cast<std::size_t>(size), power_.size() - 1)];
      above = next;
    }
    return sum;
  }

 private:
  std::vector<double> power_;  // by number of trials
};

/// average_up_to: the most trials for which power is averaged.
std::optional<PlannedTest> plan_one(const Objective& objective, double expected, double trial_rate,
                                    const PlanOptions& options, std::int64_t average_up_to) {
  const double level = 1 - options.confidence;
  const double bound = success_bound(objective);
  const double success = counts_failures(objective) ? 1 - expected : expected;
  const std::optional<std::int64_t> trials = trials_needed(bound, success, level, options.power);
  if (!trials) return std::nullopt;
  const double testing_share = 1 - options.learning_share;
  const double rows = std::ceil(static_cast<double>(*trials) / trial_rate / testing_share - 1e-9);
  if (rows > 0x1p53) return std::nullopt;
  PlannedTest test;
  test.trials = *trials;
  test.rows = static_cast<std::int64_t>(rows);
  test.successes = fewest_rejecting(*trials, bound, level).value();
  test.power = binomial_upper_tail(test.successes, *trials, success);
  if (*trials <= average_up_to) {
    const AveragedPower averaged(*trials, bound, success, level);
    const auto power_of = [&](std::int64_t more) {
      return averaged(std::llround(testing_share * (rows + static_cast<double>(more))), trial_rate);
    };
    const auto most = static_cast<std::int64_t>(rows) + 60;
    const auto more =
        detail::first_count(most, 0, [&](std::int64_t count) { return power_of(count) >= options.power; });
    test.rows += more.value_or(most);
    test.power = power_of(more.value_or(most));
  }
  const auto size = static_cast<double>(*trials);
  test.interval = proportion_interval(std::round(expected * size), size, options.confidence);
  return test;
}

}  // namespace

std::optional<PlannedTest> plan_test(const Objective& objective, double expected, double trial_rate,
                                     const PlanOptions& options) {
  validate(options);
  check_goal(objective);
  const auto refuse = [](const char* name, double value, const char* range) {
    throw InvalidInput(Where{.function = "plan", .field = name}, "is " + std::to_string(value) + ", must be " + range);
  };
  if (!(expected >= 0 && expected <= 1)) refuse("expected", expected, "0 to 1");
  if (!(trial_rate > 0 && trial_rate <= 1)) refuse("trial_rate", trial_rate, "above 0, to 1");
  return plan_one(objective, expected, trial_rate, options, 5000);
}

Plan plan_rows(const Samples& samples, const Objective& objective, std::span<const std::int64_t> more_rows,
               std::span<const double> losses, const PlanOptions& options) {
  validate(options);
  check_goal(objective);
  for (const std::int64_t more : more_rows) {
    if (more < 0 || more > std::int64_t{1} << 50) {
      throw InvalidInput(Where{.function = "plan", .field = "more_rows"},
                         "is " + std::to_string(more) + ", must be 0 to 2^50");
    }
  }
  for (const double loss : losses) {
    if (!(loss > 0 && loss < 1)) {
      throw InvalidInput(Where{.function = "plan", .field = "losses"},
                         "is " + std::to_string(loss) + ", must be between 0 and 1");
    }
  }
  if (samples.size() == 0) throw InvalidInput("plan", "there are no rows", Cause::kNoRows);
  if (!samples.weight.empty()) {
    throw InvalidInput("plan", "rows have weights, but the exact test counts rows; plan without weights");
  }
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] {
    validate(samples);
    const Grid grid = count_distinct(samples, {});
    const Totals totals = totals_of(grid);
    const Counts& total = totals.all;
    if (total.positives == 0 || total.positives == total.rows) {
      throw InvalidInput("plan", "only one class; both are needed", Cause::kOneClass);
    }
    Plan plan;
    plan.rows = total.rows;
    plan.positives = total.positives;

    const Chain chain = score_chain(grid);
    const std::vector<double> cuts = score_cuts(grid.levels[0]);
    const auto figures_with = [&](const ChainStep& step, double right) {
      return figures_of(cuts[static_cast<std::size_t>(step.taken - 1)], static_cast<double>(step.flagged.rows), right,
                        total, objective);
    };
    const auto figures_at = [&](const ChainStep& step) {
      return figures_with(step, static_cast<double>(step.flagged.positives));
    };
    // Without a flagged row there is nothing to certify; the chain's steps all flag some.
    const auto best = best_prefix(chain, objective, totals);
    const bool smaller_is_better = objective.goal == Goal::kFalsePositiveRate;
    plan.best_attainable = smaller_is_better ? 1 : 0;
    for (const ChainStep& step : chain) {
      if (!step.group_end) continue;
      const double figure = figure_of(figures_at(step), objective.goal);
      plan.best_attainable =
          smaller_is_better ? std::min(plan.best_attainable, figure) : std::max(plan.best_attainable, figure);
    }
    std::vector<PlannedThreshold> candidates;
    if (best && *best > 0) {
      plan.uncertified = figures_at(chain[*best - 1]);
      // In every thousandth of the uncertified value the threshold that looks as if it needs the fewest rows.
      constexpr int kParts = 1000;
      std::vector<std::optional<PlannedThreshold>> parts(kParts + 1);
      std::vector<double> ease(kParts + 1, -1);
      const double bound = success_bound(objective);
      SmoothPositives positives(grid);
      for (const ChainStep& step : chain) {
        if (!step.group_end || step.flagged.positives == 0) continue;
        const PlannedThreshold figures = figures_with(step, positives(step.flagged.rows));
        if (figures.value > plan.uncertified->value) continue;
        const double figure = figure_of(figures, objective.goal);
        const double success = smaller_is_better ? 1 - figure : figure;
        if (success <= bound) continue;
        const auto part =
            static_cast<std::size_t>(std::clamp(figures.value / plan.uncertified->value * kParts, 0.0, double{kParts}));
        const double spread = std::max(success * (1 - success), 1e-12);
        const double here =
            trial_rate_of(figures, objective.goal, total) * (success - bound) * (success - bound) / spread;
        if (here <= ease[part]) continue;
        ease[part] = here;
        parts[part] = figures;
      }
      for (auto& part : parts) {
        if (part) candidates.push_back(*part);
      }
    }
    tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t at) {
      PlannedThreshold& candidate = candidates[at];
      candidate.test = plan_one(objective, figure_of(candidate, objective.goal),
                                trial_rate_of(candidate, objective.goal, total), options, 300);
    });
    std::erase_if(candidates, [](const PlannedThreshold& candidate) { return !candidate.test; });

    for (const PlannedThreshold& candidate : candidates) {
      if (!plan.cheapest || candidate.test->rows < plan.cheapest->test->rows) plan.cheapest = candidate;
    }
    std::vector<std::int64_t> sizes = {plan.rows};
    for (const std::int64_t more : more_rows) sizes.push_back(plan.rows + more);
    for (const std::int64_t rows : sizes) {
      PlannedReach reach{rows, std::nullopt};
      for (const PlannedThreshold& candidate : candidates) {
        if (candidate.test->rows > rows) continue;
        if (!reach.threshold || candidate.value > reach.threshold->value) reach.threshold = candidate;
      }
      plan.reach.push_back(reach);
    }
    for (const double loss : losses) {
      PlannedLoss needed{loss, std::nullopt};
      for (const PlannedThreshold& candidate : candidates) {
        if (candidate.value < (1 - loss) * plan.uncertified->value) continue;
        if (!needed.threshold || candidate.test->rows < needed.threshold->test->rows) needed.threshold = candidate;
      }
      plan.losses.push_back(needed);
    }
    return plan;
  });
}

}  // namespace limen
