// SPDX-License-Identifier: MIT
#include "hints.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "limen/base/text.h"

namespace limen::cli {
namespace {

bool has(const CLI::App& verb, const std::string& flag) { return verb.get_option_no_throw(flag) != nullptr; }

/// Those of the flags that the verb has: "--score, --uncertainty or --label".
std::string list_of(const CLI::App& verb, const std::vector<std::string>& flags) {
  std::vector<std::string> known;
  for (const std::string& flag : flags) {
    if (has(verb, flag)) known.push_back(flag);
  }
  if (known.size() < 2) return known.empty() ? "" : known[0];
  const std::string last = known.back();
  known.pop_back();
  return fmt::format("{} or {}", fmt::join(known, ", "), last);
}

}  // namespace

std::string hint(const InvalidInput& error, const CLI::App& verb) {
  const std::string& column = error.where().column;
  switch (error.cause()) {
    case Cause::kMissingValue:
      return has(verb, "--drop-missing") ? " (leave out such rows with --drop-missing)" : "";
    case Cause::kBadLabel:
      return has(verb, "--positive")
                 ? " (say which is positive with --positive, name another column with --label, or leave out such rows "
                   "with --drop-missing)"
                 : "";
    case Cause::kNotANumber:
      return has(verb, "--categorical")
                 ? fmt::format(" (if it is a category, declare it: --categorical {})", escaped(column, 40))
                 : "";
    case Cause::kNoSuchColumn: {
      const std::string flags = list_of(verb, {"--score", "--uncertainty", "--label", "--weight"});
      return has(verb, "--score") ? fmt::format(" (name yours with {})", flags) : "";
    }
    case Cause::kSeparator: {
      const std::string_view separator = column.find(';') != std::string::npos    ? "';'"
                                         : column.find('\t') != std::string::npos ? "tab"
                                                                                  : "'|'";
      return has(verb, "--separator") ? fmt::format(" (--separator {})", separator) : "";
    }
    case Cause::kWrongFormat:
      return has(verb, "--format") ? " (say its format with --format, or name the file by it)" : "";
    case Cause::kUnknownFormat:
      return has(verb, "--output-format") ? " (or say it with --output-format)" : "";
    case Cause::kColumnExists:
      return has(verb, "--replace") ? " (replace it with --replace, or name the new one otherwise with --prefix)"
                                    : " (rename it or leave it out)";
    case Cause::kTooLittleMemory:
      return has(verb, "--max-memory") ? " (allow more with --max-memory, or name another --method)" : "";
    default:
      return "";
  }
}

}  // namespace limen::cli
