// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "limen/base/frame.h"
#include "limen/base/real_span.h"
#include "limen/base/text_index.h"
#include "limen/solve/boundary.h"

namespace limen {

/// Levels of all segments together, at most.
inline constexpr std::size_t kMostCells = 1000;
/// Distinct values of a column of segments, at most; and the bytes of one of them.
inline constexpr std::size_t kMostSegmentValues = 100'000;
inline constexpr std::size_t kMostValueBytes = 500;

/// Throws InvalidInput: no segment, values that are empty, too long, not rising or twice there, a rule that is not
/// valid (validate(Rule)), too many cells or values, a pool without values or values without a pool, a segment that
/// came to nothing and yet flags.
void validate(const Segments& segments);

/// Whether some segment has uncertainty levels: only then uncertainty is looked at.
[[nodiscard]] bool uses_uncertainty(const Segments& segments);

/// A segment is a level. The pairs of a segment and one of its uncertainty levels are numbered: a row's cell stands in
/// for its uncertainty, with edges at 0.5, 1.5, ..., and whatever works on uncertainty levels works on cells.
///
///     cells of own[0]   0 1 2 | own[1]   3 | own[2]   4 5 6 | pooled   7 8 | never seen   9
///
/// The last, which is never flagged, is there unless values that were never seen are decided as the pool is.
class SegmentCells {
 public:
  /// Throws InvalidInput as validate does. Keeps nothing of `segments`.
  explicit SegmentCells(const Segments& segments);

  [[nodiscard]] std::size_t num_cells() const { return segment_of_.size(); }
  /// Segments with cells: own ones, then the pool, then the values never seen.
  [[nodiscard]] std::size_t num_segments() const { return first_cell_.size(); }
  [[nodiscard]] std::size_t segment_of(std::size_t cell) const { return segment_of_[cell]; }
  [[nodiscard]] std::size_t first_cell(std::size_t segment) const { return first_cell_[segment]; }
  /// num_cells - 1 numbers: k + 0.5.
  [[nodiscard]] std::vector<double> edges() const;

  struct Rows {
    std::vector<double> cell;
    std::size_t unseen = 0;  ///< rows of values that the hold-out did not have
  };
  /// The cell of each row, parallel. uncertainty: may be empty where it is not looked at. Throws InvalidInput: unequal
  /// lengths, a code that is no text's, a missing value, an uncertainty that is looked at and not finite; with the row.
  [[nodiscard]] Rows find(const TextValues& segment, RealSpan uncertainty) const;

 private:
  std::vector<std::vector<double>> edges_;  // of each segment
  std::vector<std::size_t> first_cell_;
  std::vector<std::size_t> segment_of_;  // by cell
  TextIndex values_;                     // own ones, then those in the pool
  std::size_t num_own_ = 0;
  std::size_t unseen_ = 0;  // the segment of values never seen
};

/// The rule on cells that these segments mean.
[[nodiscard]] Rule cell_rule(const Segments& segments);
/// The segments with the thresholds of a rule on their cells.
[[nodiscard]] Segments with_thresholds(Segments segments, const Rule& on_cells);

/// decide for boundaries with segments; uncertainty: as SegmentCells::find takes it. `level` is the uncertainty level
/// inside the row's segment, -1 where a value was never seen and so is never flagged. Returns how many rows had values
/// that the hold-out did not have. Throws InvalidInput.
std::size_t decide(const Segments& segments, RealSpan score, RealSpan uncertainty, const TextValues& segment,
                   std::span<std::uint8_t> decision, std::span<std::int32_t> level = {});

}  // namespace limen
