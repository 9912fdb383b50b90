// SPDX-License-Identifier: MIT
#include "limen/base/error.h"

#include "limen/base/text.h"

namespace limen::detail {

std::string error_message(const Where& where, const std::string& problem) {
  std::string message;
  if (!where.source.empty()) message += where.source + ": ";
  if (!where.place.empty()) message += where.place + ": ";
  if (!where.column.empty()) message += "column " + quoted(where.column) + ": ";
  return message + problem;
}

}  // namespace limen::detail
