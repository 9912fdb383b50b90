// SPDX-License-Identifier: MIT
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limen/base/text.h"

namespace limen::cli {

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return escaped(line);
}

std::string plural_text(double count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string count_text(double value) {
  if (std::abs(value) >= 1e15) return fmt::format("{:.4g}", value);
  std::string text = value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
  auto point = std::min(text.find('.'), text.size());
  const std::size_t first = text[0] == '-' ? 1 : 0;
  while (point > first + 3) text.insert(point -= 3, 1, ',');
  return text;
}

std::string ratio_text(double value) { return fmt::format("{:.4f}", value); }

std::string gain_text(double value, double base) {
  if (base == 0) return "-";
  // + 0.0 turns a rounded -0 into 0.
  return fmt::format("{:+.1f}%", std::round(1000 * (value / base - 1)) / 10 + 0.0);
}

std::string percent_range_text(const Interval& interval) {
  return fmt::format("{} .. {}", gain_text(1 + interval.low, 1), gain_text(1 + interval.high, 1));
}

std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()), 0);
    for (std::size_t column = 0; column < row.size(); ++column) {
      width[column] = std::max(width[column], row[column].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += column == 0 ? fmt::format("{:<{}}", row[column], width[column])
                          : fmt::format("  {:>{}}", row[column], width[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace limen::cli
