// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "csv_blocks.h"
#include "frame_builder.h"
#include "input.h"

namespace limen::table::detail {

/// The rows of one file, with some of its columns.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  [[nodiscard]] virtual const ColumnNames& names() const = 0;
  /// The kind of each column of the file, unset when it has no values to tell by. To be called before start().
  [[nodiscard]] virtual std::vector<std::optional<ColumnKind>> kinds() = 0;
  /// Says what to read; all of it must outlive the reading.
  virtual void start(std::span<const FrameColumn> columns, const ValueRules& rules) = 0;
  /// Appends at least `rows` rows, fewer only when the file ends: then false. Adds the rows left out to `dropped`.
  virtual bool read(FrameBuilder& into, std::size_t rows, std::size_t& dropped) = 0;
};

/// rules: for kinds().
[[nodiscard]] std::unique_ptr<FrameSource> open_csv_frames(const Input& input, const ValueRules& rules,
                                                           const Progress& progress, const CsvLimits& limits = {});
/// Throws InvalidInput in a build without Arrow.
[[nodiscard]] std::unique_ptr<FrameSource> open_arrow_frames(const Input& input, const Progress& progress);

}  // namespace limen::table::detail
