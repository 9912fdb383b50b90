// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "limen/base/frame.h"
#include "limen/table/predictions.h"

namespace limen::table {

enum class ColumnKind { kNumber, kText };

struct ColumnInfo {
  std::string name;
  ColumnKind kind = ColumnKind::kNumber;
  bool operator==(const ColumnInfo&) const = default;
};

/// What becomes of a row with a missing value in a wanted column.
enum class MissingRule {
  kKeep,    ///< handed over, with NaN or TextValues::kMissing
  kRefuse,  ///< an error that names file, place and column
  kDrop,    ///< left out and counted
};

struct FrameReadOptions {
  /// Unset: by extension, see ReadOptions.
  std::optional<Format> format = std::nullopt;
  /// Between the fields of text. Unset: the comma of CSV, the tab of TSV.
  std::optional<char> separator = std::nullopt;
  /// Whether the first line of text holds the names of the columns.
  bool has_header = true;
  /// Names of the columns of text, one for each, in place of those in the header. Empty: those of the header; without
  /// a header column1, column2 and so on.
  std::vector<std::string> names = {};
  /// The columns to read, in this order. Empty: all of them.
  std::vector<std::string> columns = {};
  /// Columns that are text, or numbers, whatever they look like; no name may be in both.
  std::vector<std::string> text_columns = {};
  std::vector<std::string> number_columns = {};
  /// Values that are missing, beside the usual ones, such as "?". Blanks around a value do not count.
  std::vector<std::string> missing = {};
  MissingRule missing_rule = MissingRule::kKeep;
  /// See ReadOptions.
  std::function<void(std::uint64_t, std::uint64_t)> progress = nullptr;
};

/// The columns of one or several files, and whether they are numbers or text. Only the options that say how to read the
/// files are heeded, not `columns`: text_columns and number_columns settle the kind of those they name.
///
/// In CSV and TSV a column is number when every value that is not missing in about the first megabyte of each file is
/// one, text otherwise. In Parquet and Arrow files numbers are floats, integers, decimals and booleans; strings,
/// binary, dates, times and dictionaries are text. When files differ, text wins. Throws like for_each_frame, and
/// InvalidInput for stdin, which can be read only once.
[[nodiscard]] std::vector<ColumnInfo> describe_columns(const std::vector<std::string>& paths,
                                                       const FrameReadOptions& options = {});

/// Hands over the rows of one or several files, in order, in batches of a few hundred thousand, with the wanted columns
/// only; paths as for read_predictions. Kinds of columns are those of describe_columns. Every file must have the wanted
/// columns, at any place.
///
/// Numbers: as for read_predictions; missing are empty, NA, N/A, null, none, nan in any case, and values that are not
/// finite. Text: as written, without the blanks around it unless quoted; only empty text is missing. Dates are
/// YYYY-MM-DD, times YYYY-MM-DD HH:MM:SS (in UTC when they have a zone, fractions of seconds left out), read as text;
/// other types read as text are written the way CSV shows them. Text in a column of numbers is read as a number.
///
/// `visit` is called from the calling thread while the next batch is being read. Which rows a batch holds depends on
/// the files only. Memory: two batches and a few chunks; for Arrow files also the largest record batch. Throws what
/// read_predictions throws for damaged files; InvalidInput for an unknown column, with the nearest name there is, and
/// for a value that is not a number, with its place; what `visit` throws.
///
/// Returns the rows handed over and dropped. Files without any row are refused.
AppendResult for_each_frame(const std::vector<std::string>& paths, const FrameReadOptions& options,
                            const std::function<void(const Frame&)>& visit);

/// The values of an added column; its type says which.
using AddedValues =
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::int32_t>, std::vector<std::uint8_t>>;

enum class AddedType { kDouble, kInt64, kInt32, kUint8 };

struct AddedColumn {
  std::string name;
  AddedType type = AddedType::kDouble;
};

/// Gets the wanted columns of a batch of rows and fills the added columns, which have a zero for each row. Rows whose
/// `keep` (1 for each) it sets to 0 are not written.
using FillColumns = std::function<void(const Frame&, std::span<AddedValues>, std::span<std::uint8_t> keep)>;

struct AppendColumnsOptions {
  FrameReadOptions read = {};
  /// Unset: by the output's extension; for stdout and unknown extensions, the format of the first input.
  std::optional<Format> output_format = std::nullopt;
  /// The columns of the inputs to copy, in the order of the inputs. Unset: all of them.
  std::optional<std::vector<std::string>> keep = std::nullopt;
};

/// Copies one or several tables row by row into one and adds columns that `fill` makes from the columns which
/// options.read.columns wants (here empty means none); memory is bounded by the batch. The copied columns must be the
/// same in all inputs.
///
/// From text to text every field stays as it is written, quoted anew only where another separator makes that needed;
/// the line ends are those of the header, and there is always a header. Between other formats columns keep their types;
/// a column of CSV or TSV becomes int64, double or bool when all its values in all files are such and missing ones
/// empty, else string (from stdin, always string). Parquet is written with zstd or snappy and a million rows in a row
/// group.
///
/// Output path "-" is stdout; a file is written under a temporary name and renamed at the end, so a failure leaves
/// nothing behind and the output may be the input. A double is written to text with the fewest digits that read back as
/// it; NaN becomes an empty field. Throws like for_each_frame; also InvalidInput when a copied column has the name of
/// an added one.
AppendResult append_columns(const std::vector<std::string>& inputs, const std::string& output,
                            const AppendColumnsOptions& options, const std::vector<AddedColumn>& added,
                            const FillColumns& fill);

}  // namespace limen::table
