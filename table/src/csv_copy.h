// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/builder.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "csv_file.h"

namespace limen::table::detail {

/// Adds a field as it is written, or a name, to a line; in quotes only where the separator makes that needed.
void add_field(std::string_view field, char separator, std::string& line);

/// Copies fields of records into a batch, as text or as typed columns.
class RowCopier {
 public:
  /// Both must outlive this object.
  RowCopier(const CsvFile& file, const Copying& copying);

  void add(const CsvRow& row, Batch& into);
  /// To be called after the last row of the batch.
  void finish(Batch& into);
  /// The copied fields of a record, between separators of the output.
  void add_text(const CsvRow& row, std::string& into) const;

 private:
  void add_typed(const CsvRow& row);

  const CsvFile& file_;
  const Copying& copying_;
  bool copies_whole_records_ = false;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders_;
  std::string scratch_;
};

/// Finds types that fit columns of text: int64, double or bool when every value is written as such and missing ones are
/// empty, else string.
class TypeFinder {
 public:
  /// Looks at all records; `columns` are the places of the same columns in each file.
  void add(CsvFile& file, const std::vector<std::size_t>& columns);
  [[nodiscard]] std::shared_ptr<arrow::DataType> type(std::size_t column) const;

 private:
  // What all values of a column so far could be.
  struct Candidates {
    bool has_values = false;
    bool may_be_int64 = true;
    bool may_be_double = true;
    bool may_be_bool = true;
    void add(std::string_view text);
  };
  std::vector<Candidates> columns_;
};

}  // namespace limen::table::detail
