// SPDX-License-Identifier: MIT
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arrow_tables.h"
#include "csv_table.h"
#include "input.h"
#include "limen/base/text.h"
#include "limen/table/predictions.h"
#include "row_source.h"

namespace limen::table {
namespace {

using detail::Column;
using detail::ColumnNames;

std::vector<Column> choose_columns(const ColumnNames& names, const ReadOptions& options) {
  std::vector<Column> columns = {names.require("level", ""), names.require(options.columns.score, "--score"),
                                 names.require("positives", ""), names.require("rows", "")};
  if (std::optional<Column> column = names.find(options.columns.uncertainty)) columns.push_back(*std::move(column));
  return columns;
}

std::string shown(double value) {
  std::array<char, 32> text = {};
  return '"' + std::string(text.data(), std::to_chars(text.begin(), text.end(), value).ptr) + '"';
}

// `values` are those of choose_columns; refuse(column, what) names the place.
template <typename Refuse>
CountedBin checked_bin(std::span<const double> values, const Refuse& refuse) {
  constexpr double kMaxCount = 9007199254740992.0;  // 2^53: every whole number up to it is a double
  for (std::size_t column = 0; column < values.size(); ++column) {
    const double value = values[column];
    if (!std::isfinite(value)) refuse(column, "the value is missing or not finite");
    const bool is_count = column == 0 || column == 2 || column == 3;
    if (is_count && (value < 0 || value > kMaxCount || value != std::floor(value))) {
      refuse(column, shown(value) + " is not a whole number from 0 to 2^53");
    }
  }
  CountedBin bin = {.level = static_cast<std::int64_t>(values[0]),
                    .score = values[1],
                    .positives = static_cast<std::int64_t>(values[2]),
                    .rows = static_cast<std::int64_t>(values[3])};
  if (bin.positives > bin.rows) {
    refuse(2, "there are " + std::to_string(bin.positives) + " positives in " + std::to_string(bin.rows) + " rows");
  }
  if (values.size() > 4) bin.uncertainty = values[4];
  return bin;
}

std::vector<CountedBin> read_csv_counts(const detail::Input& input, const ReadOptions& options) {
  // Missing values come back unset, for checked_bin() to refuse: there is no dropping rows of counts.
  detail::CsvTable table(input, {}, options.progress, true);
  const std::vector<Column> columns = choose_columns(table.names(), options);
  std::vector<CountedBin> bins;
  std::vector<double> values(columns.size());
  while (const detail::CsvRow* row = table.next()) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      values[column] = table.values().number(*row, columns[column]).value_or(std::nan(""));
    }
    bins.push_back(checked_bin(values, [&](std::size_t column, const std::string& what) {
      table.values().refuse_value(*row, columns[column], what);
    }));
  }
  return bins;
}

std::vector<CountedBin> read_arrow_counts(const detail::Input& input, const ReadOptions& options) {
  ColumnNames names;
  std::vector<Column> columns;
  std::vector<CountedBin> bins;
  const auto choose = [&](const ColumnNames& all) {
    names = all;
    columns = choose_columns(all, options);
    return columns;
  };
  detail::for_each_arrow_row(input, choose, [&](std::uint64_t row, std::span<const double> values) {
    bins.push_back(checked_bin(values, [&](std::size_t column, const std::string& what) {
      names.refuse("row " + std::to_string(row) + ", column " + quoted(columns[column].name) + ": " + what);
    }));
  });
  return bins;
}

}  // namespace

std::vector<CountedBin> read_counts(const std::string& path, const ReadOptions& options) {
  const std::vector<detail::Input> inputs = detail::resolve_inputs({path}, options.format);
  std::vector<CountedBin> bins;
  for (const detail::Input& input : inputs) {
    std::vector<CountedBin> more =
        detail::is_text(input.format) ? read_csv_counts(input, options) : read_arrow_counts(input, options);
    bins.insert(bins.end(), more.begin(), more.end());
  }
  detail::require_rows(inputs, bins.size(), 0);
  return bins;
}

}  // namespace limen::table
