// SPDX-License-Identifier: MIT
#include "limen/choose/choose.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "choose/joint.h"
#include "choose/parts.h"
#include "choose/score_table.h"
#include "limen/base/random.h"
#include "limen/solve/chain.h"
#include "limen/solve/isotonic.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

using Table = detail::ScoreTable;
using detail::jackknife_error;
using detail::kParts;

constexpr std::size_t kFolds = 5;
constexpr int kJointLevels = 4;

std::vector<Table> split(const Table& table, std::uint64_t seed) {
  std::vector<Table> parts(kParts, Table{table.num_levels, std::vector<Counts>(table.cells.size())});
  for (std::size_t cell = 0; cell < table.cells.size(); ++cell) {
    CounterRandom random(seed, cell);
    const Counts& counts = table.cells[cell];
    if (counts.rows == 0) continue;
    const auto positives = detail::split(counts.positives, random);
    const auto negatives = detail::split(counts.rows - counts.positives, random);
    for (std::size_t part = 0; part < kParts; ++part) {
      parts[part].cells[cell] = {positives[part] + negatives[part], positives[part]};
    }
  }
  return parts;
}

/// The first of `size` levels that the level `merged` of `levels` coarser ones is made of.
std::size_t first_of(std::size_t merged, std::size_t levels, std::size_t size) { return merged * size / levels; }

/// Where each of the levels that a candidate puts together ends.
std::vector<std::size_t> partition_of(const Candidate& candidate, const Table& table, const Objective& objective) {
  if (candidate.method == Method::kJoint) return detail::joint_partition(table, objective, candidate.levels);
  const auto levels = static_cast<std::size_t>(candidate.levels);
  std::vector<std::size_t> ends;
  for (std::size_t merged = 0; merged < levels; ++merged)
    ends.push_back(first_of(merged + 1, levels, table.num_levels));
  return ends;
}

/// The rate of positives that a candidate learns for every cell of a table.
std::vector<double> learn(const Candidate& candidate, const Table& table, std::int64_t near_rows,
                          const Objective& objective) {
  const Grid grid = table.grid();
  std::vector<double> rates(table.cells.size());
  if (candidate.method == Method::kSmooth) {
    const auto log_odds = SmoothFit(grid, near_rows).log_odds();
    for (std::size_t cell = 0; cell < rates.size(); ++cell) {
      rates[cell] = log_odds[cell % table.num_levels][cell / table.num_levels];
    }
    return rates;
  }
  // Levels put together, each with its isotonic regression.
  std::size_t begin = 0;
  for (const std::size_t end : partition_of(candidate, table, objective)) {
    std::vector<Bin> bins;
    for (std::size_t bin = 0; bin < table.num_bins(); ++bin) {
      Counts counts;
      for (std::size_t level = begin; level < end; ++level) counts += table.cells[bin * table.num_levels + level];
      bins.push_back({-static_cast<double>(bin), counts});
    }
    std::size_t bin = 0;
    double rate = 0;
    const auto fill_to = [&](std::size_t block_end) {
      for (; bin < block_end; ++bin) {
        for (std::size_t level = begin; level < end; ++level) rates[bin * table.num_levels + level] = rate;
      }
    };
    for (const Block& block : concave_blocks(bins)) {
      rate = static_cast<double>(block.counts.positives) / static_cast<double>(block.counts.rows);
      fill_to(block.end);
    }
    fill_to(table.num_bins());
    begin = end;
  }
  return rates;
}

/// Cells of all folds in order of falling rate, as learnt without the fold, with the fold's counts.
struct LeftOut {
  struct Entry {
    double rate;
    std::size_t fold;
    std::size_t cell;
    Counts counts;
  };
  std::vector<Entry> entries;
};

/// A part of the rows that is not looked at, as if it were not there; none: `part` is null.
struct Without {
  const Table* part = nullptr;
  std::size_t fold = 0;  ///< that the part is in

  [[nodiscard]] Counts counts(const LeftOut::Entry& entry) const {
    return part != nullptr && fold == entry.fold ? entry.counts - part->cells[entry.cell] : entry.counts;
  }
};

/// What is flagged where the objective is best along the entries.
std::optional<Counts> best_stop(const LeftOut& left_out, const Without& without, const Objective& objective,
                                const Totals& totals) {
  std::optional<Counts> best;
  Counts flagged;
  const auto consider = [&] {
    if (!is_feasible(objective, totals, flagged)) return;
    if (!best || is_better(objective, totals, flagged, *best)) best = flagged;
  };
  consider();
  for (std::size_t at = 0; at < left_out.entries.size(); ++at) {
    const LeftOut::Entry& entry = left_out.entries[at];
    flagged += without.counts(entry);
    const bool group_end = at + 1 == left_out.entries.size() || left_out.entries[at + 1].rate < entry.rate;
    if (group_end) consider();
  }
  return best;
}

