// SPDX-License-Identifier: MIT
#include "choose/cross_validation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "choose/parts.h"
#include "limen/base/random.h"
#include "limen/solve/isotonic.h"

namespace limen::detail {
namespace {

using Table = ScoreTable;

constexpr std::size_t kFolds = 5;

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

struct Judged {
  std::vector<double> values;                   ///< per way
  std::vector<double> gains;                    ///< per way, of all rows
  std::vector<std::vector<double>> part_gains;  ///< per way, without each of the parts
  std::vector<Counts> flagged;                  ///< per way, as deployed
  std::vector<std::int64_t> stops;              ///< per way, rows flagged where it is best
  std::vector<double> lifts;                    ///< per way, of all rows
  std::vector<std::vector<double>> part_lifts;  ///< per way, without each of the parts
};

/// One repetition of the cross-validation.
Judged judge(std::span<const LearnRates> ways, const std::vector<Table>& parts, const Table& table,
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
  for (const LearnRates& learn : ways) {
    LeftOut left_out;
    Counts deployed;
    for (std::size_t fold = 0; fold < kFolds; ++fold) {
      Table learnt = table;
      for (const std::size_t part : folds[fold]) {
        for (std::size_t cell = 0; cell < table.cells.size(); ++cell) learnt.cells[cell] -= parts[part].cells[cell];
      }
      const std::vector<double> rates = learn(learnt, learnt_near);
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

}  // namespace

std::vector<Judgement> cross_validate(std::span<const LearnRates> ways, const ScoreTable& table, std::int64_t near_rows,
                                      const Objective& objective, int repetitions, std::uint64_t seed) {
  const std::vector<Table> parts = split(table, seed);
  const std::size_t size = ways.size();
  std::vector<Judgement> judgements(size);
  std::vector<double> rows(size, 0);
  std::vector<double> positives(size, 0);
  for (Judgement& judgement : judgements) {
    judgement.part_gains.assign(kParts, 0);
    judgement.part_lifts.assign(kParts, 0);
  }
  CounterRandom random(seed, ~std::uint64_t{0});
  const double share = 1.0 / repetitions;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const Judged judged = judge(ways, parts, table, near_rows, objective, random);
    for (std::size_t at = 0; at < size; ++at) {
      Judgement& judgement = judgements[at];
      judgement.value += share * judged.values[at];
      judgement.gain += share * judged.gains[at];
      judgement.lift += share * judged.lifts[at];
      for (std::size_t part = 0; part < kParts; ++part) {
        judgement.part_gains[part] += share * judged.part_gains[at][part];
        judgement.part_lifts[part] += share * judged.part_lifts[at][part];
      }
      judgement.stop_share += share * static_cast<double>(judged.stops[at]) / static_cast<double>(table.total().rows);
      rows[at] += share * static_cast<double>(judged.flagged[at].rows);
      positives[at] += share * static_cast<double>(judged.flagged[at].positives);
    }
  }
  for (std::size_t at = 0; at < size; ++at) {
    judgements[at].gain_se = jackknife_error(judgements[at].part_gains);
    judgements[at].lift_se = jackknife_error(judgements[at].part_lifts);
    judgements[at].flagged = {std::llround(rows[at]), std::llround(positives[at])};
  }
  return judgements;
}

bool is_ahead(const Judgement& a, const Judgement& b, double errors) {
  std::vector<double> difference;
  for (std::size_t part = 0; part < kParts; ++part) difference.push_back(a.part_lifts[part] - b.part_lifts[part]);
  return a.lift - b.lift > errors * jackknife_error(difference) && a.gain > b.gain;
}

namespace {

double in_errors(double value, double error) {
  return error > 0 ? value / error : (value > 0 ? std::numeric_limits<double>::infinity() : 0);
}

}  // namespace

bool is_sure(const Judgement& judgement, double information_p, const ChooseOptions& options) {
  const double gain = in_errors(judgement.gain, judgement.gain_se);
  const double lift = in_errors(judgement.lift, judgement.lift_se);
  if (information_p < options.overwhelming) return gain > 0 && lift > 0;
  return gain > 1 && lift > 1.5 && gain + lift > options.errors_over_one;
}

void put(const Judgement& judgement, const Counts& rows, Candidate& candidate) {
  candidate.value = judgement.value;
  candidate.stop_share = judgement.stop_share;
  candidate.gain = judgement.gain;
  candidate.gain_se = judgement.gain_se;
  candidate.lift = judgement.lift;
  candidate.lift_se = judgement.lift_se;
  candidate.rows = rows;
  candidate.flagged = judgement.flagged;
}

namespace {

ExpectedRange expected(double mean, double rows) {
  if (!(rows > 0)) return {};
  const double error = std::sqrt(std::max(mean * (1 - mean), 0.25 / rows) / rows);
  return {std::max(0.0, mean - 1.96 * error), mean, std::min(1.0, mean + 1.96 * error)};
}

}  // namespace

void expect(Choice& choice) {
  const Candidate& chosen = choice.best();
  const auto flagged = static_cast<double>(chosen.flagged.rows);
  const auto true_positives = static_cast<double>(chosen.flagged.positives);
  const auto all_positives = static_cast<double>(chosen.rows.positives);
  choice.precision = expected(flagged > 0 ? true_positives / flagged : 0, flagged);
  choice.recall = expected(all_positives > 0 ? true_positives / all_positives : 0, all_positives);
}

std::string two_digits(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 2).ptr;
  return {text.data(), end};
}

std::string p_text(double p) { return p < 0.001 ? "p < 0.001" : "p = " + two_digits(p); }

std::vector<double> isotonic_rates(const ScoreTable& table, const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<double> rates(table.cells.size());
  for (const std::vector<std::size_t>& group : groups) {
    std::vector<Bin> bins;
    for (std::size_t bin = 0; bin < table.num_bins(); ++bin) {
      Counts counts;
      for (const std::size_t level : group) counts += table.cells[bin * table.num_levels + level];
      bins.push_back({-static_cast<double>(bin), counts});
    }
    std::size_t bin = 0;
    double rate = 0;
    const auto fill_to = [&](std::size_t block_end) {
      for (; bin < block_end; ++bin) {
        for (const std::size_t level : group) rates[bin * table.num_levels + level] = rate;
      }
    };
    for (const Block& block : concave_blocks(bins)) {
      rate = static_cast<double>(block.counts.positives) / static_cast<double>(block.counts.rows);
      fill_to(block.end);
    }
    fill_to(table.num_bins());
  }
  return rates;
}

}  // namespace limen::detail
