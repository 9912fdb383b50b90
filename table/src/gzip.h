// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace limen::table::detail {

/// Unpacks gzip data, also several members one after the other.
class GzipReader {
 public:
  virtual ~GzipReader() = default;
  /// Fills `buffer` as far as there is data; throws InvalidInput that names the file when the data is damaged.
  [[nodiscard]] virtual std::size_t read(std::span<char> buffer) = 0;
};

/// read_packed: see InputFile::read. Throws InvalidInput in a build without Arrow.
[[nodiscard]] std::unique_ptr<GzipReader> open_gzip(std::string name,
                                                    std::function<std::size_t(std::span<char>)> read_packed);

}  // namespace limen::table::detail
