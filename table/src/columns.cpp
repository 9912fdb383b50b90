// SPDX-License-Identifier: MIT
#include "columns.h"

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/nearest_name.h"
#include "limen/base/text.h"

namespace limen::table::detail {

bool ColumnNames::has(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }

std::optional<Column> ColumnNames::find(std::string_view name) const {
  name = trimmed(name);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  const auto count = std::ranges::count(names, name);
  if (count > 1) refuse("has " + std::to_string(count) + " columns " + quoted(name) + " (rename all but one)");
  return Column{std::string(name), static_cast<std::size_t>(found - names.begin())};
}

Column ColumnNames::require(std::string_view name, std::string_view option) const {
  if (std::optional<Column> column = find(name)) return *std::move(column);
  constexpr std::size_t kMaxNames = 20;
  constexpr std::size_t kMaxCharacters = 40;
  std::string list;
  for (std::size_t index = 0; index < std::min(kMaxNames, names.size()); ++index) {
    if (index > 0) list += ", ";
    list += escaped(names[index], kMaxCharacters);
  }
  if (names.size() > kMaxNames) list += " and " + std::to_string(names.size() - kMaxNames) + " more";
  std::string hint = option.empty() ? "" : " (name yours with " + std::string(option) + ")";
  if (names.size() == 1 && separator == ',') {
    if (names[0].find('\t') != std::string::npos) hint = " (tabs separate them: name the file .tsv)";
    if (names[0].find(';') != std::string::npos) hint = " (semicolons separate them: save it with commas)";
  }
  refuse("no column " + quoted(name) + "; the columns are: " + list + hint);
}

Column ColumnNames::require(std::string_view name) const {
  const std::string nearest = has(trimmed(name)) ? "" : nearest_name(trimmed(name), names);
  if (!nearest.empty()) refuse("no column " + quoted(trimmed(name)) + "; did you mean " + quoted(nearest) + "?");
  return require(name, "");
}

void ColumnNames::refuse(const std::string& what) const { throw InvalidInput(table + ": " + what); }

LabelledColumns find_labelled(const ColumnNames& names, const PredictionColumns& wanted) {
  return {.score = names.require(wanted.score, "--score"),
          .uncertainty = names.require(wanted.uncertainty, "--uncertainty"),
          .label = names.require(wanted.label, "--label"),
          .weight = wanted.weight_required ? names.require(wanted.weight, "--weight") : names.find(wanted.weight)};
}

void require_same_columns(const ColumnNames& first, const ColumnNames& other) {
  if (other.names.size() != first.names.size()) {
    other.refuse("has " + std::to_string(other.names.size()) + " columns, " + first.table + " has " +
                 std::to_string(first.names.size()) + " (several inputs must have the same columns)");
  }
  for (std::size_t index = 0; index < first.names.size(); ++index) {
    if (other.names[index] == first.names[index]) continue;
    other.refuse("column " + std::to_string(index + 1) + " is " + quoted(other.names[index]) + ", in " + first.table +
                 " it is " + quoted(first.names[index]) + " (several inputs must have the same columns)");
  }
}

}  // namespace limen::table::detail
