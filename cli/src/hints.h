// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "limen/base/error.h"

namespace limen::cli {

/// What to do about an error, by its cause and the flags that the verb has: " (leave out such rows with
/// --drop-missing)"; empty when there is nothing to say.
[[nodiscard]] std::string hint(const InvalidInput& error, const CLI::App& verb);

}  // namespace limen::cli
