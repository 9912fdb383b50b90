// SPDX-License-Identifier: MIT
//
// Rows with weights or groups: a row learns or is tested by a hash of seed and row number (or of its group), and what
// is tested is a bet. All other rows are counted, and learn and are tested as counts (certify_counted.cpp).
#include "limen/promise/certify.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/choose/joint.h"
#include "limen/count/binning.h"
#include "limen/count/levels.h"
#include "limen/count/top_rows.h"
#include "limen/promise/betting.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"
#include "promise/certify_counted.h"
#include "promise/certify_steps.h"

namespace limen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- Split ----

/// Rows that learn, in memory.
struct LearningRows {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;

  void add(const Samples& rows, std::uint64_t first_row, std::span<const std::uint64_t> group,
           const LearningSplit& split) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!split.learns(group.empty() ? first_row + row : group[row])) continue;
      score.push_back(rows.score[row]);
      uncertainty.push_back(rows.uncertainty[row]);
      label.push_back(rows.label[row]);
      if (!rows.weight.empty()) weight.push_back(rows.weight[row]);
    }
  }
  [[nodiscard]] Samples samples() const {
    return {std::span<const double>(score), std::span<const double>(uncertainty), label, weight};
  }
  [[nodiscard]] bool has_both_classes() const {
    const Samples rows = samples();
    bool positive = false;
    bool negative = false;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows.weight.empty() && rows.weight[row] == 0) continue;
      (rows.label[row] != 0 ? positive : negative) = true;
    }
    return positive && negative;
  }
};

// ---- Learn ----

class Learner {
 public:
  Learner(const LearningRows& rows, const Objective& objective)
      : rows_(rows.samples()), objective_(objective), units_(weight_units(rows_, positive_rounding(objective))) {}

  [[nodiscard]] Grid single() const { return count_distinct(rows_, {}, units_); }

  /// Narrow levels of the rows near the decision.
  [[nodiscard]] Grid narrow() const { return count_distinct(rows_, edges(kNarrowLevels, LevelsFrom::kTop), units_); }

  /// Of the rows near the decision, or of the highest where none is near.
  [[nodiscard]] Information information() const {
    const Grid grid = narrow();
    return test_information(grid, rows_near_decision(grid, score_chain(grid), objective_));
  }

  [[nodiscard]] Walk learn(Method method, std::optional<int> levels, LevelsFrom from,
                           const std::optional<std::vector<double>>& given_edges, double tested_per_learning) const {
    if (method == Method::kSt) {  // of weights or groups
      const Grid grid = single();
      return detail::walk_along(grid, score_chain(grid), objective_, tested_per_learning, nullptr);
    }
    const int wanted = levels.value_or(info_of(method).levels);
    std::vector<double> level_edges;
    if (given_edges) {
      level_edges = *given_edges;
    } else if (method == Method::kJoint) {
      level_edges = joint_edges(narrow(), objective_, wanted);
    } else if (method == Method::kExact && from == LevelsFrom::kTop && !levels_given_) {
      level_edges = coarser_edges(edges(kNarrowLevels, from), wanted);
    } else {
      level_edges = edges(wanted, from);
    }
    const Grid grid = count_distinct(rows_, std::move(level_edges), units_);
    if (method == Method::kSmooth) {
      const SmoothFit smooth(grid, objective_);
      const SmoothCuts cuts(smooth);
      return detail::walk_along(grid, smooth.chain(), objective_, tested_per_learning, &cuts);
    }
    return detail::walk_along(grid, hull_chain(grid), objective_, tested_per_learning, nullptr);
  }

  /// Levels that cross-validation chose are made of the narrow ones that it looked at.
  void levels_were_chosen() { levels_given_ = false; }

 private:
  [[nodiscard]] std::vector<double> edges(int levels, LevelsFrom from) const {
    if (from == LevelsFrom::kAll) return uncertainty_edges(rows_.uncertainty, levels);
    const Grid all_in_one = single();
    const auto near = static_cast<double>(rows_near_decision(all_in_one, score_chain(all_in_one), objective_));
    const std::int64_t rows = std::llround(near * rows_per_unit(all_in_one));
    return top_edges(rows_, top_score(rows_, rows), levels);
  }

  Samples rows_;
  const Objective& objective_;
  WeightUnits units_;
  bool levels_given_ = true;
};

// ---- Test ----

