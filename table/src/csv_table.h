// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "csv_rows.h"
#include "input.h"
#include "limen/base/text.h"

namespace limen::table::detail {

/// Reads the values of records and refuses bad ones by file, line and column. An empty optional stands for a value
/// whose row drop_missing leaves out; the caller reads all values of a row before it leaves one out, so that text in a
/// number column is refused in any case.
class CsvValues {
 public:
  /// The names must outlive this object.
  CsvValues(const ColumnNames& names, bool drop_missing) : names_(names), drop_missing_(drop_missing) {}

  /// Refuses a record that has not one field for each column.
  void check_length(const CsvRow& row) const {
    if (row.fields.size() != names_.names.size()) refuse_length(row);
  }
  [[nodiscard]] std::optional<double> number(const CsvRow& row, const Column& column) {
    const std::string_view text = unquoted(row.fields[column.index], scratch_);
    const NumberField field = parse_number(text);
    if (field.status == FieldStatus::kOk) return field.value;
    return refuse_or_drop_number(row, column, text, field.status);
  }
  [[nodiscard]] std::optional<double> weight(const CsvRow& row, const Column& column);
  [[nodiscard]] std::optional<std::uint8_t> label(const CsvRow& row, const Column& column);
  /// Refuses a value that is missing, whatever drop_missing says.
  [[noreturn]] void refuse_missing(const CsvRow& row, const Column& column);
  [[noreturn]] void refuse_value(const CsvRow& row, const Column& column, const std::string& what) const;

 private:
  [[noreturn]] void refuse_length(const CsvRow& row) const;
  std::nullopt_t refuse_or_drop_number(const CsvRow& row, const Column& column, std::string_view text,
                                       FieldStatus status);
  std::nullopt_t refuse_or_drop(const CsvRow& row, const Column& column, std::string_view text, bool is_not_finite);

  const ColumnNames& names_;
  bool drop_missing_;
  std::string scratch_;
};

/// A CSV or TSV file whose header, if it has one, has been read. Throws InvalidInput when it is empty.
class CsvTable {
 public:
  explicit CsvTable(const Input& input, const CsvLimits& limits = {}, const Progress& progress = nullptr,
                    bool drop_missing = false);

  /// The next record, which has one field for each column; null after the last one.
  [[nodiscard]] const CsvRow* next();

  [[nodiscard]] const ColumnNames& names() const { return names_; }
  [[nodiscard]] CsvValues& values() { return values_; }
  [[nodiscard]] CsvRows& rows() { return rows_; }
  [[nodiscard]] const InputFile& file() const { return file_; }
  /// The header as written, and its fields; none when the names are not those of the file.
  [[nodiscard]] std::string_view header_text() const { return header_text_; }
  [[nodiscard]] std::span<const std::string_view> header_fields() const { return header_fields_; }
  [[nodiscard]] bool has_byte_order_mark() const { return rows_.has_byte_order_mark(); }
  /// Whether the first line ends with CRLF.
  [[nodiscard]] bool has_crlf() const { return has_crlf_; }

 private:
  InputFile file_;
  CsvRows rows_;
  ColumnNames names_;
  CsvValues values_;
  std::string header_text_;
  std::vector<std::string_view> header_fields_;  // parts of header_text_
  bool has_crlf_ = false;
};

}  // namespace limen::table::detail
