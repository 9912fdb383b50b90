// SPDX-License-Identifier: MIT
#include "limen/report/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "chart_frame.h"
#include "limen/base/error.h"
#include "svg.h"

namespace limen::report {
namespace {

using detail::coordinate;

constexpr const char* kFunction = "heat_map_svg";
// Lines over cells of any colour: their own colours, which the scale below has not.
constexpr std::array kLineColours = {"#e8a000", "#d7191c", "#111111"};

void validate(const HeatMap& map) {
  if (map.rows.empty() || map.columns.empty()) throw InvalidInput(kFunction, "there are no cells");
  if (!(map.width >= 100 && map.height >= 100)) {
    throw InvalidInput(kFunction, "a heat map is at least 100 wide and 100 high");
  }
  bool fits = map.values.size() == map.rows.size();
  for (const auto& row : map.values) fits = fits && row.size() == map.columns.size();
  for (const HeatMapLine& line : map.lines) fits = fits && line.at.size() == map.rows.size();
  if (map.star) fits = fits && map.star->first < map.rows.size() && map.star->second < map.columns.size();
  if (!fits) throw InvalidInput(kFunction, "values, lines or star do not fit the rows and columns");
}

struct Colour {
  double red, green, blue;
};

/// From pale to deep blue-green, by the share of the way.
Colour shade(double share) {
  constexpr Colour kPale = {237, 248, 240};
  constexpr Colour kMiddle = {102, 190, 180};
  constexpr Colour kDeep = {8, 64, 110};
  const Colour& from = share < 0.5 ? kPale : kMiddle;
  const Colour& to = share < 0.5 ? kMiddle : kDeep;
  const double way = share < 0.5 ? 2 * share : 2 * share - 1;
  return {from.red + way * (to.red - from.red), from.green + way * (to.green - from.green),
          from.blue + way * (to.blue - from.blue)};
}

std::string hex(const Colour& colour) {
  static constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "#";
  for (const double part : {colour.red, colour.green, colour.blue}) {
    const auto value = static_cast<unsigned>(std::lround(part));
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::string cell_text(const HeatMap& map, double value) {
  return map.percent ? detail::fixed(100 * value, map.digits) + "%" : detail::fixed(value, map.digits);
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  validate(map);
  detail::Extent extent;
  for (const auto& row : map.values) {
    for (const double value : row) extent.add(value);
  }
  std::vector<detail::LegendEntry> legend;
  for (std::size_t at = 0; at < map.lines.size(); ++at) {
    legend.push_back({map.lines[at].name, kLineColours[at % kLineColours.size()], false});
  }
  double widest = 0;
  for (const std::string& row : map.rows) widest = std::max(widest, detail::text_width(row));
  const detail::Legend names = detail::legend_at(40, 36, map.width - 54, legend);
  const double left = 34 + widest;
  const double right = map.width - 10;
  const double top = 26 + names.height;
  const double bottom = map.height - 40;
  const double cell_wide = (right - left) / static_cast<double>(map.columns.size());
  const double cell_high = (bottom - top) / static_cast<double>(map.rows.size());
  std::string svg = detail::title_at(map.width, map.title) + names.svg;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const double y = bottom - cell_high * static_cast<double>(row + 1);
    svg += detail::text_at(left - 5, y + cell_high / 2 + 4, "end", map.rows[row]);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const double value = map.values[row][column];
      if (!std::isfinite(value)) continue;
      const double x = left + cell_wide * static_cast<double>(column);
      const double share = extent.high > extent.low ? (value - extent.low) / (extent.high - extent.low) : 0.5;
      svg += "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" width=\"" + coordinate(cell_wide) +
             "\" height=\"" + coordinate(cell_high) + "\" fill=\"" + hex(shade(share)) + "\"/>\n";
      const bool is_star = map.star && map.star->first == row && map.star->second == column;
      svg += detail::text_at(x + cell_wide / 2, y + cell_high / 2 + 4, "middle",
                             cell_text(map, value) + (is_star ? " \xE2\x98\x85" : ""),
                             share < 0.55 ? "fill=\"#111111\" font-size=\"10\"" : "fill=\"#ffffff\" font-size=\"10\"");
    }
  }
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    svg += detail::text_at(left + cell_wide * (static_cast<double>(column) + 0.5), bottom + 14, "middle",
                           map.columns[column]);
  }
  for (std::size_t at = 0; at < map.lines.size(); ++at) {
    std::string path;
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
      const double x = left + cell_wide * map.lines[at].at[row].value_or(static_cast<double>(map.columns.size()));
      const double below = bottom - cell_high * static_cast<double>(row);
      path += (row == 0 ? "M" : "L") + coordinate(x) + " " + coordinate(below) + "L" + coordinate(x) + " " +
              coordinate(below - cell_high);
    }
    svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + kLineColours[at % kLineColours.size()] +
           "\" stroke-width=\"2.5\"/>\n";
  }
  svg += detail::text_at((left + right) / 2, map.height - 10, "middle", map.x_label);
  const double middle = (top + bottom) / 2;
  svg += detail::text_at(13, middle, "middle", map.y_label, "transform=\"rotate(-90 13 " + coordinate(middle) + ")\"");
  return detail::svg_file(map.width, map.height, map.title, map.description, svg);
}

}  // namespace limen::report