/// Rate of positives among the rows of the highest rates: the mean over numbers of rows around `rows`, so that no
/// single row decides. Of a group of equal rates as many as its share.
double rate_at_top(const LeftOut& left_out, const Without& without, double rows) {
  constexpr std::array kShares = {0.7, 0.85, 1.0, 1.2, 1.4};
  double rates = 0;
  std::size_t next = 0;
  Counts flagged;
  Counts group;
  for (std::size_t at = 0; at < left_out.entries.size() && next < kShares.size(); ++at) {
    const LeftOut::Entry& entry = left_out.entries[at];
    group += without.counts(entry);
    const bool group_end = at + 1 == left_out.entries.size() || left_out.entries[at + 1].rate < entry.rate;
    if (!group_end) continue;
    for (; next < kShares.size() && kShares[next] * rows <= static_cast<double>(flagged.rows + group.rows); ++next) {
      const double wanted = kShares[next] * rows;
      const double share =
          group.rows > 0 ? (wanted - static_cast<double>(flagged.rows)) / static_cast<double>(group.rows) : 0;
      rates += (static_cast<double>(flagged.positives) + share * static_cast<double>(group.positives)) / wanted;
    }
    flagged += group;
    group = {};
  }
  return next > 0 ? rates / static_cast<double>(next) : 0;
}

/// Relative gain of a value over that of one threshold; from nothing to something counts as all.
double relative_gain(const std::optional<double>& value, const std::optional<double>& single, bool minimizes) {
  if (!value || !single) return value ? 1 : (single ? -1 : 0);
  const double gain = minimizes ? *single - *value : *value - *single;
  return *single == 0 ? (gain > 0 ? 1 : 0) : gain / std::abs(*single);
}

std::string two_digits(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 2).ptr;
  return {text.data(), end};
}

std::string p_text(double p) { return p < 0.001 ? "p < 0.001" : "p = " + two_digits(p); }

struct Judged {
  std::vector<double> values;                   ///< per candidate
  std::vector<double> gains;                    ///< per candidate, of all rows
  std::vector<std::vector<double>> part_gains;  ///< per candidate, without each of the parts
  std::vector<Counts> flagged;                  ///< per candidate, as deployed
  std::vector<std::int64_t> stops;              ///< per candidate, rows flagged where it is best
  std::vector<double> lifts;                    ///< per candidate, of all rows
  std::vector<std::vector<double>> part_lifts;  ///< per candidate, without each of the parts
};

