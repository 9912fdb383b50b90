// SPDX-License-Identifier: MIT
#include "deploy/checks.h"

#include <string>

#include "count/sql_words.h"
#include "limen/solve/segments.h"

namespace limen::detail {

void check_exported(const Boundary& boundary, const char* function) {
  if (!boundary.segments) {
    validate(boundary.rule);
    if (boundary.review) validate(*boundary.review, boundary.rule);
    return;
  }
  validate(*boundary.segments);
  for (const Segment& segment : boundary.segments->own) check_text(segment.value, "the segment", function);
  for (const std::string& value : boundary.segments->pooled_values) check_text(value, "the segment", function);
}

bool looks_at_uncertainty(const Boundary& boundary) {
  return !boundary.segments || uses_uncertainty(*boundary.segments);
}

}  // namespace limen::detail
