// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "limen/base/frame.h"

namespace limen::test {

/// A text column; an empty text is a missing value.
inline Column text_column(const std::string& name, const std::vector<std::string>& values) {
  TextValues text;
  std::unordered_map<std::string, std::int32_t> code_of;
  for (const std::string& value : values) {
    if (value.empty()) {
      text.code.push_back(TextValues::kMissing);
      continue;
    }
    const auto [found, is_new] = code_of.emplace(value, static_cast<std::int32_t>(text.distinct.size()));
    if (is_new) text.distinct.push_back(value);
    text.code.push_back(found->second);
  }
  return {.name = name, .values = std::move(text)};
}

inline Column number_column(const std::string& name, std::vector<double> values) {
  return {.name = name, .values = std::move(values)};
}

inline Frame frame_of(std::vector<Column> columns) {
  Frame frame;
  for (const Column& column : columns) {
    const auto* text = std::get_if<TextValues>(&column.values);
    frame.num_rows = text != nullptr ? text->code.size() : std::get<NumberValues>(column.values).size();
  }
  frame.columns = std::move(columns);
  return frame;
}

/// Rows begin .. end - 1, with dictionaries of their own as a reader of batches makes them: other codes, and now and
/// then a text that no row has.
inline Frame slice(const Frame& frame, std::size_t begin, std::size_t end) {
  Frame part{.num_rows = end - begin};
  for (const Column& column : frame.columns) {
    if (const auto* numbers = std::get_if<NumberValues>(&column.values)) {
      part.columns.push_back({column.name, NumberValues(numbers->begin() + static_cast<std::ptrdiff_t>(begin),
                                                        numbers->begin() + static_cast<std::ptrdiff_t>(end))});
      continue;
    }
    const auto& text = std::get<TextValues>(column.values);
    TextValues own{.distinct = {"never used"}};
    std::unordered_map<std::int32_t, std::int32_t> code_of;
    for (std::size_t row = begin; row < end; ++row) {
      const std::int32_t code = text.code[row];
      if (code == TextValues::kMissing) {
        own.code.push_back(code);
        continue;
      }
      const auto [found, is_new] = code_of.emplace(code, static_cast<std::int32_t>(own.distinct.size()));
      if (is_new) own.distinct.push_back(text.distinct[static_cast<std::size_t>(code)]);
      own.code.push_back(found->second);
    }
    part.columns.push_back({column.name, std::move(own)});
  }
  return part;
}

/// One column of each shape that an encoding can get wrong, and labels "y" of 0 and 1. At least 10 rows.
inline Frame random_frame(std::size_t rows, std::mt19937_64& random) {
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); };
  const double infinity = std::numeric_limits<double>::infinity();
  const double missing = std::nan("");
  std::vector<double> n, heavy, zeros, holes, constant, empty, huge, infinite, flag, zip, label;
  std::vector<std::string> city, id, when, one, mixed, nothing;
  for (std::size_t row = 0; row < rows; ++row) {
    n.push_back(100 + 15 * normal());
    heavy.push_back(std::exp(3 * normal()));
    zeros.push_back(uniform() < 0.85 ? 0 : std::floor(std::exp(4 * uniform())));
    holes.push_back(uniform() < 0.3 ? missing : normal());
    constant.push_back(3);
    empty.push_back(missing);
    huge.push_back(normal() * 1e308);
    infinite.push_back(uniform() < 0.1 ? infinity : uniform() < 0.1 ? -infinity : normal());
    flag.push_back(uniform() < 0.5 ? missing : 1);
    zip.push_back(uniform() < 0.05 ? missing : std::floor(20 * uniform() * uniform()) / 2);
    label.push_back(row == 0 ? 1 : row == 1 ? 0 : uniform() < 0.3 ? 1 : 0);
    city.push_back(uniform() < 0.1 ? "" : "city " + std::to_string(static_cast<int>(1 / (0.01 + uniform()))));
    id.push_back("id" + std::to_string(random()));
    char text[64];
    std::snprintf(text, sizeof text, "2014-%02d-%02d %02d:15", 1 + static_cast<int>(3 * uniform()),
                  1 + static_cast<int>(28 * uniform()), static_cast<int>(24 * uniform()));
    when.push_back(uniform() < 0.05 ? "" : text);
    one.emplace_back("same");
    mixed.push_back(uniform() < 0.5 ? "2014-01-01" : uniform() < 0.5 ? "12" : "n/a");
    nothing.emplace_back();
  }
  return frame_of({number_column("normal", n), number_column("heavy", heavy), text_column("city", city),
                   number_column("zeros", zeros), number_column("holes", holes), number_column("constant", constant),
                   text_column("id", id), number_column("empty", empty), number_column("y", label),
                   number_column("huge", huge), number_column("infinite", infinite), text_column("when", when),
                   number_column("flag", flag), number_column("zip", zip), text_column("one", one),
                   text_column("mixed", mixed), text_column("nothing", nothing)});
}

}  // namespace limen::test
