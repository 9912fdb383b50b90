// SPDX-License-Identifier: MIT
#include "append.h"

#include <algorithm>

#include "limen/base/text.h"

namespace limen::table::detail {

std::vector<FrameColumn> AppendPlan::wanted_in(const ColumnNames& names) const {
  std::vector<FrameColumn> columns;
  for (const WantedColumn& column : wanted) {
    if (!column.option.empty()) {
      columns.push_back({.column = names.require(column.name, column.option), .kind = column.kind});
      continue;
    }
    std::string hint = " (if it is a category, declare it: --categorical " + escaped(column.name, 40) + ")";
    columns.push_back({.column = names.require(column.name), .kind = column.kind, .number_hint = std::move(hint)});
  }
  return columns;
}

std::vector<std::size_t> AppendPlan::kept_in(const ColumnNames& names) const {
  std::vector<std::size_t> kept;
  if (keep) {
    for (const std::string& name : *keep) kept.push_back(names.require(name).index);
    std::ranges::sort(kept);
    kept.erase(std::ranges::unique(kept).begin(), kept.end());
  } else {
    for (std::size_t index = 0; index < names.names.size(); ++index) kept.push_back(index);
  }
  return kept;
}

ColumnNames AppendPlan::kept_names(const ColumnNames& names) const {
  ColumnNames kept = {.table = names.table, .names = {}};
  for (const std::size_t index : kept_in(names)) kept.names.push_back(names.names[index]);
  for (const AddedColumn& column : added) {
    if (kept.has(column.name)) {
      names.refuse("already has a column " + quoted(column.name) + " (rename it or leave it out)");
    }
  }
  return kept;
}

namespace {

std::vector<AddedValues> empty_values(const std::vector<AddedColumn>& added, std::size_t rows) {
  std::vector<AddedValues> values;
  for (const AddedColumn& column : added) {
    switch (column.type) {
      case AddedType::kDouble:
        values.emplace_back(std::vector<double>(rows));
        break;
      case AddedType::kInt64:
        values.emplace_back(std::vector<std::int64_t>(rows));
        break;
      case AddedType::kInt32:
        values.emplace_back(std::vector<std::int32_t>(rows));
        break;
      case AddedType::kUint8:
        values.emplace_back(std::vector<std::uint8_t>(rows));
        break;
    }
  }
  return values;
}

}  // namespace

FilledRows filled_rows(const AppendPlan& plan, const Frame& frame, const FillColumns& fill) {
  FilledRows rows = {.values = empty_values(plan.added, frame.num_rows),
                     .keep = std::vector<std::uint8_t>(frame.num_rows, 1)};
  fill(frame, rows.values, rows.keep);
  for (std::size_t column = 0; column < rows.values.size(); ++column) {
    const std::size_t size = std::visit([](const auto& numbers) { return numbers.size(); }, rows.values[column]);
    if (size == frame.num_rows) continue;
    throw std::logic_error("append_columns: column " + plan.added[column].name + " was filled with " +
                           std::to_string(size) + " values for " + std::to_string(frame.num_rows) + " rows");
  }
  return rows;
}

AppendResult append(const std::vector<Input>& inputs, const std::string& output, std::optional<Format> output_format,
                    const AppendPlan& plan, const FillColumns& fill) {
  const std::optional<Format> by_extension = output == "-" ? std::nullopt : format_of_extension(output);
  const Format format = output_format.value_or(by_extension.value_or(inputs.front().format));
  const bool is_all_text =
      is_text(format) && std::ranges::all_of(inputs, [](const Input& input) { return is_text(input.format); });
  return is_all_text ? append_csv(inputs, output, separator_of(format), plan, fill)
                     : append_arrow(inputs, output, format, plan, fill);
}

}  // namespace limen::table::detail
