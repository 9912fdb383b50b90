// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "file_reader.h"
#include "limen/table/read_options.h"

namespace limen::table::detail {

/// The kinds of the columns of several files, by name: as the options say, else text when some file holds text in it.
class ColumnKinds {
 public:
  /// Throws InvalidInput for a column that is to be both.
  explicit ColumnKinds(const FrameReadOptions& options);

  [[nodiscard]] bool is_fixed(std::string_view name) const { return fixed_.contains(name); }
  void add(FileReader& reader, const ValueRules& rules);
  [[nodiscard]] ColumnKind of(std::string_view name) const;
  /// A column of a file, to be read as its kind.
  [[nodiscard]] Wanted wanted(const ColumnNames& names, std::string_view name) const;

 private:
  std::map<std::string, ColumnKind, std::less<>> fixed_;
  std::set<std::string, std::less<>> text_;  // those that some file holds text in
};

}  // namespace limen::table::detail
