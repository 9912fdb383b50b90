// SPDX-License-Identifier: MIT
#include "limen/report/diagram.h"

#include <algorithm>
#include <cmath>

#include "limen/base/error.h"
#include "svg.h"

namespace limen::report {
namespace {

using detail::coordinate;

constexpr const char* kFunction = "diagram_svg";
constexpr double kLineHeight = 13;

struct Rectangle {
  double x = 0, y = 0;        ///< of the middle
  double wide = 0, high = 0;  ///< halves
};

/// Where the way from the middle of a rectangle to another point leaves the rectangle.
std::pair<double, double> leave(const Rectangle& from, double x, double y) {
  const double dx = x - from.x;
  const double dy = y - from.y;
  const double share = std::min(dx == 0 ? 1e9 : from.wide / std::abs(dx), dy == 0 ? 1e9 : from.high / std::abs(dy));
  return {from.x + share * dx, from.y + share * dy};
}

}  // namespace

std::string diagram_svg(const Diagram& diagram) {
  if (diagram.boxes.empty()) throw InvalidInput(kFunction, "there are no boxes");
  if (!(diagram.width >= 100 && diagram.height >= 100)) {
    throw InvalidInput(kFunction, "a diagram is at least 100 wide and 100 high");
  }
  std::size_t columns = 0;
  std::size_t rows = 0;
  for (const DiagramBox& box : diagram.boxes) {
    columns = std::max(columns, box.column + 1);
    rows = std::max(rows, box.row + 1);
  }
  constexpr double kTop = 26;
  std::vector<Rectangle> places;
  for (const DiagramBox& box : diagram.boxes) {
    double widest = 0;
    for (const std::string& line : box.lines) widest = std::max(widest, detail::text_width(line));
    places.push_back({diagram.width * (static_cast<double>(box.column) + 0.5) / static_cast<double>(columns),
                      kTop + (diagram.height - kTop) * (static_cast<double>(box.row) + 0.5) / static_cast<double>(rows),
                      widest / 2 + 8, kLineHeight * static_cast<double>(box.lines.size()) / 2 + 6});
  }
  std::string svg = detail::title_at(diagram.width, diagram.title);
  for (std::size_t at = 0; at < diagram.boxes.size(); ++at) {
    const Rectangle& place = places[at];
    svg += "<rect x=\"" + coordinate(place.x - place.wide) + "\" y=\"" + coordinate(place.y - place.high) +
           "\" width=\"" + coordinate(2 * place.wide) + "\" height=\"" + coordinate(2 * place.high) +
           "\" rx=\"6\" fill=\"#0072b222\" stroke=\"" + detail::series_colour(0) + "\"/>\n";
    double y = place.y - place.high + 6 + kLineHeight - 3;
    for (const std::string& line : diagram.boxes[at].lines) {
      svg += detail::text_at(place.x, y, "middle", line);
      y += kLineHeight;
    }
  }
  for (const DiagramArrow& arrow : diagram.arrows) {
    if (arrow.from >= places.size() || arrow.to >= places.size()) {
      throw InvalidInput(kFunction, "an arrow is of a box that is not there");
    }
    const auto [x1, y1] = leave(places[arrow.from], places[arrow.to].x, places[arrow.to].y);
    const auto [x2, y2] = leave(places[arrow.to], places[arrow.from].x, places[arrow.from].y);
    svg += detail::line_from(x1, y1, x2, y2, detail::kInk, "stroke-width=\"1.5\"");
    const double length = std::max(1e-9, std::hypot(x2 - x1, y2 - y1));
    const double dx = (x2 - x1) / length;
    const double dy = (y2 - y1) / length;
    svg += "<path d=\"M" + coordinate(x2) + " " + coordinate(y2) + "L" + coordinate(x2 - 8 * dx + 4 * dy) + " " +
           coordinate(y2 - 8 * dy - 4 * dx) + "L" + coordinate(x2 - 8 * dx - 4 * dy) + " " +
           coordinate(y2 - 8 * dy + 4 * dx) + "Z\"/>\n";
    if (!arrow.label.empty()) {
      svg += detail::text_at((x1 + x2) / 2, (y1 + y2) / 2 - 5, "middle", arrow.label, "font-size=\"10\"");
    }
  }
  return detail::svg_file(diagram.width, diagram.height, diagram.title, diagram.description, svg);
}

}  // namespace limen::report
