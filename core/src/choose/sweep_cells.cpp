// SPDX-License-Identifier: MIT
#include "choose/sweep_cells.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "limen/base/wide.h"
#include "limen/count/levels.h"
#include "limen/solve/chain.h"
#include "limen/solve/solve.h"

namespace limen::detail {
namespace {

Totals totals_of(const Counts& counts) {
  return {counts, counts.positives, counts.rows - counts.positives, counts.rows};
}

/// The units of rows of one label, shared out among the parts as the rows are.
class UnitShares {
 public:
  UnitShares(std::int64_t rows, std::int64_t units, CounterRandom& random)
      : parts_(split(rows, random)), rows_(rows), units_(units) {}

  /// Of the next part.
  std::int64_t next() {
    if (parts_[part_] == 0) return parts_[part_++];
    rows_before_ += parts_[part_++];
    const auto until = static_cast<std::int64_t>(Wide{units_} * rows_before_ / rows_);
    return until - std::exchange(units_before_, until);
  }

 private:
  std::array<std::int64_t, kParts> parts_;
  std::int64_t rows_;
  std::int64_t units_;
  std::size_t part_ = 0;
  std::int64_t rows_before_ = 0;
  std::int64_t units_before_ = 0;
};

/// The atoms of narrow levels in wider ones, whose edges are among those of the narrow ones.
Atoms widen(const Atoms& narrow, const std::vector<double>& narrow_edges, const std::vector<double>& edges) {
  Atoms wide(edges.size() + 1);
  for (std::size_t level = 0; level < narrow.size(); ++level) {
    auto& to = wide[level == 0 ? 0 : level_of(edges, narrow_edges[level - 1])];
    to.insert(to.end(), narrow[level].begin(), narrow[level].end());
  }
  tbb::parallel_for(std::size_t{0}, wide.size(), [&](std::size_t level) {
    std::ranges::stable_sort(wide[level], std::ranges::greater(), &Atom::score);
  });
  return wide;
}

/// What the boundaries of a nested family flag among the rows left out, at every stop, part by part of the fold.
struct Path {
  std::vector<double> share = {0};  ///< of the learning rows that are flagged
  std::vector<Counts> left_out;     ///< stop * parts of the fold + part
};

/// One fit, judged on the rows left out.
struct FoldResult {
  Path path;
  Counts deployed;
  bool missed = false;
  bool infeasible = false;
};

/// Every distinct score of the rows that are not in the fold.
Grid learning_grid(const Atoms& atoms, const Way& way, const std::array<std::size_t, kParts>& slot,
                   const Setting& setting) {
  Grid grid;
  grid.edges = way.edges;
  grid.scaled_uncertainty = way.scaled_uncertainty;
  grid.unit = setting.unit;
  for (const auto& level : atoms) {
    auto& bins = grid.levels.emplace_back();
    for (const Atom& atom : level) {
      if (slot[atom.part] < kParts) continue;
      if (bins.empty() || bins.back().threshold != atom.score) bins.push_back({atom.score, {}});
      bins.back().counts += atom.counts;
    }
  }
  if (setting.weighted) {
    const Counts total = total_counts(grid);
    const double rows = static_cast<double>(total.rows) / setting.units_per_row;
    grid.totals = RowTotals{total.positives, total.rows - total.positives, std::llround(rows)};
  }
  return grid;
}

/// The rows of the fold in the bins of a grid, cut where a rule would cut them: [level][bin * parts of the fold +
/// part].
std::vector<std::vector<Counts>> count_left_out(const Atoms& atoms, const Grid& grid,
                                                const std::array<std::size_t, kParts>& slot, std::size_t num_slots) {
  std::vector<std::vector<Counts>> left_out;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    const std::vector<double> cuts = score_cuts(grid.levels[level]);
    auto& counts = left_out.emplace_back(cuts.size() * num_slots);
    std::size_t bin = 0;
    for (const Atom& atom : atoms[level]) {
      if (slot[atom.part] == kParts) continue;
      while (bin < cuts.size() && atom.score < cuts[bin]) ++bin;
      if (bin == cuts.size()) break;
      counts[bin * num_slots + slot[atom.part]] += atom.counts;
    }
  }
  return left_out;
}

/// Steps of the method's chain bin by bin; a boundary may stop inside a step, and where the chain says so.
Path walk(const Chain& chain, const Grid& grid, const std::vector<std::vector<Counts>>& left_out, std::size_t num_slots,
          double near_share) {
  constexpr double kStops = 4000;
  const auto all = static_cast<double>(std::max<std::int64_t>(1, total_counts(grid).rows));
  Path path;
  path.left_out.resize(num_slots);
  std::vector<Counts> flagged(num_slots);
  std::vector<std::int32_t> taken(grid.num_levels(), 0);
  std::int64_t rows = 0;
  const auto stop_at = [&](double share) {
    path.share.push_back(share);
    path.left_out.insert(path.left_out.end(), flagged.begin(), flagged.end());
  };
  double last_place = 0;
  for (const ChainStep& step : chain) {
    const auto level = static_cast<std::size_t>(step.level);
    while (taken[level] < step.taken) {
      const auto bin = static_cast<std::size_t>(taken[level]++);
      rows += grid.levels[level][bin].counts.rows;
      for (std::size_t slot = 0; slot < num_slots; ++slot) flagged[slot] += left_out[level][bin * num_slots + slot];
      if (taken[level] == step.taken && !step.group_end) continue;
      const double share = static_cast<double>(rows) / all;
      const double place = std::floor(share / near_share * kStops);
      if (share > near_share || place == last_place) continue;
      last_place = place;
      stop_at(share);
    }
  }
  const double share = static_cast<double>(rows) / all;
  if (share > path.share.back()) stop_at(share);
  return path;
}

Counts flagged_left_out(const std::vector<std::vector<Counts>>& left_out, const std::vector<std::int32_t>& taken,
                        std::size_t num_slots) {
  Counts flagged;
  for (std::size_t level = 0; level < taken.size(); ++level) {
    for (std::size_t at = 0; at < static_cast<std::size_t>(taken[level]) * num_slots; ++at) {
      flagged += left_out[level][at];
    }
  }
  return flagged;
}

/// One fold with every number of bins.
std::vector<FoldResult> judge_fold(const Atoms& atoms, const Way& way, const std::vector<std::size_t>& fold,
                                   const Setting& setting) {
  std::array<std::size_t, kParts> slot{};  // of each part in the fold; kParts: not in it
  slot.fill(kParts);
  Counts fold_total;
  for (std::size_t at = 0; at < fold.size(); ++at) {
    slot[fold[at]] = at;
    fold_total += setting.part_totals[fold[at]];
  }
  const Totals totals = totals_of(fold_total);
  const Grid distinct = learning_grid(atoms, way, slot, setting);
  std::vector<FoldResult> results;
  for (const auto& bins : way.bins) {
    const Grid grid = bins ? merge_bins(distinct, *bins, way.binning) : distinct;
    const auto left_out = count_left_out(atoms, grid, slot, fold.size());
    FoldResult& result = results.emplace_back();
    result.path = walk(chain_of(way.method, grid), grid, left_out, fold.size(), setting.near_share);
    const Solution solution = solve(way.method, grid, setting.objective);
    result.infeasible = solution.status == SolveStatus::kInfeasible;
    if (result.infeasible) continue;
    result.deployed = flagged_left_out(left_out, solution.taken, fold.size());
    // Of nothing flagged there is no precision that could miss a bound.
    result.missed = constraint_value(setting.objective, totals, result.deployed).has_value() &&
                    !is_feasible(setting.objective, totals, result.deployed);
  }
  return results;
}

/// The value of all rows left out, then of those without each part.
using Values = std::array<std::optional<double>, kParts + 1>;

/// Every fold stops where it flags nearly the same share of its learning rows; the best share counts.
Values pool(const std::vector<const Path*>& paths, const Folds& folds, const Setting& setting) {
  std::vector<double> shares;
  for (const Path* path : paths) shares.insert(shares.end(), path->share.begin(), path->share.end());
  std::ranges::sort(shares);
  shares.erase(std::ranges::unique(shares).begin(), shares.end());

  std::array<std::optional<Counts>, kParts + 1> best;
  std::array<Totals, kParts + 1> totals;
  totals[0] = totals_of(setting.all);
  for (std::size_t part = 0; part < kParts; ++part) {
    totals[part + 1] = totals_of(setting.all - setting.part_totals[part]);
  }
  std::vector<std::size_t> stop(paths.size(), 0);
  std::array<Counts, kParts> flagged{};
  for (const double share : shares) {
    Counts sum;
    for (std::size_t fold = 0; fold < paths.size(); ++fold) {
      const Path& path = *paths[fold];
      std::size_t& at = stop[fold];
      while (at + 1 < path.share.size() && path.share[at + 1] - share <= share - path.share[at]) ++at;
      for (std::size_t slot = 0; slot < folds[fold].size(); ++slot) {
        const Counts& counts = path.left_out[at * folds[fold].size() + slot];
        flagged[folds[fold][slot]] = counts;
        sum += counts;
      }
    }
    for (std::size_t at = 0; at <= kParts; ++at) {
      const Counts counts = at == 0 ? sum : sum - flagged[at - 1];
      if (!is_feasible(setting.objective, totals[at], counts)) continue;
      if (!best[at] || is_better(setting.objective, totals[at], counts, *best[at])) best[at] = counts;
    }
  }
  Values values;
  const Goal goal = setting.objective.goal;
  const bool is_recall = goal == Goal::kPrecision || goal == Goal::kFalsePositiveRate || goal == Goal::kFlagRate;
  for (std::size_t at = 0; at <= kParts; ++at) {
    if (!best[at]) continue;
    const double value = objective_value(setting.objective, totals[at], *best[at]);
    const auto positives = static_cast<double>(std::max<std::int64_t>(1, totals[at].all.positives));
    values[at] = is_recall ? value / positives : value * (goal == Goal::kCost ? setting.unit : 1);
  }
  return values;
}

}  // namespace

