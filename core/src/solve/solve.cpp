// SPDX-License-Identifier: MIT
#include "limen/solve/solve.h"

#include <array>
#include <string>
#include <utility>

#include "limen/base/error.h"

namespace limen {
namespace {

constexpr std::array<std::pair<Method, std::string_view>, 7> kNames = {{{Method::kSt, "st"},
                                                                        {Method::kHr, "hr"},
                                                                        {Method::kGmt, "gmt"},
                                                                        {Method::kMist, "mist"},
                                                                        {Method::kEwDpmt, "ew-dpmt"},
                                                                        {Method::kVwDpmt, "vw-dpmt"},
                                                                        {Method::kExact, "exact"}}};

}  // namespace

std::string_view to_string(Method method) {
  for (const auto& [value, name] : kNames) {
    if (value == method) return name;
  }
  return "";
}

Method parse_method(std::string_view text) {
  std::string names;
  for (const auto& [value, name] : kNames) {
    if (name == text) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw InvalidInput("method \"" + std::string(text) + "\" is not one of " + names);
}

Solution solve(Method method, const Grid& grid, const Objective& objective) {
  switch (method) {
    case Method::kSt:
      return solve_st(grid, objective);
    case Method::kHr:
      return solve_hr(grid, objective);
    case Method::kGmt:
      return solve_gmt(grid, objective);
    case Method::kMist:
      return solve_mist(grid, objective);
    case Method::kEwDpmt:
      return solve_ew_dpmt(grid, objective);
    case Method::kVwDpmt:
      return solve_vw_dpmt(grid, objective);
    case Method::kExact:
      return solve_exact(grid, objective);
  }
  throw InvalidInput("solve: unknown method");
}

}  // namespace limen
