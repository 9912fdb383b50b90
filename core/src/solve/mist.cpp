// SPDX-License-Identifier: MIT
//
// MIST, global threshold on scores recalibrated with isotonic regression. As printed:
//   for i = 1 .. K:  s_iso(i, 1 .. L) = IsotonicRegression of p(i, j) / n(i, j), weights n(i, j), increasing in j
//   rank(i, j) = place of s_iso(i, j) in falling order, equal values sharing a rank
//   pi(r), nu(r) = sums of s_iso(i, j) n(i, j) and of n(i, j) over rank(i, j) <= r
//   r* = the last r before pi(r) / nu(r) < sigma
//   b(i) = min{ j : rank(i, j) >= r* }   -- erratum: the bins of rank <= r* are positive, so
//   b(i) = max{ j : rank(i, j) > r* }, and 0 if there is none.
//
// The bins of one isotonic block have one rank and as many positives together as s_iso n, so "rank <= r" is a prefix of
// the hull chain: all blocks in order of falling rate, equal rates joining together. Precision falls along it, so the
// last feasible prefix is the best one. It is also the greedy integer part of the linear relaxation (relaxation.h).

#include "limen/solve/solve.h"
#include "solve/certificate.h"

namespace limen {

Solution solve_mist(const Problem& problem) { return detail::solve_on_chain(problem, problem.hull_chain()); }

}  // namespace limen
