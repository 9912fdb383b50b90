// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace limen {

/// What `name` was probably meant to be: the candidate that fewest letters separate from it; empty when none is close.
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace limen
