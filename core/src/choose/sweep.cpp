// SPDX-License-Identifier: MIT
#include "limen/choose/sweep.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "choose/parts.h"
#include "choose/sweep_cells.h"
#include "limen/base/error.h"
#include "limen/base/parallel.h"
#include "limen/count/top_rows.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

using detail::Judged;
using detail::kParts;
using Bins = std::optional<std::int64_t>;

std::int64_t or_most(const Bins& bins) { return bins.value_or(std::numeric_limits<std::int64_t>::max()); }

std::vector<int> levels_to_try(const SweepOptions& options) {
  if (!info_of(options.method).has_levels()) return {1};
  std::vector<int> levels = options.levels;
  if (levels.empty()) levels = {1, 2, 3, 5, 8, 13, 21};
  std::ranges::sort(levels);
  levels.erase(std::ranges::unique(levels).begin(), levels.end());
  return levels;
}

std::vector<Bins> bins_to_try(const SweepOptions& options) {
  std::vector<Bins> bins = options.bins;
  if (bins.empty()) {
    bins = {20, 50, 100, 200, 500, 1000};
    if (!info_of(options.method).needs_bins) bins.emplace_back();
  }
  std::ranges::sort(bins, {}, or_most);
  bins.erase(std::ranges::unique(bins).begin(), bins.end());
  return bins;
}

/// The edges of a number of levels, as fit_boundary makes them. top: the score that rows near the decision reach.
std::vector<double> level_edges(const Samples& samples, const SampleRanges& ranges, double top, int levels,
                                const SweepOptions& options) {
  if (options.levels_from == LevelsFrom::kTop && options.binning == Binning::kEquiWeight) {
    return top_edges(samples, top, levels);
  }
  return uncertainty_edges(samples.uncertainty, ranges.uncertainty, levels, options.binning);
}

/// Positive: a is better.
double advantage(double a, double b, bool minimizes) { return minimizes ? b - a : a - b; }

SweepCell make_cell(const Judged& judged, const Judged& single, const detail::Setting& setting) {
  SweepCell cell;
  cell.value = judged.value;
  cell.flagged = judged.flagged * setting.unit;
  cell.true_positives = judged.true_positives * setting.unit;
  cell.precision = judged.flagged > 0 ? judged.true_positives / judged.flagged : 0;
  cell.recall = judged.true_positives / static_cast<double>(setting.all.positives);
  cell.fits_missed = judged.fits_missed;
  cell.fits_infeasible = judged.fits_infeasible;
  if (!judged.value || single.value.value_or(0) == 0) return cell;
  const bool minimizes = setting.objective.goal == Goal::kCost;
  cell.gain = advantage(*judged.value, *single.value, minimizes) / *single.value;
  std::vector<double> gains;
  for (std::size_t part = 0; part < kParts; ++part) {
    if (single.without[part] == 0) continue;
    gains.push_back(advantage(judged.without[part], single.without[part], minimizes) / single.without[part]);
  }
  if (!gains.empty()) cell.gain_se = detail::jackknife_error(gains);
  return cell;
}

double error_of_difference(const Judged& a, const Judged& b) {
  std::array<double, kParts> difference{};
  for (std::size_t part = 0; part < kParts; ++part) difference[part] = a.without[part] - b.without[part];
  return detail::jackknife_error(difference);
}

/// The best cell, and the smallest within one standard error of its lead over one threshold. Not of its lead over that
/// cell: a few wide bins make figures jump, and would be let through because theirs is large.
void mark(Sweep& found, const std::vector<Judged>& judged, const Judged& single, bool minimizes) {
  for (std::size_t at = 0; at < judged.size(); ++at) {
    if (!judged[at].value) continue;
    if (!found.best || advantage(*judged[at].value, *judged[*found.best].value, minimizes) > 0) found.best = at;
  }
  if (!found.best) return;
  const Judged& best = judged[*found.best];
  const double error = error_of_difference(best, single);
  for (std::size_t at = 0; !found.smallest; ++at) {
    if (judged[at].value && advantage(*best.value, *judged[at].value, minimizes) <= error) found.smallest = at;
  }
}

std::string digits(double value, int count) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, count).ptr;
  return {text.data(), end};
}

std::string cell_text(const SweepCell& cell) {
  return std::to_string(cell.levels) + (cell.levels == 1 ? " level" : " levels") + " with " + bins_text(cell.bins);
}

std::string explain(const Sweep& found, const Objective& objective) {
  if (!found.best) return "no number of levels and bins meets the bound on rows left out";
  const SweepCell& best = found.cells[*found.best];
  if (best.gain && *best.gain <= 0) {
    return "no number of levels and bins is better than one threshold on rows left out";
  }
  std::string text =
      "best on rows left out: " + cell_text(best) + ", " + value_name(objective) + " " + digits(*best.value, 4);
  if (!best.gain) {
    text += ", where one threshold has none";
  } else {
    text += ", " + digits(100 * *best.gain, 2) + "% better than one threshold (standard error " +
            digits(100 * best.gain_se, 2) + "%" +
            (*best.gain < 2 * best.gain_se ? ": noise alone could bring that)" : ")");
  }
  if (*found.smallest != *found.best) {
    text += "; the smallest within one standard error of it: " + cell_text(found.cells[*found.smallest]);
  }
  return text;
}

void check_classes(const Grid& grid, const Grid& rows, int folds) {
  const Counts units = total_counts(grid);
  if (units.positives == 0 || units.positives == units.rows) {
    const std::string what = grid.totals ? "weight" : "row";
    throw InvalidInput("sweep",
                       (units.positives == 0 ? "no " : "every ") + what + " is positive; both classes are needed",
                       Cause::kOneClass);
  }
  const Counts counts = total_counts(rows);
  const std::int64_t fewer = std::min(counts.positives, counts.rows - counts.positives);
  if (fewer < folds) {
    throw InvalidInput("sweep", "there are " + std::to_string(counts.positives) + " positive and " +
                                    std::to_string(counts.rows - counts.positives) + " negative rows, and " +
                                    std::to_string(folds) + " folds of a cross-validation need that many of each");
  }
}

