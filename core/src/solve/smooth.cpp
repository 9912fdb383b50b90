// SPDX-License-Identifier: MIT
//
// SMOOTH: one threshold on a model of the label with few parameters, so that little of the hold-out's noise is learnt.
// The boundaries are the prefixes of all bins in order of falling log odds (SmoothModel); on many narrow levels
// that is a smooth curve score >= b(uncertainty).

#include "limen/solve/smooth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "limen/count/shortest_decimal.h"
#include "limen/solve/logistic.h"
#include "limen/solve/solve.h"
#include "solve/certificate.h"

namespace limen {
namespace {

/// A higher score never counts against a row: the least weight of f.
constexpr double kLeastSlope = 0.05;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t num_strata(const Counts& near, double rows_per_unit, std::size_t most) {
  const double rarer = rows_per_unit * static_cast<double>(std::min(near.positives, near.rows - near.positives));
  return static_cast<std::size_t>(std::clamp(rarer / 30, 2.0, static_cast<double>(most)));
}

/// Calls visit(step of the chain, rows above the middle of its score) for the first `end` steps. Equal scores share the
/// middle of their ranks.
template <typename Visit>
void for_each_middle(const Chain& by_score, std::size_t end, const Visit& visit) {
  for (std::size_t begin = 0; begin < end;) {
    std::size_t last = begin;
    while (!by_score[last].group_end) ++last;
    const double middle = 0.5 * static_cast<double>(counts_after(by_score, begin).rows + by_score[last].flagged.rows);
    for (; begin <= last; ++begin) visit(begin, middle);
  }
}

}  // namespace

std::int64_t rows_near_decision(const Grid& grid, const Chain& by_score, const Objective& objective) {
  const Totals totals = totals_of(grid);
  const auto steps = best_prefix(by_score, objective, totals);
  // Where no single threshold will do, as many rows as there are positives.
  const std::int64_t flagged = steps ? counts_after(by_score, *steps).rows : totals.all.positives;
  const auto least = static_cast<std::int64_t>(1000 / rows_per_unit(grid));
  return std::clamp(3 * flagged, std::min(least, totals.all.rows), totals.all.rows);
}

NearRows::NearRows(const Grid& grid, const Chain& by_score, std::int64_t rows, std::size_t most_strata) {
  std::size_t end = 0;
  while (end < by_score.size() && (counts_after(by_score, end).rows < rows || !by_score[end - 1].group_end)) ++end;
  total_ = counts_after(by_score, end);
  const double all = std::max(1.0, static_cast<double>(total_.rows));

  cells_.assign(num_strata(total_, rows_per_unit(grid), most_strata), std::vector<Cell>(grid.num_levels()));
  const auto for_each_bin = [&](const auto& visit) {
    for_each_middle(by_score, end, [&](std::size_t step, double middle) {
      const auto strata = static_cast<double>(cells_.size());
      const std::size_t stratum = std::min(cells_.size() - 1, static_cast<std::size_t>(middle / all * strata));
      visit(cells_[stratum][static_cast<std::size_t>(by_score[step].level)],
            by_score[step].flagged - counts_after(by_score, step), middle);
    });
  };
  for_each_bin([](Cell& cell, const Counts& counts, double) { cell.counts += counts; });
  std::int64_t below = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    std::int64_t of_level = 0;
    for (const auto& stratum : cells_) of_level += stratum[level].counts.rows;
    level_rank_.push_back(static_cast<double>(2 * below + of_level) / all - 1);
    below += of_level;
  }
  fit_score();
  for_each_bin([&](Cell& cell, const Counts& counts, double middle) {
    if (counts.rows == 0) return;
    cell.score_log_odds +=
        static_cast<double>(counts.rows) / static_cast<double>(cell.counts.rows) * score_log_odds(middle);
  });
}

