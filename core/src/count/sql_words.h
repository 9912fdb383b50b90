// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "limen/count/sql_dialect.h"

namespace limen::detail {

/// Throws InvalidInput for a text that is empty, has a NUL or is not UTF-8: some engines would cut or change it.
void check_text(std::string_view text, const char* what, const char* function);

/// Where a name stands in a list. Throws InvalidInput that lists the names.
[[nodiscard]] std::size_t place_of(std::string_view name, std::span<const std::string_view> names, const char* what);

/// Words of a dialect. Names and texts may be anything that check_text takes.
class SqlWords {
 public:
  /// function: whose errors they are.
  SqlWords(SqlDialect dialect, const char* function) : dialect_(dialect), function_(function) {}

  /// A name in the dialect's quotes, so that an engine does not fold its case.
  [[nodiscard]] std::string name(std::string_view name, const char* what) const;
  [[nodiscard]] std::string text(std::string_view text) const;
  /// A literal that is a double, and the very same one: digits alone would be a DECIMAL to most engines.
  [[nodiscard]] std::string number(double value) const;
  [[nodiscard]] std::string no_number() const { return as_number("NULL"); }
  [[nodiscard]] std::string as_number(const std::string& value) const;
  /// A text whose bytes are compared, whatever the collation of the column: Spark's cast leaves it out, others are
  /// told.
  [[nodiscard]] std::string as_text(const std::string& value) const;
  /// Whether a number is neither missing, NaN nor infinite. NaN is larger than any number, or fails every comparison.
  [[nodiscard]] std::string is_finite(const std::string& value) const;

 private:
  SqlDialect dialect_;
  const char* function_;
};

}  // namespace limen::detail
