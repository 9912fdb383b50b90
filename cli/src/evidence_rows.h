// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "limen/base/dates.h"
#include "limen/base/frame.h"

namespace limen::cli {

/// A key of `evidence`: a column, or a part of one that holds dates ("date:hour").
struct KeySpec {
  std::string name;    ///< as given
  std::string column;  ///< without the part
  std::optional<DatePart> part = std::nullopt;
};
[[nodiscard]] std::vector<KeySpec> parse_keys(const std::vector<std::string>& names);

/// The columns that the keys need, each once.
[[nodiscard]] std::vector<std::string> columns_of(const std::vector<KeySpec>& keys);

/// The key columns of rows read with columns_of(keys), perhaps followed by others. A part of a date is text.
[[nodiscard]] Frame key_frame(const Frame& frame, const std::vector<KeySpec>& keys, const std::string& table);

}  // namespace limen::cli