/// Knots at the isotonic blocks of the strata.
void NearRows::fit_score() {
  std::vector<Bin> bins;
  for (const auto& stratum : cells_) {
    Counts counts;
    for (const Cell& cell : stratum) counts += cell.counts;
    bins.push_back({-static_cast<double>(bins.size()), counts});
  }
  Counts before;
  for (const Block& block : concave_blocks(bins)) {
    const double middle = static_cast<double>(before.rows) + 0.5 * static_cast<double>(block.counts.rows);
    before += block.counts;
    const auto positives = static_cast<double>(block.counts.positives);
    const auto negatives = static_cast<double>(block.counts.rows) - positives;
    const Knot knot{std::log(middle / static_cast<double>(total_.rows)),
                    std::log((positives + 0.5) / (negatives + 0.5))};
    // Half a row more on either side can undo the order of two blocks of nearly equal rates.
    if (knots_.empty() || knot.log_odds < knots_.back().log_odds) knots_.push_back(knot);
  }
  if (knots_.empty()) knots_.push_back({0, 0});
  // A score that tells nothing still orders the rows.
  slope_ = knots_.size() == 1
               ? -0.01
               : (knots_.back().log_odds - knots_.front().log_odds) / (knots_.back().depth - knots_.front().depth);
}

double NearRows::score_log_odds(double above) const {
  const double depth = std::log(std::max(above, 0.25) / std::max(1.0, static_cast<double>(total_.rows)));
  if (depth <= knots_.front().depth) return knots_.front().log_odds + slope_ * (depth - knots_.front().depth);
  if (depth >= knots_.back().depth) return knots_.back().log_odds + slope_ * (depth - knots_.back().depth);
  const auto next =
      std::partition_point(knots_.begin(), knots_.end(), [&](const Knot& knot) { return knot.depth <= depth; });
  const Knot& from = *std::prev(next);
  return from.log_odds + (next->log_odds - from.log_odds) / (next->depth - from.depth) * (depth - from.depth);
}

SmoothModel::SmoothModel(const NearRows& near) : near_(near) {
  std::vector<LogisticCell> cells;
  for (const auto& stratum : near.cells()) {
    for (std::size_t level = 0; level < stratum.size(); ++level) {
      const Counts& counts = stratum[level].counts;
      if (counts.rows == 0) continue;
      const double w = near.level_rank(level);
      const double f = stratum[level].score_log_odds;
      cells.push_back(
          {{1, f, w, w * w, f * w}, static_cast<double>(counts.rows), static_cast<double>(counts.positives)});
    }
  }
  // A weak pull towards the score alone, as of a few rows, keeps separable data finite.
  const std::vector<double> found = fit_logistic(cells, {0, 1, 0, 0, 0}, {0.01, 1, 1, 1, 1}).coefficients;
  std::copy(found.begin(), found.end(), coefficients_.begin());
}

double SmoothModel::log_odds(std::size_t level, double above) const {
  const auto& [a0, a1, b1, b2, c] = coefficients_;
  const double w = near_.level_rank(level);
  return a0 + b1 * w + b2 * w * w + std::max(kLeastSlope, a1 + c * w) * near_.score_log_odds(above);
}

SmoothFit::SmoothFit(const Grid& grid, std::int64_t near_rows)
    : grid_(grid), by_score_(score_chain(grid)), near_(grid, by_score_, near_rows, 64), model_(near_) {}

SmoothFit::SmoothFit(const Grid& grid, const Objective& objective)
    : grid_(grid),
      by_score_(score_chain(grid)),
      near_(grid, by_score_, rows_near_decision(grid, by_score_, objective), 64),
      model_(near_) {}

std::vector<std::vector<double>> SmoothFit::log_odds() const {
  std::vector<std::vector<double>> log_odds(grid_.num_levels());
  for_each_middle(by_score_, by_score_.size(), [&](std::size_t step, double middle) {
    const auto level = static_cast<std::size_t>(by_score_[step].level);
    log_odds[level].push_back(model_.log_odds(level, middle));
  });
  return log_odds;
}

std::vector<std::optional<double>> SmoothFit::thresholds(std::span<const std::int32_t> taken) const {
  return SmoothCuts(*this).thresholds(taken);
}

