// SPDX-License-Identifier: MIT
#include "promise/certify_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "limen/count/shortest_decimal.h"
#include "limen/promise/binomial.h"
#include "limen/promise/intervals.h"
#include "limen/promise/plan.h"
#include "limen/solve/logistic.h"

namespace limen::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace

/// Of the rows, how many learn the order of two columns: up to some ten thousand of them are worth more than the same
/// rows in the test.
double learning_share(std::uint64_t rows) {
  const auto n = static_cast<double>(std::max<std::uint64_t>(rows, 1));
  return std::min(std::clamp(10e3 / n, 0.1, 0.25), 250e3 / n);
}

/// Of the rows, how many `auto` looks at to find out whether uncertainty may inform at all. Of many rows a larger
/// share: the margin of the test is small then, and so is what it loses by testing fewer of them.
double gate_share(std::uint64_t rows) {
  const auto n = static_cast<double>(std::max<std::uint64_t>(rows, 1));
  return std::min(std::max(std::clamp(n / 2e6, 0.02, 0.1), std::min(0.05, 400 / n)), 250e3 / n);
}

bool is_monotone(Goal goal) { return goal != Goal::kPrecision; }

bool grows_harder(Goal goal) { return goal != Goal::kRecall; }

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

double success_bound(const Objective& objective) {
  const double bound = objective.bound.to_double();
  return objective.goal == Goal::kPrecision || objective.goal == Goal::kRecall ? bound : 1 - bound;
}

Choice settle_for_one(const Information& information) {
  Choice choice;
  choice.information = information;
  choice.candidates.push_back({.method = Method::kSt, .levels = 1});
  choice.why = information.testable
                   ? "uncertainty tells too little about the label beyond the score: one threshold"
                   : "too few rows near the decision to tell whether uncertainty informs: one threshold";
  return choice;
}

void drop_unless_worth_learning(Choice& choice) {
  if (choice.chosen == 0 || choice.best().gain >= kWorthLearning) return;
  choice.why += ", which is not worth the rows it takes to learn it: one threshold";
  choice.chosen = 0;
}

static void accept_steps(Certification& found, Goal goal, double level) {
  const std::size_t size = found.steps.size();
  for (std::size_t at = 0; at < size; ++at) {
    const std::size_t step = grows_harder(goal) ? at : size - 1 - at;
    if (!(found.steps[step].p_value <= level)) return;
    found.steps[step].accepted = true;
    found.accepted = step;
  }
}

static void explain_failure(Certification& found, const Objective& objective, double confidence, std::uint64_t rows) {
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

static Guarantee guarantee_of(const Certification& found, const CertifyOptions& options, bool groups) {
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

void conclude(Certification& found, const SplitCounts& counts, std::optional<double> untouched_from,
              std::optional<std::vector<double>> betting, const Objective& objective, const CertifyOptions& options,
              bool groups) {
  WalkCounts all = counts.learning;
  all += counts.tested;
  found.learning = counts.learning.total();
  found.tested = counts.tested.total();
  std::vector<Counts> flagged = counts.tested.flagged();
  if (untouched_from) {
    const std::vector<double>& thresholds = found.walk.thresholds.front();
    const std::vector<Counts> of_all = all.flagged();
    for (std::size_t step = 0; step < flagged.size() && thresholds[step] >= *untouched_from; ++step) {
      flagged[step] = of_all[step];
    }
  }
  const double level = 1 - options.confidence;
  const std::vector<double> p_values =
      betting ? *std::move(betting) : binomial_p_values(objective, found.tested, flagged, level);
  for (std::size_t step = 0; step < flagged.size(); ++step) found.steps.push_back({flagged[step], p_values[step]});
  accept_steps(found, objective.goal, level);
  if (!found.accepted) {
    explain_failure(found, objective, options.confidence, static_cast<std::uint64_t>(all.total().rows));
    return;
  }

  const bool untouched = untouched_from && found.walk.thresholds.front()[*found.accepted] >= *untouched_from;
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
  boundary.guarantee = guarantee_of(found, options, groups);
  const Counts accepted = found.steps[*found.accepted].flagged;
  if (!found.betting) {
    const Interval precision =
        proportion_interval(static_cast<double>(accepted.positives), static_cast<double>(accepted.rows));
    const Interval recall =
        proportion_interval(static_cast<double>(accepted.positives), static_cast<double>(found.tested.positives));
    boundary.expected = Expected{precision.low, precision.high, recall.low, recall.high, Expected::By::kTestedRows};
  }
  found.boundary = std::move(boundary);
}

}  // namespace limen::detail
