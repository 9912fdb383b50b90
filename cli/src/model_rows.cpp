// SPDX-License-Identifier: MIT
#include "model_rows.h"

#include <algorithm>

#include "limen/base/dates.h"

namespace limen::cli {

std::vector<double> times_of_rows(const train::SplitUse& split, const Frame& frame, std::uint64_t first_row) {
  const auto column = std::ranges::find(frame.columns, split.time_column, &limen::Column::name);
  return time_values(*column, split.time_format, first_row);
}

std::vector<train::Part> parts_of_rows(const std::optional<train::SplitUse>& split, const Frame& frame,
                                       std::uint64_t first_row) {
  if (!split) return std::vector<train::Part>(frame.num_rows, train::Part::kTrain);
  if (split->time_column.empty()) return train::split_rows(first_row, frame.num_rows, split->options);
  std::vector<train::Part> parts;
  for (const double time : times_of_rows(*split, frame, first_row)) parts.push_back(split->cuts.part(time));
  return parts;
}

void add_rows(const train::FeatureShape& shape, const train::FeatureRows& from, std::span<const std::uint8_t> chosen,
              train::FeatureRows& to) {
  const std::size_t numeric = shape.num_numeric;
  const std::size_t categorical = shape.num_categorical();
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

}  // namespace limen::cli
