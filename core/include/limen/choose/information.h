// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "limen/count/grid.h"

namespace limen {

/// Whether the level of a row tells anything about its label beyond its score, for rows near the decision.
struct Information {
  /// Of the likelihood-ratio test below; 1 when there are too few rows to test.
  double p_value = 1;
  /// Of the permutation test; unset when the rarer class is so large that the first test needs no company.
  std::optional<double> permutation_p_value;
  Counts near;           ///< the rows near the decision, in units of the grid
  bool testable = true;  ///< both classes have at least 20 rows there, and uncertainty varies

  /// The larger of the two: what a decision may rest on.
  [[nodiscard]] double p() const { return permutation_p_value ? std::max(p_value, *permutation_p_value) : p_value; }
};

/// Tests the `near_rows` highest scores of a grid with narrow levels, in units of the grid.
///
/// Null: log odds of a positive depend on the score alone: a constant for every stratum of the score and one slope
/// inside all strata. Alternative: and on the level's rank w: w, w^2 and w times the score's log odds. Twice the gain
/// in log likelihood is compared with chi-squared of three degrees. Beside it, while the rarer class has at most 5,000
/// rows, the score test of the same three terms among 999 permutations of the labels inside the strata (seeded), which
/// holds for few rows too. With weights the counts are scaled to the number of rows that they are worth.
[[nodiscard]] Information test_information(const Grid& grid, std::int64_t near_rows, std::uint64_t seed = 0);

/// The same for levels that are categories without an order: segments (segments.h). Alternative: the log odds also
/// depend on a constant and a slope in the score's log odds for every category but one, twice as many terms as there
/// are such categories. Of the categories with at least 20 rows near the decision the 32 largest are told apart, all
/// others are one.
[[nodiscard]] Information test_categories(const Grid& grid, std::int64_t near_rows, std::uint64_t seed = 0);

}  // namespace limen
