// SPDX-License-Identifier: MIT
// What is asked of a certification, and what comes of it (certify.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limen/choose/choose.h"
#include "limen/promise/walk.h"
#include "limen/solve/boundary.h"

namespace limen {

struct CertifyOptions {
  double confidence = 0.95;  ///< between 0 and 1, both excluded
  /// `auto`, `st`, `smooth`, `exact` or `joint`. `exact`: the hull chain of its levels, which is nested.
  Method method = Method::kAuto;
  std::optional<int> levels = std::nullopt;  ///< of the last three, 1 to 1000; unset: as many as suit (method.h)
  LevelsFrom levels_from = LevelsFrom::kTop;
  /// `exact` only: the levels lie between these edges, which must not depend on rows that are tested. Unset: the rows
  /// that learn say where they lie.
  std::optional<std::vector<double>> edges = std::nullopt;
  std::uint64_t seed = 0;  ///< of the split into rows that learn and rows that are tested
  /// Of the rows, how many learn; above 0, below 1. Unset: none for `st`, a quarter for the others, less of more than
  /// 40,000 rows.
  std::optional<double> learning_share = std::nullopt;
  /// Rows that are all positive are no mistake, as where they are those of one class among several: for a bound on
  /// precision, one threshold is tested on them like on any others.
  bool allow_all_positive = false;
  /// Threads used, 0 = all cores. The result does not depend on it.
  int num_threads = 0;
};

/// One boundary of the walk, on the rows that were tested.
struct CertifiedStep {
  Counts flagged;  ///< rows, whatever their weights
  /// Of "the bound is not kept". A bound on precision: of steps that are surely accepted only that it is at most 1 - C,
  /// and then this is 1 - C; that of the last accepted step is exact.
  double p_value = 1;
  bool accepted = false;
};

struct Certification {
  /// The last boundary that was accepted, with its guarantee. Unset: nothing could be certified.
  std::optional<Boundary> boundary;
  std::optional<Choice> choice;  ///< of `auto`, on the rows that learn
  Method method = Method::kSt;   ///< of the walk
  Walk walk;
  std::vector<CertifiedStep> steps;     ///< one for each step of the walk
  std::optional<std::size_t> accepted;  ///< step of the boundary
  Counts learning;                      ///< rows that learned
  Counts tested;                        ///< rows that were tested: all of them where nothing had to be learnt
  bool betting = false;                 ///< rows have weights or groups: a betting test, not the binomial one
  /// Where nothing could be certified: the bound that these rows come nearest to certifying, at this confidence. A
  /// hint for another run, no certificate: the rows were looked at. Unset: no row was tested.
  std::optional<double> attainable;
  /// And about how many labelled rows in all would be needed for the bound, with a chance of four in five. Unset: the
  /// figure on these rows is not better than the bound, so that more of them would not help.
  std::optional<std::int64_t> rows_needed;
  /// All rows (of the hold-out) and those that the boundary flags, by level. Empty where nothing was certified.
  struct Level {
    Counts all;
    Counts flagged;
  };
  std::vector<Level> levels;
};

}  // namespace limen
