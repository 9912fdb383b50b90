// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <string>

#include "chart_frame.h"
#include "limen/base/error.h"
#include "limen/report/chart.h"

namespace limen::report {
namespace {

using detail::coordinate;

constexpr const char* kFunction = "bar_chart_svg";

void validate(const BarChart& chart) {
  if (chart.series.empty() || chart.groups.empty()) throw InvalidInput(kFunction, "there are no bars");
  for (const BarSeries& series : chart.series) {
    const std::size_t size = chart.groups.size();
    const bool fits = series.values.size() == size && (series.low.empty() || series.low.size() == size) &&
                      series.low.size() == series.high.size();
    if (!fits) {
      throw InvalidInput(kFunction, "series \"" + series.name + "\" has not one value for each of the groups");
    }
    const bool is_negative =
        std::any_of(series.values.begin(), series.values.end(), [](double value) { return value < 0; });
    if (chart.is_stacked && (is_negative || !series.low.empty())) {
      throw InvalidInput(kFunction, "stacked bars have no values below 0 and no error bars");
    }
  }
}

/// Of the error bar of a series at a group, where it has one.
bool has_error(const BarSeries& series, std::size_t group) {
  return !series.low.empty() && std::isfinite(series.low[group]) && std::isfinite(series.high[group]);
}

std::string bar(double x, double wide, double y1, double y2, const std::string& colour) {
  return "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(std::min(y1, y2)) + "\" width=\"" + coordinate(wide) +
         "\" height=\"" + coordinate(std::abs(y1 - y2)) + "\" fill=\"" + colour + "\"/>\n";
}

/// The name of a group in at most two lines, broken at the blank nearest to its middle.
std::string group_name(const std::string& name, double x, double y, double wide) {
  if (detail::text_width(name) <= wide || name.find(' ') == std::string::npos) {
    return detail::text_at(x, y, "middle", name);
  }
  std::size_t best = name.find(' ');
  const auto distance = [&](std::size_t at) {
    return at > name.size() / 2 ? at - name.size() / 2 : name.size() / 2 - at;
  };
  for (std::size_t at = best; at != std::string::npos; at = name.find(' ', at + 1)) {
    if (distance(at) < distance(best)) best = at;
  }
  return detail::text_at(x, y - 2, "middle", name.substr(0, best)) +
         detail::text_at(x, y + 10, "middle", name.substr(best + 1));
}

}  // namespace

std::string bar_chart_svg(const BarChart& chart) {
  validate(chart);
  detail::Extent data;
  data.add(0);
  std::vector<detail::LegendEntry> legend;
  std::vector<double> sums(chart.groups.size(), 0);
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const BarSeries& series = chart.series[at];
    for (std::size_t group = 0; group < chart.groups.size(); ++group) {
      if (!std::isfinite(series.values[group])) continue;
      sums[group] += series.values[group];
      data.add(chart.is_stacked ? sums[group] : series.values[group]);
      if (!has_error(series, group)) continue;
      data.add(series.low[group]);
      data.add(series.high[group]);
    }
    legend.push_back({series.name, detail::series_colour(at), false});
  }
  Axis axis = chart.y;
  if (data.low == 0 && !axis.low) axis.low = 0;  // bars stand on the axis
  detail::ChartFrame frame = detail::make_frame(chart.title, axis, data, chart.width, chart.height, legend, kFunction);
  const double wide = (frame.right - frame.left) / static_cast<double>(chart.groups.size());
  const double num_bars = chart.is_stacked ? 1 : static_cast<double>(chart.series.size());
  const double bar_wide = 0.8 * wide / num_bars;
  for (std::size_t group = 0; group < chart.groups.size(); ++group) {
    const double first = frame.left + wide * (static_cast<double>(group) + 0.1);
    double base = 0;
    for (std::size_t at = 0; at < chart.series.size(); ++at) {
      const BarSeries& series = chart.series[at];
      const double value = series.values[group];
      if (!std::isfinite(value)) continue;
      const double x = chart.is_stacked ? first : first + bar_wide * static_cast<double>(at);
      frame.svg += bar(x, bar_wide, frame.y(base), frame.y(base + value), detail::series_colour(at));
      if (chart.is_stacked) base += value;
      if (!has_error(series, group)) continue;
      const double middle = x + bar_wide / 2;
      frame.svg += detail::line_from(middle, frame.y(series.low[group]), middle, frame.y(series.high[group]),
                                     detail::kInk, "stroke-width=\"1.5\"");
    }
    frame.svg += group_name(chart.groups[group], first + 0.4 * wide, frame.bottom + 16, wide);
  }
  if (frame.y.low < 0) frame.svg += detail::line_from(frame.left, frame.y(0), frame.right, frame.y(0), detail::kInk);
  return detail::svg_file(chart.width, chart.height, chart.title, chart.description, frame.svg);
}

}  // namespace limen::report
