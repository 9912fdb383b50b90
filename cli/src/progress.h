// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace limen::cli {

/// Shows progress in bytes under this name while stderr is a terminal; null when it is not.
[[nodiscard]] std::function<void(std::uint64_t, std::uint64_t)> progress_line(const std::string& name);

}  // namespace limen::cli
