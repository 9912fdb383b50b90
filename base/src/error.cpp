// SPDX-License-Identifier: MIT
#include "limen/base/error.h"

#include "limen/base/text.h"

namespace limen::detail {

std::string error_message(const Where& where, const std::string& problem) {
  std::string message;
  if (const std::string& first = where.source.empty() ? where.function : where.source; !first.empty()) {
    message += first + ": ";
  }
  if (!where.place.empty()) message += where.place + ": ";
  if (!where.column.empty()) message += "column " + quoted(where.column) + ": ";
  if (!where.field.empty()) message += where.field + " ";
  return message + problem;
}

}  // namespace limen::detail
