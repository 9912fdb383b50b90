// SPDX-License-Identifier: MIT
#include "column_kinds.h"

#include <algorithm>

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {

ColumnKinds::ColumnKinds(const FrameReadOptions& options) {
  for (const std::string& name : options.text_columns) fixed_.emplace_back(trimmed(name), ColumnKind::kText);
  for (const std::string& name : options.number_columns) {
    if (is_fixed(trimmed(name))) throw InvalidInput("column " + quoted(name) + " cannot be both text and number");
    fixed_.emplace_back(trimmed(name), ColumnKind::kNumber);
  }
}

void ColumnKinds::add(FileReader& reader, const ValueRules& rules) {
  const std::vector<std::string>& names = reader.names().names;
  const std::vector<std::optional<ColumnKind>> kinds = reader.kinds(rules);
  for (std::size_t column = 0; column < names.size(); ++column) {
    if (kinds[column] == ColumnKind::kText && find(text_, names[column]) == nullptr) {
      text_.emplace_back(names[column], ColumnKind::kText);
    }
  }
}

ColumnKind ColumnKinds::of(std::string_view name) const {
  if (const ColumnKind* kind = find(fixed_, name)) return *kind;
  return find(text_, name) != nullptr ? ColumnKind::kText : ColumnKind::kNumber;
}

Wanted ColumnKinds::wanted(const ColumnNames& names, std::string_view name) const {
  const std::size_t index = names.require(name);
  const std::string& own_name = names.names[index];
  return {.name = own_name,
          .kind = of(own_name) == ColumnKind::kText ? Kind::kText : Kind::kReal,
          .parses_text = true,
          .index = index};
}

const ColumnKind* ColumnKinds::find(const Named& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::value_type::first);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace limen::table::detail
