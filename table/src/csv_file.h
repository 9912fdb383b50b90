// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "columns.h"
#include "csv_blocks.h"
#include "csv_rows.h"
#include "known_file.h"
#include "limen/base/error.h"
#include "limen/table/format.h"
#include "limen/table/read_options.h"
#include "read_limits.h"

namespace limen::table::detail {

/// A CSV or TSV file whose header, if it has one, has been read. Throws InvalidInput when it is empty.
class CsvFile {
 public:
  CsvFile(const std::shared_ptr<KnownFile>& file, Format format, const ReadOptions& options, const Limits& limits);

  /// The records behind the header, a block at a time; unset after the last one.
  [[nodiscard]] std::optional<CsvBlock> next_block();
  /// Where the first block starts.
  [[nodiscard]] const CsvPlace& start() const { return start_; }
  [[nodiscard]] CsvRows rows(const CsvBlock& block, const CsvPlace& place) const {
    return {names_.table, names_.separator, limits_.max_record_bytes, block, place};
  }
  /// Refuses a record that has not one field for each column.
  void check_length(const CsvRow& row) const {
    if (row.fields.size() != names_.names.size()) refuse_length(row);
  }
  [[noreturn]] void refuse_value(const CsvRow& row, std::size_t column, const std::string& problem, Cause cause) const;

  [[nodiscard]] OpenFile& file() { return file_; }
  [[nodiscard]] const OpenFile& file() const { return file_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_.bytes_read(); }
  [[nodiscard]] const ColumnNames& names() const { return names_; }
  /// The names as the file has them, as a record; no fields when they are not those of the file.
  [[nodiscard]] CsvRow header() const { return {.text = header_text_, .line = 1, .fields = header_fields_}; }
  [[nodiscard]] bool has_byte_order_mark() const { return blocks_.has_byte_order_mark(); }
  /// Whether the first line ends with CRLF.
  [[nodiscard]] bool has_crlf() const { return has_crlf_; }

 private:
  void read_names(const CsvRow& first, const ReadOptions& options);
  [[noreturn]] void refuse_length(const CsvRow& row) const;

  Limits limits_;
  OpenFile file_;
  Bytes bytes_;
  ColumnNames names_;
  CsvBlocks blocks_;
  std::optional<CsvBlock> first_block_;
  CsvPlace start_;
  std::string header_text_;
  std::vector<std::string_view> header_fields_;  // parts of header_text_
  bool has_crlf_ = false;
};

}  // namespace limen::table::detail
