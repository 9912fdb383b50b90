// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/base/wide.h"
#include "limen/count/grid.h"
#include "limen/solve/monotone_thresholds.h"
#include "limen/solve/problem.h"
#include "limen/solve/relaxation.h"

namespace limen::detail {

/// Places 0, 1, ..., M number the thresholds that any bin of a grid begins at, from +infinity (nothing is flagged) down
/// to the lowest.
using Place = std::uint32_t;

/// A prefix of the bins with rows of a level: what the thresholds at the places first .. last flag. Places between two
/// stops would split a bin.
struct Stop {
  Place first;
  Place last;
  std::int32_t taken;  ///< bins; the last of them has rows
  Counts counts;
};

/// The levels of a grid in the order in which thresholds fall: a boundary is monotone just when its stops have places
/// that never fall from one of these levels to the next.
struct FallingLevels {
  std::vector<std::vector<Stop>> stops;
  Place last_place = 0;
  bool reversed = false;  ///< the highest level comes first

  [[nodiscard]] std::size_t size() const { return stops.size(); }
  [[nodiscard]] const Stop& at(std::size_t level, Place place) const;
};

/// O(bins log bins).
[[nodiscard]] FallingLevels falling_levels(const Grid& grid, Direction direction);

/// A place for every level, never falling.
using Places = std::vector<Place>;

/// The bins that are flagged per level of the grid.
[[nodiscard]] std::vector<std::int32_t> taken_at(const FallingLevels& levels, const Places& places);

/// Less than any height: those are at most 2^121.
constexpr Wide kNoHeight = -(Wide{1} << 125);

/// F(i, x) = the most height of levels 0..i at places that never fall, from low[level] on and up to high[level] and x:
///     F(i, x) = max(F(i, x - 1), F(i - 1, x) + height of the stop of level i at x).
/// At [i][x - low[i]] for x = low[i] .. high[i]. O(sum of high - low).
[[nodiscard]] std::vector<std::vector<Wide>> best_heights(const FallingLevels& levels, const Linear& height,
                                                          const Places& low, const Places& high);

/// A vertex of the concave hull of all monotone boundaries as points (rows, positives): the smallest boundary of the
/// most height positives_price * positives - rows_price * rows.
struct HullVertex {
  Wide rows_price;
  Wide positives_price;
  Counts counts;
  Places places;
};

/// That hull from nothing to all positives, as far as it has been asked for.
///
/// Unions and intersections of monotone boundaries are monotone, so the best ones at a rate rows_price /
/// positives_price have a smallest among them, which is the one of the lowest places, and it only grows as the rate
/// falls: between two known rates the programme needs only the places between their boundaries.
class MonotoneHull {
 public:
  explicit MonotoneHull(const FallingLevels& levels);

  [[nodiscard]] const HullVertex& empty() const { return vertices_.front(); }
  [[nodiscard]] const HullVertex& all_positives() const { return vertices_.back(); }
  /// In order of falling rate and rising counts. A vertex may be there for several rates.
  [[nodiscard]] const std::vector<HullVertex>& known() const { return vertices_; }

  /// The smallest boundary of the most height. 0 <= -height.rows <= height.positives, which is not 0.
  HullVertex best(const Linear& height);
  /// The same among the boundaries between two sequences of places, which need not be boundaries themselves. Unset:
  /// there are none.
  [[nodiscard]] std::optional<HullVertex> best_between(const Linear& height, const Places& low,
                                                       const Places& high) const;

 private:
  const FallingLevels& levels_;
  std::vector<HullVertex> vertices_;
};

/// The side of the hull that the constraint of a knapsack cuts, or the optimum where none is cut.
struct HullCut {
  HullVertex inside;   ///< the end that meets the constraint, or the optimum
  HullVertex outside;  ///< the other end; the same when nothing is cut
  Counts step;         ///< from one end to the other; no rows: nothing is cut
};

/// The knapsack must have a boundary that meets it.
[[nodiscard]] HullCut cut_hull(MonotoneHull& hull, const Knapsack& knapsack);

/// True of a boundary on the cut side that meets the constraint with less slack than one positive makes: none has more
/// profit, nor the same with fewer rows.
[[nodiscard]] bool is_closest(const Knapsack& knapsack, const HullCut& cut, const Counts& counts);

/// A boundary on the cut side, near the constraint: from the lowest level of the grid on, each level gets the most rows
/// that the constraint allows. If it is_closest, it is the first of the equals in the order of tie-breaking. Else it
/// may miss a bound on what is missed.
///
/// Sides can be long, as long as all rows above the first negative one, and then every prefix of every level is part
/// of boundaries without loss, too many for a search.
[[nodiscard]] HullVertex fill_side(const FallingLevels& levels, const MonotoneHull& hull, const Knapsack& knapsack,
                                   const HullCut& cut);

/// The vertex of the highest F-beta: that is constant along lines through one point, so a vertex is optimal.
[[nodiscard]] HullVertex best_f_beta(const Problem& problem, MonotoneHull& hull);

/// The most precise monotone boundary with rows, of all such the first in the order of tie-breaking. Unset: there are
/// no positives.
[[nodiscard]] std::optional<HullVertex> most_precise(const FallingLevels& levels, MonotoneHull& hull);

}  // namespace limen::detail
