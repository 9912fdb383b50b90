// SPDX-License-Identifier: MIT
//
// Any bytes as a boundary file: refused with InvalidInput, or read into a boundary that works and reads back as itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "limen/base/error.h"
#include "limen/solve/boundary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  limen::Boundary boundary;
  try {
    boundary = limen::boundary_from_json({reinterpret_cast<const char*>(data), size});
  } catch (const limen::InvalidInput&) {
    return 0;
  }
  const std::vector<double> score = {-1e300, 0, 0.5, 1e300};
  const std::vector<double> uncertainty = {1e300, 0, -0.5, -1e300};
  const auto decision = limen::decide(boundary.rule, std::span(score), std::span(uncertainty));
  if (decision.size() != 4) std::abort();
  if (!(limen::boundary_from_json(limen::to_json(boundary)) == boundary)) std::abort();
  return 0;
}
