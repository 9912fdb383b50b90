// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "limen/base/frame.h"
#include "limen/base/labels.h"
#include "limen/base/uninitialized_vector.h"
#include "limen/count/samples.h"
#include "limen/table/read_options.h"
#include "limen/table/table_files.h"

namespace limen::table {

/// Names of the columns of a predictions table.
struct PredictionColumns {
  std::string score = "score";
  /// Empty: none is read. When not `uncertainty_required`, a table without it has none.
  std::string uncertainty = "uncertainty";
  bool uncertainty_required = true;
  std::string label = "label";
  /// Used when the table has it; when `weight_required`, a table without it is refused.
  std::string weight = "weight";
  bool weight_required = false;
  /// Rows of one value belong together, such as those of a customer or a day. Empty: no such column is read.
  std::string group = {};
  /// Training rows behind each row's score. Empty: no such column is read.
  std::string evidence = {};
  /// A category that the boundary has segments for, read as text. Empty: no such column is read.
  std::string segment = {};
};

struct PredictionOptions {
  ReadOptions read = {};
  PredictionColumns columns = {};
  /// Which labels are positive. A value that is said to be positive must occur.
  LabelRule labels = {};
  /// Rows with a missing, NaN or infinite value, a label of neither class or a negative weight are left out and
  /// counted, instead of refused.
  bool drop_missing = false;
};

/// Real numbers in single or double precision.
struct RealColumn {
  std::variant<UninitializedVector<double>, UninitializedVector<float>> values = {};

  [[nodiscard]] bool is_single() const { return values.index() == 1; }
  [[nodiscard]] RealSpan span() const {
    return std::visit([](const auto& vector) { return RealSpan(std::span(vector)); }, values);
  }
};

/// A predictions table, or a batch of its rows, in memory.
struct Predictions {
  RealColumn score = {};        ///< single precision when every file holds it so, double otherwise
  RealColumn uncertainty = {};  ///< empty when there is none
  UninitializedVector<std::uint8_t> label = {};
  UninitializedVector<double> weight = {};        ///< empty when the table has no such column
  UninitializedVector<std::uint64_t> group = {};  ///< hash of the group's text; empty when none was asked for
  UninitializedVector<double> evidence = {};      ///< empty when none was asked for
  TextValues segment = {};                        ///< without rows when none was asked for
  std::size_t rows_dropped = 0;                   ///< left out by drop_missing

  [[nodiscard]] Samples samples() const { return {score.span(), uncertainty.span(), label, weight}; }
};

/// Reads labelled predictions from one or several files, one after the other in the given order. Each file may have its
/// own format; all or none of them have weights.
///
/// CSV and TSV are quoted as in RFC 4180, with LF or CRLF and with or without a UTF-8 byte order mark, plain or packed
/// by gzip, zstd, bzip2 or lz4, whatever the name says; blanks around names and numbers do not count. Missing: empty,
/// NA, N/A, null, none, nan in any case, and the options' own words. In Parquet and Arrow files numbers are floats,
/// integers, decimals, booleans and dictionaries of these, labels also strings; null and NaN are missing.
///
/// Throws IoError that names the path when a file cannot be read, InvalidInput that names path, place and column when
/// its content is bad: damaged, no rows (in all files together), a missing or doubled column, unequal row lengths, a
/// column of another type, a bad value, a positive value that does not occur. The place is the physical line of CSV and
/// TSV, the header being line 1, and the row, counted from 1, of the others. O(rows) time on all cores; memory is that
/// of the result and a few chunks. The result, and the first error, do not depend on the number of threads.
[[nodiscard]] Predictions read_predictions(const TableFiles& files, const PredictionOptions& options = {});

/// Hands over the same rows in the same order, in batches of about a million or what read.max_bytes allows, all of the
/// same precision. `visit` is called from the calling thread while the next batch is being read; a last batch may have
/// no rows, only dropped ones. May be called again for another pass, but not over stdin; every pass makes every check.
/// Memory: two batches and a few chunks; for Arrow files also the largest record batch in the file. Throws like
/// read_predictions, after the batches before the error have been visited, and what `visit` throws.
void for_each_batch(const TableFiles& files, const PredictionOptions& options,
                    const std::function<void(const Predictions&)>& visit);

namespace detail {
struct Limits;
/// for_each_batch with limits of the caller's choice: the tests make them small.
void for_each_batch(const TableFiles& files, const PredictionOptions& options, const Limits& limits,
                    const std::function<void(const Predictions&)>& visit);
}  // namespace detail

/// Rows in all files together, before any are dropped: exact for Parquet and Arrow files; for CSV and TSV an estimate
/// from the size of the file and the rows of its first chunk. Unset when a file is stdin, not a regular file, or an
/// Arrow stream. Throws like read_predictions when a file cannot be opened.
[[nodiscard]] std::optional<std::uint64_t> estimate_rows(const TableFiles& files, const ReadOptions& options = {});

}  // namespace limen::table
