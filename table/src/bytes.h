// SPDX-License-Identifier: MIT
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "known_file.h"

namespace limen::table::detail {

/// The bytes of a file, in order, unpacked when they start like gzip, zstd, bzip2 or lz4. Throws IoError from the file
/// and InvalidInput for packed data that is damaged; both name it.
class Bytes {
 public:
  /// The file must outlive this object.
  explicit Bytes(const OpenFile& file);

  /// Fills `buffer` as far as there is input, also from a pipe that hands over small pieces; returns the bytes read,
  /// fewer than asked for only at the end of the input.
  [[nodiscard]] std::size_t read(std::span<char> buffer);

  /// Bytes of the file itself that have been read.
  [[nodiscard]] std::uint64_t bytes_read() const;

 private:
  class Raw;
  const OpenFile& file_;
  std::shared_ptr<Raw> raw_;
  std::shared_ptr<arrow::util::Codec> codec_;  // outlives unpacked_, which uses it
  std::shared_ptr<arrow::io::InputStream> unpacked_;
  const char* packing_ = nullptr;
};

}  // namespace limen::table::detail
