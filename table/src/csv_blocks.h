// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "input_file.h"

namespace limen::table::detail {

/// Sizes that bound memory; the tests make them small.
struct CsvLimits {
  /// Bytes asked from the file at a time; at least 16 are.
  std::size_t chunk_bytes = std::size_t{1} << 18;
  /// A longer record is refused.
  std::size_t max_record_bytes = std::size_t{64} << 20;
  /// Blocks that a reader in batches parses at a time.
  std::size_t blocks_per_run = 64;
  /// append_csv fills about this many rows at a time, or fewer when their text has batch_bytes.
  std::size_t batch_rows = 65'536;
  std::size_t batch_bytes = std::size_t{32} << 20;
};

/// Whole records of a file, one after the other.
struct CsvBlock {
  std::vector<char> bytes;
  std::size_t begin = 0;         ///< 3 behind a byte order mark
  bool is_last = true;           ///< its last record may end with the file instead of a line end
  bool is_record_start = false;  ///< the start of one record longer than max_record_bytes; no block follows

  [[nodiscard]] std::string_view text() const { return std::string_view(bytes.data(), bytes.size()).substr(begin); }
};

/// Cuts a file at record ends into blocks of about chunk_bytes. Where a record ends is decided as by CsvRows, to whom
/// it is left to refuse what is malformed: up to the first malformed place the cuts are right. Throws IoError from the
/// file, and InvalidInput for a known binary format. Memory: the larger of one chunk and twice the longest record.
class CsvBlocks {
 public:
  /// The file must outlive this object.
  CsvBlocks(InputFile& file, char separator, const CsvLimits& limits);

  /// The next block, unset after the last one.
  [[nodiscard]] std::optional<CsvBlock> next();

  [[nodiscard]] const InputFile& file() const { return file_; }
  [[nodiscard]] bool has_byte_order_mark() const { return has_byte_order_mark_; }

 private:
  void check_start(CsvBlock& block);

  InputFile& file_;
  char separator_;
  CsvLimits limits_;
  std::vector<char> rest_;  // read behind the end of the last block
  bool at_start_ = true;
  bool at_end_ = false;
  bool has_byte_order_mark_ = false;
};

}  // namespace limen::table::detail
