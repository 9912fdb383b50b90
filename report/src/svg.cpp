// SPDX-License-Identifier: MIT
#include "svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace limen::report::detail {

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return out;
}

std::string fixed(double value, int digits) {
  std::array<char, 400> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits);
  std::string text(buffer.data(), error == std::errc() ? end : buffer.data());
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string coordinate(double value) {
  std::string text = fixed(value, 2);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text;
}

Ticks nice_ticks(double low, double high, int wanted) {
  if (!(high > low) || !std::isfinite(high - low)) return {.values = {low}, .digits = 2};
  const double rough = (high - low) / wanted;
  const double power = std::floor(std::log10(rough));
  const double unit = std::pow(10, power);
  const double ratio = rough / unit;
  const double factor = ratio <= 1.0 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10;
  const double step = factor * unit;
  Ticks ticks;
  ticks.digits = std::max(0, static_cast<int>(-power) - (factor == 10 ? 1 : 0));
  // By whole numbers of steps: sums of rounded steps would drift.
  const double slack = 1e-9;
  for (double at = std::ceil(low / step - slack); at <= high / step + slack; ++at) {
    ticks.values.push_back(at * step + 0.0);
  }
  return ticks;
}

const char* series_colour(std::size_t series) {
  static constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1"};
  return kColours[series % kColours.size()];
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view more) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + std::string(anchor) + "\"" +
         std::string(more.empty() ? "" : " ") + std::string(more) + ">" + escape_xml(text) + "</text>\n";
}

std::string title_at(double width, std::string_view title) {
  // Text of size 13 is about 7.2 wide a letter.
  const double size =
      std::min(13.0, 13 * (width - 8) / (7.2 * static_cast<double>(std::max<std::size_t>(1, title.size()))));
  return text_at(width / 2, 16, "middle", title, "font-size=\"" + fixed(std::max(8.0, size), 1) + "\"");
}

std::string line_from(double x1, double y1, double x2, double y2, std::string_view colour, std::string_view more) {
  return "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" + coordinate(x2) + "\" y2=\"" +
         coordinate(y2) + "\" stroke=\"" + std::string(colour) + "\"" + std::string(more.empty() ? "" : " ") +
         std::string(more) + "/>\n";
}

std::string svg_file(double width, double height, std::string_view title, std::string_view description,
                     const std::string& body) {
  const std::string size = coordinate(width) + " " + coordinate(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + coordinate(width) + "\" height=\"" +
         coordinate(height) + "\" viewBox=\"0 0 " + size +
         "\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"" + kInk + "\">\n<title>" +
         escape_xml(title) + "</title>\n<desc>" + escape_xml(description) + "</desc>\n" + body + "</svg>\n";
}

double text_width(std::string_view text) { return 6.1 * static_cast<double>(text.size()); }

Legend legend_at(double x, double y, double width, const std::vector<LegendEntry>& entries) {
  constexpr double kLine = 15;
  constexpr double kSample = 18;
  Legend legend;
  double at = x;
  double line = y;
  for (const LegendEntry& entry : entries) {
    const double wide = kSample + 4 + text_width(entry.name) + 14;
    if (at > x && at + wide > x + width) {
      at = x;
      line += kLine;
    }
    legend.svg += line_from(at, line - 4, at + kSample, line - 4, entry.colour,
                            entry.is_dashed ? "stroke-width=\"2\" stroke-dasharray=\"4 3\"" : "stroke-width=\"2\"");
    legend.svg += text_at(at + kSample + 4, line, "start", entry.name);
    at += wide;
  }
  legend.height = entries.empty() ? 0 : line - y + kLine;
  return legend;
}

}  // namespace limen::report::detail
