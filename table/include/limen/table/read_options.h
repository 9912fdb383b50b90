// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "limen/table/format.h"

namespace limen::table {

enum class ColumnKind { kNumber, kText };

/// What becomes of a row with a missing value in a wanted column.
enum class MissingRule {
  kKeep,    ///< handed over, with NaN or TextValues::kMissing
  kRefuse,  ///< an error that names file, place and column
  kDrop,    ///< left out and counted
};

/// How tables are read, whatever is wanted of them.
struct ReadOptions {
  /// Unset: by the file's name, see format_of_name; stdin and names that say nothing are CSV.
  std::optional<Format> format = std::nullopt;
  /// Between the fields of text. Unset: the comma of CSV, the tab of TSV. Not a quote, a line end or NUL.
  std::optional<char> separator = std::nullopt;
  /// Whether the first line of text holds the names of the columns.
  bool has_header = true;
  /// Names of the columns of text, one for each, in place of those in the header. Empty: those of the header; without
  /// a header column1, column2 and so on.
  std::vector<std::string> names = {};
  /// Values that are missing, beside the usual ones, such as "?". Blanks around a value do not count.
  std::vector<std::string> missing = {};
  /// About how much memory reading in batches may take, beside what the visitor keeps. Unset: a few hundred megabytes
  /// at most. A single record of text, page of Parquet or record batch of Arrow IPC is held in any case.
  std::optional<std::uint64_t> max_bytes = std::nullopt;
  /// Called now and then with bytes read and bytes in all (0: not known) of all files together; never by two threads at
  /// once, but perhaps not by the caller's thread, and while a visitor is at work.
  std::function<void(std::uint64_t, std::uint64_t)> progress = nullptr;
};

/// How columns of any kind are read.
struct FrameReadOptions {
  ReadOptions read = {};
  /// The columns to read, in this order. Empty: all of them.
  std::vector<std::string> columns = {};
  /// Columns that are text, or numbers, whatever they look like; no name may be in both.
  std::vector<std::string> text_columns = {};
  std::vector<std::string> number_columns = {};
  MissingRule missing_rule = MissingRule::kKeep;
};

/// What became of the rows of tables.
struct RowCounts {
  std::size_t rows = 0;          ///< handed over, or written
  std::size_t rows_dropped = 0;  ///< left out because of a missing or bad value
};

}  // namespace limen::table
