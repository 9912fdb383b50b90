// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input_file.h"

namespace limen::table::detail {

/// Sizes that bound memory; the tests make them small.
struct CsvLimits {
  /// Bytes asked from the file at a time; at least 16 are.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// A longer record is refused.
  std::size_t max_record_bytes = std::size_t{64} << 20;
  /// append_csv decides on this many rows at a time, or on fewer when their text has batch_bytes.
  std::size_t batch_rows = 65'536;
  std::size_t batch_bytes = std::size_t{32} << 20;
};

/// One record. The views are good until the next call of CsvRows::next().
struct CsvRow {
  std::string_view text;                     ///< without the line end
  std::uint64_t line = 0;                    ///< physical line on which it starts, the file's first is 1
  std::span<const std::string_view> fields;  ///< parts of `text`, as written, with their quotes; at least one
};

/// Splits a file into records and fields by RFC 4180, with any separator.
///
/// A field that starts with a double quote ends at the next quote that is not doubled, and may hold separators and line
/// ends; a quote inside an unquoted field is an ordinary character. A line ends with LF or CRLF, the last one also with
/// the file. A UTF-8 byte order mark is skipped, and so are lines at the end that are empty or hold only blanks.
///
/// Memory: the larger of one chunk and twice the longest record. Throws IoError from the file, and InvalidInput that
/// names path and line for: a known binary format, a NUL byte, a blank line before further rows, an unclosed quote,
/// text after a closing quote, a record above max_record_bytes.
class CsvRows {
 public:
  /// progress: see ReadOptions. The file must outlive this object.
  CsvRows(InputFile& file, char separator, const CsvLimits& limits,
          std::function<void(std::uint64_t, std::uint64_t)> progress);

  /// The next record, null after the last one.
  [[nodiscard]] const CsvRow* next();

  [[nodiscard]] const InputFile& file() const { return file_; }
  [[nodiscard]] char separator() const { return separator_; }
  [[nodiscard]] bool has_byte_order_mark() const { return has_byte_order_mark_; }
  /// Whether the record last returned ended with CRLF.
  [[nodiscard]] bool ended_with_crlf() const { return ended_with_crlf_; }

 private:
  bool split_record();
  void split_plain(const char* begin, const char* newline);
  bool split_quoted(const char* begin, const char* end);
  void finish_record(const char* begin, const char* stop);
  void read_more();
  void check_start();
  void check_no_nul(std::size_t from) const;
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_long_record() const;
  [[nodiscard]] std::uint64_t line_of(const char* position) const;

  InputFile& file_;
  char separator_;
  CsvLimits limits_;
  std::function<void(std::uint64_t, std::uint64_t)> progress_;

  //  buffer_:  | consumed | record at hand, rest of the chunk |  free  |
  //            0        begin_                               end_     size()
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t quote_ = 0;  // there is no quote in [begin_, quote_)
  bool at_end_of_file_ = false;
  std::uint64_t bytes_read_ = 0;

  std::uint64_t line_ = 1;            // of begin_
  std::uint64_t blank_line_ = 0;      // first of the blank lines just before begin_, 0 when there is none
  const char* open_quote_ = nullptr;  // set when split_record() ran out of bytes inside a quoted field
  bool has_byte_order_mark_ = false;
  bool ended_with_crlf_ = false;
  std::vector<std::string_view> fields_;
  CsvRow row_;
};

/// The value of a field: without its quotes, doubled quotes made single. May use `scratch` to hold it.
[[nodiscard]] std::string_view unquoted(std::string_view field, std::string& scratch);

}  // namespace limen::table::detail
