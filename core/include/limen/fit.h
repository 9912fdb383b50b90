// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limen/choose/choose.h"
#include "limen/count/binning.h"
#include "limen/count/counted_rows.h"
#include "limen/count/samples.h"
#include "limen/judge/metrics.h"
#include "limen/solve/boundary.h"
#include "limen/solve/near_optimum.h"
#include "limen/solve/solve.h"

namespace limen {

/// Number of score bins per level; all = every distinct score is its own bin.
struct BinCount {
  std::optional<std::int64_t> count;

  static BinCount all() { return {}; }
  static BinCount of(std::int64_t bins) { return {bins}; }
  friend bool operator==(const BinCount&, const BinCount&) = default;
};

struct FitOptions {
  Method method = Method::kExact;
  /// Uncertainty levels, 1 to 1000; `st` always has one. Unset: as many as suit the method (method.h). `auto` chooses
  /// levels and bins itself and refuses both.
  std::optional<int> levels = std::nullopt;
  LevelsFrom levels_from = LevelsFrom::kAll;
  /// Score bins per level. Unset: every distinct score for `exact` and `st`, which need no bins, and 500 for the
  /// others.
  std::optional<BinCount> bins = std::nullopt;
  /// How many levels, and bins, by cross-validation (sweep.h): the fewest levels within a standard error of the best,
  /// with the bins that suit them. Rows in memory; not for `auto`, `joint` and `smooth`, and in place of numbers given.
  bool sweep_levels = false;
  bool sweep_bins = false;
  Binning binning = Binning::kEquiWeight;
  /// Thresholds that never fall, or never rise, with uncertainty: the best of these. `exact` and `joint` only, and not
  /// for rows in batches.
  std::optional<Direction> monotone = std::nullopt;
  /// Threads used, 0 = all cores. The result does not depend on it.
  int num_threads = 0;
  /// Rows in batches: how many of them may be kept in memory at a time, about 30 bytes each. At least 1000.
  std::size_t most_rows_kept = std::size_t{1} << 22;
};

/// Throws InvalidInput that names field, value and range.
void validate(const FitOptions& options);

struct FitResult {
  Solution solution;
  std::optional<Boundary> boundary;  ///< unset when infeasible
  int levels_used = 0;               ///< fewer than asked for when uncertainty has too few distinct values
  std::optional<Choice> choice;      ///< of `auto`
  /// The boundary's decisions on the hold-out per level, as evaluate gives them; empty when infeasible.
  std::vector<Confusion> levels;
};

/// A fit and what a single threshold (`st`, over every distinct score) reaches for the same objective.
struct FitBesideSingle {
  FitResult fit;
  FitResult single;
};

/// The number of levels that these options mean.
[[nodiscard]] int levels_of(const FitOptions& options);

/// The number of score bins that these options mean.
[[nodiscard]] BinCount bins_of(const FitOptions& options);

/// The hold-out counted as the options say: what the method then solves on.
[[nodiscard]] Grid make_holdout_grid(const Samples& samples, const Objective& objective, const FitOptions& options);

/// The edges of those levels. Throws InvalidInput.
[[nodiscard]] std::vector<double> level_edges(const Samples& samples, const Objective& objective,
                                              const FitOptions& options);

/// The score that the rows near the decision reach: three times as many as the best single threshold flags, at least a
/// thousand, or all. Throws InvalidInput.
[[nodiscard]] double near_score(const Samples& samples, const Objective& objective);
/// The same of rows that were counted before. single: count_distinct of the samples in one level, with the weight_units
/// of the objective's rounding.
[[nodiscard]] double near_score(const Samples& samples, const Grid& single, const Objective& objective);

/// Bins the hold-out, solves, and packs the boundary with its certificate. `auto` decides whether uncertainty helps
/// near the decision, and how much of it to use (choose.h), and fits that: `st`, `smooth`, or `exact` on levels from
/// the top.
/// Throws InvalidInput: bad samples (see validate), no rows, only one class, bad options.
[[nodiscard]] FitResult fit_boundary(const Samples& samples, const Objective& objective,
                                     const FitOptions& options = {});

/// fit_boundary on levels between these edges, whatever the options say of levels; not for `auto` and `joint`, which
/// find their own. Rows of one class are fitted too: of no positives nothing may be flagged, or anything.
[[nodiscard]] FitResult fit_on_edges(const Samples& samples, const std::vector<double>& edges,
                                     const Objective& objective, const FitOptions& options);

/// Both as fit_boundary gives them; of rows that are counted without a sort from the same passes, for little more than
/// the time of one. Then, if no single threshold is feasible, its best_attainable is a precision that is attained, not
/// always the best.
[[nodiscard]] FitBesideSingle fit_beside_single(const Samples& samples, const Objective& objective,
                                                const FitOptions& options = {});

/// Both of method `auto`, of rows that were counted before: whoever fits one hold-out for many bounds counts its scores
/// once. single: see near_score.
[[nodiscard]] FitBesideSingle fit_auto(const Samples& samples, const Grid& single, const Objective& objective,
                                       int num_threads = 0);

/// fit_boundary on rows counted elsewhere: solves on the bins of the grid as they are; levels, bins and binning of the
/// options are not used. `auto` chooses as for rows, from the levels of the grid; it puts levels together only where
/// their bins do not overlap.
[[nodiscard]] FitResult fit_boundary(const Grid& grid, const Objective& objective, const FitOptions& options = {});

/// Both on rows in batches that do not fit into memory, bit for bit: methods `auto`, `exact` and `st` over every
/// distinct score, equi-weight levels, no weights, and the goals that count_near_optimum takes; anything else is
/// refused, as is `auto` when more than most_rows_kept rows are near the decision. About three passes over the batches,
/// six for levels from the top. If infeasible, best_attainable is a precision that is attained, not always the best.
[[nodiscard]] FitResult fit_boundary(const SampleBatches& batches, const Objective& objective,
                                     const FitOptions& options = {});

/// The same, bit for bit, of rows that are counted where they are; nothing but counts comes from there. Questions:
/// about five for `st`, eight for `exact`, sixteen for `auto`, the first of a billion rows.
[[nodiscard]] FitResult fit_boundary(const CountedRows& rows, const Objective& objective,
                                     const FitOptions& options = {});

[[nodiscard]] FitBesideSingle fit_beside_single(const SampleBatches& batches, const Objective& objective,
                                                const FitOptions& options = {});

}  // namespace limen
