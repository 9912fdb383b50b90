// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gzip.h"

namespace limen::table::detail {

/// The bytes of a file, in order, unpacked when they start like gzip; path "-" is stdin. Every failure throws IoError
/// that names the path and the reason.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills `buffer` as far as there is input, also from a pipe that hands over small pieces; returns the bytes read,
  /// fewer than asked for only at the end of the input.
  [[nodiscard]] std::size_t read(std::span<char> buffer);

  /// The path as messages show it.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Length in bytes of the file itself, 0 when not known.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Bytes of the file itself that have been read.
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::size_t read_packed(std::span<char> buffer);
  [[noreturn]] void fail(int error) const;

  std::string name_;
  std::uint64_t size_ = 0;
  std::uint64_t bytes_read_ = 0;
  int descriptor_;
  std::string start_;  // read in order to tell gzip, not handed over yet
  std::unique_ptr<GzipReader> gzip_;
};

}  // namespace limen::table::detail