SmoothCuts::SmoothCuts(const SmoothFit& fit) : fit_(fit) {
  for (const auto& level : fit_.grid_.levels) {
    sides_.push_back(
        {std::vector<double>(level.size() + 1, kInfinity), std::vector<double>(level.size() + 1, -kInfinity)});
  }
  for_each_middle(fit_.by_score_, fit_.by_score_.size(), [&](std::size_t step, double middle) {
    const auto level = static_cast<std::size_t>(fit_.by_score_[step].level);
    const auto bin = static_cast<std::size_t>(fit_.by_score_[step].taken) - 1;
    if (fit_.grid_.levels[level][bin].counts.rows == 0) return;
    const double score = fit_.grid_.levels[level][bin].threshold;
    if (places_.empty() || places_.back().score != score) places_.push_back({score, middle});
    sides_[level].flagged[bin + 1] = sides_[level].other[bin] = fit_.model_.log_odds(level, middle);
  });
  for (Sides& side : sides_) {
    for (std::size_t taken = 1; taken < side.flagged.size(); ++taken) {
      side.flagged[taken] = std::min(side.flagged[taken], side.flagged[taken - 1]);
    }
    for (std::size_t taken = side.other.size() - 1; taken-- > 0;) {
      side.other[taken] = std::max(side.other[taken], side.other[taken + 1]);
    }
  }
}

std::vector<std::optional<double>> SmoothCuts::thresholds(std::span<const std::int32_t> taken) const {
  // The model is cut between the flagged bin of the lowest and the other bin of the highest log odds.
  double flagged = kInfinity;
  double other = -kInfinity;
  for (std::size_t level = 0; level < sides_.size(); ++level) {
    flagged = std::min(flagged, sides_[level].flagged[static_cast<std::size_t>(taken[level])]);
    other = std::max(other, sides_[level].other[static_cast<std::size_t>(taken[level])]);
  }
  const double cut = std::isfinite(flagged) && std::isfinite(other) ? flagged / 2 + other / 2 : flagged;
  std::vector<std::optional<double>> thresholds;
  for (std::size_t level = 0; level < sides_.size(); ++level) {
    // What the level's own rows allow: above `below`, and not above `at`.
    const auto& bins = fit_.grid_.levels[level];
    const auto has_rows = [](const Bin& bin) { return bin.counts.rows > 0; };
    const auto first_other = bins.begin() + taken[level];
    const auto next = std::find_if(first_other, bins.end(), has_rows);
    const auto last = std::find_if(std::make_reverse_iterator(first_other), bins.rend(), has_rows);
    double below = next == bins.end() ? -kInfinity : next->highest;
    double at = last == bins.rend() ? kInfinity : last->threshold;
    // And the scores of other levels between which the model is cut.
    const auto end = std::partition_point(places_.begin(), places_.end(), [&](const Place& place) {
      return fit_.model_.log_odds(level, place.above) >= cut;
    });
    if (end != places_.begin() && std::prev(end)->score > below) at = std::min(at, std::prev(end)->score);
    if (end != places_.end() && end->score < at) below = std::max(below, end->score);
    if (at == kInfinity) {
      thresholds.emplace_back(std::nullopt);
    } else {
      thresholds.emplace_back(below == -kInfinity ? at : shortest_between(below, at));
    }
  }
  return thresholds;
}

Solution solve_smooth(const Problem& problem, double most_share) {
  const Chain chain = SmoothFit(problem.grid(), problem.objective()).chain();
  const double most_rows = most_share * static_cast<double>(problem.totals().all.rows);
  std::size_t end = chain.size();
  while (end > 0 && (static_cast<double>(chain[end - 1].flagged.rows) > most_rows || !chain[end - 1].group_end)) --end;
  if (end < chain.size()) {
    const Chain shorter(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(end));
    Solution solution = detail::solve_on_chain(problem, shorter);
    if (solution.status != SolveStatus::kInfeasible) return solution;
  }
  return detail::solve_on_chain(problem, chain);
}

}  // namespace limen
