// SPDX-License-Identifier: MIT
// The frame of a chart with a scale of y: title, axes, grid, ticks, legend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limen/report/chart.h"
#include "svg.h"

namespace limen::report::detail {

/// Smallest and largest of the finite values that were added.
struct Extent {
  double low = 0;
  double high = 0;
  bool is_empty = true;
  void add(double value);
};

/// The ends of an axis: those that were asked for, else the data's with a twentieth of the range beyond.
[[nodiscard]] Extent axis_extent(const Axis& axis, const Extent& data);

struct Scale {
  double low = 0, high = 1;    ///< of the data
  double first = 0, last = 1;  ///< on the page
  [[nodiscard]] double operator()(double value) const { return first + (value - low) / (high - low) * (last - first); }
};

/// "0.25", or "25%".
[[nodiscard]] std::string tick_text(double value, const Ticks& ticks, bool percent);

struct ChartFrame {
  double left = 0, right = 0, top = 0, bottom = 0;  ///< of the plot
  Scale y;
  std::string svg = {};
};

/// Throws InvalidInput in the name of `function` for a size below 100 or an axis that ends before it begins.
[[nodiscard]] ChartFrame make_frame(std::string_view title, const Axis& y_axis, const Extent& y_data, double width,
                                    double height, const std::vector<LegendEntry>& legend, const char* function);

}  // namespace limen::report::detail
