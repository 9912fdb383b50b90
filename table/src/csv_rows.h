// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "read_limits.h"

namespace limen::table::detail {

/// Whole records of a file, one after the other.
struct CsvBlock {
  std::vector<char> bytes;
  std::size_t begin = 0;         ///< 3 behind a byte order mark
  bool is_last = true;           ///< its last record may end with the file instead of a line end
  bool is_record_start = false;  ///< the start of one record longer than max_record_bytes; no block follows

  [[nodiscard]] std::string_view text() const { return std::string_view(bytes.data(), bytes.size()).substr(begin); }
};

/// Cuts a file at record ends into blocks of about chunk_bytes. Where a record ends is decided as by CsvRows, to whom
/// it is left to refuse what is malformed: up to the first malformed place the cuts are right. Throws what the bytes
/// throw, and InvalidInput for a known binary format. Memory: the larger of one chunk and twice the longest record.
class CsvBlocks {
 public:
  /// name: of the file, as messages show it. The bytes must outlive this object.
  CsvBlocks(const std::string& name, Bytes& bytes, char separator, const Limits& limits);

  /// The next block, unset after the last one.
  [[nodiscard]] std::optional<CsvBlock> next();

  [[nodiscard]] bool has_byte_order_mark() const { return has_byte_order_mark_; }

 private:
  void check_start(CsvBlock& block);

  std::string name_;
  Bytes& bytes_;
  char separator_;
  Limits limits_;
  std::vector<char> rest_;  // read behind the end of the last block
  bool at_start_ = true;
  bool at_end_ = false;
  bool has_byte_order_mark_ = false;
};

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
  CsvPlace place_;  // of begin_
  bool ended_with_crlf_ = false;
  std::vector<std::string_view> fields_;
  CsvRow row_;
};

/// The value of a field: without its quotes, doubled quotes made single. May use `scratch` to hold it.
[[nodiscard]] std::string_view unquoted(std::string_view field, std::string& scratch);

/// Appends a value in quotes, its own quotes doubled.
void append_quoted(std::string_view value, std::string& line);

}  // namespace limen::table::detail
