// SPDX-License-Identifier: MIT
//
// Any bytes as a boundary file: refused with InvalidInput, or read into a boundary that works, is exported and
// reads back as itself.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "limen/base/error.h"
#include "limen/deploy/c_header.h"
#include "limen/deploy/onnx.h"
#include "limen/deploy/sql.h"
#include "limen/solve/boundary.h"
#include "limen/solve/segments.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  limen::Boundary boundary;
  try {
    boundary = limen::boundary_from_json({reinterpret_cast<const char*>(data), size});
  } catch (const limen::InvalidInput&) {
    return 0;
  }
  const std::vector<double> score = {-1e300, 0, 0.5, 1e300};
  const std::vector<double> uncertainty = {1e300, 0, -0.5, -1e300};
  if (boundary.segments) {
    // A value that stands alone or in the pool, and one that is not there.
    const auto& segments = *boundary.segments;
    const std::string known = segments.own.empty() ? segments.pooled_values.front() : segments.own.front().value;
    const limen::TextValues values{{known, known + "?"}, {0, 1, 0, 1}};
    std::vector<std::uint8_t> decision(4);
    (void)limen::decide(segments, std::span<const double>(score), std::span<const double>(uncertainty), values,
                        decision);
  } else {
    const auto decision = limen::decide(boundary.rule, std::span(score), std::span(uncertainty));
    if (decision.size() != 4) std::abort();
  }
  // It is exported, or refused: a name or a text that an engine cannot have.
  try {
    for (const char* dialect : {"ansi", "spark", "duckdb", "postgres", "bigquery", "snowflake", "trino"}) {
      for (const char* part : {"decision", "level", "reason"}) {
        (void)limen::to_sql(boundary,
                            {.dialect = limen::parse_sql_dialect(dialect), .part = limen::parse_sql_part(part)});
      }
    }
    (void)limen::to_c_header(boundary);
    (void)limen::to_onnx(boundary);
  } catch (const limen::InvalidInput&) {
  }
  if (!(limen::boundary_from_json(limen::to_json(boundary)) == boundary)) std::abort();
  return 0;
}
