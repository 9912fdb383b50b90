// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "limen/base/uninitialized_vector.h"
#include "limen/count/samples.h"

namespace limen::table {

/// Parquet, Arrow IPC (the file and the stream form) and gzip need a build with Apache Arrow; CSV and TSV do not.
enum class Format { kCsv, kTsv, kParquet, kArrow };

/// Names of the columns of a predictions table.
struct PredictionColumns {
  std::string score = "score";
  std::string uncertainty = "uncertainty";
  std::string label = "label";
  /// Used when the table has it; when `weight_required`, a table without it is refused.
  std::string weight = "weight";
  bool weight_required = false;
};

struct ReadOptions {
  PredictionColumns columns = {};
  /// Unset: by extension (.csv, .tsv, both also with .gz; .parquet, .pq; .arrow, .feather, .ipc); stdin and unknown
  /// extensions are CSV.
  std::optional<Format> format = std::nullopt;
  /// Rows with a missing, NaN or infinite value, an unknown label or a negative weight are left out and counted,
  /// instead of refused.
  bool drop_missing = false;
  /// Called now and then with bytes read and bytes in all (0: not known) of all files together; never by two threads at
  /// once, but perhaps not by the caller's thread, and while for_each_batch visits.
  std::function<void(std::uint64_t, std::uint64_t)> progress = nullptr;
};

/// A column of real numbers in single or double precision.
class RealColumn {
 public:
  template <typename Real>
  using Vector = UninitializedVector<Real>;

  RealColumn() = default;
  RealColumn(const std::vector<double>& values)  // NOLINT(google-explicit-constructor)
      : values_(Vector<double>(values.begin(), values.end())) {}
  RealColumn(const std::vector<float>& values)  // NOLINT(google-explicit-constructor)
      : values_(Vector<float>(values.begin(), values.end())) {}

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool is_single() const { return std::holds_alternative<Vector<float>>(values_); }
  [[nodiscard]] RealSpan span() const;

  void reserve(std::size_t rows);
  /// Adds rows. When the precisions differ, all values become double, which changes none of them.
  void append(RealSpan more);

  using Values = std::variant<Vector<double>, Vector<float>>;
  /// For filling it in place.
  [[nodiscard]] Values& values() { return values_; }

 private:
  Values values_;
};

/// A predictions table, or a batch of its rows, in memory.
struct Predictions {
  RealColumn score = {};  ///< single precision when every file holds it so, double otherwise
  RealColumn uncertainty = {};
  UninitializedVector<std::uint8_t> label = {};
  UninitializedVector<double> weight = {};  ///< empty when the table has no such column
  std::size_t rows_dropped = 0;             ///< left out by drop_missing

  [[nodiscard]] Samples samples() const { return {score.span(), uncertainty.span(), label, weight}; }
};

/// Reads labelled predictions from one or several files, one after the other in the given order. A path with *, ? or [
/// that is not the name of a file is a pattern and stands for the files that match it, in order of their names; "-" is
/// stdin. Each file may have its own format; all or none of them have weights.
///
/// Labels: 0, 1, true, false (any case; 0.0 and 1.0 too). CSV and TSV are quoted as in RFC 4180, with LF or CRLF and
/// with or without a UTF-8 byte order mark, plain or gzip; blanks around names and numbers do not count. Missing:
/// empty, NA, N/A, null, none, nan in any case. In Parquet and Arrow files numbers are floats, integers, decimals,
/// booleans and dictionaries of these, labels also strings; null and NaN are missing.
///
/// Throws IoError that names the path when a file cannot be read, InvalidInput that names path, place and column when
/// its content is bad: damaged, no rows (in all files together), a missing or doubled column, unequal row lengths, a
/// column of another type, a bad value. The place is the physical line of CSV and TSV, the header being line 1, and the
/// row, counted from 1, of the others. O(rows) time on all cores; memory is that of the result and a few chunks. The
/// result, and the first error, do not depend on the number of threads.
[[nodiscard]] Predictions read_predictions(const std::vector<std::string>& paths, const ReadOptions& options = {});
[[nodiscard]] Predictions read_predictions(const std::string& path, const ReadOptions& options = {});

/// Hands over the same rows in the same order, in batches of about a million, all of the same precision. `visit` is
/// called from the calling thread while the next batch is being read; a last batch may have no rows, only dropped ones.
/// May be called again for another pass, but not over stdin. Memory: two batches and a few chunks; for Arrow files also
/// the largest record batch in the file. Throws like read_predictions, after the batches before the error have been
/// visited, and what `visit` throws.
void for_each_batch(const std::vector<std::string>& paths, const ReadOptions& options,
                    const std::function<void(const Predictions&)>& visit);

/// Rows in all files together, before any are dropped: exact for Parquet and Arrow files; for CSV and TSV an estimate
/// from the size of the file and the rows of its first chunk. Unset when a file is stdin, not a regular file, or an
/// Arrow stream. Throws like read_predictions when a file cannot be opened.
[[nodiscard]] std::optional<std::uint64_t> estimate_rows(const std::vector<std::string>& paths,
                                                         const ReadOptions& options = {});

/// The two columns of a batch of rows, and what to append to each of them.
struct DecisionBatch {
  RealSpan score;
  RealSpan uncertainty;
  std::span<std::uint8_t> decision;
  std::span<std::int32_t> level;
};

struct AppendResult {
  std::size_t rows = 0;
  std::size_t rows_dropped = 0;
};

struct AppendOptions {
  ReadOptions read = {};
  /// Unset: by the output's extension; for stdout and unknown extensions, the format of the first input.
  std::optional<Format> output_format = std::nullopt;
};

/// Copies one or several tables row by row into one, with all their columns, and appends the columns `decision` and
/// `level` that `decide` fills in batch by batch (zeros until then); memory is bounded by the batch. The label and
/// weight columns are neither needed nor checked. Several inputs must have the same columns.
///
/// See append_columns in frames.h for what becomes of the other columns and of the file; `decision` is uint8 and
/// `level` int32. Throws like read_predictions; also InvalidInput when a table already has a column named decision or
/// level.
AppendResult append_decisions(const std::vector<std::string>& inputs, const std::string& output,
                              const AppendOptions& options, const std::function<void(const DecisionBatch&)>& decide);
AppendResult append_decisions(const std::string& input, const std::string& output, const ReadOptions& options,
                              const std::function<void(const DecisionBatch&)>& decide);

/// One score bin of one uncertainty level, counted elsewhere.
struct CountedBin {
  std::int64_t level = 0;
  double score = 0;
  std::int64_t positives = 0;
  std::int64_t rows = 0;
  std::optional<double> uncertainty = std::nullopt;  ///< lower edge of the level
};

/// Reads a table of counts, in any format: columns `level`, `positives` and `rows`, whole numbers from 0 to 2^53 with
/// positives <= rows, and the columns that options.columns names for score and, when the table has it, uncertainty,
/// finite. Rows are neither sorted nor merged; drop_missing is not heeded. Throws like read_predictions.
[[nodiscard]] std::vector<CountedBin> read_counts(const std::string& path, const ReadOptions& options = {});

/// Whether this build reads and writes Parquet and Arrow IPC.
[[nodiscard]] bool has_arrow();

}  // namespace limen::table
