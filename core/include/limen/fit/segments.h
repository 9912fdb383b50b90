// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/base/frame.h"
#include "limen/count/samples.h"
#include "limen/fit.h"
#include "limen/judge/metrics.h"
#include "limen/promise/certify.h"
#include "limen/solve/boundary.h"
#include "limen/solve/objective.h"

namespace limen {

struct SegmentOptions {
  std::string column = "segment";  ///< the name that the boundary gives to the column; not empty
  /// Values of fewer rows of the hold-out are pooled: rows of rare values are one segment. Values that the hold-out
  /// does not have are decided like these where the pool has as many rows itself, and else never flagged. 1 to 2^53.
  /// Certified fits: counted in the rows that learn, by as large a share of it.
  std::int64_t min_rows = 500;
  /// Each segment keeps the bound by itself, and is certified by itself; else all of them together.
  bool each = false;
};

/// Throws InvalidInput that names field, value and range.
void validate(const SegmentOptions& options);

struct SegmentFit {
  /// Unset: no boundary meets the bound, with `each` in no segment; or none could be certified. Without segments where
  /// `auto` found no use for them.
  std::optional<Boundary> boundary;
  /// Decisions on the hold-out by cell (segments.h), or by level where the boundary has no segments; the last cell may
  /// be that of values never seen. Empty where there is no boundary.
  std::vector<Confusion> cells;
  std::optional<double> best_attainable;  ///< where the bound is infeasible: as in Solution, the best of all segments
  std::optional<Certification> certification;  ///< of all segments together
};

/// A boundary with a rule of its own for the values of a category column, or for pairs of such a value and an
/// uncertainty level inside it: a segment is a level, so that the multiple-choice knapsack over the cells is exact.
///
/// samples.uncertainty may be empty: there is none. segment: one text a row, none missing.
///
/// Without `each` the objective is met by all rows together: method `exact` on options.levels uncertainty levels in
/// every segment (unset: one), quantiles of its own rows, near the decision where levels are from the top; or `auto`
/// (choose/segments.h). With `each` every segment is a fit of its own by any method (fit_boundary), for objectives with
/// a bound: a segment that cannot keep it flags nothing, and says so in its status. Throws InvalidInput: bad samples or
/// options, codes without a text, too many values or cells, no rows, only one class.
[[nodiscard]] SegmentFit fit_segments(const Samples& samples, const TextValues& segment, const Objective& objective,
                                      const SegmentOptions& segments = {}, const FitOptions& options = {});

/// The same, certified (certify.h), by the methods `auto`, `exact` and, with `each`, `st`, `smooth` and `joint`.
///
/// Which values stand alone, and where the levels lie, the rows that learn say: a value that only tested rows have is
/// decided as in deployment, and so is tested like that. With `each` a segment's certificate is of the rows of its
/// value alone, all of which may be tested, because how many there are tells nothing about them; the pool's is of rows
/// that did not say which values are in it. The confidence is that of each segment, not of all at once. A segment of
/// one class alone is not certified.
[[nodiscard]] SegmentFit certify_segments(const Samples& samples, const TextValues& segment, const Objective& objective,
                                          const SegmentOptions& segments = {}, const CertifyOptions& options = {},
                                          std::span<const std::uint64_t> group = {});

}  // namespace limen
