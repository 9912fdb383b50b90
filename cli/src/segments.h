// SPDX-License-Identifier: MIT
// What `fit`, `apply` and `evaluate` say about boundaries with segments.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "limen/fit/segments.h"
#include "limen/judge/metrics.h"
#include "limen/solve/boundary.h"
#include "limen/solve/segments.h"
#include "options.h"

namespace limen::cli {

struct SegmentFlags {
  std::string column;    ///< empty: no segments
  std::string min_rows;  ///< empty: the default
  bool each = false;
};
/// --segment, --each, --segment-min-rows.
void add_segment_flags(CLI::App& verb, SegmentFlags& flags);
/// Throws InvalidInput for flags that go with --segment alone.
[[nodiscard]] SegmentOptions make_segment_options(const SegmentFlags& flags);

/// --segment of verbs that take a boundary: another name of its column.
void add_segment_column_flag(CLI::App& verb, table::PredictionColumns& columns);
/// The columns that a boundary looks at, where flags of the verb do not name others. Throws InvalidInput when the verb
/// was given --segment and the boundary has none.
void name_columns(const CLI::App& verb, const Boundary& boundary, table::PredictionColumns& columns);

/// "DE", or "others (12 rare values)" for the pool.
[[nodiscard]] std::string segment_name(const Segments& segments, std::size_t at);
/// Thresholds and counts of the hold-out by cell. cells: as SegmentFit has them.
[[nodiscard]] std::string segment_table(const Segments& segments, const std::vector<Confusion>& cells);
/// "3 segments of market and a pool of 12 rare values".
[[nodiscard]] std::string segments_text(const Segments& segments);
/// What `each` came to, a line each: segments that flag nothing, and what is certified. Empty without `each`.
[[nodiscard]] std::string each_text(const Boundary& boundary);
/// How values that were never seen are decided.
[[nodiscard]] std::string unseen_text(const Segments& segments, std::size_t rows);

}  // namespace limen::cli
