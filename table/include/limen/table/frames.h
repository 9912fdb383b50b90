// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "limen/base/frame.h"
#include "limen/table/read_options.h"
#include "limen/table/table_files.h"

namespace limen::table {

struct ColumnInfo {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  bool operator==(const ColumnInfo&) const = default;
};

/// The columns of one or several files, and whether they are numbers or text. `columns` and `missing_rule` have no
/// bearing on it: text_columns and number_columns settle the kind of those they name.
///
/// In CSV and TSV a column is number when every value that is not missing in about the first megabyte of each file is
/// one, text otherwise. In Parquet and Arrow files numbers are floats, integers, decimals and booleans; strings,
/// binary, dates, times and dictionaries are text. When files differ, text wins. Throws like for_each_frame, and
/// InvalidInput for stdin, which can be read only once.
[[nodiscard]] std::vector<ColumnInfo> describe_columns(const TableFiles& files, const FrameReadOptions& options = {});

/// Hands over the rows of one or several files, in order, in batches of a few hundred thousand, with the wanted columns
/// only. Kinds of columns are those of describe_columns. Every file must have the wanted columns, at any place.
///
/// Numbers: as for read_predictions; missing are empty, NA, N/A, null, none, nan in any case, and values that are not
/// finite. Text: as written, without the blanks around it unless quoted; only empty text, and the options' own words,
/// are missing. Dates are YYYY-MM-DD, times YYYY-MM-DD HH:MM:SS (in UTC when they have a zone, fractions of seconds
/// left out), read as text; other types read as text are written the way CSV shows them. Text in a column of numbers is
/// read as a number.
///
/// `visit` is called from the calling thread while the next batch is being read. Which rows a batch holds depends on
/// the files only. Memory: two batches and a few chunks; for Arrow files also the largest record batch. Throws what
/// read_predictions throws for damaged files; InvalidInput for an unknown column, with the nearest name there is, and
/// for a value that is not a number, with its place; what `visit` throws.
///
/// Returns the rows handed over and dropped. Files without any row are refused.
RowCounts for_each_frame(const TableFiles& files, const FrameReadOptions& options,
                         const std::function<void(const Frame&)>& visit);

}  // namespace limen::table