/// One repetition of the cross-validation.
Judged judge(const std::vector<Candidate>& candidates, const std::vector<Table>& parts, const Table& table,
             std::int64_t near_rows, const Objective& objective, CounterRandom& random) {
  const std::vector<std::vector<std::size_t>> folds = detail::make_folds(kFolds, random);
  std::vector<std::size_t> fold_of(kParts);
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    for (const std::size_t part : folds[fold]) fold_of[part] = fold;
  }
  const bool minimizes = objective.goal == Goal::kCost;
  const Counts all = table.total();
  std::vector<Counts> part_totals;
  for (const Table& part : parts) part_totals.push_back(part.total());
  const double learnt_share = 1 - 1.0 / static_cast<double>(kFolds);
  const auto learnt_near = static_cast<std::int64_t>(learnt_share * static_cast<double>(near_rows));

  Judged judged;
  std::vector<std::optional<double>> single;  // as `values` and `rates` below
  std::vector<double> single_rates;
  for (const Candidate& candidate : candidates) {
    LeftOut left_out;
    Counts deployed;
    for (std::size_t fold = 0; fold < kFolds; ++fold) {
      Table learnt = table;
      for (const std::size_t part : folds[fold]) {
        for (std::size_t cell = 0; cell < table.cells.size(); ++cell) learnt.cells[cell] -= parts[part].cells[cell];
      }
      const std::vector<double> rates = learn(candidate, learnt, learnt_near, objective);
      for (std::size_t cell = 0; cell < rates.size(); ++cell) {
        const Counts counts = table.cells[cell] - learnt.cells[cell];
        if (counts.rows > 0) left_out.entries.push_back({rates[cell], fold, cell, counts});
      }
      // As deployed: the stop that is best on the rows learnt from.
      std::vector<std::size_t> by_rate;
      for (std::size_t cell = 0; cell < rates.size(); ++cell) {
        if (table.cells[cell].rows > 0) by_rate.push_back(cell);
      }
      std::stable_sort(by_rate.begin(), by_rate.end(),
                       [&](std::size_t a, std::size_t b) { return rates[a] > rates[b]; });
      const Totals totals = learnt.totals();
      Counts flagged;
      Counts best;
      Counts flagged_of_all;  // rows left out, too
      Counts best_of_all;
      bool found = is_feasible(objective, totals, {});
      for (std::size_t at = 0; at < by_rate.size(); ++at) {
        flagged += learnt.cells[by_rate[at]];
        flagged_of_all += table.cells[by_rate[at]];
        if (at + 1 < by_rate.size() && rates[by_rate[at + 1]] == rates[by_rate[at]]) continue;
        if (!is_feasible(objective, totals, flagged)) continue;
        if (found && !is_better(objective, totals, flagged, best)) continue;
        found = true;
        best = flagged;
        best_of_all = flagged_of_all;
      }
      deployed += best_of_all - best;
    }
    std::stable_sort(left_out.entries.begin(), left_out.entries.end(),
                     [](const auto& a, const auto& b) { return a.rate > b.rate; });
    std::vector<std::optional<double>> values;  // of all rows, then without each part
    std::vector<double> at_top;
    for (std::size_t part = 0; part <= kParts; ++part) {
      const Without without = part == 0 ? Without{} : Without{&parts[part - 1], fold_of[part - 1]};
      const Totals totals = Table::totals_of_rows(part == 0 ? all : all - part_totals[part - 1]);
      const auto stop = best_stop(left_out, without, objective, totals);
      values.push_back(stop ? std::optional(objective_value(objective, totals, *stop)) : std::nullopt);
      if (part == 0) judged.stops.push_back(stop ? stop->rows : 0);
      const double share = static_cast<double>(totals.all.rows) / static_cast<double>(all.rows);
      at_top.push_back(rate_at_top(left_out, without, share * static_cast<double>(near_rows) / 3));
    }
    if (single.empty()) single = values;
    if (single_rates.empty()) single_rates = at_top;
    const auto lift = [&](std::size_t part) {
      return single_rates[part] > 0 ? at_top[part] / single_rates[part] - 1 : 0;
    };
    judged.lifts.push_back(lift(0));
    auto& part_lifts = judged.part_lifts.emplace_back();
    for (std::size_t part = 1; part <= kParts; ++part) part_lifts.push_back(lift(part));
    judged.values.push_back(values[0].value_or(0));
    judged.gains.push_back(relative_gain(values[0], single[0], minimizes));
    auto& part_gains = judged.part_gains.emplace_back();
    for (std::size_t part = 0; part < kParts; ++part) {
      part_gains.push_back(relative_gain(values[part + 1], single[part + 1], minimizes));
    }
    judged.flagged.push_back(deployed);
  }
  return judged;
}

double in_errors(double value, double error) {
  return error > 0 ? value / error : (value > 0 ? std::numeric_limits<double>::infinity() : 0);
}

ExpectedRange expected(double mean, double rows) {
  if (!(rows > 0)) return {};
  const double error = std::sqrt(std::max(mean * (1 - mean), 0.25 / rows) / rows);
  return {std::max(0.0, mean - 1.96 * error), mean, std::min(1.0, mean + 1.96 * error)};
}

}  // namespace

std::vector<double> coarser_edges(std::span<const double> edges, int levels) {
  const std::size_t size = edges.size() + 1;
  const std::size_t wanted = std::min(static_cast<std::size_t>(levels), size);
  std::vector<double> coarser;
  for (std::size_t merged = 1; merged < wanted; ++merged) coarser.push_back(edges[first_of(merged, wanted, size) - 1]);
  return coarser;
}

ChosenBy chosen_by(const Choice& choice) {
  ChosenBy by{choice.information.p(), {}, choice.why};
  for (const Candidate& candidate : choice.candidates) {
    by.candidates.push_back(
        {candidate.method, candidate.levels, candidate.gain, candidate.gain_se, candidate.lift, candidate.lift_se});
  }
  return by;
}

