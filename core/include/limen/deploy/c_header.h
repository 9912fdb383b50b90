// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "limen/solve/boundary.h"

namespace limen {

struct CHeaderOptions {
  /// Of the function, and the beginning of the others' names. A name in C and C++: letters, digits and single
  /// underscores, a letter first, at most 60, no keyword.
  std::string name = "limen_decide";
};

/// The boundary's rule as a header of C99 and of any C++, which needs nothing (for segments, <string.h>):
///
///     static inline int NAME(double score, double uncertainty)        1, 0, or -1 where `decide` refuses the row
///     static inline int NAME_level(double uncertainty)                the level, or -1
///     static inline int NAME_review(double score, double uncertainty) for boundaries with a review
///
/// A boundary with segments has `const char* segment` as the last argument of each, UTF-8, and no uncertainty where
/// none of its segments has levels. -1 stands for a number that is NaN or infinite and for a null segment; the level
/// is -1 too where a segment was never seen and is never flagged. Numbers read back exactly, names of columns are in
/// no part of the text, and the same boundary gives the same bytes. Throws InvalidInput: the name, a segment with NUL.
[[nodiscard]] std::string to_c_header(const Boundary& boundary, const CHeaderOptions& options = {});

}  // namespace limen
