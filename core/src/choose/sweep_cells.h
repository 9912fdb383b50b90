// SPDX-License-Identifier: MIT
// The cells of a sweep (limen/choose/sweep.h): how they are fitted without some rows and judged on those.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "choose/parts.h"
#include "limen/count/binning.h"
#include "limen/count/grid.h"
#include "limen/solve/method.h"
#include "limen/solve/objective.h"

namespace limen::detail {

/// Rows of one score, level and part.
struct Atom {
  double score;
  Counts counts;
  std::size_t part;
};
using Atoms = std::vector<std::vector<Atom>>;  // of every level, from the highest score down

/// grid: of distinct scores. rows: the same, every row counting once whatever its weight.
[[nodiscard]] Atoms split_into_parts(const Grid& grid, const Grid& rows, std::uint64_t seed);

using Folds = std::vector<std::vector<std::size_t>>;  // the parts of each

/// What all cells of a sweep have in common.
struct Setting {
  Objective objective;
  std::vector<Folds> repetitions = {};
  double unit = 1;
  bool weighted = false;
  double units_per_row = 1;
  Counts all = {};
  std::array<Counts, kParts> part_totals = {};
  double near_share = 1;  ///< of the rows that are near the decision
};

/// A way to fit, on some edges.
struct Way {
  Method method;
  std::vector<double> edges;
  std::vector<double> scaled_uncertainty;
  std::vector<std::optional<std::int64_t>> bins;
  Binning binning;
};

/// One number of bins, judged on rows that it was not fitted on.
struct Judged {
  std::optional<double> value = std::nullopt;  ///< matched, mean over the repetitions; one without any counts as 0
  std::array<double, kParts> without{};        ///< the same without each part
  // As deployed: sums over the folds, means over the repetitions, in units.
  double flagged = 0;
  double true_positives = 0;
  int fits_missed = 0;
  int fits_infeasible = 0;
};

/// One way with each of its numbers of bins, over all folds and repetitions. narrow: the atoms by levels whose edges,
/// narrow_edges, hold those of the way.
[[nodiscard]] std::vector<Judged> judge(const Atoms& narrow, const std::vector<double>& narrow_edges, const Way& way,
                                        const Setting& setting);

}  // namespace limen::detail
