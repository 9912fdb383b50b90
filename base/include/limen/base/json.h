// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace limen {

struct JsonLimits {
  int depth = 100;                           ///< of lists and objects in each other
  std::size_t bytes = std::size_t{1} << 30;  ///< of the whole text
};

/// Parses JSON that may come from anyone. InvalidInput with `source` for a text that is longer or deeper than the
/// limits, that is not JSON, or in which an object has a key twice: programs differ in which of the two they take.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& source,
                                        const JsonLimits& limits = {});

}  // namespace limen