/// Rows with weights, or groups of rows: for every unit and step the weight that speaks for the bound, less the bound's
/// share of all of it. Its mean is above 0 exactly where the bound is kept.
class WeightedUnits {
 public:
  WeightedUnits(const Walk& walk, const Samples& rows, std::span<const std::uint64_t> group, const Objective& objective)
      : walk_(walk), rows_(rows), group_(group), objective_(objective), order_(rows.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (!group_.empty()) {
      std::stable_sort(order_.begin(), order_.end(),
                       [&](std::size_t a, std::size_t b) { return group_[a] < group_[b]; });
    }
    // The most that one unit can speak against the bound, by its rows of the kind that counts.
    double most = 0;
    for_each_unit([&](std::span<const std::size_t> unit) {
      double weight = 0;
      for (const std::size_t row : unit) weight += counts(row) ? weight_of(row) : 0;
      most = std::max(most, weight);
    });
    worst_ = most * detail::success_bound(objective_);
  }

  /// p-value of every step.
  [[nodiscard]] std::vector<double> p_values(const LearningSplit& split, double level) const {
    const std::size_t steps = walk_.num_steps();
    std::vector<double> squares(steps, 0);
    double learning = 0;
    double tested = 0;
    for_each_unit([&](std::span<const std::size_t> unit) {
      if (!learns(split, unit)) {
        tested += 1;
        return;
      }
      learning += 1;
      for_each_value(unit, [&](std::size_t step, double value) { squares[step] += value * value; });
    });
    std::vector<double> stakes;
    for (const double square : squares) {
      const double expected = (square + worst_ * worst_) * tested / std::max(1.0, learning);
      stakes.push_back(std::sqrt(2 * std::log(1 / level) / std::max(expected, 1e-300)));
    }
    BettingTest test(stakes, worst_);
    for_each_unit([&](std::span<const std::size_t> unit) {
      if (learns(split, unit)) return;
      for_each_value(unit, [&](std::size_t step, double value) { test.add(step, value); });
    });
    std::vector<double> p_values;
    for (std::size_t step = 0; step < steps; ++step) p_values.push_back(test.p_value(step));
    return p_values;
  }

 private:
  [[nodiscard]] double weight_of(std::size_t row) const { return rows_.weight.empty() ? 1 : rows_.weight[row]; }
  /// Whether a row is of the kind that the constraint is about.
  [[nodiscard]] bool counts(std::size_t row) const {
    if (objective_.goal == Goal::kRecall) return rows_.label[row] != 0;
    return objective_.goal != Goal::kFalsePositiveRate || rows_.label[row] == 0;
  }
  [[nodiscard]] bool learns(const LearningSplit& split, std::span<const std::size_t> unit) const {
    return split.learns(group_.empty() ? unit.front() : group_[unit.front()]);
  }

  template <typename Visit>
  void for_each_unit(const Visit& visit) const {
    for (std::size_t begin = 0; begin < order_.size();) {
      std::size_t end = begin + 1;
      while (!group_.empty() && end < order_.size() && group_[order_[end]] == group_[order_[begin]]) ++end;
      visit(std::span(order_).subspan(begin, end - begin));
      begin = end;
    }
  }

  /// visit(step, value) for every step in which the value is not 0.
  template <typename Visit>
  void for_each_value(std::span<const std::size_t> unit, const Visit& visit) const {
    const double bound = detail::success_bound(objective_);
    std::vector<double>& change = change_;
    change.assign(walk_.num_steps() + 1, 0);
    double value = 0;
    for (const std::size_t row : unit) {
      if (!counts(row)) continue;
      const std::size_t level = level_of(walk_.edges, rows_.uncertainty[row]);
      const std::size_t first = first_step(walk_, level, rows_.score[row]);
      const double weight = weight_of(row);
      switch (objective_.goal) {
        case Goal::kPrecision:
          change[first] += weight * ((rows_.label[row] != 0 ? 1 : 0) - bound);
          break;
        case Goal::kRecall:
          value -= weight * bound;
          change[first] += weight;
          break;
        default:
          value += weight * (1 - bound);
          change[first] -= weight;
      }
    }
    for (std::size_t step = 0; step < walk_.num_steps(); ++step) {
      value += change[step];
      if (value != 0) visit(step, value);
    }
  }

  const Walk& walk_;
  const Samples& rows_;
  std::span<const std::uint64_t> group_;
  const Objective& objective_;
  std::vector<std::size_t> order_;
  double worst_ = 0;
  mutable std::vector<double> change_;
};

