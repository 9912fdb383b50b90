// SPDX-License-Identifier: MIT
// Small charts as SVG files: plain data in, text out, the same text for the same data. Colours are legible on light and
// on dark pages; every drawing has a title and a description for readers who do not see it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace limen::report {

struct Axis {
  std::string label = {};
  /// Ends of the axis; unset: those of the data, a little beyond.
  std::optional<double> low = std::nullopt;
  std::optional<double> high = std::nullopt;
  /// Ticks are shares that are shown in percent.
  bool percent = false;
};

/// A curve, or points, over numbers.
struct Series {
  std::string name = {};  ///< empty: not in the legend
  /// The number of its colour; unset: that of its place. Points can so have the colour of their curve.
  std::optional<std::size_t> colour = std::nullopt;
  std::vector<double> x = {};
  std::vector<double> y = {};  ///< as long as x; where it is not finite there is a gap
  /// Ends of an interval around y, empty or as long as x: a band around lines and steps, error bars at points.
  std::vector<double> low = {};
  std::vector<double> high = {};
  enum class Mark { kLine, kStep, kPoints, kLinePoints };
  Mark mark = Mark::kLine;  ///< kStep: y holds from its x to the next one
  bool is_dashed = false;
  bool has_error_bars = false;  ///< of lines: bars instead of a band
};

struct LineChart {
  std::string title = {};
  std::string description = {};
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  bool has_diagonal = false;  ///< where y equals x
  bool has_zero_line = false;
  double width = 440;
  double height = 300;
};

/// Throws InvalidInput: no series, lengths that differ, an axis that ends before it begins, a size below 100.
[[nodiscard]] std::string line_chart_svg(const LineChart& chart);

/// The values of one series of bars, one for each group.
struct BarSeries {
  std::string name = {};
  std::vector<double> values = {};  ///< where one is not finite there is no bar
  std::vector<double> low = {};     ///< empty, or ends of error bars
  std::vector<double> high = {};
};

struct BarChart {
  std::string title = {};
  std::string description = {};
  std::vector<std::string> groups = {};
  Axis y = {};
  std::vector<BarSeries> series = {};
  bool is_stacked = false;  ///< bars of a group upon each other; values not below 0, no error bars
  double width = 440;
  double height = 300;
};

/// Throws InvalidInput like line_chart_svg.
[[nodiscard]] std::string bar_chart_svg(const BarChart& chart);

}  // namespace limen::report
