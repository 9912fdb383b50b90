// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "limen/count/grid.h"
#include "limen/solve/chain.h"
#include "limen/solve/objective.h"

namespace limen {

/// Rows near the decision: three times as many as the best single threshold flags, at least a thousand. In units.
/// by_score: score_chain(grid).
[[nodiscard]] std::int64_t rows_near_decision(const Grid& grid, const Chain& by_score, const Objective& objective);

/// The rows of the highest scores of a grid, in strata of the score by level, and what the score alone says of them.
class NearRows {
 public:
  struct Cell {
    Counts counts;
    double score_log_odds = 0;  ///< mean of f (below) over its rows
  };

  /// The `rows` (in units) highest scores, equal ones with them, all if the grid has fewer; in about as many strata as
  /// leave each 30 rows of the rarer class, at most `most_strata`.
  /// by_score: score_chain(grid).
  NearRows(const Grid& grid, const Chain& by_score, std::int64_t rows, std::size_t most_strata);

  [[nodiscard]] const Counts& total() const { return total_; }
  /// [stratum, from the highest score down][level]
  [[nodiscard]] const std::vector<std::vector<Cell>>& cells() const { return cells_; }
  /// w of a level: the middle of its ranks among these rows, from -1 to 1.
  [[nodiscard]] double level_rank(std::size_t level) const { return level_rank_[level]; }
  /// f of a score with `above` rows (in units) of higher scores: log odds of a positive by the score alone. Isotonic in
  /// the score's rank, so that any increasing function of the score gives the same; strictly falls with `above`.
  [[nodiscard]] double score_log_odds(double above) const;

 private:
  struct Knot {
    double depth;  // log of the share of these rows that lie above
    double log_odds;
  };
  void fit_score();

  Counts total_;
  std::vector<std::vector<Cell>> cells_;
  std::vector<double> level_rank_;
  std::vector<Knot> knots_;  // by rising depth, falling log odds
  double slope_ = -1;        // beyond the outermost knots
};

/// How the rate of positives depends on score and level near the decision, in five numbers:
///
///     logit P(positive) = a0 + a1 f + b1 w + b2 w^2 + c f w
///
/// Where a1 + c w would be small or negative it is raised, so that a higher score never counts against a row.
class SmoothModel {
 public:
  explicit SmoothModel(const NearRows& near);

  /// Log odds of a row of this level with `above` rows of higher scores, whatever their levels.
  [[nodiscard]] double log_odds(std::size_t level, double above) const;
  [[nodiscard]] const std::array<double, 5>& coefficients() const { return coefficients_; }  ///< a0, a1, b1, b2, c

 private:
  const NearRows& near_;
  std::array<double, 5> coefficients_;
};

/// The model of a grid, and the boundaries along it. The grid must outlive it.
class SmoothFit {
 public:
  SmoothFit(const SmoothFit&) = delete;
  SmoothFit& operator=(const SmoothFit&) = delete;
  /// Fitted on the rows near the decision.
  SmoothFit(const Grid& grid, const Objective& objective);
  /// Fitted on the `near_rows` (in units) highest scores.
  SmoothFit(const Grid& grid, std::int64_t near_rows);

  /// Of every bin of every level. They fall along a level.
  [[nodiscard]] std::vector<std::vector<double>> log_odds() const;
  /// Bins in order of falling log odds: nested.
  [[nodiscard]] Chain chain() const { return chain_by_key(grid_, log_odds()); }
  /// Score thresholds per level of the boundary that flags the `taken` highest bins of every level, a stop of the
  /// chain: where the model is cut, between two scores of any level, not only of its own, so that they follow the model
  /// also where a level has few rows.
  [[nodiscard]] std::vector<std::optional<double>> thresholds(std::span<const std::int32_t> taken) const;

 private:
  friend class SmoothCuts;

  const Grid& grid_;
  Chain by_score_;
  NearRows near_;
  SmoothModel model_;
};

/// The thresholds of SmoothFit for many boundaries: the bins are gone through once. The fit must outlive it.
class SmoothCuts {
 public:
  explicit SmoothCuts(const SmoothFit& fit);

  /// As SmoothFit::thresholds. O(levels log(bins)) where few bins are empty.
  [[nodiscard]] std::vector<std::optional<double>> thresholds(std::span<const std::int32_t> taken) const;

 private:
  /// A score that some level has, and the rows above it.
  struct Place {
    double score;
    double above;
  };
  /// Of a level, by the number of bins taken, among bins with rows: the least log odds of those taken, the greatest of
  /// the others. Infinite where there are none.
  struct Sides {
    std::vector<double> flagged;
    std::vector<double> other;
  };
  const SmoothFit& fit_;
  std::vector<Place> places_;  ///< from the highest score down
  std::vector<Sides> sides_;
};

}  // namespace limen
