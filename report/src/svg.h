// SPDX-License-Identifier: MIT
// What all drawings share: text, numbers, ticks and colours. Nothing depends on locale or clock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace limen::report::detail {

/// Text between tags and in attributes. Control characters, which XML has no place for, become blanks.
[[nodiscard]] std::string escape_xml(std::string_view text);

/// A coordinate: at most two digits behind the point, no trailing zeros, never "-0".
[[nodiscard]] std::string coordinate(double value);

/// `value` with so many digits behind the point.
[[nodiscard]] std::string fixed(double value, int digits);

/// Steps of 1, 2 or 5 times a power of ten, about `wanted` of them, that lie in low to high.
struct Ticks {
  std::vector<double> values = {};
  int digits = 0;  ///< behind the point that tell them apart
};
[[nodiscard]] Ticks nice_ticks(double low, double high, int wanted);

/// Legible on white and on black.
inline constexpr const char* kInk = "#777777";
inline constexpr const char* kGrid = "#77777733";
/// The colour of a series by its number; they are told apart with impaired colour vision (Okabe and Ito, 2008).
[[nodiscard]] const char* series_colour(std::size_t series);

/// A text element. anchor: start, middle or end.
[[nodiscard]] std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                                  std::string_view more = {});

/// The title above a drawing, smaller where it would not fit.
[[nodiscard]] std::string title_at(double width, std::string_view title);

[[nodiscard]] std::string line_from(double x1, double y1, double x2, double y2, std::string_view colour,
                                    std::string_view more = {});

/// The whole file: size, title and description for those who do not see it, and the body.
[[nodiscard]] std::string svg_file(double width, double height, std::string_view title, std::string_view description,
                                   const std::string& body);

/// About how wide a text of the drawings' size is.
[[nodiscard]] double text_width(std::string_view text);

/// Names beside their colours, from (x, y) to the right and, where the width ends, on the next line.
struct LegendEntry {
  std::string name = {};
  std::string colour = {};
  bool is_dashed = false;
};
struct Legend {
  std::string svg = {};
  double height = 0;
};
[[nodiscard]] Legend legend_at(double x, double y, double width, const std::vector<LegendEntry>& entries);

}  // namespace limen::report::detail
