// SPDX-License-Identifier: MIT
//
// HR, heuristic recalibration (Poceviciute et al. 2022, as the paper reads it): with u' = uncertainty scaled to [0, 1]
// on the hold-out, positive iff score + u' >= t. On a grid the rows of a level share one u', so that the boundaries are
// the prefixes of all bins in order of falling score + u'(level).

#include "limen/solve/solve.h"
#include "solve/certificate.h"

namespace limen {

Solution solve_hr(const Problem& problem) {
  return detail::solve_on_chain(problem, recalibrated_chain(problem.grid()));
}

}  // namespace limen
