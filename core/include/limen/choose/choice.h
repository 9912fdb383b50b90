// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limen/choose/information.h"
#include "limen/count/grid.h"
#include "limen/solve/method.h"

namespace limen {

/// One way to use the uncertainty, judged on rows that it was not fitted on.
struct Candidate {
  Method method = Method::kSt;
  int levels = 1;
  bool segments = false;  ///< levels inside every segment (choose/segments.h)
  /// What the objective optimises (objective_value), where its constraint is just met on the rows left out: every
  /// candidate at the same precision. Mean over the repetitions.
  double value = 0;
  double stop_share = 0;  ///< of all rows, flagged there
  double gain = 0;        ///< over one threshold, relative: positive is better
  double gain_se = 0;     ///< its standard error (delete-a-group jackknife)
  /// Positives among the highest rows, as many as one threshold flags, more than it has there, relative. Says the same
  /// as `gain` with less noise: no bound has to be met.
  double lift = 0;
  double lift_se = 0;
  /// A boundary fitted on four fifths, applied to the last fifth, as it will be used: sums over the fifths.
  Counts rows = {};     ///< of the hold-out
  Counts flagged = {};  ///< mean over the repetitions, rounded
};

/// A range in which a figure of the deployed boundary is expected, with about 95%.
struct ExpectedRange {
  double low = 0;
  double mean = 0;
  double high = 0;
};

struct Choice {
  Information information;
  std::optional<Information> segment_information = std::nullopt;  ///< where segments were looked at
  std::vector<Candidate> candidates;  ///< one threshold first, `smooth` second; one alone where nothing can be tested
  std::size_t chosen = 0;
  std::string why;  ///< one sentence
  ExpectedRange precision;
  ExpectedRange recall;

  [[nodiscard]] const Candidate& best() const { return candidates[chosen]; }
};

struct ChooseOptions {
  /// The test must be significant at this level before anything but one threshold is thought of.
  double significance = 0.01;
  /// Below this p of the likelihood-ratio test any gain on rows left out will do.
  double overwhelming = 1e-10;
  /// Standard errors by which anything must be ahead of one threshold, in `gain` and `lift` together, and levels of
  /// `smooth` in `lift`.
  double errors_over_one = 6;
  double errors_over_smooth = 3;
  int repetitions = 3;
  std::uint64_t seed = 0;
  /// Of the information test of this very grid, where it was made already. Unset: it is made.
  std::optional<Information> information = std::nullopt;
  bool levels_merge = true;  ///< false: `exact` is thought of on all levels of the grid only
};

}  // namespace limen
