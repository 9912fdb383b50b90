// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "limen/table/format.h"

namespace limen::table {

/// A column to write. NaN is written as missing.
struct WrittenColumn {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::string>> values;
};

/// Writes columns of equal length as a table, in the format and packing that output_format gives for the path; the file
/// appears whole or not at all, see OutputFile. Throws InvalidInput for a name that says no format, IoError when it
/// cannot be written, std::logic_error for columns of unequal length.
void write_table(const std::string& path, const std::vector<WrittenColumn>& columns,
                 std::optional<Format> format = std::nullopt);

}  // namespace limen::table
