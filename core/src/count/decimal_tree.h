// SPDX-License-Identifier: MIT
// Cuts of few digits between values, found by counting: the same for the same rows in any order and anywhere.
//
// All numbers are the root of one fixed binary tree of intervals; each is cut near its middle, at a decimal with as few
// digits as possible: (-inf, inf) at 0, [0, inf) at 1, [0, 1) at 0.5, [0.5, 1) at 0.7 or 0.8 and so on. Counts only say
// how far down the tree is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "limen/count/counted_rows.h"

namespace limen::detail {

/// Where the tree cuts the numbers from low up to, but without, high; both may be infinite. Unset: there is only one.
[[nodiscard]] std::optional<double> tree_cut(double low, double high);

/// Numbers from low up to, but without, high, of an interval of the tree, and the rows there, by group.
struct TreeNode {
  double low;
  double high;
  std::span<const std::int64_t> rows;
  std::span<const std::int64_t> above;  ///< rows with larger values
};

/// The cuts between the intervals at which going down ended and that hold rows, increasing; none below the first of
/// these. is_cut(node): whether to go on where there is more than one value. As many questions as the depth needs, of
/// up to 2048 cuts each; two or three as a rule.
[[nodiscard]] std::vector<double> tree_cuts(const CountedRows& rows, CountedColumn column,
                                            const std::vector<double>& group_cuts,
                                            const std::function<bool(const TreeNode&)>& is_cut);

}  // namespace limen::detail
