// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace limen {

/// The bytes of a regular file, or of one that a symbolic link leads to. Devices, pipes, sockets and folders are
/// refused without reading or waiting, and so is a file of more than `max_bytes`, before any memory is taken for it.
/// Throws IoError with the path.
[[nodiscard]] std::string read_regular_file(const std::string& path, std::size_t max_bytes);

}  // namespace limen
