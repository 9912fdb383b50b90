// SPDX-License-Identifier: MIT
#pragma once

namespace limen {

/// Where to cut between two neighbouring values, so that values <= below are on one side and values >= at on the other:
/// a number t with below < t <= at, of all such the decimal with the fewest digits, among those the nearest to the
/// middle.
///
/// Where `below` and `at` differ in single precision, so does t from `below` in the same sense: with b and a the values
/// rounded to float, b < t <= a and b < float(t) <= a, so that rounding the values, or the values and t, moves nothing
/// across the cut. Never -0. below < at, both finite. 0.2 microseconds.
[[nodiscard]] double shortest_between(double below, double at);

/// The same with nothing below `at`: a number of few digits at `at` or below it by at most a hundredth of it. Not above
/// float(at) either.
[[nodiscard]] double shortest_at_most(double at);

}  // namespace limen
