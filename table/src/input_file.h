// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace limen::table::detail {

/// The bytes of a file, in order; path "-" is stdin. Every failure throws IoError that names the path and the reason.
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
  /// Length in bytes, 0 when not known.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[noreturn]] void fail(int error) const;

  std::string name_;
  std::uint64_t size_ = 0;
  int descriptor_;
};

}  // namespace limen::table::detail
