// SPDX-License-Identifier: MIT
//
// One threshold: its order is that of the scores, so that nothing is learnt and every row is tested, at every distinct
// score from a fixed rank on.
//
// `auto` looks at few rows first, of scores too low for one threshold to reach: unless uncertainty informs there, the
// answer is one threshold, and no row that it flags was looked at.
//
// Two columns:
// 1. Split: a row learns or is tested by a hash of seed and row number (or of its group).
// 2. Learn: the method's chain of nested boundaries on the learning rows, and of these the steps of the walk. Bounds on
//    precision begin where the predicted test is surest, because the smallest boundaries have too few rows to be
//    tested; the other bounds are monotone along the chain, so that every boundary can be a step.
// 3. Count: every row by its level and the first step that flags it, learning and tested rows apart.
// 4. Test the steps in order, each at the full level, up to the first that is not accepted.
#include "limen/promise/certify.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "count/batch_rows.h"
#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/base/random.h"
#include "limen/base/text.h"
#include "limen/choose/joint.h"
#include "limen/count/binning.h"
#include "limen/count/levels.h"
#include "limen/count/shortest_decimal.h"
#include "limen/count/top_rows.h"
#include "limen/promise/betting.h"
#include "limen/promise/binomial.h"
#include "limen/promise/intervals.h"
#include "limen/promise/plan.h"
#include "limen/solve/chain.h"
#include "limen/solve/logistic.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Precision along nested boundaries may rise and fall; the other constraints only get harder, or easier, as boundaries
/// grow.
bool is_monotone(Goal goal) { return goal != Goal::kPrecision; }

/// Whether smaller boundaries keep the bound if a larger one does.
bool grows_harder(Goal goal) { return goal != Goal::kRecall; }

// ---- Split ----

/// Rows that learn, in memory.
struct LearningRows {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;

