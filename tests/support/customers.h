// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "limen/base/text.h"
#include "support/frames.h"

namespace limen::test {

/// Customers as a raw table: an identifier, days that rise, ages with gaps, a heavy tail, two categories (one of them
/// numbers) and a label, of about a quarter positives, that age, city and plan tell but for some noise.
inline Frame customers(std::size_t num_rows, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned limit) { return static_cast<double>(random() % limit); };
  std::vector<double> id, age, income, plan, bought;
  std::vector<std::string> day, city;
  for (std::size_t row = 0; row < num_rows; ++row) {
    id.push_back(static_cast<double>(row));
    char text[32];
    std::snprintf(text, sizeof text, "2024-%02zu-%02zu", 1 + row * 12 / num_rows, 1 + row * 300 / num_rows % 25);
    day.emplace_back(text);
    const double years = 18 + below(60);
    age.push_back(below(20) == 0 ? std::nan("") : years);
    income.push_back(std::exp(below(400) / 100));
    const auto town = static_cast<int>(below(8));
    city.push_back("city" + std::to_string(town));
    plan.push_back(below(3));
    bought.push_back(years + 10 * (town % 3) + 8 * plan.back() + below(30) > 85 ? 1 : 0);
  }
  return frame_of({number_column("id", id), text_column("day", day), number_column("age", age),
                   number_column("income", income), text_column("city", city), number_column("plan", plan),
                   number_column("bought", bought)});
}

/// The column of this name; the frame must have it.
inline Column& column_of(Frame& frame, const std::string& name) {
  for (Column& column : frame.columns) {
    if (column.name == name) return column;
  }
  throw std::out_of_range(name);
}
inline NumberValues& numbers_of(Frame& frame, const std::string& name) {
  return std::get<NumberValues>(column_of(frame, name).values);
}

/// The table as a file, from which the same values are read.
inline std::string csv_of(const Frame& frame) {
  std::string text;
  for (const Column& column : frame.columns) text += (text.empty() ? "" : ",") + column.name;
  text += "\n";
  for (std::size_t row = 0; row < frame.num_rows; ++row) {
    for (const Column& column : frame.columns) {
      if (&column != &frame.columns.front()) text += ",";
      if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
        if (!std::isnan((*numbers)[row])) text += number_text((*numbers)[row]);
        continue;
      }
      const auto& texts = std::get<TextValues>(column.values);
      if (texts.code[row] != TextValues::kMissing) text += texts.distinct[static_cast<std::size_t>(texts.code[row])];
    }
    text += "\n";
  }
  return text;
}

}  // namespace limen::test
