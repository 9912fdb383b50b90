// SPDX-License-Identifier: MIT
#include "limen/solve/solve.h"

#include "limen/base/error.h"

namespace limen {

Solution solve(Method method, const Problem& problem) {
  switch (method) {
    case Method::kSt:
      return solve_st(problem);
    case Method::kHr:
      return solve_hr(problem);
    case Method::kGmt:
      return solve_gmt(problem);
    case Method::kMist:
      return solve_mist(problem);
    case Method::kEwDpmt:
      return solve_ew_dpmt(problem);
    case Method::kVwDpmt:
      return solve_vw_dpmt(problem);
    case Method::kSmooth:
      return solve_smooth(problem);
    case Method::kExact:
      return solve_exact(problem);
    case Method::kJoint:  // the edges of the grid were found before (joint_edges)
      return solve_exact(problem);
    case Method::kAuto:
      throw InvalidInput("solve", "auto is a choice among methods; fit_boundary makes it");
  }
  throw InvalidInput("solve", "there is no method of this number");
}

Solution solve(Method method, const Grid& grid, const Objective& objective) {
  return solve(method, Problem(grid, objective));
}

}  // namespace limen