  void add(const Samples& rows, std::uint64_t first_row, std::span<const std::uint64_t> group,
           const LearningSplit& split, double below = kInfinity) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows.score[row] >= below) continue;
      if (!split.learns(group.empty() ? first_row + row : group[row])) continue;
      score.push_back(rows.score[row]);
      uncertainty.push_back(rows.uncertainty[row]);
      label.push_back(rows.label[row]);
      if (!rows.weight.empty()) weight.push_back(rows.weight[row]);
    }
  }
  /// Scores alone, of a share of the rows that are tested.
  void add_tested(const Samples& rows, std::uint64_t first_row, const LearningSplit& split, double share) {
    const LearningSplit wider{split.seed, share < 1 ? split.share + share * (1 - split.share) : 2};
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::uint64_t id = first_row + row;
      if (wider.learns(id) && !split.learns(id)) score.push_back(rows.score[row]);
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

/// Scores between 0 and 1 by their size, from the lowest bucket to the highest.
class ScoreHistogram {
 public:
  void add(const Samples& rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const double score = rows.score[row];
      if (!(score >= 0 && score <= 1)) {
        probabilities_ = false;
        return;
      }
      ++counts_[std::min(kBuckets - 1, static_cast<std::size_t>(score * kBuckets))];
    }
  }

  /// A score below which one threshold will hardly go: were scores the probabilities that they look like, half as many
  /// rows again lie above it as precision allows. By scores alone: no label is looked at. Unset: scores are no
  /// probabilities, or there is no such score above the median.
  [[nodiscard]] std::optional<double> reach(double bound, std::uint64_t rows) const {
    if (!probabilities_) return std::nullopt;
    constexpr double kFurther = 1.5;
    double above = 0;
    double positives = 0;
    double keeps = 0;  // rows of the lowest threshold that would keep the bound
    for (std::size_t bucket = kBuckets; bucket-- > 0;) {
      const auto count = static_cast<double>(counts_[bucket]);
      above += count;
      positives += count * (static_cast<double>(bucket) + 0.5) / kBuckets;
      if (positives >= bound * above) keeps = above;
      if (positives < bound * above && keeps > 0 && above >= kFurther * keeps) {
        return above <= 0.5 * static_cast<double>(rows)
                   ? std::optional(static_cast<double>(bucket) / static_cast<double>(kBuckets))
                   : std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kBuckets = 1U << 16;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kBuckets, 0);
  bool probabilities_ = true;
};

// ---- Learn ----

/// A stop of a chain: a boundary that may be a step of the walk.
struct Stop {
  std::size_t prefix = 0;
  Counts flagged;
};

std::vector<Stop> stops_of(const Chain& chain) {
  std::vector<Stop> stops;
  for (std::size_t step = 0; step < chain.size(); ++step) {
    if (!chain[step].group_end || chain[step].flagged.rows == 0) continue;
    if (!stops.empty() && stops.back().flagged.rows == chain[step].flagged.rows) continue;
    stops.push_back({step + 1, chain[step].flagged});
  }
  return stops;
}

/// Positives among the rows of each stop as a smooth law says: log odds of a positive are quadratic in the logarithm of
/// the row's rank along the chain, fitted on the first `near_rows` rows.
std::vector<double> smoothed_positives(const std::vector<Stop>& stops, std::int64_t near_rows, double rows_per_unit) {
  // Cells of equal spans of log rank.
  constexpr double kCellsPerOctave = 4;
  std::vector<LogisticCell> cells;
  std::vector<double> log_ranks;
  const auto log_rank = [](double before, double after) { return std::log((before + after) / 2); };
  double begin = 0;
  double positives = 0;
  for (const Stop& stop : stops) {
    const auto rows = static_cast<double>(stop.flagged.rows);
    const bool wide = rows >= std::max(begin * std::exp2(1 / kCellsPerOctave), begin + 8 / rows_per_unit);
    if (!wide && &stop != &stops.back()) continue;
    const double x = log_rank(begin, rows);
    cells.push_back({{1, x, x * x},
                     (rows - begin) * rows_per_unit,
                     (static_cast<double>(stop.flagged.positives) - positives) * rows_per_unit});
    log_ranks.push_back(x);
    begin = rows;
    positives = static_cast<double>(stop.flagged.positives);
    if (begin >= static_cast<double>(near_rows)) break;
  }
  const double middle = log_ranks.empty() ? 0 : log_ranks.back();
  for (LogisticCell& cell : cells) {
    const double x = cell.features[1] - middle;
    cell.features = {1, x, x * x};
  }
  const auto law = fit_logistic(cells, {0, 0, 0}, {0.01, 0.1, 1}).coefficients;
  std::vector<double> smoothed;
  double before = 0;
  double sum = 0;
  for (const Stop& stop : stops) {
    const auto rows = static_cast<double>(stop.flagged.rows);
    const double x = log_rank(before, rows) - middle;
    sum += (rows - before) / (1 + std::exp(-(law[0] + law[1] * x + law[2] * x * x)));
    before = rows;
    smoothed.push_back(sum);
  }
  return smoothed;
}

/// At most `most` of the stops first..last, evenly by rows, the ends with them.
std::vector<Stop> spread(const std::vector<Stop>& stops, std::size_t first, std::size_t last, std::size_t most) {
  std::vector<Stop> chosen;
  const auto low = static_cast<double>(stops[first].flagged.rows);
  const double width = (static_cast<double>(stops[last].flagged.rows) - low) / static_cast<double>(most);
  for (std::size_t at = first; at <= last; ++at) {
    const double next = low + static_cast<double>(chosen.size()) * width;
    if (at == last || static_cast<double>(stops[at].flagged.rows) >= next) chosen.push_back(stops[at]);
  }
  return chosen;
}

/// The rank at which one threshold begins to be tested. Fewer rows have too little power, more of them too little
/// precision; measured on five real sets (docs/algorithms/certify.md).
double first_rank(std::uint64_t rows, double bound, double level) {
  const double by_size = 1.4 * std::sqrt(static_cast<double>(rows));
  // Six times as many as must all be positive to be accepted, as far as there are rows.
  const double by_bound = bound > 0 && bound < 1 ? 6 * std::log(level) / std::log(bound) : 1;
  const auto all = static_cast<double>(rows);
  const double rank = std::min(std::max(by_size, std::min(by_bound, all / 20)), all / 2);
  // With fewer rows than this not even positives alone are accepted, and the walk would end where it begins.
  const double fewest = bound > 0 && bound < 1 ? std::ceil(std::log(level) / std::log(bound)) : 1;
  return fewest <= all / 2 ? std::max(rank, fewest) : rank;
}

/// The stops that are tested, from the smallest boundary to the largest. tested_per_learning: rows that are tested for
/// each that learns.
std::vector<Stop> choose_steps(const std::vector<Stop>& stops, const Objective& objective, const Grid& grid,
                               double tested_per_learning) {
  constexpr std::size_t kMostSteps = 256;
  const Totals totals = totals_of(grid);
  const double per_unit = rows_per_unit(grid);
  const double bound = objective.bound.to_double();
  std::int64_t flagged = 0;  // by the best stop on the learning rows
  for (const Stop& stop : stops) {
    if (is_feasible(objective, totals, stop.flagged) && (objective.goal != Goal::kRecall || flagged == 0)) {
      flagged = stop.flagged.rows;
    }
  }
  const auto at_rows = [&](double rows) {
    const auto found = std::partition_point(
        stops.begin(), stops.end(), [rows](const Stop& stop) { return static_cast<double>(stop.flagged.rows) < rows; });
    return std::min(static_cast<std::size_t>(found - stops.begin()), stops.size() - 1);
  };
  if (is_monotone(objective.goal)) {
    // Nothing is lost by steps that are too many or too far: half of them close to where the bound is just met.
    const auto rows = static_cast<double>(flagged);
    std::vector<Stop> close = spread(stops, at_rows(0.7 * rows), at_rows(1.4 * rows), 2 * kMostSteps);
    std::vector<Stop> all = spread(stops, 0, stops.size() - 1, kMostSteps);
    close.insert(close.end(), all.begin(), all.end());
    std::sort(close.begin(), close.end(), [](const Stop& a, const Stop& b) { return a.prefix < b.prefix; });
    close.erase(
        std::unique(close.begin(), close.end(), [](const Stop& a, const Stop& b) { return a.prefix == b.prefix; }),
        close.end());
    return close;
  }
  // Precision: the surest test first.
  const auto near = std::max<std::int64_t>(3 * flagged, std::llround(1000 / per_unit));
  const std::vector<double> positives = smoothed_positives(stops, near, per_unit);
  const double spread_of_one = std::sqrt(std::max(bound * (1 - bound), 1e-9));
  const auto z = [&](std::size_t at) {
    const auto rows = static_cast<double>(stops[at].flagged.rows);
    return (positives[at] / rows - bound) * std::sqrt(rows * per_unit * tested_per_learning) / spread_of_one;
  };
  std::size_t start = 0;
  double surest = -kInfinity;
  for (std::size_t at = 0; at < stops.size(); ++at) {
    // With fewer rows than this not even positives alone would do.
    const double tested = static_cast<double>(stops[at].flagged.rows) * per_unit * tested_per_learning;
    if (tested < 5 && at + 1 < stops.size()) continue;
    if (z(at) > surest) {
      surest = z(at);
      start = at;
    }
  }
  std::size_t end = start;
  constexpr double kHopeless = -3;  // standard errors: no boundary beyond will be accepted
  for (std::size_t at = start; at < stops.size() && z(at) > kHopeless; ++at) end = at;
  if (surest < 0) end = stops.size() - 1;  // nothing will be accepted: then all of them tell what could be
  return spread(stops, start, end, kMostSteps);
}

/// Thresholds of nested boundaries: equal or lower, step by step.
void append_step(Walk& walk, const std::vector<std::optional<double>>& thresholds) {
  for (std::size_t level = 0; level < thresholds.size(); ++level) {
    auto& steps = walk.thresholds[level];
    const double threshold = thresholds[level].value_or(kInfinity);
    steps.push_back(steps.empty() ? threshold : std::min(steps.back(), threshold));
  }
}

Walk walk_along(const Grid& grid, const Chain& chain, const Objective& objective, double tested_per_learning,
                const SmoothCuts* smooth) {
  Walk walk{grid.edges, std::vector<std::vector<double>>(grid.num_levels())};
  const std::vector<Stop> stops = stops_of(chain);
  if (stops.empty()) return walk;
  for (const Stop& stop : choose_steps(stops, objective, grid, tested_per_learning)) {
    const std::vector<std::int32_t> taken = taken_after(chain, stop.prefix, grid.num_levels());
    append_step(walk, smooth != nullptr ? smooth->thresholds(taken) : make_rule(grid, taken).score_thresholds);
  }
  return walk;
}

/// One threshold at every distinct score of these rows, from the first at or after `rank` of them on.
Walk single_walk(const LearningRows& rows, double rank) {
  std::vector<double> scores = rows.score;
  std::sort(scores.begin(), scores.end(), std::greater<>());
  Walk walk{{}, {{}}};
  for (std::size_t row = 0; row < scores.size(); ++row) {
    const bool group_end = row + 1 == scores.size() || scores[row + 1] < scores[row];
    if (!group_end || static_cast<double>(row + 1) < rank) continue;
    walk.thresholds[0].push_back(row + 1 == scores.size() ? scores[row]
                                                          : shortest_between(scores[row + 1], scores[row]));
  }
  return walk;
}

/// What the learning rows say: how to use the uncertainty, and along which boundaries to walk.
struct Learnt {
  Method method = Method::kSt;
  std::optional<Choice> choice;
  Walk walk;
  /// No row of this score or more was looked at: one threshold from here on is tested on all rows.
  double untouched_from = kInfinity;
};

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
      return walk_along(grid, score_chain(grid), objective_, tested_per_learning, nullptr);
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
      return walk_along(grid, smooth.chain(), objective_, tested_per_learning, &cuts);
    }
    return walk_along(grid, hull_chain(grid), objective_, tested_per_learning, nullptr);
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

/// p-value of "the bound is not kept", by the exact binomial test.
double binomial_p(const Objective& objective, const Counts& all, const Counts& flagged) {
  // The bound as a double, rounded to the strict side.
  const double above = std::min(1.0, std::nextafter(objective.bound.to_double(), 2.0));
  const double below = std::max(0.0, std::nextafter(objective.bound.to_double(), -1.0));
  switch (objective.goal) {
    case Goal::kPrecision:
      return binomial_upper_tail(flagged.positives, flagged.rows, above);
    case Goal::kRecall:
      return binomial_upper_tail(flagged.positives, all.positives, above);
    case Goal::kFalsePositiveRate:
      return binomial_lower_tail(flagged.rows - flagged.positives, all.rows - all.positives, below);
    default:
      return binomial_lower_tail(flagged.rows, all.rows, below);
  }
}

/// Of the steps in the order of the test up to the first that is not accepted, and 1 for those behind it. Steps that
/// are surely accepted have the level itself, but for the last accepted one.
///
/// A bound on precision: the fewest positives among n rows that are accepted, c(n), rise by at most one with each row,
/// so that the most negatives, n - c(n), never fall. Where they are known for n' rows, a step of n >= n' rows with no
/// more negatives is accepted: one search for c(n') takes the place of hundreds of tests.
std::vector<double> binomial_p_values(const Objective& objective, const Counts& all, const std::vector<Counts>& flagged,
                                      double level) {
  const bool skips = objective.goal == Goal::kPrecision;
  const double above = std::min(1.0, std::nextafter(objective.bound.to_double(), 2.0));
  std::vector<double> p_values(flagged.size(), 1);
  std::optional<std::size_t> last;  // that was accepted
  Counts sure;                      // a step of at least so many rows and no more negatives is accepted
  for (std::size_t at = 0; at < flagged.size(); ++at) {
    const std::size_t step = grows_harder(objective.goal) ? at : flagged.size() - 1 - at;
    const Counts& here = flagged[step];
    if (sure.rows > 0 && here.rows >= sure.rows && here.rows - here.positives <= sure.rows - sure.positives) {
      p_values[step] = level;
      last = step;
      continue;
    }
    p_values[step] = binomial_p(objective, all, here);
    if (!(p_values[step] <= level)) break;
    last = step;
    if (!skips) continue;
    sure = {here.rows, fewest_rejecting(here.rows, above, level).value_or(here.positives)};
  }
  if (last && skips) p_values[*last] = binomial_p(objective, all, flagged[*last]);
  return p_values;
}

/// Trials of the binomial test, and how many of them speak for the bound.
Counts trials_of(const Objective& objective, const Counts& all, const Counts& flagged) {
  switch (objective.goal) {
    case Goal::kPrecision:
      return flagged;
    case Goal::kRecall:
      return {all.positives, flagged.positives};
    case Goal::kFalsePositiveRate:
      return {all.rows - all.positives, (all.rows - all.positives) - (flagged.rows - flagged.positives)};
    default:
      return {all.rows, all.rows - flagged.rows};
  }
}

/// The bound on the share of trials that speak for it.
double success_bound(const Objective& objective) {
  const double bound = objective.bound.to_double();
  return objective.goal == Goal::kPrecision || objective.goal == Goal::kRecall ? bound : 1 - bound;
}

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
    worst_ = most * success_bound(objective_);
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
    const double bound = success_bound(objective_);
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

/// Marks the steps that are accepted, in the order of the test; the last one is the answer.
void accept_steps(Certification& found, Goal goal, double level) {
  const std::size_t size = found.steps.size();
  for (std::size_t at = 0; at < size; ++at) {
    const std::size_t step = grows_harder(goal) ? at : size - 1 - at;
    if (!(found.steps[step].p_value <= level)) return;
    found.steps[step].accepted = true;
    found.accepted = step;
  }
}

/// What the tested rows could certify, and how many of them the bound would need, where nothing was certified.
void explain_failure(Certification& found, const Objective& objective, double confidence, std::uint64_t rows) {
  const double bound = success_bound(objective);
  const bool at_least = bound == objective.bound.to_double();
  double best_limit = -1;
  double surest = 0;
  for (const CertifiedStep& step : found.steps) {
    const Counts trials = trials_of(objective, found.tested, step.flagged);
    if (trials.rows == 0) continue;
    best_limit = std::max(best_limit, proportion_lower_limit(trials.positives, trials.rows, confidence));
    const auto size = static_cast<double>(trials.rows);
    const double share = static_cast<double>(trials.positives) / size;
    const double z = (share - bound) * std::sqrt(size);
    if (z <= surest) continue;
    surest = z;
    const auto needed = trials_needed(bound, share, 1 - confidence, 0.8);
    found.rows_needed =
        needed ? std::optional(std::llround(static_cast<double>(rows) * static_cast<double>(*needed) / size))
               : std::nullopt;
  }
  if (best_limit >= 0) found.attainable = at_least ? best_limit : 1 - best_limit;
}

// ---- Rows in memory, and in batches ----

struct MemoryRows {
  const Samples& samples;
  std::span<const std::uint64_t> group;

  [[nodiscard]] std::uint64_t size() const { return samples.size(); }
  [[nodiscard]] std::optional<double> reach(double bound) const {
    ScoreHistogram scores;
    scores.add(samples);
    return scores.reach(bound, size());
  }
  [[nodiscard]] LearningRows collect(const LearningSplit& split, double below = kInfinity) const {
    LearningRows rows;
    rows.add(samples, 0, group, split, below);
    return rows;
  }
  [[nodiscard]] LearningRows collect_tested(const LearningSplit& split, double share) const {
    LearningRows rows;
    rows.add_tested(samples, 0, split, share);
    return rows;
  }
  [[nodiscard]] SplitCounts count(const Walk& walk, const LearningSplit& split) const {
    SplitCounts counts{WalkCounts(walk), WalkCounts(walk)};
    count_walk(walk, samples, 0, group, split, counts);
    return counts;
  }
};

/// Every pass must bring the same rows, and in the same order, because a row's number says on which side it is.
class BatchRows {
 public:
  explicit BatchRows(const SampleBatches& batches) : batches_(batches) {
    pass([this](const Samples& batch, std::uint64_t) { scores_.add(batch); }, first_);
  }

  [[nodiscard]] std::uint64_t size() const { return first_.rows.rows; }
  [[nodiscard]] std::uint64_t positives() const { return first_.rows.positives; }
  [[nodiscard]] std::optional<double> reach(double bound) const { return scores_.reach(bound, size()); }
  [[nodiscard]] LearningRows collect(const LearningSplit& split, double below = kInfinity) const {
    LearningRows rows;
    again([&](const Samples& batch, std::uint64_t first_row) { rows.add(batch, first_row, {}, split, below); });
    return rows;
  }
  [[nodiscard]] LearningRows collect_tested(const LearningSplit& split, double share) const {
    LearningRows rows;
    again([&](const Samples& batch, std::uint64_t first_row) { rows.add_tested(batch, first_row, split, share); });
    return rows;
  }
  [[nodiscard]] SplitCounts count(const Walk& walk, const LearningSplit& split) const {
    SplitCounts counts{WalkCounts(walk), WalkCounts(walk)};
    again(
        [&](const Samples& batch, std::uint64_t first_row) { count_walk(walk, batch, first_row, {}, split, counts); });
    return counts;
  }

 private:
  struct Fingerprint {
    BatchFingerprint rows;
    std::uint64_t order = 0;
  };

  template <typename Visit>
  void pass(const Visit& visit, Fingerprint& fingerprint) const {
    batches_([&](const Samples& batch) {
      const std::uint64_t first_row = fingerprint.rows.rows;
      detail::check_and_add(batch, fingerprint.rows);
      for (std::size_t row = 0; row < batch.size(); ++row) {
        fingerprint.order += mix(std::bit_cast<std::uint64_t>(batch.score[row]) ^ mix(first_row + row));
      }
      visit(batch, first_row);
    });
  }
  template <typename Visit>
  void again(const Visit& visit) const {
    Fingerprint now;
    pass(visit, now);
    detail::require_same_rows(first_.rows, now.rows);
    if (now.order != first_.order) {
      throw InvalidInput("certify", "the rows came in another order; every pass must bring them in the same one",
                         Cause::kFileChanged);
    }
  }

  const SampleBatches& batches_;
  Fingerprint first_;
  ScoreHistogram scores_;
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

/// What is said of a choice that a few rows settle.
Choice settle_for_one(const Information& information) {
  Choice choice;
  choice.information = information;
  choice.candidates.push_back({.method = Method::kSt, .levels = 1});
  choice.why = information.testable
                   ? "uncertainty tells too little about the label beyond the score: one threshold"
                   : "too few rows near the decision to tell whether uncertainty informs: one threshold";
  return choice;
}

/// How the uncertainty is used, and along which boundaries. Rows that learn are those of `split`, none where it has no
/// share.
template <typename Rows>
Learnt learn(const Rows& rows, const Objective& objective, const CertifyOptions& options, bool betting,
             LearningSplit& split) {
  const auto learn_walk = [&](const LearningRows& learning, Method method, std::optional<int> levels, LevelsFrom from,
                              bool levels_chosen) {
    Learner learner(learning, objective);
    if (levels_chosen) learner.levels_were_chosen();
    return learner.learn(method, levels, from, options.edges, (1 - split.share) / split.share);
  };
  // One threshold on every row that did not learn: all distinct scores of them, or of as many as can be kept.
  Learnt learnt;
  const auto one_threshold = [&] {
    constexpr double kMostScores = 1 << 18;
    const double share = std::min(1.0, kMostScores / static_cast<double>(rows.size()));
    const bool from_first = is_monotone(objective.goal);
    const double rank = from_first ? 1 : first_rank(rows.size(), objective.bound.to_double(), 1 - options.confidence);
    const LearningSplit untested{split.seed, learnt.untouched_from < kInfinity ? 0 : split.share};
    return single_walk(rows.collect_tested(untested, share), rank * share * (1 - untested.share));
  };
  const double share = options.learning_share.value_or(learning_share_of(rows.size()));
  if (options.method == Method::kSt && !betting) {
    split.share = options.learning_share.value_or(0);
    learnt.walk = one_threshold();
    return learnt;
  }
  if (options.method != Method::kAuto) {
    split.share = share;
    const LearningRows learning = rows.collect(split);
    if (!learning.has_both_classes()) return learnt;
    learnt.method = options.method;
    learnt.walk = learn_walk(learning, options.method, options.levels, options.levels_from, false);
    return learnt;
  }
  // A few rows tell whether uncertainty may inform at all; only then more of them are given up for its order. If it
  // can be, they are rows that one threshold does not flag, so that it loses nothing by them. Of many rows it hardly
  // loses anything by any: they are taken near the decision too, where uncertainty tells more.
  constexpr double kMayInform = 0.002;
  constexpr double kWorthLearning = 0.03;  // what is given up by testing fewer rows must come back
  split.share = std::min(share, gate_share_of(rows.size()));
  constexpr std::uint64_t kMany = 100'000;
  const bool spares_rows = !betting && !is_monotone(objective.goal) && rows.size() <= kMany;
  const std::optional<double> reach = spares_rows ? rows.reach(objective.bound.to_double()) : std::nullopt;
  LearningRows learning = rows.collect(split, reach.value_or(kInfinity));
  Information information;
  information.testable = learning.has_both_classes();
  if (information.testable) information = Learner(learning, objective).information();
  if (!information.testable || information.p() >= kMayInform) {
    learnt.choice = settle_for_one(information);
    if (!betting) {
      learnt.untouched_from = reach.value_or(kInfinity);
      learnt.walk = one_threshold();
    } else if (learning.has_both_classes()) {
      learnt.walk = learn_walk(learning, Method::kSt, 1, LevelsFrom::kTop, true);
    }
    return learnt;
  }
  ChooseOptions choosing;
  if (share == split.share && !reach) {
    choosing.information = information;  // these are the rows that learn
  } else {
    split.share = share;
    learning = rows.collect(split);
  }
  if (!learning.has_both_classes()) {
    information.testable = false;
    learnt.choice = settle_for_one(information);
    if (!betting) learnt.walk = one_threshold();
    return learnt;
  }
  learnt.choice = choose(Learner(learning, objective).narrow(), objective, choosing);
  if (learnt.choice->chosen != 0 && learnt.choice->best().gain < kWorthLearning) {
    learnt.choice->why += ", which is not worth the rows it takes to learn it: one threshold";
    learnt.choice->chosen = 0;
  }
  const Candidate& best = learnt.choice->best();
  learnt.method = best.method;
  learnt.walk = best.method == Method::kSt && !betting
                    ? one_threshold()
                    : learn_walk(learning, best.method, best.levels, LevelsFrom::kTop, true);
  return learnt;
}

Guarantee guarantee_of(const Certification& found, const CertifyOptions& options, bool groups) {
  const CertifiedStep& step = found.steps[*found.accepted];
  Guarantee guarantee;
  guarantee.confidence = options.confidence;
  guarantee.learning_rows = found.learning.rows;
  guarantee.rows = found.tested.rows;
  guarantee.positives = found.tested.positives;
  guarantee.flagged = step.flagged.rows;
  guarantee.true_positives = step.flagged.positives;
  guarantee.p_value = step.p_value;
  guarantee.test = found.betting ? "betting" : "binomial";
  guarantee.seed = options.seed;
  guarantee.valid_for = groups
                            ? "groups of rows drawn like those of the hold-out and not larger, scored by the same model"
                            : "rows drawn like the hold-out, scored by the same model";
  return guarantee;
}

template <typename Rows>
Certification certify_rows(const Rows& rows, const Objective& objective, const CertifyOptions& options,
                           const Samples* weighted_or_grouped, std::span<const std::uint64_t> group) {
  Certification found;
  LearningSplit split{.seed = options.seed};
  Learnt learnt = learn(rows, objective, options, weighted_or_grouped != nullptr, split);
  found.method = learnt.method;
  found.choice = std::move(learnt.choice);
  found.walk = std::move(learnt.walk);
  found.betting = weighted_or_grouped != nullptr;
  if (found.walk.num_steps() == 0) return found;

  SplitCounts counts = rows.count(found.walk, split);
  WalkCounts all = counts.learning;
  all += counts.tested;
  found.learning = counts.learning.total();
  found.tested = counts.tested.total();
  std::vector<Counts> flagged = counts.tested.flagged();
  if (learnt.untouched_from < kInfinity) {
    const std::vector<double>& thresholds = found.walk.thresholds.front();
    const std::vector<Counts> of_all = all.flagged();
    for (std::size_t step = 0; step < flagged.size() && thresholds[step] >= learnt.untouched_from; ++step) {
      flagged[step] = of_all[step];
    }
  }
  const double level = 1 - options.confidence;
  std::vector<double> p_values;
  if (found.betting) {
    p_values = WeightedUnits(found.walk, *weighted_or_grouped, group, objective).p_values(split, level);
  } else {
    p_values = binomial_p_values(objective, found.tested, flagged, level);
  }
  for (std::size_t step = 0; step < flagged.size(); ++step) found.steps.push_back({flagged[step], p_values[step]});
  accept_steps(found, objective.goal, level);
  if (!found.accepted) {
    explain_failure(found, objective, options.confidence, rows.size());
    return found;
  }

  const bool untouched =
      learnt.untouched_from < kInfinity && found.walk.thresholds.front()[*found.accepted] >= learnt.untouched_from;
  if (untouched) {  // what was looked at has no part in the test
    found.learning = {};
    found.tested = all.total();
  }
  for (std::size_t at = 0; at < found.walk.num_levels(); ++at) {
    found.levels.push_back({all.total(at), all.flagged(at, *found.accepted)});
  }
  Boundary boundary;
  boundary.rule = found.walk.rule(*found.accepted);
  boundary.objective = objective;
  boundary.method = found.method;
  boundary.levels_from = found.walk.num_levels() > 1 ? options.levels_from : LevelsFrom::kAll;
  if (found.choice) boundary.chosen_by = chosen_by(*found.choice);
  boundary.guarantee = guarantee_of(found, options, !group.empty());
  const Counts accepted = found.steps[*found.accepted].flagged;
  if (!found.betting) {
    const Interval precision =
        proportion_interval(static_cast<double>(accepted.positives), static_cast<double>(accepted.rows));
    const Interval recall =
        proportion_interval(static_cast<double>(accepted.positives), static_cast<double>(found.tested.positives));
    boundary.expected = Expected{precision.low, precision.high, recall.low, recall.high, Expected::By::kTestedRows};
  }
  found.boundary = std::move(boundary);
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

/// Of the rows, how many learn the order of two columns: up to some ten thousand of them are worth more than the same
/// rows in the test.
double learning_share_of(std::uint64_t rows) {
  const auto n = static_cast<double>(std::max<std::uint64_t>(rows, 1));
  return std::min(std::clamp(10e3 / n, 0.1, 0.25), 250e3 / n);
}

/// Of the rows, how many `auto` looks at to find out whether uncertainty may inform at all. Of many rows a larger
/// share: the margin of the test is small then, and so is what it loses by testing fewer of them.
double gate_share_of(std::uint64_t rows) {
  const auto n = static_cast<double>(std::max<std::uint64_t>(rows, 1));
  return std::min(std::max(std::clamp(n / 2e6, 0.02, 0.1), std::min(0.05, 400 / n)), 250e3 / n);
}

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
    const bool betting = weighted || has_larger_groups(group);
    Certification found =
        certify_rows(MemoryRows{samples, group}, objective, options, betting ? &samples : nullptr, group);
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
    const BatchRows rows(batches);
    check_classes(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.positives()),
                  allows_all_positive(objective, options));
    return certify_rows(rows, objective, options, nullptr, {});
  });
}

}  // namespace limen
