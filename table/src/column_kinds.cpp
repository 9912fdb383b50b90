// SPDX-License-Identifier: MIT
#include "column_kinds.h"

#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::table::detail {

ColumnKinds::ColumnKinds(const FrameReadOptions& options) {
  for (const std::string& name : options.text_columns) fixed_.emplace(trimmed(name), ColumnKind::kText);
  for (const std::string& name : options.number_columns) {
    const ColumnKind kind = fixed_.emplace(trimmed(name), ColumnKind::kNumber).first->second;
    if (kind == ColumnKind::kText) throw InvalidInput("column " + quoted(name) + " cannot be both text and number");
  }
}

void ColumnKinds::add(FileReader& reader, const ValueRules& rules) {
  const std::vector<std::optional<ColumnKind>> kinds = reader.kinds(rules);
  for (std::size_t column = 0; column < kinds.size(); ++column) {
    if (kinds[column] == ColumnKind::kText) text_.insert(reader.names().names[column]);
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
