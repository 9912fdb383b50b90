// SPDX-License-Identifier: MIT
#include "frame_builder.h"

namespace limen::table::detail {

FrameBuilder::FrameBuilder(std::span<const FrameColumn> columns) : index_(columns.size()) {
  for (const FrameColumn& column : columns) {
    frame_.columns.push_back({.name = column.column.name, .values = {}});
    if (column.kind == ColumnKind::kText) frame_.columns.back().values = TextValues{};
  }
}

Frame FrameBuilder::take() {
  Frame taken;
  taken.num_rows = std::exchange(frame_.num_rows, 0);
  for (std::size_t column = 0; column < frame_.columns.size(); ++column) {
    limen::Column& mine = frame_.columns[column];
    if (TextValues* text = std::get_if<TextValues>(&mine.values)) {
      taken.columns.push_back(
          {.name = mine.name,
           .values = TextValues{.distinct = index_[column].take_texts(), .code = std::exchange(text->code, {})}});
    } else {
      taken.columns.push_back({.name = mine.name, .values = std::exchange(numbers(column), {})});
    }
  }
  return taken;
}

void FrameBuilder::append(const Frame& more, std::size_t begin, std::size_t end) {
  const auto range_of = [begin, end](const auto& values) { return std::span(values).subspan(begin, end - begin); };
  for (std::size_t column = 0; column < frame_.columns.size(); ++column) {
    if (const NumberValues* values = std::get_if<NumberValues>(&more.columns[column].values)) {
      const std::span<const double> range = range_of(*values);
      numbers(column).insert(numbers(column).end(), range.begin(), range.end());
      continue;
    }
    const TextValues& text = std::get<TextValues>(more.columns[column].values);
    std::vector<std::int32_t> own_code;
    for (const std::string& value : text.distinct) own_code.push_back(index_[column].add(value));
    std::vector<std::int32_t>& into = codes(column);
    for (const std::int32_t code : range_of(text.code)) {
      into.push_back(code == TextValues::kMissing ? code : own_code[static_cast<std::size_t>(code)]);
    }
  }
  frame_.num_rows += end - begin;
}

void FrameBuilder::reserve(std::size_t rows) {
  for (limen::Column& column : frame_.columns) {
    if (NumberValues* values = std::get_if<NumberValues>(&column.values)) values->reserve(rows);
    if (TextValues* text = std::get_if<TextValues>(&column.values)) text->code.reserve(rows);
  }
}

void FrameBuilder::drop_row() {
  for (std::size_t column = 0; column < frame_.columns.size(); ++column) {
    if (std::holds_alternative<TextValues>(frame_.columns[column].values)) {
      codes(column).pop_back();
    } else {
      numbers(column).pop_back();
    }
  }
}

void FrameBuilder::keep_rows(std::size_t begin, const std::vector<bool>& keep) {
  const auto compact = [&](auto& values) {
    std::size_t end = begin;
    for (std::size_t row = 0; row < keep.size(); ++row) {
      if (keep[row]) values[end++] = values[begin + row];
    }
    values.resize(end);
  };
  for (std::size_t column = 0; column < frame_.columns.size(); ++column) {
    if (std::holds_alternative<TextValues>(frame_.columns[column].values)) {
      compact(codes(column));
    } else {
      compact(numbers(column));
    }
  }
  frame_.num_rows = begin + static_cast<std::size_t>(std::ranges::count(keep, true));
}

}  // namespace limen::table::detail