Choice choose(const Grid& grid, const Objective& objective, const ChooseOptions& options) {
  validate(grid);
  validate(objective);
  const std::int64_t near_rows = rows_near_decision(grid, score_chain(grid), objective);
  Choice choice;
  choice.information = options.information ? *options.information : test_information(grid, near_rows, options.seed);
  const double p = choice.information.p();
  const bool informs = choice.information.testable && p < options.significance;
  choice.candidates.push_back({.method = Method::kSt, .levels = 1});
  const auto num_levels = static_cast<int>(grid.num_levels());
  if (choice.information.testable) {
    choice.candidates.push_back({.method = Method::kSmooth, .levels = num_levels});
    for (const int levels : {2, 4, 8, 16}) {
      if (levels < num_levels && options.levels_merge) {
        choice.candidates.push_back({.method = Method::kExact, .levels = levels});
      }
    }
    if (options.levels_merge && num_levels > kJointLevels) {
      choice.candidates.push_back({.method = Method::kJoint, .levels = kJointLevels});
    }
    if (!options.levels_merge) choice.candidates.push_back({.method = Method::kExact, .levels = num_levels});
  }

  const Table table = detail::score_table(grid, near_rows);
  const auto table_near = static_cast<std::int64_t>(rows_per_unit(grid) * static_cast<double>(near_rows));
  const std::vector<Table> parts = split(table, options.seed);
  const std::size_t size = choice.candidates.size();
  std::vector<std::vector<double>> part_gains(size, std::vector<double>(kParts, 0));
  std::vector<std::vector<double>> part_lifts(size, std::vector<double>(kParts, 0));
  CounterRandom random(options.seed, ~std::uint64_t{0});
  std::vector<double> rows(size, 0);
  std::vector<double> positives(size, 0);
  const double share = 1.0 / options.repetitions;
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    const Judged judged = judge(choice.candidates, parts, table, table_near, objective, random);
    for (std::size_t at = 0; at < size; ++at) {
      choice.candidates[at].value += share * judged.values[at];
      choice.candidates[at].gain += share * judged.gains[at];
      choice.candidates[at].lift += share * judged.lifts[at];
      for (std::size_t part = 0; part < kParts; ++part) {
        part_gains[at][part] += share * judged.part_gains[at][part];
        part_lifts[at][part] += share * judged.part_lifts[at][part];
      }
      choice.candidates[at].stop_share +=
          share * static_cast<double>(judged.stops[at]) / static_cast<double>(table.total().rows);
      rows[at] += share * static_cast<double>(judged.flagged[at].rows);
      positives[at] += share * static_cast<double>(judged.flagged[at].positives);
    }
  }
  for (std::size_t at = 0; at < size; ++at) {
    choice.candidates[at].gain_se = jackknife_error(part_gains[at]);
    choice.candidates[at].lift_se = jackknife_error(part_lifts[at]);
    choice.candidates[at].rows = table.total();
    choice.candidates[at].flagged = {std::llround(rows[at]), std::llround(positives[at])};
  }

  const auto is_ahead = [&](std::size_t a, std::size_t b, double errors) {
    std::vector<double> difference;
    for (std::size_t part = 0; part < kParts; ++part) difference.push_back(part_lifts[a][part] - part_lifts[b][part]);
    return choice.candidates[a].lift - choice.candidates[b].lift > errors * jackknife_error(difference) &&
           choice.candidates[a].gain > choice.candidates[b].gain;
  };
  constexpr std::size_t kSmoothAt = 1;
  if (!choice.information.testable) {
    choice.why = "too few rows near the decision to tell whether uncertainty informs: one threshold";
  } else if (!informs) {
    choice.why = "uncertainty tells nothing about the label beyond the score near the decision (" + p_text(p) +
                 "): one threshold";
  } else {
    const auto is_sure = [&](std::size_t at) {
      const Candidate& candidate = choice.candidates[at];
      const double gain = in_errors(candidate.gain, candidate.gain_se);
      const double lift = in_errors(candidate.lift, candidate.lift_se);
      if (choice.information.p_value < options.overwhelming) return gain > 0 && lift > 0;
      return gain > 1 && lift > 1.5 && gain + lift > options.errors_over_one;
    };
    if (is_sure(kSmoothAt)) choice.chosen = kSmoothAt;
    for (std::size_t at = kSmoothAt + 1; at < size; ++at) {
      const bool ahead = is_ahead(at, kSmoothAt, options.errors_over_smooth) &&
                         (choice.chosen <= kSmoothAt || choice.candidates[at].lift > choice.best().lift);
      if (is_sure(at) && ahead) choice.chosen = at;
    }
    const Candidate& chosen = choice.best();
    const std::string evidence = "uncertainty informs (" + p_text(p) + ")";
    if (choice.chosen == 0) {
      choice.why = evidence + ", but no use of it was surely better than one threshold on rows left out";
    } else {
      choice.why = evidence + "; " + std::string(to_string(chosen.method)) + " on " + std::to_string(chosen.levels) +
                   " levels was " + two_digits(100 * chosen.gain) + "% better than one threshold on rows left out";
    }
  }
  const Candidate& chosen = choice.best();
  const auto flagged = static_cast<double>(chosen.flagged.rows);
  const auto true_positives = static_cast<double>(chosen.flagged.positives);
  const auto all_positives = static_cast<double>(chosen.rows.positives);
  choice.precision = expected(flagged > 0 ? true_positives / flagged : 0, flagged);
  choice.recall = expected(all_positives > 0 ? true_positives / all_positives : 0, all_positives);
  return choice;
}

}  // namespace limen
