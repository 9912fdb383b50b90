// SPDX-License-Identifier: MIT
#include "limen/train/table_parts.h"

#include <algorithm>
#include <string>

#include "limen/base/dates.h"
#include "limen/base/error.h"
#include "limen/base/text.h"

namespace limen::train {

std::vector<double> times_of_rows(const SplitUse& split, const Frame& frame, std::uint64_t first_row) {
  const auto column = std::ranges::find(frame.columns, split.time_column, &Column::name);
  if (column == frame.columns.end()) {
    throw InvalidInput("times_of_rows", "has no column " + quoted(split.time_column) + ", by which the parts were made",
                       Cause::kNoSuchColumn);
  }
  std::vector<double> times = time_values(*column, split.time_format, first_row);
  if (times.size() != frame.num_rows) {
    throw InvalidInput(
        Where{.column = column->name, .function = "times_of_rows"},
        "has " + std::to_string(times.size()) + " rows, the frame has " + std::to_string(frame.num_rows));
  }
  return times;
}

std::vector<Part> parts_of_rows(const std::optional<SplitUse>& split, const Frame& frame, std::uint64_t first_row) {
  if (!split) return std::vector<Part>(frame.num_rows, Part::kTrain);
  if (split->time_column.empty()) return split_rows(first_row, frame.num_rows, split->options);
  std::vector<Part> parts;
  for (const double time : times_of_rows(*split, frame, first_row)) parts.push_back(split->cuts.part(time));
  return parts;
}

void add_rows(const FeatureShape& shape, const FeatureRows& from, std::span<const std::uint8_t> chosen,
              FeatureRows& to) {
  const std::size_t numeric = shape.num_numeric;
  const std::size_t categorical = shape.num_categorical();
  if (chosen.size() != from.num_rows || from.numeric.size() != from.num_rows * numeric ||
      from.categorical.size() != from.num_rows * categorical ||
      from.fraction.size() != from.num_rows * shape.knots.size() ||
      (!from.label.empty() && from.label.size() != from.num_rows)) {
    throw InvalidInput("add_rows",
                       "the arrays do not fit the number of rows, which is " + std::to_string(from.num_rows));
  }
  for (std::size_t row = 0; row < from.num_rows; ++row) {
    if (chosen[row] == 0) continue;
    to.numeric.insert(to.numeric.end(), from.numeric.begin() + static_cast<std::ptrdiff_t>(row * numeric),
                      from.numeric.begin() + static_cast<std::ptrdiff_t>((row + 1) * numeric));
    to.categorical.insert(to.categorical.end(),
                          from.categorical.begin() + static_cast<std::ptrdiff_t>(row * categorical),
                          from.categorical.begin() + static_cast<std::ptrdiff_t>((row + 1) * categorical));
    to.fraction.insert(to.fraction.end(), from.fraction.begin() + static_cast<std::ptrdiff_t>(row * shape.knots.size()),
                       from.fraction.begin() + static_cast<std::ptrdiff_t>((row + 1) * shape.knots.size()));
    if (!from.label.empty()) to.label.push_back(from.label[row]);
    ++to.num_rows;
  }
}

}  // namespace limen::train
