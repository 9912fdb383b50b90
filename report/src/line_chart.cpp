// SPDX-License-Identifier: MIT
#include <cmath>
#include <string>

#include "chart_frame.h"
#include "limen/base/error.h"
#include "limen/report/chart.h"

namespace limen::report {
namespace {

using detail::coordinate;

constexpr const char* kFunction = "line_chart_svg";

void validate(const LineChart& chart) {
  if (chart.series.empty()) throw InvalidInput(kFunction, "there is no series");
  for (const Series& series : chart.series) {
    const std::size_t size = series.x.size();
    const bool fits = series.y.size() == size && (series.low.empty() || series.low.size() == size) &&
                      series.low.size() == series.high.size();
    if (!fits) throw InvalidInput(kFunction, "series \"" + series.name + "\" has columns of different lengths");
  }
}

bool is_drawn(const Series& series, std::size_t at) {
  return std::isfinite(series.x[at]) && std::isfinite(series.y[at]);
}

/// Where a curve is drawn.
struct Place {
  detail::Scale x;
  detail::Scale y;
};

/// "M x y L x y": the curve, lifted at gaps. value: of y, or of an end of the band.
std::string path_of(const Series& series, const std::vector<double>& value, const Place& place) {
  std::string path;
  bool is_down = false;
  double before = 0;
  for (std::size_t at = 0; at < series.x.size(); ++at) {
    if (!is_drawn(series, at) || !std::isfinite(value[at])) {
      is_down = false;
      continue;
    }
    const std::string x = coordinate(place.x(series.x[at]));
    if (is_down && series.mark == Series::Mark::kStep) path += "L" + x + " " + coordinate(place.y(before));
    path += (is_down ? "L" : "M") + x + " " + coordinate(place.y(value[at]));
    is_down = true;
    before = value[at];
  }
  return path;
}

/// The band, one closed piece for each stretch without a gap.
std::string band_of(const Series& series, const Place& place) {
  std::string path;
  const auto has_band = [&](std::size_t at) {
    return is_drawn(series, at) && std::isfinite(series.low[at]) && std::isfinite(series.high[at]);
  };
  for (std::size_t first = 0; first < series.x.size();) {
    if (!has_band(first)) {
      ++first;
      continue;
    }
    std::size_t end = first;
    while (end < series.x.size() && has_band(end)) ++end;
    std::string up;
    std::string back;
    for (std::size_t at = first; at < end; ++at) {
      const std::string x = coordinate(place.x(series.x[at]));
      up += (at == first ? "M" : "L") + x + " " + coordinate(place.y(series.high[at]));
      back.insert(0, "L" + x + " " + coordinate(place.y(series.low[at])));
    }
    path += up + back + "Z";
    first = end;
  }
  return path;
}

std::string draw(const Series& series, const Place& place, const std::string& colour) {
  const bool has_line = series.mark != Series::Mark::kPoints;
  const bool has_points = series.mark == Series::Mark::kPoints || series.mark == Series::Mark::kLinePoints;
  std::string svg;
  if (!series.low.empty() && has_line && !series.has_error_bars) {
    svg += "<path d=\"" + band_of(series, place) + "\" fill=\"" + colour + "\" fill-opacity=\"0.18\"/>\n";
  } else if (!series.low.empty()) {
    for (std::size_t at = 0; at < series.x.size(); ++at) {
      if (!is_drawn(series, at) || !std::isfinite(series.low[at]) || !std::isfinite(series.high[at])) continue;
      const double x = place.x(series.x[at]);
      svg += detail::line_from(x, place.y(series.low[at]), x, place.y(series.high[at]), colour);
    }
  }
  if (has_line) {
    svg += "<path d=\"" + path_of(series, series.y, place) + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"2\"" + (series.is_dashed ? " stroke-dasharray=\"4 3\"" : "") + "/>\n";
  }
  for (std::size_t at = 0; has_points && at < series.x.size(); ++at) {
    if (!is_drawn(series, at)) continue;
    svg += "<circle cx=\"" + coordinate(place.x(series.x[at])) + "\" cy=\"" + coordinate(place.y(series.y[at])) +
           "\" r=\"3\" fill=\"" + colour + "\"/>\n";
  }
  return svg;
}

}  // namespace

std::string line_chart_svg(const LineChart& chart) {
  validate(chart);
  detail::Extent x_data;
  detail::Extent y_data;
  std::vector<detail::LegendEntry> legend;
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const Series& series = chart.series[at];
    for (std::size_t point = 0; point < series.x.size(); ++point) {
      if (!is_drawn(series, point)) continue;
      x_data.add(series.x[point]);
      y_data.add(series.y[point]);
      if (series.low.empty()) continue;
      y_data.add(series.low[point]);
      y_data.add(series.high[point]);
    }
    if (series.name.empty()) continue;
    legend.push_back({series.name, detail::series_colour(series.colour.value_or(at)), series.is_dashed});
  }
  if (chart.has_zero_line) y_data.add(0);
  detail::ChartFrame frame =
      detail::make_frame(chart.title, chart.y, y_data, chart.width, chart.height, legend, kFunction);
  const detail::Extent extent = detail::axis_extent(chart.x, x_data);
  if (!(extent.high > extent.low)) throw InvalidInput(kFunction, "the axis of x ends before it begins");
  const Place place = {{extent.low, extent.high, frame.left, frame.right}, frame.y};
  const detail::Ticks ticks = detail::nice_ticks(extent.low, extent.high, 6);
  for (const double tick : ticks.values) {
    const double at = place.x(tick);
    frame.svg += detail::line_from(at, frame.bottom, at, frame.bottom + 4, detail::kInk);
    frame.svg += detail::text_at(at, frame.bottom + 16, "middle", detail::tick_text(tick, ticks, chart.x.percent));
  }
  frame.svg += detail::text_at((frame.left + frame.right) / 2, chart.height - 10, "middle", chart.x.label);
  if (chart.has_zero_line) {
    frame.svg += detail::line_from(frame.left, frame.y(0), frame.right, frame.y(0), detail::kInk);
  }
  if (chart.has_diagonal) {
    const double low = std::max(extent.low, frame.y.low);
    const double high = std::min(extent.high, frame.y.high);
    frame.svg += detail::line_from(place.x(low), place.y(low), place.x(high), place.y(high), detail::kInk,
                                   "stroke-dasharray=\"2 3\"");
  }
  for (std::size_t at = 0; at < chart.series.size(); ++at) {
    const Series& series = chart.series[at];
    frame.svg += draw(series, place, detail::series_colour(series.colour.value_or(at)));
  }
  return detail::svg_file(chart.width, chart.height, chart.title, chart.description, frame.svg);
}

}  // namespace limen::report
