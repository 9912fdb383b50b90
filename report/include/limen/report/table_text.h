// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace limen::report {

/// A table of text: every row has as many cells as `header`.
struct TextTable {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

/// The table in Markdown, CSV (RFC 4180) or LaTeX (booktabs). All text is escaped for its format. Throws InvalidInput
/// where a row is of another length than the header.
[[nodiscard]] std::string markdown(const TextTable& table);
[[nodiscard]] std::string csv(const TextTable& table);
[[nodiscard]] std::string latex(const TextTable& table);

}  // namespace limen::report
