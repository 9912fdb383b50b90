// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limen/samples.h"

namespace limen::table {

enum class Format { kCsv, kTsv };

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
  /// Unset: by extension (.csv, .tsv); stdin and unknown extensions are CSV.
  std::optional<Format> format = std::nullopt;
  /// Rows with a missing, NaN or infinite value, an unknown label or a negative weight are left out and counted,
  /// instead of refused.
  bool drop_missing = false;
  /// Called now and then with bytes read and bytes in all (0: not known).
  std::function<void(std::uint64_t, std::uint64_t)> progress = nullptr;
};

/// A predictions table in memory.
struct Predictions {
  std::vector<double> score;
  std::vector<double> uncertainty;
  std::vector<std::uint8_t> label;
  std::vector<double> weight;    ///< empty when the table has no such column
  std::size_t rows_dropped = 0;  ///< left out by drop_missing

  [[nodiscard]] Samples samples() const { return {std::span(score), std::span(uncertainty), label, weight}; }
};

/// Reads a labelled predictions table; path "-" is stdin. Labels: 0, 1, true, false (any case; 0.0 and 1.0 too).
/// Throws IoError that names the path when the file cannot be read, InvalidInput that names path, line and column when
/// its content is bad: no header, no rows, a missing or doubled column, unequal row lengths, a bad value.
/// CSV and TSV are quoted as in RFC 4180, with LF or CRLF and with or without a UTF-8 byte order mark; blanks around
/// names and numbers do not count. Missing: empty, NA, N/A, null, none, nan in any case. Lines are physical lines, the
/// header is line 1. O(rows) time; memory is that of the result and one chunk of the file.
[[nodiscard]] Predictions read_predictions(const std::string& path, const ReadOptions& options = {});

/// The two columns of a batch of rows, and what to append to each of them.
struct DecisionBatch {
  std::span<const double> score;
  std::span<const double> uncertainty;
  std::span<std::uint8_t> decision;
  std::span<std::int32_t> level;
};

struct AppendResult {
  std::size_t rows = 0;
  std::size_t rows_dropped = 0;
};

/// Copies a table row by row, other columns byte for byte, and appends the columns `decision` and `level` that `decide`
/// fills in batch by batch (zeros until then); memory is bounded by the batch. The label and weight columns are neither
/// needed nor checked. Output path "-" is stdout; a file is written under a temporary name and renamed at the end, so a
/// failure leaves nothing behind and the output may be the input. Separator, and line ends of the header, are kept.
/// Throws like read_predictions; also InvalidInput when the table already has a column named decision or level.
AppendResult append_decisions(const std::string& input, const std::string& output, const ReadOptions& options,
                              const std::function<void(const DecisionBatch&)>& decide);

}  // namespace limen::table
