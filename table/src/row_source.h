// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "input.h"
#include "limen/table/predictions.h"

namespace limen::table::detail {

/// The labelled rows of one file, in order and checked.
class RowSource {
 public:
  virtual ~RowSource() = default;

  /// Appends at least `rows` rows to `into`, fewer only when the file ends: then false, and there are no more.
  virtual bool read(Predictions& into, std::size_t rows) = 0;

  /// No rows, in the precision of this file.
  [[nodiscard]] virtual Predictions empty() const = 0;
  [[nodiscard]] virtual bool has_weight() const = 0;
};

/// Appends all columns and the count of dropped rows.
void append(Predictions& into, const Predictions& more);

/// Refuses files that have no rows, all together; only the first of several is named.
void require_rows(const std::vector<Input>& inputs, std::size_t rows_kept, std::size_t rows_dropped);

/// Adds up the progress over several files.
class FileProgress {
 public:
  FileProgress(const std::vector<Input>& inputs, Progress progress);

  /// The progress of the next of the files; null when nobody wants to know.
  [[nodiscard]] Progress next(const Input& input);

 private:
  Progress progress_;
  std::uint64_t before_ = 0;  // bytes of the files before the next one
  std::uint64_t total_ = 0;   // 0: not known
};

}  // namespace limen::table::detail
