// SPDX-License-Identifier: MIT
#include "frame_rows.h"

namespace limen::cli {

limen::Column taken_rows(const limen::Column& column, const std::vector<std::size_t>& rows) {
  limen::Column result = {.name = column.name};
  if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
    NumberValues values;
    for (const std::size_t row : rows) values.push_back((*numbers)[row]);
    result.values = std::move(values);
    return result;
  }
  const auto& texts = std::get<TextValues>(column.values);
  TextValues values = {.distinct = texts.distinct};
  for (const std::size_t row : rows) values.code.push_back(texts.code[row]);
  result.values = std::move(values);
  return result;
}

}  // namespace limen::cli
