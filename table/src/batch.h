// SPDX-License-Identifier: MIT
// What is asked of a table, and what every reader produces: typed columns of rows, in order and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limen/base/frame.h"
#include "limen/base/labels.h"
#include "limen/base/text_index.h"
#include "limen/base/uninitialized_vector.h"
#include "limen/table/read_options.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace limen::table::detail {

enum class Kind { kReal, kLabel, kText };

/// A column that a consumer asks for.
struct Wanted {
  std::string name;
  Kind kind = Kind::kReal;
  bool is_weight = false;     ///< a real below 0 is refused or dropped like a missing one
  bool keeps_single = false;  ///< a real stays float where the file holds float
  bool parses_text = false;   ///< a real may be text in a Parquet or Arrow file
  std::size_t index = 0;      ///< its place among the columns of the file at hand
};

/// How values are read, whatever the column.
struct ValueRules {
  std::vector<std::string> missing = {};  ///< more words for it, trimmed
  MissingRule rule = MissingRule::kRefuse;
  LabelRule labels = {};

  [[nodiscard]] bool is_missing(std::string_view trimmed_text) const;
};
/// The rules of a consumer that reads with these options.
[[nodiscard]] ValueRules value_rules(const ReadOptions& options, MissingRule rule, const LabelRule& labels = {});

/// Which columns are copied for an output, and how.
struct Copying {
  enum class To {
    kNothing,
    kText,   ///< from text to text: one column of strings, which hold the fields of a row as they are written
    kTyped,  ///< a column for each
  };
  To to = To::kNothing;
  std::vector<std::size_t> columns = {};       ///< places in the file, ascending
  char separator = ',';                        ///< kText
  std::shared_ptr<arrow::Schema> schema = {};  ///< the types of the columns
};

/// What is read of one file.
struct Selection {
  std::vector<Wanted> wanted = {};
  ValueRules rules = {};
  Copying copying = {};
  bool with_places = false;
};

struct Texts {
  TextIndex index = {};
  std::vector<std::int32_t> code = {};  ///< TextValues::kMissing for missing ones
};
using Reals = UninitializedVector<double>;
using Singles = UninitializedVector<float>;
using Labels = UninitializedVector<std::uint8_t>;
using Values = std::variant<Reals, Singles, Labels, Texts>;

struct Batch {
  std::size_t num_rows = 0;
  std::size_t rows_dropped = 0;
  std::vector<Values> columns = {};                              ///< one for each wanted column
  LabelsSeen labels = {};                                        ///< only under a rule that names the positive value
  std::vector<std::uint64_t> places = {};                        ///< line or row of each row; only when asked for
  std::vector<std::shared_ptr<arrow::RecordBatch>> copied = {};  ///< together num_rows rows, when some are copied
};

/// No rows of the wanted columns; is_single says which of them the file holds as float.
[[nodiscard]] Values empty_values(const Wanted& column, bool is_single);

/// Appends all rows. Reals of two precisions become double.
void append(Batch& into, const Batch& more);
void reserve(Batch& batch, std::size_t rows);
/// Keeps those of the rows of the wanted columns from `begin` on whose flag is set.
void keep_rows(Batch& batch, std::size_t begin, const std::vector<bool>& keep);

/// The wanted columns of a batch, which are no labels, as a frame. Leaves them empty.
[[nodiscard]] Frame take_frame(Batch& batch, std::span<const Wanted> columns);

}  // namespace limen::table::detail
