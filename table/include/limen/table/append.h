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
#include "limen/count/samples.h"
#include "limen/table/read_options.h"
#include "limen/table/table_files.h"

namespace limen::table {

/// The values of an added column; its type says which.
using AddedValues = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::int32_t>,
                                 std::vector<std::uint8_t>, std::vector<std::string>>;

enum class AddedType { kDouble, kInt64, kInt32, kUint8, kText };

struct AddedColumn {
  std::string name;
  AddedType type = AddedType::kDouble;
};

/// Gets the wanted columns of a batch of rows and fills the added columns, which have a zero, or an empty text, for
/// each row. Rows whose `keep` (1 for each) it sets to 0 are not written.
using FillColumns = std::function<void(const Frame&, std::span<AddedValues>, std::span<std::uint8_t> keep)>;

struct AppendColumnsOptions {
  FrameReadOptions read = {};
  /// Unset: by the output's name; see output_format. Stdout gets the format of the first input.
  std::optional<Format> output_format = std::nullopt;
  /// The columns of the inputs to copy, in the order of the inputs. Unset: all of them.
  std::optional<std::vector<std::string>> keep = std::nullopt;
  /// Columns of the inputs that have the name of an added one are not copied; otherwise they are refused.
  bool replace = false;
};

/// What append_columns refuses by the names of columns alone, before any work is done: throws InvalidInput
/// (Cause::kColumnExists) when a column that would be copied has the name of an added one. Nothing is looked at when
/// some input is no regular file, and so perhaps can be read only once.
void require_new_columns(const TableFiles& inputs, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added);

/// Copies one or several tables row by row into one and adds columns that `fill` makes from the columns which
/// options.read.columns wants (here empty means none); memory is bounded by the batch. The copied columns must be the
/// same in all inputs. Tables without rows make a table without rows.
///
/// From text to text every field stays as it is written, quoted anew only where another separator makes that needed;
/// the line ends are those of the header, and there is always a header. Between other formats columns keep their types;
/// a column of CSV or TSV becomes int64, double or bool when all its values in all files are such and missing ones
/// empty, else string (from stdin, always string). Parquet is written with zstd or snappy and a million rows in a row
/// group. The output's name says its format and packing.
///
/// Output path "-" is stdout; a file is written under a temporary name and renamed at the end, so a failure leaves
/// nothing behind and the output may be the input. A double is written to text with the fewest digits that read back as
/// it; NaN, and an empty added text, become an empty field (missing, in other formats). Throws like for_each_frame;
/// also like require_new_columns, and InvalidInput, before anything is read, when the output's name says no format.
RowCounts append_columns(const TableFiles& inputs, const std::string& output, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added, const FillColumns& fill);

namespace detail {
struct Limits;
/// append_columns with limits of the caller's choice: the tests make them small.
RowCounts append_columns(const TableFiles& inputs, const std::string& output, const AppendColumnsOptions& options,
                         const std::vector<AddedColumn>& added, const FillColumns& fill, const Limits& limits);
}  // namespace detail

/// The columns of a batch of rows that a decision looks at, and what to append to each of them.
struct DecisionBatch {
  RealSpan score;
  RealSpan uncertainty;  ///< empty where none is asked for
  std::span<std::uint8_t> decision;
  std::span<std::int32_t> level;
  std::span<std::uint8_t> review = {};  ///< empty unless asked for
  const TextValues* segment = nullptr;  ///< set where asked for
};

struct AppendDecisionsOptions {
  ReadOptions read = {};
  std::string score = "score";
  std::string uncertainty = "uncertainty";  ///< empty: none is read
  std::string segment = {};                 ///< a category, read as text; empty: none is read
  /// Rows without a finite score and uncertainty, or without a segment, are left out and counted, instead of refused.
  bool drop_missing = false;
  /// A third column, `review` (uint8).
  bool with_review = false;
  /// See AppendColumnsOptions.
  std::optional<Format> output_format = std::nullopt;
};

/// append_columns with all columns kept and two added ones, `decision` (uint8) and `level` (int32), that `decide` fills
/// in batch by batch (zeros until then). Labels and weights are neither needed nor checked.
RowCounts append_decisions(const TableFiles& inputs, const std::string& output, const AppendDecisionsOptions& options,
                           const std::function<void(const DecisionBatch&)>& decide);

}  // namespace limen::table