bool has_larger_groups(std::span<const std::uint64_t> group) {
  std::vector<std::uint64_t> sorted(group.begin(), group.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

struct MemoryRows {
  const Samples& samples;
  std::span<const std::uint64_t> group;

  [[nodiscard]] std::uint64_t size() const { return samples.size(); }
  [[nodiscard]] LearningRows collect(const LearningSplit& split) const {
    LearningRows rows;
    rows.add(samples, 0, group, split);
    return rows;
  }
  [[nodiscard]] SplitCounts count(const Walk& walk, const LearningSplit& split) const {
    SplitCounts counts{WalkCounts(walk), WalkCounts(walk)};
    count_walk(walk, samples, 0, group, split, counts);
    return counts;
  }
};

// ---- All together ----

void check_classes(std::int64_t rows, std::int64_t positives, bool allow_all_positive) {
  if (rows == 0) throw InvalidInput("certify", "there are no rows", Cause::kNoRows);
  if (positives == 0) throw InvalidInput("certify", "no row is positive; both classes are needed");
  if (positives == rows && !allow_all_positive) {
    throw InvalidInput("certify", "every row is positive; both classes are needed");
  }
}

bool allows_all_positive(const Objective& objective, const CertifyOptions& options) {
  return options.allow_all_positive && objective.goal == Goal::kPrecision;
}

/// How the uncertainty is used, and along which boundaries. Rows that learn are those of `split`.
detail::Learnt learn(const MemoryRows& rows, const Objective& objective, const CertifyOptions& options,
                     LearningSplit& split) {
  const auto learn_walk = [&](const LearningRows& learning, Method method, std::optional<int> levels, LevelsFrom from,
                              bool levels_chosen) {
    Learner learner(learning, objective);
    if (levels_chosen) learner.levels_were_chosen();
    return learner.learn(method, levels, from, options.edges, (1 - split.share) / split.share);
  };
  detail::Learnt learnt;
  const double share = options.learning_share.value_or(learning_share_of(rows.size()));
  if (options.method != Method::kAuto) {
    split.share = share;
    const LearningRows learning = rows.collect(split);
    if (!learning.has_both_classes()) return learnt;
    learnt.method = options.method;
    learnt.walk = learn_walk(learning, options.method, options.levels, options.levels_from, false);
    return learnt;
  }
  // A few rows tell whether uncertainty may inform at all; only then more of them are given up for its order.
  split.share = std::min(share, gate_share_of(rows.size()));
  LearningRows learning = rows.collect(split);
  Information information;
  information.testable = learning.has_both_classes();
  if (information.testable) information = Learner(learning, objective).information();
  if (!information.testable || information.p() >= detail::kMayInform) {
    learnt.choice = detail::settle_for_one(information);
    if (learning.has_both_classes()) learnt.walk = learn_walk(learning, Method::kSt, 1, LevelsFrom::kTop, true);
    return learnt;
  }
  ChooseOptions choosing;
  if (share == split.share) {
    choosing.information = information;  // these are the rows that learn
  } else {
    split.share = share;
    learning = rows.collect(split);
  }
  if (!learning.has_both_classes()) {
    information.testable = false;
    learnt.choice = detail::settle_for_one(information);
    return learnt;
  }
  learnt.choice = choose(Learner(learning, objective).narrow(), objective, choosing);
  detail::drop_unless_worth_learning(*learnt.choice);
  const Candidate& best = learnt.choice->best();
  learnt.method = best.method;
  learnt.walk = learn_walk(learning, best.method, best.levels, LevelsFrom::kTop, true);
  return learnt;
}

Certification certify_rows(const MemoryRows& rows, const Objective& objective, const CertifyOptions& options) {
  Certification found;
  LearningSplit split{.seed = options.seed};
  detail::Learnt learnt = learn(rows, objective, options, split);
  found.method = learnt.method;
  found.choice = std::move(learnt.choice);
  found.walk = std::move(learnt.walk);
  found.betting = true;
  if (found.walk.num_steps() == 0) return found;
  const SplitCounts counts = rows.count(found.walk, split);
  const std::vector<double> p_values =
      WeightedUnits(found.walk, rows.samples, rows.group, objective).p_values(split, 1 - options.confidence);
  detail::conclude(found, counts, std::nullopt, p_values, objective, options, !rows.group.empty());
  return found;
}

/// What the boundary reached on all rows of the hold-out; no optimum is claimed.
void summarize(HoldoutSummary& summary, const Objective& objective) {
  const bool recall = objective.goal != Goal::kRecall;
  summary.objective_value = recall ? summary.true_positives : summary.precision();
  summary.objective_bound = recall ? summary.positives : 1;
}

template <typename Certify>
Certification in_arena(const Objective& objective, const CertifyOptions& options, const Certify& run) {
  validate(options);
  validate(objective);
  if (objective.goal == Goal::kCost || objective.goal == Goal::kFBeta) {
    throw InvalidInput("certify", "the objective (" + describe(objective) + ") has no bound that could be certified");
  }
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  Certification found = arena.execute(run);
  if (!found.boundary) return found;
  HoldoutSummary& summary = found.boundary->holdout;
  if (!summary.weighted) {
    for (const Certification::Level& level : found.levels) {
      summary.rows += level.all.rows;
      summary.positives += static_cast<double>(level.all.positives);
      summary.flagged += static_cast<double>(level.flagged.rows);
      summary.true_positives += static_cast<double>(level.flagged.positives);
    }
    summary.weight = static_cast<double>(summary.rows);
  }
  summarize(summary, objective);
  return found;
}

}  // namespace

double learning_share_of(std::uint64_t rows) { return detail::learning_share(rows); }
double gate_share_of(std::uint64_t rows) { return detail::gate_share(rows); }

void validate(const CertifyOptions& options) {
  const auto refuse = [](const char* field, double value, const std::string& range) {
    throw InvalidInput(Where{.function = "certify", .field = field}, "is " + number_text(value) + ", must be " + range);
  };
  if (!(options.confidence > 0 && options.confidence < 1)) {
    refuse("confidence", options.confidence, "between 0 and 1, such as 0.95");
  }
  if (options.learning_share && !(*options.learning_share > 0 && *options.learning_share < 1)) {
    refuse("learning_share", *options.learning_share, "between 0 and 1");
  }
  if (options.levels && (*options.levels < 1 || *options.levels > 1000)) refuse("levels", *options.levels, "1 to 1000");
  if (options.num_threads < 0) refuse("num_threads", options.num_threads, "at least 1, or 0 for all cores");
  if (options.edges && options.method != Method::kExact) {
    throw InvalidInput("certify", "edges are for method exact, not " + std::string(to_string(options.method)));
  }
  const bool known = options.method == Method::kAuto || options.method == Method::kSt ||
                     options.method == Method::kSmooth || options.method == Method::kExact ||
                     options.method == Method::kJoint;
  if (!known) {
    throw InvalidInput("certify", "method " + std::string(to_string(options.method)) +
                                      " cannot be certified: take auto, st, smooth, exact or joint");
  }
}

Certification certify(const Samples& samples, const Objective& objective, const CertifyOptions& options,
                      std::span<const std::uint64_t> group) {
  return in_arena(objective, options, [&] {
    validate(samples);
    if (!group.empty() && group.size() != samples.size()) {
      throw InvalidInput("certify", "group has " + std::to_string(group.size()) + " entries for " +
                                        std::to_string(samples.size()) + " rows");
    }
    std::int64_t positives = 0;
    for (const std::uint8_t label : samples.label) positives += label;
    check_classes(static_cast<std::int64_t>(samples.size()), positives, allows_all_positive(objective, options));
    const bool weighted = !samples.weight.empty();
    if (!weighted && !has_larger_groups(group)) return detail::certify_counted(counted(samples), objective, options);
    Certification found = certify_rows({samples, group}, objective, options);
    if (found.boundary && weighted) {
      HoldoutSummary& summary = found.boundary->holdout;
      const Rule& rule = found.boundary->rule;
      summary.weighted = true;
      summary.rows = static_cast<std::int64_t>(samples.size());
      for (std::size_t row = 0; row < samples.size(); ++row) {
        const auto& threshold = rule.score_thresholds[level_of(rule.uncertainty_edges, samples.uncertainty[row])];
        const bool flagged = threshold && samples.score[row] >= *threshold;
        const double weight = samples.weight[row];
        const double positive = samples.label[row] != 0 ? weight : 0;
        summary.weight += weight;
        summary.positives += positive;
        if (flagged) summary.flagged += weight;
        if (flagged) summary.true_positives += positive;
      }
    }
    return found;
  });
}

Certification certify(const SampleBatches& batches, const Objective& objective, const CertifyOptions& options) {
  return in_arena(objective, options, [&] {
    const CountedRows rows = counted(batches);
    check_classes(rows.total.rows, rows.total.positives, allows_all_positive(objective, options));
    return detail::certify_counted(rows, objective, options);
  });
}

Certification certify(const CountedRows& rows, const Objective& objective, const CertifyOptions& options) {
  return in_arena(objective, options, [&] {
    check_classes(rows.total.rows, rows.total.positives, allows_all_positive(objective, options));
    return detail::certify_counted(rows, objective, options);
  });
}

}  // namespace limen