Atoms split_into_parts(const Grid& grid, const Grid& rows, std::uint64_t seed) {
  Atoms atoms(grid.num_levels());
  std::uint64_t cell = 0;
  for (std::size_t level = 0; level < grid.num_levels(); ++level) {
    for (std::size_t bin = 0; bin < grid.levels[level].size(); ++bin) {
      const Counts& units = grid.levels[level][bin].counts;
      const Counts& counts = rows.levels[level][bin].counts;
      CounterRandom random(seed, cell++);
      UnitShares positives(counts.positives, units.positives, random);
      UnitShares negatives(counts.rows - counts.positives, units.rows - units.positives, random);
      for (std::size_t part = 0; part < kParts; ++part) {
        const std::int64_t positive = positives.next();
        const std::int64_t negative = negatives.next();
        if (positive + negative == 0) continue;
        atoms[level].push_back({grid.levels[level][bin].threshold, {positive + negative, positive}, part});
      }
    }
  }
  return atoms;
}

std::vector<Judged> judge(const Atoms& narrow, const std::vector<double>& narrow_edges, const Way& way,
                          const Setting& setting) {
  const Atoms atoms = widen(narrow, narrow_edges, way.edges);
  const std::size_t num_folds = setting.repetitions[0].size();
  std::vector<std::vector<FoldResult>> fits(setting.repetitions.size() * num_folds);
  tbb::parallel_for(std::size_t{0}, fits.size(), [&](std::size_t fit) {
    fits[fit] = judge_fold(atoms, way, setting.repetitions[fit / num_folds][fit % num_folds], setting);
  });
  std::vector<Judged> judged(way.bins.size());
  tbb::parallel_for(std::size_t{0}, way.bins.size(), [&](std::size_t bin) {
    Judged& cell = judged[bin];
    const double share = 1.0 / static_cast<double>(setting.repetitions.size());
    for (std::size_t repetition = 0; repetition < setting.repetitions.size(); ++repetition) {
      std::vector<const Path*> paths;
      for (std::size_t fold = 0; fold < num_folds; ++fold) {
        const FoldResult& fit = fits[repetition * num_folds + fold][bin];
        paths.push_back(&fit.path);
        cell.flagged += share * static_cast<double>(fit.deployed.rows);
        cell.true_positives += share * static_cast<double>(fit.deployed.positives);
        cell.fits_missed += fit.missed ? 1 : 0;
        cell.fits_infeasible += fit.infeasible ? 1 : 0;
      }
      const Values values = pool(paths, setting.repetitions[repetition], setting);
      if (values[0]) cell.value = cell.value.value_or(0) + share * *values[0];
      for (std::size_t part = 0; part < kParts; ++part) cell.without[part] += share * values[part + 1].value_or(0);
    }
  });
  return judged;
}

}  // namespace limen::detail
