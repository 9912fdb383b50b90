// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csv_blocks.h"

namespace limen::table::detail {

/// One record. The views are good until the next call of CsvRows::next().
struct CsvRow {
  std::string_view text;                     ///< without the line end
  std::uint64_t line = 0;                    ///< physical line on which it starts, the file's first is 1
  std::span<const std::string_view> fields;  ///< parts of `text`, as written, with their quotes; at least one
};

/// How far a file has been read.
struct CsvPlace {
  std::uint64_t line = 1;        ///< of the next record
  std::uint64_t blank_line = 0;  ///< first of the blank lines just before it, 0 when there is none
};

/// Splits a block of a file into records and fields by RFC 4180, with any separator.
///
/// Written by hand, because Arrow's parser reads without a word what is refused here, does not tell physical lines, and
/// does not keep fields as they are written, which copying text to text needs.
///
/// A field that starts with a double quote ends at the next quote that is not doubled, and may hold separators and line
/// ends; a quote inside an unquoted field is an ordinary character. A line ends with LF or CRLF, the last one also with
/// the file. A UTF-8 byte order mark is skipped, and so are lines at the end that are empty or hold only blanks.
///
/// Throws InvalidInput that names path and line for: a NUL byte, a blank line before further rows, an unclosed quote,
/// text after a closing quote, a record above max_record_bytes.
class CsvRows {
 public:
  /// The block must outlive this object. `name` is that of the file.
  CsvRows(const std::string& name, char separator, std::size_t max_record_bytes, const CsvBlock& block,
          const CsvPlace& place);
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  /// The next record, null after the last one.
  [[nodiscard]] const CsvRow* next();

  /// Bytes of the block before the next record.
  [[nodiscard]] std::size_t consumed() const { return static_cast<std::size_t>(begin_ - block_.bytes.data()); }
  [[nodiscard]] CsvPlace place() const { return place_; }
  /// Whether the record last returned ended with CRLF.
  [[nodiscard]] bool ended_with_crlf() const { return ended_with_crlf_; }

 private:
  void split_record();
  void split_plain(const char* newline);
  void split_quoted();
  void finish_record(const char* stop);
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_long_record(const char* open_quote) const;
  [[nodiscard]] std::uint64_t line_of(const char* position) const;

  const std::string& name_;
  char separator_;
  std::size_t max_record_bytes_;

  //  block_:  | consumed | next record ... |
  //                    begin_             end_
  const CsvBlock& block_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  const char* quote_ = nullptr;  // first quote at or after begin_, once it was looked for; else before begin_
  CsvPlace place_;               // of begin_
  bool ended_with_crlf_ = false;
  std::vector<std::string_view> fields_;
  CsvRow row_;
};

/// unquoted() for a field that starts with a quote.
[[nodiscard]] std::string_view without_quotes(std::string_view field, std::string& scratch);

/// The value of a field: without its quotes, doubled quotes made single. May use `scratch` to hold it.
[[nodiscard]] inline std::string_view unquoted(std::string_view field, std::string& scratch) {
  return field.starts_with('"') ? without_quotes(field, scratch) : field;
}

}  // namespace limen::table::detail
