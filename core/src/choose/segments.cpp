// SPDX-License-Identifier: MIT
#include "limen/choose/segments.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "choose/cross_validation.h"
#include "choose/joint.h"
#include "choose/score_table.h"
#include "limen/base/error.h"
#include "limen/solve/chain.h"
#include "limen/solve/smooth.h"

namespace limen {
namespace {

using Table = detail::ScoreTable;
using Groups = std::vector<std::vector<std::size_t>>;

/// The cells of `levels` levels made of the inner ones, in every segment, or of all segments together.
Groups groups_of(std::size_t num_cells, std::size_t inner, std::size_t levels, bool segments) {
  Groups groups(levels * (segments ? num_cells / inner : 1));
  for (std::size_t cell = 0; cell < num_cells; ++cell) {
    std::size_t merged = 0;
    while (detail::first_of(merged + 1, levels, inner) <= cell % inner) ++merged;
    groups[(segments ? cell / inner * levels : 0) + merged].push_back(cell);
  }
  return groups;
}

/// The counts of all segments together.
Table without_segments(const Table& table, std::size_t inner) {
  Table merged{inner, std::vector<Counts>(table.num_bins() * inner)};
  for (std::size_t at = 0; at < table.cells.size(); ++at) {
    merged.cells[at / table.num_levels * inner + at % table.num_levels % inner] += table.cells[at];
  }
  return merged;
}

/// What a candidate that looks at no segment learns, for every segment the same.
std::vector<double> learn_without(const Candidate& candidate, const Table& table, std::size_t inner,
                                  std::int64_t near_rows, const Objective& objective) {
  const Table merged = without_segments(table, inner);
  std::vector<double> rates;
  if (candidate.method == Method::kSmooth) {
    const Grid grid = merged.grid();
    const auto log_odds = SmoothFit(grid, near_rows).log_odds();
    for (std::size_t bin = 0; bin < merged.num_bins(); ++bin) {
      for (std::size_t level = 0; level < inner; ++level) rates.push_back(log_odds[level][bin]);
    }
  } else {
    Groups groups;
    std::size_t level = 0;
    const auto levels = std::min(static_cast<std::size_t>(candidate.levels), inner);
    std::vector<std::size_t> ends;
    if (candidate.method == Method::kJoint) {
      ends = detail::joint_partition(merged, objective, static_cast<int>(levels));
    } else {
      for (std::size_t at = 0; at < levels; ++at) ends.push_back(detail::first_of(at + 1, levels, inner));
    }
    for (const std::size_t end : ends) {
      groups.emplace_back();
      while (level < end) groups.back().push_back(level++);
    }
    rates = detail::isotonic_rates(merged, groups);
  }
  std::vector<double> all(table.cells.size());
  for (std::size_t at = 0; at < all.size(); ++at) {
    all[at] = rates[at / table.num_levels * inner + at % table.num_levels % inner];
  }
  return all;
}

/// The grid with a level for each segment: by hand, because bins of a segment's levels may overlap.
Grid by_segment(const Grid& grid, std::size_t inner) {
  Grid merged;
  merged.unit = grid.unit;
  merged.totals = grid.totals;
  for (std::size_t first = 0; first < grid.num_levels(); first += inner) {
    if (first > 0) merged.edges.push_back(static_cast<double>(first / inner));
    std::vector<Bin> bins;
    for (std::size_t level = first; level < first + inner; ++level) {
      for (const Bin& bin : grid.levels[level]) bins.push_back({bin.threshold, bin.counts});
    }
    std::ranges::stable_sort(bins, [](const Bin& a, const Bin& b) { return a.threshold > b.threshold; });
    std::vector<Bin>& put = merged.levels.emplace_back();
    for (const Bin& bin : bins) {
      if (!put.empty() && put.back().threshold == bin.threshold) {
        put.back().counts += bin.counts;
      } else {
        put.push_back(bin);
      }
    }
  }
  return merged;
}

/// Rows near the decision of one threshold, or near that of thresholds on segments, which may flag many more.
std::int64_t rows_near_segments(const Grid& grid, const Objective& objective) {
  const Chain chain = hull_chain(grid);
  const auto stop = best_prefix(chain, objective, totals_of(grid));
  const std::int64_t flagged = stop ? counts_after(chain, *stop).rows : 0;
  const std::int64_t most = total_counts(grid).rows;
  return std::min(most, std::max(rows_near_decision(grid, score_chain(grid), objective), 3 * flagged));
}

std::string percent_text(double gain) {
  return gain < 1 ? detail::two_digits(100 * gain) : std::to_string(std::llround(100 * gain));
}

}  // namespace

Choice choose_segments(const Grid& grid, std::size_t inner, const Choice& by_uncertainty, const Objective& objective,
                       const ChooseOptions& options) {
  validate(grid);
  validate(objective);
  if (inner < 1 || grid.num_levels() % inner != 0) {
    throw InvalidInput("choose_segments", std::to_string(grid.num_levels()) + " cells are no segments of " +
                                              std::to_string(inner) + " levels");
  }
  const Grid segment_grid = by_segment(grid, inner);
  const std::int64_t near_rows = rows_near_segments(segment_grid, objective);
  Choice choice;
  choice.information = by_uncertainty.information;
  choice.segment_information = test_categories(segment_grid, near_rows, options.seed);
  const Information& information = *choice.segment_information;
  const double p = information.p();
  const bool informs = information.testable && p < options.significance;
  const Candidate& rival = by_uncertainty.best();
  choice.candidates.push_back({.method = Method::kSt, .levels = 1});
  const bool has_rival = by_uncertainty.chosen != 0;
  if (has_rival) choice.candidates.push_back({.method = rival.method, .levels = rival.levels});
  choice.chosen = has_rival ? 1 : 0;
  if (!informs) {
    const std::string why =
        information.testable
            ? "segments tell nothing about the label beyond the score near the decision (" + detail::p_text(p) + ")"
            : std::string("too few rows near the decision to tell whether segments inform");
    choice.why = why + "; " + by_uncertainty.why;
    choice.candidates = by_uncertainty.candidates;
    choice.chosen = by_uncertainty.chosen;
    choice.precision = by_uncertainty.precision;
    choice.recall = by_uncertainty.recall;
    return choice;
  }
  const std::size_t alone = choice.candidates.size();
  choice.candidates.push_back({.method = Method::kExact, .levels = 1, .segments = true});
  const bool uncertainty_informs =
      by_uncertainty.information.testable && by_uncertainty.information.p() < options.significance;
  if (uncertainty_informs) {
    for (const int levels : {2, 4}) {
      if (static_cast<std::size_t>(levels) > inner) break;
      choice.candidates.push_back({.method = Method::kExact, .levels = levels, .segments = true});
    }
  }

  const Table table = detail::score_table(grid, near_rows);
  const auto table_near = static_cast<std::int64_t>(rows_per_unit(grid) * static_cast<double>(near_rows));
  std::vector<detail::LearnRates> ways;
  for (const Candidate& candidate : choice.candidates) {
    if (candidate.segments) {
      const Groups groups = groups_of(grid.num_levels(), inner, static_cast<std::size_t>(candidate.levels), true);
      ways.emplace_back([groups](const Table& learnt, std::int64_t) { return detail::isotonic_rates(learnt, groups); });
    } else {
      ways.emplace_back([candidate, inner, &objective](const Table& learnt, std::int64_t near) {
        return learn_without(candidate, learnt, inner, near, objective);
      });
    }
  }
  const std::vector<detail::Judgement> judgements =
      detail::cross_validate(ways, table, table_near, objective, options.repetitions, options.seed);
  for (std::size_t at = 0; at < judgements.size(); ++at) {
    detail::put(judgements[at], table.total(), choice.candidates[at]);
  }
  std::size_t to_beat = choice.chosen;  // by three standard errors, where it has more than one threshold
  for (std::size_t at = alone; at < choice.candidates.size(); ++at) {
    const bool sure = detail::is_sure(judgements[at], information.p_value, options);
    const bool ahead =
        to_beat == 0 || detail::is_ahead(judgements[at], judgements[to_beat], options.errors_over_smooth);
    if (sure && ahead) choice.chosen = to_beat = at;
  }
  const std::string evidence = "segments inform (" + detail::p_text(p) + ")";
  const Candidate& chosen = choice.best();
  if (!chosen.segments) {
    choice.why = evidence + ", but no use of them was surely better than " +
                 (has_rival ? "uncertainty levels" : "one threshold") + " on rows left out; " + by_uncertainty.why;
    choice.precision = by_uncertainty.precision;
    choice.recall = by_uncertainty.recall;
    return choice;
  }
  choice.why = evidence + "; " + std::string(to_string(chosen.method)) + " on segments" +
               (chosen.levels > 1 ? " of " + std::to_string(chosen.levels) + " levels each" : "") + " was " +
               percent_text(chosen.gain) + "% better than one threshold on rows left out";
  detail::expect(choice);
  return choice;
}

}  // namespace limen