Sweep sweep_in_arena(const Samples& samples, const Objective& objective, const SweepOptions& options) {
  if (samples.size() == 0) throw InvalidInput("sweep", "there are no rows", Cause::kNoRows);
  const SampleRanges ranges = validate(samples);
  const WeightUnits units = weight_units(samples, positive_rounding(objective));
  const Samples unweighted{samples.score, samples.uncertainty, samples.label, {}};

  Sweep found;
  found.levels = levels_to_try(options);
  found.bins = bins_to_try(options);
  found.num_fits = options.folds * options.repetitions;
  const Grid in_one_level = count_distinct(samples, {}, units);
  check_classes(in_one_level, count_distinct(unweighted, {}), options.folds);

  detail::Setting setting{.objective = objective};
  setting.all = total_counts(in_one_level);
  setting.near_share = static_cast<double>(rows_near_decision(in_one_level, score_chain(in_one_level), objective)) /
                       static_cast<double>(setting.all.rows);
  const std::int64_t near_rows = std::llround(setting.near_share * static_cast<double>(samples.size()));
  const double top = top_score(samples, near_rows);
  std::vector<detail::Way> ways = {{Method::kSt, {}, {}, {Bins{}}, options.binning}};
  std::vector<double> all_edges;
  for (const int levels : found.levels) {
    detail::Way way{
        options.method, level_edges(samples, ranges, top, levels, options), {}, found.bins, options.binning};
    all_edges.insert(all_edges.end(), way.edges.begin(), way.edges.end());
    if (options.method == Method::kHr) {
      way.scaled_uncertainty = count_bins(unweighted, way.edges, 1).scaled_uncertainty;
    }
    ways.push_back(std::move(way));
  }
  std::ranges::sort(all_edges);
  all_edges.erase(std::ranges::unique(all_edges).begin(), all_edges.end());

  const Grid grid = count_distinct(samples, all_edges, units);
  setting.unit = grid.unit;
  setting.weighted = grid.totals.has_value();
  setting.units_per_row = 1 / rows_per_unit(grid);
  const detail::Atoms atoms =
      detail::split_into_parts(grid, setting.weighted ? count_distinct(unweighted, all_edges) : grid, options.seed);
  for (const auto& level : atoms) {
    for (const detail::Atom& atom : level) setting.part_totals[atom.part] += atom.counts;
  }
  CounterRandom random(options.seed, ~std::uint64_t{0});
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    setting.repetitions.push_back(detail::make_folds(static_cast<std::size_t>(options.folds), random));
  }
  found.rows = setting.unit * static_cast<double>(setting.all.rows);
  found.positives = setting.unit * static_cast<double>(setting.all.positives);

  const Judged single = detail::judge(atoms, all_edges, ways[0], setting)[0];
  found.single = make_cell(single, single, setting);
  std::vector<Judged> judged;
  for (std::size_t level = 0; level < found.levels.size(); ++level) {
    const detail::Way& way = ways[level + 1];
    for (const Judged& of_bins : detail::judge(atoms, all_edges, way, setting)) {
      SweepCell& cell = found.cells.emplace_back(make_cell(of_bins, single, setting));
      cell.levels = found.levels[level];
      cell.levels_used = static_cast<int>(way.edges.size()) + 1;
      cell.bins = found.bins[judged.size() % found.bins.size()];
      judged.push_back(of_bins);
    }
  }
  mark(found, judged, single, objective.goal == Goal::kCost);
  found.why = explain(found, objective);
  return found;
}

}  // namespace

void validate(const SweepOptions& options) {
  const auto check = [](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return;
    throw InvalidInput("sweep", std::string(field) + " is " + std::to_string(value) + ", must be " +
                                    std::to_string(low) + " to " + std::to_string(high));
  };
  const bool has_levels = info_of(options.method).has_levels();
  for (const int levels : options.levels) {
    check("levels", levels, 1, 1000);
    if (!has_levels && levels != 1) {
      throw InvalidInput("sweep", "levels is " + std::to_string(levels) + ", and " +
                                      std::string(to_string(options.method)) + " has one level");
    }
  }
  for (const Bins& bins : options.bins) {
    if (bins) check("bins", *bins, 1, std::int64_t{1} << 30);
  }
  if (options.method == Method::kSmooth || options.method == Method::kJoint || options.method == Method::kAuto) {
    throw InvalidInput("sweep", "method " + std::string(to_string(options.method)) +
                                    " has no numbers of levels and score bins to try");
  }
  check("folds", options.folds, 2, kParts);
  check("repetitions", options.repetitions, 1, 1000);
  check("num_threads", options.num_threads, 0, std::numeric_limits<int>::max());
}

std::string value_name(const Objective& objective) {
  switch (objective.goal) {
    case Goal::kRecall:
      return "precision";
    case Goal::kCost:
      return "cost";
    case Goal::kFBeta:
      return "F-beta";
    default:
      return "recall";
  }
}

std::string bins_text(const std::optional<std::int64_t>& bins) {
  if (!bins) return "every score";
  return std::to_string(*bins) + (*bins == 1 ? " bin" : " bins");
}

Sweep sweep(const Samples& samples, const Objective& objective, const SweepOptions& options) {
  validate(options);
  validate(objective);
  tbb::task_arena arena(detail::arena_size(options.num_threads));
  return arena.execute([&] { return sweep_in_arena(samples, objective, options); });
}

}  // namespace limen
