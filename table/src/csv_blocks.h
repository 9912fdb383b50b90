// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
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

}  // namespace limen::table::detail
