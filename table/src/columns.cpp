// SPDX-License-Identifier: MIT
#include "columns.h"

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 20;
  constexpr std::size_t kMaxCharacters = 40;
  std::string list;
  for (std::size_t index = 0; index < std::min(kMaxNames, names.size()); ++index) {
    if (index > 0) list += ", ";
    list += escaped(names[index], kMaxCharacters);
  }
  return names.size() > kMaxNames ? list + " and " + std::to_string(names.size() - kMaxNames) + " more" : list;
}

}  // namespace

bool ColumnNames::has(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }

std::optional<std::size_t> ColumnNames::find(std::string_view name) const {
  name = trimmed(name);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  const auto count = std::ranges::count(names, name);
  if (count > 1) refuse("has " + std::to_string(count) + " columns " + quoted(name) + " (rename all but one)");
  return static_cast<std::size_t>(found - names.begin());
}

std::size_t ColumnNames::require(std::string_view name) const {
  if (const std::optional<std::size_t> column = find(name)) return *column;
  name = trimmed(name);
  if (names.size() == 1 && separator == ',' && names[0].find_first_of(";\t|") != std::string::npos) {
    throw InvalidInput(Where{.source = table, .column = names[0]},
                       "is the only column; its fields seem to have another separator than the comma",
                       Cause::kSeparator);
  }
  const std::string nearest = did_you_mean(name, names);
  throw InvalidInput(Where{.source = table, .column = std::string(name)},
                     "there is no such column" + (nearest.empty() ? "; the columns are: " + list_of(names) : nearest),
                     Cause::kNoSuchColumn);
}

void ColumnNames::refuse(const std::string& what) const { throw InvalidInput(table, what); }

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

ColumnKinds::ColumnKinds(const FrameReadOptions& options) {
  for (const std::string& name : options.text_columns) fixed_.emplace(trimmed(name), ColumnKind::kText);
  for (const std::string& name : options.number_columns) {
    const ColumnKind kind = fixed_.emplace(trimmed(name), ColumnKind::kNumber).first->second;
    if (kind == ColumnKind::kText) throw InvalidInput("column " + quoted(name) + " cannot be both text and number");
  }
}

bool ColumnKinds::are_fixed(const std::vector<std::string>& names) const {
  return std::ranges::all_of(names, [this](const std::string& name) { return fixed_.contains(trimmed(name)); });
}

void ColumnKinds::add(const ColumnNames& names, const std::vector<std::optional<ColumnKind>>& kinds) {
  for (std::size_t column = 0; column < kinds.size(); ++column) {
    if (kinds[column] == ColumnKind::kText) text_.insert(names.names[column]);
  }
}

ColumnKind ColumnKinds::of(std::string_view name) const {
  if (const auto fixed = fixed_.find(name); fixed != fixed_.end()) return fixed->second;
  return text_.contains(name) ? ColumnKind::kText : ColumnKind::kNumber;
}

Wanted ColumnKinds::wanted(const ColumnNames& names, std::string_view name) const {
  const std::size_t index = names.require(name);
  const std::string& own_name = names.names[index];
  return {.name = own_name,
          .kind = of(own_name) == ColumnKind::kText ? Kind::kText : Kind::kReal,
          .parses_text = true,
          .index = index};
}

}  // namespace limen::table::detail
