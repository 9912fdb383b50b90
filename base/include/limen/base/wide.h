// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace limen::detail {

/// Products of two counts, or of a count and a bound's numerator, need more than 64 bits: counts stay below 2^53 units
/// and bounds below 2^60, so 128 bits always hold them.
__extension__ using Wide = __int128;

/// Sign of a/b - c/d for a, c >= 0 and b, d > 0, without multiplying: the two continued fractions are compared term by
/// term, as Euclid's algorithm makes them.
inline int compare_fractions(Wide a, Wide b, Wide c, Wide d) {
  int sign = 1;
  for (;;) {
    const Wide whole_left = a / b;
    const Wide whole_right = c / d;
    if (whole_left != whole_right) return whole_left > whole_right ? sign : -sign;
    a %= b;
    c %= d;
    if (a == 0 || c == 0) return a == c ? 0 : (a != 0 ? sign : -sign);
    // a/b and c/d are now both in (0, 1): compare the reciprocals, which reverses the order.
    const Wide a_before = a;
    const Wide c_before = c;
    a = b;
    b = a_before;
    c = d;
    d = c_before;
    sign = -sign;
  }
}

}  // namespace limen::detail
