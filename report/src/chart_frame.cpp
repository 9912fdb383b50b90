// SPDX-License-Identifier: MIT
#include "chart_frame.h"

#include <algorithm>
#include <cmath>

#include "limen/base/error.h"

namespace limen::report::detail {

void Extent::add(double value) {
  if (!std::isfinite(value)) return;
  low = is_empty ? value : std::min(low, value);
  high = is_empty ? value : std::max(high, value);
  is_empty = false;
}

Extent axis_extent(const Axis& axis, const Extent& data) {
  Extent extent = data.is_empty ? Extent{0, 1, false} : data;
  const double beyond =
      extent.high > extent.low ? 0.05 * (extent.high - extent.low) : std::max(0.05 * std::abs(extent.high), 1e-6);
  extent.low = axis.low.value_or(extent.low - beyond);
  extent.high = axis.high.value_or(extent.high + beyond);
  return extent;
}

std::string tick_text(double value, const Ticks& ticks, bool percent) {
  return percent ? fixed(100 * value, std::max(0, ticks.digits - 2)) + "%" : fixed(value, ticks.digits);
}

ChartFrame make_frame(std::string_view title, const Axis& y_axis, const Extent& y_data, double width, double height,
                      const std::vector<LegendEntry>& legend, const char* function) {
  if (!(width >= 100 && height >= 100)) throw InvalidInput(function, "a chart is at least 100 wide and 100 high");
  const Extent extent = axis_extent(y_axis, y_data);
  if (!(extent.high > extent.low)) throw InvalidInput(function, "the axis of y ends before it begins");
  ChartFrame frame;
  frame.svg += title_at(width, title);
  const Legend names = legend_at(58, 36, width - 72, legend);
  frame.svg += names.svg;
  frame.left = 58;
  frame.right = width - 14;
  frame.top = 28 + names.height;
  frame.bottom = height - 44;
  frame.y = {.low = extent.low, .high = extent.high, .first = frame.bottom, .last = frame.top};
  const Ticks ticks = nice_ticks(extent.low, extent.high, 5);
  for (const double tick : ticks.values) {
    const double at = frame.y(tick);
    frame.svg += line_from(frame.left, at, frame.right, at, kGrid);
    frame.svg += text_at(frame.left - 5, at + 4, "end", tick_text(tick, ticks, y_axis.percent));
  }
  frame.svg += line_from(frame.left, frame.top, frame.left, frame.bottom, kInk);
  frame.svg += line_from(frame.left, frame.bottom, frame.right, frame.bottom, kInk);
  const double middle = (frame.top + frame.bottom) / 2;
  frame.svg += text_at(13, middle, "middle", y_axis.label, "transform=\"rotate(-90 13 " + coordinate(middle) + ")\"");
  return frame;
}

}  // namespace limen::report::detail
